//! Patterns, and several jobs side by side, on every machine.

mod common;

use common::check_each;
use netloom_simulate::Fabric;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::{Ended, JobFigures, RunResult};
use netloom_study::run::{Quiet, Simulate};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const STUDY: &str = "
name = 'mine'
machine = 'bgl'
workload = { kind = 'uniform' }
";

const TORUS: &[&str] = &["machine=bgl", "topology.dims=[4,4,4]"];
const DRAGONFLY: &[&str] = &[
    "machine=dragonfly",
    "topology.nodes_per_router=2",
    "topology.group=[4]",
    "topology.global_ports=2",
    "topology.groups=8",
];
const FAT_TREE: &[&str] = &["machine=fat-tree", "topology.down=[4,4,4]", "topology.up=[4,4]"];

fn study(sets: &[&str]) -> ResolvedStudy {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies"));
    let study = resolve(SourceFile::new("mine.toml", STUDY), directory, &sets);
    study.unwrap_or_else(|problem| panic!("{sets:?}: {problem:?}"))
}

fn run(sets: &[&[&str]], threads: usize) -> RunResult {
    let mut result =
        Fabric.simulate(&study(&sets.concat()), &Quiet(&AtomicBool::new(false)), threads).unwrap();
    result.host = Default::default();
    result
}

/// Each pattern, for a machine with this number of dimensions, as a study sets it.
fn patterns(dimensions: usize) -> Vec<String> {
    let list = |value: &str| vec![value; dimensions].join(",");
    let mut all: Vec<String> = [
        "uniform",
        "all-to-all",
        "nearest-neighbour",
        "transpose",
        "bit-complement",
        "tornado",
        "random-permutation",
        "hot-node",
    ]
    .map(|kind| format!("workload={{kind='{kind}'}}"))
    .into();
    all.push(format!("workload={{kind='hot-region',region=[{}]}}", list("2")));
    all.push(format!("workload={{kind='shift',by=[{}]}}", list("1")));
    all.push("workload={kind='group-shift',by=1}".into());
    all
}

/// Nodes that send only to themselves send nothing: the diagonal of a transpose, the hot node.
fn silent(pattern: &str, nodes: u64) -> u64 {
    match pattern {
        p if p.contains("transpose") => nodes.isqrt(),
        p if p.contains("hot-node") => 1,
        _ => 0,
    }
}

#[test]
fn every_pattern_runs_on_every_machine() {
    for (machine, dimensions, refused) in
        [(TORUS, 3, None), (DRAGONFLY, 1, None), (FAT_TREE, 1, Some("group-shift"))]
    {
        for pattern in patterns(dimensions).iter().filter(|p| !refused.is_some_and(|r| p.contains(r))) {
            let sets = [
                "traffic={load='burst',packets_per_node=3}",
                "measure.until=finished",
                "measure.window_us=1",
            ];
            let result = run(&[machine, &[pattern], &sets], 1);
            assert_eq!((&result.partial, result.simulated.ended), (&None, Ended::Finished), "{pattern}");
            // Turned coordinates keep those on the diagonal of the cube.
            let silent =
                if dimensions == 3 && pattern.contains("transpose") { 4 } else { silent(pattern, 64) };
            assert_eq!(result.totals.packets_delivered, 3 * (64 - silent), "{machine:?} {pattern}");
        }
    }
}

/// A burst of an all-to-all ends by itself on any machine: a packet from each node to each other.
#[test]
fn a_burst_of_an_all_to_all_ends() {
    for machine in [TORUS, DRAGONFLY, FAT_TREE] {
        let sets = ["workload={kind='all-to-all'}", "traffic.load=burst", "measure.until=finished"];
        let result = run(&[machine, &sets, &["measure.window_us=1"]], 2);
        assert_eq!((result.totals.packets_delivered, result.simulated.ended), (64 * 63, Ended::Finished));
    }
}

/// All cross the root of a fat tree: with half of the links up at a level half of the load goes.
#[test]
fn a_fat_tree_bounds_patterns_that_cross_its_root() {
    for (up, bound) in [("[4,4]", 1.0), ("[4,2]", 0.5), ("[2,2]", 0.25)] {
        for kind in ["bit-complement", "tornado"] {
            let up = format!("topology.up={up}");
            let workload = format!("workload.kind={kind}");
            let sets = [
                "measure={until='time',time_us=2,warmup_us=1,window_us=0.5,bound=true}",
                "traffic={load={flits_per_ns=0.9},routing='minimal',packet_flits=1}",
                &up,
                &workload,
            ];
            let s = run(&[FAT_TREE, &sets], 2).switched.unwrap();
            let found = s.bound_flits_per_tick.expect("of minimal routes");
            assert!((found - bound).abs() < 1e-9, "{kind}, {up}: {found}");
            assert!(s.accepted_flits_per_tick < 1.02 * bound, "{kind}, {up}: {s:?}");
        }
    }
}

fn jobs(result: &RunResult) -> Vec<&JobFigures> {
    assert_eq!(result.partial, None);
    result.jobs.iter().collect()
}

fn two_jobs(placement: &str) -> String {
    format!(
        "workload={{kind='jobs',placement='{placement}',jobs=[
            {{name='quiet',nodes=16,load={{packets_per_us=0.035}},workload={{kind='random-permutation'}}}},
            {{nodes=48,load={{packets_per_us=1.05}},workload={{kind='uniform'}}}},
        ]}}"
    )
    .replace('\n', " ")
}

