//! The routes of packets: of the right length, in order, and with all tokens back at the end.

use crate::reference::packet::{Packet, PacketSpec, Routing};
use crate::reference::random::Random;
use crate::reference::rules::Rules;
use crate::reference::{FIFOS_NORMAL, Reference, workload};
use crate::{bluegene, figures::occupancy, mesh, saturated};
use netloom_fabric::config::{DirectionChoice, Escape, EscapeOrder, HalfwayTie, Router, TorusConfig};
use std::collections::HashMap;

/// A packet of any size, routing and priority, and a FIFO for it.
fn any_packet(reference: &Reference, node: usize, random: &mut Random) -> (usize, PacketSpec) {
    let mut spec = workload::full(workload::other(reference.nodes.len(), node, random), reference.now);
    spec.chunks = 1 + random.below(8) as u32;
    spec.routing = if random.chance(0.5) { Routing::Dynamic } else { Routing::Static };
    spec.high_priority = random.chance(0.1);
    (if spec.high_priority { FIFOS_NORMAL + random.below(2) } else { random.below(FIFOS_NORMAL) }, spec)
}

/// Links between two nodes, computed independently.
fn distance(config: &TorusConfig, mut a: usize, mut b: usize) -> usize {
    let mut sum = 0;
    for (d, &k) in config.topology.dims.iter().enumerate() {
        let k = k as usize;
        let apart = (a % k).abs_diff(b % k);
        sum += if config.topology.wraps(d) { apart.min(k - apart) } else { apart };
        (a, b) = (a / k, b / k);
    }
    sum
}

/// Follows a delivered packet along its hops and checks what holds for every packet.
fn check_route(config: &TorusConfig, rules: &Rules, packet: &Packet) {
    let mut at = packet.source;
    let mut crossed = [false; 5];
    let mut ready = packet.spec.made_at;
    for hop in &packet.hops {
        assert_eq!(hop.node, at, "a packet leaves from where it is");
        assert!(hop.granted_at >= ready, "granted before it was there");
        ready = hop.granted_at + 17;
        let d = hop.port / 2;
        let stride: usize = config.topology.dims[..d].iter().map(|&k| k as usize).product();
        let k = config.topology.dims[d] as usize;
        let x = at / stride % k;
        let next = (x + if hop.port % 2 == 0 { 1 } else { k - 1 }) % k;
        crossed[d] |= config.topology.wraps(d)
            && x.abs_diff(next) == k - 1
            && (k > 2 || (hop.port % 2 == 0) == (x == 1));
        at = at - x * stride + next * stride;
        let normal = !packet.spec.high_priority;
        assert_eq!(hop.vc == rules.high_vc(), !normal);
        assert!(normal && packet.spec.routing == Routing::Dynamic || hop.vc >= rules.dynamic_vcs);
        if config.router.escape == Escape::Dateline && rules.is_escape(hop.vc) {
            assert_eq!(
                hop.vc - rules.dynamic_vcs,
                usize::from(crossed[d]),
                "the VC of the dateline's other side"
            );
        }
    }
    assert_eq!(at, packet.spec.destination);
    assert_eq!(packet.hops.len(), distance(config, packet.source, at), "the route is as short as can be");
    let delivered_at = packet.delivered_at.expect("all packets are delivered");
    assert!(delivered_at >= ready + rules.data_ticks(packet.spec.chunks));
    if packet.spec.routing == Routing::Static || packet.spec.high_priority {
        let order = |port: usize| match config.router.escape_order {
            EscapeOrder::Dimension => port / 2,
            EscapeOrder::Direction => port % 2 * 5 + port / 2,
        };
        assert!(packet.hops.is_sorted_by_key(|hop| order(hop.port)), "a static packet keeps the order");
    }
}

