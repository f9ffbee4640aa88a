//! The tiled router against its clocked model, with the same packets.

mod links;
mod models;
#[path = "../reference_tiled/mod.rs"]
mod reference_tiled;
mod torus;

use models::{Comparison, fabric, reference};
use netloom_fabric::config::{
    Cabling, DragonflyConfig, FatTreeConfig, LinkClass, SwitchedTopology, TiledConfig,
};
use reference_tiled::Spec;

/// A group of fully connected routers, with links of Aries' rate.
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
        link_classes: vec![],
    });
    for class in ["local", "global"] {
        config.link.insert(class.into(), LinkClass { latency_ticks: 50, flit_milliticks: 1111 });
    }
    (config.router.nodes_per_share, config.router.tiles_per_share) = (1, 1);
    config
}

/// Compares three seeds, each of which agrees; where all links send a flit per tick, to the tick except for
/// random order.
fn compare(config: &TiledConfig, each: u32, interval: f64) {
    let is_even = config.link.values().all(|class| class.flit_milliticks == 1000);
    let mut comparison = Comparison::default();
    for seed in 1..=3 {
        comparison.add(config, each, interval, seed);
    }
    comparison.each_within(if is_even { 0.001 } else { 0.02 });
}

#[test]
fn alone_a_packet_takes_the_same_time() {
    // Links of Aries' rate, and one whose flits arrive slower than a router could forward them.
    for (flits, flit_milliticks) in [1, 3, 14].into_iter().flat_map(|flits| [(flits, 1111), (flits, 3000)]) {
        for response in [false, true] {
            let mut config = group(3, 4);
            config.link.values_mut().for_each(|class| class.flit_milliticks = flit_milliticks);
            let spec = Spec { at: 100, from: 0, to: 9, flits, response };
            let (ours, theirs) = (fabric(&config, &[spec], 1), reference(&config, &[spec], 1));
            println!("{flits} flits of {flit_milliticks}: {} and {}", ours.cycles, theirs.cycles);
            // In the reference the last flit arrives in the cycle in which it is sent.
            let later = u64::from(flit_milliticks / 1000 - 1);
            assert_eq!(ours.cycles, theirs.cycles + later, "{flits} flits of {flit_milliticks}");
        }
    }
}

/// Packets with delayed flits hold buses.
#[test]
fn slow_links_hold_up_fast_routers() {
    let mut config = group(3, 4);
    config.link.values_mut().for_each(|class| class.flit_milliticks = 3000);
    let mut comparison = Comparison::default();
    for seed in 1..=6 {
        comparison.add(&config, 100, 120.0, seed);
        comparison.add(&config, 100, 0.0, seed);
    }
    comparison.each_within(0.02);
}

/// A packet behind another in a queue of a sub-switch leaves it after that one's last flit, although the bus
/// to its row is free.
#[test]
fn a_queue_is_read_by_one_bus_at_a_time() {
    let mut config = group(2, 8);
    (config.router.rows, config.router.columns) = (3, 3);
    let spec = |at, from, to, flits| Spec { at, from, to, flits, response: false };
    // Tiles are those of the link and then those of the nodes: 0 and 1 are in the first row, 4 and 7 in the
    // last column, in different rows.
    let script = [spec(100, 1, 4, 14), spec(103, 0, 4, 8), spec(103, 0, 7, 3)];
    let (ours, theirs) = (fabric(&config, &script, 1), reference(&config, &script, 1));
    println!("{:?} and {:?}", ours.arrived, theirs.arrived);
    let is_near = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 1;
    assert!(ours.arrived.iter().zip(&theirs.arrived).all(is_near), "{:?} {:?}", ours.arrived, theirs.arrived);
    // The last waits for the first of another queue, and then for the one before it in its own.
    let alone = fabric(&config, &script[1..], 1).arrived;
    assert!(ours.arrived[2] >= alone[1] + 10, "{:?} alone {alone:?}", ours.arrived);
}

#[test]
fn groups_of_aries_routers_agree() {
    for interval in [30.0, 0.0] {
        compare(&group(4, 4), 250, interval);
    }
    // Every row of the matrix of tiles.
    compare(&group(2, 40), 40, 0.0);
}

#[test]
fn switches_of_a_fat_tree_agree() {
    let mut config = group(2, 1);
    config.topology =
        SwitchedTopology::FatTree(FatTreeConfig { down: vec![4, 4], up: vec![1], link_classes: vec![] });
    config.link.clear();
    config.link.insert("up-1".into(), LinkClass { latency_ticks: 40, flit_milliticks: 1000 });
    // With six tiles, nodes of leaves have tiles that are for links at the switches above.
    for (rows, columns) in [(3, 3), (2, 3)] {
        (config.router.rows, config.router.columns) = (rows, columns);
        for interval in [200.0, 0.0] {
            compare(&config, 120, interval);
        }
    }
}

/// Queues of one packet, at which packets of all sizes wait for space most of the time. If links send a flit
/// per cycle both models agree to the tick except for random order; at Aries' rate single cycles decide the
/// order, and the rest is random: the test is whether one model is slower than the other.
#[test]
fn small_buffers_agree() {
    let mut config = group(4, 4);
    (config.router.subswitch_flits, config.router.column_flits) = (14, 14);
    (config.router.input_flits, config.router.input_reserved_flits) = (160, 20);
    let mut comparison = Comparison::default();
    for seed in 1..=16 {
        comparison.add(&config, 200, 0.0, seed);
    }
    comparison.mean_within(0.01);
    config.link.values_mut().for_each(|class| class.flit_milliticks = 1000);
    let mut comparison = Comparison::default();
    for seed in 1..=4 {
        comparison.add(&config, 200, 0.0, seed);
    }
    comparison.each_within(0.001);
}

/// One packet after the other through queues of one packet: without other packets in between, nothing is
/// random.
#[test]
fn packets_in_a_row_agree() {
    for (stage, input) in [(14, (640, 14)), (28, (640, 14)), (14, (160, 20)), (64, (160, 20))] {
        let mut config = group(2, 4);
        (config.router.subswitch_flits, config.router.column_flits) = (stage, stage);
        (config.router.input_flits, config.router.input_reserved_flits) = input;
        for flits in [1, 3, 8, 12, 14] {
            for to in [3, 4] {
                let script = vec![Spec { at: 0, from: 0, to, flits, response: false }; 100];
                let (ours, theirs) = (fabric(&config, &script, 1), reference(&config, &script, 1));
                println!("{stage} {input:?}, {flits} flits to {to}: {} and {}", ours.cycles, theirs.cycles);
                // Each of 75 packets may differ by a cycle where a link sends nine flits in ten cycles.
                let off = ours.cycles.abs_diff(theirs.cycles);
                assert!(
                    if to == 3 { off == 0 } else { off <= 76 },
                    "{stage} {input:?}, {flits} flits to {to}"
                );
            }
        }
    }
}
