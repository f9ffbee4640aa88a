//! Running a study: what a simulator must offer, and the folder that a result goes to.

use crate::diagnose::Problem;
use crate::resolve::ResolvedStudy;
use crate::result::RunResult;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Simulated time, ticks.
    pub ticks: u64,
    /// How much of the way is done, 0 to 1; none while nobody can tell.
    pub fraction: Option<f64>,
    /// Packet-hops so far.
    pub packet_hops: u64,
}

/// Hears how a run goes on, and may stop it.
pub trait ProgressSink: Sync {
    /// Takes note; called a few times a second at most matters, more often does no harm.
    fn update(&self, progress: Progress);

    /// Whether the run should end now, with what it has.
    fn stop(&self) -> bool;
}

/// A sink that shows nothing and heeds a flag.
pub struct Quiet<'a>(pub &'a AtomicBool);

impl ProgressSink for Quiet<'_> {
    fn update(&self, _: Progress) {}
    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What simulates a study.
pub trait Simulate: Sync {
    /// Simulates a study on some threads. A run that was stopped returns what it has, marked in
    /// [`RunResult::partial`]; so does one that stalled.
    ///
    /// # Errors
    /// What the study asks for and the simulator cannot do.
    fn simulate(
        &self,
        study: &ResolvedStudy,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem>;
}

/// Threads of this computer.
pub fn threads_here() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// What to do with a folder of results that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// Refuse.
    Refuse,
    /// Replace what a run writes.
    Replace,
    /// Take the next free name: `…-2`, `…-3`.
    Next,
}

/// The folder that a run will write, created and made sure of before the run starts.
///
/// # Errors
/// One that exists, unless that is allowed for; one that cannot be written.
pub fn output_folder(wanted: &Path, if_exists: IfExists) -> Result<PathBuf, Problem> {
    let folder = free_folder(wanted, if_exists)?;
    let probe = folder.join(".netloom.part");
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&probe, ""))
        .and_then(|()| std::fs::remove_file(&probe))
        .map_err(|e| {
            Problem::new(format!("cannot write to {}: {e}", folder.display()))
                .help("give another folder with --out DIR")
        })?;
    Ok(folder)
}

fn free_folder(wanted: &Path, if_exists: IfExists) -> Result<PathBuf, Problem> {
    let taken =
        |path: &Path| path.is_file() || path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if !taken(wanted) {
        return Ok(wanted.to_owned());
    }
    match if_exists {
        IfExists::Refuse => Err(Problem::new(format!("{} already exists", wanted.display()))
            .help("nothing is overwritten unless asked: give another folder with --out DIR, or --force to replace this one")),
        IfExists::Replace if wanted.is_file() => {
            Err(Problem::new(format!("{} is a file, not a folder", wanted.display()))
                .help("give another folder with --out DIR"))
        }
        IfExists::Replace => Ok(wanted.to_owned()),
        IfExists::Next => {
            let name = wanted.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let free = (2..).map(|i| wanted.with_file_name(format!("{name}-{i}"))).find(|path| !taken(path));
            Ok(free.expect("there is always another number"))
        }
    }
}

/// The expectations of a study that a result does not meet, in words.
pub fn unmet(study: &ResolvedStudy, result: &RunResult) -> Vec<String> {
    let summary = serde_json::to_value(result).unwrap_or_default();
    let expect = &study.study.expect;
    expect
        .iter()
        .filter_map(|(path, &(low, high))| {
            let found = path.split('.').try_fold(&summary, |value, key| value.get(key));
            match found.and_then(serde_json::Value::as_f64) {
                Some(x) if (low..=high).contains(&x) => None,
                Some(x) => Some(format!("{path} is {x}, expected {low} to {high}")),
                None => Some(format!("{path} is not a number of the summary")),
            }
        })
        .collect()
}
