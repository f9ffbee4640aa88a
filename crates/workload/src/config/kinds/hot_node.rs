//! `hot-node`: one node attracts traffic.

use crate::config::{Workload, fraction, refuse};
use crate::shape::Shape;
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}
