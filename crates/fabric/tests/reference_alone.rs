//! The clocked reference by itself: what would notice a mistake in it before the fabric is compared with it.

mod reference;

use netloom_fabric::config::{
    BubbleRule, DirectionChoice, Escape, EscapeOrder, HalfwayTie, Router, TorusConfig, VCS_MAX,
};
use reference::node::{Place, Source};
use reference::packet::{Packet, PacketSpec, Routing};
use reference::random::Random;
use reference::rules::Rules;
use reference::statistics::Means;
use reference::{FIFOS_NORMAL, Reference, workload};
use std::collections::HashMap;

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
            assert!(busy(1).is_multiple_of(12) && busy(1) > 0);
        }
    }
}

/// A ring of five under static packets of any size, each two hops in the plus direction, that go before those already
/// in the network; every 400 ticks high-priority packets to the next node take all links. Without those the ring would
/// not stall within a test's time: links that are always busy always have packets half out of one VC and half in the
/// next, which hold room in both. While the links serve other traffic all room returns; then each link takes an
/// injected packet wherever it may, and what is free crumbles.
///
/// Returns the machine after 200,000 ticks, or when the escape VC has been still for 10,000.
fn crumbled_ring(rule: BubbleRule, seed: u64) -> (bool, Reference) {
    let config = bluegene(&[5], |r| (r.bubble_rule, r.in_network_fraction) = (rule, 0.0));
    let mut reference = Reference::new(&config, seed);
    let mut random = Random::new(seed + 1);
    let escape = reference.rules.dynamic_vcs;
    for _ in 0..20 {
        let before = reference.statistics.hops[escape];
        for _ in 0..10_000 {
            reference.step_pulling(&mut |node, fifo, now| {
                let high_priority = fifo >= FIFOS_NORMAL;
                let (hops, chunks) = if high_priority { (1, 8) } else { (2, 1 + random.below(8) as u32) };
                let spec = PacketSpec {
                    chunks,
                    routing: Routing::Static,
                    high_priority,
                    ..workload::full((node + hops) % 5, now)
                };
                (!high_priority || now.is_multiple_of(400)).then_some(spec)
            });
        }
        if reference.statistics.hops[escape] == before {
            return (true, reference);
        }
    }
    (false, reference)
}

#[test]
fn the_published_bubble_rule_deadlocks_with_packets_of_mixed_sizes() {
    let mut stalls = 0;
    for seed in 0..4 {
        let (stalled, mut reference) = crumbled_ring(BubbleRule::Published, seed);
        let drained = reference.run_until_drained(100_000);
        let escape = reference.packets.iter().filter(|p| !p.spec.high_priority).flat_map(|p| &p.hops);
        let last = escape.map(|hop| hop.granted_at).max();
        println!("seed {seed}: published rule stalled {stalled}, last grant of the escape VC at {last:?}");
        assert_eq!(drained, !stalled, "what stood still moved again without a cause");
        if stalled {
            stalls += 1;
            reference.check_tokens();
            assert!(reference.now - reference.granted_at > 90_000 && reference.undelivered() > 0);
            for port in reference.nodes.iter().map(|node| &node.ports[0]) {
                assert!(
                    port.sender.tokens[2] < 8 && port.sender.transfer.is_none(),
                    "not the deadlock we know"
                );
            }
        }
        let (stalled, mut reference) = crumbled_ring(BubbleRule::Corrected, seed);
        assert!(!stalled && reference.run_until_drained(100_000), "the corrected rule must not deadlock");
    }
    assert!(stalls > 0, "the published rule is known to deadlock");
}

/// Whether a packet leaves `node` by `port` on VC `vc` within some time after the tokens there were set to `tokens`.
fn leaves(
    config: &TorusConfig,
    spec: PacketSpec,
    (node, port, vc): (usize, usize, usize),
    tokens: u32,
) -> bool {
    let mut reference = Reference::new(config, 1);
    reference.inject(0, 0, spec);
    reference.nodes[node].ports[port].sender.tokens[vc] = tokens;
    for _ in 0..1_000 {
        reference.step();
        if let Some(hop) = reference.packets[0].hops.iter().find(|hop| hop.node == node) {
            let corrected = config.router.bubble_rule == BubbleRule::Corrected && vc == 2;
            let taken = if corrected { 8 } else { spec.chunks };
            assert_eq!((hop.port, hop.vc), (port, vc));
            assert_eq!(reference.nodes[node].ports[port].sender.tokens[vc], tokens - taken);
            return true;
        }
    }
    false
}

