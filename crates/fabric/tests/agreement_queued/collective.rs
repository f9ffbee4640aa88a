//! The same for collective packets. Alone they arrive at the same tick with the same sums, unless the order
//! is random; with others, and with point-to-point traffic, mean link utilization, deliveries of each kind,
//! and latencies of packets in open loop differ by at most 2%.

use crate::agreement_queued::load::{Load, deterministic, dynamic, high, system};
use crate::agreement_queued::mix::{Mix, Setup};
use crate::agreement_queued::models::{
    Arrived, CYCLE, Run, arrived_in_fabric, arrived_in_reference, run_fabric, run_reference,
};
use crate::agreement_queued::trees::{Collectives, Tree, packets, routed, whole};
use crate::agreement_queued::{changed, machine};
use crate::traffic::script::{Packet, carries_a_word};
use netloom_fabric::collective::route::Rectangle;
use netloom_fabric::collective::{Delivers, Operation, RouteKind};
use netloom_fabric::config::{QueuedConfig, QueuedRouter};
use netloom_fabric::topology::torus::Torus;
use std::slice;

const COMMWORLD: RouteKind = RouteKind::UserCommworld;
const SYSTEM: RouteKind = RouteKind::System;
const SUBCOMM: RouteKind = RouteKind::UserSubcomm;

/// Runs both models with these collectives until they are idle: the arrivals in the reference, and in the
/// fabric. Neither loses or duplicates a packet.
fn both(config: &QueuedConfig, collectives: &[Collectives]) -> [Vec<Arrived>; 2] {
    let (list, routed) = (packets(collectives, 1), routed(collectives));
    let mut due = 0;
    for (number, packet) in list.iter().enumerate() {
        let header = packet.collective.expect("all are");
        let tree = collectives
            .iter()
            .find(|c| c.tree.members().contains(&packet.source) && c.tree.class == header.class);
        let members = tree.expect("one of them").tree.members().len();
        let receivers = if matches!(header.delivers, Delivers::Reduce(_)) { 1 } else { members };
        due += if carries_a_word(&header) { number * receivers } else { 0 };
    }
    let run = Run { routed: &routed, ..Run::new(config, &list) };
    let (reference, mut network) = (run_reference(&run).0, run_fabric(&run).0);
    let arrived = [arrived_in_reference(&reference), arrived_in_fabric(&mut network)];
    for arrived in &arrived {
        assert_eq!(arrived.iter().map(|a| a.sum).sum::<u64>(), due as u64, "what was sent and what came");
    }
    arrived
}

/// A line of nodes without a ring.
fn line(nodes: u32) -> QueuedConfig {
    let mut config = machine(&[nodes]);
    config.topology.wrap = vec![false];
    config
}

/// Time of the last arrival.
fn last(arrived: &[Arrived]) -> u64 {
    arrived.iter().map(|a| a.at).max().expect("something came")
}

/// One operation at a time, of all kinds and sizes, in trees over whole machines and boxes in them, with
/// roots in the middle and at corners, and with nodes that only forward packets.
#[test]
fn latency_without_load() {
    let mut wires = machine(&[4, 3, 2, 1, 2]);
    wires.topology.wrap = vec![true, false, true, true, true];
    wires.link.trace_ticks = vec![48, 0, 16, 0, 64];
    (wires.link.midplane, wires.link.link_chip_ticks) = (vec![2, 3, 2, 1, 2], 704);
    let words = [
        (Operation::AddUnsigned, 1),
        (Operation::AddUnsigned, 17),
        (Operation::AddDouble, 1),
        (Operation::AddDouble, 2),
    ];
    // In the middle of the last one eleven inputs meet.
    for config in
        [machine(&[2; 5]), machine(&[4, 2, 2, 1, 1]), machine(&[4, 4]), wires, line(7), machine(&[3; 5])]
    {
        let all = whole(&config);
        let half = Rectangle { high: all.middle(), ..all };
        let at_corner = Tree::rooted(&config, (1, SYSTEM), all, all.high);
        let trees = [
            Tree::whole(&config, 0, COMMWORLD),
            at_corner.among(&config, |node| node % 3 != 1),
            Tree::rooted(&config, (2, SUBCOMM), half, half.low),
        ];
        // For the largest machine the first tree suffices.
        let trees = if all.nodes() > 100 { &trees[..1] } else { &trees };
        for tree in trees {
            for delivers in [Delivers::AllReduce, Delivers::Broadcast, Delivers::Reduce(all.low)] {
                for (operation, chunks) in words {
                    let one = Collectives {
                        operation,
                        delivers,
                        chunks,
                        count: 2,
                        interval: 1200,
                        ..Collectives::new(tree)
                    };
                    let [clocked, fabric] = both(&config, &[one]);
                    let dims = &config.topology.dims;
                    assert_eq!(
                        clocked, fabric,
                        "{dims:?} class {} {delivers:?} {operation:?} {chunks}",
                        tree.class
                    );
                }
            }
        }
    }
}

