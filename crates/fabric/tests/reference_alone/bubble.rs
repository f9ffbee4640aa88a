//! The escape VC's rules: entering the bubble, continuing, and the consequences of the published rule.

use crate::bluegene;
use crate::reference::packet::{PacketSpec, Routing};
use crate::reference::random::Random;
use crate::reference::{FIFOS_NORMAL, Reference, workload};
use netloom_fabric::config::{BubbleRule, TorusConfig};
use std::collections::HashMap;

/// A ring of five under static packets of any size, each two hops in the plus direction, with injection
/// before packets already in the network; every 400 ticks high-priority packets to the next node occupy all
/// links. Without those the ring would not stall within a test's time: on busy links there are always packets
/// half in one VC and half in the next, which hold space in both. While the links serve other traffic all
/// space returns; then each link takes an injected packet wherever it may, and the free space is fragmented.
///
/// Returns the machine after 200,000 ticks, or when the escape VC has been stalled for 10,000.
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

/// Whether a packet leaves `node` through `port` on VC `vc` within some time after the tokens there were set
/// to `tokens`.
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
            (to(6, 0), (7, 1, 2), 8),  // straight on, across the wrap
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
