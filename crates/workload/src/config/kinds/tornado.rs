//! `tornado`: every node sends almost half-way around each ring, or around all nodes.

use crate::config::Workload;
use crate::shape::Shape;
use crate::traffic::pattern::{Among, Destinations, to_coordinates};
use netloom_fabric::config::ConfigError;
use std::sync::Arc;

/// The workload `tornado`, which has no keys.
pub struct Tornado;

impl Workload for Tornado {
    fn may_be_job() -> bool {
        true
    }

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        let lengths = among.shape.lengths();
        let by: Vec<u32> = match half_the_groups(among.shape) {
            None => lengths.iter().map(|length| length.div_ceil(2) - 1).collect(),
            Some(by) => vec![by; lengths.len()],
        };
        Ok(Some(to_coordinates(among.shape, move |d, at| at[d] + by[d])))
    }
}

/// How much greater the destination's number is in a tornado on a machine without dimensions: half of the
/// groups on, to the node in the same place there; half of the nodes where groups differ in size or are one.
/// None on a torus.
fn half_the_groups(shape: &Shape) -> Option<u32> {
    if shape.torus().is_some() {
        return None;
    }
    let (nodes, groups) = (shape.nodes(), shape.groups().max(1));
    let equal = (0..shape.groups()).all(|group| shape.nodes_of_group(group).len() as u32 == nodes / groups);
    Some(if equal && groups > 1 { groups / 2 * (nodes / groups) } else { nodes / 2 })
}
