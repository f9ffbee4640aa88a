//! `nearest-neighbour`: every node sends to its neighbours in every direction.

use crate::config::{Machines, Workload};

/// The workload `nearest-neighbour`, which has no keys.
pub struct NearestNeighbour;

impl Workload for NearestNeighbour {
    fn machines() -> Machines {
        Machines::Tori
    }

    fn ends(&self) -> bool {
        true
    }
}
