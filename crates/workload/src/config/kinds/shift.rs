//! `shift`: every node sends to the one at a fixed distance.

use crate::config::{Workload, one_each, refuse};
use crate::shape::Shape;
use netloom_fabric::config::ConfigError;
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
    fn may_be_job() -> bool {
        true
    }

    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        one_each("workload.by", self.by.len(), shape)?;
        if !self.by.iter().zip(shape.lengths()).all(|(&by, &k)| by.unsigned_abs().is_multiple_of(k)) {
            return Ok(());
        }
        refuse(
            "workload.by",
            match shape.torus() {
                Some(_) => "expected a shift to another node; this one leads back to the sender".into(),
                None => format!(
                    "expected a shift to another of {} nodes, found {}, which leads back",
                    shape.nodes(),
                    self.by[0]
                ),
            },
        )
    }
}
