//! A study simulated: its machine and workload built, run window by window to the end that the study sets,
//! and measured.
//!
//! | file | what |
//! |---|---|
//! | `torus.rs`, `switched.rs` | what is built, by the kind of machine |
//! | `packaging.rs` | machines of cabinets counted, without a run |
//! | `family.rs` | tori of any family of routers, built for any hosts |
//! | `driver.rs`, `hosts.rs` | what a run requires of the nodes' side; all hosts of a family as one type |
//! | `gpu.rs` | synthetic traffic on a graphics processor, with the feature `gpu` |
//! | `course.rs`, `steady.rs` | the run itself; when it has settled |
//! | `programs.rs` | programs of ranks, skeletons and traces, on any machine |
//! | `ranks.rs` | the ranks of programs, and the nodes that they are laid onto |
//! | `units.rs`, `own.rs` | processes of a caller's own: on Message Units, and with the messages of any machine |
//! | `unloaded.rs` | what their messages take on a machine that is otherwise empty |
//! | `jobs.rs` | several jobs: together, then each alone |
//! | `nics/` | ranks over each network interface, and programs that are written for one |
//! | `measure/` | what the fabric counted, as figures of a result |
//! | `observed.rs`, `timeline.rs` | packets noted for a timeline; the timeline of a run |
//! | `processes.rs` | programs that failed or never end |
//! | `reach.rs` | rejects programs whose messages have no route around dead nodes and links |

mod checkpoint;
mod course;
mod driver;
mod family;
#[cfg(feature = "gpu")]
mod gpu;
mod hosts;
mod jobs;
mod measure;
mod nics;
mod observed;
pub mod own;
mod packaging;
mod processes;
mod programs;
mod ranks;
mod reach;
mod steady;
mod switched;
mod timeline;
mod torus;
pub mod units;
mod unloaded;

use checkpoint::RunCheckpoints;
#[cfg(feature = "gpu")]
pub use gpu::Gpu;
use netloom_engine::Peers;
use netloom_fabric::router::BuildOptions;
use netloom_study::diagnose::Problem;
use netloom_study::machine::Machine;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Ended, RunResult};
use netloom_study::run::{Checkpoints, ProgressSink, Simulate};
use std::sync::Arc;

/// Fewest blocks of a machine whose run has checkpoints: what continues from one has its blocks, and may have
/// more threads and processes to share them.
const CHECKPOINT_BLOCKS_MIN: usize = 8;

/// How a study is run.
#[derive(Clone, Copy)]
pub(crate) struct RunOptions<'a> {
    /// The observer.
    progress: &'a dyn ProgressSink,
    threads: usize,
    /// The processes that run it together, if there are several.
    among: Option<&'a Arc<dyn Peers>>,
    /// Its checkpoints, if it has any.
    checkpoints: Option<&'a RunCheckpoints<'a>>,
}

impl RunOptions<'_> {
    /// The options of a build: these, for these processes, with as many blocks at least as all have threads.
    fn build(&self, options: BuildOptions) -> BuildOptions {
        let blocks = options.blocks.max(self.blocks_min());
        BuildOptions { blocks, peers: self.among.cloned(), ..options }
    }

    /// Those of the run of all jobs, or of one alone, which has no checkpoints.
    fn of_job(self, only: Option<usize>) -> Self {
        RunOptions { checkpoints: self.checkpoints.filter(|_| only.is_none()), ..self }
    }

    /// Fewest blocks of the machine: one for each thread of all processes, or those of the checkpoint that
    /// the run continues from.
    fn blocks_min(&self) -> usize {
        let own = self.threads * self.among.map_or(1, |peers| peers.count());
        match self.checkpoints.map(|checkpoints| &checkpoints.begin) {
            Some(Some(begin)) => begin.blocks_min,
            Some(None) => own.max(CHECKPOINT_BLOCKS_MIN),
            None => own,
        }
    }
}

impl<'a> From<programs::To<'a>> for RunOptions<'a> {
    fn from((progress, threads): programs::To<'a>) -> Self {
        RunOptions { progress, threads, among: None, checkpoints: None }
    }
}

/// One run of a study, on its kind of machine.
fn simulate(study: &ResolvedStudy, how: RunOptions) -> Result<RunResult, Problem> {
    match &study.machine {
        Machine::Torus(machine) => torus::simulate(&machine.network(), study, how),
        Machine::Switched(_) => switched::simulate(study, how),
    }
}

/// Simulates a study as [`Fabric`] does, in several processes, each of which has a part of the machine. All of
/// them call it, and all have the result, which is that of one process.
#[derive(Clone, Debug)]
pub struct Distributed(pub Arc<dyn Peers>);

impl Simulate for Distributed {
    fn run(
        &self,
        study: &ResolvedStudy,
        checkpoints: Option<&Checkpoints>,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem> {
        // The blocks are the same for all.
        let threads = netloom_engine::gather(&*self.0, &threads).into_iter().max().unwrap_or(threads);
        run(study, checkpoints, RunOptions { among: Some(&self.0), ..(progress, threads).into() })
    }
}

/// Simulates studies on the fabric.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fabric;

impl Simulate for Fabric {
    fn run(
        &self,
        study: &ResolvedStudy,
        checkpoints: Option<&Checkpoints>,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem> {
        run(study, checkpoints, (progress, threads).into())
    }
}

/// A run with its checkpoints, if it has any.
fn run(
    study: &ResolvedStudy,
    checkpoints: Option<&Checkpoints>,
    how: RunOptions,
) -> Result<RunResult, Problem> {
    let checkpoints = checkpoints.map(|to| RunCheckpoints::of(study, to, how.among)).transpose()?;
    in_fitting_windows(study, RunOptions { checkpoints: checkpoints.as_ref(), ..how })
}

/// A run of a study in windows that are not longer than it.
fn in_fitting_windows(study: &ResolvedStudy, how: RunOptions) -> Result<RunResult, Problem> {
    let mut result = simulate(study, how)?;
    let ticks = result.simulated.ticks;
    let short = result.simulated.ended == Ended::Finished && (1..study.window()).contains(&ticks);
    // The windows are longer than the run, whose length is known only now, and the study does not set
    // them. The run is short: another one costs little. All processes know the same, but for a stop.
    if short && study.study.measure.window_us.is_none() && (how.among.is_some() || !how.progress.stop()) {
        result = simulate(&study.in_windows_for(ticks), RunOptions { checkpoints: None, ..how })?;
    }
    timeline::warn(study, &mut result);
    Ok(result)
}
