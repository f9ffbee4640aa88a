//! Failures in networks of tiled routers: every packet either arrives once or is counted as lost.

use super::tiles::two_routers;
use super::traffic::{Senders, To, Traffic};
use super::{modes, small};
use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::config::{
    FailoverManager, Failure, FatTreeConfig, RandomFailures, SwitchedFaults, SwitchedTopology, TiledConfig,
};
use netloom_fabric::router::tiled::{ErrorKind, FaultCounts, FirstError, Mode, Reroute, TiledNetwork};
use netloom_fabric::router::{BuildOptions, RouterBlock};

/// The outcome of a run.
#[derive(PartialEq, Debug)]
struct Outcome {
    arrived: Vec<Vec<(u32, u32, u64)>>,
    injected: u64,
    ended: u64,
    faults: FaultCounts,
    first: Vec<FirstError>,
    reroutes: Vec<Reroute>,
}

impl Outcome {
    fn arrived(&self) -> u64 {
        self.arrived.iter().map(|node| node.len() as u64).sum()
    }
}

fn traffic(packets: u32, interval: f64) -> Traffic {
    Traffic { to: To::Anybody, mode: Mode::Adaptive0, packets, interval, flits: 14, seed: 5 }
}

fn run(config: &TiledConfig, traffic: Traffic, block: u32, threads: usize) -> Outcome {
    let nodes = config.topology.wiring().nodes();
    let options = BuildOptions { injection_fifos: 1, block: vec![block], ..BuildOptions::default() };
    let mut network = TiledNetwork::new(config, &options, |numbers| Senders::new(numbers, nodes, traffic))
        .expect("a network");
    assert_eq!(network.run_until(Time::at(100_000_000), threads, &Progress::default()), Reached::Idle);
    assert!(network.stall().is_none(), "stalled: {:?}", network.stall());
    assert_eq!(network.unrest(), Vec::<String>::new());
    let injected = network.so_far().injected;
    let (faults, first) = (network.faults(), network.first_errors());
    let reroutes = network.overseer().done.clone();
    let arrived: Vec<_> =
        network.blocks().flat_map(|block| std::mem::take(&mut block.host_mut().arrived)).collect();
    for node in &arrived {
        let mut seen: Vec<_> = node.iter().map(|a| (a.0, a.1)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), node.len(), "a packet twice");
    }
    let ended = arrived.iter().flatten().map(|a| a.2).max().unwrap_or(0);
    let o = Outcome { arrived, injected, ended, faults, first, reroutes };
    assert_eq!(o.injected, o.arrived() + o.faults.lost(), "{:?}", o.faults);
    o
}

fn random(links: f64, routers: u32, seed: u64) -> SwitchedFaults {
    SwitchedFaults {
        random: vec![RandomFailures { at_us: 2.0, links, degraded: 0.0, routers, seed: Some(seed) }],
        manager: Some(FailoverManager { notice_us: 0.5, compute_us: 0.5, drain_max_us: 20.0 }),
        ..SwitchedFaults::default()
    }
}

/// A tree of two frames' leaves, and what is above them.
fn tree() -> TiledConfig {
    let mut config = TiledConfig::th_express_2(2);
    config.topology = SwitchedTopology::FatTree(FatTreeConfig {
        down: vec![4, 4, 4],
        up: vec![3, 3],
        link_classes: vec![],
    });
    config
}

#[test]
fn wrong_bits_cost_time_and_nothing_else() {
    let mut config = small();
    let quiet = run(&config, traffic(60, 0.0), 36, 1);
    let mut ended = quiet.ended;
    for rate in [1e-6, 1e-5, 1e-4] {
        config.faults.bit_error_rate = rate;
        let o = run(&config, traffic(60, 0.0), 36, 1);
        assert_eq!(o.faults.lost(), 0);
        assert_eq!(o.arrived(), quiet.arrived());
        // Sets are as many as packets cross links, and two each.
        let sets = o.injected as f64 * 3.0 * 2.0;
        let wrong = o.faults.links.corrupted_sets as f64 / (sets * 480.0 * rate);
        assert!((0.4..1.6).contains(&wrong), "{rate}: {wrong}");
        assert!(rate < 1e-5 || o.ended > ended, "{rate}: {} after {ended}", o.ended);
        ended = o.ended;
    }
    // At this error rate a packet that is sent alone has the expected latency: that of the idle path, plus a
    // round trip per corrupted set.
    assert!(run(&config, traffic(60, 0.0), 36, 1).first.iter().any(|e| e.kind == ErrorKind::Set));
}

