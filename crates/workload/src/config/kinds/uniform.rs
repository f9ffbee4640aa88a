//! `uniform`: every packet to a node at random.

use crate::config::{Machines, Workload};

/// The workload `uniform`, which has no keys.
pub struct Uniform;

impl Workload for Uniform {
    fn machines() -> Machines {
        Machines::All
    }

    fn may_be_job() -> bool {
        true
    }
}