#[test]
fn a_ring_of_bubbles_is_entered_where_two_packets_have_room() {
    for rule in [BubbleRule::Published, BubbleRule::Corrected] {
        let config = bluegene(&[8, 8], |r| (r.bubble_rule, r.dynamic_vcs) = (rule, 2));
        let to = |x: usize, y: usize| PacketSpec {
            chunks: 3,
            routing: Routing::Static,
            ..workload::full(x + 8 * y, 0)
        };
        for (spec, place, enough) in [
            (to(2, 0), (0, 0, 2), 16), // injected
            (to(2, 0), (1, 0, 2), 8),  // straight on
            (to(6, 0), (7, 1, 2), 8),  // straight on, the other way round
            (to(1, 1), (1, 2, 2), 16), // a turn
        ] {
            assert!(leaves(&config, spec, place, enough), "{place:?}");
            assert!(!leaves(&config, spec, place, enough - 1), "{place:?}");
        }
    }
}

#[test]
fn a_dynamic_packet_goes_where_most_room_is_and_escapes_only_where_there_is_none() {
    let config = TorusConfig::bluegene_l(&[8, 8]);
    let first_hop = |tokens: [[u32; 3]; 2], seed: u64| {
        let mut reference = Reference::new(&config, seed);
        for (dimension, tokens) in tokens.iter().enumerate() {
            reference.nodes[0].ports[2 * dimension].sender.tokens[..3].copy_from_slice(tokens);
        }
        reference.inject(0, 0, workload::full(9, 0));
        reference.step();
        reference.packets[0].hops.first().map(|hop| (hop.port, hop.vc))
    };
    let mut chosen = HashMap::new();
    for seed in 0..300 {
        assert_eq!(first_hop([[8, 16, 32], [16, 25, 32]], seed), Some((2, 1)), "the fourth quarter wins");
        assert_eq!(first_hop([[7, 7, 32], [7, 8, 32]], seed), Some((2, 1)), "the only one that is offered");
        assert_eq!(first_hop([[7, 7, 16], [7, 7, 32]], seed), Some((0, 2)), "x is the escape direction");
        assert_eq!(first_hop([[7, 7, 15], [7, 7, 32]], seed), None, "and the only one");
        *chosen.entry(first_hop([[9, 16, 32], [12, 7, 32]], seed)).or_insert(0) += 1;
    }
    assert_eq!(chosen.len(), 3, "all of the second quarter, by chance: {chosen:?}");
    assert!(chosen.values().all(|&times| times > 60), "{chosen:?}");
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

/// A machine of 8x8 whose node 9 has packets that all want its link to node 10, placed there by hand: `waiting` lists
/// the port that they came in by, the VC, and how many; `injected` those in the first FIFO. Returns what holds the
/// packet that was granted the link in the next tick.
fn first_granted(
    config: &TorusConfig,
    seed: u64,
    waiting: &[(usize, usize, u32)],
    injected: usize,
) -> Source {
    let mut reference = Reference::new(config, seed);
    for &(port, vc, count) in waiting {
        for _ in 0..count {
            let packet = reference.inject(9, 0, workload::full(12, 0));
            let place = Place { packet, vc, chunks: 8, tokens: 8 };
            reference.nodes[9].ports[port].receiver.vcs[vc].push(place);
        }
    }
    reference.nodes[9].fifos[0].queue.clear();
    for _ in 0..injected {
        reference.inject(9, 0, workload::full(12, 0));
    }
    reference.step();
    reference.nodes[9].ports[0].sender.transfer.expect("one of them is granted the link").source
}

#[test]
fn arbiters_serve_the_longest_queue_and_the_network_first() {
    let config = |receiver: f64, sender: f64, network: f64| {
        bluegene(&[8, 8], |r| {
            (r.receiver_slq_fraction, r.sender_slq_fraction, r.in_network_fraction) =
                (receiver, sender, network);
        })
    };
    // Of 400 seeds, how often the packet of one source is granted.
    let times = |config: &TorusConfig, source: Source, waiting: &[(usize, usize, u32)], injected: usize| {
        (0..400).filter(|&seed| first_granted(config, seed, waiting, injected) == source).count()
    };
    let (full, other) = (Source::Vc { port: 1, vc: 1 }, Source::Vc { port: 2, vc: 0 });
    let about = |n: usize| n - 50..n + 50;
    // Two VCs of a receiver.
    let waiting = [(1, 0, 1), (1, 1, 3)];
    assert_eq!(times(&config(1.0, 0.0, 1.0), full, &waiting, 0), 400);
    assert!(about(200).contains(&times(&config(0.0, 1.0, 1.0), full, &waiting, 0)));
    assert!(about(300).contains(&times(&config(0.5, 1.0, 1.0), full, &waiting, 0)));
    // Two receivers.
    let waiting = [(1, 1, 3), (2, 0, 1)];
    assert_eq!(times(&config(0.0, 1.0, 1.0), full, &waiting, 0), 400);
    assert!(about(200).contains(&times(&config(1.0, 0.0, 1.0), other, &waiting, 0)));
    // A receiver and an injection FIFO.
    let injection = Source::Injection { fifo: 0 };
    assert_eq!(times(&config(0.5, 0.5, 1.0), other, &[(2, 0, 1)], 1), 400);
    assert_eq!(times(&config(0.5, 0.5, 0.0), injection, &[(1, 0, 4)], 1), 400);
    assert!(about(100).contains(&times(&config(0.5, 0.5, 0.75), injection, &[(1, 0, 4)], 1)));
}

#[test]
fn the_bypass_yields_to_the_buffers() {
    for seed in 0..20 {
        let mut reference = Reference::new(&TorusConfig::bluegene_l(&[8, 8]), seed);
        for vc in 0..2 {
            let packet = reference.inject(9, 0, workload::full(12, 0));
            let place = Place { packet, vc, chunks: 8, tokens: 8 };
            let receiver = &mut reference.nodes[9].ports[1].receiver;
            if vc == 0 { receiver.vcs[0].push(place) } else { receiver.bypass = Some(place) }
        }
        reference.nodes[9].fifos[0].queue.clear();
        reference.step();
        let receiver = &reference.nodes[9].ports[1].receiver;
        assert!(receiver.vcs[0].moving && !receiver.bypass_moving);
        assert!(
            receiver.bypass.is_none() && receiver.vcs[1].queue.len() == 1,
            "what is not granted is buffered"
        );
    }
}

#[test]
fn high_priority_goes_first() {
    let mut reference = Reference::new(&TorusConfig::bluegene_l(&[4, 4]), 1);
    let mut random = Random::new(2);
    for _ in 0..30_000 {
        reference.step_pulling(&mut |node, fifo, now| {
            let high_priority = fifo == FIFOS_NORMAL;
            let wanted = fifo < FIFOS_NORMAL || high_priority && random.chance(0.000_5);
            let destination = workload::other(16, node, &mut random);
            wanted.then(|| PacketSpec { high_priority, ..workload::full(destination, now) })
        });
    }
    let mean = |high: bool| {
        let delivered = reference.deliveries.iter().map(|&n| &reference.packets[n]);
        let latencies: Vec<_> =
            delivered.filter(|p| p.spec.high_priority == high).filter_map(Packet::latency).collect();
        latencies.iter().sum::<u64>() as f64 / latencies.len() as f64
    };
    println!("mean latency of high-priority packets {:.1}, of others {:.1}", mean(true), mean(false));
    // At every hop it waits for the rest of a packet at most, where nothing else has high priority.
    assert!(mean(true) < 295.0 + 3.0 * 150.0 && mean(false) > 2.0 * mean(true));
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
    // A packet from node 0 is delivered at node 1 at 277, and its tokens are due; node 1 makes a packet about then.
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
    for (dims, at_least) in [(&[8, 1, 1], 0.90), (&[4, 4, 4], 0.91)] {
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
        assert!((reached - means.data).abs() < 0.015, "what is delivered was carried");
    }
}

/// An all-to-all of full packets from start to end.
fn all_to_all(config: &TorusConfig, seed: u64) -> Reference {
    let mut reference = Reference::new(config, seed);
    workload::all_to_all(&mut reference, &mut Random::new(seed + 1));
    assert!(reference.run_until_drained(100_000));
    reference
}

/// Runs an all-to-all, prints its figures, and returns the means of ticks `from` to `to`.
fn all_to_all_figures(config: &TorusConfig, seed: u64, (from, to): (u64, u64)) -> Means {
    let reference = all_to_all(config, seed);
    let means = reference.statistics.means(from, to);
    let whole = reference.statistics.means(0, reference.now);
    println!(
        "{:?} all-to-all, gap {}, seed {seed}: ticks {from}..{to} utilization {:.4} (data {:.4}, acks {:.4}), \
         chunks {}; whole run {} ticks, utilization {:.4}, chunks {}; mean latency {:.1}, highest {}; \
         escape share {:.5}",
        config.topology.dims,
        config.router.arbitration_gap,
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
    means
}

#[test]
fn all_to_all_keeps_the_links_busy() {
    for (dims, window) in [(&[4, 4, 4], (1_500, 7_000)), (&[8, 8, 1], (3_000, 14_000))] {
        for seed in [5, 15, 25] {
            let means = all_to_all_figures(&TorusConfig::bluegene_l(dims), seed, window);
            assert!((0.94..=1.0).contains(&means.utilization()));
            let gap = bluegene(dims, |r| r.arbitration_gap = true);
            let fuller = all_to_all_figures(&gap, seed, window);
            let dynamic = |m: &Means| m.chunks[0] + m.chunks[1];
            assert!(dynamic(&fuller) > 1.5 * dynamic(&means), "the gap lets injected packets in");
        }
    }
}

#[test]
fn a_single_path_costs_time_and_throughput() {
    let config = |paths| bluegene(&[4, 4, 4], |r| r.paths = paths);
    let [one, two] = [1, 2].map(|paths| {
        let mut reference = Reference::new(&config(paths), 7);
        let rate = workload::uniform_rate(&reference, 0.8);
        let mut random = Random::new(8);
        let mut most = 0;
        for _ in 0..4_000 {
            workload::uniform(&mut reference, rate, 10, &mut random);
            let busy = reference.nodes.iter().flat_map(|n| &n.ports).map(|p| p.receiver.paths_busy).max();
            most = most.max(busy.unwrap_or(0));
        }
        assert_eq!(most, paths);
        reference.statistics.latency_mean()
    });
    // With one dynamic VC the most that goes depends on it too; with two, injected packets fill what it leaves.
    let [less, more] = [1, 2].map(|paths| {
        let mut config = config(paths);
        config.router.dynamic_vcs = 1;
        saturated(&config).0.delivered
    });
    println!(
        "paths 1 and 2: latency at 0.8 {one:.1}, {two:.1}; one dynamic VC flooded {less:.4}, {more:.4} a tick"
    );
    assert!(one > 1.1 * two && less < 0.99 * more);
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
    reference.packets.iter().for_each(|packet| check_way(&config, &reference.rules, packet));
}

#[test]
fn in_light_traffic_packets_bypass_the_buffers() {
    let chunks = [true, false].map(|bypass| {
        let mut reference = Reference::new(&bluegene(&[4, 4, 4], |r| r.bypass = bypass), 1);
        let rate = workload::uniform_rate(&reference, 0.05);
        workload::uniform(&mut reference, rate, 30_000, &mut Random::new(2));
        let means = reference.statistics.means(5_000, 30_000);
        means.chunks.iter().sum::<f64>() / means.data
    });
    println!("chunks in the VCs a busy link: {:.3} with the bypass, {:.3} without", chunks[0], chunks[1]);
    // Without it, each packet's 8 chunks stand in a VC for at least as long as they take on the link.
    assert!(chunks[0] < 1.0 && chunks[1] > 7.9);
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
