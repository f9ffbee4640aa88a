//! Soft errors in the buffers of Blue Gene/Q's receivers: single bits are corrected and counted, at double
//! ones the receiver stops, and no error has left it (`docs/link-protection.md`, "In runs").

use crate::traffic::crowd::crowd;
use crate::traffic::script::{Packet, ScriptHost};
use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::config::{QueuedConfig, SoftError};
use netloom_fabric::packet::Header;
use netloom_fabric::router::queued::QueuedNetwork;
use netloom_fabric::router::{BuildOptions, LinkErrors, RouterBlock, StoppedUnit};
use netloom_fabric::topology::torus::Torus;

struct Outcome {
    delivered: Vec<(u64, u32, u64)>,
    by_link: Vec<(u32, usize, LinkErrors)>,
    stopped: Vec<StoppedUnit>,
    stalled: bool,
}

fn run(config: &QueuedConfig, list: &[Packet], block: &[u32], threads: usize) -> Outcome {
    let options = BuildOptions { block: block.to_vec(), injection_fifos: 16, ..BuildOptions::default() };
    let mut network = QueuedNetwork::new(config, &options, |n| ScriptHost::new(&config.topology, list, n))
        .expect("buildable");
    assert_eq!(network.run_until(Time::at(1 << 40), threads, &Progress::default()), Reached::Idle);
    let mut delivered: Vec<_> = network.blocks().flat_map(|b| b.host().delivered.clone()).collect();
    delivered.sort_unstable();
    let mut sum = LinkErrors::default();
    network.link_errors().iter().for_each(|l| sum.merge(&l.2));
    assert_eq!(sum, network.errors());
    let (by_link, stopped) = (network.link_errors(), network.stopped());
    Outcome { delivered, by_link, stopped, stalled: network.stall().is_some() }
}

fn corrected(outcome: &Outcome) -> Vec<(u32, usize, u64)> {
    let of = |l: &(u32, usize, LinkErrors)| (l.0, l.1, l.2.soft_corrected);
    outcome.by_link.iter().map(of).filter(|l| l.2 > 0).collect()
}

/// Bit flips at a rate are corrected as often as expected, and cost no time; results do not depend on blocks
/// and threads.
#[test]
fn single_errors_are_corrected_as_often_as_expected() {
    let mut config = QueuedConfig::bluegene_q(&[4, 4, 2]);
    // One packet at a time, so that it stays in each receiver for its own length.
    let list: Vec<Packet> = (0..3000u32)
        .map(|i| Packet {
            made: 20_000 * u64::from(i),
            source: i % 32,
            destination: (i % 32 + 1 + i * 7 % 31) % 32,
            fifo: 1,
            chunks: 17,
            ..Packet::default()
        })
        .collect();
    let whole = run(&config, &list, &[], 1);
    config.router.soft_error_rate = 1e-8;
    let outcome = run(&config, &list, &[], 1);
    assert_eq!((&outcome.delivered, outcome.stopped.len()), (&whole.delivered, 0));
    let torus = Torus::new(&config.topology);
    let hops: u64 = list.iter().map(|p| u64::from(torus.distance(p.source, p.destination))).sum();
    // 69 words of 72 bits for 552 B at four ticks a byte.
    let expected = (hops * 69 * 72 * 2208) as f64 * 1e-8;
    let found = corrected(&outcome).iter().map(|c| c.2).sum::<u64>() as f64;
    println!("{found} of {expected} expected");
    assert!((found - expected).abs() < 4.0 * expected.sqrt());
    let again = run(&config, &list, &[2, 1, 2], 2);
    assert_eq!((again.delivered, again.by_link), (outcome.delivered, outcome.by_link));
}

fn named(node: &[u32], direction: &str, packet: u64, bits: u32) -> SoftError {
    SoftError { node: node.into(), direction: direction.into(), packet, bits }
}

/// Ten packets along a line, and ten in the other direction.
fn line() -> (QueuedConfig, Vec<Packet>) {
    let mut config = QueuedConfig::bluegene_q(&[4, 2]);
    config.topology.wrap = vec![false, true];
    let packet = |i: u64, source, destination| Packet {
        made: 10_000 * i,
        source,
        destination,
        fifo: 0,
        chunks: 9,
        flags: Header::STATIC,
        ..Packet::default()
    };
    let list = (0..10).map(|i| packet(i, 0, 3)).chain((0..10).map(|i| packet(i, 7, 4))).collect();
    (config, list)
}

