//! Timelines: what a viewer needs of them, and that they are those of the run whatever it runs on.

use netloom_report::write::timeline::to_json;
use netloom_simulate::Fabric;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use netloom_study::result::RunResult;
use netloom_study::run::{Quiet, Simulate};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const STUDY: &str = "name = 'halo'\nnodes = 64\n[workload]\nkind = 'skeleton'\nprogram = 'halo'\ngrid = [4, 4, 4]\n\
                     face_B = 8192\ncompute_ns = 5000\niterations = 3\n[timeline]\nnodes = [1, 0, 5]\n";

fn run(text: &str, sets: &[&str], threads: usize) -> RunResult {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let study = resolve(SourceFile::new("study.toml", text), Path::new("."), &sets).unwrap();
    Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), threads).unwrap()
}

fn json(result: &RunResult) -> String {
    to_json(result.timeline.as_ref().expect("a timeline was asked for"))
}

/// The events of a timeline, and how many were left out.
fn events(text: &str) -> (Vec<Value>, u64) {
    let mut all: Value = serde_json::from_str(text).expect("valid JSON");
    let dropped = all["otherData"]["events_left_out"].as_u64().unwrap();
    let Value::Array(events) = all["traceEvents"].take() else { panic!("a list of events") };
    (events, dropped)
}

fn of_phase<'a>(events: &'a [Value], phase: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == phase).collect()
}

/// A time in whole nanoseconds.
fn ns(event: &Value, key: &str) -> u64 {
    (event[key].as_f64().unwrap() * 1e3).round() as u64
}

/// Slices of a thread lie one after another, or one within another.
fn check_nesting(events: &[Value]) {
    let mut threads: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    for event in of_phase(events, "X") {
        let thread = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let from = ns(event, "ts");
        threads.entry(thread).or_default().push((from, from + ns(event, "dur")));
    }
    assert!(!threads.is_empty());
    for (thread, mut slices) in threads {
        slices.sort_by_key(|&(from, to)| (from, std::cmp::Reverse(to)));
        let mut open: Vec<u64> = vec![];
        for (from, to) in slices {
            open.retain(|&end| end > from);
            assert!(
                open.last().is_none_or(|&end| to <= end),
                "{thread:?}: {from} to {to} ends outside another"
            );
            open.push(to);
        }
    }
}

#[test]
fn a_timeline_is_one_that_viewers_open() {
    for machine in ["bgl", "bgq", "xc", "th"] {
        let result = run(STUDY, &[&format!("machine={machine}")], 1);
        let text = json(&result);
        let (events, dropped) = events(&text);
        assert_eq!(dropped, 0);
        check_nesting(&events);
        let nodes: BTreeSet<u64> = events.iter().map(|event| event["pid"].as_u64().unwrap()).collect();
        assert_eq!(nodes, [0, 1, 5].into(), "{machine}");
        // What begins ends, and each arrow has a head and a tail.
        for (begin, end) in [("b", "e"), ("s", "f")] {
            let ids = |phase| {
                let ids = of_phase(&events, phase)
                    .into_iter()
                    .map(|event| (event["id"].to_string(), ns(event, "ts")));
                ids.collect::<BTreeMap<_, _>>()
            };
            let (begins, ends) = (ids(begin), ids(end));
            assert!(!begins.is_empty() && begins.keys().eq(ends.keys()), "{machine}: {begin}");
            assert!(begins.iter().all(|(id, begin)| begin <= &ends[id]), "{machine}: {begin}");
        }
        // Ranks compute for the set time, and wait for a partner.
        let steps: Vec<_> =
            of_phase(&events, "X").into_iter().filter(|e| e["cat"] == "step" && e["pid"] == 5).collect();
        let compute: u64 = steps.iter().filter(|e| e["name"] == "compute").map(|e| ns(e, "dur")).sum();
        assert!(compute.abs_diff(15_000) < 10, "{machine}: {compute}");
        let waits = steps.iter().filter(|e| e["name"].as_str().unwrap().starts_with("wait for "));
        let parts: u64 = waits
            .clone()
            .flat_map(|e| ["partner_us", "wire_us", "queueing_us"].map(|part| ns(&e["args"], part)))
            .sum();
        assert!(waits.count() > 0 && parts > 0, "{machine}");
        // Six faces a time, from and to each rank.
        let receives = of_phase(&events, "X").into_iter().filter(|e| e["cat"] == "receive" && e["pid"] == 5);
        assert_eq!(receives.count(), 18, "{machine}");
    }
}

#[test]
fn a_timeline_does_not_depend_on_threads() {
    for sets in [&["machine=bgl"][..], &["machine=xc"], &["machine=bgq", "timeline.node_events_max=40"]] {
        let [one, two] = [1, 2].map(|threads| run(STUDY, sets, threads));
        assert!(json(&one) == json(&two), "{sets:?}");
    }
}

#[test]
fn packets_of_traffic_and_only_of_a_time() {
    let study = "name = 'uniform'\nmachine = 'bgl'\nset.topology.dims = [4, 4, 4]\nworkload.kind = 'uniform'\n\
                 traffic.load = { link_utilization = 0.5 }\nmeasure = { until = 'time', time_us = 100 }\n";
    let all = run(&format!("{study}timeline = {{ nodes = [3] }}\n"), &[], 1);
    let some = run(&format!("{study}timeline = {{ nodes = [3], from_us = 20, to_us = 30 }}\n"), &[], 1);
    let packets = |result: &RunResult| result.timeline.clone().unwrap().packets;
    let (all, some) = (packets(&all), packets(&some));
    assert!(all.iter().any(|p| p.source == 3) && all.iter().any(|p| p.destination == 3));
    assert!(all.iter().all(|p| (p.source == 3 || p.destination == 3) && p.from_ns <= p.to_ns));
    let expected: Vec<_> = all.into_iter().filter(|p| p.to_ns >= 19_999.0 && p.from_ns < 29_999.0).collect();
    assert!(some.len().abs_diff(expected.len()) <= 1 && !some.is_empty());
}

#[test]
fn what_is_left_out_is_said() {
    let result = run(STUDY, &["machine=bgl", "timeline.node_events_max=10"], 1);
    assert!(result.timeline.as_ref().unwrap().dropped > 0);
    let warning = result.warnings.iter().find(|w| w.contains("timeline")).expect("a warning");
    assert!(warning.contains("it keeps 10") && warning.contains("timeline.from_us"), "{warning}");
    // Without the table there is none, and the run is the same.
    let without = run(&STUDY.replace("[timeline]\nnodes = [1, 0, 5]\n", ""), &["machine=bgl"], 1);
    assert!(without.timeline.is_none());
    assert_eq!(without.totals, result.totals);
    assert_eq!(without.programs, result.programs);
}
