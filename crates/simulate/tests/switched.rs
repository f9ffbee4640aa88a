//! Runs on machines of switches: what they leave behind, that threads do not matter, and that figures fit
//! together.

use netloom_simulate::Fabric;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::{Ended, JobFigures, RunResult};
use netloom_study::run::{Quiet, Simulate};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A dragonfly of 72 nodes.
const STUDY: &str = "
name = 'small'
machine = 'dragonfly'
set.topology.nodes_per_router = 2
set.topology.group = [4]
set.topology.global_ports = 2
set.topology.groups = 9
set.router.rows = 3
set.router.columns = 3
workload.kind = 'uniform'
traffic = { packet_flits = 1, load = { flits_per_ns = 0.3 } }
measure = { until = 'time', time_us = 4, warmup_us = 1, window_us = 0.25 }
";

fn study(sets: &[&str]) -> ResolvedStudy {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    resolve(SourceFile::new("small.toml", STUDY), Path::new("."), &sets).unwrap()
}

fn run(sets: &[&str], threads: usize) -> RunResult {
    Fabric.simulate(&study(sets), &Quiet(&AtomicBool::new(false)), threads).unwrap()
}

/// A small Cray XC whose packets are answered.
const ANSWERED: [&str; 8] = [
    "machine=xc",
    "set={}",
    "topology.groups=2",
    "topology.cables=4",
    "traffic={}",
    "traffic.responses=true",
    "traffic.load.GB_per_s=1.0",
    "measure.warmup_us=2",
];

#[test]
fn what_is_offered_arrives() {
    let result = run(&["traffic.routing=minimal"], 1);
    let t = result.throughput.as_ref().unwrap();
    assert_eq!((t.unit.as_str(), t.offered, t.saturated), ("flits/tick", Some(0.3), Some(false)));
    assert!((t.accepted / 0.3 - 1.0).abs() < 0.03 && t.accepted_half_width_95.unwrap() < 0.02, "{t:?}");
    // All nodes of a group to the next one: two global links for eight nodes.
    let shift = ["workload={}", "workload.kind=group-shift", "workload.by=1", "traffic.routing=minimal"];
    let full = run(&shift, 1).throughput.unwrap();
    assert_eq!((full.offered, full.saturated), (Some(0.3), Some(true)), "{full:?}");
    let s = result.switched.as_ref().unwrap();
    assert_eq!(s.offered_flits_per_tick, Some(0.3));
    assert!((s.accepted_flits_per_tick / 0.3 - 1.0).abs() < 0.03, "{s:?}");
    assert!((1.5..3.0).contains(&s.hops_mean) && s.hops_max == 3 && s.nonminimal_share == 0.0);
    assert_eq!((s.classes[0].class.as_str(), s.classes[1].class.as_str()), ("local", "global"));
    assert_eq!((s.classes[0].links, s.classes[1].links), (9 * 12, 72));
    // A flit a tick: what links carry is the flits times their hops.
    let carried: f64 = s.classes.iter().map(|c| c.mean_utilization * c.links as f64).sum();
    let expected = 72.0 * s.accepted_flits_per_tick * s.hops_mean;
    assert!((carried / expected - 1.0).abs() < 0.02, "{carried} {expected}");
    let of_hops: f64 = s.classes.iter().filter_map(|c| c.hops).sum();
    assert!((of_hops / s.hops_mean - 1.0).abs() < 0.02);
    assert!(result.torus.is_none() && result.links.torus.is_none());
    // Two local hops and a global one, each with the router before it, and the ends.
    assert!((130.0..150.0).contains(&result.latency.network.p99_ns), "{:?}", result.latency.network);
}

#[test]
fn valiant_goes_by_others_and_minimal_does_not() {
    let share =
        |routing: &str| run(&[&format!("traffic.routing={routing}")], 2).switched.unwrap().nonminimal_share;
    assert_eq!(share("minimal"), 0.0);
    assert!(share("valiant") > 0.8 && share("valiant-group") > 0.8);
    assert!(share("nonminimal-hash") > 0.8 && share("minimal-hash") == 0.0);
    // Under uniform traffic there is no reason to take a non-minimal path, however long the links.
    for routing in ["ugal-l", "ugal-g", "par", "adaptive-0"] {
        assert!(share(routing) < 0.5, "{routing}: {}", share(routing));
    }
}

