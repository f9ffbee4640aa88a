//! Whole runs against what can be computed by hand: latency without load, loads of links, throughput where
//! something is saturated. Times are those of `docs/torus-router.md`: a hop is 17 ticks, a packet of c chunks
//! takes 32 c + 4 on a link, a token-ack 12.

use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::config::{Escape, HalfwayTie, TorusConfig};
use netloom_fabric::host::{Delivery, Family, Host, Pull, Signals};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::router::{BuildOptions, LinkCounts, RouterBlock};
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::config::FifoConfig;
use netloom_nic::fifo::FifoNic;
use netloom_workload::config::{AllToAll, Load, Routing, TrafficConfig, WorkloadConfig};
use netloom_workload::shape::Shape;
use netloom_workload::traffic::{Pattern, TorusPlan, TorusTraffic};
use std::collections::VecDeque;
use std::sync::Arc;

const HOP: u64 = 17;
const ACK: u64 = 12;
/// A full packet on a link.
const FULL: u64 = wire(8);

const fn wire(chunks: u64) -> u64 {
    32 * chunks + 4
}

/// A packet of a list: when it is made, where, and its header.
#[derive(Clone, Copy)]
struct Lone {
    made: u64,
    source: u32,
    header: Header,
}

/// Sends a list's packets from the first injection FIFO (the high-priority ones from the seventh) and
/// measurements what arrives.
struct Listed {
    numbers: Vec<u32>,
    queues: Vec<VecDeque<(u64, Lone)>>,
    /// Number of the packet in the list, node, time.
    delivered: Vec<(u64, u32, u64)>,
}

impl Listed {
    fn new(list: &[Lone], numbers: &[u32]) -> Self {
        let of = |node: u32| (0..).zip(list.iter().copied()).filter(move |(_, p)| p.source == node);
        let queues = numbers.iter().map(|&n| of(n).collect()).collect();
        Listed { numbers: numbers.to_vec(), queues, delivered: vec![] }
    }
}

impl<F: Family<Header = Header>> Host<F> for Listed {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, _: &mut Signals<F::Signal>) -> Pull {
        let queue = &mut self.queues[node as usize];
        let Some(&(number, p)) = queue.front().filter(|_| fifo == 0) else { return Pull::Empty };
        let made = Time::at(p.made);
        if made > now {
            return Pull::NotBefore(made);
        }
        queue.pop_front();
        Pull::Packet(p.header, Meta { made, source: p.source, message: [number, 0], ..Meta::default() })
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery, _: &mut Signals<F::Signal>) {
        self.delivered.push((delivery.meta.message[0], self.numbers[node as usize], now.ticks()));
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals<F::Signal>) {}
}

/// Runs a list to its end; deliveries by packet and node.
fn run_list<const P: usize>(config: &TorusConfig, list: &[Lone]) -> Vec<(u64, u32, u64)> {
    let options = BuildOptions { smallest_chunks: 1, ..BuildOptions::default() };
    let mut network =
        TorusNetwork::<_, P>::new(config, &options, |n| Listed::new(list, n)).expect("buildable");
    assert_eq!(network.run_until(Time::at(1 << 62), 1, &Progress::default()), Reached::Idle);
    assert_eq!((network.in_flight(), network.unrest()), (0, vec![]));
    let mut delivered: Vec<_> = network.blocks().flat_map(|b| b.host().delivered.clone()).collect();
    delivered.sort_unstable();
    delivered
}

