//! The state of a node, laid out for the cache: the part that arbitration reads first, in a few lines; then
//! receivers, then links.

use super::slots::{BYPASS, RequestedSlots, SLOTS};
use crate::packet::Header;
use crate::router::event;
pub(super) use crate::router::event::{FROM_INJECTION, Leaving};
pub(super) use crate::router::partition::NOWHERE;
pub(super) use crate::router::port::Port;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::{Stream, Time};
use std::convert::Infallible;

/// Events at a node; this family has none of its own.
pub(super) type Kind = event::Kind<Infallible>;
pub(super) type Event = event::Event<Infallible>;
pub(super) type Message = event::Message<Infallible>;

/// How far ahead nearly all events are, ticks: a full packet takes 260 on a link.
pub(super) const HORIZON: usize = 512;

/// In a head mask, in addition to the header's bits: its escape VC is the upper one of the dateline pair.
pub(super) const UPPER: u16 = 1 << 14;
/// The state of a node without its packets, by frequency of access: a line of masks that every event needs,
/// two of pending requests and tokens, then the receivers and the links, of which most events need one or
/// two. Masks have one bit per port.
#[repr(C, align(64))]
#[derive(BorshSerialize, BorshDeserialize)]
pub(super) struct Node<const P: usize> {
    /// The node's own random choices.
    pub random: Stream,
    /// Links that carry no data packet.
    pub open: u16,
    /// Links with a full packet's tokens for some dynamic VC.
    pub dynamic_ok: u16,
    /// Links with a full packet's tokens for any VC.
    pub any_ok: u16,
    /// Receivers with a packet in the bypass in this tick.
    pub bypassing: u16,
    /// Receivers whose bypass is being transferred.
    pub bypass_busy: u16,
    /// Receivers with tokens due to the other end.
    pub due: u16,
    /// Receivers whose heads found no available direction at their last opportunity to request (for the
    /// arbitration gap).
    pub stalled: u16,
    /// Injection FIFOs to be filled from the host.
    pub refill: u16,
    /// Injection FIFOs whose head is being transferred.
    pub injecting: u16,
    /// Injection FIFOs with a ready head, and those of them with a high-priority head.
    pub waiting: u16,
    pub waiting_high: u16,
    /// For each link, JSQ's view of its dynamic VCs: the best range of tokens in the upper four bits, the VCs
    /// in that range in the lower.
    pub best: [u8; P],
    /// Buses to senders in use, by receiver.
    pub paths: [u8; P],
    /// VC of the packet in each receiver's bypass.
    pub bypass_vc: [u8; P],
    /// Each receiver's VCs that hold packets, one bit each: all that a packet in the bypass needs of the
    /// receiver.
    pub occupied: [u8; P],
    /// Number of ready heads of receivers.
    pub standing: u8,
    /// Events in this tick: none, one, or 2 for several; or [`LISTED`].
    pub events: u8,
    /// If it is [`LISTED`]: its index in the list, from 1.
    pub acting: u32,
    /// Its index in its block.
    pub here: u32,
    /// For each direction, the ready heads of receivers that may take it.
    pub requested: RequestedSlots<P>,
    /// Tokens held for each VC at the other end of each link, chunks; one byte per VC. A single word, always
    /// written as a whole: reading a word just after writing a part of it would stall the processor.
    pub tokens: [u64; P],
    /// The neighbours' coordinates, each in its link's dimension.
    pub ahead: [u8; P],
    /// Links that cross their ring's dateline.
    pub dateline: u16,
    /// For each direction, the injection FIFOs whose heads may take it.
    pub entering: [u16; P],
    /// Receivers whose bus to the normal reception FIFO is idle, and those whose bus to the high-priority one
    /// is.
    pub reception_idle: [u16; 2],
    /// Receivers whose reception FIFOs, normal and high-priority, have no room.
    pub reception_full: [u16; 2],
    pub receivers: [Receiver; P],
    pub ports: [Port; P],
}

/// In [`Node::events`]: in the list of nodes that act after all events of this tick.
pub(super) const LISTED: u8 = 3;

