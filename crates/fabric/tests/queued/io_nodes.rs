//! IO nodes and their links (Chen et al., section II.A and II.B): packets reach them through the named exit
//! node and leave them over the named link, only system packets do, and both directions have the full link
//! rate.

use crate::traffic::scripted::{Arrival, Script, build, finish, run};
use netloom_engine::Stream;
use netloom_fabric::collective::{
    ClassRoute, CollectiveHeader, Delivers, Flags, Operation, RouteKind, route::check,
};
use netloom_fabric::config::{HalfwayTie, IoNodes, QueuedConfig};
use netloom_fabric::packet::Header;
use netloom_fabric::router::LinkCounts;
use netloom_fabric::routing::hints;
use netloom_fabric::topology::io::{IO_NODE_PORTS, IO_PORT};
use netloom_fabric::topology::torus::Torus;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The injection FIFOs of the system's packets, and of its collective ones.
const SYSTEM: usize = 13;
const SYSTEM_COLLECTIVE: usize = 15;

fn machine(dims: &[u32], pset: &[u32], exits: &[&[u32]]) -> (QueuedConfig, Torus) {
    let mut config = QueuedConfig::bluegene_q(dims);
    let exits = exits.iter().map(|e| e.to_vec()).collect();
    config.topology.io = Some(IoNodes { pset: pset.into(), exits });
    let torus = Torus::new(&config.topology);
    (config, torus)
}

/// A system packet between two places of the torus.
fn between(torus: &Torus, from: u32, to: u32, chunks: u32) -> Header {
    let (from, to) = (torus.coordinates(from), torus.coordinates(to));
    let hints = hints::minimal(torus, from, to, HalfwayTie::Parity);
    Header::new(to, hints, chunks, Header::STATIC).of_system()
}

/// A packet to an IO node through an exit node.
fn outward(torus: &Torus, from: u32, exit: u32, chunks: u32) -> Header {
    between(torus, from, exit, chunks).to_io()
}

/// A packet that an IO node sends over one of its links.
fn inward(torus: &Torus, io_node: u32, link: usize, to: u32, chunks: u32) -> Header {
    between(torus, torus.exits(io_node)[link], to, chunks).from_io(link)
}

fn scripts(torus: &Torus) -> Vec<Script> {
    vec![Script::default(); torus.all_nodes() as usize]
}

fn send(scripts: &mut [Script], node: u32, fifo: usize, header: Header) {
    scripts[node as usize].sends.entry(fifo).or_default().push_back((header, None));
}

/// A run, and the traffic of each IO link.
fn run_with_links(
    config: &QueuedConfig,
    scripts: &[Script],
) -> (Vec<Arrival>, Vec<(u32, usize, LinkCounts)>) {
    let mut network = build(config, scripts, &[]);
    (finish(&mut network, 1), network.io_links())
}

/// To the IO node and back: hops, wires, and the packet's length, once.
#[test]
fn latency_without_load() {
    let (mut config, torus) =
        machine(&[4, 2, 2, 1, 1], &[2, 2, 2, 1, 1], &[&[0, 1, 1, 0, 0], &[1, 0, 1, 0, 0]]);
    (config.link.trace_ticks, config.link.midplane) = (vec![40; 5], vec![]);
    let wire = |chunks: u32| 4 * u64::from(32 * chunks + 8);
    let io_hop = 320 + 40 + 1157;
    for node in 0..torus.nodes() {
        let io_node = torus.io_node_of(node).expect("each has one");
        for (link, exit) in torus.exits(io_node).into_iter().enumerate() {
            let path = 360 * u64::from(torus.distance(node, exit)) + io_hop;
            let mut out = scripts(&torus);
            send(&mut out, node, SYSTEM, outward(&torus, node, exit, 9));
            let arrived = run(&config, &out, &[], 1);
            let [(at, fifo, header, _, time)] = &arrived[..] else { panic!("{} came", arrived.len()) };
            assert_eq!((*at, *time), (io_node, path + wire(9)));
            assert_eq!(*fifo, IO_NODE_PORTS[link], "the receiver that it came by");
            assert!(header.is_system() && !header.is_to_io());
            let mut back = scripts(&torus);
            send(&mut back, io_node, SYSTEM, inward(&torus, io_node, link, node, 17));
            let arrived = run(&config, &back, &[], 1);
            assert_eq!((arrived.len(), arrived[0].0, arrived[0].4), (1, node, path + wire(17)));
        }
    }
}

