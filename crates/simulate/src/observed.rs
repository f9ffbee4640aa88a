//! Hosts whose packets are noted for a timeline. They are put around others only in runs that are asked for
//! one.

use super::driver::Driver;
use super::processes::Processes;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use netloom_fabric::host::{CALLS_AHEAD, Delivery, Family, Host, Pull, Signals};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::router::tiled::TiledHeader;
use netloom_nic::message_unit::protection::Violation;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::timeline::PacketSpan;
use netloom_study::windows;
use netloom_workload::traffic::{Counts, JobCounts};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;

/// A header with its packet's length.
pub(crate) trait Length: Copy {
    /// In chunks or flits.
    fn length(self) -> u32;
}

impl Length for Header {
    fn length(self) -> u32 {
        self.chunks()
    }
}

impl Length for TiledHeader {
    fn length(self) -> u32 {
        self.flits()
    }
}

/// The nodes and the span of time of a timeline.
pub(crate) struct Scope {
    /// Its nodes, by the machine's numbers in rising order.
    pub nodes: Vec<u32>,
    /// Its begin.
    pub from: Time,
    /// Its end; nothing that begins then or later is shown.
    pub to: Time,
    /// Most events of a node, of each kind.
    pub node_events_max: usize,
}

impl Scope {
    /// The scope of a study, if it has a timeline.
    pub fn of(study: &ResolvedStudy) -> Option<Self> {
        let timeline = study.study.timeline.as_ref()?;
        let at = |us| Time::at(windows::ticks(us, study.machine.ticks_per_second()));
        Some(Scope {
            nodes: timeline.nodes(study.network.nodes() as u32),
            from: at(timeline.from_us),
            to: timeline.to_us.map_or(Time::at(u64::MAX / 2_000_000), at),
            node_events_max: timeline.node_events_max as usize,
        })
    }

    /// Whether it shows a node.
    pub fn has(&self, node: u32) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }
}

/// A packet that has arrived, and where.
#[derive(Clone, Copy, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub(crate) struct Arrived {
    at: Time,
    destination: u32,
    length: u32,
    meta: Meta,
}

impl Arrived {
    /// As an event of a timeline.
    pub fn span(self, study: &ResolvedStudy) -> PacketSpan {
        let ns = |time: Time| study.micros(time.ticks()) * 1e3;
        PacketSpan {
            from_ns: ns(self.meta.entered),
            to_ns: ns(self.at),
            made_ns: ns(self.meta.made),
            source: self.meta.source,
            destination: self.destination,
            length: self.length,
        }
    }
}

/// The hosts of a block with the packets that they received.
pub(crate) struct Observed<H> {
    host: Box<H>,
    scope: Arc<Scope>,
    /// The machine's numbers of the block's nodes, and how many packets of each were noted.
    numbers: Vec<u32>,
    counts: Vec<usize>,
    packets: Vec<Arrived>,
    dropped: u64,
}

impl<H> Observed<H> {
    /// Around the hosts of these nodes.
    pub fn new(host: H, scope: &Arc<Scope>, numbers: &[u32]) -> Self {
        let (numbers, counts) = (numbers.to_vec(), vec![0; numbers.len()]);
        Observed {
            host: Box::new(host),
            scope: Arc::clone(scope),
            numbers,
            counts,
            packets: vec![],
            dropped: 0,
        }
    }

    fn note(&mut self, at: Time, node: u32, meta: Meta, length: u32) {
        let (node, destination) = (node as usize, self.numbers[node as usize]);
        let is_shown = self.scope.has(destination) || self.scope.has(meta.source);
        if !is_shown || at < self.scope.from || meta.entered >= self.scope.to {
            return;
        }
        if self.counts[node] == self.scope.node_events_max {
            self.dropped += 1;
            return;
        }
        self.counts[node] += 1;
        self.packets.push(Arrived { at, destination, length, meta });
    }
}

impl<F: Family<Header: Length>, H: Host<F>> Host<F> for Observed<H> {
    fn pull(
        &mut self,
        now: Time,
        node: u32,
        fifo: usize,
        signals: &mut Signals<F::Signal>,
    ) -> Pull<F::Header> {
        self.host.pull(now, node, fifo, signals)
    }

    fn deliver(
        &mut self,
        now: Time,
        node: u32,
        delivery: &Delivery<F::Header>,
        signals: &mut Signals<F::Signal>,
    ) {
        self.note(now, node, delivery.meta, delivery.header.length());
        self.host.deliver(now, node, delivery, signals);
    }

    fn wake(&mut self, now: Time, node: u32, token: u32, signals: &mut Signals<F::Signal>) {
        self.host.wake(now, node, token, signals);
    }

    fn died(&mut self, now: Time, node: u32) {
        self.host.died(now, node);
    }

    fn event(&mut self, now: Time, node: u32, event: F::Event, signals: &mut Signals<F::Signal>) {
        self.host.event(now, node, event, signals);
    }

    fn prepare(&self, node: u32, fifo: usize) {
        self.host.prepare(node, fifo);
    }

    fn is_large(&self) -> bool {
        self.host.is_large()
    }

    fn prefetch(&self, next: &[u32; CALLS_AHEAD]) {
        self.host.prefetch(next);
    }
}

impl<H: Driver> Driver for Observed<H> {
    fn arrived_so_far(&self) -> (u64, u64) {
        self.host.arrived_so_far()
    }

    fn counts(&self) -> Option<&Counts> {
        self.host.counts()
    }

    fn jobs(&self) -> &[JobCounts] {
        self.host.jobs()
    }

    fn is_over(&self) -> bool {
        self.host.is_over()
    }

    fn last(&self) -> Option<Time> {
        self.host.last()
    }

    fn restart(&mut self) {
        self.host.restart();
    }

    fn add_to(&self, all: &mut Processes) {
        self.host.add_to(all);
    }

    fn timeouts(&self) -> u64 {
        self.host.timeouts()
    }

    fn refused(&self) -> Vec<(u32, Violation, u64)> {
        self.host.refused()
    }

    fn observed(&self) -> (&[Arrived], u64) {
        (&self.packets, self.dropped)
    }

    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        BorshSerialize::serialize(&(&self.counts, &self.packets, self.dropped), to)?;
        self.host.store(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        (self.counts, self.packets, self.dropped) = BorshDeserialize::deserialize(from)?;
        self.host.load(from)
    }
}