/// The VCs of a receiver.
#[repr(C)]
#[derive(Clone, Copy, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Receiver {
    /// For each slot, the ready head: [`Header::head`] bits and [`UPPER`]; 0 if none.
    pub heads: [u16; SLOTS],
    /// Chunks in each VC.
    pub chunks: [u8; SLOTS],
    /// Each VC's FIFO: place of its head, and number of packets.
    pub first: [u8; SLOTS],
    pub count: [u8; SLOTS],
    /// Tokens due to the sender at the other end, one byte per VC.
    pub due: u64,
}

impl<const P: usize> Node<P> {
    /// Tokens held for a VC at the other end of a link.
    #[inline]
    pub fn tokens_of(&self, port: usize, vc: usize) -> u8 {
        (self.tokens[port] >> (8 * vc)) as u8
    }

    /// A head at a slot becomes ready.
    #[inline]
    pub fn set_head(&mut self, port: usize, slot: usize, head: u16) {
        debug_assert!(self.receivers[port].heads[slot] == 0 && head != 0, "one head per slot");
        self.receivers[port].heads[slot] = head;
        self.standing += 1;
        self.requested.add(port, slot, head);
    }

    /// The head of a VC, if any, is no longer ready.
    #[inline]
    pub fn clear_head(&mut self, port: usize, vc: usize) {
        let head = std::mem::take(&mut self.receivers[port].heads[vc]);
        if head != 0 {
            self.standing -= 1;
            self.requested.remove(port, vc);
        }
    }

    /// A packet for a VC is in the bypass, for one tick. Its directions are registered only if there are
    /// others to compare with.
    #[inline]
    pub fn enter_bypass(&mut self, port: usize, vc: usize, head: u16) {
        self.bypassing |= 1 << port;
        self.bypass_vc[port] = vc as u8;
        self.receivers[port].heads[BYPASS] = head;
        self.standing += 1;
    }

    /// The packet in the bypass leaves it.
    #[inline]
    pub fn leave_bypass(&mut self, port: usize) -> u16 {
        self.bypassing &= !(1 << port);
        self.standing -= 1;
        std::mem::take(&mut self.receivers[port].heads[BYPASS])
    }

    /// Whether there is nothing for the arbiters to do.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        u16::from(self.standing) | self.waiting | self.stalled == 0
    }
}

/// A packet in a VC or at the head of an injection FIFO. It has two words, which pass in registers: see
/// [`Event`].
#[derive(Clone, Copy, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Entry {
    pub header: Header,
    /// Its index in the block's arena, and the low bits of its arrival time here.
    rest: u64,
}

impl Entry {
    #[inline]
    pub fn new(header: Header, packet: u32, now: Time) -> Self {
        Entry { header, rest: now.ticks() << 32 | u64::from(packet) }
    }

    /// Its index in the block's arena.
    #[inline]
    pub fn packet(&self) -> u32 {
        self.rest as u32
    }

    /// Low bits of its arrival time here: enough to compute its waiting time.
    #[inline]
    pub fn arrived(&self) -> u32 {
        (self.rest >> 32) as u32
    }
}

/// Entries per cache line: the four full packets of a BlueGene/L VC.
pub(super) const LINE: usize = 4;

/// Consecutive places of a VC's ring, in one cache line.
#[repr(C, align(64))]
#[derive(Clone, Copy, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Line(pub [Entry; LINE]);

/// Heads of a node's injection FIFOs, accessed for injection only.
#[repr(C, align(32))]
#[derive(Clone, Copy, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Injection {
    pub heads: [u16; 16],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_a_few_lines() {
        assert_eq!(size_of::<Node<6>>(), 704);
        assert_eq!(std::mem::offset_of!(Node<6>, requested), 64);
        assert!(std::mem::offset_of!(Node<6>, tokens) >= 128);
        assert!(std::mem::offset_of!(Node<6>, entering) <= 192);
        assert_eq!(size_of::<Entry>(), 16);
    }
}
