//! Every predicted entry of the BlueGene/L paper follows from a mechanism: with it switched off, on a small
//! machine, the figure moves away.

use netloom_nic::detour::planner;
use netloom_simulate::Fabric;
use netloom_study::claims::figure;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use netloom_study::run::{Quiet, Simulate};
use netloom_validate::judges::bgl::STUDIES;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The predicted entries, in the order of the tests below.
const ENTRIES: [&str; 13] = [
    "bgl.all_to_all_32k.link_utilization",
    "bgl.all_to_all_32k.payload_utilization",
    "bgl.all_to_all_asymmetric.link_utilization",
    "bgl.all_to_all_asymmetric.payload_utilization",
    "bgl.all_to_all_asymmetric.fraction_of_peak",
    "bgl.all_to_all_peak_asymmetric.peak_link_utilization",
    "bgl.all_to_all_peak_asymmetric.peak_payload_utilization",
    "bgl.response_time_light_traffic",
    "bgl.hot_region.mean_utilization_of_links_entering_hot_region",
    "bgl.jsq.response_time_reduction",
    "bgl.escape_vcs",
    "bgl.bubble_deadlock",
    "bgl.faults.faulty_nodes_with_full_connectivity",
];

#[test]
fn no_predicted_entry_is_left_out() {
    let published = netloom_validate::published::published().unwrap();
    let predicted = published.iter().filter(|e| e.id.starts_with("bgl.") && e.role == "predict");
    for entry in predicted {
        assert!(ENTRIES.contains(&entry.id.as_str()), "{} needs a test here", entry.id);
    }
    for id in ENTRIES {
        assert!(published.iter().any(|e| e.id == id && e.role == "predict"), "{id} is not predicted");
    }
}

/// Figures of a study of `studies/bgl/`, with changes, without its sweep.
fn read<const N: usize>(study: &str, names: [&str; N], changes: &[&str]) -> [f64; N] {
    let text = STUDIES
        .iter()
        .flat_map(|(_, s)| *s)
        .find(|(n, _)| *n == format!("studies/bgl/{study}.toml"))
        .expect("a study")
        .1;
    let sets: Vec<String> = changes.iter().map(|c| (*c).to_owned()).collect();
    let study = resolve(SourceFile::new(study, text), Path::new("."), &sets).unwrap();
    let result = Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 1).unwrap();
    names.map(|name| figure(&study, &result, name).unwrap())
}

/// Figures with their mechanism, and without it.
fn all_of<const N: usize>(study: &str, names: [&str; N], common: &[&str], off: &[&str]) -> [(f64, f64); N] {
    let changes: Vec<&str> = common.iter().chain(off).copied().collect();
    // At the same time, so that the longest test leaves no core idle at the end.
    let (with, without) = std::thread::scope(|scope| {
        let with = scope.spawn(|| read(study, names, common));
        let without = read(study, names, &changes);
        (with.join().unwrap(), without)
    });
    std::array::from_fn(|i| {
        println!("{study}: {} {:.4}, switched off {:.4}", names[i], with[i], without[i]);
        (with[i], without[i])
    })
}

fn both(study: &str, name: &str, common: &[&str], off: &[&str]) -> (f64, f64) {
    all_of(study, [name], common, off)[0]
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
    let names = ["links.mean_utilization", "links.payload_utilization"];
    for (with, without) in all_of("asymmetric", names, &common, &off) {
        // The shape and its peak stay the same: the fraction of the peak moves as the links do.
        assert!(without > 1.05 * with, "deep buffers block less");
    }
    let (with, without) = both("asymmetric", "links.mean_utilization", &common, &["topology.dims=[6,6,6]"]);
    assert!(without > 1.2 * with, "a symmetric machine has no such dimension");
}

