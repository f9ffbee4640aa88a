//! General properties for any machine and traffic: random topologies, router variants and mixtures of
//! packets.
//!
//! Every packet is delivered once, at its destination, over the minimum number of links; packets from one
//! node to another with fixed routing arrive in order; in the end all links, buffers and tokens are idle.
//! Results do not depend on the blocks, nor on whether the run was interrupted.

use crate::traffic::script::{Packet, ScriptHost};
use netloom_engine::{Progress, Reached, Stream, Time};
use netloom_fabric::config::*;
use netloom_fabric::packet::Header;
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::router::{BuildOptions, LinkCounts, RouterBlock, Totals};
use netloom_fabric::topology::torus::Torus;
use proptest::prelude::*;
use std::collections::HashMap;

fn one_of<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> impl Strategy<Value = T> + use<T> {
    proptest::sample::select(values.to_vec())
}

/// Topologies of up to a few dozen nodes.
fn shapes() -> impl Strategy<Value = Topology> {
    let dimensions = proptest::collection::vec((1u32..=4, any::<bool>()), 1..=5);
    let few = |shape: &Vec<(u32, bool)>| shape.iter().map(|d| d.0).product::<u32>() <= 64;
    dimensions.prop_filter("small", few).prop_map(|shape| Topology {
        dims: shape.iter().map(|d| d.0).collect(),
        wrap: shape.iter().map(|d| d.1).collect(),
        loopback: false,
        dead_nodes: vec![],
        dead_links: vec![],
        ..Topology::default()
    })
}

fn routers() -> impl Strategy<Value = Router> {
    let channels = (
        1u32..=4,
        one_of(&[512, 736, 1024]),
        one_of(&[None, Some(512), Some(800)]),
        one_of(&[Escape::Bubble, Escape::Dateline]),
        one_of(&[EscapeOrder::Dimension, EscapeOrder::Direction]),
        any::<bool>(),
    );
    let arbitration = (
        1u32..=4,
        one_of(&[DirectionChoice::Jsq, DirectionChoice::Random]),
        one_of(&[0.0, 0.75, 1.0]),
        one_of(&[0.0, 0.75, 1.0]),
        one_of(&[0.0, 0.5, 1.0]),
        any::<bool>(),
        one_of(&[HalfwayTie::Parity, HalfwayTie::Plus]),
    );
    (channels, arbitration).prop_map(|(c, a)| Router {
        dynamic_vcs: c.0,
        vc_B: c.1,
        escape_vc_B: c.2,
        escape: c.3,
        escape_order: c.4,
        // The published rule may deadlock with mixed sizes, as other tests show.
        bubble_rule: BubbleRule::Corrected,
        bypass: c.5,
        paths: a.0,
        direction_choice: a.1,
        receiver_slq_fraction: a.2,
        sender_slq_fraction: a.3,
        in_network_fraction: a.4,
        arbitration_gap: a.5,
        halfway_tie: a.6,
    })
}

fn machines() -> impl Strategy<Value = TorusConfig> {
    (shapes(), routers(), one_of(&[0.0, 0.0, 0.0, 1e-5])).prop_map(|(topology, router, bit_error_rate)| {
        let mut config = TorusConfig::bluegene_l(&[1]);
        (config.topology, config.router) = (topology, router);
        config.link.bit_error_rate = bit_error_rate;
        config
    })
}

/// Packets of all kinds and sizes from all nodes to others, in bursts and in between, some of them to one
/// node.
fn packets(nodes: u32, each: u32, seed: u64) -> Vec<Packet> {
    let mut list = vec![];
    let mut stream = Stream::new(seed, 9, 0);
    let hot = stream.below(nodes.into()) as u32;
    let mut below = |n: u32| stream.below(n.into()) as u32;
    for source in (0..nodes).filter(|_| nodes > 1) {
        let mut made = 0;
        for _ in 0..each {
            made += if below(8) == 0 { u64::from(below(3000)) } else { 0 };
            let any = (source + 1 + below(nodes - 1)) % nodes;
            let destination = if below(4) == 0 && hot != source { hot } else { any };
            let flags = [0, 0, Header::STATIC, Header::HIGH][below(4) as usize];
            // One FIFO per kind, so that packets are sent in the order of creation; dynamic packets use
            // several.
            let fifo = match flags {
                Header::STATIC => 0,
                Header::HIGH => 6,
                _ => 1 + below(5) as usize,
            };
            list.push(Packet {
                made,
                source,
                fifo,
                destination,
                chunks: 1 + below(8),
                flags,
                ..Packet::default()
            });
        }
    }
    list
}

