//! `tornado`: every node sends almost half-way round each ring, or round all nodes.

use crate::config::Workload;

/// The workload `tornado`, which has no keys.
pub struct Tornado;

impl Workload for Tornado {
    fn may_be_job() -> bool {
        true
    }
}