#[test]
fn the_worst_pattern_needs_other_groups() {
    let accepted = |routing: &str| {
        let sets = ["workload.kind=group-shift", "workload.by=1", &format!("traffic.routing={routing}")];
        run(&sets, 2).switched.unwrap().accepted_flits_per_tick
    };
    // Eight nodes of a group share a link.
    assert!((accepted("minimal") - 0.125).abs() < 0.01);
    assert!(accepted("valiant") > 0.27);
}

#[test]
fn threads_do_not_matter() {
    for sets in [&["traffic.routing=ugal-g", "workload.kind=random-permutation"][..], &ANSWERED] {
        let figures = |threads| {
            let mut result = run(sets, threads);
            result.host = Default::default();
            result
        };
        let one = figures(1);
        assert!(one == figures(2) && one == figures(3), "{sets:?}");
    }
}

#[test]
fn packets_of_one_path_keep_their_order() {
    let reordering = |routing: &str, threads| {
        let sets = [
            "measure.reordering=true",
            "workload.kind=random-permutation",
            "traffic.load.flits_per_ns=0.4",
            &format!("traffic.routing={routing}"),
        ];
        run(&sets, threads).switched.unwrap().reordering.expect("asked for")
    };
    for routing in ["minimal-hash", "nonminimal-hash"] {
        let in_order = reordering(routing, 1);
        let bins: Vec<_> = in_order.histogram.iter().map(|bin| (bin.from, bin.to, bin.packets)).collect();
        assert_eq!(bins, [(0, 0, in_order.packets)], "{routing}");
        assert_eq!((in_order.reordered_share, in_order.extent_max), (0.0, 0));
    }
    let valiant = reordering("valiant", 1);
    assert!(valiant.reordered_share > 0.2 && valiant.extent_mean > 1.0, "{valiant:?}");
    assert_eq!(valiant.histogram.iter().map(|bin| bin.packets).sum::<u64>(), valiant.packets);
    assert_eq!(valiant, reordering("valiant", 3));
    assert!(run(&[], 1).switched.unwrap().reordering.is_none(), "not measured");
}

#[test]
fn requests_are_answered() {
    let result = run(
        &[
            &ANSWERED[..],
            &["traffic.packets_per_node=20", "measure={}", "measure.until=finished", "measure.window_us=0.5"],
        ]
        .concat(),
        2,
    );
    assert_eq!(result.simulated.ended, Ended::Finished);
    let r = result.switched.unwrap().responses.unwrap();
    assert_eq!((r.requests, r.responses, r.round_trip.count), (768 * 20, 768 * 20, 768 * 20));
    assert!(r.round_trip.mean_ns > 2.0 * result.latency.network.mean_ns * 0.9);
    assert_eq!(result.totals.payload_bytes, 768 * 20 * 64);
    // Traffic that ends: nothing is said of saturation.
    assert_eq!(result.throughput.unwrap().saturated, None);
    // Fourteen flits and one.
    assert!((r.request_flits_per_tick / r.response_flits_per_tick - 14.0).abs() < 1e-9);
}

/// Two jobs on a dragonfly of nine groups of eight nodes.
fn jobs(placement: &str, routing: &str, threads: usize) -> Vec<JobFigures> {
    let jobs = format!(
        "workload = {{ kind = 'jobs', placement = '{placement}', jobs = [
            {{ name = 'quiet', nodes = 16, load = {{ flits_per_ns = 0.1 }}, workload = {{ kind = 'random-permutation' }} }},
            {{ nodes = 48, load = {{ flits_per_ns = 0.9 }}, workload = {{ kind = 'uniform' }} }},
        ] }}"
    );
    let text = STUDY.replace("workload.kind = 'uniform'", &jobs).replace("time_us = 4", "time_us = 2");
    let sets = [format!("traffic.routing={routing}")];
    let study = resolve(SourceFile::new("jobs.toml", text), Path::new("."), &sets).unwrap();
    let result = Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), threads).unwrap();
    let s = result.switched.unwrap();
    assert!((s.offered_flits_per_tick.unwrap() - (16.0 * 0.1 + 48.0 * 0.9) / 72.0).abs() < 1e-9);
    let accepted = result.jobs.iter().map(|j| f64::from(j.nodes) * j.accepted).sum::<f64>();
    assert!((accepted / 72.0 - s.accepted_flits_per_tick).abs() < 1e-9, "no other node sends");
    result.jobs
}

