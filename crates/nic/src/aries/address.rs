//! Network addresses ("Address Translation"): a node of 18 bits, a memory domain handle of 12 bits and an
//! offset of 40 bits; jobs, with their virtual nodes and communication domains; and a node's registered
//! memory.

use super::status::{Refusal, Status};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bits of a node number.
pub const NODE_BITS: u32 = 18;
/// Bits of a memory domain handle.
pub const MDH_BITS: u32 = 12;
/// Bits of an offset.
pub const OFFSET_BITS: u32 = 40;

/// A job, for which the placement scheduler has created a communication domain: its nodes in the order of its
/// virtual nodes.
#[derive(Clone, Debug)]
pub struct Job {
    /// The protection tag: packets carry it, and registered memory belongs to it.
    pub ptag: u8,
    /// The cookie that its processes must present to attach.
    pub cookie: u32,
    nodes: Arc<[u32]>,
    places: Arc<BTreeMap<u32, u32>>,
}

impl Job {
    /// A job on these nodes: the first is its virtual node 0. Failed nodes and those of other jobs are left
    /// out.
    ///
    /// # Panics
    /// If a node number has more than 18 bits.
    pub fn new(ptag: u8, cookie: u32, nodes: impl IntoIterator<Item = u32>) -> Self {
        let nodes: Arc<[u32]> = nodes.into_iter().collect();
        assert!(nodes.iter().all(|&node| node < 1 << NODE_BITS), "a node number has 18 bits");
        let places = nodes.iter().enumerate().map(|(place, &node)| (node, place as u32)).collect();
        Job { ptag, cookie, nodes, places: Arc::new(places) }
    }

    /// Number of its nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Translates a virtual node to a node.
    pub fn node(&self, place: u32) -> Option<u32> {
        self.nodes.get(place as usize).copied()
    }

    /// The virtual node of a node.
    pub fn place(&self, node: u32) -> Option<u32> {
        self.places.get(&node).copied()
    }
}

/// Identifies registered memory to other nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemHandle {
    /// The memory domain handle: a number at the NIC or, if virtual, an index into the job's handles at the
    /// NIC.
    pub mdh: u16,
    /// Whether it is virtual, and so may be the same on all nodes.
    pub is_virtual: bool,
    /// Start of the memory in its process.
    pub address: u64,
    /// Its length, bytes.
    pub bytes: u64,
}

/// Size of a page: 4 KB, translated in two levels, or a huge page, in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize {
    log2: u8,
}

impl PageSize {
    /// Linux's usual page.
    pub const SMALL: PageSize = PageSize { log2: 12 };
    /// The smallest huge page.
    pub const HUGE: PageSize = PageSize { log2: 21 };
    /// The largest huge page.
    pub const LARGEST: PageSize = PageSize { log2: 36 };

    /// A page of this many bytes: 4 KB, or a power of two from 128 KB to 64 GB.
    ///
    /// # Errors
    /// If the size is none of these.
    pub fn new(bytes: u64) -> Result<Self, Refusal> {
        let log2 = bytes.trailing_zeros() as u8;
        let is_one = bytes.is_power_of_two() && (log2 == 12 || (17..=36).contains(&log2));
        is_one.then_some(PageSize { log2 }).ok_or(Refusal::InvalidParam)
    }

    /// Its size, bytes.
    pub fn bytes(self) -> u64 {
        1 << self.log2
    }

    pub(super) fn log2(self) -> u32 {
        self.log2.into()
    }

    /// Levels of its translation.
    pub(super) fn levels(self) -> u32 {
        if self == Self::SMALL { 2 } else { 1 }
    }
}

/// Registered memory of a process: an entry of the memory domain table.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The process.
    pub process: u8,
    /// Its job's protection tag.
    pub ptag: u8,
    /// Its start in the process's memory.
    pub address: u64,
    /// Its length, bytes.
    pub bytes: u64,
    /// Its pages.
    pub page: PageSize,
    /// Whether others may only read it.
    pub is_read_only: bool,
    /// The completion queue for its destination-side events.
    pub queue: Option<u16>,
}

/// The memory domain table of a NIC, and the CAM of its virtual handles.
#[derive(Default)]
pub struct Domains {
    segments: BTreeMap<u16, Segment>,
    /// By ptag: the job's first handle here, and the number of its handles.
    virtual_base: BTreeMap<u8, (u16, u16)>,
}

impl Domains {
    /// Reserves handles for a job's virtual ones.
    pub fn reserve(&mut self, ptag: u8, count: u16) -> Result<(), Refusal> {
        if self.virtual_base.contains_key(&ptag) {
            return Err(Refusal::InvalidState);
        }
        let first = self.find(count).ok_or(Refusal::ErrorResource)?;
        self.virtual_base.insert(ptag, (first, count));
        Ok(())
    }

    fn find(&self, count: u16) -> Option<u16> {
        let is_free = |mdh: u16| {
            !self.segments.contains_key(&mdh)
                && !self.virtual_base.values().any(|&(first, count)| (first..first + count).contains(&mdh))
        };
        let mut first = 0;
        while u32::from(first) + u32::from(count) <= 1 << MDH_BITS {
            match (first..first + count).rev().find(|&mdh| !is_free(mdh)) {
                None => return Some(first),
                Some(taken) => first = taken + 1,
            }
        }
        None
    }

