//! Runs of both models on the same packets, and their results.

use super::reference_tiled::{LinkCounts, Reference, Spec};
use netloom_engine::{Progress, Stream, Time};
use netloom_fabric::config::TiledConfig;
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::packet::Meta;
use netloom_fabric::router::tiled::{Class, LinkControlCounts, Mode, TiledFamily, TiledHeader, TiledNetwork};
use netloom_fabric::router::{BuildOptions, RouterBlock};
use std::collections::VecDeque;

/// Nodes that send what is written, in its order.
struct Scripted {
    waiting: Vec<VecDeque<(usize, Spec)>>,
    arrived: Vec<(usize, u64)>,
}

impl Host<TiledFamily> for Scripted {
    fn pull(&mut self, now: Time, node: u32, _: usize, _: &mut Signals) -> Pull<TiledHeader> {
        let Some(&(i, spec)) = self.waiting[node as usize].front() else { return Pull::Empty };
        let at = Time::at(spec.at);
        if at > now {
            return Pull::NotBefore(at);
        }
        self.waiting[node as usize].pop_front();
        let class = if spec.response { Class::Response } else { Class::Request };
        let header = TiledHeader::new(spec.to, spec.flits, class, Mode::Minimal, i as u32);
        Pull::Packet(header, Meta { made: at, source: spec.from, message: [i as u64, 0], ..Meta::default() })
    }

    fn deliver(&mut self, now: Time, _: u32, delivery: &Delivery<TiledHeader>, _: &mut Signals) {
        self.arrived.push((delivery.meta.message[0] as usize, now.ticks()));
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals) {}
}

/// A model's results: the cycle by which three quarters of the packets had arrived (the last of a burst is
/// random), the mean latency, flits by link, errors on links.
pub struct Outcome<L> {
    pub cycles: u64,
    pub latency: f64,
    pub carried: Vec<(u32, usize, u64)>,
    pub links: L,
    /// When each packet was there.
    pub arrived: Vec<u64>,
}

impl<L> Outcome<L> {
    fn of(script: &[Spec], arrived: Vec<u64>, carried: Vec<(u32, usize, u64)>, links: L) -> Self {
        let latency: u64 = arrived.iter().zip(script).map(|(at, s)| at - s.at).sum();
        let latency = latency as f64 / script.len() as f64;
        Outcome { cycles: three_quarters(arrived.clone()), latency, carried, links, arrived }
    }
}

fn three_quarters(mut arrived: Vec<u64>) -> u64 {
    arrived.sort_unstable();
    arrived[(arrived.len() * 3).div_ceil(4) - 1]
}

pub fn fabric(config: &TiledConfig, script: &[Spec], seed: u64) -> Outcome<LinkControlCounts> {
    let options = BuildOptions { injection_fifos: 1, seed, ..BuildOptions::default() };
    let of = |node: u32| script.iter().copied().enumerate().filter(|(_, s)| s.from == node).collect();
    let mut network = TiledNetwork::new(config, &options, |numbers| Scripted {
        waiting: numbers.iter().map(|&n| of(n)).collect(),
        arrived: vec![],
    })
    .expect("a network");
    network.run_until(Time::at(3_000_000), 1, &Progress::default());
    let wiring = config.topology.wiring();
    let tiles = network.tiles();
    let carried = tiles
        .into_iter()
        .filter(|t| t.1 < wiring.ports() && wiring.end(t.0, t.1).is_some())
        .map(|(r, p, c)| (r, p, c.flits))
        .collect();
    let mut arrived: Vec<_> = network.blocks().flat_map(|b| b.host().arrived.clone()).collect();
    assert_eq!(arrived.len(), script.len());
    arrived.sort_unstable();
    let arrived = arrived.into_iter().map(|(_, at)| at).collect();
    Outcome::of(script, arrived, carried, network.faults().links)
}

pub fn reference(config: &TiledConfig, script: &[Spec], seed: u64) -> Outcome<LinkCounts> {
    let mut model = Reference::new(config, script, seed);
    model.run();
    let arrived = model.arrived.iter().map(|at| at.expect("it arrived")).collect();
    Outcome::of(script, arrived, model.carried(), model.link_counts())
}

/// Random packets of requests and responses: `each` per node, `interval` apart on average.
fn script(nodes: u32, each: u32, interval: f64, seed: u64) -> Vec<Spec> {
    let mut list = vec![];
    for from in 0..nodes {
        let mut stream = Stream::new(seed, 1, from.into());
        let mut at = 0.0;
        for _ in 0..each {
            at += interval * stream.exponential();
            let to = (from + 1 + stream.below(u64::from(nodes) - 1) as u32) % nodes;
            let (flits, response) =
                [(14, false), (3, false), (1, true), (12, true)][stream.below(4) as usize];
            list.push(Spec { at: at as u64, from, to, flits, response });
        }
    }
    list
}

/// The fabric's results relative to the reference's, over several seeds.
#[derive(Default)]
pub struct Comparison {
    time: Vec<f64>,
    latency: Vec<f64>,
}

impl Comparison {
    /// Runs both models on random packets, `each` per node: the same flits over the same links. Returns the
    /// errors on links in both.
    pub fn add(
        &mut self,
        config: &TiledConfig,
        each: u32,
        interval: f64,
        seed: u64,
    ) -> (LinkControlCounts, LinkCounts) {
        let script = script(config.topology.wiring().nodes(), each, interval, seed);
        let (ours, theirs) = (fabric(config, &script, seed), reference(config, &script, seed));
        assert_eq!(ours.carried, theirs.carried, "the same flits over the same links");
        self.time.push(ours.cycles as f64 / theirs.cycles as f64 - 1.0);
        self.latency.push(ours.latency / theirs.latency - 1.0);
        println!(
            "a packet in {interval}: {} and {} cycles, latency {:.1} and {:.1}",
            ours.cycles, theirs.cycles, ours.latency, theirs.latency
        );
        (ours.links, theirs.links)
    }

    /// Each seed by itself is off by less than so much.
    pub fn each_within(&self, within: f64) {
        let all = self.time.iter().chain(&self.latency);
        assert!(all.clone().all(|off| off.abs() < within), "{:.4?} {:.4?}", self.time, self.latency);
    }

    /// The mean over seeds is.
    pub fn mean_within(&self, within: f64) {
        for (what, list) in [("time", &self.time), ("latency", &self.latency)] {
            let count = list.len() as f64;
            let mean = list.iter().sum::<f64>() / count;
            let spread = (list.iter().map(|off| (off - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
            println!("{what} {:+.2}% on average, {:.2}% from seed to seed", 100.0 * mean, 100.0 * spread);
            assert!(mean.abs() < within, "{what}: {list:.4?}");
        }
    }
}
