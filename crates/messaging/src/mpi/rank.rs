//! A rank as an `async fn`: its calls of MPI.

use super::contexts::hash;
use super::library::Locking;
use super::process::{Lock, Process, Work};
use crate::pami::device::Range;
use netloom_mpi::datatype::PREDEFINED;
use netloom_mpi::matching::{ANY_SOURCE, Envelope, Pattern};
use netloom_mpi::op::Op;
use netloom_mpi::point_to_point::Number;
use netloom_mpi::transport::{Collective, Memory, Process as Task, Step, Team, Transport};
use netloom_node::program::lock;
use netloom_node::time::Microticks;
use std::sync::Arc;

/// Any rank.
pub const ANY: i32 = ANY_SOURCE;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Request(Option<Number>);

/// A rank of `MPI_COMM_WORLD`.
pub struct Rank {
    process: Arc<Process>,
    /// The network's group of all ranks.
    team: Option<Team>,
}

fn memory(range: Range) -> Memory {
    Memory { address: range.address, bytes: range.bytes }
}

/// The matching context of messages in `MPI_COMM_WORLD`, and of collectives.
const WORLD: u32 = 0;
const OF_COLLECTIVES: u32 = 1;

impl Rank {
    /// The rank of a process; `team` is the network's group of all ranks, if there is one.
    pub(super) fn new(process: &Arc<Process>, team: Option<Team>) -> Self {
        Rank { process: Arc::clone(process), team }
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        lock(&self.process.state).mpi.transport().own()
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        lock(&self.process.state).mpi.transport().processes()
    }

    /// The time.
    pub fn now(&self) -> Microticks {
        self.process.core.now()
    }

    /// Records a measurement.
    pub fn measure(&self, key: u64, value: impl Into<u64>) {
        self.process.core.thread().measure(key, value);
    }

    /// Memory of this length.
    pub fn allocate(&self, bytes: u64) -> Range {
        let state = lock(&self.process.state);
        let list = state.mpi.transport().list.borrow();
        Range { address: list[0].device().device().allocate_memory(bytes), bytes }
    }

    /// Stores bytes in its memory (not timed).
    pub fn store(&self, address: u64, bytes: &[u8]) {
        let state = lock(&self.process.state);
        state.mpi.transport().list.borrow()[0].device().device().store(address, bytes);
    }

    /// Bytes of its memory (not timed).
    pub fn load(&self, range: Range) -> Vec<u8> {
        lock(&self.process.state).mpi.transport().load(memory(range))
    }

    /// Computes for this long.
    pub async fn compute(&mut self, time: Microticks) {
        self.process.spend(time).await;
    }

    /// Passes the time of what the rank has done so far.
    pub async fn done(&mut self) {
        self.process.done().await;
    }

    /// `MPI_Isend`.
    pub async fn isend(&mut self, to: u32, tag: i32, data: Range) -> Request {
        self.enter().await;
        let request = self.start_send(to, tag, data).await;
        self.leave().await;
        request
    }

    /// `MPI_Irecv`; the source may be [`ANY`].
    pub async fn irecv(&mut self, from: i32, tag: i32, space: Range) -> Request {
        self.enter().await;
        let request = self.start_receive(from, tag, space).await;
        self.leave().await;
        request
    }

    /// `MPI_Send`.
    pub async fn send(&mut self, to: u32, tag: i32, data: Range) {
        self.enter().await;
        let request = self.start_send(to, tag, data).await;
        if request != Request(None) {
            self.finish(request).await;
        }
        self.leave().await;
    }

    /// `MPI_Recv`.
    pub async fn recv(&mut self, from: i32, tag: i32, space: Range) {
        self.enter().await;
        let request = self.start_receive(from, tag, space).await;
        self.finish(request).await;
        self.leave().await;
    }

    /// `MPI_Waitall`, in two phases (section IV.A): first all handles become request objects, while the
    /// counter of another request, which may be in a line that another core has written, is loaded; then
    /// those that are not completed are polled.
    pub async fn wait_all(&mut self, requests: impl IntoIterator<Item = Request>) {
        self.enter().await;
        let costs = &self.process.costs;
        let step = match self.process.is_advanced_by_others() {
            true => costs.of(Step::Handle).max(costs.atomic),
            false => costs.of(Step::Handle),
        };
        let mut left = vec![];
        for request in requests {
            self.process.spend(step).await;
            match self.has_ended(request) {
                // MPI_Isend makes a request also where it has ended (mpid_isend.h of MPICH's pamid).
                true => self.free(request),
                false => left.push(request),
            }
        }
        for request in left {
            self.finish(request).await;
        }
        self.leave().await;
    }

    /// `MPI_Barrier`, by the network.
    ///
    /// # Panics
    /// If the network has no group of all ranks; so for the others.
    pub async fn barrier(&mut self) {
        self.collective(Collective::Barrier).await;
    }

    /// `MPI_Allreduce` of doubles with `MPI_IN_PLACE`, their sum, by the network.
    pub async fn allreduce(&mut self, data: Range) {
        let of = PREDEFINED.iter().find(|of| of.name == "DOUBLE").expect("a predefined type");
        self.collective(Collective::Reduce { root: None, data: memory(data), op: Op::Sum, of }).await;
    }

