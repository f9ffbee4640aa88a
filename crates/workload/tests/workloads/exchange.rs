//! Faults in numbers: puts, gets and atomic operations at random at about half load, on both machines of
//! switches, while links and routers fail, lanes are lost, or bits come wrong. Whatever was issued has
//! completed, and is there byte by byte, or has been reported as failed to who issued it.

use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::config::{
    Cabling, DragonflyConfig, FailoverManager, FatTreeConfig, RandomFailures, SwitchedFaults,
    SwitchedTopology, TiledConfig,
};
use netloom_fabric::host::Host;
use netloom_fabric::router::tiled::{FaultCounts, TiledFamily, TiledNetwork};
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_nic::aries::address::Job;
use netloom_nic::aries::config::AriesConfig;
use netloom_nic::th::config::ThConfig;
use netloom_node::process::Measurement;
use netloom_workload::exchange::{Exchange, Kind};
use netloom_workload::measured::Column;
use netloom_workload::{glex, gni};
use std::sync::Arc;

/// The outcome of a run: the figures of its table by name, and the errors.
struct Outcome {
    columns: Vec<String>,
    row: Vec<f64>,
    faults: FaultCounts,
    reroutes: usize,
}

impl Outcome {
    fn of(&self, name: &str) -> f64 {
        self.row[self.columns.iter().position(|column| column == name).expect("a column")]
    }

    /// Nothing is unaccounted for, and what is said to have come has.
    fn is_true(&self) {
        let reported: Vec<_> = self.columns.iter().zip(&self.row).collect();
        assert_eq!(self.of("unaccounted"), 0.0, "{reported:?}");
        assert_eq!((self.of("missing"), self.of("wrong")), (0.0, 0.0), "{reported:?}");
        assert_eq!(self.of("issued"), self.of("completed") + self.of("reported as failed"), "{reported:?}");
        assert!(self.of("partly there") <= self.of("reported as failed"), "{reported:?}");
    }
}

type Measurements = Vec<(u32, u32, Vec<Measurement>)>;

fn run<H: Host<TiledFamily>>(
    network: &TiledConfig,
    seed: u64,
    host: impl FnMut(&[u32]) -> H,
    read: impl Fn(&H) -> (Measurements, usize),
) -> (Measurements, FaultCounts, usize) {
    let options = BuildOptions { seed, injection_fifos: 2, ..BuildOptions::default() };
    let mut network = TiledNetwork::new(network, &options, host).expect("a machine");
    assert_eq!(network.run_until(Time::at(1 << 40), 2, &Progress::default()), Reached::Idle);
    assert!(network.stall().is_none(), "{:?}", network.stall());
    let (faults, reroutes) = (network.faults(), network.overseer().done.len());
    let mut all = vec![];
    for block in network.blocks() {
        let (measurements, left) = read(block.host());
        assert_eq!(left, 0, "processes that never return");
        all.extend(measurements);
    }
    (all, faults, reroutes)
}

fn exchange(bytes: u64, interval_ns: f64) -> Exchange {
    Exchange {
        transactions: 40,
        bytes,
        interval_ns,
        outstanding: 16,
        check_at_us: 600.0,
        ..Exchange::default()
    }
}

/// Longer than all time-outs in a row.
fn mixed(kinds: &[Kind], of: Exchange) -> Exchange {
    Exchange { kinds: kinds.to_vec(), check_at_us: 3000.0, ..of }
}

const ALL: [Kind; 3] = [Kind::Put, Kind::Get, Kind::Atomic];

fn on_aries(faults: SwitchedFaults, seed: u64) -> Outcome {
    aries_does(exchange(512, 160.0), faults, seed)
}

fn aries_does(what: Exchange, faults: SwitchedFaults, seed: u64) -> Outcome {
    let mut network = TiledConfig::cray_xc(2, 1);
    network.topology = SwitchedTopology::Dragonfly(DragonflyConfig {
        nodes_per_router: 4,
        group: vec![4, 2],
        links_per_peer: vec![1, 2],
        global_ports: 2,
        groups: 4,
        cabling: Cabling::Absolute,
        cabling_seed: 0,
        cables: None,
        last_group_chassis: None,
        cooling: None,
        link_classes: vec![],
    });
    let classes = network.topology.wiring().classes().to_vec();
    network.link = classes
        .iter()
        .zip(["green", "black", "blue"])
        .map(|(c, of)| (c.clone(), network.link[of].clone()))
        .collect();
    network.faults = faults;
    let nic = AriesConfig { timeout_milliticks: 26_250_000, ..AriesConfig::cray_xc() };
    let config = gni::GniConfig::Exchange(what);
    config.check(network.topology.nodes()).expect("possible");
    let jobs: Arc<[Job]> = [gni::job(network.topology.nodes())].into();
    let ticks = network.ticks_per_second;
    let program = |g| gni::program(&config, g, ticks, 0.0);
    let nics =
        |numbers: &[u32]| netloom_messaging::gni::nics(&nic, &network, &jobs, numbers, 1, seed, program);
    let (measurements, faults, reroutes) =
        run(&network, seed, nics, |host| (host.measurements().collect(), host.unfinished().count()));
    let measured = config.measured(&measurements, ticks);
    Outcome {
        columns: measured.columns.iter().map(Column::heading).collect(),
        row: measured.rows[0].clone(),
        faults,
        reroutes,
    }
}

