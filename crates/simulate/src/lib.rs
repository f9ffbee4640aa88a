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

use netloom_study::diagnose::Problem;
use netloom_study::machine::Machine;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Ended, RunResult};
use netloom_study::run::{ProgressSink, Simulate};

/// One run of a study, on its kind of machine.
fn simulate(
    study: &ResolvedStudy,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    match &study.machine {
        Machine::Torus(machine) => torus::simulate(&machine.network(), study, progress, threads),
        Machine::Switched(_) => switched::simulate(study, progress, threads),
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
        let mut result = simulate(study, progress, threads)?;
        let ticks = result.simulated.ticks;
        let short = result.simulated.ended == Ended::Finished && (1..study.window()).contains(&ticks);
        // The windows are longer than the run, whose length is known only now, and the study does not set
        // them. The run is short: another one costs little.
        if short && study.study.measure.window_us.is_none() && !progress.stop() {
            result = simulate(&study.in_windows_for(ticks), progress, threads)?;
        }
        timeline::warn(study, &mut result);
        Ok(result)
    }
}
