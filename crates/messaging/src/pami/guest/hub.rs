//! A guest's side: what its threads did, what has arrived for its contexts, and the time.

use super::profile::Mark;
use super::{Arrived, ContextNumber, Contexts, Facts, Reply, Report, Request, Requests, Then, ThreadNumber};
use crate::pami::device::{Range, Step, Ticket};
use crate::pami::message_unit::memory::Mapping;
use netloom_node::program::lock;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// A thread's way to the simulator.
pub trait Link {
    /// Hands over for the first time, and waits until the thread begins on its node. Allocates no memory
    /// before.
    fn begin(&mut self) -> Reply;

    /// Hands over to the simulator and waits until the thread may go on.
    fn exchange(&mut self, requests: &Requests) -> Reply;

    /// Hands over for the last time.
    fn leave(&mut self, requests: &Requests);

    /// What the guest waits for.
    fn report(&self) -> Report;

    /// The thread begins to compute.
    fn starts_computing(&mut self);

    /// The time that it has computed since, ns.
    fn computed_ns(&mut self) -> f64;
}

/// The longest sleep that is handed over at once, ns: longer ones are several.
const SLEEP_MAX_NS: f64 = 4e11;
/// Bytes of packets after which they are handed over.
const BATCH_B: usize = 1 << 16;
/// Requests that take little time after which they are handed over.
const BATCH: usize = 1000;
/// The same before a call that synchronises threads.
const BATCH_OF_CALLS: usize = 100;
/// Marks of a profile after which they are handed over.
const BATCH_OF_MARKS: usize = 10_000;
/// Most polls that a thread that gives way takes.
const POLLS_MAX: usize = 64;
/// Times in a row that it gives way after which it is asked less and less often, as one that polls in vain.
const GIVEN_WAY_LONG: u32 = 2000;

/// What is known of a context.
#[derive(Debug, Default)]
struct Context {
    inbox: VecDeque<Arrived>,
    room: u64,
    /// Descriptors in lists that have not been handed over.
    pending: u64,
}

/// What the threads of a guest share.
pub struct Shared {
    facts: Facts,
    /// Threads that have begun and not ended.
    threads: AtomicU32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    contexts: BTreeMap<ContextNumber, Context>,
    /// Memory that others reach.
    exposed: Vec<Mapping>,
    next_ticket: Ticket,
    /// Whether no context has the group of all tasks.
    has_world_group: bool,
    /// Threads that poll in the simulator, and what.
    polling: Vec<(ThreadNumber, Contexts)>,
}

/// The state of a thread of a guest.
pub struct Hub<L> {
    link: L,
    number: ThreadNumber,
    shared: Arc<Shared>,
    list: Vec<Request>,
    batch_bytes: usize,
    /// Descriptors in the list.
    descriptors: BTreeMap<ContextNumber, u64>,
    now_ns: f64,
    /// Whether the list has more than steps, so that its duration is known to the simulator only.
    has_operations: bool,
    /// Times in a row that it gave way and did nothing else.
    given_way: u32,
    /// Marks in the list.
    marks: usize,
    /// Names of calls that the simulator knows, by their addresses.
    names: BTreeMap<usize, u32>,
}

impl<L: Link> Hub<L> {
    /// The first thread of a guest: it waits until its node does.
    ///
    /// # Panics
    /// If the simulator does not tell it its job.
    pub fn new(mut link: L) -> Self {
        let reply = link.begin();
        let facts = reply.facts.clone().expect("the first reply has the job");
        let state = State { has_world_group: facts.has_world_group, ..State::default() };
        let shared = Shared { facts, threads: AtomicU32::new(0), state: Mutex::new(state) };
        let mut hub = Self::thread(&Arc::new(shared), link, 0);
        hub.take_reply(reply);
        hub
    }

    /// Another thread, which is about to begin.
    pub fn thread(shared: &Arc<Shared>, link: L, number: ThreadNumber) -> Self {
        shared.threads.fetch_add(1, Ordering::Relaxed);
        Hub {
            link,
            number,
            shared: Arc::clone(shared),
            list: vec![],
            batch_bytes: 0,
            descriptors: BTreeMap::new(),
            now_ns: 0.0,
            has_operations: false,
            given_way: 0,
            marks: 0,
            names: BTreeMap::new(),
        }
    }

