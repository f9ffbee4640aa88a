//! How fast the fabric is by itself: `cargo run --release -p netloom-fabric --example speed -- 8x8x8 INTERVAL
//! TICKS THREADS [BLOCK]`.

#[path = "../tests/traffic/mod.rs"]
mod traffic;

use netloom_engine::{Progress, Time};
use netloom_fabric::config::TorusConfig;
use netloom_fabric::router::BuildOptions;
use netloom_fabric::router::torus::TorusNetwork;

#[global_allocator]
static MEMORY: netloom_engine::HugePages = netloom_engine::HugePages;

fn numbers(text: &str) -> Vec<u32> {
    text.split('x').map(|k| k.parse().expect("a number")).collect()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let get = |i: usize, or: &str| args.get(i).cloned().unwrap_or(or.into());
    let dims = numbers(&get(0, "8x8x8"));
    let config = TorusConfig::bluegene_l(&dims);
    let traffic = traffic::Traffic {
        interval: get(1, "0").parse().expect("ticks"),
        packets: u64::MAX,
        chunks: vec![8],
        flags: 0,
        all_to_all: false,
        seed: 1,
    };
    let ticks: u64 = get(2, "100000").parse().expect("ticks");
    let threads: usize = get(3, "1").parse().expect("threads");
    let block = args.get(4).map_or(vec![], |b| numbers(b));
    let options = BuildOptions { block, ..BuildOptions::default() };
    let start = std::time::Instant::now();
    let mut network = TorusNetwork::<_, 6>::new(&config, &options, |n| {
        traffic::TrafficHost::new(&config, &traffic, n, false)
    })
    .expect("a BlueGene/L");
    println!("built in {:.2} s", start.elapsed().as_secs_f64());
    let progress = Progress::default();
    network.run_until(Time::at(ticks / 2), threads, &progress);
    let mid: u64 = network.windows().iter().map(|w| w.hops).sum();
    let warm = network.now();
    let events = progress.events();
    network.restart_counting();
    let start = std::time::Instant::now();
    network.run_until(Time::at(ticks), threads, &progress);
    let wall = start.elapsed().as_secs_f64();
    let now = network.now();
    let links = network.links();
    let hops: u64 = links.iter().map(|l| l.2.packets).sum();
    let acks: u64 = links.iter().map(|l| l.2.acks).sum();
    let chunks: [u64; 3] = std::array::from_fn(|c| links.iter().map(|l| l.2.chunks[c]).sum());
    let busy = (chunks.iter().sum::<u64>() * 32 + hops * 4 + acks * 12) as f64;
    let span = (now - warm) as f64;
    let windows = network.windows();
    let receivers = links.len() as f64;
    let last = windows.last().cloned().unwrap_or_default();
    println!(
        "utilization {:.4} payload {:.4} escape share {:.4} acks/packet {:.3} mean latency {:.1} occupancy {:?}",
        busy / span / receivers,
        hops as f64 * 240.0 / span / receivers,
        chunks[1] as f64 / chunks.iter().sum::<u64>() as f64,
        acks as f64 / hops as f64,
        network.totals().network_latency.mean(),
        last.occupancy[..4]
            .iter()
            .map(|o| (*o as f64 / 1e4 / receivers * 100.0).round() / 100.0)
            .collect::<Vec<_>>()
    );
    let (state, packets) = network.bytes();
    println!(
        "{:.2} million packet-hops/s, {:.1} us/s, {:.2} events/hop, {} B/node + {} B, {mid} hops before",
        hops as f64 / wall / 1e6,
        span / 175.0 / wall,
        (progress.events() - events) as f64 / hops as f64,
        state / config.nodes(),
        packets / config.nodes(),
    );
}