/// Back-to-back operations, also with few tokens; nodes enter them at the same time, or up to 30 cycles late.
#[test]
fn pipelines() {
    let few = |dims: &[u32]| changed(dims, |r| r.slots = 2);
    for config in [machine(&[2; 5]), few(&[4, 2, 2, 1, 1]), machine(&[4, 4]), few(&[4, 4]), line(7)] {
        let (tree, dims) = (Tree::whole(&config, 3, SUBCOMM), &config.topology.dims);
        for delivers in [Delivers::AllReduce, Delivers::Reduce([0; 5]), Delivers::Broadcast] {
            for operation in [Operation::AddUnsigned, Operation::AddDouble] {
                for (chunks, skew) in [(1, 0), (1, 30), (2, 30), (17, 0), (17, 30)] {
                    let name = format!("{dims:?} {delivers:?} {operation:?} {chunks} {skew}");
                    let run = |count| {
                        let many = Collectives {
                            operation,
                            delivers,
                            chunks,
                            count,
                            skew,
                            ..Collectives::new(&tree)
                        };
                        both(&config, &[many])
                    };
                    let [clocked, fabric] = run(60);
                    if delivers == Delivers::Broadcast {
                        // Where two packets meet, their order is random.
                        let (a, b) = (last(&clocked) as f64, last(&fabric) as f64);
                        assert!(
                            (a - b).abs() <= 0.02 * a && clocked.len() == fabric.len(),
                            "{name}: {a} {b}"
                        );
                        continue;
                    }
                    assert_eq!(clocked, fabric, "{name}");
                    if config.router.slots == 7 && skew == 0 {
                        // 4 B per cycle over the link's 8 B, and the gap.
                        let each = (last(&run(80)[0]) - last(&clocked)) / 20;
                        assert_eq!(each, (u64::from(chunks) * 8 + 2 + 11) * CYCLE, "{name}: up-tree's rate");
                    }
                }
            }
        }
    }
}

/// A tree in each plane, all active at the same time under one number; then, in parallel, the system's in
/// lines across them.
#[test]
fn trees_that_share_no_link() {
    let config = machine(&[4, 4, 3]);
    let tree = |class, low, high, root| Tree::rooted(&config, class, Rectangle { low, high }, root);
    let plane = |z: u8| {
        let tree = tree((5, COMMWORLD), [0, 0, z, 0, 0], [3, 3, z, 0, 0], [z, 1, z, 0, 0]);
        Collectives { chunks: 17 - 7 * u32::from(z), skew: 20, count: 50, ..Collectives::new(&tree) }
    };
    let planes: Vec<_> = (0..3).map(plane).collect();
    let [clocked, fabric] = both(&config, &planes);
    assert_eq!(clocked, fabric);
    let line = |n: u8| {
        let at = |z| [n % 4, n / 4, z, 0, 0];
        let tree = tree((9, SYSTEM), at(0), at(2), at(1));
        Collectives { chunks: 3, skew: 50, interval: 300, count: 100, ..Collectives::new(&tree) }
    };
    let many = planes.into_iter().map(|plane| Collectives { count: 500, ..plane });
    let all: Vec<_> = many.chain((0..16).map(line)).collect();
    Mix::new(&config, &all, &[]).agree("planes and lines");
}

