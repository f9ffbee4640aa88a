//! What runs and sweeps on machines of switches leave behind.

use netloom_report::sweep::{self, Outcome};
use netloom_report::write;
use netloom_simulate::Fabric;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::RunResult;
use netloom_study::run::{Quiet, Simulate};
use parquet::file::reader::{FileReader, SerializedFileReader};
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

#[test]
fn a_sweep_goes_over_machines() {
    let text = include_str!("../../../studies/topologies/same-cost.toml");
    let study = resolve(SourceFile::new("same-cost.toml", text), Path::new("."), &[]).unwrap();
    let points = sweep::points(&study).unwrap();
    assert!(points.iter().all(|p| p.study.network.nodes() == 1056));
    let outcomes: Vec<Outcome> =
        points.into_iter().map(|point| Outcome { point, result: None, kept: false }).collect();
    let summary = sweep::summary(&study, &outcomes, &[]);
    for text in [
        "924 local, 528 global",
        "1,056 up-1, 384 up-2",
        "528 x, 528 y, 528 z",
        "most accepted, shift, by [32]",
    ] {
        assert!(summary.contains(text), "{text} in {summary}");
    }
}

/// To the next node as fast as each node's port carries it, and a third of that.
#[test]
fn full_ports_of_nodes_are_told() {
    let ports = |sets: &[&str]| {
        let study = study(sets);
        let result = Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 2).unwrap();
        let found = netloom_report::limits::findings(&study, &result);
        found.into_iter().find(|finding| finding.about == "ports").map(|finding| finding.text)
    };
    let shift = ["workload={}", "workload.kind=shift", "workload.by=[1]", "traffic.load=infinite"];
    let text = ports(&shift).expect("a finding");
    assert!(text.starts_with("Nodes receive ") && text.contains(" of the 1.00 flits/tick"), "{text}");
    assert_eq!(ports(&[]), None);
}

#[test]
fn a_folder_holds_what_was_found() {
    let (study, folder) = (study(&["measure.reordering=true"]), tempfile::tempdir().unwrap());
    let result = Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 2).unwrap();
    write::write_all(folder.path(), &study, &result, &[]).unwrap();
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text("summary.json")).unwrap();
    assert!(summary["switched"]["accepted_flits_per_tick"].as_f64().is_some_and(|x| x > 0.25));
    assert_eq!(summary["configuration"]["machine"]["topology"]["kind"], "dragonfly");
    for of_tori in ["occupancy", "waits", "escape_share", "unblock_probability"] {
        assert!(summary.get(of_tori).is_none(), "{of_tori}");
    }
    let mut back: RunResult = serde_json::from_str(&text("summary.json")).unwrap();
    back.series.clone_from(&result.series);
    back.ports.clone_from(&result.ports);
    back.latency.network.bins.clone_from(&result.latency.network.bins);
    back.latency.total.bins.clone_from(&result.latency.total.bins);
    assert!(back == result, "what is read back differs");
    let page = text("report.html");
    for expected in [
        "Utilization of the links between groups",
        "Utilization of the links of group",
        "Latency of packets",
        "Packets that arrive out of order",
        "non-minimal",
        "9 groups of 4 routers",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(!page.contains("escape") && !page.contains("torus") && !page.contains("NaN"));
    let links = std::fs::File::open(folder.path().join("links.parquet")).unwrap();
    let links = SerializedFileReader::new(links).unwrap();
    let columns = links.metadata().file_metadata().schema_descr().columns();
    let columns: Vec<_> = columns.iter().map(|c| c.name().to_owned()).collect();
    assert_eq!(columns[..4], ["router", "port", "group", "class"]);
    assert_eq!(links.metadata().file_metadata().num_rows(), 9 * 12 + 72);
    let again = resolve(SourceFile::new("study.toml", text("study.toml")), Path::new("."), &[]).unwrap();
    assert!(again.study == study.study && again.machine == study.machine);
}
