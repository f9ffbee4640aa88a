//! Collective operations in the network: every node gets the right result once, whatever the trees, the
//! operations, the other traffic, the blocks and the threads; at the speed of the logic.

use crate::traffic::scripted::{Arrival, Script, build, run};
use netloom_engine::{Progress, Stream, Time};
use netloom_fabric::collective::route::{Rectangle, check};
use netloom_fabric::collective::{
    ByteOrder, ClassRoute, CollectiveHeader, Delivers, Flags, Operation, RouteKind, combine,
};
use netloom_fabric::config::{QueuedConfig, SoftError};
use netloom_fabric::packet::{Data, Header};
use netloom_fabric::router::RouterBlock;
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

fn torus_of(config: &QueuedConfig) -> Torus {
    Torus::new(&config.topology)
}

fn header(class: u8, operation: Operation, delivers: Delivers, bytes: u32) -> CollectiveHeader {
    CollectiveHeader {
        class,
        kind: RouteKind::UserSubcomm,
        operation,
        word_B: 8,
        delivers,
        chunks: 1 + bytes.div_ceil(32),
        flags: Flags::default(),
    }
}

const USER: usize = 14;
const SYSTEM: usize = 15;

fn shape() -> impl Strategy<Value = QueuedConfig> {
    let rate = proptest::sample::select(vec![0.0, 0.0, 1e-5, 1e-4, 3e-4]);
    (proptest::collection::vec(1u32..5, 5), any::<bool>(), 1u32..8, rate).prop_map(
        |(mut dims, wrap, slots, rate)| {
            while dims.iter().product::<u32>() > 96 {
                *dims.iter_mut().max().expect("five") -= 1;
            }
            let mut config = QueuedConfig::bluegene_q(&dims);
            config.topology.wrap = vec![wrap; 5];
            config.router.slots = slots.max(2);
            config.link.bit_error_rate = rate;
            config
        },
    )
}

