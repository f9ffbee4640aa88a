//! File IO from compute nodes to IO nodes: its bottleneck is the narrowest part; invalid values are reported.

use netloom_simulate::Fabric;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::resolve::resolve;
use netloom_study::result::{FROM_IO, RunResult, TO_IO};
use netloom_study::run::{Quiet, Simulate};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const STUDY: &str = include_str!("../../../studies/bgq/file-io.toml");

/// Two IO nodes for sixteen compute nodes.
const SMALL: [&str; 4] = [
    "topology.dims=[4,4,1,1,1]",
    "topology.io={ pset = [4,2,1,1,1], exits = [[0,0,0,0,0],[2,1,0,0,0]] }",
    "workload.bytes=262144",
    "workload.buffer_B=16384",
];

fn run_all(changes: &[&str]) -> Result<RunResult, Problem> {
    let sets: Vec<String> = SMALL.iter().chain(changes).map(|c| (*c).to_owned()).collect();
    let study = resolve(SourceFile::new("file-io.toml", STUDY), Path::new("."), &sets)?;
    let result = Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 1)?;
    assert_eq!(result.partial, None);
    Ok(result)
}

fn run(changes: &[&str]) -> Result<Vec<Vec<f64>>, Problem> {
    Ok(run_all(changes)?.measured[0].rows.clone())
}

/// Rate of an IO node in the last row, where all compute nodes take part, GB/s.
fn rate(changes: &[&str]) -> f64 {
    let rows = run(changes).expect("fine");
    let [nodes, us, rate, all] = rows.last().expect("some")[..] else { panic!("four columns") };
    assert_eq!(nodes, 8.0);
    assert!((rate - 8.0 * 262.144 / us).abs() < 1e-9 && (all - 2.0 * rate).abs() < 1e-9);
    rate
}

/// The system's FIFO at 4 B a network cycle takes 512 B of data in the time of 552: 1.855 GB/s, of two links.
/// One link leaves 12 ns between two packets: 1.778.
#[test]
fn the_narrowest_limits() {
    let (fifo, link) = (2.0 * 512.0 / 552.0, 512.0 / (552.0 / 2.0 + 12.0));
    let is_near = |rate: f64, limit: f64| assert!(rate < limit && rate > 0.94 * limit, "{rate} of {limit}");
    for operation in ["workload.operation=write", "workload.operation=read"] {
        is_near(rate(&[operation]), fifo);
        is_near(rate(&[operation, "message_unit.pcie_bandwidth_GB_per_s=1"]), 1.0);
        is_near(rate(&[operation, "topology.io.exits=[[1,1,0,0,0]]"]), link);
        // With one buffer nothing overlaps: a piece comes, then it is moved on.
        let one_by_one = rate(&[operation, "workload.buffers=1", "workload.buffer_B=262144"]);
        is_near(one_by_one, 1.0 / (1.0 / fifo + 1.0 / 4.0));
    }
}

/// Links that corrupt bits make it slower and lose nothing, and IO links are among those whose errors are
/// reported.
#[test]
fn errors_are_made_good_on_io_links_too() {
    let whole = rate(&[]);
    let result = run_all(&["link.bit_error_rate=1e-6"]).expect("fine");
    let with_errors = result.measured[0].rows.last().expect("some")[2];
    assert!(with_errors < 0.98 * whole && with_errors > 0.3 * whole, "{with_errors} {whole}");
    let (e, links) = (result.torus.as_ref().and_then(|t| t.errors).expect("counted"), &result.link_errors);
    assert_eq!(links.iter().map(|row| row.errors.corrupted).sum::<u64>(), e.corrupted);
    let of = |direction| {
        links.iter().filter(move |row| row.direction == direction).map(|row| row.errors.corrupted)
    };
    assert_eq!((of(TO_IO).count(), of(FROM_IO).count()), (4, 4));
    assert!(of(TO_IO).all(|corrupted| corrupted > 0), "{links:?}");
}

#[test]
fn rounds_have_more_and_more_nodes() {
    let rows = run(&[]).expect("fine");
    assert_eq!(rows.iter().map(|r| r[0]).collect::<Vec<_>>(), [1.0, 2.0, 4.0, 8.0]);
    assert!(rows.windows(2).all(|w| w[0][1] < w[1][1]), "{rows:?}");
}

#[test]
fn invalid_values_are_reported() {
    let reported = |changes: &[&str]| format!("{:?}", run(changes).expect_err("impossible"));
    assert!(reported(&["workload.nodes=[9]"]).contains("expected 1 to the 8 nodes of a pset, found 9"));
    assert!(
        reported(&["topology.io.pset=[3,2,1,1,1]"])
            .contains("expected lengths that divide those of [4, 4, 1, 1, 1]")
    );
    assert!(reported(&["topology.io.exits=[]"]).contains("expected one to three nodes"));
    assert!(reported(&["workload={ kind = \"uniform\" }"]).contains("only programs on Message Units"));
}