    /// Waits until the thread begins on its node.
    pub fn begin(&mut self) {
        let reply = self.link.begin();
        self.take_reply(reply);
    }

    /// It does not begin after all.
    pub fn discard(&mut self) {
        self.shared.threads.fetch_sub(1, Ordering::Relaxed);
    }

    /// Its number.
    pub fn number(&self) -> ThreadNumber {
        self.number
    }

    /// What its threads share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Its job.
    pub fn facts(&self) -> &Facts {
        &self.shared.facts
    }

    /// Creates a context. Returns whether its first group is that of all tasks.
    pub fn open(&mut self, context: ContextNumber) -> bool {
        lock(&self.shared.state).contexts.insert(context, Context::default());
        self.list.push(Request::Open(context));
        self.exchange(Then::Go);
        context == 0 && std::mem::take(&mut lock(&self.shared.state).has_world_group)
    }

    /// Destroys a context; what has arrived for it is lost.
    pub fn close(&mut self, context: ContextNumber) {
        lock(&self.shared.state).contexts.remove(&context);
        self.list.push(Request::Close(context));
        self.exchange(Then::Go);
    }

    /// The library takes a step.
    pub fn spend(&mut self, step: Step) {
        self.list.push(Request::Spend(step));
        if step == Step::Clock {
            self.now_ns += self.facts().clock_ns;
        } else {
            self.has_operations = true;
        }
    }

    /// The library does something without other tasks.
    pub fn acts(&mut self) {
        if self.list.last() != Some(&Request::Acts) {
            self.list.push(Request::Acts);
        }
    }

    /// The program computes for this long, ns.
    pub fn compute(&mut self, ns: f64) {
        self.list.push(Request::Compute(ns));
        self.has_operations = true;
    }

    /// The program makes a call of this name; `is_first` is the one that has started the library.
    pub fn call_begins(&mut self, name: &'static str, is_first: bool) {
        let (address, next) = (name.as_ptr() as usize, self.names.len() as u32);
        let number = *self.names.entry(address).or_insert(next);
        if number == next {
            self.mark(Mark::Name(name.into()));
        }
        self.mark(if is_first { Mark::BeginFirst(number) } else { Mark::Begin(number) });
    }

    /// The call ends. Of calls in a row that did nothing one mark is kept.
    pub fn call_ends(&mut self) {
        let Some(Request::Mark(Mark::Begin(number))) = self.list.last() else { return self.mark(Mark::End) };
        let number = *number;
        self.list.pop();
        self.marks -= 1;
        match self.list.last_mut() {
            Some(Request::Mark(Mark::Brief(before, count))) if *before == number => *count += 1,
            _ => self.mark(Mark::Brief(number, 1)),
        }
    }

    /// The program is at a point that a profile records.
    pub fn mark(&mut self, mark: Mark) {
        if self.facts().compute_scale > 0.0 {
            let computed_ns = self.link.computed_ns() * self.facts().compute_scale;
            self.link.starts_computing();
            self.compute(computed_ns);
        } else if self.marks >= BATCH_OF_MARKS {
            self.exchange(Then::Go);
        }
        self.list.push(Request::Mark(mark));
        self.marks += 1;
    }

    /// The time, ns.
    pub fn now_ns(&mut self) -> f64 {
        if self.has_operations || self.list.len() - self.marks > BATCH || self.facts().compute_scale > 0.0 {
            self.exchange(Then::Go);
        }
        self.spend(Step::Clock);
        self.now_ns
    }

    /// Packets or other descriptors that a context may send now. If it may not, they must wait; a wait ends
    /// when it may.
    pub fn room(&mut self, context: ContextNumber) -> u64 {
        if self.batch_bytes >= BATCH_B {
            self.exchange(Then::Go);
        }
        lock(&self.shared.state).contexts.get(&context).map_or(0, |c| c.room)
    }

    /// Sends a packet, or begins another operation of a context, which has room for this number of
    /// descriptors.
    pub fn submit(&mut self, context: ContextNumber, descriptors: u64, request: Request) {
        if let Some(context) = lock(&self.shared.state).contexts.get_mut(&context) {
            context.room = context.room.saturating_sub(descriptors);
            context.pending += descriptors;
        }
        *self.descriptors.entry(context).or_insert(0) += descriptors;
        self.batch_bytes += match &request {
            Request::Inject { bytes, .. } => bytes.len() + 32,
            Request::Transfer { pieces, .. } => 24 * pieces.len() + 32,
            _ => 0,
        };
        self.has_operations = true;
        self.list.push(request);
    }

