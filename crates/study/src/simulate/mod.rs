//! A study simulated: its machine and workload built, run window by window to the end that the study asks for, and measured.
//!
//! | file | what |
//! |---|---|
//! | `torus.rs`, `switched.rs` | what is built, by the kind of machine |
//! | `packaging.rs` | machines of cabinets counted, without a run |
//! | `family.rs` | tori of any family of routers, built for any hosts |
//! | `driver.rs` | what a run asks of the nodes' side |
//! | `course.rs`, `steady.rs` | the run itself; when it has settled |
//! | `programs.rs` | programs of ranks, skeletons and traces, on any machine |
//! | `ranks.rs` | the ranks of programs, and the nodes that they are laid onto |
//! | `unloaded.rs` | what their messages take on a machine that is otherwise empty |
//! | `jobs.rs` | several jobs: together, then each alone |
//! | `nics/` | ranks over each network interface, and programs that are written for one |
//! | `processes.rs` | programs that failed or never end |
//! | `reach.rs` | programs refused whose messages have no way round what is dead |

mod course;
pub(crate) mod driver;
mod family;
mod jobs;
pub(crate) mod nics;
mod packaging;
mod processes;
mod programs;
mod ranks;
mod reach;
pub(crate) mod steady;
pub(crate) mod switched;
pub(crate) mod torus;
mod unloaded;

use crate::diagnose::Problem;
use crate::resolve::ResolvedStudy;
use crate::result::{Ended, RunResult};
use crate::run::{ProgressSink, Simulate};

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
        let result = study.machine.simulate(study, progress, threads)?;
        let ticks = result.simulated.ticks;
        let short = result.simulated.ended == Ended::Finished && (1..study.window()).contains(&ticks);
        // Nobody asked for windows that long, and how long the run is is known only now. It is short: once more costs little.
        if short && study.study.measure.window_us.is_none() && !progress.stop() {
            return study.machine.simulate(&study.in_windows_for(ticks), progress, threads);
        }
        Ok(result)
    }
}
