//! Links with bit errors: whatever the errors, each packet is delivered once and in the order of its link,
//! and all is idle in the end (`docs/torus-router.md`, "Links with errors").

use crate::traffic::script::{Packet, ScriptHost};
use netloom_engine::{Progress, Reached, Stream, Time};
use netloom_fabric::config::{BubbleRule, Escape, TorusConfig};
use netloom_fabric::packet::Header;
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::router::{BuildOptions, LinkErrors, RouterBlock};
use netloom_fabric::topology::torus::Torus;
use std::collections::HashMap;

fn bluegene(dims: &[u32], rate: f64) -> TorusConfig {
    let mut config = TorusConfig::bluegene_l(dims);
    config.link.bit_error_rate = rate;
    config
}

/// Packets to random nodes at random times: of the given sizes; static, dynamic and high-priority ones if
/// `mixed`. Packets of one pair and class use one FIFO.
fn list(config: &TorusConfig, each: u64, chunks: &[u32], mixed: bool, interval: f64) -> Vec<Packet> {
    let nodes = config.nodes() as u64;
    let mut list = vec![];
    for source in 0..nodes {
        let mut stream = Stream::new(5, 9, source);
        let mut made = 0.0;
        for _ in 0..each {
            made += interval * stream.exponential();
            let destination = ((source + 1 + stream.below(nodes - 1)) % nodes) as u32;
            let chunks = chunks[stream.below(chunks.len() as u64) as usize];
            let flags =
                if mixed { [0, 0, Header::STATIC, Header::HIGH][stream.below(4) as usize] } else { 0 };
            let fifo = if flags == Header::HIGH { 6 } else { destination as usize % 6 };
            list.push(Packet {
                made: made as u64,
                source: source as u32,
                fifo,
                destination,
                chunks,
                flags,
                ..Packet::default()
            });
        }
    }
    list
}

/// The results of a run: (packet, node, tick) in the order of delivery at each node, and the errors.
struct Outcome {
    delivered: Vec<(u64, u32, u64)>,
    errors: LinkErrors,
    /// First transmissions of data packets.
    grants: u64,
    end: u64,
}

fn run(config: &TorusConfig, list: &[Packet], block: &[u32], threads: usize) -> Outcome {
    let smallest = list.iter().map(|p| p.chunks).min().expect("packets");
    let options = BuildOptions { smallest_chunks: smallest, block: block.into(), ..BuildOptions::default() };
    let mut network =
        TorusNetwork::<_, 6>::new(config, &options, |n| ScriptHost::new(&config.topology, list, n))
            .expect("buildable");
    assert_eq!(network.run_until(Time::at(1 << 40), threads, &Progress::default()), Reached::Idle);
    assert_eq!((network.in_flight(), network.stall()), (0, None));
    assert_eq!(network.unrest(), Vec::<String>::new());
    assert_eq!(network.blocks().map(|b| b.packets()).sum::<usize>(), 0, "a packet's record was left behind");
    assert_eq!(network.crc_mismatches(), vec![]);
    let mut delivered: Vec<_> = network.blocks().flat_map(|b| b.host().delivered.clone()).collect();
    delivered.sort_by_key(|d| (d.1, d.2));
    let errors = network.errors();
    let mut by_link = LinkErrors::default();
    network.link_errors().iter().for_each(|l| by_link.merge(&l.2));
    assert_eq!(by_link, errors);
    let sent: u64 = network.links().iter().map(|l| l.2.packets).sum();
    let end = delivered.iter().map(|d| d.2).max().expect("something was delivered");
    Outcome { delivered, errors, grants: sent - errors.retransmitted, end }
}

/// Each packet once and at the right node; static ones of a pair in order; counters consistent.
fn check(list: &[Packet], outcome: &Outcome) {
    let mut times = vec![0; list.len()];
    let mut last = HashMap::new();
    for &(packet, node, _) in &outcome.delivered {
        let p = &list[packet as usize];
        assert_eq!(p.destination, node);
        times[packet as usize] += 1;
        if p.flags != 0 {
            let before = last.insert((p.source, node, p.flags), packet);
            assert!(before < Some(packet), "packet {packet} overtaken by {before:?}");
        }
    }
    assert!(times.iter().all(|&n| n == 1), "each packet is delivered exactly once");
    let e = &outcome.errors;
    // Each transmission gets through, is corrupted or is rejected; in the end every packet has got through
    // once.
    assert_eq!(e.retransmitted, e.corrupted + e.refused);
    // Each packet corrupted after its header makes one ghost, which is discarded once.
    assert_eq!(e.ghosts, e.corrupted - e.bad_headers);
}

