//! What the hardware threads of a rank share: the library's state, and its locks.

use super::contexts::Contexts;
use super::costs::Costs;
use super::library::{Library, Locking};
use super::mutex::Mutex as SimulatedMutex;
use crate::device::Simulated;
use crate::pami::Endpoint;
use crate::pami::context::{Context, Limits};
use crate::pami::guest::task::hardware_thread;
use crate::pami::message_unit::UnitContext;
use crate::pami::message_unit::collective::group::Members;
use crate::pami::message_unit::memory::ProcessMemory;
use crate::pami::{Costs as PamiCosts, Placement};
use crate::spi::Spi;
use netloom_mpi::matching::Envelope;
use netloom_mpi::point_to_point::{Number, PointToPoint};
use netloom_mpi::transport::{Collective, Memory, Process as Number32, Team};
use netloom_nic::message_unit::MessageUnit;
use netloom_nic::message_unit::commands::{Command, Watch};
use netloom_node::nodes::CoreOf;
use netloom_node::process::{Operations, Process as OfNode, ProcessId, Resumed, Step};
use netloom_node::program::{Program, lock};
use netloom_node::time::Microticks;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex};

/// What a communication thread is to do.
pub(super) enum Work {
    /// A send.
    Send { number: Number, to: Number32, envelope: Envelope, data: Memory },
    /// A collective.
    Collective { number: Number, team: Team, collective: Collective },
}

/// A lock of the library.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lock {
    /// Of all calls.
    Global,
    /// Of the receive queue.
    ReceiveQueue,
    /// Of a context.
    Context(usize),
}

/// The state that hardware threads share. It is never locked across a wait.
pub(super) struct State {
    pub(super) mpi: PointToPoint<Contexts>,
    /// Posted work, by context.
    pub(super) work: Vec<VecDeque<Work>>,
    /// Memory of messages that arrived before their receive, by the library's number.
    pub(super) buffers: HashMap<u64, Memory>,
    /// Requests that hardware threads complete just now: others see them when that has taken its time.
    pub(super) completing: Vec<Number>,
    /// The hardware thread that waits until another one completes a request.
    pub(super) waiting: Option<ProcessId>,
    /// Of each hardware thread, whether it sleeps, and the context for which a packet woke it.
    pub(super) sleeps: Vec<bool>,
    pub(super) found: Vec<Option<usize>>,
    pub(super) is_over: bool,
    global: SimulatedMutex,
    receive_queue: SimulatedMutex,
    contexts: Vec<SimulatedMutex>,
}

impl State {
    fn mutex(&mut self, which: Lock) -> &mut SimulatedMutex {
        match which {
            Lock::Global => &mut self.global,
            Lock::ReceiveQueue => &mut self.receive_queue,
            Lock::Context(at) => &mut self.contexts[at],
        }
    }
}

/// A rank's process on its node.
pub(super) struct Process {
    pub(super) core: CoreOf<MessageUnit>,
    pub(super) library: Library,
    pub(super) costs: Costs,
    /// Ranks of a node, and which this is.
    ranks: u8,
    process: u8,
    /// Communication threads.
    pub(super) threads: usize,
    /// The numbers of its contexts are below.
    pub(super) contexts: usize,
    pub(super) state: Mutex<State>,
}

impl Process {
    /// The process of a rank: `spi` is that of its first hardware thread.
    ///
    /// # Panics
    /// If the process has no task.
    pub(super) fn new(
        spi: &Spi,
        placement: &Arc<Placement>,
        library: Library,
        (costs, pami): (Costs, &PamiCosts),
        limits: Limits,
    ) -> Arc<Self> {
        let device = spi.device().clone();
        let task = placement.task(device.node(), device.process()).expect("a task of this process");
        let memory = Arc::new(Mutex::new(ProcessMemory::new(device.clone(), None)));
        let contexts = usize::from(library.contexts(placement.processes));
        let context = |number: usize| {
            let endpoint = Endpoint::new(task, number as u32).expect("few tasks and contexts");
            let device = UnitContext::new(device.clone(), placement, &memory, pami.clone(), endpoint);
            Context::new(device, limits)
        };
        let list = (0..contexts).map(context).collect();
        let threads = usize::from(library.communication_threads(placement.processes));
        let state = State {
            mpi: PointToPoint::new(Contexts::new(list, costs, placement.tasks)),
            work: (0..contexts).map(|_| VecDeque::new()).collect(),
            buffers: HashMap::new(),
            completing: vec![],
            waiting: None,
            sleeps: vec![false; threads + 1],
            found: vec![None; threads + 1],
            is_over: false,
            global: SimulatedMutex::default(),
            receive_queue: SimulatedMutex::default(),
            contexts: (0..contexts).map(|_| SimulatedMutex::default()).collect(),
        };
        Arc::new(Process {
            core: CoreOf::<MessageUnit>::new(device.thread().clone()),
            library,
            costs,
            ranks: placement.processes,
            process: device.process(),
            threads,
            contexts,
            state: Mutex::new(state),
        })
    }

