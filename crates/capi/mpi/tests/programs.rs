//! The C programs of `tests/mpi`, compiled against `mpi.h` and linked with `libmpi_abi.so`: natively with 1
//! to 8 ranks, and as guests of a simulated Blue Gene/Q. Each checks its data itself.

mod jobs;
#[path = "../../pami/tests/parts/mod.rs"]
mod parts;

use jobs::{CHECKED, alone, compile, job, libraries, machine, run_guests};
use netloom_shm::launch::{Bind, Job, launch, share_core};
use parts::check_each;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Status, and all that was written.
fn native(program: &Path, ranks: u32) -> (u8, String) {
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = launch(&job(program, ranks), &mut out, &mut err).expect("the job starts");
    (outcome.status(), format!("{}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err)))
}

/// Status, simulated time, and all that was written.
fn simulated(program: &Path, ranks: u32, per_node: u32, threads: usize) -> (u8, f64, String) {
    let (outcome, out, err) = run_guests(&machine(per_node, threads), job(program, ranks));
    let mut text = out + &err;
    let failures: Vec<String> = outcome.failures.iter().map(|failure| format!("{failure:?}")).collect();
    text.push_str(&failures.join("\n"));
    (outcome.processes.status(), outcome.simulated_us, text)
}

fn source(name: &str) -> String {
    format!("tests/mpi/{name}.c")
}

#[test]
fn programs_check_their_data_natively() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    for &name in CHECKED {
        let program = compile(&source(name), folder.path());
        for ranks in [1, 2, 3, 8] {
            let (status, output) = native(&program, ranks);
            assert_eq!(status, 0, "{name} with {ranks} ranks:\n{output}");
        }
    }
}

/// Between ranks that have cores of their own, and between others, which do not try paths.
#[test]
fn repeated_messages_and_puts_are_whole_on_each_path_natively() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let program = compile(&source("repeated"), folder.path());
    for ranks in [1, 2, 3] {
        for arguments in [vec![], vec!["eager".into()]] {
            let (mut out, mut err) = (vec![], vec![]);
            let job = Job { arguments, bind: Bind::Auto, ..job(&program, ranks) };
            let outcome = launch(&job, &mut out, &mut err).expect("the job starts");
            assert_eq!(outcome.status(), 0, "{ranks} ranks:\n{}", String::from_utf8_lossy(&err));
        }
    }
}

/// With as many ranks as may have cores of their own: the others would only wait longer, and sleep.
#[test]
fn short_messages_natively_allocate_nothing_and_make_no_system_call() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    for name in ["allocations", "system_calls"] {
        let program = compile(&source(name), folder.path());
        for ranks in [1, 2] {
            let (status, output) = native(&program, ranks);
            assert_eq!(status, 0, "{name} with {ranks} ranks:\n{output}");
        }
    }
}

/// As IBM's: `PAMID_RZV` is the length from which on messages go by rendezvous, and far gets are paced if
/// that is asked for; near ones and short ones never are.
#[test]
fn cut_offs_and_pacing_are_of_the_environment() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile(&source("half_round_trips"), folder.path());
    let times = |set: &[(&str, &str)]| {
        let environment = set.iter().map(|&(name, value)| (name.into(), value.into())).collect();
        let (outcome, out, err) = run_guests(&machine(1, 1), Job { environment, ..job(&program, 2) });
        assert_eq!(outcome.processes.status(), 0, "{out}{err}");
        let of = |line: &str| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
        (out.lines().map(of).collect::<Vec<f64>>(), err)
    };
    // Other variables move the program's data to other lines of the cache.
    let are_alike = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a / b - 1.0).abs() < 0.01);
    let usual = times(&[]).0;
    let rendezvous = times(&[("PAMID_RZV", "1K")]).0;
    // The lengths are 0, 8, 64, 512, 2048 B, and longer ones.
    let others_are_alike = are_alike(&rendezvous[..4], &usual) && are_alike(&rendezvous[5..], &usual[5..]);
    assert!(others_are_alike && rendezvous[4] > usual[4] + 1.0, "{rendezvous:?}, {usual:?}");
    let one_by_one = [
        ("PAMI_RGETPACING", "1"),
        ("PAMI_RGETPACINGHOPS", "0"),
        ("COMMAGENT_RGETPACINGSUBSIZE", "16K"),
        ("COMMAGENT_RGETPACINGMAX", "16384"),
    ];
    let paced = times(&one_by_one).0;
    let is_later = (20.0..200.0).contains(&(paced[8] - usual[8]));
    assert!(are_alike(&paced[..8], &usual) && is_later, "64 parts: {paced:?}, {usual:?}");
    let (same, told) = times(&[("PAMID_RZV", "many")]);
    let is_told = told.matches("PAMID_RZV is many, which is no number").count() == 1;
    assert!(are_alike(&same, &usual) && is_told, "{told}");
}

