//! Collective operations by the collective network and the global-interrupt network, and by shared memory
//! between the processes of a node (Kumar et al., sections IV.B and IV.C).
//!
//! The processes of a node have a master, which alone uses the network: it writes the descriptors and polls
//! the counters. The others report to it, and hear from it, by words of memory that the L2 adds to
//! (`node.rs`). Data is not copied to it: each process reads the others' buffers where they are (the paper's
//! *shared address*).
//!
//! An operation is an `async fn` that waits for conditions; whoever drives the context polls it when one may
//! hold.

mod allreduce;
mod barrier;
mod broadcast;
pub mod group;
mod node;
mod rectangle;
mod reduce;
mod slices;

pub(super) use node::SHARED;

use super::{Costs, Placement};
use crate::device::Simulated;
use crate::pami::device::{Collective, Step, Ticket};
use crate::pami::message_unit::memory::ProcessMemory;
use crate::spi::device::{UnitDevice, barrier_watch};
use group::Group;
use netloom_fabric::collective::route::Rectangle;
use netloom_nic::message_unit::commands::Watch;
use netloom_node::program::lock;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// What an operation waits for.
#[derive(Clone, Copy, Debug)]
enum Condition {
    /// A word that processes of the node add to, of at least this value.
    Word(u64, u64),
    /// A reception counter, by its address, that reaches zero after this tick.
    Counter(u64, u64),
    /// The barrier of a class, of this turn.
    Barrier(u8, u64),
    /// The injection of this number of descriptors of a FIFO.
    Injected(u16, u64),
}

impl Condition {
    fn holds(self, device: &UnitDevice) -> bool {
        match self {
            Condition::Word(address, least) => device.word(address) >= least,
            Condition::Counter(address, asked) => device.counted_down(address) > asked,
            Condition::Injected(fifo, descriptors) => device.injected(fifo) >= descriptors,
            // The register shows it only when this node's own stores have been executed.
            Condition::Barrier(class, turn) => {
                !device.thread().has_pending() && device.has_passed_barrier(class, turn)
            }
        }
    }

    fn watch(self) -> Watch {
        match self {
            Condition::Word(address, least) => Watch::Word(address, least),
            Condition::Counter(address, _) => Watch::Counter(address),
            Condition::Barrier(class, turn) => barrier_watch(class, turn),
            Condition::Injected(fifo, descriptors) => Watch::Injected(fifo, descriptors),
        }
    }
}

/// The conditions that an operation waits for, any of them.
type Waits = Arc<Mutex<SmallVec<[Condition; 2]>>>;

/// A process as a member of a group, with what its operations need.
struct Member {
    group: Group,
    device: UnitDevice,
    placement: Arc<Placement>,
    costs: Costs,
    memory: Arc<Mutex<ProcessMemory>>,
    waits: Waits,
}

impl Member {
    /// Waits until one of these conditions holds.
    async fn until_any(&self, conditions: &[Condition]) {
        std::future::poll_fn(|_| {
            if conditions.iter().any(|condition| condition.holds(&self.device)) {
                return Poll::Ready(());
            }
            *lock(&self.waits) = conditions.iter().copied().collect();
            Poll::Pending
        })
        .await;
    }

    /// Waits until a condition holds.
    async fn until(&self, condition: Condition) {
        self.until_any(&[condition]).await;
    }