/// Random words of eight bytes: small whole numbers as doubles where doubles are added, so that sums are
/// exact.
fn words(operation: Operation, bytes: u32, seed: u64) -> Data {
    let mut random = Stream::new(seed, 3, 3);
    let word = |r: &mut Stream| match operation.is_double() {
        true => (r.below(1 << 40) as f64 - (1u64 << 39) as f64).to_be_bytes(),
        false => (r.below(u64::MAX)).to_be_bytes(),
    };
    (0..bytes / 8).flat_map(|_| word(&mut random)).collect::<Vec<u8>>().into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// On any machine, trees over any boxes, several classes at the same time, all operations and kinds, with
    /// point-to-point traffic: each node that is to get a result gets it once, and it is that of one
    /// combination of all contributions; the same for any blocks and threads.
    #[test]
    fn all_nodes_receive_the_result_once(
        config in shape(),
        corners in proptest::collection::vec((any::<[u8; 5]>(), any::<[u8; 5]>(), any::<[u8; 5]>(), 0usize..12, 0u8..3), 1..4),
        rounds in 1usize..5,
        beside in 0usize..20,
        seed: u64,
        block in proptest::collection::vec(1u32..4, 5),
    ) {
        let torus = torus_of(&config);
        let inside = |c: &[u8; 5]| -> [u8; 5] { std::array::from_fn(|d| (u32::from(c[d]) % torus.length(d)) as u8) };
        let mut scripts = vec![Script::default(); torus.nodes() as usize];
        let mut expected: BTreeMap<(u32, u8), Vec<Option<Data>>> = BTreeMap::new();
        // Trees that cross share buffers, and may block each other permanently if one node gets far ahead:
        // with errors, and if a buffer cannot hold all packets that may arrive.
        let held = config.router.slots as usize / rounds;
        let trees = if config.link.bit_error_rate > 0.0 { 1 } else { corners.len().min(held).max(1) };
        for (class, (a, b, root, operation, how)) in corners[..trees].iter().enumerate() {
            let (a, b) = (inside(a), inside(b));
            let rectangle = Rectangle {
                low: std::array::from_fn(|d| a[d].min(b[d])),
                high: std::array::from_fn(|d| a[d].max(b[d])),
            };
            let clamp = |c: [u8; 5]| std::array::from_fn(|d| c[d].clamp(rectangle.low[d], rectangle.high[d]));
            let root = clamp(inside(root));
            let operation = Operation::ALL[*operation];
            let members: Vec<u32> = (0..torus.nodes()).filter(|&n| rectangle.contains(torus.coordinates(n))).collect();
            let routes: Vec<_> = members
                .iter()
                .map(|&n| (n, rectangle.route(&torus, root, torus.coordinates(n), RouteKind::UserSubcomm).expect("inside")))
                .collect();
            prop_assert_eq!(check(&torus, &routes), Ok(()));
            for &(n, route) in &routes {
                scripts[n as usize].routes.push((class, route));
            }
            for round in 0..rounds {
                let delivers = match how {
                    0 => Delivers::Broadcast,
                    1 => Delivers::AllReduce,
                    _ => Delivers::Reduce(clamp(a)),
                };
                let bytes = [8, 512, 64, 200][round % 4];
                let header = header(class as u8, operation, delivers, bytes);
                let from = |n: u32| words(operation, bytes, seed ^ u64::from(n) << 8 ^ (round as u64) << 40 ^ (class as u64) << 50);
                let senders = if delivers == Delivers::Broadcast { &members[round % members.len()..][..1] } else { &members[..] };
                for &n in senders {
                    scripts[n as usize].sends.entry(USER).or_default().push_back((header.pack(), Some(from(n))));
                }
                let all: Vec<_> = senders.iter().map(|&n| (header, Some(from(n)))).collect();
                let mut result = combine(&all[..1], ByteOrder::Big);
                for one in &all[1..] {
                    result = combine(&[(result.header, result.data), one.clone()], ByteOrder::Big);
                }
                for &n in &members {
                    if !matches!(delivers, Delivers::Reduce(to) if torus.node(to) != n) {
                        expected.entry((n, class as u8)).or_default().push(result.data.clone());
                    }
                }
            }
        }
        let mut random = Stream::new(seed, 9, 9);
        for n in 0..torus.nodes() {
            for _ in 0..beside {
                let to = random.below(torus.nodes().into()) as u32;
                let (from, at) = (torus.coordinates(n), torus.coordinates(to));
                if to != n {
                    let hints = hints::minimal(&torus, from, at, config.router.halfway_tie);
                    let packet = Header::new(at, hints, 1 + random.below(17) as u32, 0);
                    scripts[n as usize].sends.entry(random.below(3) as usize).or_default().push_back((packet, None));
                }
            }
        }
        let arrived = run(&config, &scripts, &block, 1);
        let mut got: BTreeMap<(u32, u8), Vec<Option<Data>>> = BTreeMap::new();
        for (node, port, header, data, _) in &arrived {
            if let Some(header) = CollectiveHeader::unpack(*header) {
                prop_assert_eq!(*port, USER);
                prop_assert!(!header.flags.mismatch && !header.flags.nan);
                got.entry((*node, header.class)).or_default().push(data.clone());
            }
        }
        // Broadcasts of several senders overtake each other where they meet.
        let sorted = |mut all: BTreeMap<(u32, u8), Vec<Option<Data>>>| {
            all.values_mut().for_each(|list| list.sort());
            all
        };
        prop_assert_eq!(sorted(got), sorted(expected));
        prop_assert_eq!(run(&config, &scripts, &[9; 5], 2), arrived);
    }
}

/// All nodes of a machine, one class route over it, each with a number of packets of the operation.
fn whole(config: &QueuedConfig, header: CollectiveHeader, packets: usize) -> Vec<Script> {
    let torus = torus_of(config);
    let rectangle = Rectangle::whole(&torus);
    (0..torus.nodes())
        .map(|n| {
            let route = rectangle.route(&torus, rectangle.middle(), torus.coordinates(n), header.kind);
            Script {
                routes: vec![(header.class.into(), route.expect("all are in it"))],
                sends: [(USER, vec![(header.pack(), None); packets].into())].into(),
            }
        })
        .collect()
}

