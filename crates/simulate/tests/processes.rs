//! A machine that several processes simulate, or that is simulated in several parts with checkpoints between
//! them: the result is that of one, whatever the machine. The processes are threads here, which exchange the
//! same bytes.

mod common;

use common::MACHINES;
use netloom_engine::ThreadPeers;
use netloom_simulate::{Distributed, Fabric};
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::resolve::{ResolvedStudy, load, resolve};
use netloom_study::result::{Ended, RunResult};
use netloom_study::run::{Checkpoints, Quiet, Simulate};
use netloom_study::study::Until;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn study(name: &str, sets: &[&str]) -> ResolvedStudy {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    load(name, &sets).unwrap()
}

/// What each of several processes finds.
fn spread(study: &ResolvedStudy, processes: usize, threads: usize) -> Vec<Result<RunResult, Problem>> {
    among(processes, |simulator| simulator.simulate(study, &Quiet(&AtomicBool::new(false)), threads))
}

fn among<T: Send>(processes: usize, run: impl Fn(Distributed) -> T + Sync) -> Vec<T> {
    let run = &|peers: ThreadPeers| run(Distributed(Arc::new(peers)));
    std::thread::scope(|scope| {
        let all = ThreadPeers::all(processes).into_iter();
        let running: Vec<_> = all.map(|peers| scope.spawn(move || run(peers))).collect();
        running.into_iter().map(|of| of.join().unwrap()).collect()
    })
}

/// A result without what depends on the computer.
fn of_machine(result: RunResult) -> RunResult {
    RunResult { host: Default::default(), ..result }
}

/// Compares a run of one process with those of two and of four.
fn check(study: &ResolvedStudy) {
    check_with(study, &[(2, 2), (4, 1)]);
}

/// Compares a run of one process with those of several, each on so many threads.
fn check_with(study: &ResolvedStudy, others: &[(usize, usize)]) {
    let one = of_machine(Fabric.simulate(study, &Quiet(&AtomicBool::new(false)), 1).unwrap());
    assert!(one.totals.packets_delivered > 100, "{} packets", one.totals.packets_delivered);
    for &(processes, threads) in others {
        for (rank, result) in spread(study, processes, threads).into_iter().enumerate() {
            compare(&one, result.unwrap(), &format!("process {rank} of {processes}"));
        }
    }
}

fn compare(one: &RunResult, other: RunResult, what: &str) {
    let [own, one] = [of_machine(other), one.clone()].map(|of| format!("{of:#?}"));
    let differs = own.lines().zip(one.lines()).find(|(own, one)| own != one);
    assert!(own == one, "{what}: {differs:?}");
}

/// The same, and with a run in parts.
fn check_all(study: &ResolvedStudy) {
    check(study);
    check_in_parts(study);
}