/// Every node to every other, in every size, one packet at a time.
fn zero_load<const P: usize>(dims: &[u32], wrap: &[bool], change: impl Fn(&mut TorusConfig)) {
    let mut config = TorusConfig::bluegene_l(dims);
    config.topology.wrap = wrap.to_vec();
    change(&mut config);
    let torus = Torus::new(&config.topology);
    let mut list = vec![];
    for source in 0..torus.nodes() {
        for to in (0..torus.nodes()).filter(|&to| to != source) {
            let (from, to) = (torus.coordinates(source), torus.coordinates(to));
            let chunks = 1 + list.len() as u32 % 8;
            let flags = [0, Header::STATIC, Header::HIGH][list.len() / 8 % 3];
            let hints = hints::minimal(&torus, from, to, HalfwayTie::Parity);
            let made = 1000 * list.len() as u64 + list.len() as u64 % 7;
            list.push(Lone { made, source, header: Header::new(to, hints, chunks, flags) });
        }
    }
    let delivered = run_list::<P>(&config, &list);
    assert_eq!(delivered.len(), list.len());
    let mut farthest = 0;
    for (p, &(number, node, at)) in list.iter().zip(&delivered) {
        let hops = torus.distance(p.source, node);
        farthest = farthest.max(hops);
        let expected = HOP * u64::from(hops) + wire(p.header.chunks().into());
        assert_eq!(at - p.made, expected, "{dims:?} {wrap:?}: packet {number}, {hops} hops, {:?}", p.header);
    }
    let diameter = (0..torus.dimensions())
        .map(|d| if torus.wraps(d) { torus.length(d) / 2 } else { torus.length(d) - 1 });
    assert_eq!(farthest, diameter.sum::<u32>());
}

#[test]
fn a_lone_packet_takes_a_hop_s_time_a_hop_and_its_own_length() {
    zero_load::<6>(&[17], &[], |_| ());
    zero_load::<6>(&[9], &[false], |_| ());
    zero_load::<6>(&[2], &[], |_| ());
    zero_load::<6>(&[4, 3, 5], &[], |_| ());
    zero_load::<6>(&[1, 6, 2], &[true, false, true], |c| c.router.bypass = false);
    zero_load::<6>(&[3, 1, 8], &[], |c| c.router.escape = Escape::Dateline);
    zero_load::<10>(&[3, 2, 2, 2, 3], &[], |_| ());
    zero_load::<10>(&[1, 4, 3, 2, 2], &[false, true, false, false, true], |c| c.router.dynamic_vcs = 4);
}

/// One packet down a line leaves a copy at each node when it would have been the last: nothing waits for
/// anything.
#[test]
fn a_deposit_reaches_every_node_of_its_line() {
    for (dims, wrap) in [(&[8, 4, 3][..], true), (&[5, 1, 7], false)] {
        let mut config = TorusConfig::bluegene_l(dims);
        config.topology.wrap = vec![wrap; dims.len()];
        let torus = Torus::new(&config.topology);
        let (mut list, mut expected) = (vec![], vec![]);
        for port in (0..torus.ports()).filter(|&p| torus.length(p / 2) > 1) {
            for (i, flags) in [0, Header::STATIC].into_iter().enumerate() {
                // From a corner of a mesh, once around a torus except for the last link.
                let source = if wrap || port % 2 == 0 { 0 } else { torus.nodes() - 1 };
                let made = 2000 * list.len() as u64;
                let chunks = 8 - 3 * i as u32;
                let mut at = source;
                for hop in 1..torus.length(port / 2) {
                    at = torus.neighbour(at, port).expect("the line continues");
                    let time = made + HOP * u64::from(hop) + wire(chunks.into());
                    expected.push((list.len() as u64, at, time));
                }
                let header = Header::new(torus.coordinates(at), 1 << port, chunks, flags | Header::DEPOSIT);
                list.push(Lone { made, source, header });
            }
        }
        expected.sort_unstable();
        assert_eq!(run_list::<6>(&config, &list), expected, "{dims:?}");
    }
}

type Machine = TorusNetwork<FifoNic<TorusTraffic>, 6>;

