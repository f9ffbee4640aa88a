//! Traffic on the simulated torus, through its network interfaces.

use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::config::TorusConfig;
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_fabric::topology::torus::Torus;
use netloom_nic::config::{Dealing, FifoConfig, NodeMode};
use netloom_nic::fifo::FifoNic;
use netloom_workload::config::{AllToAll, Load, Priority, Routing, TrafficConfig, WorkloadConfig};
use netloom_workload::shape::Shape;
use netloom_workload::traffic::{Pattern, TorusPlan, TorusTraffic};
use std::sync::Arc;

/// An all-to-all on a machine.
fn pattern(config: &TorusConfig) -> Pattern {
    let shape = Shape::of_torus(&Torus::new(&config.topology));
    Pattern::new(&all_to_all(), &shape, 240, 1).expect("readable").expect("a pattern")
}

type Outcome = (u64, u64, u64);

/// Runs traffic to its end: packets and payload delivered, and when it ended.
fn drain(
    dims: &[u32],
    workload: &WorkloadConfig,
    traffic: &TrafficConfig,
    nic: &FifoConfig,
    options: BuildOptions,
    threads: usize,
) -> Outcome {
    let config = TorusConfig::bluegene_l(dims);
    let torus = Torus::new(&config.topology);
    let pattern =
        Pattern::new(workload, &Shape::of_torus(&torus), 240, 1).expect("readable").expect("a pattern");
    let plan = Arc::new(TorusPlan::new(pattern, (workload, traffic), &config.outline(), nic, 1));
    let options = BuildOptions { injection_fifos: FifoNic::<TorusTraffic>::injection_fifos(nic), ..options };
    let mut network = TorusNetwork::<_, 6>::new(&config, &options, |n| {
        FifoNic::new(nic, &config.outline(), n, TorusTraffic::new(&plan, n))
    })
    .expect("buildable");
    assert_eq!(network.run_until(Time::at(50_000_000), threads, &Progress::default()), Reached::Idle);
    assert_eq!(network.in_flight(), 0, "{:?}", network.stall());
    assert_eq!(network.unrest(), Vec::<String>::new());
    let now = network.now().ticks();
    let latencies = network.totals().latency;
    let sums = network.blocks().map(|b| b.host().software());
    let (packets, bytes) = sums.fold((0, 0), |s, h| (s.0 + h.delivered, s.1 + h.payload_bytes));
    // Acknowledgements of windows are packets, too; those that are forwarded are counted once.
    match nic.window_packets {
        Some(_) => assert!(latencies.count() >= packets),
        None => {
            assert_eq!((latencies.count(), network.so_far().delivered), (packets, packets));
        }
    }
    if traffic.priority == Priority::Normal && traffic.high_fraction == 0.0 {
        assert_eq!(network.so_far().chunks_by_vc[3], 0, "on the high-priority VC");
    }
    (packets, bytes, now)
}

fn all_to_all() -> WorkloadConfig {
    WorkloadConfig::AllToAll(AllToAll::default())
}

/// Rows, then planes: on a torus four times as long in x, packets of x no longer
/// wait behind others. Each packet is counted where it ends, whatever the threads.
#[test]
fn an_all_to_all_in_two_phases_delivers_each_packet_once_and_sooner() {
    let burst = TrafficConfig { load: Load::Burst, ..TrafficConfig::default() };
    let in_phases = |first_phase: &str, nic: &FifoConfig, threads: usize| {
        let all = AllToAll { first_phase: first_phase.into(), ..AllToAll::default() };
        let options = BuildOptions { block: vec![4, 4, 4], ..BuildOptions::default() };
        drain(&[16, 4, 4], &WorkloadConfig::AllToAll(all), &burst, nic, options, threads)
    };
    let fifo = FifoConfig::default();
    let (direct, rows) = (in_phases("", &fifo, 2), in_phases("x", &fifo, 2));
    assert_eq!(rows, in_phases("x", &fifo, 1));
    assert_eq!((rows.0, rows.1), (256 * 255, direct.1));
    assert!((rows.2 as f64) < 0.95 * direct.2 as f64, "{} and {}", rows.2, direct.2);
    let virtual_node = FifoConfig { mode: NodeMode::VirtualNode, ..fifo.clone() };
    let slow = FifoConfig { reception_fifo_B: Some(1024), drain_bytes_per_tick: Some(0.7), ..fifo };
    for nic in [virtual_node, slow] {
        assert_eq!(in_phases("zy", &nic, 2).0, 256 * 255, "{nic:?}");
    }
}

