//! Running a study: what a simulator must offer, who receives its progress, and whether a result meets the
//! expectations.

use crate::diagnose::Problem;
use crate::resolve::ResolvedStudy;
use crate::result::RunResult;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Simulated time, ticks.
    pub ticks: u64,
    /// The fraction of the run that is done, 0 to 1; `None` while it is not known.
    pub fraction: Option<f64>,
    /// Packet-hops so far.
    pub packet_hops: u64,
}

/// Receives the progress of a run, and may stop it.
pub trait ProgressSink: Sync {
    /// Takes note; called a few times a second at most matters, more often does no harm.
    fn update(&self, progress: Progress);

    /// Whether the run should end now, with what it has.
    fn stop(&self) -> bool;

    /// A sweep waits for this number of points that other processes run; called several times a second.
    fn waits(&self, _of_others: usize) {}
}

/// A sink that shows nothing and heeds a flag.
pub struct Quiet<'a>(pub &'a AtomicBool);

impl ProgressSink for Quiet<'_> {
    fn update(&self, _: Progress) {}
    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Checkpoints of a run.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// The file that has the last one. If it is there, a run continues from it.
    pub file: PathBuf,
    /// The wall time between two.
    pub every: Duration,
}

/// A simulator of studies.
pub trait Simulate: Sync {
    /// Simulates a study on some threads, with checkpoints if they are given. A run that was stopped returns
    /// what it has, marked in [`RunResult::partial`]; so does one that stalled.
    ///
    /// # Errors
    /// Requirements of the study that the simulator does not support; a checkpoint that is not one of it.
    fn run(
        &self,
        study: &ResolvedStudy,
        checkpoints: Option<&Checkpoints>,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem>;

    /// The same without checkpoints.
    ///
    /// # Errors
    /// As [`Self::run`].
    fn simulate(
        &self,
        study: &ResolvedStudy,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem> {
        self.run(study, None, progress, threads)
    }
}

/// Threads of this computer.
pub fn threads_here() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The expectations of a study that a result does not meet, in words.
pub fn unmet(study: &ResolvedStudy, result: &RunResult) -> Vec<String> {
    let expect = &study.study.expect;
    expect
        .iter()
        .filter_map(|(path, &(low, high))| match result.figure(path) {
            Some(x) if (low..=high).contains(&x) => None,
            Some(x) => Some(format!("{path} is {x}, expected {low} to {high}")),
            None => Some(format!("{path} is not a number of the summary")),
        })
        .collect()
}