#[test]
fn whatever_is_corrupted_arrives_once_and_in_order() {
    for dims in [[4, 3, 2], [2, 1, 3], [4, 4, 4]] {
        for (rate, timeout, ack_only) in
            [(1e-6, 8192, 2048), (1e-5, 8192, 2048), (1e-4, 8192, 300), (1e-4, 1200, 100)]
        {
            let mut config = bluegene(&dims, rate);
            (config.link.retransmit_timeout_ticks, config.link.ack_only_after_ticks) = (timeout, ack_only);
            let list = list(&config, 60, &[1, 2, 3, 4, 5, 6, 7, 8], true, 200.0);
            let outcome = run(&config, &list, &[], 1);
            check(&list, &outcome);
            println!("{dims:?} {rate:e}: end {} grants {} {:?}", outcome.end, outcome.grants, outcome.errors);
            assert!(rate < 1e-5 || outcome.errors.corrupted > 0);
        }
    }
}

#[test]
fn variants_of_the_router_recover_too() {
    type Change = fn(&mut TorusConfig);
    let changes: [(&str, Change); 7] = [
        ("dateline", |c| c.router.escape = Escape::Dateline),
        ("published rule", |c| c.router.bubble_rule = BubbleRule::Published),
        ("gap", |c| c.router.arbitration_gap = true),
        ("no bypass", |c| c.router.bypass = false),
        ("one path", |c| c.router.paths = 1),
        ("mesh", |c| c.topology.wrap = vec![false, true, false]),
        ("slow links", |c| c.link.ticks_per_byte = 2),
    ];
    for (name, change) in changes {
        for seed in 0..3 {
            let mut config = bluegene(&[4, 3, 3], 1e-4);
            // The minimum allowed times: retransmissions arrive as early as possible.
            (config.link.retransmit_timeout_ticks, config.link.ack_only_after_ticks) = (814 + 50, 50);
            change(&mut config);
            config.link.retransmit_timeout_ticks += 780 * (config.link.ticks_per_byte - 1);
            let list = list(&config, 120, &[1, 2, 4, 8, 8], true, 60.0 * f64::from(seed));
            let outcome = run(&config, &list, &[2, 3, 2], 2);
            check(&list, &outcome);
            println!("{name}: {:?}", outcome.errors);
            assert!(outcome.errors.ghosts > 100);
        }
    }
}

#[test]
fn threads_and_blocks_change_nothing() {
    let config = bluegene(&[4, 3, 2], 3e-5);
    let list = list(&config, 100, &[1, 3, 8], true, 150.0);
    let one = run(&config, &list, &[], 1);
    check(&list, &one);
    assert!(one.errors.corrupted > 50 && one.errors.refused > 0 && one.errors.ghosts > 0, "{:?}", one.errors);
    for (block, threads) in [(&[][..], 2), (&[2, 2, 2], 1), (&[1, 1, 1], 2), (&[4, 1, 2], 2)] {
        let other = run(&config, &list, block, threads);
        assert_eq!(one.delivered, other.delivered, "blocks of {block:?}, {threads} threads");
        assert_eq!(one.errors, other.errors);
    }
}

#[test]
fn links_without_errors_are_as_before_errors_were_modelled() {
    let mut config = bluegene(&[4, 3, 2], 0.0);
    let list = list(&config, 200, &[1, 2, 5, 8], true, 100.0);
    let outcome = run(&config, &list, &[2, 3], 2);
    check(&list, &outcome);
    assert_eq!(outcome.errors, LinkErrors::default());
    // FNV-1a over all deliveries, as computed by the fabric without links with errors.
    let digest = outcome
        .delivered
        .iter()
        .flat_map(|d| [d.0, d.1.into(), d.2])
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, word| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3));
    assert_eq!((outcome.end, digest), GOLDEN);
    // The protocol's times have no effect then.
    (config.link.retransmit_timeout_ticks, config.link.ack_only_after_ticks) = (1, 1);
    assert_eq!(run(&config, &list, &[], 1).delivered, outcome.delivered);
}

