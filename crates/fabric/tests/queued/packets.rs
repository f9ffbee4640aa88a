//! Blue Gene/Q's routers: general properties for any machine and traffic, and each mechanism alone.

use crate::traffic::crowd::crowd;
use crate::traffic::script::{Packet, ScriptHost};
use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::config::*;
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::packet::Header;
use netloom_fabric::router::queued::{CounterMasks, PortCounters, QueuedFamily, QueuedNetwork, QueuedSignal};
use netloom_fabric::router::{BuildOptions, LinkCounts, RouterBlock, Totals, WindowRecord};
use netloom_fabric::topology::torus::Torus;
use proptest::prelude::*;
use std::collections::HashMap;

/// A Blue Gene/Q without traces and link chips, so that a hop is 320 ticks.
fn machine(dims: &[u32], wrap: &[bool]) -> QueuedConfig {
    let mut config = QueuedConfig::bluegene_q(dims);
    config.link.link_chip_ticks = 0;
    config.topology.wrap = wrap.into();
    config.link.trace_ticks.clear();
    config
}

/// Time of a packet of `chunks` on a link, ticks.
fn wire(chunks: u32) -> u64 {
    4 * u64::from(32 * chunks + 8)
}

struct Outcome {
    delivered: Vec<(u64, u32, u64)>,
    links: Vec<(u32, usize, LinkCounts)>,
    totals: Totals,
    windows: Vec<WindowRecord>,
}

/// A run to its end, with checks of the general properties.
fn run(config: &QueuedConfig, list: &[Packet], block: &[u32], threads: usize) -> Outcome {
    let counters = Some(CounterMasks::default());
    let options =
        BuildOptions { block: block.to_vec(), injection_fifos: 16, counters, ..BuildOptions::default() };
    let mut network = QueuedNetwork::new(config, &options, |n| ScriptHost::new(&config.topology, list, n))
        .expect("buildable");
    assert_eq!(network.run_until(Time::at(1 << 40), threads, &Progress::default()), Reached::Idle);
    assert_eq!((network.stall(), network.in_flight()), (None, 0));
    assert_eq!(network.unrest(), Vec::<String>::new());
    check_counters(&mut network);
    let mut delivered: Vec<_> = network.blocks().flat_map(|b| b.host().delivered.clone()).collect();
    delivered.sort_unstable();
    Outcome { delivered, links: network.links(), totals: network.totals(), windows: network.windows() }
}

/// The machine's own counters against the simulator's measurements: chunks by link, and by Little's law the
/// waiting time of packets. It is exact once all packets have left.
fn check_counters(network: &mut QueuedNetwork<ScriptHost>) {
    let (counters, links) = (network.counters(), network.links());
    assert_eq!(counters.len(), links.len());
    let (mut packets, mut queued) = (0, 0);
    for ((_, _, counts), (node, port, link)) in counters.iter().zip(&links) {
        let [user, system, ..] = counts.chunks;
        assert_eq!(user + system, link.chunks.iter().sum::<u64>(), "node {node} port {port}");
        (packets, queued) = (packets + counts.packets, queued + counts.queued);
    }
    assert_eq!(packets, links.iter().map(|l| l.2.packets).sum::<u64>());
    let waits = network.totals().waits;
    let waited: f64 = waits.iter().map(|w| w.mean() * w.count() as f64).sum();
    assert!((waited - queued as f64).abs() < 1e-9 * waited + 0.5, "{waited} {queued}");
}

fn one(source: u32, destination: u32) -> Packet {
    Packet { source, destination, chunks: 17, ..Packet::default() }
}

