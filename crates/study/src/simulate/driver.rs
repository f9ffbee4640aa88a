//! What drives the nodes of a run, as far as what it measures goes.

use netloom_engine::Time;
use netloom_nic::aries::AriesNics;
use netloom_nic::fifo::{FifoNic, Software};
use netloom_nic::message_unit::{self, MessageUnits};
use netloom_nic::packet_port::OnFifos;
use netloom_nic::th::ThNics;
use netloom_workload::traffic::{Counts as Counted, SwitchedTraffic, TorusTraffic};

/// What a run must know of the nodes' side.
pub(crate) trait Driver {
    /// Payload that has arrived, bytes; packets that have.
    fn arrived_so_far(&self) -> (u64, u64);

    /// What it has counted of packets in flits, if it counts them.
    fn counts(&self) -> Option<&Counted> {
        None
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
}

impl<S: Counts> Driver for FifoNic<S> {
    fn arrived_so_far(&self) -> (u64, u64) {
        self.software().arrived_so_far()
    }
}

impl Driver for MessageUnits {
    fn arrived_so_far(&self) -> (u64, u64) {
        let (packets, bytes) = message_unit::stored_so_far(self);
        (bytes, packets)
    }
}

impl Driver for SwitchedTraffic {
    fn arrived_so_far(&self) -> (u64, u64) {
        (self.delivered.1, self.delivered.0)
    }

    fn counts(&self) -> Option<&Counted> {
        Some(&self.counts)
    }

    fn restart(&mut self) {
        SwitchedTraffic::restart(self);
    }
}

impl Driver for AriesNics {
    fn arrived_so_far(&self) -> (u64, u64) {
        // What programs move is in their own figures.
        (0, self.counters().map(|(_, c)| c.served).sum())
    }

    fn last(&self) -> Option<Time> {
        Some(AriesNics::last(self))
    }
}

impl Driver for ThNics {
    fn arrived_so_far(&self) -> (u64, u64) {
        (0, 0)
    }

    fn last(&self) -> Option<Time> {
        Some(ThNics::last(self))
    }
}

/// Network interfaces whose requests may have no answer.
pub(crate) trait TimeOuts {
    /// Requests that had no answer in time.
    fn timeouts(&self) -> u64;
}

impl TimeOuts for AriesNics {
    fn timeouts(&self) -> u64 {
        self.counters().map(|(_, c)| c.timeouts).sum()
    }
}

impl TimeOuts for ThNics {
    fn timeouts(&self) -> u64 {
        self.counters().map(|(_, c)| c.timeouts).sum()
    }
}

impl Counts for TorusTraffic {
    fn arrived_so_far(&self) -> (u64, u64) {
        (self.payload_bytes, self.delivered)
    }
}

impl Counts for OnFifos {
    fn arrived_so_far(&self) -> (u64, u64) {
        (0, self.delivered)
    }
}