    /// A number for an operation.
    pub fn ticket(&mut self) -> Ticket {
        let mut state = lock(&self.shared.state);
        state.next_ticket += 1;
        state.next_ticket
    }

    /// The address by which other tasks reach memory.
    pub fn expose(&mut self, memory: Range) -> u64 {
        let known = |mapping: &Mapping| mapping.physical(memory);
        if let Some(known) = lock(&self.shared.state).exposed.iter().find_map(known) {
            return known;
        }
        let mapping = self.exchange(Then::Expose(memory.address, memory.bytes)).exposed;
        lock(&self.shared.state).exposed.push(mapping);
        mapping.physical(memory).expect("it was asked for")
    }

    /// The reverse.
    pub fn own_address(&self, exposed: u64) -> Option<u64> {
        lock(&self.shared.state).exposed.iter().find_map(|mapping| mapping.own(exposed))
    }

    /// The classes that a context may take for a group of tasks.
    pub fn classes(&mut self, context: ContextNumber, tasks: &[(u32, u32)]) -> u64 {
        self.exchange(Then::Classes(context, tasks.to_vec())).classes
    }

    /// What has arrived for a context.
    pub fn take(&mut self, context: ContextNumber) -> Option<Arrived> {
        lock(&self.shared.state).contexts.get_mut(&context)?.inbox.pop_front()
    }

    /// Waits until something arrives at any of these contexts, for at most this number of polls.
    pub fn wait(&mut self, contexts: Contexts, polls: u64) {
        self.await_arrival(contexts, Then::Wait(contexts, polls));
    }

    /// Sleeps until something arrives at any of these contexts, or another thread rings for one.
    pub fn sleep_until_woken(&mut self, contexts: Contexts) {
        self.await_arrival(contexts, Then::WakeUp(contexts));
    }

    /// Sleeps until another thread rings for any of these contexts, for at most this time, ns: their lock is
    /// taken, and what arrives is of no use before it is released.
    pub fn sleep_until_rung(&mut self, contexts: Contexts, at_most_ns: f64) {
        lock(&self.shared.state).polling.push((self.number, contexts));
        self.exchange(Then::Block(Some(at_most_ns)));
        self.stop_polling();
    }

    /// Whether something has arrived for a context.
    pub fn has_arrived(&self, context: ContextNumber) -> bool {
        lock(&self.shared.state).contexts.get(&context).is_some_and(|found| !found.inbox.is_empty())
    }

    fn stop_polling(&self) {
        lock(&self.shared.state).polling.retain(|&(thread, _)| thread != self.number);
    }

    fn await_arrival(&mut self, contexts: Contexts, then: Then) {
        let number = self.number;
        {
            let mut state = lock(&self.shared.state);
            if state.contexts.iter().any(|(&number, c)| contexts.has(number) && !c.inbox.is_empty()) {
                return;
            }
            state.polling.push((number, contexts));
        }
        self.exchange(then);
        self.stop_polling();
    }

    /// Threads of the guest, and this one.
    pub fn threads(&self) -> u32 {
        self.shared.threads.load(Ordering::Relaxed)
    }

    /// Call it before what other threads of the guest see: what this one did until now has then taken its
    /// time. `is_call` is a call that takes time itself.
    pub fn settle(&mut self, is_call: bool) {
        if self.threads() < 2 {
            return;
        }
        if is_call {
            self.list.push(Request::Spend(Step::Poll));
        }
        let takes_time = self.has_operations || self.facts().compute_scale > 0.0;
        if takes_time || self.list.len() - self.marks > BATCH_OF_CALLS {
            self.exchange(Then::Go);
        }
    }