/// The time of one packet on an idle machine: levels of the tree up and down, the delay of the logic at each
/// node, and the packet itself.
#[test]
fn a_short_operation_takes_its_levels() {
    for dims in [[1, 1, 1, 1, 2], [1, 1, 2, 2, 2], [2, 2, 2, 2, 2], [4, 2, 4, 2, 2], [4, 4, 4, 4, 2]] {
        let config = QueuedConfig::bluegene_q(&dims);
        let torus = torus_of(&config);
        let depth = u64::from(Rectangle::whole(&torus).depth(&torus, Rectangle::whole(&torus).middle()));
        let (hop, packet) = (320 + 43, 4 * (2 * 32 + 8));
        for (operation, delivers, up) in [
            (Operation::AddDouble, Delivers::AllReduce, 9 * 16),
            (Operation::MaxSigned, Delivers::AllReduce, 7 * 16),
        ] {
            let arrived = run(&config, &whole(&config, header(0, operation, delivers, 8), 1), &[4; 5], 1);
            let last = arrived.iter().map(|a| a.4).max().expect("all");
            assert_eq!(last, depth * (2 * hop + up + 48) + up + 48 + packet, "{dims:?} {operation:?}");
        }
    }
}

/// One number may stand for a tree in each plane of the machine, all active at the same time without
/// affecting one another (section II.C).
#[test]
fn each_plane_has_a_tree_of_its_own() {
    let config = QueuedConfig::bluegene_q(&[4, 4, 3, 1, 2]);
    let torus = torus_of(&config);
    let header = header(7, Operation::AddUnsigned, Delivers::AllReduce, 8);
    let planes = |only: Option<u32>| -> Vec<Script> {
        let script = |n: u32| {
            let at = torus.coordinates(n);
            if only.is_some_and(|z| z != u32::from(at[2]) + 3 * u32::from(at[4])) {
                return Script::default();
            }
            let plane = Rectangle { low: [0, 0, at[2], 0, at[4]], high: [3, 3, at[2], 0, at[4]] };
            let route = plane.route(&torus, plane.middle(), at, RouteKind::UserSubcomm).expect("inside");
            let data: Data = u64::from(n).to_be_bytes().as_slice().into();
            Script {
                routes: vec![(7, route)],
                sends: [(USER, vec![(header.pack(), Some(data)); 3].into())].into(),
            }
        };
        (0..torus.nodes()).map(script).collect()
    };
    let all = run(&config, &planes(None), &[4; 5], 1);
    assert_eq!(all.len(), 96 * 3);
    for (node, _, _, data, _) in &all {
        let at = torus.coordinates(*node);
        let sum: u64 = (0..4)
            .flat_map(|x| (0..4).map(move |y| (x, y)))
            .map(|(x, y)| u64::from(torus.node([x, y, at[2], 0, at[4]])))
            .sum();
        assert_eq!(data.as_deref(), Some(&sum.to_be_bytes()[..]), "node {node}");
    }
    // A plane takes as long alone as with all others.
    let alone = run(&config, &planes(Some(4)), &[4; 5], 1);
    let same: Vec<_> = all.into_iter().filter(|a| alone.iter().any(|b| a.0 == b.0)).collect();
    assert_eq!(same, alone);
}

/// Many packets follow one another at the rate of up-tree: "up to 86%" of the raw rate in data.
#[test]
fn long_operations_run_at_86_percent() {
    let config = QueuedConfig::bluegene_q(&[2, 2, 2, 2, 2]);
    let time = |packets| {
        let scripts = whole(&config, header(0, Operation::AddDouble, Delivers::AllReduce, 512), packets);
        run(&config, &scripts, &[4; 5], 1).iter().map(|a| a.4).max().expect("all")
    };
    let each = (time(300) - time(100)) as f64 / 200.0 / 8.0;
    let share = 512.0 / each / 2.0;
    assert!((0.85..=0.8605).contains(&share), "{each} ns per packet, {share}");
}

