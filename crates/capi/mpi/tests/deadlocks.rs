//! Programs of `tests/mpi` that wait for ever, as guests and natively: what is reported of each rank, and of all
//! together.

mod jobs;

use jobs::{alone, compile, job, machine, run_guests};
use netloom_mpi::waits::{Waits, compare};
use netloom_shm::launch::{Job, launch, share_core};
use std::path::Path;
use std::time::Duration;

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

/// The same natively, where tasks report at the time limit.
fn run_natively(program: &Path, argument: &str, ranks: u32) -> Reported {
    let arguments = if argument.is_empty() { vec![] } else { vec![argument.into()] };
    let time_limit = Some(Duration::from_secs(2));
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = launch(&Job { arguments, time_limit, ..job(program, ranks) }, &mut out, &mut err).unwrap();
    let at_limit = outcome.at_limit;
    let all: Vec<u32> = at_limit.waiting.keys().copied().collect();
    assert_eq!((all, outcome.timed_out), ((0..ranks).collect(), time_limit), "{at_limit:?}");
    let waits = at_limit.waiting.iter().map(|(&task, of)| (task, Waits::of_bytes(&of.state).unwrap()));
    let job = compare::Job { waits: waits.collect(), ended: at_limit.ended.into_iter().collect() };
    Reported {
        sentences: job.sentences(),
        of_ranks: at_limit.waiting.into_values().map(|of| of.lines.join("; ")).collect(),
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
    // Synchronous sends to each other.
    let deadlocks = compile("deadlocks");
    let reported = run(&deadlocks, "0", 2);
    let lines = [1, 0].map(|to| {
        format!(
            "MPI_Ssend: synchronous send of 1048576 B to rank {to} with tag 5 of MPI_COMM_WORLD that no receive has taken"
        )
    });
    let cycle = "tasks 0 and 1 wait for each other: 0 for 1 (MPI_Ssend), 1 for 0 (MPI_Ssend)";
    check(&reported, &lines.each_ref().map(String::as_str), &[cycle]);
    // The partner is in MPI_Finalize.
    let reported = run(&deadlocks, "4", 3);
    let lines = [
        "MPI_Finalize: other ranks of MPI_COMM_WORLD",
        "MPI_Recv: receive from rank 0 with tag 6 of MPI_COMM_WORLD",
        "MPI_Finalize: other ranks of MPI_COMM_WORLD",
    ];
    let sentences = [
        "MPI_Finalize of MPI_COMM_WORLD: tasks 0 and 2 wait; task 1 has not called it, waiting in MPI_Recv (receive from rank 0 \
         with tag 6 of MPI_COMM_WORLD)",
        "tasks 0 and 1 wait for each other: 0 for 1 (MPI_Finalize), 1 for 0 (MPI_Recv)",
    ];
    check(&reported, &lines, &sentences);
    // Partitions that are not ready, and a partitioned message of another tag.
    let reported = run(&deadlocks, "9", 4);
    let lines = [
        "MPI_Finalize: other ranks, which have not freed communicators that this rank has freed",
        "MPI_Waitall: partitioned receive from rank 0 with tag 4 of MPI_COMM_WORLD, partitioned send to rank 2 with tag 3 of \
         MPI_COMM_WORLD: 1 of 4 partitions is not ready (MPI_Pready), partitioned message from rank 0 with tag 3 of \
         MPI_COMM_WORLD that no receive has matched",
        "MPI_Waitall: partitioned receive from rank 1 with tag 3 of MPI_COMM_WORLD",
    ];
    let sentences = [
        "task 1: MPI_Waitall: partitioned receive from rank 0 with tag 4 of MPI_COMM_WORLD; a partitioned message has come from \
         there with tag 3, which no receive has matched",
    ];
    check(&reported, &lines, &sentences);
    // A lock, whose holder waits.
    let reported = run(&compile("waits_for_lock"), "", 3);
    let window = "window of 3 ranks made by MPI_Win_create: the lock of rank 0";
    let line = format!("MPI_Win_lock: {window}");
    let receive = "MPI_Recv: receive from rank 0 with tag 42 of MPI_COMM_WORLD";
    let has = "task 1 has it, waiting in MPI_Recv (receive from rank 0 with tag 42 of MPI_COMM_WORLD)";
    let sentences = [
        format!("task 0: {window}; {has}"),
        format!("task 2: {window}; {has}"),
        "tasks 0 and 1 wait for each other: 0 for 1 (MPI_Win_lock), 1 for 0 (MPI_Recv)".into(),
    ];
    check(&reported, &[&line, receive, &line], &sentences.each_ref().map(String::as_str));
}

#[test]
fn ranks_that_wait_in_collectives_are_reported() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let compile = |name: &str| compile(&format!("tests/mpi/{name}.c"), folder.path());
    let receive = "MPI_Recv: receive from rank 1 with tag 42 of MPI_COMM_WORLD";
    let waits = compile("waits_in_a_collective");
    // In the network, and over messages: the nodes of three ranks are no box.
    for (ranks, others) in [(4, "tasks 1 to 3"), (3, "tasks 1 and 2")] {
        let of = format!("communicator of {ranks} ranks made by MPI_Comm_dup");
        let line = format!("MPI_Bcast: other ranks of {of}");
        let sentences = [
            format!(
                "MPI_Bcast of {of}: {others} wait; task 0 has not called it, waiting in MPI_Recv (receive from rank 1 with tag 42 of \
                 MPI_COMM_WORLD)"
            ),
            "tasks 0 and 1 wait for each other: 0 for 1 (MPI_Recv), 1 for 0 (MPI_Bcast)".into(),
        ];
        let reported = run(&waits, "", ranks);
        check(&reported, &[receive, &line, &line, &line], &sentences.each_ref().map(String::as_str));
    }
    let deadlocks = compile("deadlocks");
    let barrier = "MPI_Barrier: other ranks of MPI_COMM_WORLD";
    let lines = [barrier, "MPI_Reduce: other ranks of MPI_COMM_WORLD", barrier, barrier];
    let sentence = "MPI_COMM_WORLD: tasks 0, 2 and 3 call MPI_Barrier, task 1 calls MPI_Reduce as the same collective operation; \
                    all ranks call those of a communicator in the same order";
    check(&run(&deadlocks, "1", 4), &lines, &[sentence]);
    // Ranks 1 and 3 are in a communicator of their own.
    let of = "communicator of 2 ranks made by MPI_Comm_split";
    let sentences = [
        "MPI_Barrier of MPI_COMM_WORLD: tasks 0 and 2 wait; tasks 1 and 3 have not called it, waiting in MPI_Bcast of communicator of \
         2 ranks made by MPI_Comm_split",
        "MPI_Bcast of communicator of 2 ranks made by MPI_Comm_split: task 1 gives root 1, task 3 gives root 0; the root must be the \
         same at all ranks",
    ];
    check(&run(&deadlocks, "2", 4), &[barrier, of, barrier, of], &sentences);
    // In the network some ranks are done, others are not.
    let sentence = "MPI_Bcast of MPI_COMM_WORLD: tasks 0, 1 and 3 give 8 B, task 2 gives 16 B; the length must be the same at all ranks";
    check(
        &run(&deadlocks, "3", 4),
        &["MPI_", "MPI_", "MPI_Bcast: other ranks of MPI_COMM_WORLD", "MPI_"],
        &[sentence],
    );
    // Nothing is written beyond a buffer that is too short.
    let sentence = "MPI_Bcast of MPI_COMM_WORLD: tasks 0, 1 and 3 give 1000 B, task 2 gives 100 B; the length \
                    must be the same at all ranks";
    check(
        &run(&deadlocks, "7", 4),
        &["MPI_", "MPI_", "MPI_Bcast: other ranks of MPI_COMM_WORLD", "MPI_"],
        &[sentence],
    );
    let job = Job { arguments: vec!["8".into()], ..job(&deadlocks, 4) };
    let (outcome, _, err) = run_guests(&machine(1, 1), job);
    // The ranks may have ended before that is seen, or are stopped then.
    let why = outcome.ended_early.unwrap_or_default();
    assert!(why.contains("refused 1 packets"), "{why}\n{err}");
    // A message with another tag, in a communicator with a name.
    let even = "receive from rank 1 (task 2) with tag 7 of communicator \"even\" of 2 ranks";
    let sentences = [
        format!(
            "MPI_Barrier of MPI_COMM_WORLD: tasks 1 to 3 wait; task 0 has not called it, waiting in MPI_Recv ({even})"
        ),
        format!(
            "task 0: MPI_Recv: {even}; 4 B have come from there with tag 8, which no receive has matched"
        ),
        "tasks 0 and 2 wait for each other: 0 for 2 (MPI_Recv), 2 for 0 (MPI_Barrier)".into(),
    ];
    let lines = [even, barrier, barrier, barrier];
    check(&run(&deadlocks, "5", 4), &lines, &sentences.each_ref().map(String::as_str));
    // Natively a rank waits for messages of its barrier.
    let message = "MPI_Barrier: message of rank";
    let lines = [even, message, message, message];
    check(&run_natively(&deadlocks, "5", 4), &lines, &sentences.each_ref().map(String::as_str));
    // One rank calls one operation less than others.
    let any = "receive from any rank with any tag of MPI_COMM_WORLD";
    let finalize = "MPI_Finalize: other ranks of MPI_COMM_WORLD";
    let odd = format!("MPI_Barrier: other ranks of {of}");
    let sentences = [
        format!(
            "MPI_Finalize of MPI_COMM_WORLD: tasks 0 and 2 wait; task 1 has not called it, waiting in MPI_Barrier of {of}; task 3 has not \
             called it, waiting in MPI_Recv ({any})"
        ),
        format!("MPI_Barrier of {of}: task 1 waits; task 3 has not called it, waiting in MPI_Recv ({any})"),
    ];
    let lines = [finalize, &odd, finalize, any];
    check(&run(&deadlocks, "6", 4), &lines, &sentences.each_ref().map(String::as_str));
    let finalize = "MPI_Finalize: message of rank";
    let lines = [finalize, message, finalize, any];
    check(&run_natively(&deadlocks, "6", 4), &lines, &sentences.each_ref().map(String::as_str));
}