#[test]
fn the_peak_is_that_of_the_longest_dimension() {
    let facts = |changes: &[&str]| {
        let sets: Vec<String> = changes.iter().map(|c| (*c).to_owned()).collect();
        netloom_study::resolve::load_machine("bgl", &sets).unwrap().torus().unwrap().facts()
    };
    let long = facts(&["topology.dims=[64,32,32]"]);
    let even = facts(&["topology.dims=[32,32,32]"]);
    assert!(long.peak_all_to_all_link_utilization < 0.67 && even.peak_all_to_all_link_utilization > 0.99);
    let payload = long.peak_all_to_all_payload_utilization;
    assert!(payload < 0.6 && even.peak_all_to_all_payload_utilization > 0.85);
    let headers = facts(&["topology.dims=[64,32,32]", "packet.software_header_B=40"]);
    assert!(headers.peak_all_to_all_payload_utilization < 0.95 * payload);
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
    let common = [&HOT[..], &["measure.warmup_us=300"]].concat();
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
        &["measure.warmup_us=0", "router.receiver_slq_fraction=0.75", "router.sender_slq_fraction=0.75"],
    ]
    .concat();
    let off = ["router.receiver_slq_fraction=0.0", "router.sender_slq_fraction=0.0"];
    // On a machine this small the fall is a few windows long: the sum of several.
    let sum = (1..=4).map(|seed| {
        let seed = format!("seed={seed}");
        let common = [&common[..], &[seed.as_str()]].concat();
        both("figure-5", "throughput.fall_us", &common, &off)
    });
    let (with, without) = sum.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(with > 1.1 * without);
}

#[test]
fn waves_come_from_the_dateline() {
    // The smallest machine that has them.
    let common = ["topology.dims=[12,12,12]", "workload.region=[6,6,6]", "measure.time_us=1500"];
    let names = ["throughput.swing", "escape.level"];
    let [swing, escape] = all_of("figure-8", names, &common, &["router.escape=bubble"]);
    assert!(swing.0 > 2.0 * swing.1);
    assert!(escape.0 > 2.0 * escape.1, "much of the traffic is on the escape VCs");
}

#[test]
fn the_bubble_deadlocks_by_the_published_rule_alone() {
    let stalls = |rule: &str| {
        let seeds =
            (1..=4).map(|seed| read("bubble-deadlock", ["stalled"], &[rule, &format!("seed={seed}")]));
        seeds.map(|[stalled]| stalled).sum::<f64>()
    };
    assert!(stalls("router.bubble_rule=published") > 0.0);
    assert!(stalls("router.bubble_rule=corrected") == 0.0);
}

/// Pairs that cannot reach one another, and pairs that need a relay, with three dead nodes close together.
fn cut_off(changes: &[&str]) -> (usize, usize) {
    let text = "name = 'faults'\nmachine = 'bgl'\nworkload.kind = 'uniform'\nset.topology.dims = [6, 6, 6]\n\
                set.topology.dead_nodes = [[1, 2, 1], [0, 2, 0], [0, 1, 1]]\n";
    let sets: Vec<String> = changes.iter().map(|c| (*c).to_owned()).collect();
    let study = resolve(SourceFile::new("faults", text), Path::new("."), &sets).unwrap();
    let planner = planner(study.torus()).expect("something is dead");
    let pairs = (0..216).flat_map(|from| (0..216).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let relayed =
        pairs.filter_map(|(from, to)| planner.plan(from, to)).filter(|plan| plan.second().is_some());
    let cut = (planner.out_of_reach().count(), relayed.count());
    println!("{changes:?}: {} pairs out of reach, {} relayed", cut.0, cut.1);
    cut
}

#[test]
fn dead_nodes_are_avoided_by_the_other_direction_and_by_relays() {
    let (cut, relayed) = cut_off(&[]);
    assert!(cut == 0 && relayed > 0, "without relays these pairs would be cut off");
    assert!(cut_off(&["topology.wrap=[false,false,false]"]).0 > 0, "an open line has no other route");
    assert!(cut_off(&["router.escape_order=direction"]).1 < relayed / 2, "relays are for dimension order");
}
