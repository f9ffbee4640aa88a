//! `random-permutation`: every node sends to one other, drawn once.

use crate::config::Workload;

/// The workload `random-permutation`, which has no keys.
pub struct RandomPermutation;

impl Workload for RandomPermutation {
    fn may_be_job() -> bool {
        true
    }
}
