//! The nodes of a block as hosts of the fabric, each with its network interface and its processes: the same
//! for every interface.

use crate::cores::CoresConfig;
use crate::polling::Polling;
use crate::process::{
    Failure, Measurement, Noted, Operation, Operations, Outcome, Process, ProcessId, Resumed, Step, Wait,
    trim,
};
use crate::program::Core;
use crate::schedule::{Next, Schedule};
use crate::thread::Thread;
use crate::time::Microticks;
use netloom_engine::{Time, prefetch};
use netloom_fabric::host::{CALLS_AHEAD, Delivery, Family, Host, Pull, Signals};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The result of a command.
#[derive(Debug)]
pub enum Submitted<C, W> {
    /// It is complete, and the process continues at once.
    Done,
    /// The interface resumes the process, by [`Schedule::resume_at`].
    Pending,
    /// There is no space for it: it is resubmitted when there is.
    Full(C, W),
    /// It is rejected, and the process fails.
    Failed(Failure),
}

/// A network interface, as seen by its node's processes and the fabric: it executes commands, fills queues
/// and memory that processes poll, and exchanges packets with the network.
pub trait NetworkInterface: Send + Sized {
    /// The family of its network.
    type Family: Family;
    /// State shared by the interfaces of a block.
    type Common: Send + Sync;
    /// State shared by a node's processes and its interface: memory, queues, registrations.
    type Shared: Default + Send;
    /// A command that a process may submit.
    type Command: Send + 'static;
    /// A condition that a process may wait for.
    type Watch: Copy + Send + 'static;
    /// An action on its agenda.
    type Action;
    /// Its counters.
    type Counters: Default;

    /// Whether its stations act once per tick and in a fixed order, after the arrivals of that tick.
    const CLOCKED: bool = false;

    /// Whether the state of a few hundred of them, with their nodes, is more than a core's caches hold.
    const IS_LARGE: bool = false;

    /// Prefetches what [`Self::pull`] will need.
    fn prepare(&self, _fifo: usize) {}

    /// Prefetches what each of its actions touches.
    fn prefetch(&self) {}

    /// Prefetches its first action; what [`Self::prefetch`] asked for is there.
    fn prefetch_first(&self) {}

    /// Prefetches what its first action touches; that one is there.
    fn prefetch_action(&self) {}

    /// An interface that has not been used.
    fn new(common: &Self::Common, number: u32, shared: &Arc<Mutex<Self::Shared>>, seed: u64) -> Self;

    /// The schedule of its node.
    fn schedule(&mut self) -> &mut Schedule<Self::Action, Self::Watch>;

    /// The cores that its node's processes share; `None`: each process has its own.
    fn cores(_: &Self::Common) -> Option<&CoresConfig> {
        None
    }

    /// How processes poll the memory that they share.
    fn polling(_: &Self::Common) -> Polling {
        Polling::asleep(Microticks::ZERO)
    }

    /// When a process that starts to wait at time `t` resumes; `None` if the condition does not hold yet.
    fn ready(
        &mut self,
        c: &Self::Common,
        t: Microticks,
        process: ProcessId,
        watch: Self::Watch,
    ) -> Option<Microticks>;

    /// Executes a command.
    fn submit(
        &mut self,
        c: &Self::Common,
        t: Microticks,
        process: ProcessId,
        command: Self::Command,
    ) -> Submitted<Self::Command, Self::Watch>;

    /// Executes an action of its agenda.
    fn act(&mut self, c: &Self::Common, t: Microticks, action: Self::Action);

    /// The network takes the next packet of an injection FIFO.
    fn pull(
        &mut self,
        c: &Self::Common,
        now: Time,
        fifo: usize,
        signals: &mut SignalsOf<Self>,
    ) -> Pull<HeaderOf<Self>>;

    /// A packet has arrived from the network.
    fn arrived(&mut self, c: &Self::Common, now: Time, delivery: &Delivery<HeaderOf<Self>>);

    /// The network reports an event that only its family has.
    fn event(&mut self, _: &Self::Common, _now: Time, _event: EventOf<Self>) {}

    /// Its counters.
    fn counters(&self) -> Self::Counters;

