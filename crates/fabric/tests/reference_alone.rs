//! The clocked reference by itself: what would notice a mistake in it before the fabric is compared with it.

mod reference;

use netloom_fabric::config::{
    BubbleRule, DirectionChoice, Escape, EscapeOrder, Router, TorusConfig, VCS_MAX, parse_direction,
};
use reference::packet::{Packet, PacketSpec, Routing};
use reference::random::Random;
use reference::rules::Rules;
use reference::statistics::Means;
use reference::{FIFOS_NORMAL, Reference, workload};

/// BlueGene/L with the given dimensions and some changes to its routers.
fn bluegene(dims: &[u32], change: impl FnOnce(&mut Router)) -> TorusConfig {
    let mut config = TorusConfig::bluegene_l(dims);
    change(&mut config.router);
    config
}

/// The same as a mesh.
fn mesh(dims: &[u32]) -> TorusConfig {
    let mut config = TorusConfig::bluegene_l(dims);
    config.topology.wrap = vec![false; dims.len()];
    config
}

/// A packet of any size, routing and priority, and a FIFO for it.
fn any_packet(reference: &Reference, node: usize, random: &mut Random) -> (usize, PacketSpec) {
    let mut spec = workload::full(workload::other(reference.nodes.len(), node, random), reference.now);
    spec.chunks = 1 + random.below(8) as u32;
    spec.routing = if random.chance(0.5) { Routing::Dynamic } else { Routing::Static };
    spec.high_priority = random.chance(0.1);
    (if spec.high_priority { FIFOS_NORMAL + random.below(2) } else { random.below(FIFOS_NORMAL) }, spec)
}

/// Links between two nodes, by arithmetic of its own.
fn distance(config: &TorusConfig, mut a: usize, mut b: usize) -> usize {
    let mut sum = 0;
    for (d, &k) in config.topology.dims.iter().enumerate() {
        let k = k as usize;
        let apart = (a % k).abs_diff(b % k);
        sum += if config.wraps(d) { apart.min(k - apart) } else { apart };
        (a, b) = (a / k, b / k);
    }
    sum
}

/// Follows a delivered packet along its hops and checks what holds for every packet.
fn check_way(config: &TorusConfig, rules: &Rules, packet: &Packet) {
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
        crossed[d] |=
            config.wraps(d) && x.abs_diff(next) == k - 1 && (k > 2 || (hop.port % 2 == 0) == (x == 1));
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
    assert_eq!(packet.hops.len(), distance(config, packet.source, at), "the way is as short as can be");
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
    let mut last = std::collections::HashMap::new();
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
                check_way(&config, &reference.rules, packet);
            }
            check_order(&reference);
            let busy = |kind: usize| reference.statistics.busy.iter().flatten().map(|b| b[kind]).sum::<u64>();
            let wire: u64 = reference
                .packets
                .iter()
                .map(|p| p.hops.len() as u64 * (32 * u64::from(p.spec.chunks) + 4))
                .sum();
            assert_eq!(busy(0), wire, "every hop of every packet was on a link for its length");
            assert!(busy(1).is_multiple_of(8) && busy(1) > 0);
        }
    }
}

/// Static packets of any size, as many as go, and whether the network came to a standstill before tick 60,000.
fn stalls(config: &TorusConfig, seed: u64) -> (bool, Reference) {
    let mut reference = Reference::new(config, seed);
    let mut random = Random::new(seed + 1);
    let sizes = |spec: &mut PacketSpec, random: &mut Random| {
        spec.chunks = 1 + random.below(8) as u32;
        spec.routing = Routing::Static;
    };
    while reference.now < 60_000 {
        workload::flood(&mut reference, 500, &mut random, sizes);
        if reference.now - reference.granted_at > 5_000 {
            return (true, reference);
        }
    }
    (false, reference)
}