    /// Registers memory, at a virtual handle or at any free one; returns its handle.
    pub fn register(&mut self, segment: Segment, virtual_mdh: Option<u16>) -> Result<MemHandle, Refusal> {
        if segment.bytes == 0 || segment.bytes > 1 << OFFSET_BITS {
            return Err(Refusal::InvalidParam);
        }
        let mdh = match virtual_mdh {
            Some(mdh) => self.translate(segment.ptag, mdh, true).ok_or(Refusal::InvalidParam)?,
            None => self.find(1).ok_or(Refusal::ErrorResource)?,
        };
        if self.segments.contains_key(&mdh) {
            return Err(Refusal::InvalidState);
        }
        self.segments.insert(mdh, segment);
        Ok(MemHandle {
            mdh: virtual_mdh.unwrap_or(mdh),
            is_virtual: virtual_mdh.is_some(),
            address: segment.address,
            bytes: segment.bytes,
        })
    }

    /// Deregisters memory.
    pub fn deregister(&mut self, ptag: u8, handle: MemHandle) -> Result<(), Refusal> {
        let mdh = self.translate(ptag, handle.mdh, handle.is_virtual).ok_or(Refusal::InvalidParam)?;
        self.segments.remove(&mdh).map(|_| ()).ok_or(Refusal::InvalidParam)
    }

    /// Deregisters all memory of a process.
    pub fn forget(&mut self, process: u8) {
        self.segments.retain(|_, segment| segment.process != process);
    }

    /// Number of handles in use.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Translates the handle in a packet: the CAM adds the start of its job's handles.
    fn translate(&self, ptag: u8, mdh: u16, is_virtual: bool) -> Option<u16> {
        if !is_virtual {
            return Some(mdh);
        }
        let &(first, count) = self.virtual_base.get(&ptag)?;
        (mdh < count).then(|| first + mdh)
    }

    /// The segment of a packet's address, and the address in its process.
    pub fn look_up(
        &self,
        ptag: u8,
        (mdh, is_virtual): (u16, bool),
        offset: u64,
        bytes: u32,
        writes: bool,
    ) -> Result<(Segment, u64), Status> {
        let mdh = self.translate(ptag, mdh, is_virtual).ok_or(Status::NoSuchMemory)?;
        let segment = *self.segments.get(&mdh).ok_or(Status::NoSuchMemory)?;
        if segment.ptag != ptag || writes && segment.is_read_only {
            return Err(Status::Permission);
        }
        if offset + u64::from(bytes) > segment.bytes {
            return Err(Status::OutOfBounds);
        }
        Ok((segment, segment.address + offset))
    }

    /// The page size of a process's own memory, for the NIC's own accesses; `None` if it is not registered.
    pub fn page_of(&self, process: u8, address: u64, bytes: u64) -> Option<PageSize> {
        let holds = |s: &&Segment| {
            s.process == process && s.address <= address && address + bytes <= s.address + s.bytes
        };
        self.segments.values().find(holds).map(|s| s.page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(ptag: u8, bytes: u64) -> Segment {
        Segment {
            process: 0,
            ptag,
            address: 1 << 20,
            bytes,
            page: PageSize::SMALL,
            is_read_only: false,
            queue: None,
        }
    }

    /// There are exactly 2^12 handles.
    #[test]
    fn a_nic_has_4096_handles() {
        let mut domains = Domains::default();
        for i in 0..1 << MDH_BITS {
            assert_eq!(domains.register(segment(1, 64), None).expect("one is free").mdh, i);
        }
        assert_eq!(domains.register(segment(1, 64), None), Err(Refusal::ErrorResource));
        let handle = MemHandle { mdh: 77, ..MemHandle::default() };
        domains.deregister(1, handle).expect("it was there");
        assert_eq!(domains.register(segment(1, 64), None).expect("it is free again").mdh, 77);
    }

    /// Offsets have forty bits.
    #[test]
    fn segments_are_as_large_as_offsets_are_long() {
        let mut domains = Domains::default();
        assert!(domains.register(segment(1, 1 << OFFSET_BITS), None).is_ok());
        assert_eq!(domains.register(segment(1, (1 << OFFSET_BITS) + 1), None), Err(Refusal::InvalidParam));
    }

    /// The same virtual handle refers to another segment for another job, and on a node with other handles in
    /// use.
    #[test]
    fn virtual_handles_are_added_to_what_the_job_has_here() {
        let mut domains = Domains::default();
        domains.register(segment(9, 64), None).expect("free");
        domains.reserve(1, 4).expect("free");
        domains.reserve(2, 4).expect("free");
        assert_eq!(domains.reserve(2, 4), Err(Refusal::InvalidState));
        domains.register(segment(1, 100), Some(3)).expect("free");
        domains.register(segment(2, 200), Some(3)).expect("free");
        assert_eq!(domains.register(segment(2, 200), Some(4)), Err(Refusal::InvalidParam));
        let bytes = |ptag| domains.look_up(ptag, (3, true), 0, 8, true).map(|(s, _)| s.bytes);
        assert_eq!((bytes(1), bytes(2), bytes(3)), (Ok(100), Ok(200), Err(Status::NoSuchMemory)));
        // The number at the NIC gives no access to another job's memory.
        assert_eq!(domains.look_up(2, (4, false), 0, 8, true).map(|_| ()), Err(Status::Permission));
        assert_eq!(domains.look_up(1, (4, false), 96, 8, true).map(|_| ()), Err(Status::OutOfBounds));
        assert_eq!(domains.look_up(1, (4, false), 92, 8, true).map(|(_, a)| a), Ok((1 << 20) + 92));
    }

    #[test]
    fn pages_have_the_sizes_that_the_iommu_knows() {
        assert_eq!(PageSize::new(4096), Ok(PageSize::SMALL));
        assert_eq!(PageSize::new(64 << 30), Ok(PageSize::LARGEST));
        assert!([8192, 1 << 37, 5000].into_iter().all(|bytes| PageSize::new(bytes).is_err()));
        assert_eq!((PageSize::SMALL.levels(), PageSize::HUGE.levels()), (2, 1));
    }
}
