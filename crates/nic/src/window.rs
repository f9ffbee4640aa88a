//! Injection flow control by software: a window on the packets that a node has in flight.
//!
//! The BlueGene/L authors expect that "appropriate injection flow control software algorithms can reduce VC
//! buffer blocking" (section 4, All-to-All) but give no details. Here the receiving node's software answers
//! each packet with an acknowledgement of one chunk, a packet like any other that uses links and buffers; the
//! sender stops at a maximum number of unacknowledged packets **(ours)**.

use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use netloom_engine::checkpoint::State;
use netloom_fabric::config::{HalfwayTie, Outline};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use std::collections::VecDeque;
use std::io;

/// [`Meta::kind`] of an acknowledgement. Software's own packets use smaller kinds.
pub const ACKNOWLEDGEMENT: u8 = u8::MAX;

/// The windows of a block's nodes.
pub(crate) struct Windows {
    torus: Torus,
    tie: HalfwayTie,
    numbers: Vec<u32>,
    most: u32,
    in_flight: Vec<u32>,
    /// Nodes to which each node owes an acknowledgement.
    owed: Vec<VecDeque<u32>>,
}

impl State for Windows {
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        let Windows { torus: _, tie: _, numbers: _, most: _, in_flight, owed } = self;
        (in_flight, owed).serialize(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        (self.in_flight, self.owed) = BorshDeserialize::deserialize(from)?;
        Ok(())
    }
}

impl Windows {
    pub(crate) fn new(network: &Outline, numbers: &[u32], most: u32) -> Self {
        Windows {
            torus: Torus::new(&network.topology),
            tie: network.halfway_tie,
            numbers: numbers.to_vec(),
            most,
            in_flight: vec![0; numbers.len()],
            owed: vec![VecDeque::new(); numbers.len()],
        }
    }

    /// Whether a node may send another packet.
    pub(crate) fn is_open(&self, node: u32) -> bool {
        self.in_flight[node as usize] < self.most
    }

    /// A node has sent a packet.
    pub(crate) fn sent(&mut self, node: u32) {
        self.in_flight[node as usize] += 1;
    }

    /// A node has received a packet from `source`, and will acknowledge it.
    pub(crate) fn owe(&mut self, node: u32, source: u32) {
        self.owed[node as usize].push_back(source);
    }

    /// A node has received an acknowledgement. Returns whether its window was closed.
    pub(crate) fn acknowledged(&mut self, node: u32) -> bool {
        let in_flight = &mut self.in_flight[node as usize];
        *in_flight -= 1;
        *in_flight + 1 == self.most
    }

    /// The next acknowledgement that a node sends.
    pub(crate) fn next(&mut self, now: Time, node: u32) -> Option<(Header, Meta)> {
        let to = self.owed[node as usize].pop_front()?;
        let own = self.numbers[node as usize];
        let (from, to) = (self.torus.coordinates(own), self.torus.coordinates(to));
        let hints = hints::minimal(&self.torus, from, to, self.tie);
        let meta = Meta { made: now, source: own, kind: ACKNOWLEDGEMENT, ..Meta::default() };
        Some((Header::new(to, hints, 1, 0), meta))
    }
}
