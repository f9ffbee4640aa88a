//! Sums over all nodes by the collective engine ("Reductions and Barriers", Figure 15), with one process per
//! node. Work among the processes of a node before and after is not included.

use super::{Measurements, of, refuse, set_up};
use crate::measured::{Measured, columns};
use netloom_fabric::config::ConfigError;
use netloom_messaging::gni::Gni;
use netloom_nic::aries::address::PageSize;
use netloom_nic::aries::collective::{CHILDREN, Reduction, Tree};
use netloom_node::process::{InCall, Outcome};
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
}

impl Default for Allreduce {
    fn default() -> Self {
        Allreduce { radix: 32, rounds: 4 }
    }
}

impl Allreduce {
    pub(super) fn check(&self, _nodes: u32) -> Result<(), ConfigError> {
        if !(1..=CHILDREN as u32).contains(&self.radix) {
            return refuse("radix", "expected 1 to 32 branches");
        }
        if self.rounds == 0 {
            return refuse("rounds", "expected at least 1");
        }
        Ok(())
    }

    pub(super) fn measured(&self, measurements: &Measurements, second: f64) -> Measured {
        let all: Vec<f64> = of(measurements, 0).map(|microticks| microticks / second * 1e6).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        Measured {
            title: "Allreduce by the collective engine".into(),
            columns: columns(&[("nodes", "")], &[("", "us")]),
            rows: vec![vec![measurements.len() as f64, mean]],
        }
    }
}

pub(super) async fn run(gni: Gni, config: Allreduce) -> Outcome {
    set_up(&gni, 64, PageSize::HUGE)?;
    let (place, places) = (gni.place(), gni.job().nodes());
    let queue = gni.cq_create(8);
    let tree = Tree::regular(place, places, config.radix, 0, queue);
    gni.ce_configure(0, tree).in_call("ce_configure")?;
    let n = f64::from(places);
    for round in 0..=config.rounds {
        let begin = gni.now();
        let own = f64::from(place) + 0.5;
        gni.ce_join(0, Reduction::FloatAdd, false, [own.to_bits(), 0]).await.in_call("ce_join")?;
        gni.cq_wait_event(queue).await.in_call("cq_wait_event")?;
        let ([sum, _], _) = gni.ce_result(0).in_call("ce_result")?;
        assert_eq!(f64::from_bits(sum), n * n / 2.0, "node {}: a sum of halves is exact", gni.node());
        if round > 0 {
            gni.measure(0, gni.now() - begin);
        }
    }
    Ok(())
}
