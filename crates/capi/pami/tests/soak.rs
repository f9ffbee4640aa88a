//! Random operations between eight tasks for a time, with all data checked; and the same with one task killed
//! at a random time; both also by communication threads. A few seconds, or minutes with `NETLOOM_LONG=1`.

mod common;

use common::{compile, library, sources};
use netloom_shm::launch::{Bind, Job, Outcome, launch};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const TASKS: u32 = 8;

fn is_long() -> bool {
    std::env::var("NETLOOM_LONG").is_ok_and(|value| value == "1")
}

/// Runs the program. A launcher waits for all children of its process, so jobs and the compiler take turns.
fn run(program: &Path, arguments: &[String], single_copy: bool) -> (Outcome, String) {
    let single_copy = if single_copy { "1" } else { "0" };
    let job = Job {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        tasks: TASKS,
        bind: Bind::None,
        label: true,
        time_limit: Some(Duration::from_secs(240)),
        grace: Duration::from_secs(60),
        environment: vec![(OsString::from("NETLOOM_SINGLE_COPY"), OsString::from(single_copy))],
        folder: None,
        libraries: Some(library()),
        universe: None,
    };
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = launch(&job, &mut out, &mut err).expect("the job starts");
    (outcome, format!("{}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err)))
}

fn program(folder: &Path) -> PathBuf {
    let source = sources().into_iter().find(|path| path.ends_with("soak.c")).expect("the program");
    compile(&source, folder)
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

static TURNS: Mutex<()> = Mutex::new(());

#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn random_operations_keep_their_data() {
    let _turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path());
    let seconds = if is_long() { 60 } else { 2 };
    for (seed, single_copy, how) in [(1, true, ""), (2, false, ""), (3, true, "async"), (4, false, "async")] {
        let arguments = [seconds.to_string(), seed.to_string(), how.to_string()];
        let (outcome, output) = run(&program, &arguments, single_copy);
        assert!(outcome.status() == 0 && output.contains("ok"), "seed {seed}: {outcome:?}\n{output}");
    }
}

/// Each other task learns of it by `PAMI_SHUTDOWN`, none hangs, and nothing is left.
#[test]
fn a_task_that_is_killed_at_a_random_time_ends_the_job() {
    let _turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path());
    let before = shared_memory();
    for seed in 0..if is_long() { 60 } else { 4 } {
        let how = if seed % 2 == 0 { "kill" } else { "async-kill" };
        let arguments = ["1".to_string(), seed.to_string(), how.to_string()];
        let (outcome, output) = run(&program, &arguments, seed % 4 < 2);
        let failure = outcome.failure.clone().unwrap_or_else(|| panic!("seed {seed}: {outcome:?}\n{output}"));
        assert_eq!((failure.task, failure.status.signal()), (seed % TASKS, Some(9)), "seed {seed}\n{output}");
        assert_eq!(outcome.status(), 128 + 9);
        let told = output.lines().filter(|line| line.ends_with("PAMI_SHUTDOWN")).count();
        let is_expected = told == TASKS as usize - 1 && outcome.also_failed == 0 && outcome.ended == 0;
        assert!(is_expected, "seed {seed}: {outcome:?}\n{output}");
        assert_eq!(processes_of(&program), Vec::<PathBuf>::new(), "seed {seed}");
    }
    let new: Vec<_> = shared_memory().difference(&before).cloned().collect();
    let of_this = |name: &OsString| name.to_string_lossy().contains("netloom");
    assert!(!new.iter().any(of_this), "{new:?}");
}
