//! Put rates by processes (Figure 13): words by FMA launch, to memory whose handle is the same for all
//! (vMDH), or changes with each put.

use super::{BEGIN, END, Measurements, check_partner, refuse, set_up};
use crate::measured::{Measured, columns};
use netloom_fabric::config::ConfigError;
use netloom_messaging::gni::Gni;
use netloom_nic::aries::Window;
use netloom_nic::aries::address::PageSize;
use netloom_node::process::Measurement;
use netloom_node::process::{InCall, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Puts of 8 B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PutRates {
    /// The other node.
    pub to: u32,
    /// Puts of each process.
    pub puts: u32,
    /// Processes per node.
    pub processes: u32,
    /// Whether the memory domain handle is written for each put.
    pub changes_handle: bool,
}

impl Default for PutRates {
    fn default() -> Self {
        PutRates { to: 4, puts: 1000, processes: 16, changes_handle: false }
    }
}

impl PutRates {
    pub(super) fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        check_partner(self.to, nodes)?;
        if self.puts == 0 {
            return refuse("puts", "expected at least 1");
        }
        if !(1..=127).contains(&self.processes) {
            return refuse("processes", "expected 1 to 127, as many as a NIC has FMA descriptors");
        }
        Ok(())
    }

    pub(super) fn measured(&self, measurements: &Measurements, second: f64) -> Measured {
        // Processes that share a core are slower than others, so each has its own rate.
        let own = |(_, _, measurements): &(u32, u32, Vec<Measurement>)| {
            let of = |kind| measurements.iter().find(|n| n.key == kind).map(|n| n.value as f64);
            Some(f64::from(self.puts) * second / (of(END)? - of(BEGIN)?))
        };
        let rate: f64 = measurements.iter().filter_map(own).sum();
        Measured {
            title: "Put rate".into(),
            columns: columns(&[("processes", "")], &[("", "million/s")]),
            rows: vec![vec![self.processes.into(), rate / 1e6]],
        }
    }
}

pub(super) async fn run(gni: Gni, config: PutRates) -> Outcome {
    let memory = set_up(&gni, 1 << 20, PageSize::HUGE)?;
    if gni.place() != 0 {
        return Ok(());
    }
    let d = gni.descriptor();
    let window = Window { mdh: memory.mdh, is_virtual: true, ..Window::default() };
    gni.fma_set(d, window).await.in_call("fma_set")?;
    gni.launch_put(d, config.to, 0, 1).await;
    gni.fma_sync(d).await;
    gni.measure(BEGIN, gni.now());
    for i in 0..u64::from(config.puts) {
        if config.changes_handle {
            gni.fma_set_memory(d, memory).await;
        }
        gni.launch_put(d, config.to, 8 * (i % 4096), i).await;
    }
    gni.fma_sync(d).await;
    gni.measure(END, gni.now());
    Ok(())
}
