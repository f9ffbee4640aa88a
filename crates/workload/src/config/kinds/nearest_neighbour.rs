//! `nearest-neighbour`: every node sends to its neighbours in every direction.

use crate::config::{Load, TrafficConfig, Workload, is_limited};
use crate::shape::Shape;
use crate::traffic::order::Order;
use crate::traffic::pattern::{Among, Destinations, Share};
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use std::sync::Arc;

/// The workload `nearest-neighbour`, which has no keys.
pub struct NearestNeighbour;

impl Workload for NearestNeighbour {
    fn may_be_job() -> bool {
        true
    }

    fn ends(&self, traffic: &TrafficConfig) -> bool {
        traffic.load == Load::Burst || is_limited(traffic)
    }

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        Ok(Some(Arc::new(ToNeighbours { shape: among.shape.clone() })))
    }
}

/// To each neighbour in turn.
#[derive(Debug)]
struct ToNeighbours {
    shape: Shape,
}

impl Destinations for ToNeighbours {
    fn destination(&self, node: u32, index: u64, _: Option<&Order>, _: &mut Stream) -> Option<u32> {
        let count = self.shape.neighbours(node).count().max(1);
        self.shape.neighbours(node).nth((index % count as u64) as usize)
    }

    fn shares(&self, node: u32, among: Share) {
        among(&mut self.shape.neighbours(node), 1.0);
    }

    fn period(&self, node: u32) -> Option<u64> {
        Some(self.shape.neighbours(node).count() as u64)
    }
}