/// Static packets of the same pair, FIFO and VC arrive as they were injected.
fn check_order(reference: &Reference) {
    let mut last = HashMap::new();
    for &number in &reference.deliveries {
        let Packet { source, fifo, spec, .. } = &reference.packets[number];
        if spec.routing == Routing::Static || spec.high_priority {
            let before = last.insert((*source, *fifo, spec.destination), number);
            assert!(before.is_none_or(|before| before < number), "static packets overtook each other");
        }
    }
}

#[test]
fn a_lone_packet_takes_17_ticks_a_hop_and_its_length() {
    let mut no_bypass = TorusConfig::bluegene_l(&[4, 3, 5]);
    no_bypass.router.bypass = false;
    let mut dateline = no_bypass.clone();
    dateline.router.escape = Escape::Dateline;
    let configs = [
        TorusConfig::bluegene_l(&[8, 4, 2]),
        TorusConfig::bluegene_l(&[16]),
        TorusConfig::bluegene_l(&[2, 1, 3]),
        TorusConfig::bluegene_l(&[2, 2, 2, 2, 2]),
        mesh(&[5, 4]),
        no_bypass,
        dateline,
    ];
    for config in configs {
        let mut reference = Reference::new(&config, 1);
        let mut random = Random::new(2);
        for _ in 0..200 {
            let node = random.below(config.nodes());
            let (fifo, mut spec) = any_packet(&reference, node, &mut random);
            spec.made_at += random.below(20) as u64;
            let number = reference.inject(node, fifo, spec);
            assert!(reference.run_until_drained(10_000));
            let hops = distance(&config, node, spec.destination) as u64;
            let expected = 17 * hops + 32 * u64::from(spec.chunks) + 4;
            assert_eq!(reference.packets[number].latency(), Some(expected), "{config:?}, {node}, {spec:?}");
        }
    }
}

#[test]
fn whatever_goes_in_comes_out_and_all_tokens_return() {
    let changes: [fn(&mut Router); 6] = [
        |_| (),
        |r| r.escape = Escape::Dateline,
        |r| (r.escape_order, r.bypass) = (EscapeOrder::Direction, false),
        |r| (r.escape, r.escape_order) = (Escape::Dateline, EscapeOrder::Direction),
        |r| (r.paths, r.dynamic_vcs, r.vc_B, r.arbitration_gap) = (1, 1, 512, true),
        |r| (r.in_network_fraction, r.dynamic_vcs, r.direction_choice) = (0.2, 4, DirectionChoice::Random),
    ];
    let shapes = [
        TorusConfig::bluegene_l(&[2, 1, 3]),
        mesh(&[4, 4]),
        TorusConfig::bluegene_l(&[2, 2, 2, 2, 2]),
        TorusConfig::bluegene_l(&[7]),
        TorusConfig::bluegene_l(&[4, 3, 5]),
        TorusConfig { topology: mesh(&[3, 1, 4]).topology, ..TorusConfig::bluegene_l(&[1]) },
    ];
    for (c, change) in changes.iter().enumerate() {
        for (s, shape) in shapes.iter().enumerate() {
            let mut config = shape.clone();
            change(&mut config.router);
            if s == 5 {
                config.topology.wrap[2] = true;
            }
            let mut reference = Reference::new(&config, 100 + s as u64);
            let mut random = Random::new(200 + c as u64);
            for tick in 0..5_000 {
                for node in 0..config.nodes() {
                    if random.chance(0.015) {
                        let (fifo, spec) = any_packet(&reference, node, &mut random);
                        reference.inject(node, fifo, spec);
                    }
                }
                reference.step();
                if tick % 7 == 0 {
                    reference.check_tokens();
                }
            }
            assert!(reference.undelivered() > 0, "the load is too light to show anything");
            let drained = reference.run_until_drained(200_000);
            assert!(
                drained,
                "{c}, {s}: {} left, last grant at {}",
                reference.undelivered(),
                reference.granted_at
            );
            assert!(reference.at_rest());
            assert_eq!(reference.deliveries.len(), reference.packets.len());
            for packet in &reference.packets {
                check_route(&config, &reference.rules, packet);
            }
            check_order(&reference);
            let busy = |kind: usize| reference.statistics.busy.iter().flatten().map(|b| b[kind]).sum::<u64>();
            let wire: u64 = reference
                .packets
                .iter()
                .map(|p| p.hops.len() as u64 * (32 * u64::from(p.spec.chunks) + 4))
                .sum();
            assert_eq!(busy(0), wire, "every hop of every packet was on a link for its length");
            assert!(busy(1).is_multiple_of(12) && busy(1) > 0);
        }
    }
}

