//! A guest's side: what its contexts did, what has arrived for them, and the time.

use super::{Arrived, ContextNumber, Facts, Reply, Request, Requests, Then};
use crate::pami::device::{Range, Step, Ticket};
use crate::pami::message_unit::memory::Mapping;
use std::collections::{BTreeMap, VecDeque};

/// The way to the simulator.
pub trait Link {
    /// Hands over to the simulator and waits until the guest may go on.
    fn exchange(&mut self, requests: &Requests) -> Reply;

    /// Hands over for the last time.
    fn leave(&mut self, requests: &Requests);

    /// The time that the program has computed since the last exchange, ns.
    fn computed_ns(&mut self) -> f64;
}

/// Bytes of packets after which they are handed over.
const BATCH_B: usize = 1 << 16;

/// What a context knows.
#[derive(Debug, Default)]
struct Context {
    inbox: VecDeque<Arrived>,
    room: u64,
}

/// The state of a guest that its contexts share.
pub struct Hub<L> {
    link: L,
    facts: Facts,
    list: Vec<Request>,
    batch_bytes: usize,
    contexts: BTreeMap<ContextNumber, Context>,
    now_ns: f64,
    next_ticket: Ticket,
    /// Memory that others reach.
    exposed: Vec<Mapping>,
    /// Whether the list has more than steps, so that its duration is known to the simulator only.
    has_operations: bool,
    /// Whether no context has the group of all tasks.
    has_world_group: bool,
}

impl<L: Link> Hub<L> {
    /// A guest that starts: it waits until its node does.
    ///
    /// # Panics
    /// If the simulator does not tell it its job.
    pub fn new(mut link: L) -> Self {
        let reply = link.exchange(&Requests { list: vec![], then: Then::Go });
        let facts = reply.facts.expect("the first reply has the job");
        Hub {
            link,
            has_world_group: facts.has_world_group,
            facts,
            list: vec![],
            batch_bytes: 0,
            contexts: BTreeMap::new(),
            now_ns: reply.now_ns,
            next_ticket: 0,
            exposed: vec![],
            has_operations: false,
        }
    }

    /// Its job.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Creates a context. Returns whether its first group is that of all tasks.
    pub fn open(&mut self, context: ContextNumber) -> bool {
        self.contexts.insert(context, Context::default());
        self.list.push(Request::Open(context));
        self.exchange(Then::Go);
        context == 0 && std::mem::take(&mut self.has_world_group)
    }

    /// Destroys a context; what has arrived for it is lost.
    pub fn close(&mut self, context: ContextNumber) {
        self.contexts.remove(&context);
        self.list.push(Request::Close(context));
        self.exchange(Then::Go);
    }

    /// The library takes a step.
    pub fn spend(&mut self, step: Step) {
        self.list.push(Request::Spend(step));
        if step == Step::Clock {
            self.now_ns += self.facts.clock_ns;
        } else {
            self.has_operations = true;
        }
    }

    /// The time, ns.
    pub fn now_ns(&mut self) -> f64 {
        if self.has_operations || self.list.len() > 1000 || self.facts.compute_scale > 0.0 {
            self.exchange(Then::Go);
        }
        self.spend(Step::Clock);
        self.now_ns
    }

    /// Packets or other descriptors that a context may send now. If it may not, they must wait; a wait ends when it may.
    pub fn room(&mut self, context: ContextNumber) -> u64 {
        if self.batch_bytes >= BATCH_B {
            self.exchange(Then::Go);
        }
        self.contexts.get(&context).map_or(0, |c| c.room)
    }

    /// Sends a packet, or begins another operation of a context, which has room for this number of descriptors.
    pub fn submit(&mut self, context: ContextNumber, descriptors: u64, request: Request) {
        if let Some(context) = self.contexts.get_mut(&context) {
            context.room = context.room.saturating_sub(descriptors);
        }
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
        self.next_ticket += 1;
        self.next_ticket
    }

    /// The address by which other tasks reach memory.
    pub fn expose(&mut self, memory: Range) -> u64 {
        if let Some(known) = self.exposed.iter().find_map(|mapping| mapping.physical(memory)) {
            return known;
        }
        let mapping = self.exchange(Then::Expose(memory.address, memory.bytes)).exposed;
        self.exposed.push(mapping);
        mapping.physical(memory).expect("it was asked for")
    }

    /// The reverse.
    pub fn own_address(&self, exposed: u64) -> Option<u64> {
        self.exposed.iter().find_map(|mapping| mapping.own(exposed))
    }

    /// The classes that a context may take for a group of tasks.
    pub fn classes(&mut self, context: ContextNumber, tasks: &[(u32, u32)]) -> u64 {
        self.exchange(Then::Classes(context, tasks.to_vec())).classes
    }

    /// What has arrived for a context.
    pub fn take(&mut self, context: ContextNumber) -> Option<Arrived> {
        self.contexts.get_mut(&context)?.inbox.pop_front()
    }

    /// Waits until something arrives, for at most this number of polls.
    pub fn wait(&mut self, polls: u64) {
        if self.contexts.values().all(|context| context.inbox.is_empty()) {
            self.exchange(Then::Wait(polls));
        }
    }

    /// The guest ends.
    pub fn leave(&mut self) {
        let requests = self.requests(Then::End);
        self.link.leave(&requests);
    }

    fn requests(&mut self, then: Then) -> Requests {
        let mut list = std::mem::take(&mut self.list);
        if self.facts.compute_scale > 0.0 {
            let computed_ns = self.link.computed_ns() * self.facts.compute_scale;
            list.insert(0, Request::Compute(computed_ns));
        }
        self.batch_bytes = 0;
        self.has_operations = false;
        Requests { list, then }
    }

    fn exchange(&mut self, then: Then) -> Reply {
        let requests = self.requests(then);
        let mut reply = self.link.exchange(&requests);
        self.now_ns = reply.now_ns;
        for (context, arrived) in reply.arrivals.drain(..) {
            if let Some(context) = self.contexts.get_mut(&context) {
                context.inbox.push_back(arrived);
            }
        }
        for (context, room) in reply.room.drain(..) {
            if let Some(context) = self.contexts.get_mut(&context) {
                context.room = room;
            }
        }
        reply
    }
}
