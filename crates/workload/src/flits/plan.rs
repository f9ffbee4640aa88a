//! What all nodes of a machine do: whom they send to, how much, how often.

use super::destinations::Destinations;
use crate::config::{Load, TrafficConfig, WorkloadConfig};
use netloom_fabric::config::{ConfigError, TiledConfig};
use netloom_fabric::router::tiled::Mode;
use netloom_fabric::topology::wiring::Wiring;
use std::sync::Arc;

/// What all nodes of a machine do.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) wiring: Arc<Wiring>,
    pub(super) destinations: Destinations,
    pub(super) mode: Mode,
    /// Flits of a packet, and its data, bytes.
    pub(super) flits: u32,
    pub(super) data: u32,
    /// Flits of an answer; none where packets are not answered.
    pub(super) response_flits: Option<u32>,
    /// VCs of a class: a packet's level at the end of its way depends on them.
    pub(super) vcs: u32,
    /// Mean ticks between two packets of a node; 0 for as fast as they go.
    pub(super) interval: f64,
    /// Whether all packets are there at the start.
    pub(super) burst: bool,
    /// Packets of a node.
    pub(super) limit: Option<u64>,
    pub(super) seed: u64,
}

impl Plan {
    /// For a workload and traffic that were checked against the machine.
    ///
    /// # Errors
    /// A permutation's file that cannot be read.
    pub fn new(
        workload: &WorkloadConfig,
        traffic: &TrafficConfig,
        network: &TiledConfig,
        wiring: &Arc<Wiring>,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let (flits, data) = traffic.size(network);
        Ok(Plan {
            destinations: Destinations::new(workload, wiring, seed)?,
            wiring: Arc::clone(wiring),
            mode: traffic.routing.mode().unwrap_or_default(),
            flits,
            data,
            response_flits: traffic.responses.then(|| network.packet.response_flits(0)),
            vcs: network.router.vcs,
            interval: interval(traffic, network),
            burst: traffic.load == Load::Burst,
            limit: traffic.packets_per_node,
            seed,
        })
    }

    /// Injection FIFOs of a node: answers have one of their own.
    pub fn injection_fifos(&self) -> usize {
        1 + usize::from(self.response_flits.is_some())
    }

    /// Packets that the whole machine will send, answers included; none if there is no end.
    pub fn packets(&self) -> Option<u64> {
        let each = self.limit? * (1 + u64::from(self.response_flits.is_some()));
        Some(each * u64::from(self.wiring.nodes()))
    }

    /// Flits that a node offers in a tick, of requests; none if it is as many as go.
    pub fn offered(&self) -> Option<f64> {
        (self.interval > 0.0).then(|| f64::from(self.flits) / self.interval)
    }
}

/// Mean ticks between two packets of a node; 0 for as fast as they go.
fn interval(traffic: &TrafficConfig, network: &TiledConfig) -> f64 {
    let (flits, data) = traffic.size(network);
    match traffic.load {
        Load::Burst | Load::Infinite | Load::LinkUtilization(_) => 0.0,
        Load::PacketsPerKilotick(n) => 1000.0 / n,
        Load::Injection(rate) => f64::from(flits) / rate,
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
        assert_eq!(of(Load::Injection(0.5)), 28.0);
        assert!((of(Load::GbPerS(2.0)) - 28.0).abs() < 1e-9);
        assert_eq!(of(Load::PacketsPerKilotick(40.0)), 25.0);
    }
}
