//! The tasks of a job on the transports of a machine: whoever gives them something to do.

use netloom_messaging::pami::guest::ThreadNumber;
use netloom_messaging::pami::guest::interface::Interface;
use netloom_messaging::pami::guest::interface::messages::{InFlight, MemoryOf, MessageInterface};
use netloom_messaging::pami::guest::task::Task;
use netloom_messaging::pami::{self, Costs};
use netloom_messaging::transports::packets::Placement;
use netloom_node::process::Process;
use netloom_node::thread::Thread;
use netloom_simulate::own::{Maker, Slot};
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Makes tasks, and the processes that are their hardware threads.
pub trait Job {
    /// A task on the interface of its node.
    fn task<I: Interface>(&self, interface: I, number: u32) -> Arc<Mutex<Task<I>>>;

    /// A hardware thread of a task, on a node.
    fn process<I: Interface>(
        &self,
        task: &Arc<Mutex<Task<I>>>,
        of: (u32, ThreadNumber),
        node: u32,
        of_node: &Thread<I::Command, I::Watch>,
    ) -> Box<dyn Process<I::Command, I::Watch>>;
}

/// The tasks of a job, each with its messages.
pub struct Tasks<'a, J> {
    job: &'a J,
    placement: Arc<Placement>,
    in_flight: Arc<InFlight>,
    memory_of: MemoryOf,
    threads: u8,
    costs: &'a Costs,
    /// Those of the node whose processes are made.
    of_node: RefCell<BTreeMap<u32, Box<dyn Any>>>,
}

impl<'a, J: Job> Tasks<'a, J> {
    /// The tasks of a job, of this number of hardware threads each; `costs` are those of their library.
    pub fn new(
        job: &'a J,
        placement: &pami::Placement,
        memory_of: MemoryOf,
        threads: u8,
        costs: &'a Costs,
    ) -> Self {
        Tasks {
            job,
            placement: Arc::new(Placement::of_tasks(placement)),
            in_flight: Arc::new(InFlight::new(placement.tasks)),
            memory_of,
            threads,
            costs,
            of_node: RefCell::default(),
        }
    }

    /// Where they are.
    pub fn placement(&self) -> &Arc<Placement> {
        &self.placement
    }
}

impl<J: Job> Maker for Tasks<'_, J> {
    fn threads(&self) -> u8 {
        self.threads
    }

    fn make<C: Send + 'static, W: Copy + Send + 'static>(&self, slot: Slot<C, W>) -> Box<dyn Process<C, W>> {
        let Slot { rank, number, node, thread, messages } = slot;
        let mut of_node = self.of_node.borrow_mut();
        if let Some(messages) = messages {
            let (placement, in_flight) = (&self.placement, &self.in_flight);
            let interface =
                MessageInterface::new(messages, rank, placement, in_flight, &self.memory_of, self.costs);
            of_node.retain(|&other, _| placement.share_node(rank, other));
            of_node.insert(rank, Box::new(self.job.task(interface, rank)));
        }
        let task = of_node.get(&rank).and_then(|task| task.downcast_ref());
        let task: &Arc<Mutex<Task<MessageInterface<C, W>>>> = task.expect("the first thread is made first");
        self.job.process(task, (rank, number), node, &thread)
    }
}
