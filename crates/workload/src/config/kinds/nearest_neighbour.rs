//! `nearest-neighbour`: every node sends to its neighbours in every direction.

use crate::config::{Load, TrafficConfig, Workload, is_limited};

/// The workload `nearest-neighbour`, which has no keys.
pub struct NearestNeighbour;

impl Workload for NearestNeighbour {
    fn may_be_job() -> bool {
        true
    }

    fn ends(&self, traffic: &TrafficConfig) -> bool {
        traffic.load == Load::Burst || is_limited(traffic)
    }
}
