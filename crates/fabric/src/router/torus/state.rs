//! The state of a node, laid out for the cache: what arbitration reads first, in a few lines; then one line a port.

use super::slots::{BYPASS, SLOTS, Wishes};
use crate::packet::Header;
use netloom_engine::{Stream, Time};

/// In a head mask, besides the header's bits: its escape VC is the upper of the dateline pair.
pub(super) const UPPER: u16 = 1 << 14;
/// As the source of a transfer: an injection FIFO rather than a receiver.
pub(super) const FROM_INJECTION: u8 = 0xff;
/// As a neighbour: none, or a dead one.
pub(super) const NOWHERE: u32 = u32::MAX;
/// As a neighbour: bit that says it is in another block; then 11 bits of lane and 20 of the node there.
pub(super) const REMOTE: u32 = 1 << 31;

/// What a node's arbiters look at, by how often: a line of masks that every event needs, two of wishes and tokens, then the
/// receivers, of which most events need one. Masks have a bit a port.
#[repr(C, align(64))]
pub(super) struct Node<const P: usize> {
    /// The node's own random choices.
    pub random: Stream,
    /// Links that carry no data packet.
    pub open: u16,
    /// Links with a full packet's tokens for some dynamic VC.
    pub dynamic_ok: u16,
    /// Links with a full packet's tokens for any VC.
    pub any_ok: u16,
    /// Receivers with a packet standing in the bypass, for this tick.
    pub bypassing: u16,
    /// Receivers whose bypass is being transferred.
    pub bypass_busy: u16,
    /// Receivers with tokens due to the other end.
    pub due: u16,
    /// Receivers whose bus to the normal reception FIFO is idle, and those whose bus to the high-priority one is.
    pub reception_idle: [u16; 2],
    /// Receivers whose reception FIFOs, normal and high-priority, have no room.
    pub reception_full: [u16; 2],
    /// Receivers whose heads found nothing offered when they last could have asked (for the arbitration gap).
    pub stalled: u16,
    /// Injection FIFOs to be filled from the host.
    pub refill: u16,
    /// Injection FIFOs whose head is being transferred.
    pub injecting: u16,
    /// Injection FIFOs with a head that is free to ask, and those of them with one of high priority.
    pub waiting: u16,
    pub waiting_high: u16,
    /// Links that cross their ring's dateline.
    pub dateline: u16,
    /// For each link what JSQ sees of its dynamic VCs: the best range of tokens in the upper four bits, the VCs in it in the
    /// lower.
    pub best: [u8; P],
    /// Busses to senders that are in use, by receiver.
    pub paths: [u8; P],
    /// VC of the packet in each receiver's bypass.
    pub bypass_vc: [u8; P],
    /// Heads of receivers that are free to ask.
    pub standing: u8,
    /// Whether it is on the list of those that act in this tick.
    pub dirty: bool,
    /// For each direction, the receivers' heads that may take it.
    pub wishes: Wishes<P>,
    /// Tokens held for each VC at the other end of each link, chunks.
    pub tokens: [[u8; SLOTS]; P],
    /// For each direction, the injection FIFOs whose heads may take it.
    pub entering: [u16; P],
    pub receivers: [Receiver; P],
}

/// The VCs of a receiver.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Receiver {
    /// For each slot, the head that is free to ask: [`Header::head`] bits and [`UPPER`]; 0 for none.
    pub heads: [u16; SLOTS],
    /// Chunks in each VC.
    pub chunks: [u8; SLOTS],
    /// Each VC's FIFO: place of its head, and packets in it.
    pub first: [u8; SLOTS],
    pub count: [u8; SLOTS],
    /// Tokens due to the sender at the other end, by VC.
    pub due: [u8; SLOTS],
}

impl<const P: usize> Node<P> {
    /// A head begins to ask at a slot.
    #[inline]
    pub fn set_head(&mut self, port: usize, slot: usize, head: u16) {
        debug_assert!(self.receivers[port].heads[slot] == 0 && head != 0, "one head a slot");
        self.receivers[port].heads[slot] = head;
        self.standing += 1;
        self.wishes.add(port, slot, head);
    }

    /// The head of a VC, if any, asks no longer.
    #[inline]
    pub fn clear_head(&mut self, port: usize, vc: usize) {
        let head = std::mem::take(&mut self.receivers[port].heads[vc]);
        if head != 0 {
            self.standing -= 1;
            self.wishes.remove(port, vc, head);
        }
    }

    /// A packet for a VC stands in the bypass, for one tick. Its wishes are noted only if there are others to compare with.
    #[inline]
    pub fn enter_bypass(&mut self, port: usize, vc: usize, head: u16) {
        self.bypassing |= 1 << port;
        self.bypass_vc[port] = vc as u8;
        self.receivers[port].heads[BYPASS] = head;
        self.standing += 1;
    }

    /// What stands in the bypass leaves it.
    #[inline]
    pub fn leave_bypass(&mut self, port: usize) -> u16 {
        self.bypassing &= !(1 << port);
        self.standing -= 1;
        std::mem::take(&mut self.receivers[port].heads[BYPASS])
    }

    /// Whether the arbiters have nothing to look at.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.standing == 0 && self.waiting | self.stalled == 0
    }
}

