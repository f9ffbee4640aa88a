//! Studies of machines with errors: they are corrected and counted, or the run reports what failed.

use netloom_simulate::Fabric;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use netloom_study::result::{Ended, RunResult};
use netloom_study::run::{Quiet, Simulate};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const UNIFORM: &str = r#"name = "errors"
machine = "bgq"

[set]
topology.dims = [8, 2, 2]

[workload]
kind = "uniform"

[traffic]
load = { link_utilization = 0.3 }
packets_per_node = 200

[measure]
until = "finished"
window_us = 1
"#;

fn run(text: &str, sets: &[&str]) -> RunResult {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let study = resolve(SourceFile::new("study.toml", text), Path::new("."), &sets).unwrap();
    Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 2).unwrap()
}

#[test]
fn what_is_made_good_is_counted() {
    let whole = run(UNIFORM, &[]);
    assert_eq!((whole.simulated.ended, whole.torus.and_then(|t| t.errors)), (Ended::Finished, None));
    for machine in ["machine=\"bgq\"", "machine=\"bgl\""] {
        let result = run(UNIFORM, &[machine, "link.bit_error_rate=2e-5"]);
        let e = result.torus.as_ref().and_then(|t| t.errors).expect("counted");
        assert_eq!((result.simulated.ended, &result.partial), (Ended::Finished, &None));
        assert!(e.corrupted > 10 && e.retransmitted == e.corrupted + e.refused, "{e:?}");
        assert_eq!(result.totals.packets_delivered, result.totals.packets_injected);
        let of_links: u64 = result.link_errors.iter().map(|row| row.errors.corrupted).sum();
        assert_eq!(of_links, e.corrupted);
    }
}

#[test]
fn named_faults_are_seen_in_their_places() {
    let result = run(
        UNIFORM,
        &[
            "link.faults=[{node=[3,1,0],direction=\"+x\",fibre=3,fibre_error_rate=1e-3},\
             {node=[5,0,1],direction=\"-y\",bit_error_rate=1e-3}]",
            "router.soft_errors=[{node=[2,1,1],direction=\"-x\",packet=3,bits=1}]",
        ],
    );
    assert_eq!((result.simulated.ended, &result.partial), (Ended::Finished, &None));
    let e = result.torus.as_ref().and_then(|t| t.errors).expect("counted");
    assert!(e.words_corrected > 0 && e.corrupted > 0 && e.soft_corrected == 1, "{e:?}");
    for row in &result.link_errors {
        let at = (&row.node[..], row.direction);
        assert_eq!(row.errors.fibre_errors[3] > 0, at == (&[3, 1, 0], 0), "{row:?}");
        assert_eq!(row.errors.soft_corrected > 0, at == (&[2, 1, 1], 1), "{row:?}");
        // Two wrong bits of a symbol now and then spoil a packet on the fibre too.
        let may = at == (&[5, 0, 1], 3) || at == (&[3, 1, 0], 0);
        assert!(row.errors.corrupted == 0 || may, "{row:?}");
    }
}

/// Sums and barriers of programs come out right: their programs look at what they get.
#[test]
fn collective_programs_end_right_on_bad_links() {
    for program in ["program=\"allreduce\"\nbytes=[8, 2048]\nrounds=6", "program=\"barrier\"\nrounds=30"] {
        let text = format!(
            "name=\"errors\"\nmachine=\"bgq\"\n[set]\ntopology.dims=[4,2,2,2,2]\n[workload]\nkind=\"spi\"\n{program}\n\
             [measure]\nuntil=\"finished\"\nwindow_us=10\n"
        );
        let time = |result: &RunResult| result.simulated.ticks;
        let whole = run(&text, &[]);
        let result = run(&text, &["link.bit_error_rate=2e-4"]);
        assert_eq!((result.simulated.ended, &result.partial), (Ended::Finished, &None));
        let e = result.torus.as_ref().and_then(|t| t.errors).expect("counted");
        assert!(e.corrupted + e.barriers_lost > 10 && time(&result) > time(&whole), "{e:?}");
        assert!(e.barriers_resent <= e.barriers_lost);
    }
}

#[test]
fn a_stopped_receiver_ends_the_run_and_is_named() {
    let result = run(UNIFORM, &["router.soft_errors=[{node=[2,1,1],direction=\"-x\",packet=3,bits=2}]"]);
    assert_eq!(result.simulated.ended, Ended::Failed);
    let why = result.partial.expect("a reason");
    assert!(why.starts_with("the receiver -x of node [2, 1, 1] stopped at "), "{why}");
    assert!(why.contains("us: two wrong bits in a word of a packet from node ["), "{why}");
    assert!(why.ends_with("of which nothing left it"), "{why}");
}

#[test]
fn an_escape_fails_the_run_and_its_link_is_named() {
    let result = run(UNIFORM, &["link.faults=[{node=[0,1,1],direction=\"-x\",escape=2}]"]);
    assert_eq!(result.simulated.ended, Ended::Failed);
    let expected = "an error got through all checks: the CRCs of the users' packets sent and received differ on link -x of \
                    node [0, 1, 1]";
    assert_eq!(result.partial.as_deref(), Some(expected));
}

#[test]
fn invalid_places_are_reported_where_they_are_written() {
    let text = UNIFORM.replace(
        "topology.dims = [8, 2, 2]",
        "topology.dims = [8, 2, 2]\nlink.faults = [{ node = [8, 0, 0], direction = \"+x\", bit_error_rate = 1e-6 }]",
    );
    let problem =
        resolve(SourceFile::new("study.toml", text), Path::new("."), &[]).expect_err("no such node");
    let reported = problem.render(false);
    assert!(reported.contains("study.toml:6:"), "{reported}");
    assert!(reported.contains("expected coordinates inside [8, 2, 2], found [8, 0, 0]"), "{reported}");
}
