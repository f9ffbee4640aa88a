//! A link: its sender, which holds the tokens of the receiver at the other end, and the packets and tokens in
//! flight.

use netloom_fabric::config::VCS_MAX;
use std::collections::VecDeque;

/// Tokens of each VC.
pub type Tokens = [u32; VCS_MAX];

/// A packet in flight on a link, in a VC, or in a bypass slot.
#[derive(Clone, Copy)]
pub struct Place {
    /// The packet.
    pub packet: usize,
    /// The VC that it was granted.
    pub vc: usize,
    /// The space that it takes, chunks.
    pub chunks: u32,
    /// The tokens that its grant took and that it returns on leaving: not `chunks` where packets are counted
    /// instead.
    pub tokens: u32,
}

/// The state of a link in a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// Nothing.
    #[default]
    Nothing,
    /// A data packet.
    Data,
    /// A token-ack.
    Ack,
}

/// A transfer over a link, from the grant to the last byte. `S` is the kind of holder in a node's router.
#[derive(Clone, Copy)]
pub struct Transfer<S> {
    /// The holder of the packet at this end.
    pub source: S,
    /// The packet, until its first byte leaves.
    pub waiting: Option<Place>,
    /// Whether tokens were already due at the grant, and leave before the packet.
    pub after_tokens: bool,
    /// The first tick at which its first byte can be here.
    pub from: u64,
}

/// Times of a link, ticks.
#[derive(Clone, Copy)]
pub struct LinkTimes {
    /// Time of a token-ack on the link.
    pub ack: u64,
    /// From a packet's first bit on the link to its arrival at the arbiters of the next node.
    pub hop: u64,
    /// From a packet's last bit on the link to the next one's first.
    pub gap: u64,
    /// From a token-ack's first bit on the link to the change of the counters.
    pub tokens: u64,
}

/// The sending side of a port, and the link that leaves from it.
pub struct Sender<S> {
    /// The node at the other end; `None` without a link.
    pub neighbour: Option<usize>,
    /// Free space in each VC of the receiver at the other end.
    pub tokens: Tokens,
    /// The transfer that holds the link.
    pub transfer: Option<Transfer<S>>,
    /// A transfer that was granted the link in advance, and has it next.
    pub following: Option<Transfer<S>>,
    /// What the link carries, until `busy_until`.
    pub carried: Carried,
    /// The first tick at which the link is free again.
    pub busy_until: u64,
    /// The first tick at which it is free for a packet.
    pub ready_at: u64,
    /// Tokens that the next token-ack will carry to the sender at the other end of this port's receiver.
    pub due: Tokens,
    /// Packets in flight, with their arrival times at the other end.
    pub packets_in_flight: VecDeque<(u64, Place)>,
    /// Tokens in flight, with the time at which they count at the other end.
    pub tokens_in_flight: VecDeque<(u64, Tokens)>,
}

impl<S> Default for Sender<S> {
    fn default() -> Self {
        Sender {
            neighbour: None,
            tokens: Tokens::default(),
            transfer: None,
            following: None,
            carried: Carried::Nothing,
            busy_until: 0,
            ready_at: 0,
            due: Tokens::default(),
            packets_in_flight: VecDeque::new(),
            tokens_in_flight: VecDeque::new(),
        }
    }
}

impl<S> Sender<S> {
    /// Whether the arbiters may grant the link.
    pub fn available(&self) -> bool {
        self.neighbour.is_some() && self.transfer.is_none()
    }

    /// Whether tokens wait for a token-ack.
    pub fn owes(&self) -> bool {
        self.due.iter().any(|&n| n > 0)
    }

    /// Whether nothing is on the link or waits for it, and all initial tokens are back.
    pub fn at_rest(&self, now: u64, tokens: &[u32]) -> bool {
        self.tokens.starts_with(tokens)
            && self.transfer.is_none()
            && self.busy_until <= now
            && !self.owes()
            && self.packets_in_flight.is_empty()
            && self.tokens_in_flight.is_empty()
    }

    /// The packet and the tokens that arrive at the other end at `now`.
    pub fn arriving(&mut self, now: u64) -> (Option<Place>, Option<Tokens>) {
        let packet = self.packets_in_flight.pop_front_if(|&mut (at, _)| at == now);
        let tokens = self.tokens_in_flight.pop_front_if(|&mut (at, _)| at == now);
        (packet.map(|(_, place)| place), tokens.map(|(_, tokens)| tokens))
    }

    /// Adds returned tokens.
    pub fn earn(&mut self, tokens: Tokens) {
        self.tokens.iter_mut().zip(tokens).for_each(|(sum, n)| *sum += n);
    }

    /// Grants the link to a packet, which takes its tokens. Returns the node at the other end.
    pub fn begin(&mut self, source: S, place: Place) -> usize {
        self.begin_from(source, place, 0)
    }

    /// The same for a packet whose first byte is here at `from`, possibly behind another that still has the
    /// link.
    pub fn begin_from(&mut self, source: S, place: Place, from: u64) -> usize {
        self.tokens[place.vc] -= place.tokens;
        let transfer = Transfer { source, waiting: Some(place), after_tokens: self.owes(), from };
        let next = if self.transfer.is_none() { &mut self.transfer } else { &mut self.following };
        assert!(next.replace(transfer).is_none(), "a link is given ahead to one packet at most");
        self.neighbour.expect("only a link that is there is offered")
    }

    /// Whether the link is free for a packet whose first byte arrives at `from`: it is idle, or will be by
    /// then.
    pub fn is_free_at(&self, from: u64) -> bool {
        let has_left = |t: &Transfer<S>| t.waiting.is_none() && self.busy_until <= from;
        self.neighbour.is_some()
            && self.following.is_none()
            && self.ready_at <= from
            && self.transfer.as_ref().is_none_or(has_left)
    }

    /// The transfer whose last byte has left at `now`.
    pub fn end(&mut self, now: u64) -> Option<Transfer<S>> {
        let ended = self.carried == Carried::Data && self.busy_until == now;
        ended.then(|| {
            let next = self.following.take();
            std::mem::replace(&mut self.transfer, next).expect("data on a link are a transfer's")
        })
    }

    /// Starts the next transmission on the link, if it is free: token-acks before data, of which `chunks`
    /// take `data` ticks.
    pub fn send(&mut self, now: u64, times: LinkTimes, data: impl Fn(u32) -> u64) {
        if self.busy_until > now {
            return;
        }
        self.carried = Carried::Nothing;
        if self.owes() && self.transfer.as_ref().is_none_or(|t| t.after_tokens) {
            let tokens = std::mem::take(&mut self.due);
            self.tokens_in_flight.push_back((now + times.tokens, tokens));
            self.carried = Carried::Ack;
            self.busy_until = now + times.ack;
            if let Some(transfer) = &mut self.transfer {
                transfer.after_tokens = false;
            }
        } else if self.ready_at <= now
            && let Some(place) =
                self.transfer.as_mut().filter(|t| t.from <= now).and_then(|t| t.waiting.take())
        {
            self.packets_in_flight.push_back((now + times.hop, place));
            self.carried = Carried::Data;
            self.busy_until = now + data(place.chunks);
            self.ready_at = self.busy_until + times.gap;
        }
    }
}