/// An IO link has the full link rate, in both directions at the same time. Several links of an IO node
/// together are as fast as one: the system has one reception FIFO, which the network fills at 4 B per cycle
/// (section III.D), and one injection FIFO.
#[test]
fn io_links_are_as_fast_as_the_systems_fifos() {
    for exits in [&[&[0; 5][..]][..], &[&[0; 5], &[2, 2, 0, 0, 0]]] {
        let (config, torus) = machine(&[4, 4, 1, 1, 1], &[4, 4, 1, 1, 1], exits);
        let io_node = torus.nodes();
        let mut list = scripts(&torus);
        for _ in 0..200 {
            for node in 0..torus.nodes() {
                let exit = torus.exit_of(node).expect("each has one");
                let link = torus.exits(io_node).iter().position(|&e| e == exit).expect("its own");
                send(&mut list, node, SYSTEM, outward(&torus, node, exit, 17));
                send(&mut list, io_node, SYSTEM, inward(&torus, io_node, link, node, 17));
            }
        }
        let (arrived, links) = run_with_links(&config, &list);
        assert_eq!(arrived.len(), 2 * 16 * 200);
        let end = arrived.iter().map(|a| a.4).max().expect("some came");
        assert_eq!(links.len(), 2 * exits.len(), "each link, seen from both ends");
        for from_io in [false, true] {
            let sent: Vec<LinkCounts> =
                links.iter().filter(|l| torus.is_io_node(l.0) == from_io).map(|l| l.2).collect();
            assert!(sent.iter().all(|l| l.packets == 3200 / exits.len() as u64));
            let share = sent.iter().map(|l| l.busy).sum::<u64>() as f64 / end as f64;
            assert!(share > 0.97, "{} links, from the IO node {from_io}: {share:.3}", exits.len());
        }
    }
}

/// An IO link is on no ring: both buffer places behind it are used, so that packets follow one another as
/// closely as two tokens allow.
#[test]
fn an_io_link_needs_no_bubble() {
    let time = |slots| {
        let (mut config, torus) = machine(&[2, 1, 1, 1, 1], &[2, 1, 1, 1, 1], &[&[0; 5]]);
        config.router.slots = slots;
        let mut list = scripts(&torus);
        (0..100).for_each(|_| send(&mut list, 0, SYSTEM, outward(&torus, 0, 0, 17)));
        run(&config, &list, &[], 1).iter().map(|a| a.4).max().expect("some came")
    };
    // A packet of 2208 ticks; a hop of 320 + 43 + 1157 and reception before its token comes back: two places
    // carry twice what one would.
    let [two, many] = [2, 7].map(time);
    assert!(two < 2 * many, "{two} {many}");
}

/// A tree with the maximum number of inputs: ten links, the IO link and the node itself.
#[test]
fn twelve_inputs_are_combined() {
    let (config, torus) = machine(&[3; 5], &[3; 5], &[&[1; 5]]);
    let (io_node, root) = (torus.nodes(), torus.exits(torus.nodes())[0]);
    let leaf = |port: usize| ClassRoute {
        kind: RouteKind::System,
        inputs: 0,
        output: Some(port as u8),
        local: true,
    };
    let mut routes = vec![(root, ClassRoute { inputs: 0x7ff, output: None, ..leaf(0) })];
    routes.extend((0..=IO_PORT).map(|port| {
        let (child, there) = torus.link(root, port).expect("it has all links");
        (child, leaf(there))
    }));
    assert_eq!(check(&torus, &routes), Ok(()));
    let header = CollectiveHeader {
        class: 5,
        kind: RouteKind::System,
        operation: Operation::AddUnsigned,
        word_B: 8,
        delivers: Delivers::AllReduce,
        chunks: 2,
        flags: Flags::default(),
    };
    let mut list = scripts(&torus);
    for (i, &(node, route)) in routes.iter().enumerate() {
        let data: Vec<u8> = [1u64 << (4 * i), 0, 0, 0].iter().flat_map(|x| x.to_be_bytes()).collect();
        list[node as usize].routes.push((5, route));
        list[node as usize]
            .sends
            .entry(SYSTEM_COLLECTIVE)
            .or_default()
            .push_back((header.pack(), Some(data.into())));
    }
    let (arrived, links) = run_with_links(&config, &list);
    let nodes: Vec<u32> = arrived.iter().map(|a| a.0).collect();
    let mut expected: Vec<u32> = routes.iter().map(|r| r.0).collect();
    expected.sort_unstable();
    assert!(nodes == expected && nodes.contains(&io_node) && nodes.len() == 12);
    for (_, _, _, data, _) in &arrived {
        let sum = data.as_ref().map(|d| u64::from_be_bytes(d[..8].try_into().expect("eight")));
        assert_eq!(sum, Some(0x1111_1111_1111));
    }
    assert!(links.iter().all(|(_, _, counts)| counts.packets == 1), "up by one, down by the other");
}

