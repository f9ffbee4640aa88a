//! The kernel's part of the interface (section IV): it allocates and frees the unit's resources, and provides
//! physical addresses of a program's memory. Programs may also use numbers that were not allocated to them,
//! as benchmarks with exclusive use of the node do.
//!
//! The kernel's own resources are those of the public driver (`Util.h`): the FIFOs and table entries of the
//! last two subgroups, and the last two classes.

use netloom_fabric::collective::CLASS_ROUTES;
use netloom_nic::message_unit::fifos::InjectionFifo;
use netloom_nic::message_unit::{BASE_ADDRESSES, DESCRIPTOR_B, INJECTION_FIFOS, RECEPTION_FIFOS};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A resource that a program may allocate, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// An injection FIFO in memory.
    InjectionFifo,
    /// A reception FIFO in memory.
    ReceptionFifo,
    /// An entry of the base address table.
    BaseAddress,
    /// A class route.
    ClassRoute,
    /// A barrier class.
    Barrier,
}

impl Resource {
    /// The number available to users per node; the rest is the kernel's.
    pub fn for_users(self) -> u16 {
        match self {
            Resource::InjectionFifo => INJECTION_FIFOS - 2 * 8,
            Resource::ReceptionFifo => RECEPTION_FIFOS - 2 * 4,
            Resource::BaseAddress => BASE_ADDRESSES - 2 * 8,
            Resource::ClassRoute | Resource::Barrier => CLASS_ROUTES as u16 - 2,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Resource::InjectionFifo => "injection FIFO",
            Resource::ReceptionFifo => "reception FIFO",
            Resource::BaseAddress => "base address table entry",
            Resource::ClassRoute => "class route",
            Resource::Barrier => "barrier class",
        }
    }
}