#[test]
fn the_published_bubble_rule_deadlocks_with_packets_of_mixed_sizes() {
    for dims in [&[8][..], &[4, 4]] {
        let mut at = Vec::new();
        for seed in 0..5 {
            let published = bluegene(dims, |r| r.bubble_rule = BubbleRule::Published);
            let (stalled, mut reference) = stalls(&published, seed);
            at.push(stalled.then_some(reference.granted_at));
            if stalled {
                reference.check_tokens();
                let last = reference.granted_at;
                assert!(
                    !reference.run_until_drained(20_000) && reference.granted_at == last,
                    "it moved again"
                );
            }
            let (stalled, mut reference) = stalls(&bluegene(dims, |_| ()), seed);
            assert!(!stalled && reference.run_until_drained(200_000), "the corrected rule must not deadlock");
        }
        println!("{dims:?}: last grants under the published rule {at:?}");
        assert!(at.iter().any(Option::is_some), "the published rule is known to deadlock");
    }
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

/// Means from 20,000 to 60,000 ticks of uniform traffic of full packets, as much as goes.
fn saturated(config: &TorusConfig) -> (Means, Reference) {
    let mut reference = Reference::new(config, 3);
    let mut random = Random::new(4);
    workload::flood(&mut reference, 60_000, &mut random, |_, _| ());
    (reference.statistics.means(20_000, 60_000), reference)
}

fn occupancy(chunks: &[f64; VCS_MAX], rules: &Rules) -> String {
    chunks[..rules.vcs].iter().map(|c| format!("{c:.3}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn saturation_is_near_the_closed_form() {
    for (dims, at_least) in [(&[8, 1, 1], 0.90), (&[4, 4, 4], 0.93)] {
        let (means, reference) = saturated(&TorusConfig::bluegene_l(dims));
        let capacity = workload::uniform_rate(&reference, 1.0) * reference.nodes.len() as f64;
        let reached = means.delivered / capacity;
        println!(
            "{dims:?} flooded: {:.4} of the capacity delivered; links {:.4} data {:.4} acks; \
             chunks {}; escape share {:.5}",
            reached,
            means.data,
            means.acks,
            occupancy(&means.chunks, &reference.rules),
            reference.statistics.escape_share(&reference.rules),
        );
        assert!((at_least..=1.0).contains(&reached));
        assert!((reached - means.data).abs() < 0.01, "what is delivered was carried");
    }
}

/// An all-to-all of full packets from start to end.
fn all_to_all(config: &TorusConfig) -> Reference {
    let mut reference = Reference::new(config, 5);
    workload::all_to_all(&mut reference, &mut Random::new(6));
    assert!(reference.run_until_drained(100_000));
    reference
}

#[test]
fn all_to_all_keeps_the_links_busy() {
    for (dims, (from, to)) in [(&[4, 4, 4], (1_500, 7_000)), (&[8, 8, 1], (3_000, 14_000))] {
        for gap in [false, true] {
            let reference = all_to_all(&bluegene(dims, |r| r.arbitration_gap = gap));
            let means = reference.statistics.means(from, to);
            let whole = reference.statistics.means(0, reference.now);
            println!(
                "{dims:?} all-to-all, gap {gap}: ticks {from}..{to} utilization {:.4} (data {:.4}, acks {:.4}), \
                 chunks {}; whole run {} ticks, utilization {:.4}, chunks {}; mean latency {:.1}, highest {}; \
                 escape share {:.5}",
                means.utilization(),
                means.data,
                means.acks,
                occupancy(&means.chunks, &reference.rules),
                reference.now,
                whole.utilization(),
                occupancy(&whole.chunks, &reference.rules),
                reference.statistics.latency_mean(),
                reference.statistics.latency.2,
                reference.statistics.escape_share(&reference.rules),
            );
            assert!((0.9..=1.0).contains(&means.utilization()));
        }
    }
}

#[test]
fn uniform_traffic_below_saturation() {
    for (dims, load) in [(&[4, 4, 4], 0.05), (&[4, 4, 4], 0.5), (&[8, 8, 1], 0.05), (&[8, 8, 1], 0.5)] {
        let mut reference = Reference::new(&TorusConfig::bluegene_l(dims), 7);
        let rate = workload::uniform_rate(&reference, load);
        workload::uniform(&mut reference, rate, 100_000, &mut Random::new(8));
        let means = reference.statistics.means(10_000, 100_000);
        let lone = 17.0 * workload::mean_hops(&reference) + 260.0;
        let latency = reference.statistics.latency_mean();
        println!(
            "{dims:?} uniform at {load}: rate {rate:.7}, utilization {:.4} (data {:.4}, acks {:.4}), chunks {}; \
             mean latency {latency:.1} (alone {lone:.1}), highest {}; escape share {:.5}",
            means.utilization(),
            means.data,
            means.acks,
            occupancy(&means.chunks, &reference.rules),
            reference.statistics.latency.2,
            reference.statistics.escape_share(&reference.rules),
        );
        assert!((means.data - load).abs() < 0.03 * load + 0.002, "open loop: what is offered is carried");
        assert!(latency > lone && latency < lone * if load < 0.1 { 1.1 } else { 2.0 });
    }
}

#[test]
fn explore() {
    for (dims, far, dynamic) in [([5, 10], [2, 4], 0.0), ([7,14], [3,6], 0.0), ([5,20],[2,9],0.0), ([8, 1], [3,0], 1.0), ([8,1],[0,0], 1.0), ([8, 8], [0, 0], 1.0), ([8, 8], [3, 3], 1.0)] {
        for vc in [512, 1024] {
            for frac in [1.0, 0.0] {
                for sizes in 0..3 {
                let config = bluegene(&dims, |r| { r.bubble_rule = BubbleRule::Published; r.vc_B = vc; r.in_network_fraction = frac; });
                let mut at = Vec::new();
                let mut occ = 0.0;
                for seed in 0..2 {
                    let mut reference = Reference::new(&config, seed);
                    let mut random = Random::new(seed + 1);
                    let mut stalled = None;
                    let (a, b) = (dims[0] as usize, dims[1] as usize);
                    while reference.now < 30_000 {
                        for _ in 0..500 {
                            reference.step_pulling(&mut |node, fifo, now| {
                                if fifo >= 6 { return None; }
                                let mut spec = workload::full((node % a + far[0]) % a + (node / a + far[1]) % b * a, now);
                                if far == [0, 0] { spec.destination = workload::other(a * b, node, &mut random); }
                                spec.chunks = if sizes == 0 {1 + random.below(8) as u32} else if sizes == 1 { [1, 8, 8][random.below(3)] } else { 5};
                                spec.routing = if dynamic == 1.0 { Routing::Dynamic } else { Routing::Static };
                                Some(spec)
                            });
                        }
                        if reference.now - reference.granted_at > 5000 { stalled = Some(reference.granted_at); break }
                    }
                    occ = reference.statistics.means(20000.min(reference.now/2), reference.now).chunks[2];
                    at.push(stalled);
                }
                println!("{dims:?} far {far:?} dyn {dynamic} vc {vc} frac {frac} sizes {sizes} {at:?} {occ:.2}");
            }}
        }
    }
}
