//! `uniform`: every packet to a node at random.

use crate::config::Workload;
use crate::traffic::order::Order;
use crate::traffic::pattern::{Among, Destinations, Fast, Share, other};
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use std::sync::Arc;

/// The workload `uniform`, which has no keys.
pub struct Uniform;

impl Workload for Uniform {
    fn may_be_job() -> bool {
        true
    }

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        Ok(Some(Arc::new(ToAny { nodes: among.shape.nodes() })))
    }
}

/// Any other node, at random.
#[derive(Debug)]
struct ToAny {
    nodes: u32,
}

impl Destinations for ToAny {
    fn destination(&self, node: u32, _: u64, _: Option<&Order>, stream: &mut Stream) -> Option<u32> {
        Some(other(self.nodes, node, stream))
    }

    fn shares(&self, _: u32, among: Share) {
        among(&mut (0..self.nodes), 1.0);
    }

    fn cycle(&self, _: u32) -> Option<u64> {
        None
    }

    fn fast(&self) -> Option<Fast> {
        Some(Fast::Uniform)
    }
}
