//! `hot-region`: a part of the machine attracts traffic (Blumrich et al., Figure 3).

use crate::config::{Workload, fraction, letter, one_each, refuse};
use crate::shape::Coordinates;
use crate::shape::Shape;
use crate::traffic::order::Order;
use crate::traffic::pattern::{Among, Destinations, Share, other};
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        let mut low = Coordinates::default();
        low[..self.origin.len()].copy_from_slice(&self.origin);
        let mut lengths = [1; 5];
        lengths[..self.region.len()].copy_from_slice(&self.region);
        Ok(Some(Arc::new(IntoBox { shape: among.shape.clone(), fraction: self.fraction, low, lengths })))
    }
}

/// A share into a box, the rest anywhere.
#[derive(Debug)]
struct IntoBox {
    shape: Shape,
    fraction: f64,
    low: Coordinates,
    lengths: Coordinates,
}

impl Destinations for IntoBox {
    fn destination(&self, node: u32, _: u64, _: Option<&Order>, stream: &mut Stream) -> Option<u32> {
        let (low, lengths) = (&self.low, &self.lengths);
        if stream.unit() >= self.fraction {
            return Some(other(self.shape.nodes(), node, stream));
        }
        loop {
            let at = std::array::from_fn(|d| low[d] + stream.below(lengths[d].into()) as u32);
            let to = self.shape.node_at(at);
            if to != node || lengths.iter().all(|&length| length == 1) {
                return Some(to);
            }
        }
    }

    fn shares(&self, _: u32, among: Share) {
        let nodes = self.shape.nodes();
        among(&mut (0..nodes), 1.0 - self.fraction);
        let inside = |node: &u32| {
            let at = self.shape.coordinates(*node);
            (0..at.len()).all(|d| (self.low[d]..self.low[d] + self.lengths[d]).contains(&at[d]))
        };
        among(&mut (0..nodes).filter(inside), self.fraction);
    }

    fn cycle(&self, _: u32) -> Option<u64> {
        None
    }
}
