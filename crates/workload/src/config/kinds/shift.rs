//! `shift`: every node sends to the one at a fixed distance.

use crate::config::{Machines, Workload, one_each, refuse};
use netloom_fabric::config::ConfigError;
use netloom_fabric::topology::wiring::Wiring;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A shift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shift {
    /// Hops along each dimension, negative for the minus side. Of machines without dimensions one value, by how much the
    /// destination's number is greater.
    pub by: Vec<i32>,
}

impl Workload for Shift {
    fn machines() -> Machines {
        Machines::All
    }

    fn may_be_job() -> bool {
        true
    }

    fn check_torus(&self, dims: &[u32]) -> Result<(), ConfigError> {
        if self.by.len() != dims.len() {
            return one_each("workload.by", dims, self.by.len());
        }
        if self.by.iter().zip(dims).all(|(&b, &k)| b.unsigned_abs().is_multiple_of(k)) {
            return refuse(
                "workload.by",
                "expected a shift to another node; this one leads back to the sender",
            );
        }
        Ok(())
    }

    fn check_switched(&self, wiring: &Wiring) -> Result<(), ConfigError> {
        self.check_job(wiring.nodes())
    }

    fn check_job(&self, nodes: u32) -> Result<(), ConfigError> {
        match self.by[..] {
            [by] if by.rem_euclid(i32::try_from(nodes).unwrap_or(i32::MAX)) != 0 => Ok(()),
            [by] => refuse(
                "workload.by",
                format!("expected a shift to another of {nodes} nodes, found {by}, which leads back"),
            ),
            _ => refuse(
                "workload.by",
                format!("expected one value, by how many nodes, found {}", self.by.len()),
            ),
        }
    }
}