#[test]
fn natively_a_target_needs_no_calls_and_lengths_may_differ() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    for name in ["passive_target", "lengths"] {
        let program = compile(&source(name), folder.path());
        for ranks in [1, 2, 5] {
            let (status, output) = native(&program, ranks);
            assert_eq!(status, 0, "{name} with {ranks} ranks:\n{output}");
        }
    }
}

#[test]
fn a_simulated_target_may_sleep() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile(&source("sleeping_target"), folder.path());
    let (status, simulated_us, output) = simulated(&program, 2, 1, 1);
    assert!(status == 0 && simulated_us > 1e6, "{status}, {simulated_us} us\n{output}");
}

/// Some of them with 64 ranks; all with `NETLOOM_LONG=1`.
#[test]
fn programs_check_their_data_as_64_guests() {
    const SOME: &[&str] = &["communicators", "grids", "groups", "hello", "requests", "ring"];
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let is_long = std::env::var("NETLOOM_LONG").is_ok_and(|value| value == "1");
    for &name in if is_long { CHECKED } else { SOME } {
        let program = compile(&source(name), folder.path());
        let job = Job { time_limit: Some(Duration::from_secs(3600)), ..job(&program, 64) };
        let (outcome, out, err) = run_guests(&machine(4, 1), job);
        assert_eq!(outcome.processes.status(), 0, "{name}:\n{out}{err}{:#?}", outcome.failures);
        if is_long {
            eprintln!("{name}: {:.1} s", outcome.wall.as_secs_f64());
        }
    }
}

/// Calls that involve no other rank, and probes in vain between which a program may do anything, are no wait
/// for ever however many there are; and the former take no more time than a poll.
#[test]
fn calls_that_return_are_no_wait_for_ever() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile(&source("own_window"), folder.path());
    let (status, simulated_us, output) = simulated(&program, 2, 1, 1);
    assert!(status == 0 && simulated_us < 50e3, "{status}, {simulated_us} us\n{output}");
    let (outcome, out, err) =
        run_guests(&machine(1, 1), Job { arguments: vec!["2000".into()], ..job(&program, 2) });
    assert_eq!(outcome.processes.status(), 0, "{out}{err}{:?}", outcome.failures);
}

#[test]
fn programs_check_their_data_as_guests() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    check_each("programs_check_their_data_as_guests", CHECKED, |name| {
        let program = compile(&source(name), folder.path());
        for (ranks, per_node) in [(2, 1), (5, 1), (8, 4)] {
            let (status, _, output) = simulated(&program, ranks, per_node, 1);
            assert_eq!(status, 0, "{name} with {ranks} ranks, {per_node} a node:\n{output}");
        }
    });
}

#[test]
fn a_solver_prints_the_same_in_both_worlds_and_its_simulated_time_is_the_same_on_every_run() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("examples/mpi/jacobi.c", folder.path());
    let steps = |text: &str| text.lines().find(|line| line.contains("2000 steps")).map(String::from);
    let (status, output) = native(&program, 1);
    let expected = steps(&output);
    assert!(status == 0 && expected.is_some(), "{output}");
    let runs = [1, 1, 2].map(|threads| simulated(&program, 4, 1, threads));
    for (status, simulated_us, output) in &runs {
        assert_eq!((*status, steps(output)), (0, expected.clone()), "{output}");
        assert_eq!(*simulated_us, runs[0].1);
    }
}

#[test]
fn examples_print_the_same_in_both_worlds() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    for (name, result) in [("fft", "the inverse gives the square back"), ("cg", "converged")] {
        let program = compile(&format!("examples/mpi/{name}.c"), folder.path());
        let line = |text: &str| text.lines().find(|line| line.contains(result)).map(String::from);
        let (status, output) = native(&program, 1);
        let expected = line(&output);
        assert!(status == 0 && expected.is_some(), "{output}");
        for (ranks, per_node) in [(4, 1), (8, 4)] {
            let (status, _, output) = simulated(&program, ranks, per_node, 1);
            assert_eq!((status, line(&output)), (0, expected.clone()), "{output}");
        }
        let (status, output) = native(&program, 2);
        assert_eq!((status, line(&output)), (0, expected), "{output}");
    }
}

