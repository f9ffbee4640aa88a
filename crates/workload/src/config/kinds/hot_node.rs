//! `hot-node`: one node attracts traffic.

use crate::config::{Machines, Workload, refuse};
use netloom_fabric::config::ConfigError;
use netloom_fabric::topology::wiring::Wiring;
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
    fn machines() -> Machines {
        Machines::Switches
    }

    fn may_be_job() -> bool {
        true
    }

    fn check_switched(&self, wiring: &Wiring) -> Result<(), ConfigError> {
        self.check_job(wiring.nodes())
    }

    fn check_job(&self, nodes: u32) -> Result<(), ConfigError> {
        if self.node >= nodes {
            let message = format!("expected a node from 0 to {}, found {}", nodes - 1, self.node);
            return refuse("workload.node", message);
        }
        if !(0.0..=1.0).contains(&self.fraction) {
            let message = format!("expected a fraction from 0 to 1, found {}", self.fraction);
            return refuse("workload.fraction", message);
        }
        Ok(())
    }
}
