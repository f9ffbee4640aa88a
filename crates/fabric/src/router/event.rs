//! What happens at a node of a torus, in two words, and what blocks tell one another of it.

use super::BLOCK_MAX;
use crate::packet::{Arena, Data, Meta};
use netloom_engine::{Calendar, Time};
use std::convert::Infallible;
use std::marker::PhantomData;

/// As the source of a transfer: an injection FIFO rather than a receiver.
pub(in crate::router) const FROM_INJECTION: u8 = 0xff;

/// A data packet on a link, for its sender: what becomes free when its last bit has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::router) struct Leaving {
    /// The receiver that it came from, or [`FROM_INJECTION`].
    pub from: u8,
    /// Its slot there, or the injection FIFO.
    pub slot: u8,
    /// Whose tokens fall due, and how many.
    pub due_vc: u8,
    pub due_chunks: u8,
    /// Its size.
    pub chunks: u8,
}

impl Leaving {
    /// As the word of an event: the port itself need not be looked at.
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

/// What happens at nodes of one family of routers only.
pub(in crate::router) trait OwnKind: Copy + 'static {
    /// All of them, by their numbers.
    const ALL: &'static [Self];

    /// Its place among all.
    fn number(self) -> u64;
}

/// A family of which nothing else happens than what happens in all.
impl OwnKind for Infallible {
    const ALL: &'static [Self] = &[];

    #[inline]
    fn number(self) -> u64 {
        match self {}
    }
}

/// What happens at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::router) enum Kind<Own> {
    /// A data packet's last bit has left on this port's link: see [`Leaving`].
    Sent,
    /// Tokens have come back to this port's sender.
    Tokens,
    /// The tail of an invalid packet has come to the VC `slot` of this port's receiver (links with errors only): before what arrives
    /// behind it.
    Tail,
    /// A packet has arrived at this port's receiver, for the VC `slot`.
    Arrived,
    /// A packet has gone whole from `slot` to the reception FIFO.
    Received,
    /// The host has, or may have, a packet for the injection FIFO `slot` (of the set `port`).
    Fill,
    /// Like [`Kind::Received`] for a copy, while the packet itself goes on (deposit).
    Copied,
    /// The host asked for this time.
    Wake,
    /// This port's receiver may owe an acknowledgement for too long (links with errors only, like the next two).
    Overdue,
    /// The last bit of a packet sent again has left on this port's link.
    Resent,
    /// This port's sender has waited long enough for an acknowledgement.
    Timeout,
    /// What only nodes of this family know.
    Own(Own),
}

impl<Own: OwnKind> Kind<Own> {
    /// Kinds that all families have.
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

/// What happens at a node at some tick. Two words, which pass in registers: were it more fields, it would be put together in
/// memory and read again from there before its parts are written, which costs as much as all the rest of a push.
#[derive(Clone, Copy)]
pub(in crate::router) struct Event<Own> {
    /// Kind, slot, port and node (see [`Event::at`]); above them a packet in the arena, or a host's token.
    place: u64,
    /// A header, tokens, or what becomes free.
    pub word: u64,
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

    /// A packet in the arena, or a host's token.
    #[inline]
    pub fn packet(&self) -> u32 {
        (self.place >> 32) as u32
    }

    /// The same event for another packet.
    #[inline]
    pub fn with_packet(self, packet: u32) -> Self {
        Event { place: u64::from(packet) << 32 | u64::from(self.place as u32), ..self }
    }

    /// Orders the events of one kind in a tick by node, port and slot.
    pub fn place(&self) -> u32 {
        self.place as u32
    }
}

/// What one block tells another: an event, and with an arriving packet what its ends know of it and what it carries.
pub struct Message<Own> {
    event: Event<Own>,
    meta: Meta,
    data: Option<Data>,
}

impl<Own> Message<Own> {
    /// An event with the packet, which leaves the arena; or without where that is [`u32::MAX`].
    #[inline]
    pub(in crate::router) fn new(event: Event<Own>, packet: u32, arena: &mut Arena) -> Self {
        let (meta, data) = if packet == u32::MAX { (Meta::default(), None) } else { arena.remove(packet) };
        Message { event, meta, data }
    }
}

/// Takes in what other blocks sent: an arriving packet goes into this block's arena.
pub(in crate::router) fn take_in<Own: OwnKind>(
    messages: &mut Vec<(Time, Message<Own>)>,
    arena: &mut Arena,
    calendar: &mut Calendar<Event<Own>>,
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
