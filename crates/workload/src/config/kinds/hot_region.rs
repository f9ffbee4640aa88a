//! `hot-region`: a part of the machine attracts traffic (Blumrich et al., Figure 3).

use crate::config::{Machines, Workload, letter, one_each, refuse, shape};
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A hot region: a box of nodes that attracts traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotRegion {
    /// Fraction of the packets whose destination lies in the region; the rest is uniform over the machine.
    #[serde(default = "quarter")]
    pub fraction: f64,
    /// Lengths of the region, nodes along each dimension.
    pub region: Vec<u32>,
    /// Its lowest corner, coordinates. Empty: (0, 0, …).
    #[serde(default)]
    pub origin: Vec<u32>,
}

fn quarter() -> f64 {
    0.25
}

impl Workload for HotRegion {
    fn machines() -> Machines {
        Machines::Tori
    }

    fn check_torus(&self, dims: &[u32]) -> Result<(), ConfigError> {
        if !(0.0..=1.0).contains(&self.fraction) {
            let message = format!("expected a fraction from 0 to 1, found {}", self.fraction);
            return refuse("workload.fraction", message);
        }
        if self.region.len() != dims.len() {
            return one_each("workload.region", dims, self.region.len());
        }
        if !self.origin.is_empty() && self.origin.len() != dims.len() {
            return one_each("workload.origin", dims, self.origin.len());
        }
        for (d, (&length, &k)) in self.region.iter().zip(dims).enumerate() {
            let low = self.origin.get(d).copied().unwrap_or(0);
            if length == 0 || low >= k || length > k - low {
                return refuse(
                    "workload.region",
                    format!(
                        "expected a region inside the {} machine; along {} it would reach from {low} to {}",
                        shape(dims),
                        letter(d),
                        u64::from(low) + u64::from(length)
                    ),
                );
            }
        }
        Ok(())
    }
}