    /// Lets other threads run: it polls something that they change.
    pub fn give_way(&mut self) {
        self.given_way = if self.has_operations { 0 } else { self.given_way + 1 };
        let polls = POLLS_MAX.min(1 << self.given_way.min(16));
        self.list.extend(std::iter::repeat_n(Request::Spend(Step::Poll), polls));
        let given_way = self.given_way;
        let is_long = given_way > GIVEN_WAY_LONG;
        self.exchange(if is_long { Then::Wait(Contexts::default(), 1) } else { Then::Go });
        self.given_way = given_way;
    }

    /// The time at the last exchange, ns.
    pub fn last_ns(&self) -> f64 {
        self.now_ns
    }

    /// Another thread begins.
    pub fn start(&mut self, thread: ThreadNumber) {
        self.list.push(Request::Start(thread));
        self.exchange(Then::Go);
    }

    /// Threads that are blocked, or about to be, go on.
    pub fn unpark(&mut self, threads: &[ThreadNumber]) {
        // At once: this thread may look next at what the others do, without a call.
        if !threads.is_empty() {
            self.list.extend(threads.iter().map(|&thread| Request::Unpark(thread)));
            self.exchange(Then::Go);
        }
    }

    /// Work was posted to a context: threads that poll it go on.
    pub fn posted(&mut self, context: ContextNumber) {
        let polling =
            |&(thread, contexts): &(ThreadNumber, Contexts)| contexts.has(context).then_some(thread);
        let threads: Vec<ThreadNumber> =
            lock(&self.shared.state).polling.iter().filter_map(polling).collect();
        self.unpark(&threads);
    }

    /// Waits until another thread unparks this one, for at most this time, ns.
    pub fn block(&mut self, at_most_ns: Option<f64>) {
        self.exchange(Then::Block(at_most_ns));
    }

    /// Waits for a time, ns.
    pub fn sleep(&mut self, ns: f64) {
        let mut left_ns = ns;
        while left_ns > SLEEP_MAX_NS {
            self.exchange(Then::Sleep(SLEEP_MAX_NS));
            left_ns -= SLEEP_MAX_NS;
        }
        self.exchange(Then::Sleep(left_ns));
    }

    /// The thread ends, for which these wait.
    pub fn end_thread(&mut self, awaited_by: &[ThreadNumber]) {
        self.shared.threads.fetch_sub(1, Ordering::Relaxed);
        self.list.extend(awaited_by.iter().map(|&thread| Request::Unpark(thread)));
        let requests = self.requests(Then::EndThread);
        self.link.leave(&requests);
    }

    /// The guest ends.
    pub fn leave(&mut self) {
        let requests = self.requests(Then::End);
        self.link.leave(&requests);
    }

    fn requests(&mut self, then: Then) -> Requests {
        let mut list = std::mem::take(&mut self.list);
        if self.facts().compute_scale > 0.0 {
            let computed_ns = self.link.computed_ns() * self.facts().compute_scale;
            list.insert(0, Request::Compute(computed_ns));
        }
        if !self.descriptors.is_empty() {
            let mut state = lock(&self.shared.state);
            for (context, count) in std::mem::take(&mut self.descriptors) {
                if let Some(context) = state.contexts.get_mut(&context) {
                    context.pending = context.pending.saturating_sub(count);
                }
            }
        }
        self.batch_bytes = 0;
        self.has_operations = false;
        self.marks = 0;
        self.given_way = 0;
        Requests { list, then }
    }

    fn exchange(&mut self, then: Then) -> Reply {
        let requests = self.requests(then);
        let mut reply = self.link.exchange(&requests);
        while reply.wants_report {
            let list = vec![Request::Report(self.link.report())];
            reply = self.link.exchange(&Requests { list, then: requests.then.clone() });
        }
        self.take_reply(reply)
    }

    /// Notes what a reply tells; returns the rest of it.
    fn take_reply(&mut self, mut reply: Reply) -> Reply {
        // A system call for nothing where computing does not count.
        if self.facts().compute_scale > 0.0 {
            self.link.starts_computing();
        }
        self.now_ns = reply.now_ns;
        let mut state = lock(&self.shared.state);
        for (context, arrived) in reply.arrivals.drain(..) {
            if let Some(context) = state.contexts.get_mut(&context) {
                context.inbox.push_back(arrived);
            }
        }
        for (context, room) in reply.room.drain(..) {
            if let Some(context) = state.contexts.get_mut(&context) {
                context.room = room.saturating_sub(context.pending);
            }
        }
        reply
    }
}
