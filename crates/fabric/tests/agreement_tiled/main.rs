//! The tiled router beside its clocked model, on the same packets.

#[path = "../reference_tiled/mod.rs"]
mod reference_tiled;

use netloom_engine::{Progress, Stream, Time};
use netloom_fabric::config::{
    Cabling, DragonflyConfig, FatTreeConfig, LinkClass, SwitchedTopology, TiledConfig,
};
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::packet::Meta;
use netloom_fabric::router::tiled::{Class, Mode, TiledHeader, TiledNetwork};
use netloom_fabric::router::{BuildOptions, RouterBlock};
use reference_tiled::{Reference, Spec};
use std::collections::VecDeque;

/// Nodes that send what is written, in its order.
struct Scripted {
    waiting: Vec<VecDeque<(usize, Spec)>>,
    arrived: Vec<(usize, Time)>,
}

impl Host<TiledHeader> for Scripted {
    fn pull(&mut self, now: Time, node: u32, _: usize, _: &mut Signals) -> Pull<TiledHeader> {
        let Some(&(i, spec)) = self.waiting[node as usize].front() else { return Pull::Empty };
        if spec.at > now {
            return Pull::NotBefore(spec.at);
        }
        self.waiting[node as usize].pop_front();
        let class = if spec.response { Class::Response } else { Class::Request };
        let header = TiledHeader::new(spec.to, spec.flits, class, Mode::Minimal, i as u32);
        Pull::Packet(
            header,
            Meta { made: spec.at, source: spec.from, message: [i as u64, 0], ..Meta::default() },
        )
    }

    fn deliver(&mut self, now: Time, _: u32, delivery: &Delivery<TiledHeader>, _: &mut Signals) {
        self.arrived.push((delivery.meta.message[0] as usize, now));
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals) {}
}

/// What a model says: the cycle in which three quarters of the packets were there (the last of a burst is chance), the mean latency, flits by
/// link.
struct Outcome {
    cycles: u64,
    latency: f64,
    carried: Vec<(u32, usize, u64)>,
    /// When each packet was there.
    arrived: Vec<u64>,
}

impl Outcome {
    fn of(script: &[Spec], arrived: Vec<u64>, carried: Vec<(u32, usize, u64)>) -> Self {
        let latency: u64 = arrived.iter().zip(script).map(|(at, s)| at - s.at).sum();
        let latency = latency as f64 / script.len() as f64;
        Outcome { cycles: three_quarters(arrived.clone()), latency, carried, arrived }
    }
}

fn three_quarters(mut arrived: Vec<u64>) -> u64 {
    arrived.sort_unstable();
    arrived[(arrived.len() * 3).div_ceil(4) - 1]
}

fn fabric(config: &TiledConfig, script: &[Spec]) -> Outcome {
    let options = BuildOptions { injection_fifos: 1, ..BuildOptions::default() };
    let of = |node: u32| script.iter().copied().enumerate().filter(|(_, s)| s.from == node).collect();
    let mut network = TiledNetwork::new(config, &options, |numbers| Scripted {
        waiting: numbers.iter().map(|&n| of(n)).collect(),
        arrived: vec![],
    })
    .expect("a network");
    network.run_until(3_000_000, 1, &Progress::default());
    let ports = config.topology.wiring().ports();
    let tiles = network.tiles();
    let carried = tiles.into_iter().filter(|t| t.1 < ports).map(|(r, p, c)| (r, p, c.flits)).collect();
    let mut arrived: Vec<_> = network.blocks().flat_map(|b| b.host().arrived.clone()).collect();
    assert_eq!(arrived.len(), script.len());
    arrived.sort_unstable();
    Outcome::of(script, arrived.into_iter().map(|(_, at)| at).collect(), carried)
}

fn reference(config: &TiledConfig, script: &[Spec]) -> Outcome {
    let mut model = Reference::new(config, script);
    model.run();
    let arrived = model.arrived.iter().map(|at| at.expect("it arrived")).collect();
    Outcome::of(script, arrived, model.carried())
}

/// Random packets of requests and responses, each node's so many at this mean distance in time.
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