    /// Passes its requests for its node to the fabric.
    fn signal(&mut self, node: u32, signals: &mut SignalsOf<Self>);
}

/// The header of the packets of an interface's network.
pub type HeaderOf<N> = <<N as NetworkInterface>::Family as Family>::Header;

/// The signals of an interface to its network.
pub type SignalsOf<N> = Signals<<<N as NetworkInterface>::Family as Family>::Signal>;

/// The events that its network reports to an interface.
pub type EventOf<N> = <<N as NetworkInterface>::Family as Family>::Event;

/// The operations of an interface's processes.
pub type OperationsOf<N> = Operations<<N as NetworkInterface>::Command, <N as NetworkInterface>::Watch>;

/// The hardware thread of a process of a node with this interface.
pub type ThreadOf<N> = Thread<<N as NetworkInterface>::Command, <N as NetworkInterface>::Watch>;

/// A program's side of a node with this interface.
pub type CoreOf<N> = Core<<N as NetworkInterface>::Command, <N as NetworkInterface>::Watch>;

/// A process of a node with this interface.
pub type ProcessOf<N> = dyn Process<<N as NetworkInterface>::Command, <N as NetworkInterface>::Watch>;

/// A process on its node.
struct Running<N: NetworkInterface> {
    /// `None` once it has ended.
    process: Option<Box<ProcessOf<N>>>,
    operations: OperationsOf<N>,
    outcome: Option<Outcome>,
    /// The time that its computations have taken.
    computed: Microticks,
}

impl<N: NetworkInterface> Running<N> {
    /// Whether it has not ended, and has something to do.
    fn is_busy(&self) -> bool {
        // A process that is being resumed is not idle.
        self.outcome.is_none() && self.process.as_ref().is_none_or(|process| !process.is_idle())
    }

    /// Ends it with a failure, and discards its pending operations.
    fn fail(&mut self, failure: Failure) {
        self.process = None;
        self.operations.clear();
        self.outcome = Some(Err(failure));
    }
}

/// A process to be placed on a node, with its thread, which holds its measurements.
pub struct NewProcess<N: NetworkInterface> {
    /// The process.
    pub process: Box<ProcessOf<N>>,
    /// Its thread.
    pub thread: ThreadOf<N>,
}

/// A place for a process on a node: its software needs these to access its node and interface.
pub struct ProcessSlot<N: NetworkInterface> {
    /// The machine's number of the node.
    pub node: u32,
    /// The number of the process on its node.
    pub process: ProcessId,
    /// Its hardware thread.
    pub thread: ThreadOf<N>,
    /// State shared by the node's processes and its interface.
    pub shared: Arc<Mutex<N::Shared>>,
    /// State shared by the interfaces of a block.
    pub common: Arc<N::Common>,
}

impl<N: NetworkInterface> Clone for ProcessSlot<N> {
    fn clone(&self) -> Self {
        ProcessSlot {
            node: self.node,
            process: self.process,
            thread: self.thread.clone(),
            shared: Arc::clone(&self.shared),
            common: Arc::clone(&self.common),
        }
    }
}

/// A node: its processes, and its interface once it has been used.
pub struct Node<N: NetworkInterface> {
    /// Its number in the machine.
    pub number: u32,
    /// State shared by its processes and its interface.
    pub shared: Arc<Mutex<N::Shared>>,
    running: Box<[Running<N>]>,
    threads: Box<[ThreadOf<N>]>,
    is_started: bool,
    /// Its interface.
    pub interface: Option<Box<N>>,
}

impl<N: NetworkInterface> Node<N> {
    fn interface(&mut self, common: &N::Common, seed: u64) -> &mut N {
        self.interface.get_or_insert_with(|| Box::new(N::new(common, self.number, &self.shared, seed)))
    }

    /// Number of processes on the same core as this one that have not ended and are not idle.
    fn threads_of_core(&self, cores: &CoresConfig, process: ProcessId) -> usize {
        let count = cores.count();
        let on_core = self.running.iter().skip(usize::from(process) % count).step_by(count);
        on_core.filter(|running| running.is_busy()).count()
    }

