//! The traffic of all nodes of a machine, independent of its packet format: destinations, packet sizes, and
//! the rates of each job.

use super::jobs::Jobs;
use super::order::Order;
use super::pattern::Pattern;
use crate::config::{Load, TrafficConfig, WorkloadConfig};
use netloom_engine::Stream;

/// The rate of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Offered load per tick, in packets on tori and flits on switched networks; `None`: as much as the
    /// network accepts.
    pub offered: Option<f64>,
    /// Mean ticks between two packets; 0 for as fast as the network accepts them.
    pub interval: f64,
    /// Whether all packets exist from the start.
    pub is_burst: bool,
    /// Total number of packets; `None`: no limit.
    pub limit: Option<u64>,
}

/// The traffic of all nodes of a machine.
#[derive(Clone, Debug)]
pub struct Plan {
    pattern: Pattern,
    /// Sizes of packets and their weights, in the machine's unit.
    sizes: Vec<(u32, f64)>,
    /// The rate of all nodes, or of those of each job.
    rates: Vec<Rate>,
    /// The only job that sends, if the others are silent.
    only: Option<usize>,
    /// Failed nodes, ascending.
    dead: Vec<u32>,
    seed: u64,
    streams: Streams,
}

/// The random streams of a kind of machine, one for each node and lane.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    /// Distinguishes them from the other streams of a run.
    pub purpose: u64,
    /// Bits of a stream's number that distinguish the lanes of a node.
    pub lane_bits: u32,
}

impl Plan {
    /// For a checked configuration; `rate` converts traffic to a rate, with a job's own load if it has one.
    pub fn new(
        pattern: Pattern,
        (workload, traffic): (&WorkloadConfig, &TrafficConfig),
        sizes: Vec<(u32, f64)>,
        (seed, streams): (u64, Streams),
        rate: impl Fn(&Pattern, &TrafficConfig) -> Rate,
    ) -> Self {
        let limited = |pattern: &Pattern, traffic: &TrafficConfig| {
            let own_end = || if traffic.load == Load::Burst { pattern.period(0) } else { None };
            Rate {
                is_burst: traffic.load == Load::Burst,
                limit: traffic.packets_per_node.or_else(own_end),
                ..rate(pattern, traffic)
            }
        };
        let rates = match (workload, pattern.jobs()) {
            (WorkloadConfig::Jobs(config), Some(jobs)) => {
                let of = |(number, job): (usize, &crate::config::JobConfig)| {
                    let silent = Rate { limit: Some(0), ..Rate::default() };
                    jobs.pattern(number).map_or(silent, |pattern| limited(pattern, &job.traffic(traffic)))
                };
                config.jobs.iter().enumerate().map(of).collect()
            }
            _ => vec![limited(&pattern, traffic)],
        };
        let dead = pattern.shape().torus().map_or(vec![], |torus| torus.dead_nodes().to_vec());
        Plan { pattern, sizes, rates, only: None, dead, seed, streams }
    }

    /// The same with only one job sending.
    pub fn alone(&self, job: usize) -> Self {
        Plan { only: Some(job), ..self.clone() }
    }

    /// The pattern.
    #[inline]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The jobs, if there are several side by side.
    pub fn jobs(&self) -> Option<&Jobs> {
        self.pattern.jobs()
    }

    /// The rate of all nodes, or of those of each job.
    pub fn rates(&self) -> &[Rate] {
        &self.rates
    }

    /// The index of a node's rate; `None` if it is silent.
    pub fn rate_of(&self, node: u32) -> Option<usize> {
        if self.dead.binary_search(&node).is_ok() {
            return None;
        }
        let Some(jobs) = self.jobs() else { return Some(0) };
        let sends = |job: &usize| jobs.pattern(*job).is_some() && self.only.is_none_or(|only| only == *job);
        jobs.of(node).filter(sends)
    }

    /// The size of a packet, in the machine's unit.
    #[inline]
    pub fn size(&self, stream: &mut Stream) -> u32 {
        match self.sizes[..] {
            [(size, _)] => size,
            ref mix => weighted(mix, stream),
        }
    }

    /// The random stream of a node's lane.
    pub fn stream(&self, node: u32, lane: usize) -> Stream {
        let Streams { purpose, lane_bits } = self.streams;
        Stream::new(self.seed, purpose, u64::from(node) << lane_bits | lane as u64)
    }

    /// The order of a node's destinations, for ordered patterns.
    pub fn order(&self, node: u32) -> Option<Order> {
        self.pattern.is_ordered().then(|| self.pattern.order(self.seed, node))
    }

    /// Mean offered load per node and tick over the machine, in the unit of [`Rate::offered`]; `None` if it
    /// is as much as the network accepts.
    pub fn offered(&self) -> Option<f64> {
        let nodes = self.pattern.shape().nodes();
        let mut senders = vec![0u32; self.rates.len()];
        for node in 0..nodes {
            let Some(rate) = self.rate_of(node) else { continue };
            let order = self.order(node);
            let to = self.pattern.destination(node, 0, order.as_ref(), &mut self.stream(node, 0));
            senders[rate] += u32::from(to.is_some());
        }
        let of = senders.iter().zip(&self.rates).filter(|(senders, _)| **senders > 0);
        let sum = of.map(|(&senders, rate)| Some(rate.offered? * f64::from(senders))).sum::<Option<f64>>();
        sum.map(|sum| sum / f64::from(nodes))
    }

    /// Total number of packets of the machine; `None` without a limit.
    pub fn packets(&self) -> Option<u64> {
        let rates = (0..self.pattern.shape().nodes()).filter_map(|node| self.rate_of(node));
        rates.map(|rate| self.rates[rate].limit).sum()
    }
}

fn weighted(mix: &[(u32, f64)], stream: &mut Stream) -> u32 {
    let mut at = stream.unit() * mix.iter().map(|m| m.1).sum::<f64>();
    for &(size, weight) in mix {
        at -= weight;
        if at < 0.0 {
            return size;
        }
    }
    mix[mix.len() - 1].0
}
