//! Random traffic of three threads in each of eight processes for a time, with all data checked; and the same
//! with one process killed at a random time. A few seconds, or minutes with `NETLOOM_LONG=1`.

mod jobs;

use jobs::{alone, compile, job};
use netloom_shm::launch::{Job, Outcome, launch};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

const RANKS: u32 = 8;

fn is_long() -> bool {
    std::env::var("NETLOOM_LONG").is_ok_and(|value| value == "1")
}

fn run(program: &Path, arguments: &[String]) -> (Outcome, String) {
    let job = Job { arguments: arguments.iter().map(Into::into).collect(), ..job(program, RANKS) };
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = launch(&job, &mut out, &mut err).expect("the job starts");
    (outcome, format!("{}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err)))
}

/// Files of shared memory in the file system.
fn shared_memory() -> BTreeSet<OsString> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
}

/// Processes that run this program.
fn processes_of(program: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let runs = |process: &PathBuf| std::fs::read_link(process.join("exe")).is_ok_and(|exe| exe == program);
    entries.map(|entry| entry.path()).filter(runs).collect()
}

#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn random_traffic_of_threads_keeps_its_data() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let program = compile("tests/mpi/soak.c", folder.path());
    let seconds = if is_long() { 60 } else { 2 };
    for seed in 1..=if is_long() { 5 } else { 1 } {
        let (outcome, output) = run(&program, &[seconds.to_string(), seed.to_string()]);
        assert!(outcome.status() == 0 && output.contains("ok"), "seed {seed}: {outcome:?}\n{output}");
    }
}

#[test]
fn a_rank_that_is_killed_at_a_random_time_ends_the_job() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let program = compile("tests/mpi/soak.c", folder.path());
    let before = shared_memory();
    for seed in 0..if is_long() { 60 } else { 3 } {
        let (outcome, output) = run(&program, &["1".into(), seed.to_string(), "kill".into()]);
        let failure =
            outcome.failure.as_ref().unwrap_or_else(|| panic!("seed {seed}: {outcome:?}\n{output}"));
        // Another rank may see that it has ended, and end the job, before the launcher does.
        match failure.status.signal() {
            Some(signal) => {
                assert_eq!((failure.task, signal), (seed % RANKS, libc::SIGKILL), "seed {seed}\n{output}")
            }
            None => assert!(output.contains("MPI_ERR_PROC_ABORTED"), "seed {seed}: {outcome:?}\n{output}"),
        }
        assert_ne!(outcome.status(), 0);
        assert_eq!(processes_of(&program), Vec::<PathBuf>::new(), "seed {seed}");
    }
    let new: Vec<_> = shared_memory().difference(&before).cloned().collect();
    let of_this = |name: &OsString| name.to_string_lossy().contains("netloom");
    assert!(!new.iter().any(of_this), "{new:?}");
}