    /// The duration of a computation of a process that would take this long alone on its core.
    fn shared(&self, common: &N::Common, process: ProcessId, alone: Microticks) -> Microticks {
        match N::cores(common) {
            None => alone,
            Some(cores) => cores.shared(alone, self.threads_of_core(cores, process)),
        }
    }
}

/// The nodes' side of a block.
pub struct Nodes<N: NetworkInterface> {
    common: Arc<N::Common>,
    /// By their numbers within the block.
    pub list: Vec<Node<N>>,
    seed: u64,
    /// Dead nodes, which do not respond.
    dead: BTreeSet<u32>,
    last: Time,
}

impl<N: NetworkInterface> Nodes<N> {
    /// Creates the nodes with these machine numbers, with `processes` processes each; `process` creates each
    /// process.
    pub fn new(
        common: Arc<N::Common>,
        numbers: &[u32],
        processes: u8,
        seed: u64,
        mut process: impl FnMut(u32, ProcessId, &Arc<Mutex<N::Shared>>) -> NewProcess<N>,
    ) -> Self {
        let node = |&number: &u32| {
            let shared = Arc::default();
            let all = (0..processes).map(|p| process(number, p, &shared));
            let made: Vec<_> = all.take_while(|made| !made.process.is_absent()).collect();
            let (mut running, mut threads) = (vec![], vec![]);
            for NewProcess { process, thread } in made {
                running.push(Running {
                    process: Some(process),
                    operations: Operations::new(),
                    outcome: None,
                    computed: Microticks::ZERO,
                });
                threads.push(thread);
            }
            let (running, threads) = (running.into(), threads.into());
            Node { number, shared, running, threads, is_started: false, interface: None }
        };
        let list = numbers.iter().map(node).collect();
        Nodes { list, common, seed, dead: BTreeSet::new(), last: Time::ZERO }
    }

    /// The same with processes created from their slots.
    pub fn from_slots(
        common: Arc<N::Common>,
        numbers: &[u32],
        processes: u8,
        seed: u64,
        mut process: impl FnMut(ProcessSlot<N>) -> Box<ProcessOf<N>>,
    ) -> Self {
        let of = Arc::clone(&common);
        let make = |node, which, shared: &_| {
            let thread = ThreadOf::<N>::default();
            let (shared, common) = (Arc::clone(shared), Arc::clone(&of));
            let slot = ProcessSlot { node, process: which, thread: thread.clone(), shared, common };
            NewProcess { process: process(slot), thread }
        };
        Nodes::new(common, numbers, processes, seed, make)
    }

    /// Marks nodes as dead: their interfaces do not respond, and requests to them time out.
    #[must_use]
    pub fn with_dead(mut self, dead: impl IntoIterator<Item = u32>) -> Self {
        self.dead = dead.into_iter().collect();
        self
    }

    /// State shared by the nodes of the block.
    pub fn common(&self) -> &N::Common {
        &self.common
    }

    /// The programs' measurements: node, process, values.
    pub fn measurements(&self) -> impl Iterator<Item = (u32, u32, Vec<Measurement>)> {
        self.list.iter().flat_map(|node| {
            let threads = node.threads.iter().enumerate();
            threads.map(|(process, thread)| (node.number, process as u32, thread.measurements()))
        })
    }

    /// Processes that have not ended and are not idle: node, process.
    pub fn unfinished(&self) -> impl Iterator<Item = (u32, u32)> {
        self.list.iter().flat_map(|node| {
            let running = node.running.iter().enumerate().filter(|(_, r)| r.is_busy());
            running.map(|(process, _)| (node.number, process as u32))
        })
    }

    /// Processes that failed: node, process, reason.
    pub fn failures(&self) -> impl Iterator<Item = (u32, u32, &Failure)> {
        self.list.iter().flat_map(|node| {
            let running = node.running.iter().enumerate();
            running.filter_map(|(process, r)| match &r.outcome {
                Some(Err(failure)) => Some((node.number, process as u32, failure)),
                _ => None,
            })
        })
    }

    /// The interfaces' counters, by their nodes' machine numbers.
    pub fn counters(&self) -> impl Iterator<Item = (u32, N::Counters)> {
        self.list
            .iter()
            .map(|node| (node.number, node.interface.as_ref().map(|n| n.counters()).unwrap_or_default()))
    }

