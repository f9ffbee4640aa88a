//! The nodes' side of a run, as far as its measurements go.

use super::observed::Arrived;
use super::processes::Processes;
use netloom_engine::Time;
use netloom_engine::checkpoint::State;
use netloom_nic::fifo::{FifoNic, Software};
use netloom_nic::message_unit::protection::Violation;
use netloom_nic::packet_port::OnFifos;
use netloom_workload::traffic::{Beside, Counts as Counted, JobCounts, SwitchedTraffic, TorusTraffic};
use std::io;

/// The properties of the nodes' side that a run needs.
pub(crate) trait Driver {
    /// Payload that has arrived, bytes; packets that have.
    fn arrived_so_far(&self) -> (u64, u64);

    /// Packets on their way that no router has: nodes are to forward them.
    fn held(&self) -> u64 {
        0
    }

    /// Its counts of packets in flits, if it counts them.
    fn counts(&self) -> Option<&Counted> {
        None
    }

    /// Its counts of several jobs, if there are jobs.
    fn jobs(&self) -> &[JobCounts] {
        &[]
    }

    /// Whether its part of the run is over although traffic would continue: the programs beside the traffic
    /// have ended.
    fn is_over(&self) -> bool {
        false
    }

    /// When anything last happened that counts, where more may follow: looks at what is overdue, when nothing
    /// is.
    fn last(&self) -> Option<Time> {
        None
    }

    /// Restarts its own counts.
    fn restart(&mut self) {}

    /// Adds the outcome of the processes of its nodes, if there are any.
    fn add_to(&self, _: &mut Processes) {}

    /// Requests that had no answer in time, where requests have one.
    fn timeouts(&self) -> u64 {
        0
    }

    /// Commands that network interfaces rejected: node, cause, count.
    fn refused(&self) -> Vec<(u32, Violation, u64)> {
        vec![]
    }

    /// The packets that were noted for a timeline, and how many more there were.
    fn observed(&self) -> (&[Arrived], u64) {
        (&[], 0)
    }

    /// Writes its state, for a checkpoint.
    fn store(&self, _: &mut Vec<u8>) -> io::Result<()> {
        Err(of_programs())
    }

    /// Reads it.
    fn load(&mut self, _: &mut &[u8]) -> io::Result<()> {
        Err(of_programs())
    }
}

/// The state of a program is where it is in its code, and what it has in its variables: no bytes that could
/// be written.
fn of_programs() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "programs have no checkpoints, only synthetic traffic has")
}

/// The same of software on FIFO interfaces.
pub(crate) trait Counts: Software {
    /// See [`Driver::arrived_so_far`].
    fn arrived_so_far(&self) -> (u64, u64);

    /// See [`Driver::held`].
    fn held(&self) -> u64 {
        0
    }

    /// See [`Driver::jobs`].
    fn jobs(&self) -> &[JobCounts] {
        &[]
    }

    /// See [`Driver::restart`].
    fn restart(&mut self) {}

    /// See [`Driver::add_to`].
    fn add_to(&self, _: &mut Processes) {}

    /// See [`Driver::store`].
    fn store(&self, _: &mut Vec<u8>) -> io::Result<()> {
        Err(of_programs())
    }

    /// See [`Driver::load`].
    fn load(&mut self, _: &mut &[u8]) -> io::Result<()> {
        Err(of_programs())
    }
}

impl<S: Counts> Driver for FifoNic<S> {
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        FifoNic::store(self, to)?;
        self.software().store(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        FifoNic::load(self, from)?;
        self.software_mut().load(from)
    }

    fn arrived_so_far(&self) -> (u64, u64) {
        self.software().arrived_so_far()
    }

    fn held(&self) -> u64 {
        self.software().held()
    }

    fn jobs(&self) -> &[JobCounts] {
        self.software().jobs()
    }

    fn restart(&mut self) {
        self.software_mut().restart();
    }

    fn add_to(&self, all: &mut Processes) {
        self.software().add_to(all);
    }
}

impl<P: Driver, T: Driver> Driver for Beside<P, T> {
    fn arrived_so_far(&self) -> (u64, u64) {
        let (programs, traffic) = (self.programs.arrived_so_far(), self.traffic.arrived_so_far());
        (programs.0 + traffic.0, programs.1 + traffic.1)
    }

    fn counts(&self) -> Option<&Counted> {
        self.traffic.counts()
    }

    fn jobs(&self) -> &[JobCounts] {
        self.traffic.jobs()
    }

    fn is_over(&self) -> bool {
        let mut all = Processes::default();
        self.add_to(&mut all);
        all.all_ended() || all.has_failures()
    }

    fn restart(&mut self) {
        self.programs.restart();
        self.traffic.restart();
    }

    fn add_to(&self, all: &mut Processes) {
        self.programs.add_to(all);
        // The processes of nodes that send synthetic traffic are never begun.
        all.forget(self.senders());
    }

    fn timeouts(&self) -> u64 {
        self.programs.timeouts()
    }

    fn refused(&self) -> Vec<(u32, Violation, u64)> {
        self.programs.refused()
    }
}

impl Driver for SwitchedTraffic {
    fn arrived_so_far(&self) -> (u64, u64) {
        (self.delivered.1, self.delivered.0)
    }

    fn counts(&self) -> Option<&Counted> {
        Some(&self.counts)
    }

    fn jobs(&self) -> &[JobCounts] {
        &self.counts.jobs
    }

    fn restart(&mut self) {
        SwitchedTraffic::restart(self);
    }

    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        State::store(self, to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        State::load(self, from)
    }
}

impl Counts for TorusTraffic {
    fn arrived_so_far(&self) -> (u64, u64) {
        (self.payload_bytes, self.delivered)
    }

    fn held(&self) -> u64 {
        self.forwarded()
    }

    fn jobs(&self) -> &[JobCounts] {
        TorusTraffic::jobs(self)
    }

    fn restart(&mut self) {
        TorusTraffic::restart(self);
    }

    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        State::store(self, to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        State::load(self, from)
    }
}

impl Counts for OnFifos {
    fn arrived_so_far(&self) -> (u64, u64) {
        (0, self.delivered)
    }

    fn add_to(&self, all: &mut Processes) {
        all.add(&self.nodes);
    }
}
