//! What all nodes of a machine do: whom they send to, how much, how often.

use super::destinations::Destinations;
use super::jobs::Jobs;
use crate::config::{Load, TrafficConfig, WorkloadConfig};
use netloom_engine::Stream;
use netloom_fabric::config::{ConfigError, TiledConfig};
use netloom_fabric::router::tiled::{Mode, channel_bound};
use netloom_fabric::topology::wiring::Wiring;
use std::sync::Arc;

/// Most nodes of a machine of which a bound is told: what there is to do grows with the square of them.
const BOUND_NODES_MAX: u32 = 8192;

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
    /// How often nodes send: all, or those of each job.
    rates: Vec<Rate>,
    /// The only job that sends, where the others are silent.
    only: Option<usize>,
    /// Packets of a node.
    pub(super) limit: Option<u64>,
    /// Whether it is counted by how much packets arrive out of order.
    pub(super) reordering: bool,
    pub(super) seed: u64,
}

/// How often a node sends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    /// Mean ticks between two packets; 0 for as fast as they go.
    pub interval: f64,
    /// Whether all packets are there at the start.
    pub burst: bool,
}

impl Rate {
    fn new(traffic: &TrafficConfig, network: &TiledConfig) -> Self {
        Rate { interval: interval(traffic, network), burst: traffic.load == Load::Burst }
    }
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
        let rates = match workload {
            WorkloadConfig::Jobs(all) => {
                all.jobs.iter().map(|job| Rate::new(&job.traffic(traffic), network)).collect()
            }
            _ => vec![Rate::new(traffic, network)],
        };
        Ok(Plan {
            destinations: Destinations::new(workload, wiring, seed)?,
            wiring: Arc::clone(wiring),
            mode: traffic.routing.mode().unwrap_or_default(),
            flits,
            data,
            response_flits: traffic.responses.then(|| network.packet.response_flits(0)),
            vcs: network.router.vcs,
            rates,
            only: None,
            limit: traffic.packets_per_node,
            reordering: false,
            seed,
        })
    }

    /// The same, where it is counted, or not, by how much packets arrive out of order.
    pub fn watch_order(self, reordering: bool) -> Self {
        Plan { reordering, ..self }
    }

    /// The same where only one job sends.
    pub fn alone(&self, job: usize) -> Self {
        Plan { only: Some(job), ..self.clone() }
    }

    /// The jobs, if there are several side by side.
    pub fn jobs(&self) -> Option<&Jobs> {
        self.destinations.jobs().map(|jobs| &**jobs)
    }

    /// How often a node sends; none if it is silent.
    pub(super) fn rate(&self, node: u32) -> Option<&Rate> {
        let Some(jobs) = self.jobs() else { return self.rates.first() };
        let job = jobs.of(node)?;
        (self.only.is_none_or(|only| only == job)).then(|| &self.rates[job])
    }

    /// Nodes that send, and how often.
    fn senders(&self) -> Vec<(u64, &Rate)> {
        let Some(jobs) = self.jobs() else { return vec![(self.wiring.nodes().into(), &self.rates[0])] };
        let sends = |job: &usize| self.only.is_none_or(|only| only == *job);
        let of = |job: usize| (jobs.nodes(job).len() as u64, &self.rates[job]);
        (0..self.rates.len()).filter(sends).map(of).collect()
    }

    /// Injection FIFOs of a node: answers have one of their own.
    pub fn injection_fifos(&self) -> usize {
        1 + usize::from(self.response_flits.is_some())
    }

    /// Packets that the whole machine will send, answers included; none if there is no end.
    pub fn packets(&self) -> Option<u64> {
        let each = self.limit? * (1 + u64::from(self.response_flits.is_some()));
        Some(each * self.senders().iter().map(|(nodes, _)| nodes).sum::<u64>())
    }

    /// Flits that a node offers in a tick, of requests, mean over the machine; none if it is as many as go.
    pub fn offered(&self) -> Option<f64> {
        let senders = self.senders();
        let rate = |interval: f64| f64::from(self.flits) / interval;
        let sum: f64 = senders.iter().map(|&(nodes, r)| nodes as f64 * rate(r.interval)).sum();
        senders
            .iter()
            .all(|(_, r)| r.interval > 0.0)
            .then(|| sum / f64::from(self.wiring.nodes()) * self.share())
    }

    /// Fraction of the nodes with a load that send to another node.
    fn share(&self) -> f64 {
        let loaded = (0..self.wiring.nodes()).filter(|&node| self.rate(node).is_some());
        let (loaded, senders) = loaded.fold((0u32, 0u32), |(loaded, senders), node| {
            let to = self.destinations.draw(node, &mut Stream::new(self.seed, 12, node.into()));
            (loaded + 1, senders + u32::from(to.is_some()))
        });
        f64::from(senders) / f64::from(loaded.max(1))
    }

    /// Flits that a node can send in a tick until the first link is full, where that can be told: of ways that do not follow loads.
    pub fn bound(&self, network: &TiledConfig) -> Option<f64> {
        if self.response_flits.is_some() || self.wiring.nodes() > BOUND_NODES_MAX {
            return None;
        }
        channel_bound(network, self.mode, |from, tell| self.destinations.shares(from, tell))
    }

    /// Flits that a job's node offers in a tick, likewise.
    pub fn offered_by(&self, job: usize) -> Option<f64> {
        let interval = self.rates[job].interval;
        (interval > 0.0).then(|| f64::from(self.flits) / interval)
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
