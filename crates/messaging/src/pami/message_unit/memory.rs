//! The memory of a process by the node's addresses, which descriptors contain. A program that runs in the
//! simulator uses the node's addresses itself; that of a real process is mapped where it is first used.

use crate::pami::device::Range;
use crate::spi::device::UnitDevice;
use netloom_node::memory::AddressSpace;

/// Makes access to the memory of a real process.
pub type Open = Box<dyn Fn() -> Box<dyn AddressSpace> + Send>;

/// Least length of a mapping, bytes: most programs need few.
const MAPPING_B: u64 = 16 << 20;
const PAGE: u64 = 1 << 16;

/// A mapped range.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    start: u64,
    bytes: u64,
    physical: u64,
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

    /// The node's address of a range, whose bytes lie there one after the other.
    pub fn physical(&mut self, range: Range) -> u64 {
        let Some(open) = &self.open else { return range.address };
        let end = range.address.saturating_add(range.bytes);
        let holds = |m: &&Mapping| m.start <= range.address && end <= m.start + m.bytes;
        let found = self.mappings.iter().find(holds).copied();
        let mapping = found.unwrap_or_else(|| {
            let start = range.address & !(PAGE - 1);
            let bytes = (end - start).max(MAPPING_B).next_multiple_of(PAGE);
            let physical = self.device.map(bytes, open(), start);
            let mapping = Mapping { start, bytes, physical };
            self.mappings.push(mapping);
            mapping
        });
        mapping.physical + (range.address - mapping.start)
    }
}