#[test]
fn every_kind_of_interface_delivers_an_all_to_all() {
    let burst = TrafficConfig { load: Load::Burst, ..TrafficConfig::default() };
    let fifo = FifoConfig::default();
    let variants = [
        ("endless", fifo.clone()),
        ("finite injection", FifoConfig { injection_fifo_B: Some(1024), ..fifo.clone() }),
        ("virtual node", FifoConfig { mode: NodeMode::VirtualNode, ..fifo.clone() }),
        (
            "slow drain",
            FifoConfig { reception_fifo_B: Some(1024), drain_bytes_per_tick: Some(0.7), ..fifo.clone() },
        ),
        ("by direction", FifoConfig { dealing: Dealing::FirstDirection, ..fifo.clone() }),
        (
            "by direction, virtual node",
            FifoConfig { dealing: Dealing::FirstDirection, mode: NodeMode::VirtualNode, ..fifo.clone() },
        ),
        (
            "by direction, finite",
            FifoConfig { dealing: Dealing::FirstDirection, injection_fifo_B: Some(1024), ..fifo.clone() },
        ),
        ("window", FifoConfig { window_packets: Some(4), ..fifo.clone() }),
        ("window and finite", FifoConfig { window_packets: Some(4), injection_fifo_B: Some(512), ..fifo }),
    ];
    let mut ends = vec![];
    for (name, nic) in variants {
        let (packets, bytes, end) = drain(
            &[4, 4, 4],
            &all_to_all(),
            &burst,
            &nic,
            BuildOptions { smallest_chunks: 1, ..BuildOptions::default() },
            2,
        );
        println!("{name}: {end} ticks");
        assert_eq!((packets, bytes), (64 * 63, 64 * 63 * 240), "{name}");
        ends.push(end);
    }
    // A node that takes its packets slowly is the bottleneck: 63 packets of 256 B at 0.7 B per tick.
    assert!(ends[3] as f64 > 63.0 * 256.0 / 0.7 && ends[0] < 13_000, "{ends:?}");
}

/// The outcome does not depend on threads or blocks: the whole of `totals`, `windows` and `links`.
#[test]
fn threads_and_blocks_do_not_matter() {
    for seed in [1, 2] {
        let run = |threads: usize, block: &[u32]| {
            let config = TorusConfig::bluegene_l(&[8, 4, 4]);
            let nic = FifoConfig { window_packets: Some(20), ..FifoConfig::default() };
            let pattern = pattern(&config);
            let traffic = TrafficConfig { high_fraction: 0.1, ..TrafficConfig::default() };
            let plan =
                Arc::new(TorusPlan::new(pattern, (&all_to_all(), &traffic), &config.outline(), &nic, seed));
            let options =
                BuildOptions { seed, block: block.to_vec(), smallest_chunks: 1, ..BuildOptions::default() };
            let mut network = TorusNetwork::<_, 6>::new(&config, &options, |n| {
                FifoNic::new(&nic, &config.outline(), n, TorusTraffic::new(&plan, n))
            })
            .expect("buildable");
            network.run_until(Time::at(15_000), threads, &Progress::default());
            (network.windows(), network.links(), network.totals())
        };
        let expected = run(1, &[8, 4, 4]);
        assert!(expected.0[0].delivered > 1000);
        for (threads, block) in
            [(1, [4, 4, 4]), (2, [4, 4, 4]), (4, [2, 4, 4]), (2, [3, 3, 1]), (4, [8, 4, 4])]
        {
            assert!(run(threads, &block) == expected, "{threads} threads, blocks of {block:?}, seed {seed}");
        }
    }
}

