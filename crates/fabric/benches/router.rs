//! The router's parts: arbitration, as whole ticks of a small machine, and what is done for each packet or
//! hop. `cargo bench -p netloom-fabric`.

#[path = "../tests/traffic/mod.rs"]
mod traffic;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use netloom_engine::{Progress, Stream, Time};
use netloom_fabric::config::{HalfwayTie, TorusConfig};
use netloom_fabric::packet::Header;
use netloom_fabric::router::BuildOptions;
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::{Coordinates, Torus};
use std::hint::black_box;
use std::time::Duration;
use traffic::{Traffic, TrafficHost};

/// Ticks of 4x4x4 nodes under uniform traffic of full packets: divide by 64 for a node's.
fn ticks(c: &mut Criterion) {
    const TICKS: u64 = 2000;
    let mut group = c.benchmark_group("ticks of 4x4x4");
    group.sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    group.throughput(Throughput::Elements(TICKS));
    // 64/63 * 3 hops of 272 bytes over six links: half of each link at a packet in 276 ticks.
    for (name, interval, flags) in [
        ("half load", 276.0, 0),
        ("saturated", 0.0, 0),
        ("saturated, static", 0.0, Header::STATIC),
        ("saturated, high priority", 0.0, Header::HIGH),
    ] {
        let config = TorusConfig::bluegene_l(&[4, 4, 4]);
        let traffic =
            Traffic { interval, packets: u64::MAX, chunks: vec![8], flags, all_to_all: false, seed: 1 };
        let mut network = TorusNetwork::<_, 6>::new(&config, &BuildOptions::default(), |n| {
            TrafficHost::new(&config, &traffic, n, false)
        })
        .expect("a BlueGene/L");
        let progress = Progress::default();
        network.run_until(Time::at(20_000), 1, &progress);
        group.bench_function(name, |b| {
            b.iter(|| {
                let until = network.now() + TICKS;
                network.run_until(until, 1, &progress)
            });
        });
    }
    group.finish();
}

fn headers(c: &mut Criterion) {
    let torus = Torus::new(&TorusConfig::bluegene_l(&[32, 32, 32]).topology);
    let mut stream = Stream::new(1, 0, 0);
    let mut any = || torus.coordinates(stream.below(torus.nodes().into()) as u32);
    let pairs: Vec<(Coordinates, Coordinates)> = (0..1024).map(|_| (any(), any())).collect();
    let mut group = c.benchmark_group("headers");
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::Elements(pairs.len() as u64));
    group.bench_function("hints::minimal", |b| {
        b.iter(|| {
            let bits = |&(from, to)| hints::minimal(&torus, black_box(from), to, HalfwayTie::Parity);
            pairs.iter().fold(0, |any, pair| any | bits(pair))
        });
    });
    let hops: Vec<(Header, usize, u8)> = pairs
        .iter()
        .filter(|(from, to)| from != to)
        .map(|&(from, to)| {
            let hints = hints::minimal(&torus, from, to, HalfwayTie::Parity);
            let port = hints.trailing_zeros() as usize;
            let next = torus.step(from[port / 2], port).expect("a torus");
            (Header::new(to, hints, 8, 0), port, next)
        })
        .collect();
    group.throughput(Throughput::Elements(hops.len() as u64));
    group.bench_function("Header::after_hop", |b| {
        b.iter(|| {
            let hop = |&(header, port, next): &(Header, usize, u8)| {
                black_box(header).after_hop(port, next, next == 0).head()
            };
            hops.iter().fold(0, |any, packet| any | hop(packet))
        });
    });
    group.finish();
}

criterion_group!(benches, ticks, headers);
criterion_main!(benches);
