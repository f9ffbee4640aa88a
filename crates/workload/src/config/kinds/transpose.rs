//! `transpose`: the coordinates in another order, turned by one place, (x, y, z) sends to (y, z, x); without dimensions row and column of a
//! square of nodes change places.

use crate::config::{Workload, refuse};
use crate::shape::Shape;
use netloom_fabric::config::ConfigError;

/// The workload `transpose`, which has no keys.
pub struct Transpose;

impl Workload for Transpose {
    fn may_be_job() -> bool {
        true
    }

    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        let nodes = shape.nodes();
        match shape.torus() {
            Some(_) if shape.lengths().windows(2).any(|w| w[0] != w[1]) => refuse(
                "workload.kind",
                format!("transpose needs equal dimensions; found the {}", shape.words()),
            ),
            None if nodes.isqrt().pow(2) != nodes => {
                let message = format!(
                    "transpose needs a square number of nodes, whose row and column change places; found {nodes}"
                );
                refuse("workload.kind", message)
            }
            _ => Ok(()),
        }
    }
}
