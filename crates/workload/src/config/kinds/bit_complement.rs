//! `bit-complement`: every node sends to the one whose coordinates, or number, are opposite: k - 1 - c.

use crate::config::Workload;
use crate::traffic::pattern::{Among, Destinations, to_coordinates};
use netloom_fabric::config::ConfigError;
use std::sync::Arc;

/// The workload `bit-complement`, which has no keys.
pub struct BitComplement;

impl Workload for BitComplement {
    fn may_be_job() -> bool {
        true
    }

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        let lengths = among.shape.lengths().to_vec();
        Ok(Some(to_coordinates(among.shape, move |d, at| lengths[d] - 1 - at[d])))
    }
}
