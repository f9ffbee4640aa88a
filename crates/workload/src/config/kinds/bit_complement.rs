//! `bit-complement`: every node sends to the one whose coordinates, or number, are opposite: k - 1 - c.

use crate::config::Workload;

/// The workload `bit-complement`, which has no keys.
pub struct BitComplement;

impl Workload for BitComplement {
    fn may_be_job() -> bool {
        true
    }
}
