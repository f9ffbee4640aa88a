//! `hot-node`: one node attracts traffic.

use crate::config::{Workload, fraction, refuse};
use crate::shape::Shape;
use crate::traffic::order::Order;
use crate::traffic::pattern::{Among, Destinations, Share, other};
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A node that attracts traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotNode {
    /// Its number.
    #[serde(default)]
    pub node: u32,
    /// Fraction of the packets that are for it; the rest is uniform over the machine.
    #[serde(default = "all")]
    pub fraction: f64,
}

fn all() -> f64 {
    1.0
}

impl Workload for HotNode {
    fn may_be_job() -> bool {
        true
    }

    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        if self.node >= shape.nodes() {
            let message = format!("expected a node from 0 to {}, found {}", shape.nodes() - 1, self.node);
            return refuse("workload.node", message);
        }
        fraction(self.fraction)
    }

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        let (nodes, fraction, hot) = (among.shape.nodes(), self.fraction, self.node);
        Ok(Some(Arc::new(ToHotNode { nodes, fraction, hot })))
    }
}

/// A share to one node, the rest anywhere.
#[derive(Debug)]
struct ToHotNode {
    nodes: u32,
    fraction: f64,
    hot: u32,
}

impl ToHotNode {
    /// Whether a node is the hot one and has others to send to: it sends to those, if it sends anything but
    /// to itself.
    fn is_elsewhere(&self, node: u32) -> bool {
        self.hot == node && self.fraction < 1.0
    }
}

impl Destinations for ToHotNode {
    fn destination(&self, node: u32, _: u64, _: Option<&Order>, stream: &mut Stream) -> Option<u32> {
        match stream.unit() >= self.fraction || self.is_elsewhere(node) {
            true => Some(other(self.nodes, node, stream)),
            false => Some(self.hot),
        }
    }

    fn shares(&self, node: u32, among: Share) {
        if self.is_elsewhere(node) {
            return among(&mut (0..self.nodes), 1.0);
        }
        among(&mut (0..self.nodes), 1.0 - self.fraction);
        among(&mut std::iter::once(self.hot), self.fraction);
    }

    fn cycle(&self, _: u32) -> Option<u64> {
        None
    }
}
