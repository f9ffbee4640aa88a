//! `bit-complement`: every node sends to the one whose coordinates are opposite, k - 1 - c.

use crate::config::{Machines, Workload};

/// The workload `bit-complement`, which has no keys.
pub struct BitComplement;

impl Workload for BitComplement {
    fn machines() -> Machines {
        Machines::Tori
    }
}
