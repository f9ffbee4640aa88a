//! Deadlocks of programs of `tests/mpi` as guests: what is reported of each rank, and of all together.

mod jobs;

use jobs::{alone, compile, job, machine, run_guests};
use netloom_shm::launch::{Job, share_core};
use std::path::Path;

/// What a job reports that ends in a deadlock: a line for each rank, and sentences about all.
struct Reported {
    of_ranks: Vec<String>,
    sentences: Vec<String>,
}

fn run(program: &Path, argument: &str, ranks: u32) -> Reported {
    let arguments = if argument.is_empty() { vec![] } else { vec![argument.into()] };
    let (outcome, out, err) = run_guests(&machine(1, 1), Job { arguments, ..job(program, ranks) });
    assert_ne!(outcome.processes.status(), 0, "{out}{err}");
    let is_all = outcome.failures.iter().map(|failure| failure.0).eq(0..ranks);
    assert!(is_all, "{:?}\n{out}{err}", outcome.failures);
    Reported {
        of_ranks: outcome.failures.into_iter().map(|failure| failure.1).collect(),
        sentences: outcome.deadlock,
    }
}

/// That each rank's line has these words, and that the sentences are these.
fn check(reported: &Reported, words: &[&str], sentences: &[&str]) {
    let Reported { of_ranks, sentences: found } = reported;
    for (line, words) in of_ranks.iter().zip(words) {
        assert!(line.contains(words), "{words}\n{of_ranks:#?}\n{found:#?}");
    }
    assert_eq!(found, sentences, "{of_ranks:#?}");
}

#[test]
fn ranks_that_wait_for_messages_are_reported() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let compile = |name: &str| compile(&format!("tests/mpi/{name}.c"), folder.path());
    let reported = run(&compile("waits_for_ever"), "", 3);
    let begin =
        "MPI_Recv: waits for ever: it has waited for 1.0 s of simulated time, and nothing came; unfinished: ";
    let lines = [1, 2, 0]
        .map(|from| format!("{begin}MPI_Recv: receive from rank {from} with tag 42 of MPI_COMM_WORLD"));
    let cycle =
        "tasks 0 to 2 wait for each other: 0 for 1 (MPI_Recv), 1 for 2 (MPI_Recv), 2 for 0 (MPI_Recv)";
    check(&reported, &lines.each_ref().map(String::as_str), &[cycle]);
    // A probe, and a synchronous send.
    let reported = run(&compile("waits_in_a_probe"), "", 2);
    let lines = [
        "MPI_Probe: message from rank 1 with tag 42 of MPI_COMM_WORLD, 4 B from rank 1 with tag 43 of MPI_COMM_WORLD \
         that no receive has matched",
        "MPI_Ssend: synchronous send of 4 B to rank 0 with tag 43 of MPI_COMM_WORLD that no receive has taken",
    ];
    let sentences = [
        "task 0: MPI_Probe: message from rank 1 with tag 42 of MPI_COMM_WORLD; 4 B have come from there with tag 43, which no \
         receive has matched",
        "tasks 0 and 1 wait for each other: 0 for 1 (MPI_Probe), 1 for 0 (MPI_Ssend)",
    ];
    check(&reported, &lines, &sentences);
    // Each thread of a rank.
    let Reported { of_ranks, .. } = run(&compile("waits_in_threads"), "", 2);
    for (rank, tag) in [(0, 40), (0, 41), (0, 42), (1, 40), (1, 41), (1, 42)] {
        let words = format!("receive from rank {} with tag {tag} of MPI_COMM_WORLD", 1 - rank);
        let line = of_ranks.iter().find(|line| line.contains(&words));
        assert!(line.is_some_and(|line| line.contains("MPI_Recv, MPI_Wait of 2 threads: ")), "{of_ranks:#?}");
    }
    // Long messages to each other.
    let deadlocks = compile("deadlocks");
    let reported = run(&deadlocks, "0", 2);
    let lines = [1, 0].map(|to| {
        format!(
            "MPI_Send: send of 1048576 B to rank {to} with tag 5 of MPI_COMM_WORLD that no receive has taken"
        )
    });
    let sentence = "tasks 0 and 1 wait for each other: 0 for 1 (MPI_Send), 1 for 0 (MPI_Send)";
    check(&reported, &lines.each_ref().map(String::as_str), &[sentence]);
    // The partner is in MPI_Finalize.
    let reported = run(&deadlocks, "4", 3);
    check(&reported, &["x"], &[]);
}

#[test]
fn ranks_that_wait_in_collectives_are_reported() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let compile = |name: &str| compile(&format!("tests/mpi/{name}.c"), folder.path());
    let deadlocks = compile("deadlocks");
    let waits = compile("waits_in_a_collective");
    // In the network, and over messages: the nodes of three ranks are no box.
    check(&run(&waits, "", 4), &[], &[]);
    check(&run(&waits, "", 3), &[], &[]);
    check(&run(&deadlocks, "1", 4), &[], &[]);
    check(&run(&deadlocks, "2", 4), &[], &[]);
    check(&run(&deadlocks, "3", 4), &[], &[]);
    check(&run(&deadlocks, "5", 4), &[], &[]);
    check(&run(&deadlocks, "6", 4), &[], &[]);
    check(&run(&compile("waits_for_lock"), "", 3), &[], &[]);
}

#[test]
fn zz_print() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let compile = |name: &str| compile(&format!("tests/mpi/{name}.c"), folder.path());
    for (name, argument, ranks) in [
        ("waits_for_ever", "", 3),
        ("waits_in_a_probe", "", 2),
        ("deadlocks", "0", 2),
        ("deadlocks", "4", 3),
        ("waits_in_a_collective", "", 3),
        ("deadlocks", "1", 4),
        ("deadlocks", "2", 4),
        ("deadlocks", "3", 4),
        ("deadlocks", "5", 4),
        ("deadlocks", "6", 4),
        ("waits_for_lock", "", 3),
    ] {
        let program = compile(name);
        let arguments = if argument.is_empty() { vec![] } else { vec![argument.into()] };
        let (outcome, out, err) = run_guests(&machine(1, 1), Job { arguments, ..job(&program, ranks) });
        eprintln!(
            "=== {name} {argument} {ranks}: {} {out}{err}\n{:#?}\n{:#?}",
            outcome.processes.status(),
            outcome.failures,
            outcome.deadlock
        );
    }
}