/// A sum is the same bit for bit in every run on a class route, whatever the other traffic and the blocks of
/// the machine; on another tree it may differ.
#[test]
fn sums_are_reproducible() {
    let config = QueuedConfig::bluegene_q(&[3, 4, 2, 2, 2]);
    let torus = torus_of(&config);
    let sum = |root: [u8; 5], noise: u64, block: &[u32]| {
        let rectangle = Rectangle::whole(&torus);
        let header = header(3, Operation::AddDouble, Delivers::AllReduce, 512);
        let scripts: Vec<Script> = (0..torus.nodes())
            .map(|n| {
                let at = torus.coordinates(n);
                let mut random = Stream::new(5, 5, n.into());
                let value =
                    |r: &mut Stream| (r.below(1 << 53) as f64 * 2f64.powi(r.below(40) as i32)).to_be_bytes();
                let data: Vec<u8> = (0..64).flat_map(|_| value(&mut random)).collect();
                let mut script = Script {
                    routes: vec![(
                        3,
                        rectangle.route(&torus, root, at, RouteKind::UserSubcomm).expect("inside"),
                    )],
                    sends: [(USER, vec![(header.pack(), Some(data.into()))].into())].into(),
                };
                let mut random = Stream::new(noise, 6, n.into());
                for _ in 0..noise * 5 {
                    let to = torus.coordinates(random.below(torus.nodes().into()) as u32);
                    let hints = hints::minimal(&torus, at, to, config.router.halfway_tie);
                    if to != at {
                        script.sends.entry(1).or_default().push_back((Header::new(to, hints, 17, 0), None));
                    }
                }
                script
            })
            .collect();
        let arrived = run(&config, &scripts, block, 1);
        let results: Vec<Data> = arrived.into_iter().filter(|a| a.1 == USER).filter_map(|a| a.3).collect();
        assert_eq!(results.len(), torus.nodes() as usize);
        assert!(results.iter().all(|r| *r == results[0]), "one result for all");
        Arc::clone(&results[0])
    };
    let first = sum([1, 1, 0, 0, 0], 0, &[9; 5]);
    assert_eq!(sum([1, 1, 0, 0, 0], 3, &[2, 2, 1, 1, 1]), first);
    assert_eq!(sum([1, 1, 0, 0, 0], 7, &[1, 3, 2, 2, 2]), first);
    assert_ne!(sum([0, 3, 1, 1, 1], 0, &[9; 5]), first, "other trees drop other bits");
}

/// Errors at one node are reported to all.
#[test]
fn flags_reach_every_node() {
    let config = QueuedConfig::bluegene_q(&[4, 2, 2]);
    for (operation, bad, flags) in [
        (Operation::AddDouble, f64::NAN.to_bits(), Flags { nan: true, ..Flags::default() }),
        (Operation::AddSigned, i64::MAX as u64, Flags { overflow: true, ..Flags::default() }),
    ] {
        let mut scripts = whole(&config, header(1, operation, Delivers::AllReduce, 8), 1);
        for (n, script) in scripts.iter_mut().enumerate() {
            let word = if n == 7 { bad } else { 1 };
            script.sends.get_mut(&USER).expect("one")[0].1 = Some(word.to_be_bytes().as_slice().into());
        }
        let arrived = run(&config, &scripts, &[2; 3], 1);
        let reported: Vec<Flags> =
            arrived.iter().filter_map(|a| Some(CollectiveHeader::unpack(a.2)?.flags)).collect();
        assert_eq!(reported, vec![flags; 16]);
    }
}

/// The system's operations have priority over the user's where both wait, and use separate injection and
/// reception FIFOs.
#[test]
fn the_system_comes_first() {
    let mut config = QueuedConfig::bluegene_q(&[4, 1, 1]);
    config.topology.wrap = vec![false; 3];
    let user = header(0, Operation::Or, Delivers::AllReduce, 512);
    let mut scripts = whole(&config, user, 40);
    let system = CollectiveHeader { class: 15, kind: RouteKind::System, ..user };
    for (n, script) in whole(&config, system, 5).into_iter().enumerate() {
        let [(class, route)] = script.routes[..] else { panic!("one route") };
        scripts[n].routes.push((class, route));
        scripts[n].sends.insert(SYSTEM, script.sends[&USER].clone());
    }
    let arrived = run(&config, &scripts, &[4; 3], 1);
    let last = |fifo| arrived.iter().filter(|a| a.1 == fifo).map(|a| a.4).max().expect("some");
    let count = |fifo| arrived.iter().filter(|a| a.1 == fifo).count();
    assert_eq!((count(USER), count(SYSTEM)), (160, 20));
    // Five of forty-five: with equal turns they would be done after ten, with system priority a little after
    // five.
    assert!(last(SYSTEM) < last(USER) * 9 / 45, "{} of {}", last(SYSTEM), last(USER));
}

