//! Packets: the header that routers look at, in one word, and what only the ends need.

use crate::topology::torus::Coordinates;
use netloom_engine::{Time, prefetch};
use std::sync::Arc;

/// What a packet carries, where anybody looks at it. Copies of a packet share it.
pub type Data = Arc<[u8]>;

/// A torus packet's header as a router sees it, in eight bytes like the hardware's (section 2): the hint bits,
/// routing class, size and destination. It travels with the packet by value; no router touches anything else of a packet.
///
/// | bits | what |
/// |---|---|
/// | 0..10 | hint bits: one a direction, bit = port |
/// | 10 | at its destination (in a router's list of heads only) |
/// | 11 | statically routed |
/// | 12 | high priority |
/// | 13 | deposit: a copy at every node of its line |
/// | 14..19 | chunks, less one |
/// | 10 | corrupt: on this link, so that the receiver refuses it at its tail (on its way only) |
/// | 19..24 | whether the packet has crossed the dateline of each dimension (BlueGene/L) |
/// | 19 | for the IO node of its exit node: its destination (Blue Gene/Q, likewise the next) |
/// | 20..22 | on an IO node: the IO link by which it leaves, counted from 1 |
/// | 24 | invalid: corrupted on this link or one before, to be discarded |
/// | 25..27 | zone: which set of zone masks it obeys (Blue Gene/Q) |
/// | 27 | system: for the system's own VC (Blue Gene/Q) |
/// | 28 | collective: the low bits are as [`CollectiveHeader`](crate::collective::CollectiveHeader) has them (Blue Gene/Q) |
/// | 29..64 | destination's coordinates, seven bits a dimension |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header(pub u64);

impl Header {
    /// All hint bits.
    pub const HINTS: u16 = 0x3ff;
    /// In a head mask: the packet is at its destination.
    pub const LOCAL: u16 = 1 << 10;
    /// Statically routed.
    pub const STATIC: u16 = 1 << 11;
    /// High priority.
    pub const HIGH: u16 = 1 << 12;
    /// Broadcast down its dimension.
    pub const DEPOSIT: u16 = 1 << 13;
    /// In the word of a packet on its way, where a head mask has [`Self::LOCAL`]: corrupted on the link that it came by.
    const CORRUPT: u64 = 1 << 10;
    /// Corrupted on any link: the valid indicator in its trailer is off.
    const INVALID: u64 = 1 << 24;
    const CHUNKS: u32 = 14;
    const CROSSED: u32 = 19;
    const TO_IO: u64 = 1 << 19;
    const BY: u32 = 20;
    const ZONE: u32 = 25;
    const SYSTEM: u64 = 1 << 27;
    const COLLECTIVE: u64 = 1 << 28;
    const DESTINATION: u32 = 29;

    /// A packet of `chunks` to `destination`, leaving in the hinted directions. `flags` of STATIC, HIGH, DEPOSIT.
    #[inline]
    pub fn new(destination: Coordinates, hints: u16, chunks: u32, flags: u16) -> Self {
        debug_assert!(hints & !Self::HINTS == 0);
        Header(u64::from(hints | flags) | Self::size(chunks) | Self::to(destination))
    }

    /// A collective packet, with what it asks for in the bits of hints and flags.
    pub(crate) fn collective(destination: Coordinates, chunks: u32, asks: u64) -> Self {
        Header(asks | Self::COLLECTIVE | Self::size(chunks) | Self::to(destination))
    }

    fn size(chunks: u32) -> u64 {
        debug_assert!((1..=32).contains(&chunks));
        u64::from(chunks - 1) << Self::CHUNKS
    }

    fn to(destination: Coordinates) -> u64 {
        destination.iter().rev().fold(0, |to, &x| to << 7 | u64::from(x)) << Self::DESTINATION
    }

    /// Whether it is a collective packet.
    #[inline]
    pub fn is_collective(self) -> bool {
        self.0 & Self::COLLECTIVE != 0
    }

    /// The directions in which it may still be routed.
    #[inline]
    pub fn hints(self) -> u16 {
        self.0 as u16 & Self::HINTS
    }

    /// Hint bits, flags, and LOCAL where no hint bit is left: what a router keeps of the head of a VC.
    #[inline]
    pub fn head(self) -> u16 {
        let low = self.0 as u16 & (Self::HINTS | Self::STATIC | Self::HIGH | Self::DEPOSIT);
        if low & Self::HINTS == 0 { low | Self::LOCAL } else { low }
    }

    /// Size in chunks.
    #[inline]
    pub fn chunks(self) -> u32 {
        (self.0 >> Self::CHUNKS) as u32 % 32 + 1
    }

    /// Destination's coordinate in dimension `d`.
    #[inline]
    pub fn destination(self, d: usize) -> u8 {
        (self.0 >> (Self::DESTINATION + 7 * d as u32)) as u8 % 128
    }

