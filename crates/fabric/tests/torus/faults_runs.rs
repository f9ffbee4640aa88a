//! Whole runs of a machine with dead nodes: every pair sends under load, and the network drains.

use netloom_engine::{Progress, Stream, Time};
use netloom_fabric::config::{DeadLink, Escape, EscapeOrder, TorusConfig};
use netloom_fabric::host::{Delivery, Family, Host, Pull, Signals};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_fabric::routing::faults::{Leg, Planner};
use netloom_fabric::topology::torus::Torus;
use std::collections::VecDeque;

/// [`Meta::kind`] of a packet that its receiver must forward.
const TO_RELAY: u8 = 1;
/// Normal injection FIFOs.
const FIFOS: usize = 6;

/// A node: the others in its own order, the number of those served, and the packets to forward.
struct Sender {
    others: Vec<u32>,
    sent: usize,
    relaying: VecDeque<(Header, Meta)>,
}

/// Every node sends to every other, as fast as the network accepts, by its plans.
struct PairsHost {
    planner: Planner,
    torus: Torus,
    numbers: Vec<u32>,
    senders: Vec<Sender>,
    sizes: Vec<u32>,
    stream: Stream,
    /// Deliveries of each pair, by this block's node and source.
    received: Vec<u8>,
    relayed: u64,
}

impl PairsHost {
    fn new(torus: &Torus, planner: &Planner, numbers: &[u32], sizes: &[u32], seed: u64) -> Self {
        let sender = |own: u32| {
            let mut others: Vec<u32> = (0..torus.nodes()).filter(|&n| sends(planner, own, n)).collect();
            let mut stream = Stream::new(seed, 3, own.into());
            for i in (1..others.len()).rev() {
                others.swap(i, stream.below(i as u64 + 1) as usize);
            }
            Sender { others, sent: 0, relaying: VecDeque::new() }
        };
        PairsHost {
            planner: planner.clone(),
            torus: torus.clone(),
            numbers: numbers.to_vec(),
            senders: numbers.iter().map(|&n| sender(n)).collect(),
            sizes: sizes.to_vec(),
            stream: Stream::new(seed, 4, numbers[0].into()),
            received: vec![0; numbers.len() * torus.nodes() as usize],
            relayed: 0,
        }
    }

    fn packet(&self, leg: &Leg, chunks: u32, kind: u8, source: u32, last: u32, now: Time) -> (Header, Meta) {
        let meta = Meta {
            made: now,
            source,
            hops: leg.hops as u16,
            kind,
            message: [last.into(), 0],
            ..Meta::default()
        };
        (self.planner.header(leg, chunks, 0), meta)
    }
}

impl PairsHost {
    /// Packets not yet passed to the network.
    fn waiting(&self) -> u64 {
        self.senders.iter().map(|s| (s.others.len() - s.sent + s.relaying.len()) as u64).sum()
    }
}

impl<F: Family<Header = Header>> Host<F> for PairsHost {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, _: &mut Signals<F::Signal>) -> Pull {
        if fifo >= FIFOS {
            return Pull::Empty;
        }
        let own = self.numbers[node as usize];
        let sender = &mut self.senders[node as usize];
        if let Some((header, meta)) = sender.relaying.pop_front() {
            return Pull::Packet(header, meta);
        }
        let Some(&to) = sender.others.get(sender.sent) else { return Pull::Empty };
        sender.sent += 1;
        let chunks = self.sizes[self.stream.below(self.sizes.len() as u64) as usize];
        let plan = self.planner.plan(own, to).expect("a pair within reach");
        let kind = if plan.second().is_some() { TO_RELAY } else { 0 };
        let (header, meta) = self.packet(&plan.first(), chunks, kind, own, to, now);
        Pull::Packet(header, meta)
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery, signals: &mut Signals<F::Signal>) {
        let own = self.numbers[node as usize];
        let at = self.torus.coordinates(own);
        assert!((0..5).all(|d| delivery.header.destination(d) == at[d]), "a packet at the wrong node");
        let (source, last) = (delivery.meta.source, delivery.meta.message[0] as u32);
        if delivery.meta.kind == TO_RELAY {
            let plan = self.planner.plan(source, last).expect("the plan that brought it here");
            let leg = plan.second().expect("a relay");
            assert_eq!(leg.from, own);
            let packet = self.packet(&leg, delivery.header.chunks(), 0, source, last, now);
            self.senders[node as usize].relaying.push_back(packet);
            self.relayed += 1;
            signals.fill(node, 0);
        } else {
            assert_eq!(last, own);
            self.received[node as usize * self.torus.nodes() as usize + source as usize] += 1;
        }
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals<F::Signal>) {}
}

/// Whether one node sends to another: all with a plan do.
fn sends(planner: &Planner, from: u32, to: u32) -> bool {
    from != to && !planner.unreachable(from, to)
}

fn long() -> bool {
    std::env::var("NETLOOM_LONG").is_ok_and(|v| v == "1")
}

