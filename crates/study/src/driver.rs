//! What drives the nodes of a run, as far as what it measures goes.

use netloom_nic::fifo::Software;
use netloom_workload::messages::Programs;
use netloom_workload::synthetic::Synthetic;

/// What a run must know of the software on its nodes.
pub(crate) trait Driver: Software {
    /// Payload that has arrived, bytes; packets that have.
    fn arrived_so_far(&self) -> (u64, u64);
}

impl Driver for Synthetic {
    fn arrived_so_far(&self) -> (u64, u64) {
        (self.payload_bytes, self.delivered)
    }
}

impl Driver for Programs {
    fn arrived_so_far(&self) -> (u64, u64) {
        (self.payload_bytes, self.delivered)
    }
}