type Outcome = (Vec<(u64, u32, u64)>, Vec<(u32, usize, LinkCounts)>, Totals);

/// A run to its end with pauses at these times, and checks of the general properties.
fn run(config: &TorusConfig, list: &[Packet], seed: u64, block: &[u32], pauses: &[u64]) -> Outcome {
    let options = BuildOptions { seed, block: block.to_vec(), smallest_chunks: 1, ..BuildOptions::default() };
    let mut network =
        TorusNetwork::<_, 10>::new(config, &options, |n| ScriptHost::new(&config.topology, list, n))
            .expect("buildable");
    let progress = Progress::default();
    for &pause in pauses {
        let reached = network.run_until(Time::at(pause), 1, &progress);
        assert!(reached == Reached::Idle || network.now() == Time::at(pause));
        assert!(network.in_flight() >= 0 && network.in_flight() <= list.len() as i64);
    }
    assert_eq!(network.run_until(Time::at(1 << 40), 1, &progress), Reached::Idle);
    assert_eq!((network.stall(), network.in_flight()), (None, 0));
    assert_eq!(network.unrest(), Vec::<String>::new());
    let mut delivered: Vec<_> = network.blocks().flat_map(|b| b.host().delivered.clone()).collect();
    delivered.sort_unstable();
    (delivered, network.links(), network.totals())
}

fn check(config: &TorusConfig, list: &[Packet], outcome: &Outcome) {
    let torus = Torus::new(&config.topology);
    let (delivered, links, totals) = outcome;
    // Once each, at the right node.
    assert_eq!(delivered.len(), list.len());
    assert_eq!(totals.latency.count(), list.len() as u64);
    let mut hops = 0;
    let mut chunk_hops = [0; 3];
    // For fixed routes, by pair and priority: the last arrival.
    let mut last: HashMap<(u32, u32, u16), u64> = HashMap::new();
    for (i, (p, &(number, node, at))) in list.iter().zip(delivered).enumerate() {
        assert_eq!((number, node), (i as u64, p.destination));
        let distance = torus.distance(p.source, node);
        hops += u64::from(distance);
        let class = if p.flags == Header::HIGH { 2 } else { 0 };
        chunk_hops[class] += u64::from(distance * p.chunks);
        assert!(at >= p.made + u64::from(17 * distance + 32 * p.chunks + 4), "faster than light");
        if p.flags != 0 {
            let before = last.insert((p.source, node, p.flags), at);
            assert!(before.is_none_or(|b| b < at), "packet {i} {p:?} at {at} overtook one at {before:?}");
        }
    }
    // Minimal routes; packets are retransmitted only with bit errors.
    let (sent, chunks) = links.iter().fold((0, [0; 3]), |(n, mut c), l| {
        (0..3).for_each(|i| c[i] += l.2.chunks[i]);
        (n + l.2.packets, c)
    });
    if config.link.bit_error_rate == 0.0 {
        assert_eq!(sent, hops);
        assert_eq!(chunks[2], chunk_hops[2], "high-priority packets keep to their VC");
        assert_eq!(chunks[0] + chunks[1], chunk_hops[0]);
    } else {
        assert!(sent >= hops);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_machine_under_any_traffic(
        config in machines(),
        each in 1u32..200,
        seed in any::<u64>(),
        block in proptest::collection::vec(1u32..=3, 5),
        pauses in proptest::collection::vec(0u64..20_000, 0..4),
    ) {
        config.check().expect("only machines that can be built");
        let nodes = config.topology.dims.iter().product();
        let list = packets(nodes, each, seed);
        let outcome = run(&config, &list, seed, &[4; 5], &[]);
        check(&config, &list, &outcome);
        let mut pauses = pauses;
        pauses.sort_unstable();
        let again = run(&config, &list, seed, &block, &pauses);
        prop_assert!(again == outcome, "blocks of {:?}, pauses at {:?}", block, pauses);
    }
}