fn on_th(faults: SwitchedFaults, seed: u64, connect: bool) -> Outcome {
    th_does(Exchange { connect, ..exchange(1024, 180.0) }, faults, seed)
}

fn th_does(what: Exchange, faults: SwitchedFaults, seed: u64) -> Outcome {
    let mut network = TiledConfig::th_express_2(2);
    network.topology = SwitchedTopology::FatTree(FatTreeConfig {
        down: vec![8, 4, 4],
        up: vec![4, 3],
        link_classes: vec![],
    });
    network.faults = faults;
    let nic = ThConfig { timeout_milliticks: 20_000_000, ..ThConfig::th_express_2() };
    let config = glex::GlexConfig::Exchange(what);
    config.check(network.topology.nodes()).expect("possible");
    let ticks = network.ticks_per_second;
    let program = |g| glex::program(&config, g, ticks);
    let nics = |numbers: &[u32]| netloom_messaging::glex::nics(&nic, &network, numbers, 1, seed, program);
    let (measurements, faults, reroutes) =
        run(&network, seed, nics, |host| (host.measurements().collect(), host.unfinished().count()));
    let measured = config.measured(&measurements, ticks);
    Outcome {
        columns: measured.columns.iter().map(Column::heading).collect(),
        row: measured.rows[0].clone(),
        faults,
        reroutes,
    }
}

/// 1% of the links is less than one of a machine of this size: 4%.
fn failures(links: f64, degraded: f64, routers: u32) -> SwitchedFaults {
    SwitchedFaults {
        random: vec![RandomFailures { at_us: 3.0, links, degraded, routers, seed: None }],
        manager: Some(FailoverManager { notice_us: 0.5, compute_us: 1.0, drain_max_us: 50.0 }),
        ..SwitchedFaults::default()
    }
}

fn wrong_bits(rate: f64) -> SwitchedFaults {
    SwitchedFaults { bit_error_rate: rate, ..SwitchedFaults::default() }
}

#[test]
fn links_and_routers_fail_under_an_xc() {
    for seed in 1..=10 {
        let o = on_aries(failures(0.04, 0.0, 3), seed);
        o.is_true();
        // Three of 32 routers, with four nodes each.
        assert_eq!((o.of("nodes"), o.reroutes), (116.0, 1));
        assert!(o.faults.lost() > 0 && o.of("reported as failed") > 0.0);
        assert!(o.of("completed") > 0.7 * o.of("issued"), "{seed}: {:?}", o.row);
    }
}

#[test]
fn links_and_routers_fail_under_a_th() {
    for seed in 1..=10 {
        let o = on_th(failures(0.04, 0.0, 3), seed, true);
        o.is_true();
        assert!(o.faults.lost() > 0 && o.reroutes == 1);
        // Only puts to nodes that are no more fail: connections make good all else.
        let dead = 1.0 - o.of("nodes") / 128.0;
        let failed = o.of("reported as failed") / o.of("issued");
        assert!(failed <= 1.5 * dead, "{seed}: {failed} failed where {dead} of the nodes did");
    }
}

#[test]
fn without_connections_losses_are_seen_where_they_are() {
    let mut missing = 0.0;
    for seed in 1..=4 {
        let o = on_th(failures(0.04, 0.0, 0), seed, false);
        assert_eq!((o.of("unaccounted"), o.of("reported as failed")), (0.0, 0.0));
        assert!(o.of("missing") <= o.faults.lost() as f64, "{:?}", o.row);
        missing += o.of("missing");
    }
    assert!(missing > 0.0);
}

#[test]
fn wrong_bits_and_lost_lanes_cost_time_only() {
    let (mut ended_xc, mut ended_th) = (vec![], vec![]);
    for (i, rate) in [0.0, 1e-7, 1e-6, 1e-5, 1e-4].into_iter().enumerate() {
        let (xc, th) = (on_aries(wrong_bits(rate), 3), on_th(wrong_bits(rate), 3, true));
        for o in [&xc, &th] {
            o.is_true();
            assert_eq!(o.of("completed"), o.of("issued"));
            assert!((o.faults.links.corrupted_sets > 0) == (i >= 2) || i == 1, "{rate}: {:?}", o.faults);
        }
        ended_xc.push(xc.of("ended at us"));
        ended_th.push(th.of("ended at us"));
    }
    // When the last of them ends is chance where few are late.
    for ended in [ended_xc, ended_th] {
        assert!(ended[4] > 1.02 * ended[0], "{ended:?}");
    }
    for o in [on_aries(failures(0.0, 0.3, 0), 5), on_th(failures(0.0, 0.3, 0), 5, true)] {
        o.is_true();
        assert_eq!((o.of("completed"), o.reroutes), (o.of("issued"), 0));
    }
}

