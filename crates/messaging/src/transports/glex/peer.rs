//! What a rank knows of another one that it exchanges messages with.

use super::super::blocks::Parts;
use super::credits::Credits;
use super::header::{Header, Packet};
use crate::transport::Envelope;
use std::collections::{BTreeSet, VecDeque};

/// Why credits are returned by themselves, in the place of a part's length: those for mini-packets must be, or
/// those for buffers of the exclusive channel.
const OF_MINI_PACKETS: u16 = 0;
const OF_BUFFERS: u16 = 1;

/// What is to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outgoing {
    /// A message, and how much of its data has been sent, bytes.
    Message(Envelope, u64),
    /// A mini-packet about an exclusive channel.
    About(Packet),
}

/// An exclusive channel: rings of buffers at both ends, each for what the other sends.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// The number of the own ring, and of the partner's when that is known: before that, nothing is sent.
    pub own: u32,
    pub theirs: Option<u32>,
    pub credits: Credits,
    /// The partner's buffer to be filled next; the own buffer to be filled next, and later ones that have been
    /// filled before it.
    pub next_out: u32,
    next_in: u32,
    early: BTreeSet<u32>,
}

impl Ring {
    pub fn new(own: u32, buffers: u32) -> Self {
        Ring {
            own,
            theirs: None,
            credits: Credits::new(buffers),
            next_out: 0,
            next_in: 0,
            early: BTreeSet::new(),
        }
    }

    /// The data of an own buffer has been taken. Packets overtake one another (section 4.5), but the partner
    /// fills buffers in order: one is free for it when all before it are.
    pub fn taken(&mut self, buffer: u32, buffers: u32) {
        self.early.insert(buffer);
        let mut freed = 0;
        while self.early.remove(&self.next_in) {
            self.next_in = (self.next_in + 1) % buffers;
            freed += 1;
        }
        self.credits.freed(freed);
    }
}

/// Whether there is an exclusive channel.
#[derive(Clone, Debug, Default)]
pub(super) enum Exclusive {
    #[default]
    None,
    /// It has been requested, or is there.
    Ring(Ring),
    /// One of the two has no ring left.
    Refused,
}

/// A rank that this one exchanges messages with.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// What is to be sent to it, in order; whether it is among those that wait for a sending block, or for
    /// space in the descriptor queue.
    pub waiting: VecDeque<Outgoing>,
    pub is_queued: bool,
    /// For mini-packets.
    pub credits: Credits,
    /// Messages sent to it so far.
    pub messages: u32,
    pub exclusive: Exclusive,
    /// Its messages that come in parts.
    pub parts: Parts,
}

impl Peer {
    pub fn new(credits: u32) -> Self {
        Peer {
            waiting: VecDeque::new(),
            is_queued: false,
            credits: Credits::new(credits),
            messages: 0,
            exclusive: Exclusive::None,
            parts: Parts::default(),
        }
    }

    /// The exclusive channel, requested or there.
    pub fn ring(&mut self) -> Option<&mut Ring> {
        match &mut self.exclusive {
            Exclusive::Ring(ring) => Some(ring),
            Exclusive::None | Exclusive::Refused => None,
        }
    }

    /// Whether messages go by the exclusive channel.
    pub fn is_exclusive(&self) -> bool {
        matches!(&self.exclusive, Exclusive::Ring(Ring { theirs: Some(_), .. }))
    }

    /// The header of what is sent to it now: credits that are returned with it, for mini-packets and for
    /// buffers of the exclusive channel, and what is known of those that it has returned by themselves.
    pub fn header(&mut self, envelope: Envelope, packet: Packet, part: u16) -> Header {
        let (credits, taken) = (self.credits.give_back(), self.credits.acknowledge());
        let of_ring = self.ring().map(|ring| (ring.credits.give_back(), ring.credits.acknowledge()));
        let (buffers, buffers_taken) = of_ring.unwrap_or_default();
        let taken = [taken, buffers_taken];
        Header { envelope, packet, part, credits, buffers, taken, wants_more: false }
    }

    /// What came with something that it sent: the reverse.
    pub fn returned(&mut self, header: &Header) {
        self.credits.returned(header.credits);
        self.credits.acknowledged(header.taken[0]);
        if header.packet == Packet::Credit && header.part == OF_MINI_PACKETS {
            self.credits.take_unasked();
        }
        if let Some(ring) = self.ring() {
            ring.credits.returned(header.buffers);
            ring.credits.acknowledged(header.taken[1]);
            if header.packet == Packet::Credit && header.part == OF_BUFFERS {
                ring.credits.take_unasked();
            }
        }
    }

    /// Whether credits must be returned by themselves, and are now: those for which of the two.
    pub fn return_unasked(&mut self) -> Option<u16> {
        if self.credits.must_return() {
            self.credits.return_unasked();
            return Some(OF_MINI_PACKETS);
        }
        let ring = self.ring().filter(|ring| ring.credits.must_return())?;
        ring.credits.return_unasked();
        Some(OF_BUFFERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_free_when_all_before_it_are() {
        let mut ring = Ring::new(0, 4);
        ring.taken(1, 4);
        ring.taken(2, 4);
        assert_eq!(ring.credits.give_back(), 0);
        ring.taken(0, 4);
        assert_eq!(ring.credits.give_back(), 3);
        ring.taken(0, 4);
        assert_eq!(ring.credits.give_back(), 0);
        ring.taken(3, 4);
        assert_eq!(ring.credits.give_back(), 2);
    }
}
