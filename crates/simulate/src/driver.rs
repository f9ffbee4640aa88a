//! What drives the nodes of a run, as far as what it measures goes.

use super::processes::Processes;
use netloom_engine::Time;
use netloom_nic::fifo::{FifoNic, Software};
use netloom_nic::packet_port::OnFifos;
use netloom_node::nodes::{NetworkInterface, Nodes};
use netloom_workload::traffic::{Beside, Counts as Counted, JobCounts, SwitchedTraffic, TorusTraffic};

/// What a run must know of the nodes' side.
pub(crate) trait Driver {
    /// Payload that has arrived, bytes; packets that have.
    fn arrived_so_far(&self) -> (u64, u64);

    /// What it has counted of packets in flits, if it counts them.
    fn counts(&self) -> Option<&Counted> {
        None
    }

    /// What it has counted of several jobs, if there are such.
    fn jobs(&self) -> &[JobCounts] {
        &[]
    }

    /// Whether its part of the run is over although traffic would go on: the programs have ended beside which there is traffic.
    fn is_over(&self) -> bool {
        false
    }

    /// When anything last happened that counts, where more may follow: looks at what is overdue, when nothing is.
    fn last(&self) -> Option<Time> {
        None
    }

    /// Counting begins anew, for those who count themselves.
    fn restart(&mut self) {}
}

/// The same of software on FIFO interfaces.
pub(crate) trait Counts: Software {
    /// See [`Driver::arrived_so_far`].
    fn arrived_so_far(&self) -> (u64, u64);

    /// See [`Driver::jobs`].
    fn jobs(&self) -> &[JobCounts] {
        &[]
    }

    /// See [`Driver::restart`].
    fn restart(&mut self) {}
}

impl<S: Counts> Driver for FifoNic<S> {
    fn arrived_so_far(&self) -> (u64, u64) {
        self.software().arrived_so_far()
    }

    fn jobs(&self) -> &[JobCounts] {
        self.software().jobs()
    }

    fn restart(&mut self) {
        self.software_mut().restart();
    }
}

impl<P: Programs + Driver, T: Driver> Driver for Beside<P, T> {
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
}

/// Nodes with programs.
pub(crate) trait Programs {
    /// Adds what came of their processes.
    fn add_to(&self, all: &mut Processes);
}

impl<N: NetworkInterface> Programs for Nodes<N> {
    fn add_to(&self, all: &mut Processes) {
        all.add(self);
    }
}

impl Programs for FifoNic<OnFifos> {
    fn add_to(&self, all: &mut Processes) {
        all.add(&self.software().nodes);
    }
}

impl<P: Programs, T> Programs for Beside<P, T> {
    fn add_to(&self, all: &mut Processes) {
        self.programs.add_to(all);
        // The processes of nodes that send synthetic traffic are never begun.
        all.forget(self.senders());
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
}

/// Network interfaces whose requests may have no answer.
pub(crate) trait TimeOuts {
    /// Requests that had no answer in time.
    fn timeouts(&self) -> u64;
}

impl<P: TimeOuts, T> TimeOuts for Beside<P, T> {
    fn timeouts(&self) -> u64 {
        self.programs.timeouts()
    }
}

impl Counts for TorusTraffic {
    fn arrived_so_far(&self) -> (u64, u64) {
        (self.payload_bytes, self.delivered)
    }

    fn jobs(&self) -> &[JobCounts] {
        TorusTraffic::jobs(self)
    }

    fn restart(&mut self) {
        TorusTraffic::restart(self);
    }
}

impl Counts for OnFifos {
    fn arrived_so_far(&self) -> (u64, u64) {
        (0, self.delivered)
    }
}
