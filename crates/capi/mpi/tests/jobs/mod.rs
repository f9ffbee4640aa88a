//! What the tests share: a C compiler, jobs, and a simulated machine.
#![allow(dead_code, reason = "each test crate that includes this module uses a part of it")]

#[path = "../../../pami/tests/kept/mod.rs"]
mod kept;

use netloom_guest::{Machine, MappingConfig, Outcome};
use netloom_shm::launch::{Bind, Job};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A launcher waits for all children of its process: jobs and compilers take turns.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder of the libraries, which Cargo builds before this test.
pub fn libraries() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    assert!(folder.join("libmpi_abi.so.1").is_file(), "no libmpi_abi.so.1 in {}", folder.display());
    folder
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

pub fn compile(source: &str, to: &Path) -> PathBuf {
    let (source, include) = (root().join(source), root().join("crates/capi/include"));
    let program = to.join(source.file_stem().unwrap());
    kept::once(&program, &source, &include, || {
        let mut compiler = Command::new("cc");
        compiler.args(["-std=gnu99", "-O1", "-Wall", "-Wextra", "-Werror", "-I"]).arg(&include);
        compiler.arg(&source).arg("-o").arg(&program);
        // As `netloom cc` links: what MPI's library needs it finds itself.
        compiler.arg("-L").arg(libraries()).args(["-Wl,--as-needed", "-lmpi_abi", "-lc", "-lpami", "-lm"]);
        let compiled = compiler.output().expect("a C compiler");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    });
    program
}

/// A library for `LD_PRELOAD`.
pub fn build_tool(source: &Path, to: &Path) {
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"]).arg(to).arg(source);
    let compiled = compiler.arg("-I").arg(root().join("crates/capi/include")).arg("-ldl").output();
    let compiled = compiled.expect("a C compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}

pub fn job(program: &Path, ranks: u32) -> Job {
    Job {
        program: program.into(),
        arguments: vec![],
        tasks: ranks,
        bind: Bind::None,
        label: true,
        time_limit: Some(Duration::from_secs(120)),
        grace: Duration::from_millis(200),
        environment: vec![],
        folder: None,
        libraries: Some(libraries()),
        universe: None,
    }
}

pub fn machine(tasks_per_node: u32, threads: usize) -> Machine {
    Machine {
        name: "bgq".into(),
        sets: vec!["topology.dims=[2,2,2,2,1]".into()],
        tasks_per_node: Some(tasks_per_node),
        threads,
        compute_scale: 0.0,
        patience_s: 1.0,
        is_profiled: false,
        mapping: MappingConfig::InOrder,
    }
}

/// What came of a job of guests, and what it wrote on both streams.
pub fn run_guests(machine: &Machine, job: Job) -> (Outcome, String, String) {
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = netloom_guest::run(machine, job, &mut out, &mut err);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (outcome, text(out), text(err))
}

/// Lengths in bytes, and half round trips in us, as lines tell them.
pub fn points(text: &str) -> Vec<(f64, f64)> {
    let number = |word: &str| word.parse::<f64>().unwrap();
    let lines = text.lines().map(|line| line.rsplit("| ").next().unwrap().split_once(' ').unwrap());
    lines.map(|(bytes, us)| (number(bytes), number(us))).collect()
}

/// Status, simulated time, what was printed, and everything that was written.
pub fn run_job(machine: &Machine, job: Job) -> (u8, f64, String, String) {
    let (outcome, out, err) = run_guests(machine, job);
    let failures: Vec<String> = outcome.failures.iter().map(|failure| format!("{failure:?}")).collect();
    let all = format!("{out}{err}{}", failures.join("\n"));
    (outcome.processes.status(), outcome.simulated_us, out, all)
}

/// Programs of `tests/mpi` that check their data themselves, in both worlds.
pub const CHECKED: &[&str] = &[
    "at_exit",
    "attributes",
    "buffered",
    "collectives",
    "collective_network",
    "communicators",
    "datatypes",
    "early_handlers",
    "early_partitions",
    "epochs",
    "errors",
    "external",
    "file_views",
    "files",
    "fortran_facts",
    "fortran_handles",
    "freed_objects",
    "grids",
    "groups",
    "hello",
    "idup",
    "info",
    "intercommunicators",
    "locks",
    "long_doubles",
    "mistakes",
    "more_communicators",
    "neighborhoods",
    "nodes",
    "nonblocking",
    "order",
    "partitioned",
    "persistent",
    "persistent_collectives",
    "pieces",
    "reductions",
    "removed",
    "requests",
    "ring",
    "shared_files",
    "short_collectives",
    "shared_windows",
    "session_buffers",
    "sessions",
    "sleeps",
    "tests_in_vain",
    "thread_collectives",
    "threads",
    "tool",
    "variables",
    "windows",
];