fn build(
    config: &TorusConfig,
    workload: &WorkloadConfig,
    traffic: &TrafficConfig,
    nic: &FifoConfig,
) -> Machine {
    let torus = Torus::new(&config.topology);
    let pattern =
        Pattern::new(workload, &Shape::of_torus(&torus), 240, 1).expect("readable").expect("a pattern");
    let plan = Arc::new(TorusPlan::new(pattern, (workload, traffic), &config.outline(), nic, 1));
    let options = BuildOptions {
        injection_fifos: FifoNic::<TorusTraffic>::injection_fifos(nic),
        ..BuildOptions::default()
    };
    TorusNetwork::new(config, &options, |n| {
        FifoNic::new(nic, &config.outline(), n, TorusTraffic::new(&plan, n))
    })
    .expect("buildable")
}

fn delivered(network: &mut Machine) -> u64 {
    network.blocks().map(|b| b.host().software().delivered).sum()
}

/// Packets that each link carried in a run to its end, and the last packet's latency.
fn drain(
    config: &TorusConfig,
    workload: &WorkloadConfig,
    traffic: &TrafficConfig,
) -> (Vec<(u32, usize, u64)>, u64) {
    let mut network = build(config, workload, traffic, &FifoConfig::default());
    assert_eq!(network.run_until(Time::at(1 << 62), 2, &Progress::default()), Reached::Idle);
    assert_eq!((network.in_flight(), network.unrest()), (0, vec![]));
    let last = network.totals().latency.max();
    (network.links().into_iter().map(|(node, port, counts)| (node, port, counts.packets)).collect(), last)
}

fn burst(packets_per_node: Option<u64>, routing: Routing) -> TrafficConfig {
    TrafficConfig { load: Load::Burst, packets_per_node, routing, ..TrafficConfig::default() }
}

fn all_to_all() -> WorkloadConfig {
    WorkloadConfig::AllToAll(AllToAll::default())
}

/// On a ring of k nodes of a machine of N, all pairs send k/4 hops on average; N k / 8 packets cross each
/// link if half-way ties are divided evenly, as by parity.
#[test]
fn an_all_to_all_loads_links_by_the_length_of_their_dimension() {
    for dims in [[8, 8, 8], [8, 4, 4]] {
        let config = TorusConfig::bluegene_l(&dims);
        let nodes: u64 = dims.iter().map(|&k| u64::from(k)).product();
        // Fixed routes: each link's load is exact.
        let (links, _) = drain(&config, &all_to_all(), &burst(None, Routing::Static));
        for (node, port, packets) in links {
            let expected = nodes * u64::from(dims[port / 2]) / 8;
            assert_eq!(packets, expected, "{dims:?}: node {node}, port {port}");
        }
    }
    // Ways that follow the load: the sum of each direction's links is.
    for dims in [[16, 8, 8], [4, 4, 8], [5, 4, 2]] {
        let (links, _) =
            drain(&TorusConfig::bluegene_l(&dims), &all_to_all(), &burst(None, Routing::Dynamic));
        let nodes: u64 = dims.iter().map(|&k| u64::from(k)).product();
        for port in 0..6 {
            let k = u64::from(dims[port / 2]);
            let sum: u64 = links.iter().filter(|l| l.1 == port).map(|l| l.2).sum();
            let expected = if k.is_multiple_of(2) { nodes * k / 8 } else { nodes * (k * k - 1) / (8 * k) };
            let expected = if k == 2 { nodes * nodes / 4 } else { nodes * expected };
            assert_eq!(sum, expected, "{dims:?}: port {port}");
        }
    }
}

/// The packets across a cut of an open line follow from the numbers of nodes on its two sides.
#[test]
fn an_all_to_all_loads_a_mesh_in_its_middle() {
    let dims = [6, 5];
    let mut config = TorusConfig::bluegene_l(&dims);
    config.topology.wrap = vec![false, false];
    let torus = Torus::new(&config.topology);
    let (links, _) = drain(&config, &all_to_all(), &burst(None, Routing::Static));
    assert_eq!(links.len(), 2 * (5 * 5 + 6 * 4));
    for (node, port, packets) in links {
        let k = dims[port / 2];
        let at = u32::from(torus.coordinates(node)[port / 2]);
        let behind = if port % 2 == 0 { at + 1 } else { k - at };
        let expected = behind * (k - behind) * torus.nodes() / k;
        assert_eq!(packets, u64::from(expected), "node {node}, port {port}");
    }
}