#[test]
fn packets_are_corrupted_and_sent_again_as_often_as_expected() {
    for rate in [1e-5, 1e-4] {
        let config = bluegene(&[4, 4, 4], rate);
        let list = list(&config, 150, &[8], false, 600.0);
        let outcome = run(&config, &list, &[], 2);
        check(&list, &outcome);
        // A packet of 260 B gets through with probability p, so it is corrupted (1 - p) / p times on each
        // link; once in 2080 / 64 times so early that no ghost of it continues.
        let p = (1.0 - rate).powi(8 * 260);
        let expected = outcome.grants as f64 * (1.0 - p) / p;
        let e = &outcome.errors;
        println!("{rate:e}: {} grants, {expected} expected, {e:?}", outcome.grants);
        assert!((e.corrupted as f64 / expected - 1.0).abs() < 4.0 / expected.sqrt());
        let ghosts = e.corrupted as f64 * ((1.0 - rate).powi(64) - p) / (1.0 - p);
        assert!((e.ghosts as f64 / ghosts - 1.0).abs() < 0.05, "{ghosts} ghosts expected");
    }
}

#[test]
fn throughput_falls_with_the_rate() {
    let ends: Vec<u64> = [0.0, 1e-6, 1e-5, 1e-4]
        .iter()
        .map(|&rate| {
            let config = bluegene(&[4, 4, 4], rate);
            let list = list(&config, 200, &[8], false, 0.0);
            let outcome = run(&config, &list, &[], 2);
            check(&list, &outcome);
            outcome.end
        })
        .collect();
    println!("{ends:?}");
    assert!(ends.windows(2).all(|w| w[0] < w[1]), "{ends:?}");
}

#[test]
fn a_run_ends_where_packets_rarely_get_through() {
    let mut config = bluegene(&[3, 2], 2e-3);
    (config.link.retransmit_timeout_ticks, config.link.ack_only_after_ticks) = (1200, 200);
    let list = list(&config, 12, &[1, 4, 8], true, 50.0);
    let outcome = run(&config, &list, &[], 1);
    check(&list, &outcome);
    assert!(outcome.errors.corrupted > 10 * outcome.grants, "{:?}", outcome.errors);
}

/// A broadcast packet is delivered once at each node on its line.
#[test]
fn broadcast_packets_are_copied_once() {
    let config = bluegene(&[7], 1e-4);
    let torus = Torus::new(&config.topology);
    let list: Vec<Packet> = (0..700)
        .map(|i| Packet {
            made: i / 7 * 300,
            source: i as u32 % 7,
            fifo: 0,
            destination: (i as u32 + 3) % 7,
            chunks: 8,
            flags: Header::STATIC | Header::DEPOSIT,
            ..Packet::default()
        })
        .collect();
    let outcome = run(&config, &list, &[2], 2);
    assert!(outcome.errors.corrupted > 100 && outcome.errors.ghosts > 100, "{:?}", outcome.errors);
    let mut found: Vec<(u64, u32)> = outcome.delivered.iter().map(|d| (d.0, d.1)).collect();
    found.sort_unstable();
    let expected: Vec<(u64, u32)> = (0..700u64)
        .flat_map(|i| {
            let mut nodes: Vec<u32> = (1..=3).map(|k| (i as u32 + k) % 7).collect();
            nodes.sort_unstable();
            assert!(nodes.iter().all(|&n| n < torus.nodes()));
            nodes.into_iter().map(move |n| (i, n))
        })
        .collect();
    assert_eq!(found, expected);
}

/// A packet waiting in a VC, with no traffic on the reverse link, is acknowledged separately.
#[test]
fn long_waits_are_acknowledged_without_tokens() {
    let mut config = bluegene(&[8], 1e-7);
    config.link.ack_only_after_ticks = 300;
    // Injected packets go first: packets through node 1 wait there until its own have left, and no traffic
    // flows back.
    config.router.in_network_fraction = 0.0;
    let list: Vec<Packet> = (0..400)
        .map(|i| Packet {
            made: 0,
            source: 1 + i % 3,
            fifo: 0,
            destination: 0,
            chunks: 8,
            flags: Header::STATIC,
            ..Packet::default()
        })
        .collect();
    let outcome = run(&config, &list, &[], 1);
    check(&list, &outcome);
    println!("{:?}", outcome.errors);
    assert!(outcome.errors.ack_only > 0);
}

#[test]
fn a_timeout_shorter_than_the_protocol_needs_is_refused() {
    let mut config = bluegene(&[4], 1e-6);
    config.link.retransmit_timeout_ticks = 2000;
    assert_eq!(config.check().expect_err("too short").key, "link.retransmit_timeout_ticks");
    config.link.ack_only_after_ticks = 1000;
    assert_eq!(config.check(), Ok(()));
}

/// Last delivery and digest of the run above.
const GOLDEN: (u64, u64) = (22713, 7724356358589271934);
