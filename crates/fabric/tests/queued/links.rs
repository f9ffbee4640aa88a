//! Links of Blue Gene/Q's routers with bit errors: whatever the errors, each packet is delivered once and in
//! the order of its flow, and all is idle in the end (`docs/link-protection.md`, "In runs").

use crate::traffic::crowd::crowd;
use crate::traffic::script::{Packet, ScriptHost};
use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::config::{LinkFault, QueuedConfig};
use netloom_fabric::packet::Header;
use netloom_fabric::router::queued::QueuedNetwork;
use netloom_fabric::router::{BuildOptions, LinkErrors, RouterBlock, WindowRecord};
use netloom_fabric::topology::torus::Torus;
use proptest::prelude::*;
use std::collections::HashMap;

fn machine(dims: &[u32], rate: f64) -> QueuedConfig {
    let mut config = QueuedConfig::bluegene_q(dims);
    config.link.bit_error_rate = rate;
    config
}

/// The results of a run: (packet, node, tick) by packet, and the errors.
struct Outcome {
    delivered: Vec<(u64, u32, u64)>,
    errors: LinkErrors,
    by_link: Vec<(u32, usize, LinkErrors)>,
    crc_mismatches: Vec<(u32, usize, bool)>,
    /// Data packets put on links, in all.
    sent: u64,
    windows: Vec<WindowRecord>,
    end: u64,
}

fn run(config: &QueuedConfig, list: &[Packet], block: &[u32], threads: usize) -> Outcome {
    let options = BuildOptions { block: block.to_vec(), injection_fifos: 16, ..BuildOptions::default() };
    let mut network = QueuedNetwork::new(config, &options, |n| ScriptHost::new(&config.topology, list, n))
        .expect("buildable");
    assert_eq!(network.run_until(Time::at(1 << 40), threads, &Progress::default()), Reached::Idle);
    assert_eq!((network.stall(), network.in_flight()), (None, 0));
    assert_eq!(network.unrest(), Vec::<String>::new());
    assert_eq!(network.blocks().map(|b| b.packets()).sum::<usize>(), 0, "a packet's record was left behind");
    let mut delivered: Vec<_> = network.blocks().flat_map(|b| b.host().delivered.clone()).collect();
    delivered.sort_unstable();
    let (errors, by_link) = (network.errors(), network.link_errors());
    let mut sum = LinkErrors::default();
    by_link.iter().for_each(|l| sum.merge(&l.2));
    assert_eq!(sum, errors);
    let crc_mismatches = network.crc_mismatches();
    let sent = network.links().iter().map(|l| l.2.packets).sum();
    let end = delivered.iter().map(|d| d.2).max().unwrap_or(0);
    Outcome { delivered, errors, by_link, crc_mismatches, sent, windows: network.windows(), end }
}

/// Total links of all packets, without retransmissions.
fn hops(config: &QueuedConfig, list: &[Packet]) -> u64 {
    let torus = Torus::new(&config.topology);
    list.iter().map(|p| u64::from(torus.distance(p.source, p.destination))).sum()
}

/// Each packet once, at the right node; those on fixed routes in order; counters consistent.
fn check(config: &QueuedConfig, list: &[Packet], outcome: &Outcome) {
    assert_eq!(outcome.delivered.len(), list.len());
    let mut last: HashMap<_, u64> = HashMap::new();
    for (i, (p, &(number, node, at))) in list.iter().zip(&outcome.delivered).enumerate() {
        assert_eq!((number, node), (i as u64, p.destination));
        if p.flags != 0 || p.system {
            let before = last.insert((p.source, node, p.flags, p.system), at);
            assert!(before.is_none_or(|b| b < at), "packet {i} {p:?} at {at} overtook one at {before:?}");
        }
    }
    assert_eq!(outcome.crc_mismatches, vec![]);
    let e = &outcome.errors;
    // Each transmission gets through, is corrupted or is rejected; in the end every packet has got through
    // once, including invalid ones.
    assert_eq!(e.retransmitted, e.corrupted + e.refused);
    assert_eq!(outcome.sent, hops(config, list) + e.ran_on + e.retransmitted);
    assert_eq!(e.ghosts, e.corrupted - e.bad_headers);
}