/// A group of routers, each linked to each, with links of Aries' rate.
fn group(routers: u32, nodes: u32) -> TiledConfig {
    let mut config = TiledConfig::cray_xc(2, 1);
    config.topology = SwitchedTopology::Dragonfly(DragonflyConfig {
        nodes_per_router: nodes,
        group: vec![routers],
        links_per_peer: vec![],
        global_ports: 0,
        groups: 1,
        cabling: Cabling::Absolute,
        cabling_seed: 0,
        cables: None,
        last_group_chassis: None,
        cooling: None,
    });
    for class in ["local", "global"] {
        config.link.insert(class.into(), LinkClass { latency_ticks: 50, flit_milliticks: 1111 });
    }
    (config.router.nodes_per_share, config.router.tiles_per_share) = (1, 1);
    config
}

/// Both models on random packets: flits by link the same, time and latency within so much.
fn compare(config: &TiledConfig, each: u32, interval: f64, within: f64) {
    let nodes = config.topology.wiring().nodes();
    for seed in 1..=3 {
        let script = script(nodes, each, interval, seed);
        let (ours, theirs) = (fabric(config, &script), reference(config, &script));
        assert_eq!(ours.carried, theirs.carried, "the same flits over the same links");
        let off = |a: f64, b: f64| a / b - 1.0;
        let (time, latency) =
            (off(ours.cycles as f64, theirs.cycles as f64), off(ours.latency, theirs.latency));
        println!(
            "{nodes} nodes, a packet in {interval}: {} and {} cycles ({:+.2}%), latency {:.1} and {:.1} ({:+.2}%)",
            ours.cycles,
            theirs.cycles,
            100.0 * time,
            ours.latency,
            theirs.latency,
            100.0 * latency
        );
        assert!(time.abs() < within && latency.abs() < 2.0 * within, "{time} {latency}");
    }
}

#[test]
fn alone_a_packet_takes_the_same_time() {
    for flits in [1, 3, 14] {
        for response in [false, true] {
            let config = group(3, 4);
            let spec = Spec { at: 100, from: 0, to: 9, flits, response };
            let (ours, theirs) = (fabric(&config, &[spec]), reference(&config, &[spec]));
            println!("{flits} flits: {} and {}", ours.cycles, theirs.cycles);
            assert!(ours.cycles.abs_diff(theirs.cycles) <= 1, "{flits} flits");
        }
    }
}

/// A packet that is behind another in a queue of a sub-switch leaves it behind that one's last flit, although the bus to its row is free.
#[test]
fn a_queue_is_read_by_one_bus_at_a_time() {
    let mut config = group(2, 8);
    (config.router.rows, config.router.columns) = (3, 3);
    let spec = |at, from, to, flits| Spec { at, from, to, flits, response: false };
    // Tiles are the link's and then the nodes': 0 and 1 are in the first row, 4 and 7 in the last column, in rows of their own.
    let script = [spec(100, 1, 4, 14), spec(103, 0, 4, 8), spec(103, 0, 7, 3)];
    let (ours, theirs) = (fabric(&config, &script), reference(&config, &script));
    println!("{:?} and {:?}", ours.arrived, theirs.arrived);
    let is_near = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 1;
    assert!(ours.arrived.iter().zip(&theirs.arrived).all(is_near), "{:?} {:?}", ours.arrived, theirs.arrived);
    // The last waits for the first of another queue, and then for the one before it in its own.
    let alone = fabric(&config, &script[1..]).arrived;
    assert!(ours.arrived[2] >= alone[1] + 10, "{:?} alone {alone:?}", ours.arrived);
}

#[test]
fn groups_of_aries_routers_agree() {
    for interval in [30.0, 0.0] {
        compare(&group(4, 4), 250, interval, 0.02);
    }
    // Every row of the matrix of tiles.
    compare(&group(2, 40), 40, 0.0, 0.02);
}

#[test]
fn switches_of_a_fat_tree_agree() {
    let mut config = group(2, 1);
    config.topology = SwitchedTopology::FatTree(FatTreeConfig { down: vec![4, 4], up: vec![1] });
    config.link.insert("up-1".into(), LinkClass { latency_ticks: 40, flit_milliticks: 1000 });
    (config.router.rows, config.router.columns) = (3, 3);
    for interval in [200.0, 0.0] {
        compare(&config, 120, interval, 0.02);
    }
}

#[test]
fn small_buffers_agree() {
    let mut config = group(4, 4);
    (config.router.subswitch_flits, config.router.column_flits) = (14, 14);
    (config.router.input_flits, config.router.input_reserved_flits) = (160, 20);
    // What is in the balance here are single cycles of credits.
    compare(&config, 200, 0.0, 0.03);
}