    /// Whether it has crossed the dateline of dimension `d`.
    #[inline]
    pub fn crossed(self, d: usize) -> bool {
        self.0 >> (Self::CROSSED + d as u32) & 1 != 0
    }

    /// The set of zone masks that it obeys.
    #[inline]
    pub fn zone(self) -> usize {
        (self.0 >> Self::ZONE) as usize % 4
    }

    /// The same packet, obeying a set of zone masks.
    #[inline]
    pub fn in_zone(self, zone: u8) -> Self {
        Header(self.0 & !(3 << Self::ZONE) | u64::from(zone % 4) << Self::ZONE)
    }

    /// Whether it is the system's.
    #[inline]
    pub fn is_system(self) -> bool {
        self.0 & Self::SYSTEM != 0
    }

    /// The same packet as the system's.
    pub fn of_system(self) -> Self {
        Header(self.0 | Self::SYSTEM)
    }

    /// The same packet for the IO node of its destination, an exit node. Only the system's packets go there (Chen et al., section II.B).
    pub fn to_io(self) -> Self {
        Header(self.of_system().0 | Self::TO_IO)
    }

    /// Whether it goes on to its destination's IO node.
    #[inline]
    pub fn is_to_io(self) -> bool {
        self.0 & Self::TO_IO != 0
    }

    /// The same packet as one that an IO node sends by one of its links, 0 to 2, to an exit node and from there on.
    pub fn from_io(self, link: usize) -> Self {
        debug_assert!(link < 3);
        Header(self.of_system().0 & !(3 << Self::BY) | (link as u64 + 1) << Self::BY)
    }

    /// The link by which it leaves an IO node.
    #[inline]
    pub fn by_io_link(self) -> Option<usize> {
        ((self.0 >> Self::BY) as usize % 4).checked_sub(1)
    }

    /// The header after a hop over an IO link, either way.
    pub fn after_io_hop(self) -> Self {
        Header(self.0 & !(Self::TO_IO | 3 << Self::BY))
    }

    /// Marks it as corrupted on the link that it is on.
    pub(crate) fn corrupted(self) -> Self {
        Header(self.0 | Self::CORRUPT | Self::INVALID)
    }

    /// Whether the link that brought it corrupted it.
    #[inline]
    pub(crate) fn is_corrupt(self) -> bool {
        // By itself the lower bit is part of a collective packet's header.
        self.0 & (Self::CORRUPT | Self::INVALID) == Self::CORRUPT | Self::INVALID
    }

    /// Whether any link corrupted it: the rest of its way leads nowhere.
    #[inline]
    pub(crate) fn is_ghost(self) -> bool {
        self.0 & Self::INVALID != 0
    }

    /// As it goes on over the next link: what was corrupted before is only invalid there.
    pub(crate) fn passed_on(self) -> Self {
        if self.is_corrupt() { Header(self.0 & !Self::CORRUPT) } else { self }
    }

    /// The header after a hop through `port` to coordinate `next` of that dimension: the hint bit is cleared when the
    /// packet arrives at its destination's coordinate (section 2).
    #[inline]
    pub fn after_hop(self, port: usize, next: u8, crosses: bool) -> Self {
        let d = port / 2;
        // Without branches: whether a packet is there yet, nobody can foresee.
        let there = u64::from(self.destination(d) == next) << port;
        Header(self.0 & !there | u64::from(crosses) << (Self::CROSSED + d as u32))
    }
}

/// What the ends of a packet's way need to know of it. Kept apart from the header, in the arena of the block where the packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// When its sender made it, ticks.
    pub made: Time,
    /// When it left its injection FIFO, ticks.
    pub entered: Time,
    /// The sending node.
    pub source: u32,
    /// Links on its way.
    pub hops: u16,
    /// Which of a node's groups of reception FIFOs it is for: its core, in virtual-node mode.
    pub group: u8,
    /// Free for the layer above.
    pub kind: u8,
    /// Where a packet is sent on to that goes by way of a relay, or [`Meta::NOWHERE`]; free for layers above that know no relays.
    pub beyond: u32,
    /// Free for the layer above: a message and what part of it this is.
    pub message: [u64; 2],
}

impl Meta {
    /// In [`Meta::beyond`]: the packet's destination is its last.
    pub const NOWHERE: u32 = u32::MAX;
}

impl Default for Meta {
    fn default() -> Self {
        Meta {
            made: Time::ZERO,
            entered: Time::ZERO,
            source: 0,
            hops: 0,
            group: 0,
            kind: 0,
            beyond: Meta::NOWHERE,
            message: [0; 2],
        }
    }
}

/// Packets' [`Meta`] and what they carry, by a small number, which a block hands out again when a packet has left it.
#[derive(Default)]
pub(crate) struct Arena {
    slots: Vec<Meta>,
    free: Vec<u32>,
    /// What packets carry, by the same numbers: no longer than any packet has needed that carried something, so that it costs next to
    /// nothing where none does. A free number has none.
    data: Vec<Option<Data>>,
}

