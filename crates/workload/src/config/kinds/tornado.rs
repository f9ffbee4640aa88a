//! `tornado`: every node sends almost half-way round each ring.

use crate::config::{Machines, Workload};

/// The workload `tornado`, which has no keys.
pub struct Tornado;

impl Workload for Tornado {
    fn machines() -> Machines {
        Machines::Tori
    }
}
