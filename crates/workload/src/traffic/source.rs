//! A sequence of a node's packets, and the next one of it: to whom, when, how large. What a header is, is not known here.

use super::order::Order;
use super::plan::Plan;
use netloom_engine::{Stream, Time};

/// Destinations out of reach in a row after which a node gives up.
const TRIES: u32 = 10_000;

/// Which packets of a node's sequence a source makes, and when: `start, start + step, ...`, those below `end`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// The first.
    pub start: u64,
    /// From one to the next.
    pub step: u64,
    /// One past the last of the sequence; 0 of a node that sends nothing.
    pub end: u64,
    /// How many packets of other sequences the node sends before these.
    pub before: u64,
    /// Mean ticks between these packets; 0: as fast as the network takes them.
    pub interval: f64,
    /// Whether all of them are there from the start.
    pub is_burst: bool,
}

/// A packet that a node is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it is made.
    pub made: Time,
    /// Its destination.
    pub to: u32,
    /// Its size, in the machine's unit: chunks or flits.
    pub size: u32,
}

/// What a source has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This packet.
    Packet(Request),
    /// Nothing before this time.
    NotBefore(Time),
    /// Nothing any more.
    Nothing,
}

/// Where a node is in a share of its sequence.
#[derive(Clone)]
pub struct Source {
    /// What is random of its packets.
    pub stream: Stream,
    /// Packets made.
    made: u64,
    /// When the next one is made, in open loop.
    next: f64,
    /// The first tick that is not before that.
    due: Time,
}

impl Source {
    /// At the start of a share.
    pub fn new(mut stream: Stream, share: &Share) -> Self {
        let next = if share.interval > 0.0 { share.interval * stream.exponential() } else { 0.0 };
        Source { stream, made: 0, next, due: Time::at(next.ceil() as u64) }
    }

    /// Whether all packets of the share have been made.
    #[inline]
    pub fn is_done(&self, share: &Share) -> bool {
        share.start + self.made * share.step >= share.end
    }

    /// The next packet of node `from`, which takes its destinations in `order` if it has one. Destinations that are not within reach are
    /// passed over, and a node that finds nobody sends nothing.
    #[inline(always)]
    pub fn next(
        &mut self,
        now: Time,
        plan: &Plan,
        share: &Share,
        (from, order): (u32, Option<&Order>),
        within_reach: impl Fn(u32) -> bool,
    ) -> Next {
        let mut made = now;
        if share.interval > 0.0 {
            made = self.due;
            if made > now {
                return Next::NotBefore(made);
            }
            self.next += share.interval * self.stream.exponential();
            self.due = Time::at(self.next.ceil() as u64);
        } else if share.is_burst {
            made = Time::ZERO;
        }
        for _ in 0..TRIES {
            let index = share.start + self.made * share.step;
            if index >= share.end {
                return Next::Nothing;
            }
            self.made += 1;
            let to = plan.pattern().destination(from, share.before + index, order, &mut self.stream);
            let Some(to) = to else { return Next::Nothing };
            if within_reach(to) {
                return Next::Packet(Request { made, to, size: plan.size(&mut self.stream) });
            }
        }
        Next::Nothing
    }
}