    /// The last time at which a process resumed, or a packet left or arrived. Later actions only check for
    /// overdue responses.
    pub fn last(&self) -> Time {
        self.last
    }

    /// Continues a process with its next operation, or resumes it if it has none left.
    fn advance(&mut self, t: Microticks, node: u32, process: ProcessId, mut why: Resumed) {
        // Not a clone of the shared pointer: all threads would contend for its count.
        let (common, seed, place) = (&*self.common, self.seed, usize::from(process));
        let node = &mut self.list[node as usize];
        loop {
            let running = &mut node.running[place];
            if running.operations.is_empty() {
                let Some(own) = &mut running.process else { return };
                if let Step::Ended(outcome) = own.resume(t, why, &mut running.operations) {
                    running.process = None;
                    running.outcome = Some(outcome);
                }
            }
            let Some(operation) = running.operations.pop_front() else { return };
            trim(&mut running.operations);
            why = Resumed::Done;
            match operation {
                Operation::Fail(failure) => node.running[place].fail(failure),
                Operation::Note(after) => {
                    let after = node.shared(common, process, after);
                    let computed = node.running[place].computed + after;
                    node.threads[place].noted(Noted { at: t + after, computed });
                    continue;
                }
                Operation::Spend(alone) => {
                    let takes = node.shared(common, process, alone);
                    node.running[place].computed += takes;
                    node.interface(common, seed).schedule().resume_at(t + takes, process);
                }
                Operation::Submit(command) => {
                    match node.interface(common, seed).submit(common, t, process, command) {
                        Submitted::Done => continue,
                        Submitted::Pending => {}
                        Submitted::Failed(failure) => node.running[place].fail(failure),
                        Submitted::Full(command, watch) => {
                            let operations = &mut node.running[place].operations;
                            operations.push_front(Operation::Submit(command));
                            operations.push_front(Operation::Wait(Wait::for_one(watch)));
                            continue;
                        }
                    }
                }
                Operation::Unpark(other) => {
                    node.interface(common, seed).schedule().unpark(t, other);
                    continue;
                }
                Operation::Notify(other, number) => {
                    // A process that the node does not have hears nothing.
                    if let Some(thread) = node.threads.get(usize::from(other)) {
                        thread.notified(number);
                        node.interface(common, seed).schedule().notified(t, other, N::polling(common));
                    }
                    continue;
                }
                Operation::Wait(_) | Operation::Park(_) => {
                    let (wait, parks) = match operation {
                        Operation::Park(wait) => (wait, true),
                        Operation::Wait(wait) => (wait, false),
                        _ => unreachable!("one of the two"),
                    };
                    let listened = wait.listens.and_then(|other| node.threads.get(usize::from(other)));
                    if listened.is_some_and(ThreadOf::<N>::has_notices) {
                        why = Resumed::Notified;
                        continue;
                    }
                    let interface = node.interface(common, seed);
                    let at = wait.any.iter().enumerate().find_map(|(place, &watch)| {
                        interface.ready(common, t, process, watch).map(|at| (at, place))
                    });
                    match at {
                        Some((at, place)) if at == t => {
                            why = Resumed::Found(place as u16);
                            continue;
                        }
                        Some((at, place)) => interface.schedule().found_at(at, process, place),
                        None if !parks => interface.schedule().wait(t, process, wait),
                        None if interface.schedule().park(t, process, wait) => {
                            why = Resumed::Unparked;
                            continue;
                        }
                        None => {}
                    }
                }
            }
            return;
        }
    }

    /// Executes the due actions of a node, if there are any; otherwise the fabric needs no update.
    fn catch_up(&mut self, now: Time, node: u32, signals: &mut SignalsOf<N>) {
        if self.list[node as usize].interface.as_mut().is_some_and(|of| of.schedule().is_due(now)) {
            self.run(now, node, signals);
        }
    }

    /// Executes the due actions of a node, and passes its requests to the fabric.
    fn run(&mut self, now: Time, node: u32, signals: &mut SignalsOf<N>) {
        loop {
            let Some(interface) = &mut self.list[node as usize].interface else { return };
            match interface.schedule().due(now) {
                None => break,
                Some((t, Next::Action(action))) => interface.act(&self.common, t, action),
                Some((t, Next::Resume(process, why))) => {
                    self.last = self.last.max(now);
                    self.advance(t, node, process, why);
                }
            }
        }
        self.signal(now, node, signals);
    }