#[test]
fn a_named_single_error_is_corrected_where_it_is() {
    let (mut config, list) = line();
    let whole = run(&config, &list, &[], 1);
    config.router.soft_errors = vec![named(&[1, 0], "-x", 4, 1), named(&[1, 0], "-x", 11, 1)];
    let outcome = run(&config, &list, &[2], 2);
    assert_eq!(outcome.delivered, whole.delivered);
    // The receiver has read ten packets.
    assert_eq!(corrected(&outcome), [(1, 1, 1)]);
    assert_eq!((outcome.stopped, outcome.stalled), (vec![], false));
}

#[test]
fn a_double_error_stops_the_receiver_before_anything_leaves_it() {
    let (mut config, list) = line();
    let whole = run(&config, &list, &[], 1);
    for (node, at) in [([1, 0], 1), ([3, 0], 3)] {
        config.router.soft_errors = vec![named(&node, "-x", 4, 2)];
        let outcome = run(&config, &list, &[], 1);
        let [stopped] = outcome.stopped[..] else { panic!("{:?}", outcome.stopped) };
        assert_eq!((stopped.node, stopped.port, stopped.vc, stopped.source), (at, 1, 1, 0));
        assert!(
            stopped.at > Time::at(list[3].made) && stopped.at < Time::at(list[4].made) && outcome.stalled
        );
        // Three packets before it, and all in the other direction, at the same times as without it.
        let expected: Vec<_> = whole.delivered.iter().filter(|d| d.0 < 3 || d.0 >= 10).copied().collect();
        assert_eq!(outcome.delivered, expected);
        let again = run(&config, &list, &[1, 1], 2);
        assert_eq!((again.delivered, again.stopped), (outcome.delivered, outcome.stopped));
    }
}

/// At a rate with two wrong bits in a word, receivers stop; packets are delivered at most once and in order,
/// for any blocks.
#[test]
fn receivers_stop_at_a_high_rate() {
    let mut config = QueuedConfig::bluegene_q(&[3, 2, 2]);
    config.router.soft_error_rate = 2e-7;
    config.link.bit_error_rate = 1e-5;
    let list = crowd(12, 200, 11);
    let outcome = run(&config, &list, &[], 1);
    assert!(!outcome.stopped.is_empty() && outcome.stalled);
    let numbers: Vec<u64> = outcome.delivered.iter().map(|d| d.0).collect();
    assert!(numbers.windows(2).all(|w| w[0] < w[1]) && numbers.len() < list.len());
    assert!(outcome.delivered.iter().all(|&(i, node, _)| list[i as usize].destination == node));
    let again = run(&config, &list, &[2, 1, 1], 2);
    assert_eq!((again.delivered, again.stopped), (outcome.delivered, outcome.stopped));
}

#[test]
fn impossible_places_are_named() {
    let refused = |error: SoftError| {
        let (mut config, _) = line();
        config.router.soft_errors = vec![error];
        config.check().expect_err("impossible").to_string()
    };
    for (error, expected) in [
        (named(&[4, 0], "+x", 1, 1), "expected coordinates inside [4, 2], found [4, 0]"),
        (named(&[0, 0], "x", 1, 1), "expected a direction such as \"+x\" or \"-y\", found \"x\""),
        (named(&[3, 0], "+x", 1, 1), "expected a link that there is, found \"+x\" of [3, 0]"),
        (named(&[0, 0], "+x", 0, 1), "expected a packet from 1, found 0"),
        (named(&[0, 0], "+x", 1, 3), "expected 1 or 2 wrong bits of a word, found 3"),
    ] {
        let found = refused(error);
        assert!(found.starts_with(&format!("router.soft_errors: {expected}")), "{found}");
    }
    let (mut config, _) = line();
    config.router.soft_error_rate = 1.5;
    let found = config.check().expect_err("no rate").to_string();
    assert!(found.starts_with("router.soft_error_rate: expected a probability"), "{found}");
}
