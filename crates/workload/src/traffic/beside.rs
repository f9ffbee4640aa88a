//! Programs and synthetic traffic on the same machine: each node has one or the other.

use super::jobs::Jobs;
use netloom_engine::Time;
use netloom_fabric::host::{Delivery, Family, Host, Pull, Signals};
use std::collections::BTreeSet;

/// The nodes of a block, some of which run programs on a network interface, while the others send synthetic
/// traffic. Both sides are created for all nodes of the block; each call is dispatched by the node's side.
pub struct Beside<P, T> {
    /// The nodes that run programs.
    pub programs: P,
    /// The nodes of jobs of synthetic traffic.
    pub traffic: T,
    /// Injection FIFOs of each side.
    fifos: (usize, usize),
    /// Whether a node sends synthetic traffic.
    sends_traffic: Vec<bool>,
    /// The machine's numbers of the nodes that send synthetic traffic.
    senders: BTreeSet<u32>,
}

impl<P, T> Beside<P, T> {
    /// For the nodes of a block, by the machine's numbers: those of jobs with a pattern send synthetic
    /// traffic. `fifos` has the injection FIFOs of each side; the network has the maximum of both.
    pub fn new(programs: P, traffic: T, fifos: (usize, usize), jobs: &Jobs, numbers: &[u32]) -> Self {
        let sends_traffic = numbers.iter().map(|&node| jobs.at(node).is_some()).collect();
        let senders = numbers.iter().copied().filter(|&node| jobs.at(node).is_some()).collect();
        Beside { programs, traffic, fifos, sends_traffic, senders }
    }

    /// The machine's numbers of the block's nodes that send synthetic traffic.
    pub fn senders(&self) -> &BTreeSet<u32> {
        &self.senders
    }

    /// Whether a node's side has this injection FIFO.
    fn has(&self, node: u32, fifo: usize) -> bool {
        fifo < if self.sends_traffic[node as usize] { self.fifos.1 } else { self.fifos.0 }
    }
}

/// Dispatches a call to the side of a node.
macro_rules! on_its_side {
    ($self:ident, $node:ident, $call:ident($($argument:expr),*)) => {
        match $self.sends_traffic[$node as usize] {
            true => $self.traffic.$call($($argument),*),
            false => $self.programs.$call($($argument),*),
        }
    };
}

impl<F: Family, P: Host<F>, T: Host<F>> Host<F> for Beside<P, T> {
    fn pull(
        &mut self,
        now: Time,
        node: u32,
        fifo: usize,
        signals: &mut Signals<F::Signal>,
    ) -> Pull<F::Header> {
        match self.has(node, fifo) {
            true => on_its_side!(self, node, pull(now, node, fifo, signals)),
            false => Pull::Empty,
        }
    }

    fn deliver(
        &mut self,
        now: Time,
        node: u32,
        delivery: &Delivery<F::Header>,
        signals: &mut Signals<F::Signal>,
    ) {
        on_its_side!(self, node, deliver(now, node, delivery, signals));
    }

    fn wake(&mut self, now: Time, node: u32, token: u32, signals: &mut Signals<F::Signal>) {
        on_its_side!(self, node, wake(now, node, token, signals));
    }

    fn died(&mut self, now: Time, node: u32) {
        on_its_side!(self, node, died(now, node));
    }

    fn event(&mut self, now: Time, node: u32, event: F::Event, signals: &mut Signals<F::Signal>) {
        on_its_side!(self, node, event(now, node, event, signals));
    }

    fn prepare(&self, node: u32, fifo: usize) {
        if self.has(node, fifo) {
            on_its_side!(self, node, prepare(node, fifo));
        }
    }
}
