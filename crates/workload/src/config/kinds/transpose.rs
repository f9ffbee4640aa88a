//! `transpose`: the coordinates in another order, turned by one place: (x, y, z) sends to (y, z, x).

use crate::config::{Machines, Workload, refuse, shape};
use netloom_fabric::config::ConfigError;

/// The workload `transpose`, which has no keys.
pub struct Transpose;

impl Workload for Transpose {
    fn machines() -> Machines {
        Machines::Tori
    }

    fn check_torus(&self, dims: &[u32]) -> Result<(), ConfigError> {
        if dims.windows(2).all(|w| w[0] == w[1]) {
            return Ok(());
        }
        let message = format!("transpose needs equal dimensions; the machine is {}", shape(dims));
        refuse("workload.kind", message)
    }
}