#[test]
fn errors_end_the_job_with_rank_call_argument_and_value() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile(&source("fatal"), folder.path());
    let expected = "rank 1: MPI_Send: dest is 7, and the communicator has the ranks 0 to 1 (MPI_ERR_RANK)";
    let (status, output) = native(&program, 2);
    assert!(status == 6 && output.contains(expected), "{status}\n{output}");
    let (status, _, output) = simulated(&program, 2, 1, 1);
    assert!(status == 6 && output.contains(expected), "{status}\n{output}");
    let program = compile(&source("leaves"), folder.path());
    let (status, output) = native(&program, 3);
    assert!(status == 1 && output.contains("rank 0 ends without MPI_Finalize"), "{status}\n{output}");
    assert!(output.contains("what it has written"), "{output}");
    let (status, _, output) = simulated(&program, 2, 1, 1);
    assert!(status == 1 && output.contains("rank 0 ends without MPI_Finalize"), "{status}\n{output}");
}

/// An error handler of sessions begins no library that would have to be ended.
#[test]
fn a_program_that_only_makes_an_error_handler_ends_as_it_says() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let program = compile(&source("early_handlers"), folder.path());
    let job = || Job { arguments: vec!["only".into()], ..job(&program, 2) };
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = launch(&job(), &mut out, &mut err).expect("the job starts");
    assert_eq!(outcome.status(), 0, "{}", String::from_utf8_lossy(&err));
    let (guests, _, err) = run_guests(&machine(1, 1), job());
    assert_eq!(guests.processes.status(), 0, "{err}");
}

/// PAMI's algorithms natively, which programs take there only if they are asked to; and MPI's own on a
/// simulated machine.
#[test]
fn collectives_are_the_same_by_the_algorithms_of_both_libraries() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    for name in ["collectives", "collective_network", "communicators", "nonblocking"] {
        let program = compile(&source(name), folder.path());
        for ranks in [2, 3, 8] {
            let job =
                Job { environment: vec![("PAMID_COLLECTIVES".into(), "1".into())], ..job(&program, ranks) };
            let (mut out, mut err) = (vec![], vec![]);
            let status = launch(&job, &mut out, &mut err).expect("the job starts").status();
            assert_eq!(status, 0, "{name} with {ranks} ranks:\n{}", String::from_utf8_lossy(&err));
        }
        let machine = machine(4, 1);
        let job = Job { environment: vec![("PAMID_COLLECTIVES".into(), "0".into())], ..job(&program, 8) };
        let (mut out, mut err) = (vec![], vec![]);
        let outcome = netloom_guest::run(&machine, job, &mut out, &mut err).expect("it is simulated");
        assert_eq!(outcome.processes.status(), 0, "{name}:\n{}", String::from_utf8_lossy(&err));
    }
}

/// MPI's own steps take time on the simulated machine: a message of no data takes as long as the paper has it
/// (Kumar et al., Table 2), to which the steps of ranks without a process are fitted.
#[test]
fn a_message_takes_the_time_of_the_library() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/latency.c", folder.path());
    let (mut out, mut err) = (vec![], vec![]);
    let job = Job { label: true, ..job(&program, 2) };
    let outcome = netloom_guest::run(&machine(1, 1), job, &mut out, &mut err).expect("it is simulated");
    let printed = String::from_utf8_lossy(&out);
    assert_eq!(outcome.processes.status(), 0, "{printed}{}", String::from_utf8_lossy(&err));
    let us = printed.trim().strip_prefix("0| ").and_then(|line| line.strip_suffix(" us"));
    let us: f64 = us.and_then(|us| us.parse().ok()).unwrap_or_else(|| panic!("{printed}"));
    assert!((us / 1.95 - 1.0).abs() < 0.03, "{us} us");
}

/// Eight ranks on eight nodes: a barrier and an all-reduce over the network take less time than messages.
#[test]
fn the_network_is_faster_than_messages() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let source = folder.path().join("loop.c");
    let text = r#"
        #include <mpi.h>
        int main(int argc, char ** argv)
        {
          double own = 1, sum = 0;
          MPI_Init(&argc, &argv);
          for (int n = 0; n < 200; n++)
          {
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
          }
          MPI_Finalize();
          return sum != 8;
        }"#;
    std::fs::write(&source, text).unwrap();
    let program = compile(source.to_str().unwrap(), folder.path());
    let [network_us, messages_us] = ["1", "0"].map(|which| {
        let variable = |name: &str, value: &str| (name.into(), value.into());
        let environment =
            vec![variable("PAMID_COLLECTIVES", which), variable("PAMID_COLLECTIVE_BARRIER", "I0:None")];
        let (job, mut err) = (Job { environment, ..job(&program, 8) }, vec![]);
        let outcome = netloom_guest::run(&machine(1, 1), job, &mut vec![], &mut err);
        let (outcome, told) = (outcome.expect("it is simulated"), String::from_utf8_lossy(&err));
        assert_eq!(outcome.processes.status(), 0);
        // Once, where PAMI is asked at all.
        let times = told.matches("PAMID_COLLECTIVE_BARRIER is I0:None, which is no algorithm").count();
        assert_eq!(times, usize::from(which == "1"), "{told}");
        outcome.simulated_us
    });
    assert!(network_us < 0.75 * messages_us, "{network_us} us and {messages_us} us");
}