#[test]
fn jobs_slow_each_other_down_where_they_meet() {
    let found = jobs("round-robin", "valiant", 1);
    let names: Vec<_> = found.iter().map(|j| (j.name.as_str(), j.nodes, j.groups)).collect();
    assert_eq!(names, [("quiet", 16, 9), ("job 2", 48, 9)]);
    assert_eq!(found, jobs("round-robin", "valiant", 3), "threads do not matter");
    let slowdown = |job: &JobFigures| job.alone.as_ref().expect("each runs alone").latency_slowdown;
    assert!(slowdown(&found[0]) > 1.1, "{}", slowdown(&found[0]));
    // Minimal paths between nodes of whole groups have no link in common with those of other groups.
    let apart = jobs("contiguous", "minimal", 1);
    assert_eq!(apart.iter().map(slowdown).collect::<Vec<_>>(), [1.0, 1.0]);
}

#[test]
fn cabinets_and_cables_are_those_of_the_paper() {
    let text = include_str!("../../../studies/xc/tables.toml");
    let count = |sets: &[String]| {
        let study = resolve(SourceFile::new("tables.toml", text), Path::new("."), sets).unwrap();
        Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 1)
    };
    let tables = count(&[]).unwrap().measured;
    assert_eq!(tables[0].rows[0], [12.0, 96.0, 240.0, 120.0, 0.25, 0.625, 0.3125]);
    assert_eq!(tables[1].rows, [[12.0, 6.0, 12.0, 180.0], [16.0, 8.0, 12.0, 336.0]]);
    assert_eq!(tables[2].rows[0], [12.0, 6.0, 180.0, 720.0, 108.0, 432.0, 4050.0, 16200.0]);
    assert_eq!(tables[2].rows[1], [16.0, 8.0, 336.0, 952.0, 192.0, 544.0, 7200.0, 20400.0]);
    assert_eq!(tables[3].rows, [[12.0, 16.0, 180.0, 180.0, 0.0, 156.0]]);
    let reported = |set: &str| count(&[set.to_owned()]).unwrap_err().render(false);
    let many = reported("workload.groups=[6,40]");
    assert!(many.contains("`workload.groups`") && many.contains("40 groups, topology.cables"), "{many}");
    assert!(reported("machine=th").contains("this machine is no dragonfly of cabinets"));
    assert!(reported("machine=dragonfly").contains("no bundles of cables"));
}

#[test]
fn a_hot_node_takes_what_it_can() {
    let result = run(&["workload.kind=hot-node", "workload.node=5", "measure.max_time_us=4"], 1);
    let s = result.switched.unwrap();
    assert!((s.accepted_flits_per_tick * 72.0 - 1.0).abs() < 0.02, "a flit a tick to one node: {s:?}");
}

/// XC's network interfaces look for what is overdue 10 ms after they have sent: that is no part of what a run
/// measures.
#[test]
fn programs_end_when_the_last_thing_has_happened_that_counts() {
    let sets = [
        "machine=xc",
        "set={}",
        "topology.groups=2",
        "topology.cables=4",
        "traffic={}",
        "workload={}",
        "workload.kind=gni",
        "workload.program=exchange",
        "workload.transactions=2",
        "workload.bytes=64",
        "measure={}",
        "measure.until=finished",
        "measure.window_us=0.285",
    ];
    let result = run(&sets, 1);
    let ended = result.measured[0].rows[0].last().copied().expect("when the last of them ended");
    let us = result.simulated.us;
    assert!(ended > 0.5 && us >= ended && us < 2.0 * ended, "{us} us, the last transaction at {ended} us");
    assert!(result.series.iter().all(|series| (series.values.len() as f64 - 1.0) * series.window_us < us));
}