#[test]
fn a_link_of_fewer_lanes_is_as_much_slower() {
    let mut config = two_routers();
    config.link.values_mut().for_each(|class| class.flit_milliticks = 1111);
    let across = Traffic { to: To::Stretch { of: 8, further: 8 }, mode: Mode::Minimal, ..traffic(400, 0.0) };
    let whole = run(&config, across, 2, 1).ended as f64;
    for lanes in [2, 1] {
        config.faults.failures = vec![Failure { at_us: 0.0, router: 0, port: Some(0), lanes: Some(lanes) }];
        let ratio = run(&config, across, 2, 1).ended as f64 / whole;
        assert!((ratio * f64::from(lanes) / 3.0 - 1.0).abs() < 0.03, "{lanes} lanes: {ratio}");
    }
}

#[test]
fn links_and_routers_that_fail_are_avoided_at_once_and_then_routed_around() {
    for (mut config, links, routers) in [(small(), 0.04, 1), (tree(), 0.04, 1)] {
        let nodes = config.topology.wiring().nodes();
        for seed in 0..4 {
            config.faults = random(links, routers, seed);
            let o = run(&config, traffic(300, 60.0), 8, 2);
            assert!(o.faults.lost_on_links > 0, "{:?}", o.faults);
            let [reroute] = o.reroutes[..] else { panic!("one change of tables: {:?}", o.reroutes) };
            let us = |us: f64| (us * config.ticks_per_second as f64 / 1e6).round() as u64;
            assert_eq!(reroute.failed_at.ticks(), us(2.0));
            assert_eq!(reroute.noticed_at.ticks(), us(2.0) + us(0.5));
            assert_eq!(reroute.quiesced_at, reroute.noticed_at + us(0.5));
            assert!(reroute.released_at > reroute.quiesced_at && reroute.left == 0, "{reroute:?}");
            // Once there are new tables only packets to nodes that are no more are lost.
            let alive = (nodes - 8) as usize;
            let busy = o
                .arrived
                .iter()
                .filter(|node| node.iter().any(|a| a.2 > reroute.released_at.ticks()))
                .count();
            assert!(busy >= alive, "{busy} of {nodes} nodes hear of others after all");
            let firsts: Vec<_> = o.first.iter().map(|e| e.kind).collect();
            assert!(firsts.contains(&ErrorKind::Link), "{firsts:?}");
        }
    }
}

/// Once the tables lead around what has failed, whoever is alive reaches whoever is, however packets are
/// routed.
#[test]
fn nothing_more_is_lost_behind_new_tables() {
    let mut par = small();
    (par.router.vcs, par.router.response_vcs) = (5, false);
    for mut config in [small(), par, tree()] {
        for mode in modes(&config) {
            for seed in 0..4 {
                config.faults = random(0.04, 0, seed);
                config.faults.random[0].at_us = 0.0;
                let manager = config.faults.manager.as_mut().expect("one");
                (manager.notice_us, manager.compute_us) = (0.0, 0.0);
                let o = run(&config, Traffic { mode, ..traffic(60, 40.0) }, 8, 1);
                assert_eq!(o.faults.lost_on_links, 0, "nothing was in flight yet");
                assert_eq!(o.faults.without_route, 0, "{mode:?} {seed}");
            }
        }
    }
}

#[test]
fn without_a_manager_packets_without_a_route_are_lost_for_good() {
    let mut config = small();
    config.faults = random(0.06, 0, 1);
    config.faults.manager = None;
    let o = run(&config, Traffic { mode: Mode::Minimal, ..traffic(300, 60.0) }, 36, 1);
    assert!(o.reroutes.is_empty() && o.faults.without_route > 100, "{:?}", o.faults);
}

#[test]
fn upset_words_are_corrected_or_contained() {
    let mut config = small();
    (config.faults.soft_error_rate, config.faults.soft_double_share) = (1e-2, 0.25);
    let o = run(&config, traffic(200, 40.0), 36, 1);
    let f = o.faults;
    let all = (f.words_corrected + f.words_contained) as f64;
    assert!((f.words_contained as f64 / all - 0.25).abs() < 0.06, "{f:?}");
    // Three of fourteen flits are header.
    let header = f.without_header as f64 / f.words_contained as f64;
    assert!((header - 3.0 / 14.0).abs() < 0.1, "{f:?}");
    assert!(f.delivered_damaged <= f.words_contained - f.without_header && f.delivered_damaged > 0);
    assert_eq!(f.lost(), f.without_header);
}

#[test]
fn faults_do_not_depend_on_blocks_or_threads() {
    for mut config in [small(), tree()] {
        config.faults = random(0.05, 1, 7);
        (config.faults.bit_error_rate, config.faults.soft_error_rate) = (1e-5, 1e-3);
        config.faults.random[0].degraded = 0.1;
        config.faults.soft_double_share = 0.5;
        let expected = run(&config, traffic(100, 30.0), 1000, 1);
        assert!(expected.faults.lost() > 0 && expected.faults.links.corrupted_sets > 0);
        for (block, threads) in [(4, 1), (4, 2), (1, 3), (7, 2)] {
            let found = run(&config, traffic(100, 30.0), block, threads);
            assert!(found == expected, "in blocks of {block} on {threads} threads");
        }
    }
}