/// Why the kernel rejects a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// More resources requested than are free: requested, free.
    TooFew(Resource, u16, u16),
    /// Already allocated, or reserved for the kernel.
    Taken(Resource, u16),
    /// Not allocated, so it cannot be freed.
    NotAllocated(Resource, u16),
    /// An empty memory region, or one that overlaps another of the program's.
    Region(u64, u64),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refusal::TooFew(what, asked, free) => {
                write!(f, "{asked} times a free {}: expected at most {free}", what.name())
            }
            Refusal::Taken(what, number) => {
                write!(f, "{} {number}: expected a free one of 0 to {}", what.name(), what.for_users() - 1)
            }
            Refusal::NotAllocated(what, number) => {
                write!(f, "{} {number}: expected one that was allocated", what.name())
            }
            Refusal::Region(at, bytes) => {
                write!(f, "{bytes} B at {at:#x}: expected at least a byte, and memory of no other region")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Memory of a program that is contiguous in physical memory, for use in descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRegion {
    /// Its virtual address.
    pub start: u64,
    /// Its physical address.
    pub physical: u64,
    /// Its length, bytes.
    pub bytes: u64,
}

impl MemoryRegion {
    /// The physical address of `bytes` at a virtual address; `None` if they are not all in the region.
    pub fn translate(&self, address: u64, bytes: u64) -> Option<u64> {
        let offset = address.checked_sub(self.start)?;
        (offset.checked_add(bytes)? <= self.bytes).then(|| self.physical + offset)
    }
}

/// Start of memory regions in physical memory, apart from default FIFOs; and their alignment.
pub(crate) const REGIONS: u64 = 1 << 32;
const PAGE: u64 = 4096;

/// A node's kernel, with its state for the unit.
#[derive(Debug, Default)]
pub struct Kernel {
    taken: BTreeSet<(Resource, u16)>,
    regions: Vec<MemoryRegion>,
    /// Physical memory in use from the first region on, bytes.
    allocated: u64,
    /// Injection FIFOs that the node's processes have written or set up.
    rings: BTreeMap<u16, Ring>,
}

/// Software's state of an injection FIFO.
#[derive(Debug)]
struct Ring {
    /// Its capacity, descriptors.
    places: u64,
    /// Descriptors written since it was set up.
    written: u64,
}

impl Ring {
    fn new(size_bytes: u64) -> Self {
        // One place stays free, to distinguish a full FIFO from an empty one.
        Ring { places: size_bytes / DESCRIPTOR_B - 1, written: 0 }
    }
}

impl Kernel {
    /// Allocates the first free numbers.
    pub fn allocate(&mut self, what: Resource, count: u16) -> Result<Vec<u16>, Refusal> {
        let free: Vec<u16> = (0..what.for_users()).filter(|&n| !self.taken.contains(&(what, n))).collect();
        if free.len() < count.into() {
            return Err(Refusal::TooFew(what, count, free.len() as u16));
        }
        let given = free[..count.into()].to_vec();
        self.taken.extend(given.iter().map(|&n| (what, n)));
        Ok(given)
    }

    /// Allocates this number: class routes and barrier classes have the same number at all their nodes.
    pub fn allocate_this(&mut self, what: Resource, number: u16) -> Result<(), Refusal> {
        if !self.is_free(what, number) {
            return Err(Refusal::Taken(what, number));
        }
        self.taken.insert((what, number));
        Ok(())
    }

    /// Whether a number can be allocated.
    pub fn is_free(&self, what: Resource, number: u16) -> bool {
        number < what.for_users() && !self.taken.contains(&(what, number))
    }

    /// Frees a number.
    pub fn free(&mut self, what: Resource, number: u16) -> Result<(), Refusal> {
        if self.taken.remove(&(what, number)) { Ok(()) } else { Err(Refusal::NotAllocated(what, number)) }
    }

    /// Sets up an injection FIFO of this size.
    pub fn set_up(&mut self, fifo: u16, size_bytes: u64) {
        self.rings.insert(fifo, Ring::new(size_bytes.max(2 * DESCRIPTOR_B)));
    }

    fn ring(&mut self, fifo: u16) -> &mut Ring {
        self.rings.entry(fifo).or_insert_with(|| Ring::new(InjectionFifo::usual(fifo).size_B))
    }

    /// A process writes a descriptor into an injection FIFO.
    pub fn writes(&mut self, fifo: u16) {
        self.ring(fifo).written += 1;
    }

    /// Descriptors that have been written to an injection FIFO since it was set up.
    pub fn written(&self, fifo: u16) -> u64 {
        self.rings.get(&fifo).map_or(0, |ring| ring.written)
    }

    /// Whether an injection FIFO has space for one more descriptor, given the number that the unit has
    /// injected since it was set up.
    pub fn has_room(&mut self, fifo: u16, injected: u64) -> bool {
        let ring = self.ring(fifo);
        ring.written.saturating_sub(injected) < ring.places
    }

    /// Allocates physical memory of this length, from the start of a page on.
    pub fn physical(&mut self, bytes: u64) -> u64 {
        let start = REGIONS + self.allocated;
        self.allocated = (self.allocated + bytes).next_multiple_of(PAGE);
        start
    }

    /// Allocates physical memory for a program's memory.
    pub fn region(&mut self, start: u64, bytes: u64) -> Result<MemoryRegion, Refusal> {
        let overlaps = |r: &MemoryRegion| start < r.start + r.bytes && r.start < start.saturating_add(bytes);
        if bytes == 0 || start.checked_add(bytes).is_none() || self.regions.iter().any(overlaps) {
            return Err(Refusal::Region(start, bytes));
        }
        // Its offset in the page is that of the virtual address, so that the alignment is the same.
        let physical = self.physical(start % PAGE + bytes) + start % PAGE;
        let region = MemoryRegion { start, physical, bytes };
        self.regions.push(region);
        Ok(region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_given_is_free_and_comes_back() {
        let mut kernel = Kernel::default();
        assert_eq!(kernel.allocate(Resource::ReceptionFifo, 3), Ok(vec![0, 1, 2]));
        assert_eq!(kernel.free(Resource::ReceptionFifo, 1), Ok(()));
        assert_eq!(kernel.allocate(Resource::ReceptionFifo, 2), Ok(vec![1, 3]));
        let again = kernel.free(Resource::ReceptionFifo, 7).expect_err("it is not allocated");
        assert_eq!(again.to_string(), "reception FIFO 7: expected one that was allocated");
        let all = kernel.allocate(Resource::ReceptionFifo, 261).expect_err("too many");
        assert_eq!(all.to_string(), "261 times a free reception FIFO: expected at most 260");
        assert_eq!(kernel.allocate_this(Resource::ClassRoute, 3), Ok(()));
        assert_eq!(kernel.allocate(Resource::ClassRoute, 13).map(|given| given.len()), Ok(13));
        let taken = kernel.allocate_this(Resource::ClassRoute, 3).expect_err("taken");
        assert_eq!(taken.to_string(), "class route 3: expected a free one of 0 to 13");
        assert!(kernel.allocate_this(Resource::Barrier, 14).is_err(), "the kernel's own");
    }

    proptest! {
        /// Regions translate their contents to disjoint physical addresses.
        #[test]
        fn regions_do_not_meet(regions in proptest::collection::vec((0u64..1 << 40, 1u64..100_000), 1..20)) {
            let mut kernel = Kernel::default();
            let made: Vec<MemoryRegion> =
                regions.iter().filter_map(|&(start, bytes)| kernel.region(start, bytes).ok()).collect();
            for (i, r) in made.iter().enumerate() {
                prop_assert_eq!(r.translate(r.start, r.bytes), Some(r.physical));
                prop_assert_eq!(r.translate(r.start + r.bytes - 1, 1), Some(r.physical + r.bytes - 1));
                prop_assert_eq!(r.translate(r.start + 1, r.bytes), None);
                prop_assert_eq!(r.translate(u64::MAX, 2), None);
                prop_assert_eq!(r.physical % PAGE, r.start % PAGE);
                for other in &made[..i] {
                    let apart = |a: u64, b: u64| a + other.bytes <= b || b + r.bytes <= a;
                    prop_assert!(apart(other.physical, r.physical) && apart(other.start, r.start));
                }
                prop_assert!(kernel.region(r.start + r.bytes / 2, 1).is_err());
            }
            prop_assert!(kernel.region(1 << 50, 0).is_err() && kernel.region(u64::MAX, 2).is_err());
        }
    }
}