fn machines() -> impl Strategy<Value = QueuedConfig> {
    let dimensions = proptest::collection::vec((1u32..=4, any::<bool>()), 1..=5);
    let few = |shape: &Vec<(u32, bool)>| (2..=48).contains(&shape.iter().map(|d| d.0).product::<u32>());
    let router = (1u32..=7, 17u32..=126, 2u32..=7, 1u32..=4);
    let link = (
        proptest::sample::select(vec![1e-6, 1e-5, 1e-4, 5e-4]),
        proptest::sample::select(vec![(16_000, 2048), (10_000, 100), (9_700, 1)]),
        any::<bool>(),
    );
    (dimensions.prop_filter("small", few), router, link).prop_map(|(shape, r, link)| {
        let mut config = machine(&shape.iter().map(|d| d.0).collect::<Vec<_>>(), link.0);
        config.topology.wrap = shape.iter().map(|d| d.1).collect();
        let router = &mut config.router;
        (router.queues, router.dynamic_vc_B, router.slots, router.paths) = (r.0, 32 * r.1, r.2, r.3);
        (config.link.retransmit_timeout_ticks, config.link.ack_only_after_ticks) = link.1;
        if link.2 {
            (config.link.trace_ticks, config.link.link_chip_ticks) = (vec![], 0);
        }
        config
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_doubled_or_reordered(
        config in machines(),
        each in 1u32..80,
        seed in any::<u64>(),
        block in proptest::collection::vec(1u32..=3, 5),
    ) {
        config.check().expect("only machines that can be built");
        let list = crowd(config.topology.dims.iter().product(), each, seed);
        let outcome = run(&config, &list, &[4; 5], 1);
        check(&config, &list, &outcome);
        let again = run(&config, &list, &block, 2);
        prop_assert!(again.delivered == outcome.delivered, "blocks of {:?}", block);
        prop_assert!(again.by_link == outcome.by_link && again.windows == outcome.windows);
    }
}

/// A run without errors is the same to the tick whatever the protocol's times, and counts nothing.
#[test]
fn links_without_errors_know_nothing_of_them() {
    let mut config = machine(&[4, 2, 2, 1, 2], 0.0);
    let list = crowd(32, 60, 3);
    let outcome = run(&config, &list, &[], 1);
    check(&config, &list, &outcome);
    assert_eq!(outcome.errors, LinkErrors::default());
    (config.link.retransmit_timeout_ticks, config.link.ack_only_after_ticks) = (1, 1);
    assert_eq!(run(&config, &list, &[], 1).delivered, outcome.delivered);
}

/// Full packets of all classes over all links, many of them.
fn many(nodes: u32, each: u64) -> Vec<Packet> {
    let of = |source: u32| {
        (0..each).map(move |i| Packet {
            made: 3000 * i,
            source,
            fifo: [1 + i as usize % 9, 3, 0, 12][(i % 4) as usize],
            destination: (source + 1 + (i as u32 * 7 + source) % (nodes - 1)) % nodes,
            chunks: 17,
            flags: [0, 0, Header::STATIC, Header::HIGH][(i % 4) as usize],
            ..Packet::default()
        })
    };
    (0..nodes).flat_map(of).collect()
}

#[test]
fn packets_are_corrupted_and_sent_again_as_often_as_expected() {
    for rate in [1e-5, 1e-4] {
        let config = machine(&[4, 4, 2, 2, 2], rate);
        let list = many(128, 150);
        let outcome = run(&config, &list, &[], 2);
        check(&config, &list, &outcome);
        // A packet of 552 B gets through with probability p, so it is corrupted (1 - p) / p times on each
        // link; in its header of 12 B as often as one of 96 bits is.
        let p = (1.0 - rate).powi(8 * 552);
        let e = &outcome.errors;
        let crossed = (hops(&config, &list) + e.ran_on) as f64;
        let expected = crossed * (1.0 - p) / p;
        println!("{rate:e}: {crossed} crossed, {expected:.0} expected, {e:?}");
        assert!((e.corrupted as f64 / expected - 1.0).abs() < 4.0 / expected.sqrt());
        let headers = e.corrupted as f64 * (1.0 - (1.0 - rate).powi(96)) / (1.0 - p);
        assert!((e.bad_headers as f64 - headers).abs() < 4.0 * headers.sqrt(), "{headers} expected");
    }
}

#[test]
fn throughput_falls_with_the_rate() {
    let ends: Vec<u64> = [0.0, 1e-6, 1e-5, 1e-4]
        .iter()
        .map(|&rate| {
            let config = machine(&[4, 4, 2, 2], rate);
            let mut list = many(64, 200);
            list.iter_mut().for_each(|p| p.made = 0);
            let outcome = run(&config, &list, &[], 2);
            check(&config, &list, &outcome);
            outcome.end
        })
        .collect();
    println!("{ends:?}");
    assert!(ends.windows(2).all(|w| w[0] < w[1]), "{ends:?}");
}

#[test]
fn a_run_ends_where_packets_rarely_get_through() {
    let mut config = machine(&[3, 2], 1e-3);
    config.link.ack_only_after_ticks = 200;
    let list = crowd(6, 12, 5);
    let outcome = run(&config, &list, &[], 1);
    check(&config, &list, &outcome);
    assert!(outcome.errors.corrupted > 10 * hops(&config, &list), "{:?}", outcome.errors);
}

/// A packet that is lost once arrives a timeout and its own length later.
#[test]
fn a_lost_packet_comes_after_the_timeout() {
    let mut config = machine(&[2], 2e-5);
    (config.link.trace_ticks, config.link.link_chip_ticks) = (vec![], 0);
    let (wire, spacing) = (4 * 552, 200_000);
    let list: Vec<Packet> = (0..400)
        .map(|i| Packet { made: spacing * i, destination: 1, chunks: 17, fifo: 1, ..Packet::default() })
        .collect();
    let outcome = run(&config, &list, &[], 1);
    check(&config, &list, &outcome);
    let late = |d: &&(u64, u32, u64)| (d.2 - spacing * d.0) % (16_000 + wire) == 320 + wire;
    let times = |d: &(u64, u32, u64)| (d.2 - spacing * d.0) / (16_000 + wire);
    // An acknowledgement before the retransmitted packet delays it by its length.
    assert!(outcome.delivered.iter().filter(late).count() > 390);
    assert_eq!(outcome.delivered.iter().map(times).sum::<u64>(), outcome.errors.retransmitted);
    assert!(outcome.errors.retransmitted > 20 && outcome.errors.refused == 0, "{:?}", outcome.errors);
}

/// A packet broadcast along a line is delivered once at each node on it.
#[test]
fn broadcast_packets_are_copied_once() {
    let mut config = machine(&[7], 1e-4);
    config.topology.wrap = vec![true];
    let list: Vec<Packet> = (0..700)
        .map(|i| Packet {
            made: i / 7 * 3000,
            source: i as u32 % 7,
            destination: (i as u32 + 3) % 7,
            chunks: 17,
            flags: Header::STATIC | Header::DEPOSIT,
            ..Packet::default()
        })
        .collect();
    let outcome = run(&config, &list, &[2], 2);
    assert!(outcome.errors.corrupted > 100 && outcome.errors.ghosts > 100, "{:?}", outcome.errors);
    let found: Vec<(u64, u32)> = outcome.delivered.iter().map(|d| (d.0, d.1)).collect();
    let mut expected: Vec<(u64, u32)> =
        (0..700u64).flat_map(|i| (1..=3).map(move |k| (i, (i as u32 + k) % 7))).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn a_timeout_shorter_than_the_protocol_needs_is_refused() {
    let mut config = machine(&[4], 1e-6);
    config.link.retransmit_timeout_ticks = 8192;
    let refused = config.check().expect_err("too short").to_string();
    assert!(refused.starts_with("link.retransmit_timeout_ticks: expected at least 11712"), "{refused}");
    config.link.ack_only_after_ticks = 300;
    config.link.link_chip_ticks = 0;
    assert_eq!(config.check(), Ok(()));
}

fn fault(node: &[u32], direction: &str) -> LinkFault {
    LinkFault { node: node.into(), direction: direction.into(), ..LinkFault::default() }
}

/// An error is detected where it is configured and nowhere else, and a machine without other errors behaves
/// like an error-free one wherever no packet is lost.
#[test]
fn a_named_link_is_the_only_one_that_corrupts() {
    let mut config = machine(&[4, 2, 2], 0.0);
    config.link.faults = vec![LinkFault { bit_error_rate: Some(1e-4), ..fault(&[1, 1, 0], "-x") }];
    let list = many(16, 200);
    let outcome = run(&config, &list, &[2, 2, 1], 2);
    check(&config, &list, &outcome);
    assert_eq!(outcome.delivered, run(&config, &list, &[], 1).delivered);
    let torus = Torus::new(&config.topology);
    let (sender, receiver) = (torus.node([1, 1, 0, 0, 0]), torus.node([0, 1, 0, 0, 0]));
    assert!(outcome.errors.corrupted > 40, "{:?}", outcome.errors);
    for (node, port, e) in &outcome.by_link {
        let at_fault = (*node, *port) == (sender, 1);
        assert_eq!(
            at_fault,
            e.corrupted > 0 || e.retransmitted > 0 || e.acks_lost > 0,
            "{node} {port} {e:?}"
        );
        // Separate acknowledgements are needed only for packets that may be retransmitted.
        assert!(e.ack_only == 0 || (*node, *port) == (receiver, 0), "{node} {port} {e:?}");
    }
    // A rate of its own may also be none.
    config.link.bit_error_rate = 1e-4;
    config.link.faults[0].bit_error_rate = Some(0.0);
    let outcome = run(&config, &list, &[], 1);
    check(&config, &list, &outcome);
    let without: Vec<_> = outcome.by_link.iter().filter(|l| l.2.corrupted == 0).map(|l| (l.0, l.1)).collect();
    assert_eq!(without, [(sender, 1)]);
}

/// Links that leave a midplane use fibres: their bit errors are corrected, counted by fibre, and cost no
/// time.
#[test]
fn single_errors_on_fibres_are_corrected() {
    let list = many(32, 100);
    let mut config = machine(&[8, 2, 2], 0.0);
    let whole = run(&config, &list, &[], 1);
    config.link.fibre_error_rate = 1e-5;
    config.link.faults =
        vec![LinkFault { fibre: Some(2), fibre_error_rate: Some(1e-3), ..fault(&[3, 0, 1], "+x") }];
    let outcome = run(&config, &list, &[], 1);
    check(&config, &list, &outcome);
    let torus = Torus::new(&config.topology);
    let mut of_named = 0;
    for (node, port, e) in &outcome.by_link {
        let x = torus.coordinates(*node)[0];
        let leaves = matches!((x, port), (3 | 7, 0) | (0 | 4, 1));
        let all_right = e.fibre_errors == [0; 5] && e.corrupted + e.words_corrected == 0;
        assert!(leaves || all_right, "{node} {port} {e:?}");
        if (*node, *port) == (torus.node([3, 0, 1, 0, 0]), 0) {
            of_named = e.fibre_errors[2];
            assert_eq!(e.fibre_errors.iter().max(), Some(&of_named));
        }
    }
    let e = &outcome.errors;
    let all: u64 = e.fibre_errors.iter().sum();
    println!("{e:?}");
    assert!(of_named > 100 && all > of_named && e.fibres_replaced == 0);
    // Uncorrected ones shared their word with another.
    assert!(e.words_corrected <= all && e.words_corrected as f64 > 0.97 * all as f64);
    // A retransmitted packet takes a timeout; a corrected one takes no longer than an intact one.
    let mean = |outcome: &Outcome| outcome.windows.iter().map(|w| w.latency).sum::<u64>() as f64;
    assert!(mean(&outcome) < 1.02 * mean(&whole) + 2.0 * 20_000.0 * e.retransmitted as f64);
}

/// A bad fibre is replaced by the spare at the threshold; before that packets with two errors in a word are
/// retransmitted.
#[test]
fn a_bad_fibre_is_replaced_by_the_spare() {
    let mut config = machine(&[8, 2], 0.0);
    config.link.fibre_errors_max = Some(500);
    let of =
        |fibre, rate| LinkFault { fibre: Some(fibre), fibre_error_rate: Some(rate), ..fault(&[4, 1], "-x") };
    config.link.faults = vec![of(1, 5e-3), of(4, 1e-4)];
    let list = many(16, 400);
    let outcome = run(&config, &list, &[], 1);
    check(&config, &list, &outcome);
    let e = &outcome.errors;
    println!("{e:?}");
    assert_eq!(e.fibres_replaced, 1);
    // The transmission in which the threshold was exceeded ends on the old fibre.
    assert!((501..520).contains(&e.fibre_errors[1]), "{e:?}");
    assert!(e.words_corrected > 400 && e.corrupted > 0 && e.retransmitted >= e.corrupted, "{e:?}");
    // Each error of the spare corrupts a packet from then on.
    assert!(e.corrupted + e.acks_lost > e.fibre_errors[4] / 2 && e.fibre_errors[4] > 20, "{e:?}");
}

/// An undetected error makes the CRCs of its link differ, and of no other: for user or system packets.
#[test]
fn an_escape_is_seen_by_the_crcs_at_the_end() {
    for system in [false, true] {
        let mut config = machine(&[4, 2], 0.0);
        config.link.faults = vec![LinkFault { escape: Some(3), ..fault(&[2, 1], "+x") }];
        let torus = Torus::new(&config.topology);
        let [from, over, to] = [[1, 1], [2, 1], [3, 1]].map(|[x, y]| torus.node([x, y, 0, 0, 0]));
        let packet = |i: u64| Packet {
            made: 5000 * i,
            source: from,
            destination: to,
            fifo: if system { 13 } else { 0 },
            chunks: 5,
            system,
            ..Packet::default()
        };
        let list: Vec<Packet> = (0..10).map(packet).collect();
        let outcome = run(&config, &list, &[2, 2], 2);
        assert_eq!(outcome.delivered.len(), 10);
        assert_eq!(outcome.crc_mismatches, [(over, 0, system)]);
        assert_eq!(run(&config, &list[..2], &[], 1).crc_mismatches, vec![]);
    }
}

#[test]
fn impossible_faults_are_named() {
    let refused = |fault: LinkFault| {
        let mut config = machine(&[8, 4, 2], 0.0);
        config.topology.wrap = vec![true, false, true];
        config.link.faults = vec![fault];
        config.check().expect_err("impossible").to_string()
    };
    let rate = |node: &[u32], direction| LinkFault { bit_error_rate: Some(1e-6), ..fault(node, direction) };
    let fibre = |node: &[u32], direction, number| LinkFault {
        fibre: Some(number),
        fibre_error_rate: Some(1e-6),
        ..fault(node, direction)
    };
    for (fault, expected) in [
        (rate(&[8, 0, 0], "+x"), "expected coordinates inside [8, 4, 2], found [8, 0, 0]"),
        (rate(&[0, 0], "+x"), "expected coordinates inside [8, 4, 2], found [0, 0]"),
        (rate(&[0, 0, 0], "x+"), "expected a direction such as \"+x\" or \"-y\", found \"x+\""),
        (rate(&[0, 0, 0], "+u"), "expected a direction such as \"+x\" or \"-y\", found \"+u\""),
        (rate(&[1, 3, 0], "+y"), "expected a link that there is, found \"+y\" of [1, 3, 0]"),
        (
            LinkFault { bit_error_rate: Some(1.0), ..fault(&[0, 0, 0], "+x") },
            "expected a probability, 0 up to but not 1, found 1",
        ),
        (
            fault(&[0, 0, 0], "+x"),
            "expected bit_error_rate, fibre with fibre_error_rate, or escape, found none",
        ),
        (
            fibre(&[2, 0, 0], "+x", 0),
            "expected a link that leaves a midplane (link.midplane = [4, 4, 4, 4, 2])",
        ),
        (fibre(&[3, 0, 0], "+x", 5), "expected fibre 0 to 3, or 4 for the spare, found 5"),
        (
            LinkFault { fibre: Some(1), ..rate(&[3, 0, 0], "+x") },
            "expected fibre and fibre_error_rate together, found one at \"+x\" of [3, 0, 0]",
        ),
    ] {
        let found = refused(fault);
        assert!(found.starts_with(&format!("link.faults: {expected}")), "{found}");
    }
    let mut config = machine(&[8], 0.0);
    config.link.faults = vec![fibre(&[3], "+x", 1), fibre(&[3], "+x", 2), fibre(&[3], "+x", 1)];
    let found = config.check().expect_err("twice").to_string();
    assert_eq!(found, "link.faults: expected each once, found fibre 1 again at \"+x\" of [3]");
}
