//! Sums over nodes by the collective engine ("Reductions and Barriers", Figure 15). Of several processes of a
//! node one adds what the others have written into the node's memory, takes part in the sum of all nodes, and
//! writes its result for the others: "the main CPU is required for the local shared memory reduction, but not
//! to progress the network phase". The order is **(ours)**: the first process loads the lines of all others,
//! one after the other, and writes one line that all others load.

use super::{Measurements, of, refuse, set_up};
use crate::measured::{Measured, columns};
use netloom_fabric::config::ConfigError;
use netloom_messaging::gni::Gni;
use netloom_nic::aries::address::PageSize;
use netloom_nic::aries::collective::{CHILDREN, Reduction, Tree};
use netloom_node::process::{InCall, Outcome};
use netloom_node::time::Microticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sums of one double.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Allreduce {
    /// Branches of the tree, at most.
    pub radix: u32,
    /// Sums that are measured, after one that is not.
    pub rounds: u32,
    /// Processes per node.
    pub processes: u32,
    /// Nodes, the first ones. If omitted: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
}

impl Default for Allreduce {
    fn default() -> Self {
        Allreduce { radix: 32, rounds: 4, processes: 1, nodes: None }
    }
}

impl Allreduce {
    pub(super) fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        if !(1..=CHILDREN as u32).contains(&self.radix) {
            return refuse("radix", "expected 1 to 32 branches");
        }
        if self.rounds == 0 {
            return refuse("rounds", "expected at least 1");
        }
        if !(1..=64).contains(&self.processes) {
            return refuse("processes", "expected 1 to 64");
        }
        if self.nodes.is_some_and(|count| !(1..=nodes).contains(&count)) {
            return refuse("nodes", "expected at least one, and at most those of the machine");
        }
        Ok(())
    }

    pub(super) fn measured(&self, measurements: &Measurements, second: f64) -> Measured {
        let all: Vec<f64> = of(measurements, 0).map(|microticks| microticks / second * 1e6).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        Measured {
            title: "Allreduce by the collective engine".into(),
            columns: columns(&[("processes", "")], &[("", "us")]),
            rows: vec![vec![(all.len() as f64 / f64::from(self.rounds)).round(), mean]],
        }
    }
}

/// `line` is the time to load a line that another core has written.
pub(super) async fn run(gni: Gni, config: Allreduce, line: Microticks) -> Outcome {
    set_up(&gni, 64, PageSize::HUGE)?;
    let (place, own) = (gni.place(), gni.process());
    let places = config.nodes.unwrap_or(gni.job().nodes());
    if place >= places {
        return Ok(());
    }
    let (all, per_node) = (f64::from(places * config.processes), config.processes);
    let mine = f64::from(place * per_node + u32::from(own)) + 0.5;
    let is_first = own == 0;
    let mut queue = 0;
    if is_first {
        queue = gni.cq_create(8);
        let tree = Tree::regular(place, places, config.radix, 0, queue);
        gni.ce_configure(0, tree).in_call("ce_configure")?;
    }
    for round in 0..=config.rounds {
        let begin = gni.now();
        if is_first {
            // What the others have written, of which the notices are.
            let mut sum = mine;
            let mut missing = per_node - 1;
            while missing > 0 {
                for number in gni.wait_notices().await {
                    gni.compute(line).await;
                    sum += f64::from(number) + 0.5;
                    missing -= 1;
                }
            }
            gni.ce_join(0, Reduction::FloatAdd, false, [sum.to_bits(), 0]).await.in_call("ce_join")?;
            gni.cq_wait_event(queue).await.in_call("cq_wait_event")?;
            let ([sum, _], _) = gni.ce_result(0).in_call("ce_result")?;
            assert_eq!(f64::from_bits(sum), all * all / 2.0, "node {}: a sum of halves is exact", gni.node());
            if per_node > 1 {
                gni.compute(line).await;
            }
            for other in 1..per_node {
                gni.notify(other as u8, round).await;
            }
        } else {
            gni.compute(line).await;
            gni.notify(0, place * per_node + u32::from(own)).await;
            gni.wait_notices().await;
            gni.compute(line).await;
        }
        if round > 0 {
            gni.measure(0, gni.now() - begin);
        }
    }
    Ok(())
}
