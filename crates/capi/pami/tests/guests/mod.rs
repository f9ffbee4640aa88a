//! Programs as guests of a simulated Blue Gene/Q.

#![allow(dead_code)] // Each test uses some.

use crate::common::{compile, library};
use netloom_guest::{Machine, MappingConfig, Outcome, run};
use netloom_shm::launch::{Bind, Job, share_core};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How a job runs.
#[derive(Clone, Copy)]
pub struct On {
    pub tasks: u32,
    pub per_node: u32,
    pub threads: usize,
    /// How much of what programs compute counts.
    pub compute_scale: f64,
    pub patience_s: f64,
    /// Wall time.
    pub limit_s: u64,
}

pub const PAIR: On =
    On { tasks: 2, per_node: 1, threads: 1, compute_scale: 0.0, patience_s: 10.0, limit_s: 120 };

/// A launcher waits for all children of its process: jobs and compilers take turns.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn simulate(program: &Path, on: On) -> (Outcome, String) {
    simulate_with(program, on, vec![])
}

/// The same with variables of the environment.
pub fn simulate_with(program: &Path, on: On, environment: Vec<(OsString, OsString)>) -> (Outcome, String) {
    start(program, on, &[], environment)
}

/// The same with arguments.
pub fn simulate_with_arguments(program: &Path, on: On, arguments: &[&str]) -> (Outcome, String) {
    start(program, on, arguments, vec![])
}

fn start(
    program: &Path,
    on: On,
    arguments: &[&str],
    environment: Vec<(OsString, OsString)>,
) -> (Outcome, String) {
    // Guests take turns with the simulator, which is faster on one core; each test has a thread of its own.
    share_core();
    let job = Job {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        tasks: on.tasks,
        bind: Bind::None,
        label: true,
        time_limit: Some(Duration::from_secs(on.limit_s)),
        grace: Duration::from_millis(100),
        environment,
        folder: None,
        libraries: Some(library()),
        universe: None,
    };
    let machine = Machine {
        name: "bgq".into(),
        sets: vec!["topology.dims=[2,2,2,2,1]".into()],
        tasks_per_node: Some(on.per_node),
        threads: on.threads,
        compute_scale: on.compute_scale,
        patience_s: on.patience_s,
        is_profiled: false,
        mapping: MappingConfig::InOrder,
    };
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = run(&machine, job, &mut out, &mut err).unwrap_or_else(|error| panic!("{error}"));
    (outcome, format!("{}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err)))
}

pub fn check(program: &Path, on: On) -> f64 {
    check_and_show(program, on).0
}

/// The simulated time, us, and the output.
pub fn check_and_show(program: &Path, on: On) -> (f64, String) {
    let (outcome, output) = simulate(program, on);
    let status = outcome.processes.status();
    let is_expected = status == 0 && outcome.failures.is_empty();
    assert!(is_expected, "{} with {} tasks: {outcome:?}\n{output}", program.display(), on.tasks);
    (outcome.simulated_us, output)
}

/// Compiles a program from its text.
pub fn compile_text(name: &str, text: &str, folder: &Path) -> PathBuf {
    let file = folder.join(format!("{name}.c"));
    std::fs::write(&file, text).unwrap();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/pami/common.h");
    std::fs::copy(programs, folder.join("common.h")).unwrap();
    compile(&file, folder)
}
