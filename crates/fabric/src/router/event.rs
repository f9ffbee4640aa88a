//! Events at a node of a torus, two words each, and the messages between blocks.

use super::BLOCK_MAX;
use crate::packet::{Arena, Data, Meta};
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::{Calendar, Time};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::marker::PhantomData;

/// Source of a transfer: an injection FIFO rather than a receiver.
pub(in crate::router) const FROM_INJECTION: u8 = 0xff;

/// A data packet on a link, for its sender: the resources that become free when its last bit has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::router) struct Leaving {
    /// The receiver that it came from, or [`FROM_INJECTION`].
    pub from: u8,
    /// Its slot there, or the injection FIFO.
    pub slot: u8,
    /// VC and number of the tokens that become due.
    pub due_vc: u8,
    pub due_chunks: u8,
    /// Its size.
    pub chunks: u8,
}

impl Leaving {
    /// Encoded as an event's word, which excludes the port.
    #[inline]
    pub fn word(self) -> u64 {
        u64::from_le_bytes([self.from, self.slot, self.due_vc, self.due_chunks, self.chunks, 0, 0, 0])
    }

    #[inline]
    pub fn of(word: u64) -> Self {
        let [from, slot, due_vc, due_chunks, chunks, ..] = word.to_le_bytes();
        Leaving { from, slot, due_vc, due_chunks, chunks }
    }
}

/// Events specific to one family of routers.
pub(in crate::router) trait OwnKind: Copy + 'static {
    /// All kinds, in the order of their numbers.
    const ALL: &'static [Self];

    /// Its index among all kinds.
    fn number(self) -> u64;
}

/// A family without events of its own.
impl OwnKind for Infallible {
    const ALL: &'static [Self] = &[];

    #[inline]
    fn number(self) -> u64 {
        match self {}
    }
}

/// The kind of an event at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::router) enum Kind<Own> {
    /// A data packet's last bit has left on this port's link: see [`Leaving`].
    Sent,
    /// Tokens have arrived at this port's sender.
    Tokens,
    /// The tail of an invalid packet has arrived for the VC `slot` of this port's receiver (links with errors
    /// only): before any packet behind it.
    Tail,
    /// A packet has arrived at this port's receiver, for the VC `slot`.
    Arrived,
    /// A packet has been completely transferred from `slot` to the reception FIFO.
    Received,
    /// The host has, or may have, a packet for the injection FIFO `slot` (of the set `port`).
    Fill,
    /// Like [`Kind::Received`] for a copy, while the packet itself continues (deposit).
    Copied,
    /// A wake-up requested by the host.
    Wake,
    /// An acknowledgement of this port's receiver may be overdue (links with errors only, like the next two).
    Overdue,
    /// The last bit of a retransmitted packet has left on this port's link.
    Resent,
    /// The acknowledgement timeout of this port's sender.
    Timeout,
    /// An event specific to this family.
    Own(Own),
}

impl<Own: OwnKind> Kind<Own> {
    /// Number of kinds that all families have.
    const COMMON: u64 = 11;

    #[inline]
    fn number(self) -> u64 {
        match self {
            Kind::Sent => 0,
            Kind::Tokens => 1,
            Kind::Tail => 2,
            Kind::Arrived => 3,
            Kind::Received => 4,
            Kind::Fill => 5,
            Kind::Copied => 6,
            Kind::Wake => 7,
            Kind::Overdue => 8,
            Kind::Resent => 9,
            Kind::Timeout => 10,
            Kind::Own(own) => Self::COMMON + own.number(),
        }
    }

    #[inline]
    fn of(number: u64) -> Self {
        match number {
            0 => Kind::Sent,
            1 => Kind::Tokens,
            2 => Kind::Tail,
            3 => Kind::Arrived,
            4 => Kind::Received,
            5 => Kind::Fill,
            6 => Kind::Copied,
            7 => Kind::Wake,
            8 => Kind::Overdue,
            9 => Kind::Resent,
            10 => Kind::Timeout,
            _ => Own::ALL.get((number - Self::COMMON) as usize).map_or(Kind::Timeout, |&own| Kind::Own(own)),
        }
    }
}

/// An event at a node at some tick. It has two words, which pass in registers: with more fields it would be
/// assembled in memory and read back before its parts are written, which costs as much as the rest of a push.
#[derive(Clone, Copy, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(bound = "")]
pub(in crate::router) struct Event<Own> {
    /// Kind, slot, port and node (see [`Event::at`]); above them the index of a packet in the arena, or a
    /// host's token.
    place: u64,
    /// A header, tokens, or the resources that become free.
    pub word: u64,
    #[borsh(bound(serialize = "", deserialize = ""))]
    own: PhantomData<Own>,
}

