//! How fast networks of tiled routers are by themselves: puts of 64 B between random nodes of a Cray XC, each
//! answered by a response of a flit.
//!
//! ```text
//! cargo run --release -p netloom-fabric --example tiled -- GROUPS CABLES LOAD_GB_PER_S MICROSECONDS THREADS
//! ```

use netloom_engine::{Progress, Stream, Time};
use netloom_fabric::config::TiledConfig;
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::packet::Meta;
use netloom_fabric::router::tiled::{Class, Mode, TiledFamily, TiledHeader, TiledNetwork};
use netloom_fabric::router::{BuildOptions, RouterBlock};
use std::collections::VecDeque;
use std::time::Instant;

// As the program itself does.
#[global_allocator]
static MEMORY: netloom_engine::HugePages = netloom_engine::HugePages;

/// Nodes that put to one another at random.
struct Puts {
    nodes: u32,
    first: u32,
    /// Ticks between a node's puts.
    interval: f64,
    flits: u32,
    streams: Vec<Stream>,
    due: Vec<f64>,
    /// Whom each node owes a response.
    owed: Vec<VecDeque<u32>>,
    put: u64,
    answered: u64,
}

impl Host<TiledFamily> for Puts {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, _: &mut Signals) -> Pull<TiledHeader> {
        let i = node as usize;
        let meta = Meta { made: now, source: self.first + node, ..Meta::default() };
        if fifo == 1 {
            let Some(to) = self.owed[i].pop_front() else { return Pull::Empty };
            let seed = self.streams[i].draw() as u32;
            return Pull::Packet(TiledHeader::new(to, 1, Class::Response, Mode::Adaptive0, seed), meta);
        }
        let due = Time::at(self.due[i].ceil() as u64);
        if due > now {
            return Pull::NotBefore(due);
        }
        self.due[i] += self.interval * self.streams[i].exponential();
        let to = (meta.source + 1 + self.streams[i].below(u64::from(self.nodes) - 1) as u32) % self.nodes;
        let seed = self.streams[i].draw() as u32;
        let header = TiledHeader::new(to, self.flits, Class::Request, Mode::Adaptive0, seed);
        Pull::Packet(header, Meta { made: due, ..meta })
    }

    fn deliver(&mut self, _: Time, node: u32, delivery: &Delivery<TiledHeader>, signals: &mut Signals) {
        if delivery.header.class() == Class::Response {
            self.answered += 1;
            return;
        }
        self.put += 1;
        self.owed[node as usize].push_back(delivery.meta.source);
        signals.fill(node, 1);
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals) {}
}

fn main() {
    let number =
        |n: usize, usual: f64| std::env::args().nth(n).map_or(usual, |a| a.parse().expect("a number"));
    let (groups, cables, load, us, threads) =
        (number(1, 6.0), number(2, 12.0), number(3, 3.75), number(4, 2.0), number(5, 1.0));
    let config = TiledConfig::cray_xc(groups as u32, cables as u32);
    let nodes = config.topology.wiring().nodes();
    let interval = 64.0 / load * config.ticks_per_second as f64 / 1e9;
    let block = std::env::var("BLOCK").ok().and_then(|b| b.parse().ok());
    let options =
        BuildOptions { injection_fifos: 2, block: block.into_iter().collect(), ..BuildOptions::default() };
    let begin = Instant::now();
    let mut network = TiledNetwork::new(&config, &options, |numbers| {
        let mut streams: Vec<Stream> = numbers.iter().map(|&n| Stream::new(1, 9, n.into())).collect();
        Puts {
            nodes,
            first: numbers[0],
            interval,
            flits: config.packet.request_flits(64),
            due: streams.iter_mut().map(|s| interval * s.exponential()).collect(),
            streams,
            owed: vec![VecDeque::new(); numbers.len()],
            put: 0,
            answered: 0,
        }
    })
    .expect("a network");
    let built = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let progress = Progress::default();
    network.run_until(
        Time::at((us * 1e-6 * config.ticks_per_second as f64) as u64),
        threads as usize,
        &progress,
    );
    let wall = begin.elapsed().as_secs_f64();
    let (put, answered) = network
        .blocks()
        .map(|b| (b.host().put, b.host().answered))
        .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    let hops = network.so_far().hops;
    let latency = network.totals().latency.mean() * 1e9 / config.ticks_per_second as f64;
    let (state, packets) = network.bytes();
    let routers = config.topology.wiring().routers();
    println!(
        "{nodes} nodes, {routers} routers, built in {built:.1} s, {us} us in {wall:.2} s on {threads} threads"
    );
    println!(
        "{put} puts, {answered} answered, {:.2} GB/s a node; latency {latency:.0} ns",
        put as f64 * 64.0 / us / 1e3 / f64::from(nodes)
    );
    println!(
        "{hops} hops, {:.2} million/s; {} events, {:.1} million/s; {:.0} B a router, {packets} B of packets",
        hops as f64 / wall / 1e6,
        progress.events(),
        progress.events() as f64 / wall / 1e6,
        state as f64 / f64::from(routers)
    );
}
