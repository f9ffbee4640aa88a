//! `uniform`: every packet to a node at random.

use crate::config::Workload;

/// The workload `uniform`, which has no keys.
pub struct Uniform;

impl Workload for Uniform {
    fn may_be_job() -> bool {
        true
    }
}