#[test]
fn a_relay_sends_on_by_the_second_leg_alone() {
    // Here some first legs are static and second ones are not: a packet that stayed static would wait at a
    // dead node for ever.
    let mut config = TorusConfig::bluegene_l(&[8, 8, 8]);
    config.topology.dead_nodes = vec![vec![2, 0, 6], vec![1, 6, 6]];
    let nic = FifoConfig::default();
    for routing in [Routing::Dynamic, Routing::Static] {
        let pattern = pattern(&config);
        let traffic = TrafficConfig { routing, ..TrafficConfig::default() };
        let plan = Arc::new(TorusPlan::new(pattern, (&all_to_all(), &traffic), &config.outline(), &nic, 1));
        let mut network = TorusNetwork::<_, 6>::new(&config, &BuildOptions::default(), |n| {
            FifoNic::new(&nic, &config.outline(), n, TorusTraffic::new(&plan, n))
        })
        .expect("buildable");
        assert_eq!(network.run_until(Time::at(50_000_000), 2, &Progress::default()), Reached::Idle);
        assert_eq!(network.stall(), None, "{routing:?}");
        let planner = netloom_nic::detour::planner(&config.outline()).expect("something is dead");
        let fixed = routing == Routing::Static;
        let pairs = (0..512).flat_map(|a| (0..512).map(move |b| (a, b))).filter(|(a, b)| a != b);
        let within_reach = pairs.filter(|&(a, b)| planner.plan_for(a, b, fixed).is_some()).count() as u64;
        let delivered: u64 = network.blocks().map(|b| b.host().software().delivered).sum();
        assert_eq!(delivered, within_reach, "{routing:?}");
        assert!(fixed || delivered == 510 * 509);
    }
}

/// With dead nodes, an all-to-all of the others completes: packets are routed around dead nodes or
/// relayed.
#[test]
fn an_all_to_all_goes_round_dead_nodes() {
    let mut config = TorusConfig::bluegene_l(&[4, 4, 4]);
    config.topology.dead_nodes = vec![vec![0, 0, 0], vec![1, 1, 0], vec![2, 3, 1]];
    for nic in [FifoConfig::default(), FifoConfig { injection_fifo_B: Some(1024), ..FifoConfig::default() }] {
        let pattern = pattern(&config);
        let traffic = TrafficConfig { high_fraction: 0.2, ..TrafficConfig::default() };
        let plan = Arc::new(TorusPlan::new(pattern, (&all_to_all(), &traffic), &config.outline(), &nic, 1));
        let run = |threads, block: &[u32]| {
            let options = BuildOptions { block: block.to_vec(), ..BuildOptions::default() };
            let mut network = TorusNetwork::<_, 6>::new(&config, &options, |n| {
                FifoNic::new(&nic, &config.outline(), n, TorusTraffic::new(&plan, n))
            })
            .expect("buildable");
            assert_eq!(network.run_until(Time::at(50_000_000), threads, &Progress::default()), Reached::Idle);
            assert_eq!(network.in_flight(), 0, "{:?}", network.stall());
            assert_eq!(network.unrest(), Vec::<String>::new());
            let delivered: u64 = network.blocks().map(|b| b.host().software().delivered).sum();
            (delivered, network.totals(), network.links())
        };
        let outcome = run(1, &[4, 4, 4]);
        // Three of the 63 destinations of each of the 61 others are dead.
        assert_eq!(outcome.0, 61 * 60);
        // Arrival at a relay is no delivery.
        assert_eq!(outcome.1.latency.count(), 61 * 60);
        assert!(run(2, &[2, 4, 2]) == outcome);
    }
}
