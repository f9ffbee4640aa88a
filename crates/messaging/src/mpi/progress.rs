//! Progress of a rank: what has happened at its contexts becomes messages and completed requests.

use super::contexts::MESSAGE;
use super::library::Locking;
use super::process::{Lock, Process};
use crate::pami::context::{Event, Message, Outcome, Receive};
use crate::pami::device::PamiDevice;
use netloom_mpi::matching::Envelope;
use netloom_mpi::point_to_point::{Number, Place};
use netloom_mpi::transport::{Memory, Outcome as Collected};
use netloom_node::process::Resumed;
use netloom_node::program::lock;

impl Process {
    /// A hardware thread advances contexts until nothing is left to do at once; returns whether there was
    /// anything.
    pub(super) async fn advance(&self, thread: usize, contexts: impl Iterator<Item = usize> + Clone) -> bool {
        let mut has_progress = false;
        let found = lock(&self.state).found[thread].take();
        if let Some(context) = found {
            let state = lock(&self.state);
            let mut list = state.mpi.transport().list.borrow_mut();
            list[context].device_mut().run_as(self.hardware_thread(thread));
            list[context].device_mut().take();
        }
        let mut is_collected = false;
        loop {
            let event = {
                let state = lock(&self.state);
                let mut list = state.mpi.transport().list.borrow_mut();
                contexts.clone().find_map(|at| list[at].poll().map(|event| (at, event)))
            };
            match event {
                Some((context, event)) => {
                    (has_progress, is_collected) = (true, false);
                    self.handle(thread, context, event).await;
                }
                // A packet may have been taken while a message was handled.
                None if !is_collected || self.core.thread().has_pending() => {
                    self.done().await;
                    self.collect(thread, contexts.clone());
                    is_collected = true;
                }
                None => return has_progress,
            }
        }
    }

    /// A hardware thread sees what has happened at contexts.
    pub(super) fn collect(&self, thread: usize, contexts: impl Iterator<Item = usize>) {
        let state = lock(&self.state);
        let mut list = state.mpi.transport().list.borrow_mut();
        for at in contexts {
            let device = list[at].device_mut();
            device.run_as(self.hardware_thread(thread));
            device.collect();
        }
    }

    async fn handle(&self, thread: usize, context: usize, event: Event<()>) {
        match event {
            Event::Message(message) => self.message(thread, context, message).await,
            Event::Sent(number, outcome) => {
                lock(&self.state).mpi.sent(number, outcome != Outcome::Done);
                self.completed();
            }
            Event::Received(number, outcome) => self.received(number, outcome),
            Event::Collected(number) => {
                lock(&self.state).mpi.collected(number, Collected::Done);
                self.completed();
            }
            Event::Progress | Event::Completed(..) | Event::Fetched(..) | Event::Rmw { .. } => {}
        }
    }

    /// The dispatch function: a message is matched.
    async fn message(&self, thread: usize, context: usize, message: Message<()>) {
        let is_optimised = self.library.locking == Locking::ThreadOptimised;
        let locks = is_optimised && self.library.locks();
        if locks {
            self.lock(Lock::ReceiveQueue, thread).await;
        }
        let ended = self.match_message(context, message);
        lock(&self.state).completing.extend(ended);
        if locks {
            self.unlock(Lock::ReceiveQueue).await;
        }
        if is_optimised {
            // The request must be seen as it is before it is seen as completed.
            self.spend(self.costs.synchronize).await;
        }
        self.publish(ended).await;
    }

    /// Others see a request as completed when what completes it has taken its time.
    pub(super) async fn publish(&self, ended: Option<Number>) {
        self.done().await;
        lock(&self.state).completing.retain(|&number| Some(number) != ended);
        self.completed();
    }

    /// Returns the receive that the message ends.
    fn match_message(&self, context: usize, message: Message<()>) -> Option<Number> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let transport = state.mpi.transport();
        let (envelope, data) = {
            let list = transport.list.borrow();
            let bytes = &list[context].device().bytes(())[message.header_from..];
            let (header, data) = bytes.split_at(message.header_bytes);
            let data = if message.is_whole { data[..message.data_bytes as usize].to_vec() } else { vec![] };
            (Envelope::of_bytes(header).filter(|_| message.dispatch == MESSAGE), data)
        };
        let envelope = envelope.expect("ranks send messages of MPI only");
        let from = message.origin.task();
        if message.is_whole {
            let ended = state.mpi.arrived(from, envelope, &data);
            transport.list.borrow_mut()[context].consumed();
            return ended;
        }
        let Place { mut address, number, is_buffer } = state.mpi.announced(from, envelope);
        let mut list = transport.list.borrow_mut();
        if is_buffer {
            let bytes = message.data_bytes;
            address = list[context].device().device().allocate_memory(bytes);
            state.buffers.insert(number, Memory { address, bytes });
        }
        list[context].accept(Receive { address, cookie: number });
        None
    }

    fn received(&self, number: u64, outcome: Outcome) {
        let mut state = lock(&self.state);
        if let Some(buffer) = state.buffers.remove(&number) {
            let bytes = state.mpi.transport().load(buffer);
            state.mpi.fill(number, &bytes);
        }
        state.mpi.received(number, outcome != Outcome::Done);
        drop(state);
        self.completed();
    }

    /// A request may have been completed: a thread that waits for it looks again.
    pub(super) fn completed(&self) {
        if let Some(waiting) = lock(&self.state).waiting {
            self.core.thread().unpark(waiting);
        }
    }

    /// The program's thread waits: it makes progress, or others do. It may return without any.
    pub(super) async fn progress(&self) {
        if self.is_advanced_by_others() {
            lock(&self.state).waiting = Some(self.hardware_thread(0));
            self.core.thread().park(netloom_node::process::Wait::for_any([]));
            self.done().await;
            lock(&self.state).waiting = None;
            // The counter of the request is in a line that another core has written.
            return self.spend(self.costs.atomic).await;
        }
        // A classic library takes the context's lock only if a communication thread may have it.
        let locks_context = match self.library.locking {
            Locking::Classic => self.library.has_communication_threads(),
            Locking::ThreadOptimised => self.library.locks(),
        };
        if locks_context {
            self.lock(Lock::Context(0), 0).await;
        }
        if !self.advance(0, 0..1).await {
            self.wait_for_event().await;
            self.advance(0, 0..1).await;
        }
        if locks_context {
            self.unlock(Lock::Context(0)).await;
        }
        if self.library.locking == Locking::Classic && self.library.locks() {
            self.unlock(Lock::Global).await;
            self.lock(Lock::Global, 0).await;
        }
    }

    /// Polls the context once if others may want a lock, else until there is something.
    async fn wait_for_event(&self) {
        let at_most = self.library.locks().then_some(self.costs.poll);
        {
            let state = lock(&self.state);
            state.mpi.transport().list.borrow_mut()[0].device_mut().wait(at_most);
        }
        let why = self.done().await;
        if why == Resumed::Found(0) {
            lock(&self.state).found[0] = Some(0);
        }
        self.collect(0, 0..1);
    }
}