/// Each link has its own packets, m of them, and the acknowledgements of its neighbour's: the second packet
/// follows at once, each later one an acknowledgement later.
#[test]
fn neighbours_exchange_at_the_full_rate_of_the_links() {
    for (dims, m) in [([4, 4, 4], 1), ([4, 4, 4], 10), ([3, 5, 4], 40)] {
        let traffic = burst(Some(6 * m), Routing::Dynamic);
        let (links, last) =
            drain(&TorusConfig::bluegene_l(&dims), &WorkloadConfig::NearestNeighbour {}, &traffic);
        assert!(links.iter().all(|l| l.2 == m), "{dims:?}");
        assert_eq!(last, (m - 1) * FULL + m.saturating_sub(2) * ACK + HOP + FULL, "{dims:?}, {m} packets");
    }
}

/// On a ring of 8, nodes 0 to 7 send over -1, -3, +3, +1, -1, -3, +3, +1 links: two flows meet on the links
/// between 3 and 4 and between 7 and 0, in both directions, and their acknowledgements with them.
#[test]
fn bit_complement_meets_in_the_middle() {
    let (m, plus) = (60, [1, 0, 1, 2, 1, 0, 1, 2]);
    for routing in [Routing::Static, Routing::Dynamic] {
        for dims in [&[8][..], &[8, 8]] {
            let config = TorusConfig::bluegene_l(dims);
            let torus = Torus::new(&config.topology);
            let (links, last) = drain(&config, &WorkloadConfig::BitComplement {}, &burst(Some(m), routing));
            let mut sums = vec![[0; 8]; torus.ports()];
            for (node, port, packets) in links {
                sums[port][usize::from(torus.coordinates(node)[port / 2])] += packets;
            }
            for (port, sums) in sums.iter().enumerate() {
                let load = |x: usize| if port % 2 == 0 { plus[x] } else { plus[7 - x] };
                let lines = u64::from(torus.nodes() / 8);
                assert_eq!(*sums, std::array::from_fn(|x| m * lines * load(x)), "{dims:?}: port {port}");
            }
            let bound = 2 * m * FULL;
            println!("{dims:?} {routing:?}: {:.3} of the bound", last as f64 / bound as f64);
            assert!(last >= bound);
        }
    }
}

/// The figures of a saturated machine over a long span.
struct Saturated {
    /// Packets delivered, a node and tick.
    rate: f64,
    /// Mean utilization of the links, all bytes counted, by port.
    utilization: Vec<f64>,
    /// Token-acks for each packet on a link.
    acks: f64,
}

fn saturate(
    config: &TorusConfig,
    workload: &WorkloadConfig,
    routing: Routing,
    nic: &FifoConfig,
) -> Saturated {
    let traffic = TrafficConfig { load: Load::Infinite, routing, ..TrafficConfig::default() };
    let mut network = build(config, workload, &traffic, nic);
    let nodes = f64::from(network.torus().nodes());
    // A smaller machine needs longer for the same number of packets.
    let (warm, span) = if nodes > 300.0 { (15_000, 25_000) } else { (60_000, 60_000) };
    network.run_until(Time::at(warm), 2, &Progress::default());
    network.restart_counting();
    let before = delivered(&mut network);
    network.run_until(Time::at(warm + span), 2, &Progress::default());
    let rate = (delivered(&mut network) - before) as f64 / (nodes * span as f64);
    let links = network.links();
    let bytes = |c: &LinkCounts| FULL * c.packets + ACK * c.acks;
    // No link does more than it can; one packet may have begun before its end.
    assert!(links.iter().all(|l| bytes(&l.2) <= span + FULL));
    let utilization = (0..network.torus().ports()).map(|port| {
        let of = links.iter().filter(|l| l.1 == port);
        of.map(|l| bytes(&l.2)).sum::<u64>() as f64 / (nodes * span as f64)
    });
    let sum = |f: fn(&LinkCounts) -> u64| links.iter().map(|l| f(&l.2)).sum::<u64>() as f64;
    Saturated { rate, utilization: utilization.collect(), acks: sum(|c| c.acks) / sum(|c| c.packets) }
}

