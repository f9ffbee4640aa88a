//! A sequence of a node's packets: destination, time and size of the next one. It does not know headers.

use super::order::Order;
use super::plan::Plan;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::{Stream, Time};

/// Number of consecutive unreachable destinations after which a node gives up.
const TRIES: u32 = 10_000;

/// The packets of a node's sequence that a source creates: `start, start + step, ...`, those below `end`; and
/// their times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// The first packet.
    pub start: u64,
    /// The distance between two packets.
    pub step: u64,
    /// One past the last packet of the sequence; 0 for a node that sends nothing.
    pub end: u64,
    /// Number of packets of other sequences that the node sends before these.
    pub before: u64,
    /// Mean ticks between these packets; 0: as fast as the network accepts them.
    pub interval: f64,
    /// Whether all of them exist from the start.
    pub is_burst: bool,
}

/// A packet to be sent by a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Time of its creation.
    pub made: Time,
    /// Its destination.
    pub to: u32,
    /// Its size, in the machine's unit: chunks or flits.
    pub size: u32,
}

/// The answer of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This packet.
    Packet(Request),
    /// No packet before this time.
    NotBefore(Time),
    /// No more packets.
    Nothing,
}

/// The progress of a node in a share of its sequence.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub struct Source {
    /// The random choices for its packets.
    pub stream: Stream,
    /// Number of packets created.
    made: u64,
    /// Creation time of the next packet, in open loop.
    next: f64,
    /// The first tick at or after that time.
    due: Time,
}

impl Source {
    /// At the start of a share.
    pub fn new(mut stream: Stream, share: &Share) -> Self {
        let next = if share.interval > 0.0 { share.interval * stream.exponential() } else { 0.0 };
        Source { stream, made: 0, next, due: Time::at(next.ceil() as u64) }
    }

    /// Whether all packets of the share have been created.
    #[inline]
    pub fn is_done(&self, share: &Share) -> bool {
        share.start + self.made * share.step >= share.end
    }

    /// The next packet of node `from`, which uses `order` for its destinations if given. Unreachable
    /// destinations are skipped, and a node without reachable destinations sends nothing.
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