/// Every node to every other, one at a time: hops, wires and the packet's own length.
#[test]
fn latency_without_load() {
    let mut config = machine(&[4, 3, 2, 1, 2], &[true, false, true, true, true]);
    config.link.trace_ticks = vec![43, 0, 10, 0, 64];
    (config.link.midplane, config.link.link_chip_ticks) = (vec![2, 3, 2, 1, 2], 700);
    let torus = Torus::new(&config.topology);
    let pairs = (0..torus.nodes()).flat_map(|a| (0..torus.nodes()).map(move |b| (a, b)));
    let list: Vec<Packet> = pairs
        .filter(|(a, b)| a != b)
        .enumerate()
        .map(|(i, (a, b))| Packet {
            made: 20_000 * i as u64 + i as u64 % 37,
            chunks: 1 + i as u32 % 17,
            flags: [0, Header::STATIC, Header::HIGH][i % 3],
            system: i % 7 == 0,
            ..one(a, b)
        })
        .collect();
    let outcome = run(&config, &list, &[], 1);
    for (p, &(_, node, at)) in list.iter().zip(&outcome.delivered) {
        let (mut from, to) = (torus.coordinates(p.source), torus.coordinates(node));
        let mut path = 0;
        for d in 0..5 {
            let k = torus.length(d);
            while from[d] != to[d] {
                let up = (u32::from(to[d]) + k - u32::from(from[d])) % k;
                // Both directions are equally long only for two hops in the ring of four: they cross one
                // cable each.
                let minus = if torus.wraps(d) { 2 * up > k } else { to[d] < from[d] };
                let next = torus.step(from[d], 2 * d + usize::from(minus)).expect("inside");
                // The links between the midplanes of the first dimension join 1 and 2, 3 and 0.
                let cable = d == 0 && matches!((from[d].min(next), from[d].max(next)), (1, 2) | (0, 3));
                path += 320 + u64::from(config.link.trace_ticks[d]) + if cable { 700 } else { 0 };
                from[d] = next;
            }
        }
        assert_eq!(at, p.made + path + wire(p.chunks), "{p:?}");
    }
}

/// Once each, over the minimum number of links; fixed routes in order.
fn check(config: &QueuedConfig, list: &[Packet], outcome: &Outcome) {
    let torus = Torus::new(&config.topology);
    assert_eq!(outcome.delivered.len(), list.len());
    assert_eq!(outcome.totals.latency.count(), list.len() as u64);
    let mut hops = 0;
    let mut last: HashMap<_, u64> = HashMap::new();
    for (i, (p, &(number, node, at))) in list.iter().zip(&outcome.delivered).enumerate() {
        assert_eq!((number, node), (i as u64, p.destination));
        let distance = torus.distance(p.source, node);
        hops += u64::from(distance);
        assert!(at >= p.made + 320 * u64::from(distance) + wire(p.chunks), "faster than light");
        if p.flags != 0 || p.system {
            let before = last.insert((p.source, node, p.flags, p.system), at);
            assert!(before.is_none_or(|b| b < at), "packet {i} {p:?} at {at} overtook one at {before:?}");
        }
    }
    assert_eq!(outcome.links.iter().map(|l| l.2.packets).sum::<u64>(), hops);
}

