//! A study simulated: its machine and workload built, run window by window to the end that the study sets,
//! and measured.
//!
//! | file | what |
//! |---|---|
//! | `torus.rs`, `switched.rs` | what is built, by the kind of machine |
//! | `packaging.rs` | machines of cabinets counted, without a run |
//! | `family.rs` | tori of any family of routers, built for any hosts |
//! | `driver.rs`, `hosts.rs` | what a run requires of the nodes' side; all hosts of a family as one type |
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

use checkpoint::Checkpointing;
use netloom_engine::Peers;
use netloom_fabric::router::BuildOptions;
use netloom_study::diagnose::Problem;
use netloom_study::machine::Machine;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Ended, RunResult};
use netloom_study::run::{Checkpoints, ProgressSink, Simulate};
use std::sync::Arc;

/// Fewest blocks of a machine whose run has checkpoints.
const BLOCKS_TO_SHARE: usize = 8;

/// How a study is run.
#[derive(Clone, Copy)]
pub(crate) struct RunOptions<'a> {
    /// The observer.
    progress: &'a dyn ProgressSink,
    threads: usize,
    /// The processes that run it together, if there are several.
    among: Option<&'a Arc<dyn Peers>>,
    /// Its checkpoints, if it has any.
    checkpoints: Option<&'a Checkpointing<'a>>,
}

impl RunOptions<'_> {
    /// The options of a build: these, for these processes, with as many blocks at least as all have threads.
    fn build(&self, options: BuildOptions) -> BuildOptions {
        let blocks = options.blocks.max(self.blocks());
        BuildOptions { blocks, peers: self.among.cloned(), ..options }
    }

    /// Those of all jobs, or of one alone: the run of all has the checkpoints.
    fn of(self, only: Option<usize>) -> Self {
        RunOptions { checkpoints: self.checkpoints.filter(|_| only.is_none()), ..self }
    }

    /// Whether this process writes what all have found.
    fn is_first(&self) -> bool {
        self.among.is_none_or(|peers| peers.rank() == 0)
    }

    /// Fewest blocks of the machine. What a run continues from has its own; where it may continue, more threads and
    /// processes than now find some.
    fn blocks(&self) -> usize {
        let own = self.threads * self.among.map_or(1, |peers| peers.count());
        match self.checkpoints.map(|checkpoints| &checkpoints.from) {
            Some(Some(from)) => from.blocks,
            Some(None) => own.max(BLOCKS_TO_SHARE),
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
    fn simulate(
        &self,
        study: &ResolvedStudy,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem> {
        in_fitting_windows(study, self.how(progress, threads))
    }

    fn simulate_in_parts(
        &self,
        study: &ResolvedStudy,
        checkpoints: &Checkpoints,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem> {
        in_parts(study, checkpoints, self.how(progress, threads))
    }
}

impl Distributed {
    fn how<'a>(&'a self, progress: &'a dyn ProgressSink, threads: usize) -> RunOptions<'a> {
        // The blocks are the same for all.
        let threads = netloom_engine::gather(&*self.0, &threads).into_iter().max().unwrap_or(threads);
        RunOptions { among: Some(&self.0), ..(progress, threads).into() }
    }
}

/// Simulates studies on the fabric.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fabric;

impl Simulate for Fabric {
    fn simulate(
        &self,
        study: &ResolvedStudy,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem> {
        in_fitting_windows(study, (progress, threads).into())
    }

    fn simulate_in_parts(
        &self,
        study: &ResolvedStudy,
        checkpoints: &Checkpoints,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem> {
        in_parts(study, checkpoints, (progress, threads).into())
    }
}

/// A run with checkpoints, from the last one on if there is any.
fn in_parts(study: &ResolvedStudy, to: &Checkpoints, how: RunOptions) -> Result<RunResult, Problem> {
    let checkpoints = Checkpointing::of(study, to, how.is_first());
    if let Some(peers) = how.among {
        // All continue from the same file, or none: what one of them says ends all.
        let own = checkpoints.as_ref().map(|of| of.sum).map_err(|problem| problem.message.clone());
        let all = netloom_engine::gather(&**peers, &own);
        if checkpoints.is_ok() {
            if let Some(Err(why)) = all.iter().find(|of| of.is_err()) {
                return Err(Problem::new(why.clone()));
            }
            if all.iter().any(|of| *of != all[0]) {
                let what = format!("{} is not the same file for all processes", to.file.display());
                return Err(Problem::new(what).help("give a file that all of them share"));
            }
        }
    }
    let checkpoints = checkpoints?;
    in_fitting_windows(study, RunOptions { checkpoints: Some(&checkpoints), ..how })
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
