//! `transpose`: the coordinates in another order, turned by one place, (x, y, z) sends to (y, z, x); without
//! dimensions row and column of a square of nodes change places.

use crate::config::{Workload, refuse};
use crate::shape::Shape;
use crate::traffic::pattern::{Among, Destinations, to_coordinates, to_one};
use netloom_fabric::config::ConfigError;
use std::sync::Arc;

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

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        let shape = among.shape;
        if shape.torus().is_some() {
            let dimensions = shape.dimensions();
            return Ok(Some(to_coordinates(shape, move |d, at| at[(d + 1) % dimensions])));
        }
        // Row and column of the node's number in a square of this side.
        let side = shape.nodes().isqrt();
        Ok(Some(to_one(move |node| node % side * side + node / side)))
    }
}