fn machines() -> impl Strategy<Value = QueuedConfig> {
    let dimensions = proptest::collection::vec((1u32..=4, any::<bool>()), 1..=5);
    let few = |shape: &Vec<(u32, bool)>| (2..=64).contains(&shape.iter().map(|d| d.0).product::<u32>());
    let router = (1u32..=7, 17u32..=126, 2u32..=7, 1u32..=4, any::<bool>(), 1u32..20, any::<bool>());
    (dimensions.prop_filter("small", few), router).prop_map(|(shape, r)| {
        let dims: Vec<u32> = shape.iter().map(|d| d.0).collect();
        let mut config = machine(&dims, &shape.iter().map(|d| d.1).collect::<Vec<_>>());
        let router = &mut config.router;
        (router.queues, router.dynamic_vc_B, router.slots, router.paths) = (r.0, 32 * r.1, r.2, r.3);
        router.direction_choice = if r.4 { DirectionChoice::Jsq } else { DirectionChoice::Random };
        router.through_per_injection = r.5;
        let letters: String = LETTERS.chars().take(dims.len()).collect();
        router.dimension_order = r.6.then(|| letters.chars().rev().collect());
        config
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_machine_under_any_traffic(
        config in machines(),
        each in 1u32..120,
        seed in any::<u64>(),
        block in proptest::collection::vec(1u32..=3, 5),
    ) {
        config.check().expect("only machines that can be built");
        let list = crowd(config.topology.dims.iter().product(), each, seed);
        let outcome = run(&config, &list, &[4; 5], 1);
        check(&config, &list, &outcome);
        let again = run(&config, &list, &block, 2);
        prop_assert!(again.delivered == outcome.delivered, "blocks of {:?}", block);
        prop_assert!(again.links == outcome.links && again.totals == outcome.totals);
        prop_assert!(again.windows == outcome.windows);
    }
}

/// A packet in one queue waits for a link; one behind it, for another link, does not wait if there is a
/// second queue.
#[test]
fn queues_do_not_block_one_another() {
    // Along a line to node 1, whose next link is kept busy by node 1 itself; then down to its reception FIFO.
    let mut config = machine(&[4], &[false]);
    let mut list: Vec<Packet> = (0..8).map(|_| Packet { flags: Header::STATIC, ..one(1, 2) }).collect();
    list.push(Packet { made: 100, flags: Header::STATIC, ..one(0, 3) });
    list.push(Packet { made: 101, flags: Header::STATIC, ..one(0, 1) });
    // Injection has priority as long as it has packets.
    config.router.through_per_injection = 1;
    list.extend((0..40).map(|_| Packet { flags: Header::STATIC, fifo: 3, ..one(1, 2) }));
    let arrival = |queues: u32, config: &QueuedConfig| {
        let mut config = config.clone();
        config.router.queues = queues;
        let delivered = run(&config, &list, &[], 1).delivered;
        (delivered[8].2, delivered[9].2)
    };
    let (onward, local) = arrival(7, &config);
    assert!(local < onward, "{local} {onward}");
    let (onward_alone, local_alone) = arrival(1, &config);
    assert!(local_alone > local && onward_alone >= onward, "{local_alone} {local}");
}

/// Zone masks restrict dynamic packets to an order of dimensions; without them they take any free one.
#[test]
fn zones_constrain_the_order_of_dimensions() {
    let config = machine(&[4, 4], &[]);
    let turns = |zone: u8, zones: Option<Vec<Vec<String>>>| {
        let mut config = config.clone();
        // Escaping packets keep to the same order.
        config.router.dimension_order = zones.as_ref().map(|z| z[0].concat());
        config.router.zones = zones;
        // From one node to another that is one hop away in both dimensions.
        let list: Vec<Packet> = (0..40).map(|i| Packet { fifo: 1 + i % 9, zone, ..one(0, 5) }).collect();
        let links = run(&config, &list, &[], 1).links;
        // Packets that went along x first.
        links.iter().find(|l| l.0 == 0 && l.1 == 0).expect("a link").2.packets
    };
    let sets = |text: &[&str]| vec![text.iter().map(|&s| s.to_owned()).collect::<Vec<_>>()];
    assert_eq!(turns(0, Some(sets(&["x", "y"]))), 40);
    assert_eq!(turns(0, Some(sets(&["y", "x"]))), 0);
    let both = turns(0, Some(sets(&["xy"])));
    assert!((10..=30).contains(&both), "{both}");
    // The firmware's own: alike dimensions together in zones 0 and 1, one by one in zone 2.
    assert!((10..=30).contains(&turns(0, None)) && (10..=30).contains(&turns(1, None)));
    assert_eq!(turns(2, None), 40);
}

/// The sets of dimensions that the firmware makes.
#[test]
fn zones_of_the_firmware() {
    let masks = |dims: &[u32], wrap: &[bool]| machine(dims, wrap).zone_masks();
    let large = masks(&[16, 16, 12, 12, 2], &[]);
    assert_eq!(large[0], [0b00011, 0b01100, 0b10000]);
    assert_eq!(large[1], [0b11111]);
    assert_eq!(large[2], [1, 2, 4, 8, 16]);
    assert_eq!(large[3], [17, 18, 20, 24, 16]);
    // A mesh of six is as long as a torus of twelve, and comes first.
    assert_eq!(machine(&[12, 6, 2], &[true, false, true]).dimension_order(), [1, 0, 2]);
}

/// System packets overtake high-priority packets, and these user packets.
#[test]
fn senders_have_priorities() {
    let config = machine(&[3], &[false]);
    let mut list: Vec<Packet> = (0..30).map(|i| Packet { fifo: i % 3, ..one(0, 2) }).collect();
    list.push(Packet { made: 9_000, fifo: 12, flags: Header::HIGH, ..one(0, 2) });
    list.push(Packet { made: 9_000, fifo: 13, system: true, ..one(0, 2) });
    let delivered = run(&config, &list, &[], 1).delivered;
    let [high, system] = [30, 31].map(|i| delivered[i].2);
    assert!(system < high, "{system} {high}");
    // Each waits for one packet at most at each of its two links.
    assert!(system < 9_000 + 640 + 3 * wire(17) + 1_000, "{system}");
    assert!(delivered[..30].iter().filter(|d| d.2 > high).count() > 20);
}

/// If both want a link, this number of packets pass through for each injected one.
#[test]
fn through_traffic_and_injection_share_by_the_ratio() {
    for ratio in [1, 3, 16] {
        let mut config = machine(&[3], &[false]);
        config.router.through_per_injection = ratio;
        let of = |source| (0..200).map(move |i| Packet { fifo: i % 4, ..one(source, 2) });
        let list: Vec<Packet> = of(0).chain(of(1)).collect();
        let delivered = run(&config, &list, &[], 1).delivered;
        // While both have packets: up to the arrival of the last one that passed through.
        let end = delivered[..200].iter().map(|d| d.2).max().expect("some");
        let injected = delivered[200..].iter().filter(|d| d.2 < end).count() as f64;
        let expected = 200.0 / f64::from(ratio);
        assert!(
            (injected / expected - 1.0).abs() < 0.1 || (injected - expected).abs() < 3.0,
            "{ratio}: {injected}"
        );
    }
}

/// A packet broadcast along a line leaves a copy at each node on it.
#[test]
fn deposit_down_a_line() {
    let config = machine(&[5, 2], &[false, true]);
    let list = [Packet { flags: Header::STATIC | Header::DEPOSIT, ..one(0, 4) }];
    let delivered = run(&config, &list, &[], 1).delivered;
    let nodes: Vec<u32> = delivered.iter().map(|d| d.1).collect();
    assert_eq!(nodes, [1, 2, 3, 4]);
    assert!(delivered.windows(2).all(|w| w[1].2 == w[0].2 + 320));
}

/// A node's packets to itself use the local FIFOs and no link.
#[test]
fn local_packets_touch_no_link() {
    let config = machine(&[2, 2], &[]);
    let outcome = run(&config, &[one(3, 3), one(3, 3)], &[], 1);
    assert!(outcome.links.iter().all(|l| l.2.packets == 0));
    assert_eq!(outcome.delivered.iter().map(|d| d.2).collect::<Vec<_>>(), [wire(17), 2 * wire(17)]);
}

#[test]
fn impossible_values_are_named() {
    let wrong = |change: fn(&mut QueuedConfig)| {
        let mut config = machine(&[4, 4, 2], &[]);
        change(&mut config);
        config.check().expect_err("impossible").to_string()
    };
    assert!(wrong(|c| c.router.queues = 8).starts_with("router.queues: expected 1 to 7"));
    assert!(wrong(|c| c.router.slots = 1).starts_with("router.slots"));
    assert!(
        wrong(|c| c.router.dynamic_vc_B = 500)
            .starts_with("router.dynamic_vc_B: expected a multiple of 32 B")
    );
    assert!(wrong(|c| c.router.dimension_order = Some("xyy".into())).contains("each letter of \"xyz\" once"));
    let cannot = wrong(|c| c.router.zones = Some(vec![vec!["xy".into()]]));
    assert!(cannot.starts_with("router.zones") && cannot.contains("could not arrive"), "{cannot}");
    assert!(wrong(|c| c.router.zones = Some(vec![vec!["xya".into()]])).contains("in zone 0"));
    assert!(
        wrong(|c| c.link.trace_ticks = vec![1]).starts_with("link.trace_ticks: expected a value for each")
    );
}

/// All nodes of a ring send half-way around it at the same time, with minimum buffer space. Without the
/// bubble rule every place is taken by a packet that waits for the next.
#[test]
fn the_bubble_keeps_a_ring_going() {
    let mut config = machine(&[9], &[true]);
    (config.router.slots, config.router.through_per_injection) = (2, 1);
    let to = |source: u32| (source + 4) % 9;
    let list: Vec<Packet> = (0..9)
        .flat_map(|source| (0..60).map(move |i| (source, i)))
        .map(|(source, i)| Packet { fifo: i % 10, flags: Header::STATIC, ..one(source, to(source)) })
        .collect();
    assert_eq!(run(&config, &list, &[], 1).delivered.len(), list.len());
}

/// Each sender has four counters and each receiver two, for the VCs that they are programmed for.
#[test]
fn counters_count_what_they_are_programmed_for() {
    let config = machine(&[4], &[false]);
    let kinds = [(0, false), (Header::STATIC, false), (Header::HIGH, false), (0, true)];
    let list: Vec<Packet> = kinds
        .iter()
        .enumerate()
        .map(|(i, &(flags, system))| Packet {
            flags,
            system,
            chunks: 1 << i,
            made: 50_000 * i as u64,
            ..one(0, 2)
        })
        .collect();
    let masks = CounterMasks { sender: [0b0001, 0b0110, 0b1000, 0b1111], receiver: 0b0010 };
    let options = BuildOptions { injection_fifos: 16, counters: Some(masks), ..BuildOptions::default() };
    let mut network = QueuedNetwork::new(&config, &options, |n| ScriptHost::new(&config.topology, &list, n))
        .expect("buildable");
    network.run_until(Time::at(1 << 40), 1, &Progress::default());
    let of = |list: &[(u32, usize, PortCounters)], node, port| {
        list.iter().find(|c| (c.0, c.1) == (node, port)).expect("a link").2
    };
    let counters = network.counters();
    // The dynamic packet of one chunk; the deterministic and the high one, of two and four; the system's of
    // eight; all.
    assert_eq!(of(&counters, 0, 0).chunks, [1, 6, 8, 15]);
    // Node 1 got them through its port in the minus direction: the deterministic one is counted.
    assert_eq!((of(&counters, 1, 1).packets, of(&counters, 1, 0).packets), (1, 0));
    network.restart_counting();
    assert!(network.counters().iter().all(|c| c.2 == PortCounters::default()));
}

/// Its nodes have room for one packet in a reception FIFO, and empty it this many ticks later.
struct Slow(ScriptHost);

const EMPTIED_AFTER: u64 = 50_000;

impl Host<QueuedFamily> for Slow {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, signals: &mut Signals<QueuedSignal>) -> Pull {
        Host::<QueuedFamily>::pull(&mut self.0, now, node, fifo, signals)
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery, signals: &mut Signals<QueuedSignal>) {
        Host::<QueuedFamily>::deliver(&mut self.0, now, node, delivery, signals);
        signals.reception(node, delivery.port, false, false);
        signals.wake(node, now + EMPTIED_AFTER, delivery.port as u32);
    }

    fn wake(&mut self, _: Time, node: u32, token: u32, signals: &mut Signals<QueuedSignal>) {
        signals.reception(node, token as usize, false, true);
    }
}

/// Packets wait until their reception FIFO has room, and move then, though nothing else happens at the node.
#[test]
fn a_full_reception_fifo_holds_packets_until_it_has_room() {
    let config = machine(&[2, 1, 1, 1, 1], &[false; 5]);
    let list = vec![one(0, 1); 3];
    let mut network = QueuedNetwork::new(&config, &BuildOptions::default(), |n| {
        Slow(ScriptHost::new(&config.topology, &list, n))
    })
    .expect("buildable");
    assert_eq!(network.run_until(Time::at(1 << 40), 1, &Progress::default()), Reached::Idle);
    let delivered: Vec<u64> =
        network.blocks().flat_map(|b| b.host().0.delivered.clone()).map(|(_, _, at)| at).collect();
    let first = 320 + wire(17);
    let later = |n: u64| first + n * (EMPTIED_AFTER + wire(17));
    assert_eq!(delivered, [first, later(1), later(2)]);
}
