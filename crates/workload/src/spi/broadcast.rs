//! Broadcast (Chen et al., sections II.C and V): one node's RDMA write goes up the tree and down to all,
//! repeatedly. A barrier of all nodes separates two of them.

use super::tree::{Boxes, MEMORY, Registers, check_messages, check_trees, ten, trees, write};
use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use netloom_fabric::collective::{Delivers, Operation, RouteKind};
use netloom_fabric::config::ConfigError;
use netloom_messaging::spi::Spi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A broadcast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Broadcast {
    /// Data of a message, bytes: each in turn, multiples of 8.
    pub bytes: Vec<u64>,
    /// Rounds of each that are measured, after one that is not.
    #[serde(default = "ten")]
    pub rounds: u32,
    /// The boxes of nodes that take part, one after the other; none: the whole machine. The first node of
    /// each sends.
    #[serde(default)]
    pub boxes: Boxes,
    /// A tree by hand instead: registers of each of its nodes.
    #[serde(default)]
    pub class_route: Vec<Registers>,
}

impl Broadcast {
    /// Checks the values against the machine's shape.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        check_messages(&self.bytes, self.rounds)?;
        check_trees(&self.boxes, &self.class_route, dims)
    }
}

/// Address of the counter.
const COUNTER: u64 = 0;

/// The program of a node. The sender measures the start of each round, all nodes its end.
pub(super) async fn run(spi: Spi, config: Broadcast, dims: Vec<u32>) {
    spi.set_base_address(MEMORY, 0);
    let trees = trees(&config.boxes, &config.class_route, &dims);
    for (class, tree) in trees.iter().enumerate() {
        if let Some(route) = tree.route(spi.node(), RouteKind::UserSubcomm) {
            spi.set_class_route(class as u8, route);
            spi.set_barrier(class as u8, route);
        }
    }
    for (class, tree) in trees.iter().enumerate().filter(|(_, tree)| tree.contains(spi.node())) {
        let mut turn = 0;
        for (size, &bytes) in config.bytes.iter().enumerate() {
            for round in 0..=config.rounds {
                spi.set_counter(COUNTER, bytes);
                spi.enter_barrier(class as u8, turn).await;
                spi.wait_barrier(class as u8, turn).await;
                turn += 1;
                let of = ((class * config.bytes.len() + size) as u64 * (u64::from(config.rounds) + 1)
                    + u64::from(round))
                    * 2;
                if spi.node() == tree.first() {
                    spi.measure(of, spi.now());
                    let put = write(class, Operation::Or, Delivers::Broadcast, bytes, COUNTER);
                    spi.inject(0, put).await;
                }
                spi.wait_counter(COUNTER).await;
                spi.measure(of + 1, spi.now());
            }
        }
    }
}

/// The mean time from the sender's start to the last node's end, by nodes and size.
pub(super) fn measured(
    config: &Broadcast,
    dims: &[u32],
    measurements: &Measurements,
    tick_ns: f64,
) -> Measured {
    let times = |of: u64| {
        measurements.iter().flat_map(|n| &n.2).filter(move |n| n.key == of).map(|n| n.time().ticks())
    };
    let rounds = u64::from(config.rounds) + 1;
    let mut rows = vec![];
    for (class, tree) in trees(&config.boxes, &config.class_route, dims).iter().enumerate() {
        for (size, &bytes) in config.bytes.iter().enumerate() {
            let of = |round: u64| ((class * config.bytes.len() + size) as u64 * rounds + round) * 2;
            let round = |round: u64| Some(times(of(round) + 1).max()? - times(of(round)).min()?);
            let Some(took) = (1..rounds).map(round).collect::<Option<Vec<u64>>>() else { continue };
            let ns = took.iter().sum::<u64>() as f64 / took.len() as f64 * tick_ns;
            let hops = 2.0 * f64::from(tree.depth());
            rows.push(vec![tree.count_and_sum().0 as f64, hops, bytes as f64, ns, bytes as f64 / ns]);
        }
    }
    Measured {
        title: "Broadcast".into(),
        columns: columns(
            &[("nodes", ""), ("hops up and down", ""), ("message", "B")],
            &[("latency", "ns"), ("throughput", "GB/s")],
        ),
        rows,
    }
}