#[test]
fn jobs_on_a_torus_slow_each_other_down() {
    let measure = "measure={until='time',time_us=400,warmup_us=100,window_us=50}";
    let found = |placement: &str, threads| run(&[TORUS, &[&two_jobs(placement), measure]], threads);
    let mixed = found("random-nodes", 1);
    assert!(mixed == found("random-nodes", 2), "threads do not matter");
    let of = jobs(&mixed);
    let names: Vec<_> = of.iter().map(|j| (j.name.as_str(), j.nodes, j.routers, j.unit.as_str())).collect();
    assert_eq!(names, [("quiet", 16, 16, "MB/s"), ("job 2", 48, 48, "MB/s")]);
    // 240 B in 5,000 ticks of 1/175 us.
    let offered = of[0].offered.unwrap();
    assert!((offered - 0.2e-3 * 240.0 * 175.0).abs() < 1e-6, "{offered}");
    assert!((of[0].accepted / offered - 1.0).abs() < 0.2, "{:?}", of[0]);
    // No other node sends.
    let sum: f64 = of.iter().map(|j| f64::from(j.nodes) * j.accepted).sum::<f64>() / 64.0;
    let all = mixed.throughput.as_ref().unwrap().accepted;
    assert!((sum / all - 1.0).abs() < 0.01, "{sum} of {all}");
    let slowdown = |job: &JobFigures| job.slowdown().expect("each runs alone");
    assert!(slowdown(of[0]) > 1.1, "{}", slowdown(of[0]));
    // In whole planes the quiet job hardly meets the other.
    let apart = found("contiguous", 1);
    assert!(slowdown(jobs(&apart)[0]) < slowdown(of[0]), "{}", slowdown(jobs(&apart)[0]));
}

/// A trace in which eight ranks pass 20,000 bytes around a ring.
fn ring() -> String {
    let rank = |rank: u32| {
        let (next, last) = ((rank + 1) % 8, (rank + 7) % 8);
        format!(
            "rank {rank} {{\nc: calc 5000\ns: send 20000b to {next} tag 1\nr: recv 20000b from {last} tag 1\ns requires c\n}}\n"
        )
    };
    format!("num_ranks 8\n{}", (0..8).map(rank).collect::<String>())
}

/// A halo exchange, a trace and synthetic traffic on one machine.
fn mix(load: &str, trace: &str) -> String {
    format!(
        "workload={{kind='jobs',placement='random-nodes',jobs=[
            {{name='halo',nodes=8,workload={{kind='skeleton',program='halo',grid=[2,2,2],face_B=8000,iterations=2}}}},
            {{name='noise',nodes=16,load={load},workload={{kind='uniform'}}}},
            {{name='trace',nodes=8,workload={{kind='trace',file='{trace}'}}}},
        ]}}"
    )
    .replace('\n', " ")
}

#[test]
fn programs_and_traffic_share_every_machine() {
    const FLITS: &str = "{flits_per_ns=0.2}";
    const CHUNKS: &str = "{packets_per_us=0.175}";
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("ring.goal");
    std::fs::write(&trace, ring()).unwrap();
    let machines: [(&[&str], &str); 6] = [
        (TORUS, CHUNKS),
        (&["machine=bgq", "topology.dims=[4,2,2,2,2]"], "{packets_per_us=8.0}"),
        (DRAGONFLY, FLITS),
        (FAT_TREE, FLITS),
        (&["machine=th", "topology.down=[8,8]", "topology.up=[4]"], FLITS),
        (&["machine=xc", "nodes=64"], FLITS),
    ];
    check_each(&machines, |&(machine, load)| {
        let workload = mix(load, trace.to_str().unwrap());
        let sets = [workload.as_str(), "measure.window_us=10", "measure.per_link=false"];
        let one = run(&[machine, &sets], 1);
        assert!(one == run(&[machine, &sets], 2), "{machine:?}: threads do not matter");
        assert_eq!(one.simulated.ended, Ended::Finished, "{machine:?}: {:?}", one.partial);
        let of = jobs(&one);
        assert_eq!(of.iter().map(|j| j.kind.as_str()).collect::<Vec<_>>(), ["skeleton", "uniform", "trace"]);
        let time = |job: &JobFigures| job.run_time_us.expect("it ended");
        let last = time(of[0]).max(time(of[2]));
        assert_eq!(one.simulated.run_time_us, Some(last));
        assert_eq!((of[0].programs.as_ref().unwrap().ranks, of[0].packets, of[1].run_time_us), (8, 0, None));
        assert!(of[1].packets > 0 && of[1].programs.is_none());
        for job in of {
            let slowdown = job.slowdown().expect("each runs alone");
            assert!((0.97..3.0).contains(&slowdown), "{machine:?} {}: {slowdown}", job.name);
        }
    });
}

/// Traffic that fills the links slows a program down; a program by itself takes the time that it takes
/// without jobs.
#[test]
fn noise_slows_a_program_down() {
    let alone = "workload={kind='skeleton',program='halo',grid=[2,2,2],face_B=20000,iterations=3}";
    let whole = run(&[TORUS, &[alone]], 1);
    let job = "{nodes=8,workload={kind='skeleton',program='halo',grid=[2,2,2],face_B=20000,iterations=3}}";
    let jobs_of = |noise: &str| format!("workload={{kind='jobs',jobs=[{job}{noise}]}}");
    let single = run(&[TORUS, &[&jobs_of("")]], 1);
    assert_eq!(jobs(&single)[0].run_time_us, whole.simulated.run_time_us);
    let noise = ",{nodes=56,load='infinite',placement='random-nodes',workload={kind='uniform'}}";
    let noisy = run(&[TORUS, &[&jobs_of(noise)]], 2);
    let halo = jobs(&noisy)[0];
    assert_eq!(halo.alone.as_ref().unwrap().run_time_us, whole.simulated.run_time_us);
    assert!(halo.slowdown().unwrap() > 1.2, "{halo:?}");
}