#[test]
#[should_panic(expected = "kind: the IO link is an IO link: only system packets may use it")]
fn users_classes_may_not_use_an_io_link() {
    let (config, torus) = machine(&[2, 2, 1, 1, 1], &[2, 2, 1, 1, 1], &[&[0; 5]]);
    let mut list = scripts(&torus);
    let route = ClassRoute { kind: RouteKind::UserSubcomm, inputs: 1 << IO_PORT, output: None, local: true };
    list[0].routes.push((0, route));
    run(&config, &list, &[], 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// On any machine, packets to IO nodes, from them, and between compute nodes, system and user packets
    /// together: each arrives once, system packets of one pair in order, with the same results for any blocks
    /// and threads, also on links with bit errors.
    #[test]
    fn everything_comes_once_and_in_order(
        counts in proptest::collection::vec((1u32..3, 1u32..4), 5),
        picks in proptest::collection::vec(any::<u32>(), 1..=3),
        packets in 1u32..600,
        rate in proptest::sample::select(vec![0.0, 0.0, 1e-4]),
        seed: u64,
    ) {
        let pset: Vec<u32> = counts.iter().map(|c| c.1).collect();
        let mut dims: Vec<u32> = counts.iter().map(|c| c.0 * c.1).collect();
        while dims.iter().product::<u32>() > 128 {
            let most = (0..5).max_by_key(|&d| dims[d] / pset[d]).expect("five");
            if dims[most] == pset[most] {
                break;
            }
            dims[most] = pset[most];
        }
        let mut exits: Vec<Vec<u32>> = picks.iter().map(|&pick| {
            let mut pick = pick;
            pset.iter().map(|&l| { let x = pick % l; pick /= l; x }).collect()
        }).collect();
        exits.sort();
        exits.dedup();
        let exits: Vec<&[u32]> = exits.iter().map(|e| &e[..]).collect();
        let (mut config, torus) = machine(&dims, &pset, &exits);
        config.link.bit_error_rate = rate;
        let mut random = Stream::new(seed, 5, 5);
        let mut list = scripts(&torus);
        let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
        let mut over_io = 0;
        for i in 0..packets {
            let mut any = |n: u32| random.below(n.into()) as u32;
            let (node, other) = (any(torus.nodes()), any(torus.nodes()));
            let io_node = torus.nodes() + any(torus.io_nodes());
            let exits = torus.exits(io_node);
            let link = any(exits.len() as u32) as usize;
            // A packet's number in its length would be too short: each pair's are distinguished by their
            // order alone.
            let chunks = 1 + any(17);
            let (from, fifo, to, header) = match any(4) {
                0 => (node, SYSTEM, io_node, outward(&torus, node, exits[link], chunks)),
                1 => (io_node, SYSTEM, node, inward(&torus, io_node, link, node, chunks)),
                2 => (node, SYSTEM, other, between(&torus, node, other, chunks)),
                _ => {
                    let user = between(&torus, node, other, chunks).0 & !Header::default().of_system().0;
                    (node, i as usize % 10, other, Header(user))
                }
            };
            over_io += u64::from(from == io_node || to == io_node);
            *expected.entry(to).or_default() += 1;
            send(&mut list, from, fifo, header);
        }
        let (arrived, links) = run_with_links(&config, &list);
        let mut came: BTreeMap<u32, u64> = BTreeMap::new();
        arrived.iter().for_each(|a| *came.entry(a.0).or_default() += 1);
        prop_assert_eq!(&came, &expected);
        let crossed = links.iter().map(|l| l.2.packets).sum::<u64>();
        prop_assert!(crossed == over_io || rate > 0.0 && crossed > over_io, "{} {}", crossed, over_io);
        // On IO links all chunks are on the VCs after the users' two.
        prop_assert!(links.iter().all(|l| l.2.chunks[..2] == [0, 0]));
        let parts: Vec<u32> = dims.iter().map(|k| k.div_ceil(2)).collect();
        prop_assert_eq!(arrived, run(&config, &list, &parts, 2));
    }
}