    #[inline]
    fn signal(&mut self, now: Time, node: u32, signals: &mut SignalsOf<N>) {
        let Some(interface) = &mut self.list[node as usize].interface else { return };
        interface.signal(node, signals);
        if let Some(at) = interface.schedule().arm(now) {
            signals.wake(node, at, 0);
        }
    }

    /// Starts the processes of a node.
    fn start(&mut self, now: Time, node: u32, signals: &mut SignalsOf<N>) {
        let at = node as usize;
        if std::mem::replace(&mut self.list[at].is_started, true) {
            return;
        }
        if self.dead.contains(&self.list[at].number) {
            return self.end_all(at);
        }
        for process in 0..self.list[at].running.len() {
            self.advance(Microticks::at(now), node, process as ProcessId, Resumed::Started);
        }
        self.run(now, node, signals);
    }

    /// The processes of a node end with it.
    fn end_all(&mut self, node: usize) {
        for running in &mut self.list[node].running {
            running.process = None;
            running.operations.clear();
            running.outcome.get_or_insert(Ok(()));
        }
    }
}

impl<N: NetworkInterface> Host<N::Family> for Nodes<N> {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, signals: &mut SignalsOf<N>) -> Pull<HeaderOf<N>> {
        self.start(now, node, signals);
        self.catch_up(now, node, signals);
        let common = &self.common;
        let Some(interface) = &mut self.list[node as usize].interface else { return Pull::Empty };
        let answer = interface.pull(common, now, fifo, signals);
        if let Pull::Packet(..) = answer {
            self.last = self.last.max(now);
            self.run(now, node, signals);
        }
        answer
    }

    fn deliver(
        &mut self,
        now: Time,
        node: u32,
        delivery: &Delivery<HeaderOf<N>>,
        signals: &mut SignalsOf<N>,
    ) {
        if self.dead.contains(&self.list[node as usize].number) {
            return;
        }
        self.last = self.last.max(now);
        if !N::CLOCKED {
            self.catch_up(now, node, signals);
        }
        let common = &*self.common;
        self.list[node as usize].interface(common, self.seed).arrived(common, now, delivery);
        if N::CLOCKED {
            self.signal(now, node, signals);
        } else {
            self.run(now, node, signals);
        }
    }

    fn wake(&mut self, now: Time, node: u32, _: u32, signals: &mut SignalsOf<N>) {
        self.run(now, node, signals);
    }

    #[inline]
    fn prepare(&self, node: u32, fifo: usize) {
        self.list[node as usize].interface.iter().for_each(|interface| interface.prepare(fifo));
    }

    fn is_large(&self) -> bool {
        N::IS_LARGE
    }

    #[inline]
    fn prefetch(&self, next: &[u32; CALLS_AHEAD]) {
        let [first, second, third, fourth] = next.map(|node| &self.list[node as usize]);
        prefetch(fourth);
        third.interface.iter().for_each(|interface| interface.prefetch());
        second.interface.iter().for_each(|interface| interface.prefetch_first());
        first.interface.iter().for_each(|interface| interface.prefetch_action());
    }

    fn died(&mut self, _: Time, node: u32) {
        self.dead.insert(self.list[node as usize].number);
        self.end_all(node as usize);
    }

    fn event(&mut self, now: Time, node: u32, event: EventOf<N>, signals: &mut SignalsOf<N>) {
        let common = &*self.common;
        self.list[node as usize].interface(common, self.seed).event(common, now, event);
        self.signal(now, node, signals);
    }
}

impl<N: NetworkInterface> Nodes<N> {
    /// Memory of an idle node with `processes` processes, bytes, excluding the processes' own.
    pub fn bytes_when_idle(processes: usize) -> usize {
        let counts = 2 * size_of::<usize>();
        let process = size_of::<Running<N>>() + size_of::<ThreadOf<N>>() + ThreadOf::<N>::bytes() + counts;
        size_of::<Node<N>>() + size_of::<N::Shared>() + counts + processes * process
    }
}