/// Sends between all pairs of the machine and checks that every packet arrives, once, and that the network is
/// idle then.
fn run(config: &TorusConfig, sizes: &[u32], seed: u64, block: &[u32]) {
    let torus = Torus::new(&config.topology);
    let dead = &config.topology.dead_nodes;
    let planner = Planner::new(&torus, config.router.escape_order, config.router.halfway_tie);
    let smallest_chunks = *sizes.iter().min().expect("a size");
    let options = BuildOptions { seed, smallest_chunks, block: block.to_vec(), ..BuildOptions::default() };
    let mut network = TorusNetwork::<_, 6>::new(config, &options, |numbers| {
        PairsHost::new(&torus, &planner, numbers, sizes, seed)
    })
    .expect("a machine");
    let reached = network.run_until(Time::MAX, 1, &Progress::default());
    assert!(network.stall().is_none(), "{dead:?}: {:?}", network.stall());
    assert_eq!(network.in_flight(), 0, "{dead:?}: {reached:?}");
    assert_eq!(network.unrest(), Vec::<String>::new(), "{dead:?}");
    let mut relayed = 0;
    for block in network.blocks() {
        assert_eq!(block.host().waiting(), 0, "{dead:?}: not all was sent");
        relayed += block.host().relayed;
        for (i, &to) in block.host().numbers.iter().enumerate() {
            for from in 0..torus.nodes() {
                let expected = u8::from(sends(&planner, from, to));
                let received = block.host().received[i * torus.nodes() as usize + from as usize];
                assert_eq!(received, expected, "{dead:?}: packets from {from} to {to}");
            }
        }
    }
    assert!(
        network.links().iter().all(|&(node, port, _)| !torus.is_dead(node, port)),
        "no traffic on dead links"
    );
    println!(
        "{dead:?} {:?} sizes {sizes:?} seed {seed}: {relayed} relayed, {} ticks",
        config.router.escape_order,
        network.now()
    );
}

fn machine(dims: &[u32], dead: &[[u32; 3]], order: EscapeOrder) -> TorusConfig {
    let mut config = TorusConfig::bluegene_l(dims);
    config.topology.dead_nodes = dead.iter().map(|c| c.to_vec()).collect();
    config.router.escape_order = order;
    config
}

/// Three dead nodes in an 8x8x8 torus, spread out and close together.
#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn every_pair_sends_round_three_dead_nodes() {
    let fixed = [
        [[1, 2, 3], [6, 0, 4], [3, 7, 7]],
        [[0, 0, 0], [1, 1, 0], [0, 1, 1]],
        [[3, 3, 3], [4, 4, 4], [5, 5, 5]],
        [[4, 3, 3], [3, 4, 3], [3, 3, 4]],
    ];
    let mixed: Vec<u32> = (1..=8).collect();
    let mut stream = Stream::new(9, 0, 0);
    for seed in 1..=2 {
        for order in [EscapeOrder::Dimension, EscapeOrder::Direction] {
            for dead in fixed {
                // Full packets with one seed and mixed ones with the other, and blocks of two shapes.
                let sizes = if (seed == 1) == (order == EscapeOrder::Dimension) { &[8][..] } else { &mixed };
                run(
                    &machine(&[8, 8, 8], &dead, order),
                    sizes,
                    seed,
                    if seed == 1 { &[] } else { &[4, 4, 8] },
                );
            }
            for _ in 0..if long() { 20 } else { 2 } {
                let dead = apart(&mut stream);
                run(&machine(&[8, 8, 8], &dead, order), &mixed, seed, &[]);
                run(&machine(&[8, 8, 8], &dead, order), &[8], seed, &[]);
            }
        }
    }
}

/// Three nodes of an 8x8x8 torus, no two on one line.
fn apart(stream: &mut Stream) -> [[u32; 3]; 3] {
    loop {
        let dead: [[u32; 3]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| stream.below(8) as u32));
        let shared = |a: [u32; 3], b: [u32; 3]| (0..3).filter(|&d| a[d] == b[d]).count();
        if shared(dead[0], dead[1]) < 2 && shared(dead[0], dead[2]) < 2 && shared(dead[1], dead[2]) < 2 {
            return dead;
        }
    }
}

/// Small machines have little space: short rings, in which the longer direction fills whole rings; a mesh;
/// dead links; more dead nodes than the paper's three; one dynamic VC; the dateline pair.
#[test]
fn small_machines_drain() {
    let seeds = if long() { 20 } else { 3 };
    let small: Vec<u32> = (1..=8).collect();
    for seed in 1..=seeds {
        for order in [EscapeOrder::Dimension, EscapeOrder::Direction] {
            let mut config = machine(&[4, 4, 4], &[[1, 2, 3], [0, 1, 1], [2, 2, 0]], order);
            run(&config, &small, seed, &[]);
            config.router.dynamic_vcs = 1;
            config.router.vc_B = 512;
            run(&config, &small, seed, &[2, 2, 2]);
            config.router.escape = Escape::Dateline;
            run(&config, &small, seed, &[]);
            let mut config = machine(&[5, 4, 3], &[[1, 2, 2], [4, 1, 1], [2, 2, 0], [0, 3, 2]], order);
            let link = |node: [u32; 3], direction: &str| DeadLink {
                node: node.to_vec(),
                direction: direction.into(),
            };
            config.topology.dead_links = vec![link([0, 0, 0], "+x"), link([3, 1, 0], "-z")];
            run(&config, &small, seed, &[]);
            // The last link leads round the torus.
            config.topology.wrap = vec![false; 3];
            config.topology.dead_links.pop();
            run(&config, &small, seed, &[]);
        }
    }
}
