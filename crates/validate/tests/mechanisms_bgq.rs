//! What is judged of the Blue Gene/Q paper follows from mechanisms: with one switched off, on a small
//! machine, its figure moves away.

use netloom_simulate::Fabric;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use netloom_study::result::RunResult;
use netloom_study::run::{Quiet, Simulate};
use netloom_validate::judges::bgq::STUDIES;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The tables that studies judge, each with a test below.
const TABLES: [&str; 7] = [
    "bgq.zone_routing",
    "bgq.table1_ping_pong",
    "bgq.table2_nearest_neighbour",
    "bgq.all_to_all_512",
    "bgq.table3_collective_latency",
    "bgq.table4_collective_throughput",
    "bgq.large_system",
];

#[test]
fn no_judged_table_is_left_out() {
    for (table, _) in STUDIES {
        assert!(TABLES.contains(table), "{table} needs a test here");
    }
}

/// A study of `studies/bgq/`, with changes, without its sweep.
fn run(study: &str, changes: &[&str]) -> RunResult {
    let path = format!("studies/bgq/{study}.toml");
    let text = STUDIES.iter().flat_map(|(_, s)| *s).find(|(n, _)| *n == path).expect("a study").1;
    let sets: Vec<String> = changes.iter().map(|c| (*c).to_owned()).collect();
    let study = resolve(SourceFile::new(study, text), Path::new("."), &sets).unwrap();
    let result = Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 1).unwrap();
    assert_eq!(result.partial, None);
    result
}

/// A column of what its program measured.
fn column(result: &RunResult, column: usize) -> Vec<f64> {
    result.measured[0].rows.iter().map(|row| row[column]).collect()
}

#[test]
fn zones_carry_more_on_asymmetric_tori() {
    let small = ["sweep={}", "topology.dims=[8,4,4,4]", "measure.window_us=2"];
    let utilization = |zone: &str| run("zones", &[&small[..], &[zone]].concat()).links.mean_utilization;
    let (with, without) = (utilization("traffic.zone=0"), utilization("traffic.zone=1"));
    assert!(with > 1.15 * without, "{with} {without}");
}

/// Traces account for a hop's time above 40 ns; software's time varies with the phase of its polling.
#[test]
fn hops_and_polling_make_table_1() {
    let small = ["topology.dims=[4,2,1,1,1]", "topology.wrap=[false,false,false,false,false]"];
    let steps = |changes: &[&str]| {
        let hardware = column(&run("ping-pong", &[&small[..], changes].concat()), 1);
        (hardware[3] - hardware[0]) / 3.0
    };
    assert!((steps(&[]) - 45.4).abs() < 0.1);
    assert!((steps(&["link.trace_ns=[]"]) - 40.0).abs() < 0.1);
    let spread = |poll: &str| {
        let software = column(&run("ping-pong", &[&small[..], &[poll]].concat()), 3);
        software.iter().copied().fold(0.0, f64::max) - software.iter().copied().fold(1e9, f64::min)
    };
    assert!(
        spread("message_unit.software.poll_ns=50") > 10.0
            && spread("message_unit.software.poll_ns=0.125") < 0.2
    );
}

/// Beyond the L2, memory limits; below it the links and their acknowledgements do.
#[test]
fn memory_and_links_make_table_2() {
    let rate = |bytes: &str, changes: &[&str]| {
        column(&run("nearest-neighbour", &[&[bytes, "workload.rounds=1"], changes].concat()), 1)[0]
    };
    let (long, short) = ("workload.bytes=[2097152]", "workload.bytes=[1048576]");
    assert!(rate(long, &[]) < 27.0 && rate(long, &["message_unit.l2_B=67108864"]) > 34.0);
    // Some sets have room for all of their data, if a hash chooses them.
    assert!((28.0..31.0).contains(&rate(long, &["message_unit.l2_ways=16"])));
    // Acknowledgements of 16 B fit into the gap between two packets; longer ones do not.
    assert!(rate(short, &["packet.ack_B=40"]) < 0.97 * rate(short, &[]));
    assert!(rate(short, &["router.gap_ns=0"]) > 1.01 * rate(short, &[]));
    // One port to the switch for all engines.
    assert!(rate(short, &["message_unit.master_ports=1"]) < 0.8 * rate(short, &[]));
}

