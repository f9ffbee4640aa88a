//! `shift`: every node sends to the one at a fixed distance.

use crate::config::{Workload, one_each, refuse};
use crate::shape::Shape;
use crate::traffic::pattern::{Among, Destinations, forward, to_coordinates};
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A shift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shift {
    /// Hops along each dimension, negative for the minus side. Of machines without dimensions a list of one
    /// value, by how much the destination's number is greater.
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

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        let lengths = among.shape.lengths().iter();
        let by: Vec<u32> = lengths.zip(&self.by).map(|(&length, &by)| forward(by, length)).collect();
        Ok(Some(to_coordinates(among.shape, move |d, at| at[d] + by[d])))
    }
}
