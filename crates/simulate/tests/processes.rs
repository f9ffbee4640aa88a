//! A machine that several processes simulate: the result is that of one, whatever the machine. The processes
//! are threads here, which exchange the same bytes.

mod common;

use common::MACHINES;
use netloom_engine::ThreadPeers;
use netloom_simulate::{Distributed, Fabric};
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::resolve::{ResolvedStudy, load, resolve};
use netloom_study::result::RunResult;
use netloom_study::run::{Quiet, Simulate};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn study(name: &str, sets: &[&str]) -> ResolvedStudy {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    load(name, &sets).unwrap()
}

/// What each of several processes finds.
fn spread(study: &ResolvedStudy, processes: usize, threads: usize) -> Vec<Result<RunResult, Problem>> {
    let run = |peers: ThreadPeers| {
        Distributed(Arc::new(peers)).simulate(study, &Quiet(&AtomicBool::new(false)), threads)
    };
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
    let one = of_machine(Fabric.simulate(study, &Quiet(&AtomicBool::new(false)), 1).unwrap());
    assert!(one.totals.packets_delivered > 100, "{} packets", one.totals.packets_delivered);
    for (processes, threads) in [(2, 1), (4, 2)] {
        for (rank, result) in spread(study, processes, threads).into_iter().enumerate() {
            let (own, one) = [of_machine(result.unwrap()), one.clone()].map(|of| format!("{of:#?}")).into();
            let differs = own.lines().zip(one.lines()).find(|(own, one)| own != one);
            assert!(own == one, "process {rank} of {processes}: {differs:?}");
        }
    }
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
    check(&study("all-to-all", &[&["topology.dims=[8,4,4]"], &SHORT[..]].concat()));
    check(&study("all-to-all", &[&errors, &SHORT[..]].concat()));
    // Each decides alike when it ends.
    let ends = ["topology.dims=[4,4,4]", "measure={}", "measure.until=converged", "measure.window_us=2"];
    check(&study("all-to-all", &ends));
    let ends = ["topology.dims=[4,4,4]", "measure={}", "measure.until=finished", "traffic.load=burst"];
    check(&study("all-to-all", &[&ends[..], &["traffic.packets_per_node=50"]].concat()));
}

#[test]
fn blue_gene_q() {
    let sets = ["machine=bgq", "set={}", "topology.dims=[4,4,2,2,2]", "measure.counters=true"];
    check(&study("all-to-all", &[&SHORT[..], &sets].concat()));
}

#[test]
fn cray_xc_and_th_express() {
    let load = ["traffic={}", "traffic.load.GB_per_s=2.0", "measure.reordering=true"];
    let xc = ["machine=xc", "set={}", "topology.groups=4", "topology.cables=4"];
    let th = ["machine=th-express-2", "set={}"];
    check(&study("all-to-all", &[&SHORT[..], &xc, &load].concat()));
    check(&study("all-to-all", &[&SHORT[..], &th, &load].concat()));
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
    for machine in MACHINES {
        let sets: Vec<String> = machine.iter().map(|&set| set.to_owned()).collect();
        check(&resolve(SourceFile::new("halo.toml", HALO), Path::new("."), &sets).unwrap());
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
