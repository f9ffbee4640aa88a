//! Packets: the one-word header that routers read, and the metadata that only the endpoints need.

use crate::topology::torus::Coordinates;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::{Time, prefetch};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A packet's payload, if a component reads it. Copies of a packet share it.
pub type Data = Arc<[u8]>;

/// A torus packet's header as a router sees it, eight bytes as in the hardware (section 2): the hint bits,
/// routing class, size and destination. It travels with the packet by value; routers touch no other part of a
/// packet.
///
/// | bits | meaning |
/// |---|---|
/// | 0..10 | hint bits: one per direction, bit = port |
/// | 10 | at its destination (in a router's list of heads only) |
/// | 11 | statically routed |
/// | 12 | high priority |
/// | 13 | deposit: a copy at every node on its line |
/// | 14..19 | chunks, less one |
/// | 10 | corrupt: on this link, so the receiver rejects it at its tail (in flight only) |
/// | 19..24 | whether the packet has crossed the dateline of each dimension (BlueGene/L) |
/// | 19 | addressed to the IO node of its destination, an exit node (Blue Gene/Q, as is the next) |
/// | 20..22 | on an IO node: the IO link by which it leaves, counted from 1 |
/// | 24 | invalid: corrupted on this link or one before, to be discarded |
/// | 25..27 | zone: the set of zone masks that applies to it (Blue Gene/Q) |
/// | 27 | system: for the system's own VC (Blue Gene/Q) |
/// | 28 | collective: [`CollectiveHeader`](crate::collective::CollectiveHeader) defines the low bits (Blue Gene/Q) |
/// | 29..64 | destination's coordinates, seven bits per dimension |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
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
    /// Broadcast along its dimension.
    pub const DEPOSIT: u16 = 1 << 13;
    /// In the header of a packet in flight, at the bit of [`Self::LOCAL`] in a head mask: corrupted on its
    /// last link.
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

    /// A packet of `chunks` to `destination`, leaving in the hinted directions. `flags` combines STATIC, HIGH
    /// and DEPOSIT.
    #[inline]
    pub fn new(destination: Coordinates, hints: u16, chunks: u32, flags: u16) -> Self {
        debug_assert!(hints & !Self::HINTS == 0);
        Header(u64::from(hints | flags) | Self::size(chunks) | Self::to(destination))
    }

    /// A collective packet; `asks` has its collective fields in the bits of hints and flags.
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

    /// Hint bits, flags, and LOCAL if no hint bit is left: what a router stores for the head of a VC.
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

    /// The set of zone masks that applies to it.
    #[inline]
    pub fn zone(self) -> usize {
        (self.0 >> Self::ZONE) as usize % 4
    }

    /// The same packet with another set of zone masks.
    #[inline]
    pub fn in_zone(self, zone: u8) -> Self {
        Header(self.0 & !(3 << Self::ZONE) | u64::from(zone % 4) << Self::ZONE)
    }

    /// Whether it is a system packet.
    #[inline]
    pub fn is_system(self) -> bool {
        self.0 & Self::SYSTEM != 0
    }

    /// The same packet as a system packet.
    pub fn of_system(self) -> Self {
        Header(self.0 | Self::SYSTEM)
    }

    /// The same packet, addressed to the IO node of its destination, an exit node. Only system packets are
    /// allowed there (Chen et al., section II.B).
    pub fn to_io(self) -> Self {
        Header(self.of_system().0 | Self::TO_IO)
    }

    /// Whether it continues to its destination's IO node.
    #[inline]
    pub fn is_to_io(self) -> bool {
        self.0 & Self::TO_IO != 0
    }

    /// The same packet as sent by an IO node through its link `link` (0 to 2) to an exit node, and on from
    /// there.
    pub fn from_io(self, link: usize) -> Self {
        debug_assert!(link < 3);
        Header(self.of_system().0 & !(3 << Self::BY) | (link as u64 + 1) << Self::BY)
    }

    /// The link by which it leaves an IO node.
    #[inline]
    pub fn by_io_link(self) -> Option<usize> {
        ((self.0 >> Self::BY) as usize % 4).checked_sub(1)
    }

    /// The header after a hop over an IO link, in either direction.
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
        // Alone, the lower bit is part of a collective packet's header.
        self.0 & (Self::CORRUPT | Self::INVALID) == Self::CORRUPT | Self::INVALID
    }

    /// Whether any link corrupted it: it must not be routed any further.
    #[inline]
    pub(crate) fn is_ghost(self) -> bool {
        self.0 & Self::INVALID != 0
    }

    /// The header on the next link: an earlier corruption only marks it as invalid there.
    pub(crate) fn passed_on(self) -> Self {
        if self.is_corrupt() { Header(self.0 & !Self::CORRUPT) } else { self }
    }

    /// The header after a hop through `port` to coordinate `next` of that dimension: the hint bit is cleared
    /// when the packet arrives at its destination's coordinate (section 2).
    #[inline]
    pub fn after_hop(self, port: usize, next: u8, crosses: bool) -> Self {
        let d = port / 2;
        // Branch-free: whether a packet has arrived in this dimension is unpredictable.
        let there = u64::from(self.destination(d) == next) << port;
        Header(self.0 & !there | u64::from(crosses) << (Self::CROSSED + d as u32))
    }
}