/// A broadcast down two links gets both, though point-to-point packets would take each as it becomes free: it
/// claims them.
#[test]
fn links_are_claimed() {
    let mut config = QueuedConfig::bluegene_q(&[3, 1, 1]);
    config.topology.wrap = vec![false; 3];
    let mut scripts = whole(&config, header(0, Operation::Or, Delivers::AllReduce, 8), 20);
    // From end to end, in both directions, through the root in the middle: packets of all sizes, so that its
    // links are never free together.
    let mut random = Stream::new(1, 2, 3);
    for (from, to, hints) in [(0, 2, 1), (2, 0, 2)] {
        for _ in 0..500 {
            let packet = Header::new([to, 0, 0, 0, 0], hints, 9 + random.below(9) as u32, 0);
            scripts[from].sends.entry(1).or_default().push_back((packet, None));
        }
    }
    let arrived = run(&config, &scripts, &[3; 3], 1);
    let last = |is: fn(usize) -> bool| arrived.iter().filter(|a| is(a.1)).map(|a| a.4).max().expect("some");
    let (collective, all) = (last(|fifo| fifo == USER), last(|fifo| fifo != USER));
    // A twentieth of the time; if every link were taken as it becomes free, a seventh.
    assert!(collective < all / 10, "{collective} of {all}");
}

/// A packet that waits for a link is passing through the logic when the link becomes free, whether or not the
/// node has another event then.
#[test]
fn a_link_is_taken_as_it_becomes_free() {
    let mut config = QueuedConfig::bluegene_q(&[3, 1, 1]);
    config.topology.wrap = vec![false; 3];
    let torus = torus_of(&config);
    let header = header(0, Operation::Or, Delivers::AllReduce, 8);
    let mut scripts: Vec<Script> = (0..3)
        .map(|n| {
            let route = Rectangle::whole(&torus).route(&torus, [0; 5], torus.coordinates(n), header.kind);
            Script {
                routes: vec![(0, route.expect("all are in it"))],
                sends: [(USER, vec![(header.pack(), None)].into())].into(),
            }
        })
        .collect();
    // The middle node sends a full packet to the root while it waits for the other end's.
    scripts[1].sends.insert(1, [(Header::new([0; 5], 2, 17, 0), None)].into());
    let arrived = run(&config, &scripts, &[3; 3], 1);
    let at_root = arrived.iter().find(|a| a.0 == 0 && a.1 == USER).expect("it came").4;
    // Behind that packet and a gap, a hop, up-tree and ALUs and down-tree at the root, and the packet itself.
    assert_eq!(at_root, 2208 + 96 + 363 + (48 + 64 + 48) + 288);
}

/// A node that is the root of one tree gets its turn, though broadcasts of two others keep its down-tree
/// logic busy.
#[test]
fn a_root_is_fair_to_other_trees() {
    let mut config = QueuedConfig::bluegene_q(&[5, 1, 1]);
    config.topology.wrap = vec![false; 3];
    let torus = torus_of(&config);
    let asks = |class, delivers| header(class, Operation::Or, delivers, 512);
    let whole = Rectangle::whole(&torus);
    let inner = Rectangle { low: [1, 0, 0, 0, 0], high: [3, 0, 0, 0, 0] };
    let script = |n: u32| {
        let at = torus.coordinates(n);
        // Sums among the three in the middle, with the root in the centre; broadcasts from either end.
        let trees = [(inner, 2), (whole, 4), (whole, 0)];
        let route = |(class, (box_, root)): (usize, (Rectangle, u8))| {
            Some((class, box_.route(&torus, [root, 0, 0, 0, 0], at, RouteKind::UserSubcomm)?))
        };
        let own = match n {
            0 => vec![(asks(2, Delivers::Broadcast).pack(), None); 200],
            4 => vec![(asks(1, Delivers::Broadcast).pack(), None); 200],
            _ => vec![(asks(0, Delivers::AllReduce).pack(), None); 20],
        };
        let routes = trees.into_iter().enumerate().filter_map(route).collect();
        Script { routes, sends: [(USER, own.into())].into() }
    };
    let arrived = run(&config, &(0..5).map(script).collect::<Vec<_>>(), &[5; 3], 1);
    let last = |class: u8| {
        let of = |a: &&Arrival| CollectiveHeader::unpack(a.2).is_some_and(|h| h.class == class);
        arrived.iter().filter(of).map(|a| a.4).max().expect("some")
    };
    assert!(last(0) < last(1) / 2, "{} of {}", last(0), last(1));
}

