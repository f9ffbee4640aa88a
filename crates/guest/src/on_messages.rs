//! Guests on machines without Message Units: their messages go by the machine's transport.

use super::job::Made;
use super::tasks::Tasks;
use super::{Outcome, RunError, Setting, job};
use netloom_shm::launch;
use netloom_simulate::own::{processes_with_messages, unloaded_messages};
use netloom_study::run::Quiet;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs a job.
pub(crate) fn run(
    setting: &Setting,
    job: launch::Job,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Outcome, RunError> {
    let Setting { study, nodes, placement, settings, .. } = setting;
    let never = AtomicBool::new(false);
    let measure = || unloaded_messages(study, nodes, (&Quiet(&never), 1));
    job::run(setting, job, (out, err), measure, |made: &Made, sink| {
        let threads = settings.facts.threads as u8;
        let tasks = Tasks::new(made, placement, Arc::new(made.memory_of()), threads, &settings.costs);
        processes_with_messages(study, tasks.placement(), &tasks, (sink, setting.machine.threads))
    })
}