    /// `MPI_Bcast`, by the network.
    pub async fn broadcast(&mut self, root: u32, data: Range) {
        self.collective(Collective::Broadcast { root, data: memory(data) }).await;
    }

    /// `MPI_Finalize`: communication threads end.
    pub async fn finalize(mut self) {
        self.done().await;
        self.process.end();
        self.done().await;
    }

    /// A call begins.
    async fn enter(&mut self) {
        if self.has_global_lock() {
            self.process.lock(Lock::Global, 0).await;
        }
    }

    /// A call ends.
    async fn leave(&mut self) {
        if self.has_global_lock() {
            self.process.unlock(Lock::Global).await;
        } else {
            self.process.done().await;
        }
    }

    fn has_global_lock(&self) -> bool {
        self.process.library.locking == Locking::Classic && self.process.library.locks()
    }

    async fn start_send(&mut self, to: Task, tag: i32, data: Range) -> Request {
        let (library, data) = (self.process.library, memory(data));
        let source = self.number() as i32;
        let envelope = Envelope { context: WORLD, source, tag, bytes: data.bytes, acknowledge: 0 };
        let context = hash(to, WORLD, self.process.contexts);
        if library.locking == Locking::ThreadOptimised {
            // The request comes from a pool of the thread: no lock.
            let number = lock(&self.process.state).mpi.hand_over(to, &envelope, data);
            if self.process.is_advanced_by_others() {
                self.process.post(context, Work::Send { number, to, envelope, data }).await;
                return Request(Some(number));
            }
            self.process.spend(self.process.costs.synchronize).await;
            self.lock_context(context).await;
            let sent = lock(&self.process.state).mpi.carry_out(number, to, envelope, data);
            sent.expect("ranks are tasks of the job");
            self.unlock_context(context).await;
            return Request(Some(number));
        }
        if library.has_communication_threads() {
            self.process.lock(Lock::Context(context), 0).await;
        }
        let sent = lock(&self.process.state).mpi.send(to, envelope, data);
        if library.has_communication_threads() {
            self.process.unlock(Lock::Context(context)).await;
        }
        Request(sent.expect("ranks are tasks of the job"))
    }

    async fn start_receive(&mut self, source: i32, tag: i32, space: Range) -> Request {
        let is_optimised = self.process.library.locking == Locking::ThreadOptimised;
        let locks = is_optimised && self.process.library.locks();
        if locks {
            self.process.lock(Lock::ReceiveQueue, 0).await;
        }
        let pattern = Pattern { context: WORLD, source, tag };
        let number = lock(&self.process.state).mpi.receive(pattern, memory(space));
        if locks {
            self.process.unlock(Lock::ReceiveQueue).await;
        } else if is_optimised {
            self.process.spend(self.process.costs.synchronize).await;
        }
        Request(Some(number))
    }

    async fn collective(&mut self, collective: Collective) {
        let team = self.team.expect("the network has a group of all ranks");
        self.enter().await;
        let number = lock(&self.process.state).mpi.hand_over_collective(OF_COLLECTIVES, 0);
        if self.process.is_advanced_by_others() {
            self.process.post(0, Work::Collective { number, team, collective }).await;
        } else {
            self.lock_context(0).await;
            let started = lock(&self.process.state).mpi.carry_out_collective(number, team, &collective);
            assert_eq!(started, Ok(true), "{collective:?} by the network");
            self.unlock_context(0).await;
        }
        // A call that waits itself has no request of the program's.
        self.wait(Request(Some(number))).await;
        lock(&self.process.state).mpi.free(number);
        self.leave().await;
    }

    /// The lock of a context that no communication thread holds.
    async fn lock_context(&mut self, context: usize) {
        if self.process.library.locking == Locking::ThreadOptimised && self.process.library.locks() {
            self.process.lock(Lock::Context(context), 0).await;
        }
    }

    async fn unlock_context(&mut self, context: usize) {
        if self.process.library.locking == Locking::ThreadOptimised && self.process.library.locks() {
            self.process.unlock(Lock::Context(context)).await;
        }
    }

    fn has_ended(&self, Request(number): Request) -> bool {
        let Some(number) = number else { return true };
        let state = lock(&self.process.state);
        state.mpi.test(number).is_some() && !state.completing.contains(&number)
    }

    /// Waits for a request and frees it.
    async fn finish(&mut self, request: Request) {
        self.wait(request).await;
        self.free(request);
    }

    async fn wait(&mut self, request: Request) {
        while !self.has_ended(request) {
            self.process.progress().await;
        }
    }

    fn free(&self, Request(number): Request) {
        let state = lock(&self.process.state);
        state.mpi.transport().spend(Step::Free);
        if let Some(number) = number {
            state.mpi.free(number);
        }
        if self.process.library.locking == Locking::ThreadOptimised {
            // What other threads have written before they completed it must be seen.
            self.process.core.thread().spend(self.process.costs.synchronize);
        }
    }
}
