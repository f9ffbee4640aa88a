//! The two phases of an all-to-all on a torus: along some dimensions first, then along the others, so that
//! packets of the long dimension do not wait in the buffers of the short ones (the abstracts of Kumar and
//! others, ICPP 2008, and of IBM RC24327, name such schedules; "rows, then planes"). Packets of both phases
//! are on their way at once.
//!
//! No source that we have states which injection FIFOs they use: every second one is for packets that are
//! forwarded **(ours)**, or packets of one phase would keep those of the other from links that are free.
//! Software takes no time, and its memory has no end, as with all synthetic traffic.

use crate::config::{Priority, TrafficConfig, WorkloadConfig, letter, refuse};
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use netloom_engine::checkpoint::{State, load_each, store_each};
use netloom_fabric::config::{ConfigError, Outline};
use netloom_fabric::topology::torus::Torus;
use netloom_nic::config::{Dealing, FifoConfig};
use std::collections::VecDeque;
use std::io;

/// Where packets change their phase.
#[derive(Clone, Debug)]
pub struct Phases {
    torus: Torus,
    /// The dimensions of the first phase.
    first: Vec<usize>,
}

impl Phases {
    /// Those of an all-to-all, if it has them.
    pub fn new(workload: &WorkloadConfig, torus: &Torus) -> Option<Self> {
        let WorkloadConfig::AllToAll(all) = workload else { return None };
        let first = (0..torus.dimensions()).filter(|&d| all.first_phase.contains(letter(d))).collect();
        (!all.first_phase.is_empty()).then(|| Phases { torus: torus.clone(), first })
    }

    /// The node that forwards a packet: it may be the sender or the destination.
    pub fn intermediate(&self, from: u32, to: u32) -> u32 {
        let (mut at, to) = (self.torus.coordinates(from), self.torus.coordinates(to));
        self.first.iter().for_each(|&d| at[d] = to[d]);
        self.torus.node(at)
    }

    /// Whether the traffic and the network interface allow phases.
    ///
    /// # Errors
    /// A key that excludes them.
    pub fn check(traffic: &TrafficConfig, network: &Outline, nic: &FifoConfig) -> Result<(), ConfigError> {
        let topology = &network.topology;
        if !topology.dead_nodes.is_empty() || !topology.dead_links.is_empty() {
            return refuse("workload.first_phase", "expected none: nodes or links of this machine are dead");
        }
        if traffic.priority == Priority::High || traffic.high_fraction > 0.0 {
            return refuse("workload.first_phase", "expected none with packets of high priority");
        }
        let message = |why: &str| format!("{why}: an all-to-all of two phases has some for each");
        if nic.injection_fifo_B.is_some() {
            return refuse("nic.injection_fifo_B", message("expected injection FIFOs without an end"));
        }
        if nic.injection_normal < 2 {
            return refuse("nic.injection_normal", message("expected at least 2 injection FIFOs"));
        }
        if nic.dealing == Dealing::FirstDirection {
            return refuse("nic.dealing", message("expected FIFOs that are not chosen by direction"));
        }
        if nic.window_packets.is_some() {
            return refuse("nic.window_packets", "expected none with an all-to-all of two phases");
        }
        Ok(())
    }
}

/// A packet that a node is to forward.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub struct Held {
    /// Its destination.
    pub to: u32,
    /// Its size in chunks.
    pub chunks: u32,
    /// When its sender created it.
    pub made: Time,
    /// Its sender.
    pub source: u32,
}

/// The packets that the nodes of a block are to forward, in the order of their arrival; empty without phases.
#[derive(Debug, Default)]
pub struct Forwarded(Vec<VecDeque<Held>>);

impl Forwarded {
    /// Of this many nodes.
    pub fn new(nodes: usize) -> Self {
        Forwarded(vec![VecDeque::new(); nodes])
    }

    /// A node gets one. Returns whether it had none.
    pub fn push(&mut self, node: u32, held: Held) -> bool {
        let queue = &mut self.0[node as usize];
        queue.push_back(held);
        queue.len() == 1
    }

    /// A node's next one.
    pub fn pop(&mut self, node: u32) -> Option<Held> {
        self.0[node as usize].pop_front()
    }

    /// The packets of each node.
    pub fn by_node(&self) -> &[VecDeque<Held>] {
        &self.0
    }
}

impl State for Forwarded {
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        store_each(&self.0, to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        load_each(&mut self.0, from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AllToAll;
    use netloom_fabric::config::TorusConfig;
    use proptest::prelude::*;

    fn phases(dims: &[u32], first_phase: &str) -> Phases {
        let all = AllToAll { first_phase: first_phase.into(), ..AllToAll::default() };
        let torus = Torus::new(&TorusConfig::bluegene_l(dims).topology);
        Phases::new(&WorkloadConfig::AllToAll(all), &torus).expect("it has them")
    }

    proptest! {
        /// The first phase changes its dimensions alone, and the second one the others.
        #[test]
        fn each_phase_changes_its_own_dimensions(
            from in 0u32..60,
            to in 0u32..60,
            first in "x|y|z|xy|zx|yz",
        ) {
            let phases = phases(&[3, 4, 5], &first);
            let nodes = [from, phases.intermediate(from, to), to];
            let [from, intermediate, to] = nodes.map(|node| phases.torus.coordinates(node));
            for d in 0..3 {
                let expected = if first.contains(letter(d)) { to[d] } else { from[d] };
                prop_assert_eq!(intermediate[d], expected);
            }
        }
    }
}