/// Packets that wait for one link hold up those behind them, if there is one queue a VC.
#[test]
fn queues_carry_an_all_to_all() {
    let fraction = |queues: &str| {
        column(&run("all-to-all-4k", &["topology.dims=[4,4,4,1,1]", "workload.bytes=8192", queues]), 2)[0]
    };
    let (seven, one) = (fraction("router.queues=7"), fraction("router.queues=1"));
    assert!(seven > 1.03 * one, "{seven} {one}");
}

/// What the collective logic adds at each level of the tree, and its floating-point units apart.
#[test]
fn the_collective_logic_makes_table_3() {
    let small = ["topology.dims=[4,2,2,1,1]", "topology.wrap=[]", "workload.boxes=[[2,1,1,1,1],[4,2,2,1,1]]"];
    let a_level = |changes: &[&str]| {
        let ns = column(&run("collective-latency", &[&small[..], changes].concat()), 4);
        // Four levels and one.
        (ns[1] - ns[0]) / 3.0
    };
    let near = |x: f64, ns: f64| assert!((x - ns).abs() < 2.0, "{x} {ns}");
    let hops = 2.0 * 45.4;
    near(a_level(&[]), hops + 24.0);
    near(a_level(&["workload.operation=\"add-unsigned\""]), hops + 20.0);
    near(a_level(&["router.collective.float_ns=0"]), hops + 20.0);
    near(a_level(&["router.collective.combine_ns=0"]), hops + 16.0);
    near(a_level(&["router.collective.central_ns=0"]), hops + 12.0);
}

/// Short messages wait for the reception engine, which begins when a packet is whole; long ones for up-tree
/// between packets, or for the links and their acknowledgements.
#[test]
fn the_collective_logic_makes_table_4() {
    let small = ["topology.dims=[4,2,1,1,1]"];
    let rate =
        |changes: &[&str]| column(&run("collective-throughput", &[&small[..], changes].concat()), 6)[0];
    let long = "workload.bytes=[65536]";
    let usual = rate(&[long]);
    assert!((1.65..1.72).contains(&usual), "{usual}");
    assert!(rate(&[long, "router.collective.gap_ns=0"]) > 1.03 * usual);
    assert!(rate(&[long, "packet.ack_B=60"]) < 0.97 * usual);
    // Room for one packet at the other end does not cover the round trip of its tokens.
    assert!(rate(&[long, "router.slots=2"]) < 0.95 * usual);
}

/// Beyond a midplane a level of the tree may cross link chips and a fibre; a barrier's packet passes the
/// logic at each node, up and down.
#[test]
fn link_chips_and_logic_make_the_largest_machine() {
    let hardware = |study: &str, column_of: usize, changes: &[&str]| {
        column(&run(study, &[&["topology.dims=[8,4,1,1,1]"], changes].concat()), column_of)[0]
    };
    let near = |x: f64, ns: f64| assert!((x - ns).abs() < 2.0, "{x} {ns}");
    // The root's farthest nodes are across one cable: once up, once down.
    for (study, column_of) in [("large-allreduce", 3), ("large-barrier", 2)] {
        let cables = hardware(study, column_of, &[]) - hardware(study, column_of, &["link.link_chip_ns=0"]);
        near(cables, 2.0 * 1157.0 / 8.0);
    }
    // Six levels, up and down, of 6 ns each; and when the last node polls its register, a turn of 85 ns more
    // or less.
    let logic =
        hardware("large-barrier", 2, &[]) - hardware("large-barrier", 2, &["router.collective.central_ns=0"]);
    assert!((logic - 72.0).abs() < 85.0 && logic > 20.0, "{logic}");
}
