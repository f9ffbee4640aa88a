//! `random-permutation`: every node sends to one other, drawn once.

use crate::config::Workload;
use crate::traffic::pattern::{Among, Destinations, to_one};
use crate::traffic::permutation::one_circle;
use netloom_fabric::config::ConfigError;
use std::sync::Arc;

/// The workload `random-permutation`, which has no keys.
pub struct RandomPermutation;

impl Workload for RandomPermutation {
    fn may_be_job() -> bool {
        true
    }

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        let to = one_circle(among.shape.nodes(), among.seed);
        Ok(Some(to_one(move |node| to[node as usize])))
    }
}
