//! A study simulated: its machine and workload built, run window by window to the end that the study asks for, and measured.
//!
//! | file | what |
//! |---|---|
//! | `torus.rs`, `switched.rs` | what is built, by the kind of machine |
//! | `packaging.rs` | machines of cabinets counted, without a run |
//! | `family.rs` | tori of any family of routers, built for any hosts |
//! | `driver.rs` | what a run asks of the nodes' side |
//! | `course.rs`, `steady.rs` | the run itself; when it has settled |
//! | `reach.rs` | programs refused whose messages have no way round what is dead |

mod course;
pub(crate) mod driver;
mod family;
mod packaging;
mod reach;
pub(crate) mod steady;
mod switched;
mod torus;

use crate::diagnose::Problem;
use crate::machine::Machine;
use crate::resolve::ResolvedStudy;
use crate::result::RunResult;
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
        match &study.machine {
            Machine::Torus(machine) => torus::simulate(&machine.network(), study, progress, threads),
            Machine::Switched(_) => switched::simulate(study, progress, threads),
        }
    }
}