    /// Joins a group of all ranks, by the class of its routes; collectives have it as their team.
    ///
    /// # Panics
    /// If this rank is no member.
    pub(super) fn join(&self, members: &Members, class: u8) -> Team {
        let state = lock(&self.state);
        let mut list = state.mpi.transport().list.borrow_mut();
        list[0].device_mut().add_group(members, class).expect("a member") as Team
    }

    /// The process of the node that is a hardware thread of the rank: 0 is the program's, then come
    /// communication threads.
    pub(super) fn hardware_thread(&self, thread: usize) -> ProcessId {
        hardware_thread(self.ranks, self.process, thread as u32)
    }

    /// Whether communication threads, and nobody else, advance the contexts.
    pub(super) fn is_advanced_by_others(&self) -> bool {
        self.threads > 0 && self.library.locking == Locking::ThreadOptimised
    }

    /// Passes the time of what the hardware thread has done so far.
    pub(super) async fn done(&self) -> Resumed {
        self.core.done().await
    }

    /// The hardware thread works for this long.
    pub(super) async fn spend(&self, time: Microticks) {
        self.core.spend(time).await;
    }

    /// Takes a lock, for a hardware thread.
    pub(super) async fn lock(&self, which: Lock, thread: usize) {
        let own = self.hardware_thread(thread);
        loop {
            self.spend(self.costs.atomic).await;
            if lock(&self.state).mutex(which).try_lock(own) {
                return;
            }
            self.core.thread().park(netloom_node::process::Wait::for_any([]));
            self.done().await;
        }
    }

    /// Releases a lock: what was done under it must be seen first.
    pub(super) async fn unlock(&self, which: Lock) {
        self.spend(self.costs.synchronize).await;
        if let Some(next) = lock(&self.state).mutex(which).unlock() {
            self.core.thread().unpark(next);
        }
    }

    /// Posts work to a context of which a communication thread has the advance (section III.B: a bounded
    /// increment of the L2 makes a place in the work queue; a store wakes the thread).
    pub(super) async fn post(&self, context: usize, work: Work) {
        self.spend(self.costs.atomic + self.costs.synchronize).await;
        let mut state = lock(&self.state);
        state.work[context].push_back(work);
        let thread = 1 + context % self.threads;
        if state.sleeps[thread] {
            self.core.thread().unpark(self.hardware_thread(thread));
        }
    }

    /// The program ends, and so do communication threads.
    pub(super) fn end(&self) {
        let mut state = lock(&self.state);
        state.is_over = true;
        (1..=self.threads).for_each(|thread| self.core.thread().unpark(self.hardware_thread(thread)));
    }
}

/// A hardware thread of a rank as a process of its node.
pub(super) struct HardwareThread {
    program: Program<Command, Watch>,
    of: Arc<Process>,
    number: usize,
}

impl HardwareThread {
    /// Hardware thread `number` of a rank, 0 the program's, with what it does. All those of a rank have its
    /// device and its thread of operations: whichever is resumed takes over what was submitted.
    pub(super) fn new(
        of: &Arc<Process>,
        number: usize,
        runs: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        HardwareThread { program: Program::new(&of.core, runs), of: Arc::clone(of), number }
    }
}

impl OfNode<Command, Watch> for HardwareThread {
    fn resume(&mut self, now: Microticks, why: Resumed, operations: &mut Operations<Command, Watch>) -> Step {
        self.program.resume(now, why, operations)
    }

    fn is_idle(&self) -> bool {
        // One that sleeps takes no part of its core.
        lock(&self.of.state).sleeps[self.number]
    }
}