/// Metadata of a packet that only its endpoints need. Stored apart from the header, in the arena of the block
/// that holds the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct Meta {
    /// Time at which its sender created it, ticks.
    pub made: Time,
    /// Time at which it left its injection FIFO, ticks.
    pub entered: Time,
    /// The sending node.
    pub source: u32,
    /// Links on its route.
    pub hops: u16,
    /// The group of reception FIFOs at the destination that it is for: in virtual-node mode, the core.
    pub group: u8,
    /// Free for use by the layer above.
    pub kind: u8,
    /// Final destination of a packet sent through a relay, or [`Meta::NOWHERE`]; free for layers above that
    /// use no relays.
    pub auxiliary: u32,
    /// Of nodes with several processes: the one that sent it, and the one that it is for.
    pub processes: [u8; 2],
    /// Whether the node that it goes to forwards it: its arrival there is not counted as a delivery.
    pub is_forwarded: bool,
    /// Free for use by the layer above: a message, and the part of it that this packet carries.
    pub message: [u64; 2],
}

impl Meta {
    /// In [`Meta::auxiliary`]: the packet's destination is final.
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
            auxiliary: Meta::NOWHERE,
            processes: [0; 2],
            is_forwarded: false,
            message: [0; 2],
        }
    }
}

/// Storage of packets' [`Meta`] and payloads. A block identifies each by a small number, and reuses the
/// number once the packet has left.
#[derive(Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Arena {
    slots: Vec<Meta>,
    free: Vec<u32>,
    /// Payloads, by the same numbers. It grows only as far as packets with payloads require, so it costs
    /// almost nothing without any. A free number has none.
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

    /// The same for a packet that may have a payload.
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

    /// Copies a packet; both share the payload.
    pub(crate) fn copy(&mut self, id: u32) -> u32 {
        self.insert_with(*self.get(id), self.data(id).cloned())
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: u32) -> (Meta, Option<Data>) {
        self.free.push(id);
        let data = self.data.get_mut(id as usize).and_then(Option::take);
        (self.slots[id as usize], data)
    }

    /// A packet's payload.
    #[inline]
    pub(crate) fn data(&self, id: u32) -> Option<&Data> {
        self.data.get(id as usize)?.as_ref()
    }

    /// Replaces a packet's payload; without one, changes only the metadata kept for statistics.
    #[cold]
    pub(crate) fn damage(&mut self, id: u32) {
        if !self.damage_data(id, |_| 0) {
            let meta = self.get_mut(id);
            meta.made = Time::at(meta.made.ticks() ^ 1);
        }
    }

    /// Changes the payload byte that `place` selects, given the size. False without a payload.
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

    /// Prefetches one into the cache.
    #[inline]
    pub(crate) fn fetch(&self, id: u32) {
        if let Some(meta) = self.slots.get(id as usize) {
            prefetch(meta);
        }
    }

    /// Number of packets.
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
