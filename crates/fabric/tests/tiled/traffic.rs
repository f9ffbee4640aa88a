//! Hosts for tests of tiled routers: random packets, counted where they arrive.

use netloom_engine::{Progress, Reached, Stream, Time};
use netloom_fabric::config::TiledConfig;
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::packet::Meta;
use netloom_fabric::router::tiled::{Class, Mode, TiledFamily, TiledHeader, TiledNetwork};
use netloom_fabric::router::{BuildOptions, RouterBlock};

/// The destinations of nodes.
#[derive(Clone, Copy)]
pub enum To {
    /// Any other node.
    Anybody,
    /// Any of `of` nodes, starting `further` nodes after the sender's own such stretch.
    Stretch { of: u32, further: u32 },
    /// Nodes of the first mask to those of the second in turn; the others are silent.
    These { from: u64, to: u64 },
}

#[derive(Clone, Copy)]
pub struct Traffic {
    pub to: To,
    pub mode: Mode,
    /// Packets that each node sends.
    pub packets: u32,
    /// Mean ticks between a node's packets; 0: as fast as possible.
    pub interval: f64,
    pub flits: u32,
    pub seed: u64,
}

pub struct Senders {
    traffic: Traffic,
    nodes: u32,
    first: u32,
    streams: Vec<Stream>,
    sent: Vec<u32>,
    due: Vec<f64>,
    /// Source, number and time of each arrival, by node.
    pub arrived: Vec<Vec<(u32, u32, u64)>>,
    pub hops: Vec<u16>,
}

impl Senders {
    pub fn new(numbers: &[u32], nodes: u32, traffic: Traffic) -> Self {
        let streams: Vec<Stream> = numbers.iter().map(|&n| Stream::new(traffic.seed, 9, n.into())).collect();
        Senders {
            traffic,
            nodes,
            first: numbers.first().copied().unwrap_or(0),
            sent: vec![0; numbers.len()],
            due: vec![0.0; numbers.len()],
            arrived: vec![vec![]; numbers.len()],
            hops: vec![],
            streams,
        }
    }
}

impl Host<TiledFamily> for Senders {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, _: &mut Signals) -> Pull<TiledHeader> {
        let (i, t) = (node as usize, self.traffic);
        if fifo != 0 || self.sent[i] == t.packets {
            return Pull::Empty;
        }
        if Time::at(self.due[i].ceil() as u64) > now {
            return Pull::NotBefore(Time::at(self.due[i].ceil() as u64));
        }
        let own = self.first + node;
        if matches!(t.to, To::These { from, .. } if own >= 64 || from >> own & 1 == 0) {
            return Pull::Empty;
        }
        let made = if t.interval == 0.0 { now } else { Time::at(self.due[i].ceil() as u64) };
        self.due[i] += t.interval * self.streams[i].exponential();
        let to = match t.to {
            To::Anybody => (own + 1 + self.streams[i].below(u64::from(self.nodes) - 1) as u32) % self.nodes,
            To::Stretch { of, further } => {
                (own / of * of + further + self.streams[i].below(of.into()) as u32) % self.nodes
            }
            To::These { to, .. } => {
                let ends: Vec<u32> = (0..64).filter(|n| to >> n & 1 != 0).collect();
                ends[(self.sent[i] as usize) % ends.len()]
            }
        };
        let seed = if t.mode.is_in_order() {
            own.wrapping_mul(2_654_435_769) ^ to
        } else {
            self.streams[i].draw() as u32
        };
        let number = self.sent[i];
        self.sent[i] += 1;
        let header = TiledHeader::new(to, t.flits, Class::Request, t.mode, seed);
        Pull::Packet(header, Meta { made, source: own, message: [number.into(), 0], ..Meta::default() })
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery<TiledHeader>, _: &mut Signals) {
        assert_eq!(delivery.header.destination(), self.first + node, "a packet at the wrong node");
        self.arrived[node as usize].push((
            delivery.meta.source,
            delivery.meta.message[0] as u32,
            now.ticks(),
        ));
        self.hops.push(delivery.meta.hops);
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals) {}
}

/// The results of a run.
pub struct Outcome {
    pub ended: u64,
    pub arrived: Vec<Vec<(u32, u32, u64)>>,
    pub hops: Vec<u16>,
    pub mean_latency: f64,
}

/// Runs traffic to its end.
pub fn run(config: &TiledConfig, traffic: Traffic, block: u32, threads: usize) -> Outcome {
    let nodes = config.topology.wiring().nodes();
    let options = BuildOptions {
        injection_fifos: 1,
        block: vec![block],
        seed: traffic.seed,
        ..BuildOptions::default()
    };
    let mut network = TiledNetwork::new(config, &options, |numbers| Senders::new(numbers, nodes, traffic))
        .expect("a network");
    let reached = network.run_until(Time::at(100_000_000), threads, &Progress::default());
    if let Some(stall) = network.stall() {
        let reported = &stall.waiting[..stall.waiting.len().min(9)];
        panic!("stalled at {}: {} in flight, {reported:?}", network.now(), stall.in_flight);
    }
    assert_eq!(reached, Reached::Idle);
    assert_eq!(network.unrest(), Vec::<String>::new());
    let mean_latency = network.totals().latency.mean();
    let (mut arrived, mut hops) = (vec![], vec![]);
    for block in network.blocks() {
        arrived.append(&mut block.host_mut().arrived);
        hops.append(&mut block.host_mut().hops);
    }
    assert_eq!(
        arrived.iter().map(Vec::len).sum::<usize>(),
        (nodes * traffic.packets) as usize,
        "nothing lost"
    );
    let ended = arrived.iter().flatten().map(|a| a.2).max().unwrap_or(0);
    Outcome { ended, arrived, hops, mean_latency }
}

/// Flits that a node receives per tick, and the latency of packets from their creation, while nodes send
/// without end: means from `from` to `to`.
pub fn throughput(config: &TiledConfig, traffic: Traffic, (from, to): (u64, u64)) -> (f64, f64) {
    let nodes = config.topology.wiring().nodes();
    let traffic = Traffic { packets: u32::MAX, ..traffic };
    let options = BuildOptions { injection_fifos: 1, seed: traffic.seed, ..BuildOptions::default() };
    let mut network = TiledNetwork::new(config, &options, |numbers| Senders::new(numbers, nodes, traffic))
        .expect("a network");
    network.run_until(Time::at(from), 2, &Progress::default());
    network.restart_counting();
    network.run_until(Time::at(to), 2, &Progress::default());
    let latency = network.totals().latency.clone();
    let flits = latency.count() as f64 * f64::from(traffic.flits);
    (flits / f64::from(nodes) / (to - from) as f64, latency.mean())
}