    /// Takes a step of software, and goes on when its time has passed.
    async fn spend(&self, step: Step) {
        let thread = self.device.thread();
        thread.spend(self.costs.of(step));
        std::future::poll_fn(|_| if thread.has_pending() { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    /// Runs an operation, and is free for the next one then.
    async fn run(mut self, operation: Collective) -> Self {
        match operation {
            Collective::Barrier => self.barrier().await,
            Collective::Broadcast { root, data } => self.broadcast(root, data).await,
            Collective::Rectangle { root, data } => self.rectangle(root, data).await,
            Collective::Allreduce { source, target, combine } => {
                self.allreduce(source, target, combine).await;
            }
            Collective::Reduce { root, source, target, combine } => {
                self.reduce(root, [source, target], combine).await;
            }
        }
        self
    }
}

/// An operation in progress.
struct Running {
    ticket: Ticket,
    operation: Pin<Box<dyn Future<Output = Member> + Send>>,
}

/// Length of data from which a broadcast takes spanning trees, bytes: the collective network is as fast as
/// one link, but has less latency. On 64 to 512 nodes trees are faster from 24 to 40 KiB on.
pub const RECTANGLE_FROM_B: u64 = 64 << 10;

/// The groups of a context, and their operations, one after the other: packets of two trees that share a node
/// wait for each other in the network's buffers, so nodes must begin their operations in the same order
/// (section II.C of Chen et al.: the logic works for one class route at a time). Programs do where their
/// tasks wait for each operation.
#[derive(Default)]
pub struct Collectives {
    /// By number; none where an operation runs.
    members: Vec<Option<Member>>,
    /// Their nodes, by number.
    nodes: Vec<Rectangle>,
    waiting: VecDeque<(usize, Ticket, Collective)>,
    running: Option<(usize, Running)>,
    waits: Waits,
    /// The process of the node that executes what they have done, until it is resumed.
    carried_by: Option<u8>,
}

impl Collectives {
    /// A group for which the network is set up. Returns its number.
    pub fn add(
        &mut self,
        group: Group,
        device: &UnitDevice,
        placement: &Arc<Placement>,
        costs: &Costs,
        memory: &Arc<Mutex<ProcessMemory>>,
    ) -> usize {
        let (device, placement) = (device.clone(), Arc::clone(placement));
        let (costs, memory, waits) = (costs.clone(), Arc::clone(memory), Arc::clone(&self.waits));
        self.nodes.push(group.rectangle);
        let member = Member { group, device, placement, costs, memory, waits };
        self.members.push(Some(member));
        self.members.len() - 1
    }

    /// Whether there is a group with this number.
    pub fn has(&self, group: usize) -> bool {
        self.members.get(group).is_some_and(Option::is_some)
            || self.running.as_ref().is_some_and(|&(running, _)| running == group)
    }

    /// The nodes of a group.
    pub fn nodes(&self, group: usize) -> Option<Rectangle> {
        self.nodes.get(group).copied()
    }

    /// A group ends, whose class is free again.
    pub fn remove(&mut self, group: usize) {
        if let Some(member) = self.members[group].take() {
            member.group.free(&member.device);
        }
    }

    /// Begins an operation of a group, after all that have begun before.
    pub fn begin(&mut self, group: usize, ticket: Ticket, operation: Collective) {
        self.waiting.push_back((group, ticket, operation));
    }

    /// As [`Self::advance`], of a task that may have several hardware threads. Not while another one executes
    /// what the operations have done so far: descriptors must be injected in their order, and each thread has a
    /// list of its own. That thread is resumed when it is done.
    pub fn advance_of_threads(&mut self, device: &UnitDevice, finished: &mut VecDeque<Ticket>) {
        let own = device.runs_as();
        if self.carried_by.is_none_or(|by| by == own) {
            self.advance(finished);
            let is_carried = self.running.is_some() && device.thread().has_pending();
            self.carried_by = is_carried.then_some(own);
        }
    }

    /// The operations go on as far as possible; those that end are added to a list.
    pub fn advance(&mut self, finished: &mut VecDeque<Ticket>) {
        loop {
            if self.running.is_none()
                && let Some((group, ticket, operation)) = self.waiting.pop_front()
                && let Some(member) = self.members[group].take()
            {
                self.running = Some((group, Running { ticket, operation: Box::pin(member.run(operation)) }));
            }
            let Some((group, running)) = &mut self.running else { return };
            lock(&self.waits).clear();
            let mut context = Context::from_waker(Waker::noop());
            match running.operation.as_mut().poll(&mut context) {
                Poll::Pending => return,
                Poll::Ready(member) => {
                    finished.push_back(running.ticket);
                    self.members[*group] = Some(member);
                    self.running = None;
                }
            }
        }
    }

    /// The conditions under which there is more to do.
    pub fn watches(&self) -> SmallVec<[Watch; 2]> {
        lock(&self.waits).iter().map(|condition| condition.watch()).collect()
    }
}