impl Arena {
    #[inline]
    pub(crate) fn insert(&mut self, meta: Meta) -> u32 {
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = meta;
            id
        } else {
            self.slots.push(meta);
            (self.slots.len() - 1) as u32
        }
    }

    /// The same for a packet that may carry something.
    #[inline]
    pub(crate) fn insert_with(&mut self, meta: Meta, data: Option<Data>) -> u32 {
        let id = self.insert(meta);
        if data.is_some() {
            self.carry(id, data);
        }
        id
    }

    #[cold]
    fn carry(&mut self, id: u32, data: Option<Data>) {
        let at = id as usize;
        if at >= self.data.len() {
            self.data.resize(at + 1, None);
        }
        self.data[at] = data;
    }

    /// Another packet that carries the same.
    pub(crate) fn copy(&mut self, id: u32) -> u32 {
        self.insert_with(*self.get(id), self.data(id).cloned())
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: u32) -> (Meta, Option<Data>) {
        self.free.push(id);
        let data = self.data.get_mut(id as usize).and_then(Option::take);
        (self.slots[id as usize], data)
    }

    /// What a packet carries.
    #[inline]
    pub(crate) fn data(&self, id: u32) -> Option<&Data> {
        self.data.get(id as usize)?.as_ref()
    }

    /// Changes what a packet carries; of one that carries nothing, what only figures look at.
    #[cold]
    pub(crate) fn damage(&mut self, id: u32) {
        if !self.damage_data(id, |_| 0) {
            let meta = self.get_mut(id);
            meta.made = Time::at(meta.made.ticks() ^ 1);
        }
    }

    /// Changes the byte of what a packet carries that `place` says, given the size. False if it carries nothing.
    #[cold]
    pub(crate) fn damage_data(&mut self, id: u32, place: impl Fn(usize) -> usize) -> bool {
        let Some(data) = self.data.get_mut(id as usize).and_then(Option::as_mut) else { return false };
        if data.is_empty() {
            return false;
        }
        let mut bytes = data.to_vec();
        bytes[place(data.len())] ^= 1;
        *data = bytes.into();
        true
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> &Meta {
        &self.slots[id as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Meta {
        &mut self.slots[id as usize]
    }

    /// Brings one into the cache.
    #[inline]
    pub(crate) fn fetch(&self, id: u32) {
        if let Some(meta) = self.slots.get(id as usize) {
            prefetch(meta);
        }
    }

    /// Packets in it.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Meta>() + self.free.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap() {
        for chunks in 1..=32 {
            let h = Header::new([1, 127, 3, 0, 77], 0b10_0000_0101, chunks, Header::STATIC | Header::DEPOSIT);
            assert_eq!(h.chunks(), chunks);
            assert_eq!(h.hints(), 0b10_0000_0101);
            assert_eq!([0, 1, 2, 3, 4].map(|d| h.destination(d)), [1, 127, 3, 0, 77]);
            assert_eq!(h.head(), 0b10_0000_0101 | Header::STATIC | Header::DEPOSIT);
            let zoned = h.in_zone(3).in_zone(2);
            assert_eq!((zoned.zone(), zoned.is_system(), zoned.of_system().is_system()), (2, false, true));
            assert_eq!(zoned.of_system().0 & !(0b111 << 25), h.0);
            let io = h.to_io();
            assert!(io.is_system() && io.is_to_io() && io.by_io_link().is_none());
            assert_eq!(io.after_io_hop(), h.of_system());
            let back = h.from_io(2);
            assert!(back.is_system() && !back.is_to_io() && back.by_io_link() == Some(2));
            assert_eq!((back.from_io(0).by_io_link(), back.after_io_hop()), (Some(0), h.of_system()));
            let moved = h.after_hop(9, 76, true);
            assert!(!moved.is_ghost() && !moved.is_corrupt());
            let ghost = moved.corrupted();
            assert!(ghost.is_ghost() && ghost.is_corrupt());
            assert!(ghost.passed_on().is_ghost() && !ghost.passed_on().is_corrupt());
            assert_eq!((ghost.head(), ghost.chunks(), ghost.hints()), (moved.head(), chunks, moved.hints()));
            assert_eq!([0, 4].map(|d| (ghost.crossed(d), ghost.destination(d))), [(false, 1), (true, 77)]);
            assert_eq!((moved.hints(), moved.crossed(4), moved.crossed(0)), (0b10_0000_0101, true, false));
            let there = moved.after_hop(9, 77, false).after_hop(2, 127, false).after_hop(0, 1, false);
            assert_eq!(there.head(), Header::LOCAL | Header::STATIC | Header::DEPOSIT);
            assert_eq!(there.chunks(), chunks);
        }
    }
}
