//! The memory of a process by the node's addresses, which descriptors contain. A program that runs in the
//! simulator uses the node's addresses itself; that of a real process is mapped where it is first used.

use crate::pami::device::Range;
use crate::spi::device::UnitDevice;
use netloom_fabric::collective::ByteOrder;
use netloom_node::memory::AddressSpace;

/// Makes access to the memory of a real process.
pub type Open = Box<dyn Fn() -> Box<dyn AddressSpace> + Send>;

/// Least length of a mapping, bytes: most programs need few.
const MAPPING_B: u64 = 16 << 20;
const PAGE: u64 = 1 << 16;

/// A mapped range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Mapping {
    start: u64,
    bytes: u64,
    physical: u64,
}

impl Mapping {
    /// Of a range whose addresses are the program's own.
    pub fn identity(range: Range) -> Self {
        Mapping { start: range.address, bytes: range.bytes, physical: range.address }
    }

    /// The node's address of a range, if it is within.
    pub fn physical(&self, range: Range) -> Option<u64> {
        let offset = range.address.checked_sub(self.start)?;
        (offset.checked_add(range.bytes)? <= self.bytes).then_some(self.physical + offset)
    }

    /// The reverse: the process's address.
    pub fn own(&self, physical: u64) -> Option<u64> {
        let offset = physical.checked_sub(self.physical)?;
        (offset < self.bytes).then_some(self.start + offset)
    }
}

/// The memory of a process.
pub struct ProcessMemory {
    device: UnitDevice,
    open: Option<Open>,
    mappings: Vec<Mapping>,
}

impl ProcessMemory {
    /// Of a process whose memory is elsewhere if `open` gives access to it.
    pub fn new(device: UnitDevice, open: Option<Open>) -> Self {
        ProcessMemory { device, open, mappings: vec![] }
    }

    /// Its byte order.
    pub fn byte_order(&self) -> ByteOrder {
        if self.open.is_some() { ByteOrder::HERE } else { ByteOrder::Big }
    }

    /// The node's address of a range, whose bytes lie there one after the other.
    pub fn physical(&mut self, range: Range) -> u64 {
        if self.open.is_none() {
            range.address
        } else {
            self.mapping(range).physical(range).expect("it is mapped")
        }
    }

    /// The mapping with a range, which is made if there is none.
    pub fn mapping(&mut self, range: Range) -> Mapping {
        if let Some(&found) = self.mappings.iter().find(|mapping| mapping.physical(range).is_some()) {
            return found;
        }
        let start = range.address & !(PAGE - 1);
        let end = range.address.saturating_add(range.bytes);
        let bytes = (end - start).max(MAPPING_B).next_multiple_of(PAGE);
        let physical = match &self.open {
            Some(open) => self.device.map(bytes, open(), start),
            None => start,
        };
        let mapping = Mapping { start, bytes, physical };
        self.mappings.push(mapping);
        mapping
    }
}
