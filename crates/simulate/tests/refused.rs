//! Errors that are found only when a run is built.

use netloom_simulate::Fabric;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use netloom_study::run::{Quiet, Simulate};
use std::path::Path;

#[test]
fn a_file_that_is_not_there() {
    let trace = "name = \"mine\"\nmachine = \"bgl\"\n\n[workload]\nkind = \"trace\"\nfile = \"none.goal\"\n";
    let study = resolve(SourceFile::new("study.toml", trace), Path::new("."), &[]).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let problem = Fabric.simulate(&study, &Quiet(&stop), 1).unwrap_err().render(false);
    assert!(problem.contains("study.toml:6:8") && problem.contains("none.goal"), "{problem}");
}

/// Programs with messages that have no route around dead nodes and links: rejected when they are built, not
/// in the middle of the run.
#[test]
fn programs_out_of_reach() {
    let folder = tempfile::tempdir().unwrap();
    // From one corner up its line to the other there is a dynamic route, but no static one.
    std::fs::write(folder.path().join("corners"), "0 3\n0 0\n").unwrap();
    std::fs::write(folder.path().join("dead"), "0 3\n0 1\n").unwrap();
    for (name, first, second) in
        [("from0", "send 8b to 1", "recv 8b from 0"), ("from1", "recv 8b from 1", "send 8b to 0")]
    {
        let goal =
            format!("num_ranks 3\nrank 0 {{\na: {first}\n}}\nrank 1 {{\na: {second}\n}}\nrank 2 {{\n}}\n");
        std::fs::write(folder.path().join(format!("{name}.goal")), goal).unwrap();
    }
    std::fs::write(folder.path().join("three"), "0 3\n0 0\n3 3\n").unwrap();
    let machine = "name = 'mine'\nmachine = 'bgl'\nset.topology.dims = [4, 4]\n\
                   set.topology.wrap = [false, false]\nset.topology.dead_nodes = [[1, 3], [0, 1]]\n";
    let halo = format!(
        "{machine}mapping.file = 'corners'\n\
         workload = {{ kind = 'skeleton', program = 'halo', grid = [2], face_B = 4 }}\n"
    );
    let trace = |from: u32| {
        format!(
            "{machine}mapping.file = 'three'\nworkload = {{ kind = 'trace', file = 'from{from}.goal' }}\n"
        )
    };
    let built = |text: &str, sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        let study = resolve(SourceFile::new("study.toml", text), folder.path(), &sets).unwrap();
        let result = Fabric.simulate(&study, &Quiet(&std::sync::atomic::AtomicBool::new(false)), 1);
        result.map(|r| assert_eq!(r.partial, None)).map_err(|problem| problem.render(false))
    };
    for text in [&halo, &trace(0)] {
        built(text, &[]).expect("a dynamic packet has a route");
        let reported = built(text, &["traffic.routing=static"]).unwrap_err();
        assert!(
            reported.contains("`traffic.routing` has an invalid value") && reported.contains("--set:1:"),
            "{reported}"
        );
        for part in ["rank 0 on node [0, 3] sends to rank 1 on node [0, 0]", "no static route", "\"dynamic\""]
        {
            assert!(reported.contains(part), "{reported}");
        }
        let reported = built(text, &["traffic.priority=high"]).unwrap_err();
        assert!(
            reported.contains("`traffic.priority`") && reported.contains("no route for high priority"),
            "{reported}"
        );
        assert!(reported.contains("\"normal\""), "{reported}");
        // All neighbours of the second rank are dead.
        let reported = built(text, &["topology.dead_nodes=[[1,0],[0,1]]"]).unwrap_err();
        assert!(reported.contains("`mapping`") && reported.contains("no route leads there"), "{reported}");
        assert!(reported.contains("study.toml:6:"), "{reported}");
    }
    // The route back exists: only the messages sent count.
    built(&trace(1), &["traffic.routing=static"]).expect("a static route back");
    let reported = built(&halo.replace("corners", "dead"), &[]).unwrap_err();
    assert!(
        reported.contains("`mapping`") && reported.contains("rank 1 on node [0, 1], one of"),
        "{reported}"
    );
}