impl<Own> Default for Event<Own> {
    fn default() -> Self {
        Event { place: 0, word: 0, own: PhantomData }
    }
}

impl<Own: OwnKind> Event<Own> {
    #[inline]
    pub fn at(kind: Kind<Own>, node: u32, port: usize, slot: usize, packet: u32, word: u64) -> Self {
        debug_assert!((node as usize) < BLOCK_MAX && port < 16 && slot < 8);
        let place = kind.number() << 27 | (slot as u64) << 24 | (port as u64) << 20 | u64::from(node);
        Event { place: u64::from(packet) << 32 | place, word, own: PhantomData }
    }

    #[inline]
    pub fn kind(&self) -> Kind<Own> {
        Kind::of(self.place >> 27 & 31)
    }

    /// Whether it is of one of these kinds; no branch depends on it.
    #[inline]
    pub fn is_of(&self, kinds: &[Kind<Own>]) -> bool {
        let mask = kinds.iter().fold(0u32, |mask, kind| mask | 1 << kind.number());
        mask >> (self.place >> 27 & 31) & 1 != 0
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
        self.place as usize % BLOCK_MAX
    }

    /// The injection FIFO that is to be filled, as a bit.
    #[inline]
    pub fn fifo(&self) -> u16 {
        1 << (self.port() * 8 + self.slot())
    }

    /// The index of a packet in the arena, or a host's token.
    #[inline]
    pub fn packet(&self) -> u32 {
        (self.place >> 32) as u32
    }

    /// The same event for another packet.
    #[inline]
    pub fn with_packet(self, packet: u32) -> Self {
        Event { place: u64::from(packet) << 32 | u64::from(self.place as u32), ..self }
    }

    /// Sort key for the events of a tick: node, kind, slot, port, and the packet or token.
    #[inline]
    pub fn by_node(&self) -> u64 {
        u64::from((self.place as u32).rotate_left(32 - BLOCK_MAX.trailing_zeros())) << 32 | self.place >> 32
    }

    /// Sort key for the events of one kind in a tick: node, port and slot.
    pub fn place(&self) -> u32 {
        self.place as u32
    }
}

/// A message between blocks: an event, and for an arriving packet its metadata and payload.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Message<Own> {
    event: Event<Own>,
    meta: Meta,
    data: Option<Data>,
}

impl<Own> Message<Own> {
    /// An event with its packet, which leaves the arena, or without one for [`u32::MAX`].
    #[inline]
    pub(in crate::router) fn new(event: Event<Own>, packet: u32, arena: &mut Arena) -> Self {
        let (meta, data) = if packet == u32::MAX { (Meta::default(), None) } else { arena.remove(packet) };
        Message { event, meta, data }
    }
}

/// Receives the messages of other blocks: an arriving packet enters this block's arena.
pub(in crate::router) fn take_in<Own: OwnKind, const HORIZON: usize>(
    messages: &mut Vec<(Time, Message<Own>)>,
    arena: &mut Arena,
    calendar: &mut Calendar<Event<Own>, HORIZON>,
) {
    for (time, message) in messages.drain(..) {
        let Message { event, meta, data } = message;
        let event = match event.kind() {
            Kind::Arrived => event.with_packet(arena.insert_with(meta, data)),
            _ => event,
        };
        calendar.push(time, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Two {
        First,
        Second,
    }

    impl OwnKind for Two {
        const ALL: &'static [Self] = &[Two::First, Two::Second];

        fn number(self) -> u64 {
            self as u64
        }
    }

    #[test]
    fn events_are_two_words() {
        assert_eq!((size_of::<Event<Infallible>>(), size_of::<Event<Two>>()), (16, 16));
        assert_eq!(size_of::<Kind<Infallible>>(), 1);
    }

    fn keeps_its_parts<Own: OwnKind + PartialEq + std::fmt::Debug>(kind: Kind<Own>) {
        let e = Event::at(kind, 1_048_575, 9, 7, 3, 4);
        assert_eq!((e.kind(), e.node(), e.port(), e.slot()), (kind, 1_048_575, 9, 7));
        assert_eq!((e.packet(), e.word), (3, 4));
    }

    #[test]
    fn places_keep_their_parts() {
        use Kind::*;
        for kind in [Sent, Tokens, Tail, Arrived, Received, Fill, Copied, Wake, Overdue, Resent, Timeout] {
            keeps_its_parts::<Infallible>(kind);
        }
        [Timeout, Own(Two::First), Own(Two::Second)].into_iter().for_each(keeps_its_parts);
    }
}