/// Trees over one machine that share links and logic: every second node takes part in each, so that neither
/// waits for the other in a FIFO. Their shares are random, so many turns are needed.
#[test]
fn trees_that_overlap() {
    for (dims, chunks, to) in [([3, 2], [17, 17], 500_000), ([4, 2], [3, 1], 120_000)] {
        let config = machine(&dims);
        let [first, second] = halves(&config, [COMMWORLD, SUBCOMM]).map(|tree| Collectives::new(&tree));
        let both = [(first, chunks[0]), (second, chunks[1])];
        let both = both.map(|(many, chunks)| Collectives { chunks, count: to / 20, ..many });
        let name = format!("commworld and subcommunicator, {chunks:?} chunks");
        Mix { runs: 4, to, ..Mix::new(&config, &both, &[]) }.agree(&name);
    }
}

/// Broadcasts from either end of a line to the other: the up-tree of each is the down-tree of the other,
/// in one VC. How full it is depends on which of them is ahead, so many runs are compared.
#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn broadcasts_against_each_other() {
    let config = line(5);
    let all = whole(&config);
    let both = [(1, all.low), (2, all.high)].map(|(class, root)| {
        let tree = Tree::rooted(&config, (class, SUBCOMM), all, root);
        let tree = tree.among(&config, |node| [0, 4].contains(&node));
        Collectives { delivers: Delivers::Broadcast, ..Collectives::new(&tree) }
    });
    Mix { runs: 96, to: 100_000, ..Mix::new(&config, &both, &[]) }.agree("broadcasts against each other");
}

/// Two trees over a whole machine, with roots at opposite corners, in which nodes alternate: classes 0 and 1.
fn halves(config: &QueuedConfig, kinds: [RouteKind; 2]) -> [Tree; 2] {
    let (all, torus) = (whole(config), Torus::new(&config.topology));
    [(0, all.low), (1, all.high)].map(|(i, root)| {
        let tree = Tree::rooted(config, (i, kinds[usize::from(i)]), all, root);
        tree.among(config, |node| torus.coordinates(node).iter().sum::<u8>() % 2 == i)
    })
}

/// The user's trees saturated, and the system's in parallel: its latency shows its priority.
#[test]
fn the_system_first() {
    let config = machine(&[4, 4, 2]);
    let [collectives, _] = with_the_system(&config);
    Mix::new(&config, &collectives, &[]).agree("system and user");
}

/// The user's trees saturated, and the system's at times; and vice versa.
fn with_the_system(config: &QueuedConfig) -> [[Collectives; 2]; 2] {
    [[SUBCOMM, SYSTEM], [SYSTEM, SUBCOMM]].map(|kinds| {
        let [user, system] = halves(config, kinds).map(|tree| Collectives::new(&tree));
        [user, Collectives { chunks: 5, interval: 400, count: 100, ..system }]
    })
}

/// With point-to-point packets of all classes, below saturation and saturated.
#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn beside_traffic() {
    let kinds = [dynamic(0), deterministic(), high(), system()];
    let mixed = Load::open(0.4, &kinds).of_sizes(&[1, 5, 17]);
    let [normal, urgent] = [Load::saturated(&kinds[..1]), Load::open(0.2, &kinds[2..])];

    let config = machine(&[4, 4, 2]);
    let many = [Collectives::new(&Tree::whole(&config, 0, COMMWORLD))];
    let some = [Collectives { interval: 700, skew: 100, ..many[0].clone() }];
    Mix { runs: 4, ..Mix::new(&config, &some, &[mixed]) }.agree("some beside all classes");
    let doubles = [Collectives { operation: Operation::AddDouble, ..many[0].clone() }];
    let loads = [Load::open(0.3, &kinds[..2])];
    Mix { runs: 4, ..Mix::new(&config, &doubles, &loads) }.agree("doubles beside a third of the load");

    let config = machine(&[2; 5]);
    let many = [Collectives::new(&Tree::whole(&config, 0, COMMWORLD))];
    Mix::new(&config, &many, slice::from_ref(&normal)).agree("many beside as much as goes");
    let short = [Collectives { chunks: 1, ..many[0].clone() }];
    Mix::new(&config, &short, &[normal.clone(), urgent]).agree("short beside priorities and as much as goes");

    let config = machine(&[4, 4]);
    let many = [Collectives { count: 2000, ..Collectives::new(&Tree::whole(&config, 0, COMMWORLD)) }];
    Mix { runs: 4, to: 60_000, ..Mix::new(&config, &many, &[normal]) }
        .agree("many beside as much as goes, 4x4");
}