/// A run in parts: it is stopped at once, continues to the half if its end is a time, and then on other
/// threads and processes to the end.
fn check_in_parts(study: &ResolvedStudy) {
    let one = of_machine(Fabric.simulate(study, &Quiet(&AtomicBool::new(false)), 1).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("checkpoint");
    let checkpoints = Checkpoints { file: file.clone(), every: Duration::from_secs(3600) };
    let part = |study: &ResolvedStudy, threads: usize, stop: bool| {
        Fabric.run(study, Some(&checkpoints), &Quiet(&AtomicBool::new(stop)), threads).unwrap()
    };
    let begun = part(study, 1, true);
    assert_eq!(begun.simulated.ended, Ended::Interrupted);
    let mut half = study.clone();
    half.study.measure.time_us = half.study.measure.time_us.map(|us| us / 2.0);
    if half.study.measure.time_us.is_some() {
        let half = part(&half, 2, false);
        // When it was stopped depends on the computer.
        assert!(half.simulated.ticks >= begun.simulated.ticks && half.simulated.ticks < one.simulated.ticks);
    }
    let bytes = std::fs::read(&file).unwrap();
    let rest = among(4, |simulator| {
        simulator.run(study, Some(&checkpoints), &Quiet(&AtomicBool::new(false)), 1).unwrap()
    });
    rest.into_iter().for_each(|rest| compare(&one, rest, "the last part in four processes"));
    // What is written in the last window is before it is known that it is the last.
    if study.study.measure.until() == Until::Converged {
        std::fs::write(&file, &bytes).unwrap();
        let each = Checkpoints { every: Duration::ZERO, ..checkpoints.clone() };
        Fabric.run(study, Some(&each), &Quiet(&AtomicBool::new(false)), 1).unwrap();
        compare(&one, part(study, 1, false), "from the last window");
    }
    std::fs::write(&file, bytes).unwrap();
    compare(&one, part(study, 2, false), "the last part");
}

const SHORT: [&str; 6] = [
    "measure={}",
    "measure.until=time",
    "measure.time_us=30",
    "measure.warmup_us=10",
    "measure.window_us=5",
    "measure.per_link=true",
];

#[test]
fn bluegene_l() {
    let errors = ["topology.dims=[4,4,4]", "link.bit_error_rate=1e-5"];
    check_all(&study("all-to-all", &[&["topology.dims=[8,4,4]"], &SHORT[..]].concat()));
    check_all(&study("all-to-all", &[&errors, &SHORT[..]].concat()));
    // Each decides alike when it ends.
    let ends = ["topology.dims=[4,4,4]", "measure={}", "measure.until=converged", "measure.window_us=2"];
    check_all(&study("all-to-all", &ends));
    let ends = ["topology.dims=[4,4,4]", "measure={}", "measure.until=finished", "traffic.load=burst"];
    check_all(&study("all-to-all", &[&ends[..], &["traffic.packets_per_node=50"]].concat()));
}

#[test]
fn blue_gene_q() {
    let sets = ["machine=bgq", "set={}", "topology.dims=[4,4,2,2,2]", "measure.counters=true"];
    check_all(&study("all-to-all", &[&SHORT[..], &sets].concat()));
}

/// A third of [`SHORT`]: their windows of few ticks make processes wait for each other often.
const SHORTER: [&str; 3] = ["measure.time_us=10", "measure.warmup_us=4", "measure.window_us=2"];

#[test]
fn cray_xc_and_th_express() {
    let load = ["traffic={}", "traffic.load.GB_per_s=2.0", "measure.reordering=true"];
    let xc = ["machine=xc", "set={}", "topology.groups=4", "topology.cables=4"];
    let th = ["machine=th-express-2", "set={}"];
    check_all(&study("all-to-all", &[&SHORT[..], &SHORTER, &xc, &load].concat()));
    check_all(&study("all-to-all", &[&SHORT[..], &SHORTER, &th, &load].concat()));
}

/// What else a run changes: packets in finite FIFOs, windows of nodes, relays, errors of many kinds, failures
/// and the tables that lead around them, delays of credits, jobs, what is noted for a timeline.
#[test]
fn all_state_is_in_a_checkpoint() {
    let small = ["topology.dims=[4,4,4]"];
    let fifos = ["nic.injection_fifo_B=1024", "nic.reception_fifo_B=2048", "nic.window_packets=8"];
    check_in_parts(&study("all-to-all", &[&SHORT[..], &SHORTER, &small, &fifos].concat()));
    let dead = ["topology.dead_nodes=[[1,0,0],[2,2,1]]", "timeline={}"];
    check_in_parts(&study("all-to-all", &[&SHORT[..], &SHORTER, &small, &dead].concat()));
    let bgq = ["machine=bgq", "set={}", "topology.dims=[4,2,2,2,2]", "link.bit_error_rate=2e-6"];
    let soft = ["router.soft_error_rate=1e-10"];
    check_in_parts(&study("all-to-all", &[&SHORT[..], &SHORTER, &bgq, &soft].concat()));
    let load = ["traffic={}", "traffic.load.GB_per_s=2.0"];
    let xc = ["machine=xc", "set={}", "topology.groups=4", "topology.cables=4"];
    let faults = [
        "faults.random=[{at_us=1.0,links=0.02,routers=2}]",
        "faults.manager={notice_us=0.5,compute_us=0.5,drain_max_us=2.0}",
        "faults.bit_error_rate=1e-6",
        "faults.soft_error_rate=1e-4",
    ];
    check_in_parts(&study("all-to-all", &[&SHORT[..], &SHORTER, &xc, &load, &faults].concat()));
    let shorter = ["measure.time_us=2", "measure.warmup_us=1", "measure.window_us=0.5"];
    check_in_parts(&study("jobs/placements", &[&["sweep={}"], &shorter[..]].concat()));
    let credits = ["machine=dragonfly", "set={}", "routing.credit_round_trip=true"];
    let load = ["traffic={}", "traffic.load.flits_per_ns=0.2", "traffic.packet_flits=1"];
    check_in_parts(&study("all-to-all", &[&SHORT[..], &credits, &load, &shorter].concat()));
}

/// Processes that have nothing to simulate take part all the same, and the first may be one of them.
#[test]
fn more_processes_than_blocks() {
    let load = ["traffic={}", "traffic.load.GB_per_s=2.0", "measure.time_us=10", "measure.warmup_us=4"];
    let xc = ["machine=xc", "set={}", "topology.groups=4", "topology.cables=4"];
    let study = study("all-to-all", &[&SHORT[..], &xc, &load].concat());
    let one = of_machine(Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 1).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints { file: folder.path().join("checkpoint"), every: Duration::MAX };
    let part = |simulator: &dyn Simulate, us: f64| {
        let mut part = study.clone();
        part.study.measure.time_us = Some(us);
        simulator.run(&part, Some(&checkpoints), &Quiet(&AtomicBool::new(false)), 1).unwrap()
    };
    part(&Fabric, 2.0);
    among(12, |simulator| part(&simulator, 6.0));
    compare(&one, part(&Fabric, 10.0), "after twelve processes with eight blocks");
}

/// What one process finds ends all, whichever it is.
#[test]
fn processes_agree_on_a_checkpoint() {
    let study = study("all-to-all", &[&["topology.dims=[4,4,4]"], &SHORT[..]].concat());
    let folder = tempfile::tempdir().unwrap();
    let [all, other] = ["all", "other"].map(|name| folder.path().join(name));
    let run = |simulator: &dyn Simulate, file: &Path| {
        let checkpoints = Checkpoints { file: file.into(), every: Duration::MAX };
        simulator.run(&study, Some(&checkpoints), &Quiet(&AtomicBool::new(false)), 1)
    };
    run(&Fabric, &all).unwrap();
    let missing = folder.path().join("no folder").join("file");
    std::fs::write(&other, "something else").unwrap();
    for (odd, file, expected) in [
        (1, folder.path().join("none"), "is not the same file for all processes"),
        (1, other.clone(), "is no checkpoint of netloom"),
        (0, other, "is no checkpoint of netloom"),
        (0, missing, "cannot write the checkpoint"),
    ] {
        let ends = among(3, |simulator| {
            let file = if simulator.0.rank() == odd { &file } else { &all };
            run(&simulator, file).map(|_| ()).unwrap_err().message
        });
        assert!(ends.iter().all(|end| end.contains(expected)), "{expected}: {ends:?}");
    }
}

/// Ranks tell each other where their time went, also those of other processes.
#[test]
fn ranks_on_every_machine() {
    const HALO: &str = "
    name = 'halo'
    machine = 'bgl'
    nodes = 16
    workload = { kind = 'skeleton', program = 'halo', grid = [4, 2, 2], face_B = 3000, compute_ns = 2000, iterations = 2 }
    measure = { until = 'finished' }
    ";
    // By turns with two processes and with four.
    for (machine, others) in MACHINES.into_iter().zip([(2, 2), (4, 1)].into_iter().cycle()) {
        let sets: Vec<String> = machine.iter().map(|&set| set.to_owned()).collect();
        let study = resolve(SourceFile::new("halo.toml", HALO), Path::new("."), &sets).unwrap();
        check_with(&study, &[others]);
    }
}

/// Programs that are written for an interface.
#[test]
fn programs_on_interfaces() {
    check(&study("bgq/all-to-all-4k", &["topology.dims=[2,2,2,2,2]"]));
    check(&study("pami/allreduce-latency", &["topology.dims=[2,2,2,2,2]", "sweep={}"]));
    check(&study("xc/put-get-latency", &["sweep={}"]));
    check(&study("th/collectives", &["sweep={}"]));
}
