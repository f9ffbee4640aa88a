//! Processes that are spawned and connected while a job runs: C programs of `tests/mpi` that check their data
//! themselves, and what becomes of a job whose spawned processes fail.

mod jobs;

use jobs::{alone, compile, job, libraries, machine, run_guests};
use netloom_shm::launch::{Job, Outcome, launch, share_core};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn source(name: &str) -> String {
    format!("tests/mpi/{name}.c")
}

fn run(job: &Job) -> (Outcome, String) {
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = launch(job, &mut out, &mut err).expect("the job starts");
    (outcome, format!("{}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err)))
}

fn with(argument: &str, job: Job) -> Job {
    Job { arguments: vec![argument.into()], ..job }
}

/// Processes that run this program.
fn processes_of(program: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let runs = |process: &PathBuf| std::fs::read_link(process.join("exe")).is_ok_and(|exe| exe == program);
    entries.map(|entry| entry.path()).filter(runs).collect()
}

/// Files of shared memory in the file system.
fn shared_memory() -> Vec<String> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten();
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
    names.filter(|name| name.contains("netloom")).collect()
}

#[test]
fn processes_are_spawned_and_connected_natively() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    for name in ["spawn", "ports", "spawn_errors", "spawn_threads", "initial_errhandler"] {
        let program = compile(&source(name), folder.path());
        for ranks in [1, 2, 3, 5] {
            let (outcome, output) = run(&job(&program, ranks));
            assert_eq!(outcome.status(), 0, "{name} with {ranks} ranks: {outcome}\n{output}");
            assert_eq!(processes_of(&program), Vec::<PathBuf>::new(), "{name}");
        }
        // By PAMI's algorithms, whose geometries have processes of several worlds too.
        let environment = vec![("PAMID_COLLECTIVES".into(), "1".into())];
        let (outcome, output) = run(&Job { environment, ..job(&program, 2) });
        assert_eq!(outcome.status(), 0, "{name}: {outcome}\n{output}");
    }
}

/// That of a job whose launcher was given one, natively and as a guest.
#[test]
fn the_initial_error_handler_is_the_launchers() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let program = compile(&source("initial_errhandler"), folder.path());
    let of = |name: &str| {
        let environment = vec![("NETLOOM_INITIAL_ERRHANDLER".into(), name.into())];
        Job { environment, ..with("return", job(&program, 2)) }
    };
    let (outcome, output) = run(&of("MPI_ERRORS_RETURN"));
    assert_eq!(outcome.status(), 0, "{outcome}\n{output}");
    let (outcome, out, err) = run_guests(&machine(1, 1), of("mpi_errors_return"));
    assert_eq!(outcome.processes.status(), 0, "{out}{err}");
    let (outcome, output) = run(&of("mpi_errors"));
    let text = "NETLOOM_INITIAL_ERRHANDLER is `mpi_errors`, which is none of mpi_errors_are_fatal, ";
    assert!(outcome.status() == 1 && output.contains(text), "{outcome}\n{output}");
}

#[test]
fn a_universe_is_the_greatest_number_of_processes_that_run() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let program = compile(&source("spawn_errors"), folder.path());
    for ranks in [1, 2] {
        let job = Job { universe: Some(5), ..with("5", job(&program, ranks)) };
        let (outcome, output) = run(&job);
        assert_eq!(outcome.status(), 0, "{ranks} ranks: {outcome}\n{output}");
    }
}

#[test]
fn a_spawned_process_that_fails_ends_the_job_with_its_name_and_leaves_nothing() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let program = compile(&source("spawn_fails"), folder.path());
    let before = shared_memory();
    for (how, status, text) in [
        ("kill", 128 + libc::SIGKILL, "signal 9 (kill)"),
        ("farewell", 128 + libc::SIGKILL, "signal 9 (kill)"),
        ("exit", 7, "status 7"),
        ("abort", 5, "status 5"),
        ("leave", 1, "status 1"),
        ("error", 6, "status 6"),
    ] {
        let (outcome, output) = run(&with(how, job(&program, 2)));
        let failure = outcome.failure.clone().unwrap_or_else(|| panic!("{how}: {outcome:?}\n{output}"));
        // Another process may see that it has ended, and end the job, before the launcher does.
        if failure.task == 3 || failure.status.signal().is_some() {
            let expected = format!("task 3 (rank 1 of {}, pid {}) ended ", program.display(), failure.pid);
            let told = outcome.to_string();
            assert!(told.starts_with(&expected) && told.contains(text), "{how}: {told}\n{output}");
            assert_eq!(i32::from(outcome.status()), status, "{how}\n{output}");
        } else {
            assert!(output.contains("MPI_ERR_PROC_ABORTED"), "{how}: {outcome:?}\n{output}");
        }
        let own = "rank 1 of the processes that task 0 spawned: ";
        let says = match how {
            "abort" => format!("{own}MPI_Abort with code 5"),
            "leave" => "rank 1 ends without MPI_Finalize".into(),
            "error" => format!("{own}MPI_Send: dest is 9"),
            _ => String::new(),
        };
        assert!(output.contains(&says), "{how}\n{output}");
        assert_eq!(processes_of(&program), Vec::<PathBuf>::new(), "{how}");
    }
    assert_eq!(shared_memory(), before);
}

#[test]
fn without_a_launcher_nothing_is_spawned() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let program = compile(&source("spawn_fails"), folder.path());
    let mut command = Command::new(&program);
    command.arg("exit").env("LD_LIBRARY_PATH", libraries());
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "MPI_Comm_spawn: there is no launcher to ask: start the program with `netloom exec`";
    assert!(output.status.code() == Some(53) && told.contains(expected), "{told}");
}

#[test]
fn guests_spawn_nothing_and_say_so() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile(&source("no_spawn"), folder.path());
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = netloom_guest::run(&machine(1, 1), job(&program, 2), &mut out, &mut err);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    let told = String::from_utf8_lossy(&err);
    let expected = "MPI_Comm_spawn: the processes of a simulated machine neither start others nor connect to";
    assert!(outcome.processes.status() == 55 && told.contains(expected), "{told}");
}