/// The fabric's nodes start their cycles at events, which with the machine's wire delays are not aligned.
#[test]
fn cycles_that_do_not_begin_together() {
    let [clocked, fabric] = [48, 43].map(|ticks| {
        let mut config = machine(&[4, 4, 2]);
        config.link.trace_ticks = vec![ticks; 3];
        config
    });
    let many = [Collectives::new(&Tree::whole(&clocked, 0, COMMWORLD))];
    let fabric = Setup { config: &fabric, collectives: &many };
    let loads = [Load::open(0.3, &[dynamic(0), high()])];
    Mix { fabric, runs: 4, ..Mix::new(&clocked, &many, &loads) }.agree("traces");
}

/// The comparison detects a difference that only one of the two models has.
#[test]
fn differences_are_seen() {
    type Change = fn(&mut QueuedRouter);
    let dims = [4, 4, 2];
    let clocked = machine(&dims);
    let one = Collectives {
        chunks: 1,
        operation: Operation::AddDouble,
        ..Collectives::new(&Tree::whole(&clocked, 0, COMMWORLD))
    };
    let some = [Collectives { interval: 700, ..one.clone() }];
    let many = [one];
    let changes: [(&str, &[Collectives], Change); 5] = [
        ("twice the gap", &many, |r| r.collective.gap_ticks *= 2),
        ("two tokens", &many, |r| r.slots = 2),
        ("slower logic", &some, |r| r.collective.central_ticks += 16),
        ("slower ALUs", &some, |r| r.collective.combine_ticks += 16),
        ("slower floating-point units", &some, |r| r.collective.float_ticks += 16),
    ];
    let seen =
        |name: &str, mix: Mix| assert!(!mix.differences(name).is_empty(), "{name}: no difference is seen");
    for (name, collectives, change) in changes {
        let config = changed(&dims, change);
        let fabric = Setup { config: &config, collectives };
        seen(name, Mix { fabric, runs: 1, ..Mix::new(&clocked, collectives, &[]) });
    }
    let [first, last] = with_the_system(&clocked);
    let fabric = Setup { config: &clocked, collectives: &last };
    seen("the system last", Mix { fabric, runs: 1, ..Mix::new(&clocked, &first, &[]) });
}

/// A packet is passing through the logic when its link becomes free, and takes it at once.
#[test]
fn a_link_is_taken_as_it_becomes_free() {
    let config = line(3);
    let sums = Collectives {
        chunks: 2,
        count: 1,
        ..Collectives::new(&Tree::rooted(&config, (0, SUBCOMM), whole(&config), [0; 5]))
    };
    let mut list = packets(slice::from_ref(&sums), 1);
    list.push(Packet { source: 1, destination: 0, chunks: 17, ..deterministic() });
    let routed = routed(&[sums]);
    let run = Run { routed: &routed, ..Run::new(&config, &list) };
    let (reference, mut network) = (run_reference(&run).0, run_fabric(&run).0);
    let [clocked, fabric] = [arrived_in_reference(&reference), arrived_in_fabric(&mut network)];
    assert_eq!(clocked, fabric);
    // At the root: after the other packet of 138 cycles and the gap behind it, a hop, up-tree, ALUs and
    // down-tree, and its own 18 cycles.
    assert_eq!(clocked[0].at, (138 + 6 + 20 + 3 + 4 + 3 + 18) * CYCLE);
}