#[test]
fn half_way_round_a_ring_parity_decides() {
    let first = |tie: HalfwayTie, from: usize| {
        let mut reference = Reference::new(&bluegene(&[4, 4], |r| r.halfway_tie = tie), 1);
        let packet = reference.inject(from, 0, workload::full((from + 2) % 4 + from / 4 * 4, 0));
        reference.step();
        reference.packets[packet].hops[0].port
    };
    assert_eq!([0, 1, 2, 3, 4, 5].map(|from| first(HalfwayTie::Parity, from)), [0, 1, 0, 1, 1, 0]);
    assert_eq!([0, 1, 2, 3, 4, 5].map(|from| first(HalfwayTie::Plus, from)), [0; 6]);
}

#[test]
fn one_stream_fills_a_link() {
    for routing in [Routing::Static, Routing::Dynamic] {
        let mut reference = Reference::new(&TorusConfig::bluegene_l(&[4]), 1);
        for _ in 0..100 {
            reference.inject(0, 0, PacketSpec { routing, ..workload::full(1, 0) });
        }
        assert!(reference.run_until_drained(100_000));
        let ends = reference.deliveries.iter().map(|&n| reference.packets[n].delivered_at.unwrap());
        assert_eq!(ends.collect::<Vec<_>>(), (0..100).map(|n| 17 + 260 * (n + 1)).collect::<Vec<_>>());
    }
}

#[test]
fn tokens_return_before_data_and_take_25_ticks() {
    // A packet from node 0 is delivered at node 1 at 277, and its tokens are due; node 1 makes a packet about
    // then.
    for (made_at, starts, counted) in
        [(900, 900, 277 + 25), (276, 276, 276 + 260 + 25), (277, 289, 302), (284, 289, 302), (289, 289, 302)]
    {
        let mut reference = Reference::new(&TorusConfig::bluegene_l(&[4]), 1);
        reference.inject(0, 0, workload::full(1, 0));
        let back = reference.inject(1, 0, workload::full(0, made_at));
        reference.step();
        let sum = |reference: &Reference| reference.nodes[0].ports[0].sender.tokens.iter().sum::<u32>();
        let without = sum(&reference);
        while sum(&reference) == without {
            reference.step();
        }
        assert_eq!(reference.now - 1, counted, "made at {made_at}");
        assert!(reference.run_until_drained(10_000));
        assert_eq!(reference.packets[back].hops[0].granted_at, made_at);
        assert_eq!(reference.packets[back].delivered_at, Some(starts + 17 + 260), "made at {made_at}");
    }
}

#[test]
fn both_sides_of_the_dateline_are_used_and_only_there() {
    let config = bluegene(&[4, 6], |r| {
        (r.escape, r.dynamic_vcs, r.vc_B, r.in_network_fraction) = (Escape::Dateline, 1, 512, 0.0);
    });
    let (means, mut reference) = saturated(&config);
    let escapes = &reference.statistics.hops[1..3];
    println!(
        "dateline pair under pressure: chunks {}, hops {escapes:?}",
        occupancy(&means.chunks, &reference.rules)
    );
    assert!(escapes.iter().all(|&hops| hops > 1_000), "too few to show anything");
    assert!(reference.run_until_drained(100_000));
    reference.packets.iter().for_each(|packet| check_route(&config, &reference.rules, packet));
}
