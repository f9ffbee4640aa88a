//! Guests on machines without Message Units: their messages go by the machine's transport.

use super::job::Made;
use super::{Outcome, RunError, Setting, job};
use netloom_messaging::pami::guest::interface::messages::{InFlight, MemoryOf, MessageInterface};
use netloom_messaging::pami::guest::task::Task;
use netloom_messaging::transports::packets::Placement;
use netloom_node::process::Process;
use netloom_shm::launch;
use netloom_simulate::own::{Maker, Slot, processes_with_messages, unloaded_messages};
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// A task on the transport of its node.
type OfTask<C, W> = Arc<Mutex<Task<MessageInterface<C, W>>>>;

struct Tasks<'a> {
    made: &'a Made<'a>,
    placement: Arc<Placement>,
    in_flight: Arc<InFlight>,
    memory_of: MemoryOf,
    threads: u32,
    /// The tasks of the node whose processes are made, each an [`OfTask`].
    tasks: RefCell<BTreeMap<u32, Box<dyn Any>>>,
}

impl Maker for Tasks<'_> {
    fn threads(&self) -> u8 {
        self.threads as u8
    }

    fn make<C: Send + 'static, W: Copy + Send + 'static>(&self, slot: Slot<C, W>) -> Box<dyn Process<C, W>> {
        let Slot { rank, number, node, thread, messages } = slot;
        if let Some(messages) = messages {
            let (placement, in_flight) = (&self.placement, &self.in_flight);
            let costs = self.made.costs();
            let interface =
                MessageInterface::new(messages, rank, placement, in_flight, &self.memory_of, costs);
            let mut tasks = self.tasks.borrow_mut();
            tasks.retain(|&other, _| placement.share_node(rank, other));
            tasks.insert(rank, Box::new(self.made.task(interface, rank)));
        }
        let tasks = self.tasks.borrow();
        let task = tasks.get(&rank).and_then(|task| task.downcast_ref::<OfTask<C, W>>());
        self.made.process(task.expect("the first thread is made first"), (rank, number), node, &thread)
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
            placement: Arc::new(Placement::of_tasks(&setting.placement)),
            in_flight: Arc::new(InFlight::new(tasks)),
            memory_of: Arc::new(made.memory_of()),
            threads: setting.settings.facts.threads,
            tasks: RefCell::default(),
        };
        processes_with_messages(study, &tasks.placement, &tasks, (sink, setting.machine.threads))
    })
}