/// A VC is one queue: a packet behind one that waits for its link comes to its head when that one has been
/// read, though down-tree reads the first and up-tree the second.
#[test]
fn a_vc_is_read_packet_by_packet() {
    let mut config = QueuedConfig::bluegene_q(&[3, 2, 1]);
    config.topology.wrap = vec![false; 3];
    let header = |class| header(class, Operation::Or, Delivers::Broadcast, 512).pack();
    let route = |inputs, output| ClassRoute { kind: RouteKind::UserSubcomm, inputs, output, local: true };
    let mut scripts = vec![Script::default(); 6];
    // One class leads from node 0 down to 1 and 4, the other from 0 up through 1 to 2.
    scripts[0].routes = vec![(1, route(1 << 0, None)), (2, route(0, Some(0)))];
    scripts[1].routes = vec![(1, route(1 << 2, Some(1))), (2, route(1 << 1, Some(0)))];
    scripts[4].routes = vec![(1, route(0, Some(3)))];
    scripts[2].routes = vec![(2, route(1 << 1, None))];
    scripts[0].sends.insert(USER, [(header(1), None), (header(2), None)].into());
    // The first finds the link from 1 to 4 busy until 2208, and may follow after 2304.
    scripts[1].sends.insert(1, [(Header::new([1, 1, 0, 0, 0], 4, 17, 0), None)].into());
    let arrived = run(&config, &scripts, &[3; 3], 1);
    let at = |node, class| {
        let is_it = |a: &&Arrival| CollectiveHeader::unpack(a.2).is_some_and(|h| h.class == class);
        arrived.iter().filter(is_it).find(|a| a.0 == node).expect("it came").4
    };
    let (full, gap, hop) = (2208, 96, 363);
    assert_eq!(at(4, 1), full + gap + hop + 48 + full);
    // Read from 48 before the link is free until 4464; then up-tree, a hop, and both at the root.
    assert_eq!(at(2, 2), full + gap - 48 + full + 48 + hop + 2 * 48 + full);
}

/// A missing contribution leaves the others waiting, and the report shows where.
#[test]
fn a_missing_contribution_is_reported() {
    let config = QueuedConfig::bluegene_q(&[4, 1, 1]);
    let mut scripts = whole(&config, header(2, Operation::Or, Delivers::AllReduce, 8), 1);
    scripts[3].sends.clear();
    let mut network = build(&config, &scripts, &[]);
    network.run_until(Time::at(1 << 30), 1, &Progress::default());
    let stall = network.stall().expect("they wait");
    assert!(stall.waiting.iter().any(|w| w.source == 2 || w.source == 1), "{stall:?}");
    assert!(!network.unrest().is_empty());
}

/// A receiver with an uncorrectable error contributes to no sum: no node gets a wrong result, or any result.
#[test]
fn a_double_soft_error_stops_a_sum() {
    let mut config = QueuedConfig::bluegene_q(&[4, 1, 1]);
    config.topology.wrap = vec![false; 3];
    let scripts = whole(&config, header(2, Operation::Or, Delivers::AllReduce, 8), 3);
    // Node 0 is below node 1: its second packet is the second that the receiver reads.
    let error = SoftError { node: vec![1, 0, 0], direction: "-x".into(), packet: 2, bits: 2 };
    config.router.soft_errors = vec![error];
    let mut network = build(&config, &scripts, &[]);
    network.run_until(Time::at(1 << 30), 1, &Progress::default());
    let stopped: Vec<_> = network.stopped().iter().map(|s| (s.node, s.port, s.source)).collect();
    assert_eq!(stopped, [(1, 1, 0)]);
    assert!(network.stall().is_some());
    assert_eq!(
        network.blocks().map(|b| b.host().arrived.len()).sum::<usize>(),
        4,
        "the first sum, at all four"
    );
}

#[test]
#[should_panic(expected = "node 1: class route 4: kind: class 4 and class 14 are the system's")]
fn system_and_commworld_may_not_share_a_link() {
    let config = QueuedConfig::bluegene_q(&[4, 1, 1]);
    let mut scripts = vec![Script::default(); 4];
    let route = |kind| ClassRoute { kind, inputs: 1 << 1, output: Some(0), local: true };
    scripts[1].routes = vec![(14, route(RouteKind::System)), (4, route(RouteKind::UserCommworld))];
    run(&config, &scripts, &[4; 3], 1);
}
