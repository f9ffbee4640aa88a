//! What a rank knows of another one that it exchanges messages with.

use super::super::blocks::Parts;
use super::credits::Credits;
use super::header::Packet;
use crate::transport::Envelope;
use std::collections::{BTreeSet, VecDeque};

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

    /// Credits that are returned now: for mini-packets, and for buffers of the exclusive channel.
    pub fn give_back(&mut self) -> (u16, u16) {
        let buffers = self.ring().map_or(0, |ring| ring.credits.give_back());
        (self.credits.give_back(), buffers)
    }

    /// Whether credits must be returned by themselves.
    pub fn must_return(&mut self) -> bool {
        self.credits.must_return() || self.ring().is_some_and(|ring| ring.credits.must_return())
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