/// One port's sender and receiver: what an event at that port touches.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub(super) struct Port {
    /// When the last bit of what the link now carries, or last carried, has left.
    pub free_at: Time,
    /// The node at the other end; see [`REMOTE`].
    pub neighbour: u32,
    /// The data packet on the link: the receiver that it came from, or [`FROM_INJECTION`].
    pub from_port: u8,
    /// The same: its slot there, or the injection FIFO.
    pub from_slot: u8,
    /// The same: whose tokens fall due at its end, and how many.
    pub due_vc: u8,
    pub due_chunks: u8,
    /// The same: its size.
    pub chunks: u8,
    /// The neighbour's coordinate in the link's dimension.
    pub ahead: u8,
    /// Statistics of the link: packets sent.
    pub packets: u32,
    /// The same: chunks sent, on dynamic, escape and high-priority VCs.
    pub sent: [u32; 3],
    /// The same: token-ack and ack-only packets sent.
    pub acks: u32,
    /// The same: ticks that were still to go, when counting began, of what the link had begun before.
    pub carried: u32,
}

/// A packet in a VC or at the head of an injection FIFO.
#[derive(Clone, Copy, Default)]
pub(super) struct Entry {
    pub header: Header,
    /// In the block's arena.
    pub packet: u32,
    /// Low bits of the time at which it arrived here: enough for how long it has waited.
    pub arrived: u32,
}

/// Entries of a cache line: the four full packets of a BlueGene/L VC.
pub(super) const LINE: usize = 4;

/// Consecutive places of a VC's ring, in one cache line.
#[repr(C, align(64))]
#[derive(Clone, Copy, Default)]
pub(super) struct Line(pub [Entry; LINE]);

/// Heads of a node's injection FIFOs. Touched when something may be injected.
#[repr(C, align(32))]
#[derive(Clone, Copy, Default)]
pub(super) struct Injection {
    pub heads: [u16; 16],
}

/// What happens at a node at some tick.
#[derive(Clone, Copy, Default)]
pub(super) struct Event {
    /// Kind, slot, port and node: see [`Event::at`].
    place: u32,
    /// A packet in the arena, or a host's token.
    pub packet: u32,
    /// A header, or tokens.
    pub word: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    /// A data packet's last bit has left on this port's link.
    Sent,
    /// Tokens have come back to this port's sender.
    Tokens,
    /// A packet has arrived at this port's receiver, for the VC `slot`.
    Arrived,
    /// A packet has gone whole from `slot` to the reception FIFO.
    Received,
    /// The same of a copy, while the packet itself goes on (deposit).
    Copied,
    /// The host has, or may have, a packet for the injection FIFO `slot` (of the set `port`).
    Fill,
    /// The host asked for this time.
    Wake,
    /// The tail of an invalid packet has come to the VC `slot` of this port's receiver (links with errors only, like the rest).
    Tail,
    /// This port's receiver may owe an acknowledgement for too long.
    Overdue,
    /// The last bit of a packet sent again has left on this port's link.
    Resent,
    /// This port's sender has waited long enough for an acknowledgement.
    Timeout,
}

/// Most nodes of a block: 20 bits of a place.
pub(super) const BLOCK_MAX: usize = 1 << 20;

impl Event {
    #[inline]
    pub fn at(kind: Kind, node: u32, port: usize, slot: usize, packet: u32, word: u64) -> Self {
        debug_assert!((node as usize) < BLOCK_MAX && port < 16 && slot < 8);
        Event { place: (kind as u32) << 27 | (slot as u32) << 24 | (port as u32) << 20 | node, packet, word }
    }

    #[inline]
    pub fn kind(&self) -> Kind {
        match self.place >> 27 {
            0 => Kind::Sent,
            1 => Kind::Tokens,
            2 => Kind::Arrived,
            3 => Kind::Received,
            4 => Kind::Copied,
            5 => Kind::Fill,
            6 => Kind::Wake,
            7 => Kind::Tail,
            8 => Kind::Overdue,
            9 => Kind::Resent,
            _ => Kind::Timeout,
        }
    }

    #[inline]
    pub fn slot(&self) -> usize {
        (self.place >> 24) as usize % 8
    }

    #[inline]
    pub fn port(&self) -> usize {
        (self.place >> 20) as usize % 16
    }

    #[inline]
    pub fn node(&self) -> usize {
        (self.place % BLOCK_MAX as u32) as usize
    }

    /// Orders the events of one kind in a tick by node, port and slot.
    pub fn place(&self) -> u32 {
        self.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_a_few_lines() {
        assert_eq!(size_of::<Node<6>>(), 512);
        assert_eq!(std::mem::offset_of!(Node<6>, wishes), 64);
        assert!(std::mem::offset_of!(Node<6>, entering) <= 192);
        assert_eq!(size_of::<Port>(), 64);
        assert_eq!(size_of::<Entry>(), 16);
        assert_eq!(size_of::<Event>(), 16);
    }

    #[test]
    fn places_keep_their_parts() {
        use Kind::*;
        for kind in [Sent, Tokens, Arrived, Received, Copied, Fill, Wake, Tail, Overdue, Resent, Timeout] {
            let e = Event::at(kind, 1_048_575, 9, 7, 3, 4);
            assert_eq!((e.kind(), e.node(), e.port(), e.slot()), (kind, 1_048_575, 9, 7));
        }
    }
}
