//! `hot-region`: a part of the machine attracts traffic (Blumrich et al., Figure 3).

use crate::config::{Workload, fraction, letter, one_each, refuse};
use crate::shape::Shape;
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
    fn may_be_job() -> bool {
        true
    }

    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        fraction(self.fraction)?;
        one_each("workload.region", self.region.len(), shape)?;
        if !self.origin.is_empty() {
            one_each("workload.origin", self.origin.len(), shape)?;
        }
        for (d, (&length, &k)) in self.region.iter().zip(shape.lengths()).enumerate() {
            let low = self.origin.get(d).copied().unwrap_or(0);
            if length == 0 || low >= k || length > k - low {
                let along = shape.torus().map_or(String::new(), |_| format!("along {} ", letter(d)));
                let message = format!(
                    "expected a region inside the {}; {along}it would reach from {low} to {}",
                    shape.words(),
                    u64::from(low) + u64::from(length)
                );
                return refuse("workload.region", message);
            }
        }
        Ok(())
    }
}
