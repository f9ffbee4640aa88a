//! Barriers (Chen et al., section II.D): repeated barriers of the nodes in boxes, by the unit's own
//! registers.

use super::tree::{Boxes, Registers, check_trees, trees};
use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use netloom_fabric::collective::RouteKind;
use netloom_fabric::config::ConfigError;
use netloom_messaging::spi::Spi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Barriers, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Barrier {
    /// Barriers that are measured, after one that is not.
    pub rounds: u32,
    /// The boxes of nodes that take part, one after the other; none: the whole machine.
    pub boxes: Boxes,
    /// A tree by hand instead: registers of each of its nodes.
    pub class_route: Vec<Registers>,
}

impl Default for Barrier {
    fn default() -> Self {
        Barrier { rounds: 10, boxes: Boxes::default(), class_route: vec![] }
    }
}

impl Barrier {
    /// Checks the values against the machine's shape.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        if self.rounds == 0 {
            return Err(ConfigError { key: "rounds".into(), message: "expected at least 1".into() });
        }
        check_trees(&self.boxes, &self.class_route, dims)
    }
}

/// The program of a node. It measures its mean time from entering a barrier to continuing, and to the change
/// of its status register.
pub(super) async fn run(spi: Spi, config: Barrier, dims: Vec<u32>) {
    let trees = trees(&config.boxes, &config.class_route, &dims);
    for (class, tree) in trees.iter().enumerate() {
        if let Some(route) = tree.route(spi.node(), RouteKind::UserSubcomm) {
            spi.set_barrier(class as u8, route);
        }
    }
    for (class, _) in trees.iter().enumerate().filter(|(_, tree)| tree.contains(spi.node())) {
        let (mut both, mut hardware) = (0, 0);
        for round in 0..=u64::from(config.rounds) {
            let begin = spi.now();
            spi.enter_barrier(class as u8, round).await;
            spi.wait_barrier(class as u8, round).await;
            if round > 0 {
                both += spi.now() - begin;
                hardware += spi.status(class as u8).1 - begin;
            }
        }
        spi.measure(2 * class as u64, both);
        spi.measure(2 * class as u64 + 1, hardware);
    }
}

/// The mean time of a barrier, at the slowest node, by nodes.
pub(super) fn measured(
    config: &Barrier,
    dims: &[u32],
    measurements: &Measurements,
    tick_ns: f64,
) -> Measured {
    let longest = |of: u64| {
        measurements.iter().flat_map(|n| &n.2).filter(|n| n.key == of).map(|n| n.time().ticks()).max()
    };
    let trees = trees(&config.boxes, &config.class_route, dims);
    let rows = trees.iter().enumerate().filter_map(|(class, tree)| {
        let ns = |ticks: u64| ticks as f64 / f64::from(config.rounds) * tick_ns;
        let (both, hardware) = (longest(2 * class as u64)?, longest(2 * class as u64 + 1)?);
        Some(vec![tree.count_and_sum().0 as f64, 2.0 * f64::from(tree.depth()), ns(hardware), ns(both)])
    });
    Measured {
        title: "Barrier".into(),
        columns: columns(
            &[("nodes", ""), ("hops up and down", "")],
            &[("hardware", "ns"), ("hardware and software", "ns")],
        ),
        rows: rows.collect(),
    }
}