/// The packets' CRC detects what the links' CRC misses, since sets are checked with too few bits in this
/// test.
#[test]
fn a_packet_s_crc_finds_what_a_link_s_missed() {
    let rare = SwitchedFaults { soft_error_rate: 1e-3, soft_double_share: 0.5, ..SwitchedFaults::default() };
    let (xc, th) = (on_aries(rare.clone(), 1), on_th(rare, 1, true));
    for o in [&xc, &th] {
        o.is_true();
        assert!(o.faults.delivered_damaged > 0 && o.faults.words_corrected > 0);
    }
    // One machine reports errors to the program, the other retransmits.
    assert!(xc.of("reported as failed") > 0.0);
    assert_eq!(th.of("reported as failed"), 0.0);
}

/// Each kind is drawn about as often, and of each some complete and some fail.
fn each_has_its_share(o: &Outcome, kinds: &[&str]) {
    for kind in kinds {
        let of = |what: &str| o.of(&format!("{kind} {what}"));
        assert!(of("issued") * kinds.len() as f64 > 0.85 * o.of("issued"), "{kind}: {:?}", o.row);
        assert_eq!(of("issued"), of("completed") + of("failed"), "{kind}: {:?}", o.row);
        assert!(of("completed") > 0.6 * of("issued") && of("failed") > 0.0, "{kind}: {:?}", o.row);
    }
}

#[test]
fn gets_and_atomics_are_as_true_when_links_and_routers_fail() {
    for seed in 1..=4 {
        let xc = aries_does(mixed(&ALL, exchange(512, 160.0)), failures(0.04, 0.0, 1), seed);
        xc.is_true();
        each_has_its_share(&xc, &["puts", "gets", "atomics"]);
        let puts_and_gets = [Kind::Put, Kind::Get];
        let th = th_does(mixed(&puts_and_gets, exchange(1024, 180.0)), failures(0.04, 0.0, 3), seed);
        th.is_true();
        each_has_its_share(&th, &["puts", "gets"]);
        assert!(xc.faults.lost() > 0 && th.faults.lost() > 0);
    }
}

#[test]
fn gets_and_atomics_are_as_true_when_bits_are_wrong() {
    for rate in [1e-5, 1e-4] {
        for o in [
            aries_does(mixed(&ALL, exchange(512, 160.0)), wrong_bits(rate), 3),
            th_does(mixed(&[Kind::Put, Kind::Get], exchange(1024, 180.0)), wrong_bits(rate), 3),
        ] {
            o.is_true();
            assert!(o.faults.links.corrupted_sets > 0);
            assert!(o.of("completed") >= 0.999 * o.of("issued"), "{rate}: {:?}", o.row);
        }
    }
}

/// Packets that come damaged: data of gets among them, and the answers of atomic operations that have been
/// done.
#[test]
fn no_damaged_get_is_taken_for_whole() {
    let rare = SwitchedFaults { soft_error_rate: 1e-3, soft_double_share: 0.5, ..SwitchedFaults::default() };
    let xc = aries_does(mixed(&ALL, exchange(512, 160.0)), rare.clone(), 1);
    let th = th_does(mixed(&[Kind::Get], exchange(1024, 180.0)), rare, 1);
    xc.is_true();
    th.is_true();
    each_has_its_share(&xc, &["puts", "gets", "atomics"]);
    assert!(xc.faults.delivered_damaged > 0 && th.faults.delivered_damaged > 0);
    assert_eq!(th.of("reported as failed"), 0.0);
}

/// The loss of a get is not reported to the process that waits for it: it times out, and counts as missing.
#[test]
fn gets_without_connections_that_never_come_are_missing() {
    let gets = Exchange { connect: false, give_up_us: 40.0, ..mixed(&[Kind::Get], exchange(1024, 180.0)) };
    let whole = th_does(gets.clone(), SwitchedFaults::default(), 1);
    whole.is_true();
    assert_eq!(whole.of("completed"), 128.0 * 40.0);
    let mut missing = 0.0;
    for seed in 1..=4 {
        let o = th_does(gets.clone(), failures(0.04, 0.0, 0), seed);
        let ends = ["unaccounted", "reported as failed", "wrong"].map(|name| o.of(name));
        assert_eq!(ends, [0.0; 3], "{:?}", o.row);
        assert_eq!(o.of("issued"), o.of("completed") + o.of("missing"), "{:?}", o.row);
        assert!(o.of("missing") <= o.faults.lost() as f64, "{:?}", o.row);
        missing += o.of("missing");
    }
    assert!(missing > 0.0);
}

#[test]
fn what_a_machine_has_not_is_refused() {
    let refused = |what: Exchange| glex::GlexConfig::Exchange(what).check(128).expect_err("impossible");
    let error = refused(mixed(&ALL, Exchange::default()));
    assert_eq!(error.key, "kinds");
    assert!(error.message.contains("expected \"put\" or \"get\"") && error.message.contains("\"atomic\""));
    let error = refused(Exchange { kinds: vec![Kind::Get], connect: false, ..Exchange::default() });
    assert_eq!(error.key, "give_up_us");
    let nothing = gni::GniConfig::Exchange(Exchange { kinds: vec![], ..Exchange::default() });
    assert_eq!(nothing.check(128).expect_err("nothing to do").key, "kinds");
}