/// A node's packets cross k/4 links of a dimension on average, and a node has two of them: 8/k packets for
/// each that a link carries. The longest dimension decides. Of unequal dimensions even dynamic routing does
/// not fill the longest: packets that still have to go along it fill the buffers of the others, too.
#[test]
fn uniform_traffic_fills_the_links_of_the_longest_dimension() {
    for (dims, least) in [([8, 8, 8], 0.97), ([16, 4, 4], 0.86)] {
        let config = TorusConfig::bluegene_l(&dims);
        let s = saturate(&config, &WorkloadConfig::Uniform {}, Routing::Dynamic, &FifoConfig::default());
        let nodes: f64 = dims.iter().map(|&k| f64::from(k)).product();
        // No node sends to itself, so zero distances do not lower the mean.
        let packets = 8.0 / f64::from(dims[0]) * (nodes - 1.0) / nodes;
        let closed = packets / (FULL as f64 + ACK as f64 * s.acks);
        println!(
            "{dims:?}: {:.4} of the closed form, links {:.3?}, {:.3} acks",
            s.rate / closed,
            s.utilization,
            s.acks
        );
        // Half a percent for the luck of the draw.
        assert!(s.rate < 1.005 * closed && s.rate > least * closed, "{dims:?}");
    }
}

/// All go k/2 - 1 hops in the plus direction: the plus links carry nothing but packets, the minus links
/// nothing but their acknowledgements.
#[test]
fn tornado_fills_one_side_of_the_rings() {
    for (dims, routing, least) in [
        (&[8][..], Routing::Static, 0.5),
        (&[8], Routing::Dynamic, 0.5),
        (&[8, 8], Routing::Static, 0.5),
        (&[8, 8], Routing::Dynamic, 0.5),
    ] {
        let config = TorusConfig::bluegene_l(dims);
        let s = saturate(&config, &WorkloadConfig::Tornado {}, routing, &FifoConfig::default());
        let closed = 1.0 / (3.0 * FULL as f64);
        println!(
            "{dims:?} {routing:?}: {:.4} of the closed form, links {:.3?}",
            s.rate / closed,
            s.utilization
        );
        // Half a percent for packets that cross the ends of the span.
        assert!(s.rate <= closed * 1.005 && s.rate > least * closed, "{dims:?} {routing:?}");
        for ring in s.utilization.chunks(2) {
            assert!((ring[1] - ring[0] * ACK as f64 / FULL as f64 * s.acks).abs() < 0.001);
        }
    }
}

/// Software that drains the reception FIFOs at `rate` bytes per tick receives packets at no higher rate.
#[test]
fn a_node_receives_no_faster_than_it_drains() {
    for rate in [0.25, 0.9] {
        let nic = FifoConfig {
            reception_fifo_B: Some(1024),
            drain_bytes_per_tick: Some(rate),
            ..FifoConfig::default()
        };
        let config = TorusConfig::bluegene_l(&[4, 4, 4]);
        let s = saturate(&config, &WorkloadConfig::Uniform {}, Routing::Dynamic, &nic);
        let closed = rate / 256.0;
        println!("{rate} B per tick: {:.4} of the closed form", s.rate / closed);
        assert!(s.rate <= closed * 1.005 && s.rate > 0.97 * closed, "{rate}");
    }
}
