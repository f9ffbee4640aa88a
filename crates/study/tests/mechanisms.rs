//! Every predicted entry of the BlueGene/L paper follows from a mechanism: with it switched off, on a small machine, the
//! figure moves away.

use netloom_study::diagnose::SourceFile;
use netloom_study::judges::bgl::STUDIES;
use netloom_study::judges::figures::figure;
use netloom_study::resolve::resolve;
use netloom_study::run::{Quiet, Simulate};
use netloom_study::simulate::Fabric;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A figure of a study of `studies/bgl/`, with changes, without its sweep.
fn read(study: &str, name: &str, changes: &[&str]) -> f64 {
    let text = STUDIES.iter().flat_map(|(_, s)| *s).find(|(n, _)| *n == study).expect("a study").1;
    let sets: Vec<String> = changes.iter().map(|c| (*c).to_owned()).collect();
    let study = resolve(SourceFile::new(study, text), Path::new("."), &sets).unwrap();
    let result = Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 1).unwrap();
    figure(&study, &result, name).unwrap()
}

/// The figure with its mechanism, and without it.
fn both(study: &str, name: &str, common: &[&str], off: &[&str]) -> (f64, f64) {
    let without: Vec<&str> = common.iter().chain(off).copied().collect();
    let (with, without) = (read(study, name, common), read(study, name, &without));
    println!("{study}: {name} {with:.4}, switched off {without:.4}");
    (with, without)
}

const HOT: [&str; 3] = ["topology.dims=[8,8,8]", "workload.region=[4,4,4]", "measure.time_us=600"];

#[test]
fn all_to_all_32k_needs_dynamic_routing() {
    let common = ["topology.dims=[8,8,8]", "measure.half_width=0.01"];
    let (with, without) = both("figure-6", "links.mean_utilization", &common, &["traffic.routing=static"]);
    assert!(with > 0.96 && without < 0.9 * with);
    let (with, without) =
        both("figure-6", "links.payload_utilization", &common, &["packet.software_header_B=40"]);
    assert!(with > 0.85 && without < 0.95 * with);
}

#[test]
fn all_to_all_asymmetric_suffers_from_full_buffers() {
    let common = ["topology.dims=[12,6,6]"];
    let off = ["router.vc_B=3072"];
    let (with, without) = both("asymmetric", "links.mean_utilization", &common, &off);
    assert!(without > 1.05 * with, "deep buffers block less");
    let (with, without) = both("asymmetric", "links.mean_utilization", &common, &["topology.dims=[6,6,6]"]);
    assert!(without > 1.2 * with, "a symmetric machine has no such dimension");
}

#[test]
fn the_peak_is_that_of_the_longest_dimension() {
    let facts = |dims: &str| netloom_study::resolve::load_machine("bgl", &[dims.into()]).unwrap().facts();
    assert!(facts("topology.dims=[64,32,32]").peak_all_to_all_link_utilization < 0.67);
    assert!(facts("topology.dims=[32,32,32]").peak_all_to_all_link_utilization > 0.99);
}

#[test]
fn response_time_needs_dynamic_routing_and_paths() {
    let common = ["topology.dims=[8,8,8]"];
    let (with, without) = both("figure-2", "latency.total.mean_ns", &common, &["traffic.routing=static"]);
    assert!(without > 1.5 * with);
    let (with, without) = both("figure-2", "latency.total.mean_ns", &common, &["router.paths=1"]);
    assert!(without > 1.05 * with);
}

#[test]
fn links_into_the_hot_region_are_full_because_it_is_hot() {
    let common = [&HOT[..], &["measure.warmup=300"]].concat();
    let (with, without) =
        both("figure-3", "hot_region.entering", &common, &["traffic.load.link_utilization=0.4"]);
    assert!(with > 0.85 && without < 0.75);
    let (with, without) = both("figure-3", "throughput.level", &common, &["workload.fraction=0.0"]);
    assert!(without > 1.2 * with);
}

#[test]
fn the_response_time_falls_by_the_choice_of_the_shortest_queue() {
    let common = ["topology.dims=[8,8,8]", "router.direction_choice=jsq"];
    let (with, without) =
        both("figure-4", "latency.total.mean_ns", &common, &["router.direction_choice=random"]);
    assert!(without > 1.15 * with);
}

#[test]
fn the_decline_is_deferred_by_serving_the_longest_queue() {
    let common = [
        &HOT[..],
        &["measure.warmup=0", "router.receiver_slq_fraction=0.75", "router.sender_slq_fraction=0.75"],
    ]
    .concat();
    let off = ["router.receiver_slq_fraction=0.0", "router.sender_slq_fraction=0.0"];
    let (with, without) = both("figure-5", "throughput.fall_us", &common, &off);
    assert!(with > 1.1 * without);
}

#[test]
fn waves_come_from_the_dateline() {
    // The smallest machine that has them.
    let common = ["topology.dims=[12,12,12]", "workload.region=[6,6,6]", "measure.time_us=1500"];
    let (with, without) = both("figure-8", "throughput.swing", &common, &["router.escape=bubble"]);
    assert!(with > 2.0 * without);
}

#[test]
fn the_bubble_deadlocks_by_the_published_rule_alone() {
    let stalls = |rule: &str| {
        let seeds = (1..=4).map(|seed| read("bubble-deadlock", "stalled", &[rule, &format!("seed={seed}")]));
        seeds.sum::<f64>()
    };
    assert!(stalls("router.bubble_rule=published") > 0.0);
    assert!(stalls("router.bubble_rule=corrected") == 0.0);
}
