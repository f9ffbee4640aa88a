//! The state of a node, laid out for the cache: what arbitration reads first, in a few lines; then receivers, then links.

use super::slots::{BYPASS, SLOTS, Wishes};
use crate::packet::Header;
use crate::router::event;
pub(super) use crate::router::event::{FROM_INJECTION, Leaving};
pub(super) use crate::router::partition::NOWHERE;
pub(super) use crate::router::port::Port;
use netloom_engine::{Stream, Time};
use std::convert::Infallible;

/// What happens at a node is what happens at nodes of all families.
pub(super) type Kind = event::Kind<Infallible>;
pub(super) type Event = event::Event<Infallible>;
pub(super) type Message = event::Message<Infallible>;

/// In a head mask, besides the header's bits: its escape VC is the upper of the dateline pair.
pub(super) const UPPER: u16 = 1 << 14;
/// All of a node but its packets, by how often it is looked at: a line of masks that every event needs, two of wishes and tokens,
/// then the receivers and the links, of which most events need one or two. Masks have a bit a port.
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
    /// Receivers whose heads found nothing offered when they last could have asked (for the arbitration gap).
    pub stalled: u16,
    /// Injection FIFOs to be filled from the host.
    pub refill: u16,
    /// Injection FIFOs whose head is being transferred.
    pub injecting: u16,
    /// Injection FIFOs with a head that is free to ask, and those of them with one of high priority.
    pub waiting: u16,
    pub waiting_high: u16,
    /// For each link what JSQ sees of its dynamic VCs: the best range of tokens in the upper four bits, the VCs in it in the
    /// lower.
    pub best: [u8; P],
    /// Busses to senders that are in use, by receiver.
    pub paths: [u8; P],
    /// VC of the packet in each receiver's bypass.
    pub bypass_vc: [u8; P],
    /// Each receiver's VCs that hold packets, a bit each: what goes on by the bypass needs no more of the receiver.
    pub occupied: [u8; P],
    /// Heads of receivers that are free to ask.
    pub standing: u8,
    /// Events in this tick: none, one, or 2 for several; or [`LISTED`].
    pub events: u8,
    /// Where it is [`LISTED`]: its place on the list, from 1.
    pub acting: u32,
    /// Its place in its block.
    pub here: u32,
    /// For each direction, the receivers' heads that may take it.
    pub wishes: Wishes<P>,
    /// Tokens held for each VC at the other end of each link, chunks; a byte a VC. One word, and always written as one:
    /// a processor that reads a word just after a part of it was written has to wait.
    pub tokens: [u64; P],
    /// The neighbours' coordinates, each in its link's dimension.
    pub ahead: [u8; P],
    /// Links that cross their ring's dateline.
    pub dateline: u16,
    /// For each direction, the injection FIFOs whose heads may take it.
    pub entering: [u16; P],
    /// Receivers whose bus to the normal reception FIFO is idle, and those whose bus to the high-priority one is.
    pub reception_idle: [u16; 2],
    /// Receivers whose reception FIFOs, normal and high-priority, have no room.
    pub reception_full: [u16; 2],
    pub receivers: [Receiver; P],
    pub ports: [Port; P],
}

/// In [`Node::events`]: on the list of those that act after all events of this tick.
pub(super) const LISTED: u8 = 3;

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
    /// Tokens due to the sender at the other end, a byte a VC.
    pub due: u64,
}

impl<const P: usize> Node<P> {
    /// Tokens held for a VC at the other end of a link.
    #[inline]
    pub fn tokens_of(&self, port: usize, vc: usize) -> u8 {
        (self.tokens[port] >> (8 * vc)) as u8
    }

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
            self.wishes.remove(port, vc);
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
        u16::from(self.standing) | self.waiting | self.stalled == 0
    }
}

/// A packet in a VC or at the head of an injection FIFO. Two words, which pass in registers: see [`Event`].
#[derive(Clone, Copy, Default)]
pub(super) struct Entry {
    pub header: Header,
    /// Its place in the block's arena, and the low bits of the time at which it arrived here.
    rest: u64,
}

impl Entry {
    #[inline]
    pub fn new(header: Header, packet: u32, now: Time) -> Self {
        Entry { header, rest: now.ticks() << 32 | u64::from(packet) }
    }

    /// In the block's arena.
    #[inline]
    pub fn packet(&self) -> u32 {
        self.rest as u32
    }

    /// Low bits of the time at which it arrived here: enough for how long it has waited.
    #[inline]
    pub fn arrived(&self) -> u32 {
        (self.rest >> 32) as u32
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_a_few_lines() {
        assert_eq!(size_of::<Node<6>>(), 704);
        assert_eq!(std::mem::offset_of!(Node<6>, wishes), 64);
        assert!(std::mem::offset_of!(Node<6>, tokens) >= 128);
        assert!(std::mem::offset_of!(Node<6>, entering) <= 192);
        assert_eq!(size_of::<Entry>(), 16);
    }
}