#[test]
fn what_is_not_freed_is_told_on_request() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let program = compile(&source("unfreed"), folder.path());
    let (status, output) = native(&program, 2);
    assert!(status == 0 && output.is_empty(), "{status}\n{output}");
    let job = Job { environment: vec![("NETLOOM_CHECK".into(), "1".into())], ..job(&program, 2) };
    let (mut out, mut err) = (vec![], vec![]);
    let status = launch(&job, &mut out, &mut err).expect("the job starts").status();
    let told = String::from_utf8_lossy(&err);
    for rank in 0..2 {
        let begins =
            format!("rank {rank}: MPI_Finalize: not freed: 2 requests, 1 persistent request, 1 window, ");
        assert!(
            status == 0 && told.contains(&begins) && told.contains("\"left\" of 2 ranks"),
            "{status}\n{told}"
        );
    }
}

/// By `LD_PRELOAD`, in front of a program that knows nothing of it; `tool` has its own `MPI_Send`.
#[test]
fn a_tool_is_put_in_front_of_a_program_by_preload() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let (text, tool) = (folder.path().join("counts.c"), folder.path().join("counts.so"));
    std::fs::write(
        &text,
        r#"
        #include <mpi.h>
        #include <stdio.h>
        static int calls;
        int MPI_Send(const void * buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
        {
          calls++;
          return PMPI_Send(buf, count, datatype, dest, tag, comm);
        }
        int MPI_Finalize(void)
        {
          printf("%d sends\n", calls);
          return PMPI_Finalize();
        }"#,
    )
    .unwrap();
    jobs::build_tool(&text, &tool);
    let program = folder.path().join("sends.c");
    std::fs::write(
        &program,
        r#"
        #include <mpi.h>
        int main(int argc, char ** argv)
        {
          int rank, n = 0;
          MPI_Init(&argc, &argv);
          MPI_Comm_rank(MPI_COMM_WORLD, &rank);
          for (int round = 0; round < 3; round++)
          {
            if (rank == 0) MPI_Send(&n, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            if (rank == 1) MPI_Recv(&n, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          }
          /* The library's own messages are not counted. */
          MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
          MPI_Finalize();
          return 0;
        }"#,
    )
    .unwrap();
    let program = compile(program.to_str().unwrap(), folder.path());
    let job = || Job { environment: vec![("LD_PRELOAD".into(), tool.clone().into())], ..job(&program, 2) };
    let mut out = vec![];
    let status = launch(&job(), &mut out, &mut vec![]).expect("the job starts").status();
    let check = |status: u8, out: &str| {
        let mut lines: Vec<&str> = out.lines().collect();
        lines.sort_unstable();
        assert_eq!((status, &lines[..]), (0, &["0| 3 sends", "1| 0 sends"][..]));
    };
    check(status, &String::from_utf8_lossy(&out));
    let (outcome, out, _) = run_guests(&machine(1, 1), job());
    check(outcome.processes.status(), &out);
}

/// All functions of the standard under both names, and nothing else. A program, also one that is linked
/// statically, may have its own `MPI_X`, but no `PMPI_X`.
#[test]
fn the_library_exports_the_standard_and_nothing_else() {
    let _alone = alone();
    let output =
        Command::new("nm").arg("-D").arg("--defined-only").arg(libraries().join("libmpi_abi.so")).output();
    let text = String::from_utf8(output.expect("nm, of the C compiler's tools").stdout).unwrap();
    // An address, a kind, a name.
    let symbols: Vec<&str> = text.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    let count = |begins: &str| symbols.iter().filter(|symbol| symbol.starts_with(begins)).count();
    assert_eq!((count("W MPI_"), count("T PMPI_"), symbols.len()), (664, 664, 2 * 664), "{symbols:?}");
}
