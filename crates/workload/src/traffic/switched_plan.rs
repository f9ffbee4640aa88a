//! The traffic of a switched network: the plan of all machines, for packets of flits.

use super::pattern::Pattern;
use super::plan::{Plan, Rate, Streams};
use super::source::Share;
use crate::config::{Load, TrafficConfig, WorkloadConfig, per_tick};
use crate::shape::Shape;
use netloom_fabric::config::{ConfigError, TiledConfig};
use netloom_fabric::router::tiled::{Mode, channel_bound};
use netloom_fabric::topology::wiring::Wiring;
use std::sync::Arc;

/// Maximum number of nodes of a machine for which a bound is computed: the work grows with the square.
const BOUND_NODES_MAX: u32 = 8192;

/// The random streams of nodes of switched networks: one each.
const STREAMS: Streams = Streams { purpose: 12, lane_bits: 0 };

/// The traffic of a switched network.
#[derive(Clone, Debug)]
pub struct SwitchedPlan {
    pub(super) plan: Plan,
    pub(super) wiring: Arc<Wiring>,
    pub(super) mode: Mode,
    /// Data of a packet, bytes.
    pub(super) data: u32,
    /// Flits of a response; `None` if there are no responses.
    pub(super) response_flits: Option<u32>,
    /// VCs per class, which determine a packet's final level.
    pub(super) vcs: u32,
    /// The share of a node's packets by its rate: all of them; the last is that of a silent node.
    shares: Vec<Share>,
    /// Whether reordering is measured.
    pub(super) reordering: bool,
}

impl SwitchedPlan {
    /// For a workload that is a pattern, and traffic, both checked against the machine.
    ///
    /// # Errors
    /// A permutation file that cannot be read.
    ///
    /// # Panics
    /// If the workload is not a pattern.
    pub fn new(
        workload: &WorkloadConfig,
        traffic: &TrafficConfig,
        network: &TiledConfig,
        wiring: &Arc<Wiring>,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let (flits, data) = traffic.size(network);
        let pattern = Pattern::new(workload, &Shape::of_switches(wiring), data, seed)?;
        let rate = |_: &Pattern, traffic: &TrafficConfig| {
            let interval = interval(traffic, network);
            let offered = (interval > 0.0).then(|| f64::from(flits) / interval);
            Rate { offered, interval, ..Rate::default() }
        };
        let pattern = pattern.expect("a pattern");
        let plan = Plan::new(pattern, (workload, traffic), vec![(flits, 1.0)], (seed, STREAMS), rate);
        let share = |rate: &Rate| Share {
            step: 1,
            end: rate.limit.unwrap_or(u64::MAX),
            interval: rate.interval,
            is_burst: rate.is_burst,
            ..Share::default()
        };
        let silent = Share::default();
        Ok(SwitchedPlan {
            shares: plan.rates().iter().map(share).chain([silent]).collect(),
            plan,
            wiring: Arc::clone(wiring),
            mode: traffic.routing.mode().unwrap_or_default(),
            data,
            response_flits: traffic.responses.then(|| network.packet.response_flits(0)),
            vcs: network.router.vcs,
            reordering: false,
        })
    }

    /// The same, with or without measuring the reordering of packets.
    pub fn watch_order(self, reordering: bool) -> Self {
        SwitchedPlan { reordering, ..self }
    }

    /// The same with only one job sending.
    pub fn alone(&self, job: usize) -> Self {
        SwitchedPlan { plan: self.plan.alone(job), ..self.clone() }
    }

    /// The machine-independent part.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The packets of a node.
    pub(super) fn share(&self, node: u32) -> &Share {
        let silent = self.shares.len() - 1;
        &self.shares[self.plan.rate_of(node).unwrap_or(silent)]
    }

    /// Injection FIFOs of a node: responses have one of their own.
    pub fn injection_fifos(&self) -> usize {
        1 + usize::from(self.response_flits.is_some())
    }

    /// Total number of packets of the machine, including responses; `None` without a limit.
    pub fn packets(&self) -> Option<u64> {
        Some(self.plan.packets()? * (1 + u64::from(self.response_flits.is_some())))
    }

    /// Flits per tick that a node can send until the first link saturates, if it can be computed: for routing
    /// that does not depend on loads.
    pub fn bound(&self, network: &TiledConfig) -> Option<f64> {
        if self.response_flits.is_some() || self.wiring.nodes() > BOUND_NODES_MAX {
            return None;
        }
        channel_bound(network, self.mode, |from, add| self.plan.pattern().shares(from, add))
    }
}

/// Mean ticks between two packets of a node; 0 for as fast as possible.
fn interval(traffic: &TrafficConfig, network: &TiledConfig) -> f64 {
    let (flits, data) = traffic.size(network);
    match traffic.load {
        Load::Burst | Load::Infinite | Load::LinkUtilization(_) => 0.0,
        Load::PacketsPerUs(rate) => 1000.0 / per_tick(rate, network.ticks_per_second),
        Load::FlitsPerNs(rate) => f64::from(flits) / per_tick(rate, network.ticks_per_second),
        Load::GbPerS(rate) => f64::from(data) * network.ticks_per_second as f64 / (rate * 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_come_to_the_same() {
        let network = TiledConfig::cray_xc(2, 1);
        let of = |load| interval(&TrafficConfig { load, ..TrafficConfig::default() }, &network);
        // 14 flits with 64 bytes.
        assert_eq!(of(Load::FlitsPerNs(0.4375)), 28.0);
        assert!((of(Load::GbPerS(2.0)) - 28.0).abs() < 1e-9);
        assert_eq!(of(Load::PacketsPerUs(35.0)), 25.0);
    }
}
