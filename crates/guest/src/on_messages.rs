//! Guests on machines without Message Units: their messages go by the machine's transport, one task a node.

use super::job::Made;
use super::{Outcome, RunError, Setting, job};
use netloom_messaging::pami::guest::interface::Interface;
use netloom_messaging::pami::guest::interface::messages::{InFlight, MemoryOf, MessageInterface};
use netloom_messaging::transports::packets::Placement;
use netloom_node::process::Process;
use netloom_shm::launch;
use netloom_simulate::own::{Maker, Messages, processes_with_messages, unloaded_messages};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

struct Tasks<'a> {
    made: &'a Made<'a>,
    placement: Arc<Placement>,
    in_flight: Arc<InFlight>,
    memory_of: MemoryOf,
}

impl Maker for Tasks<'_> {
    fn make<C: Send + 'static, W: Copy + Send + 'static>(
        &self,
        rank: u32,
        messages: Messages<C, W>,
    ) -> Box<dyn Process<C, W>> {
        let interface =
            MessageInterface::new(messages, rank, &self.placement, &self.in_flight, &self.memory_of);
        let thread = interface.thread().clone();
        let task = self.made.task(interface, rank);
        self.made.process(&task, (rank, 0), self.placement.node(rank), &thread)
    }
}

/// Runs a job.
pub(crate) fn run(
    setting: &Setting,
    job: launch::Job,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Outcome, RunError> {
    let (study, nodes, tasks) = (setting.study, setting.nodes, setting.placement.tasks);
    let never = AtomicBool::new(false);
    let measure = || unloaded_messages(study, nodes, (&netloom_study::run::Quiet(&never), 1));
    job::run(setting, job, (out, err), measure, |made: &Made, sink| {
        let tasks = Tasks {
            made,
            placement: Arc::new(Placement::new(nodes)),
            in_flight: Arc::new(InFlight::new(tasks)),
            memory_of: Arc::new(made.memory_of()),
        };
        processes_with_messages(study, nodes, &tasks, (sink, setting.machine.threads))
    })
}
