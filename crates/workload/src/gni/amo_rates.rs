//! Rates of atomic operations ("Aries Performance", last paragraphs): all nodes on one variable of node 0, or
//! on many at random.

use super::{BEGIN, END, Measurements, refuse, set_up, span};
use crate::measured::{Measured, columns};
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use netloom_messaging::gni::Gni;
use netloom_nic::aries::Window;
use netloom_nic::aries::address::PageSize;
use netloom_nic::aries::atomic::{Amo, AmoKind};
use netloom_node::process::{InCall, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Atomic additions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct AmoRates {
    /// Operations of each process.
    pub operations: u32,
    /// Processes per node.
    pub processes: u32,
    /// Variables, of which each operation takes one at random.
    pub variables: u64,
    /// Size of their pages: 4096, or a power of two up to 64 GB.
    pub page_B: u64,
    /// Seed of the random variables.
    pub seed: u64,
}

impl Default for AmoRates {
    fn default() -> Self {
        AmoRates { operations: 200, processes: 4, variables: 1, page_B: 1 << 21, seed: 1 }
    }
}

impl AmoRates {
    pub(super) fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        if nodes < 2 {
            return refuse("program", "atomic operations of others need two nodes");
        }
        if self.operations == 0 || !(1..=1 << 32).contains(&self.variables) {
            return refuse("variables", "expected 1 to 2^32, and at least 1 operation");
        }
        if PageSize::new(self.page_B).is_err() {
            return refuse("page_B", "expected 4096, or a power of two from 128 KB to 64 GB");
        }
        if !(1..=127).contains(&self.processes) {
            return refuse("processes", "expected 1 to 127, as many as a NIC has FMA descriptors");
        }
        Ok(())
    }

    pub(super) fn measured(&self, measurements: &Measurements, second: f64) -> Measured {
        let processes = measurements
            .iter()
            .filter(|(_, _, measurements)| measurements.iter().any(|n| n.key == END))
            .count();
        let operations = f64::from(self.operations) * processes as f64;
        Measured {
            title: "Rate of atomic operations".into(),
            columns: columns(&[("variables", "")], &[("", "million/s")]),
            rows: vec![vec![self.variables as f64, operations / span(measurements, second) / 1e6]],
        }
    }
}

pub(super) async fn run(gni: Gni, config: AmoRates) -> Outcome {
    let page = PageSize::new(config.page_B).expect("checked");
    // The variables belong to the first process.
    let bytes = (8 * config.variables).max(64);
    let memory = set_up(&gni, bytes, page)?;
    if gni.place() == 0 {
        return Ok(());
    }
    let d = gni.descriptor();
    let window = Window { mdh: 0, is_virtual: memory.is_virtual, ..Window::default() };
    gni.fma_set(d, window).await.in_call("fma_set")?;
    let add = Amo::new(AmoKind::Add);
    gni.launch_atomic(d, 0, 0, add, [1, 0], 0).await.in_call("launch_atomic")?;
    gni.fma_sync(d).await;
    let own = u64::from(gni.node()) * 256 + u64::from(gni.process());
    let mut stream = Stream::new(config.seed, 12, own);
    gni.measure(BEGIN, gni.now());
    for _ in 0..config.operations {
        let offset = 8 * stream.below(config.variables);
        gni.launch_atomic(d, 0, offset, add, [1, 0], 0).await.in_call("launch_atomic")?;
    }
    gni.fma_sync(d).await;
    gni.measure(END, gni.now());
    Ok(())
}
