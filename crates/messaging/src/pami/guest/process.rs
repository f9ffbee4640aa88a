//! The simulator's side of a guest: a process of a node that does what the guest asks for, and lets it go on when
//! that is done.

use super::{Arrived, ContextNumber, Facts, Reply, Request, Requests, Then};
use crate::device::Simulated;
use crate::pami::Endpoint;
use crate::pami::device::{Arrival, Begun, PamiDevice, Piece, Range, Step as Software, Ticket};
use crate::pami::message_unit::collective::group::{Group, Members};
use crate::pami::message_unit::memory::{Open, ProcessMemory};
use crate::pami::message_unit::{Costs, Placement, UnitContext};
use crate::pami::packet::Head;
use crate::spi::Spi;
use crate::spi::device::UnitDevice;
use netloom_fabric::collective::CLASS_ROUTES;
use netloom_nic::message_unit::commands::{Command, Watch};
use netloom_node::process::{Failure, Operations, Process, Resumed, Step, Wait};
use netloom_node::program::lock;
use netloom_node::time::Microticks;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The way to a guest.
pub trait Guest: Send {
    /// Waits for what the guest does first.
    ///
    /// # Errors
    /// Why it does nothing any more.
    fn begin(&mut self) -> Result<Requests, Failure>;

    /// Lets the guest go on, and waits for what it does next.
    ///
    /// # Errors
    /// Why it does nothing any more.
    fn exchange(&mut self, reply: &Reply) -> Result<Requests, Failure>;

    /// Why memory of the guest could not be accessed, if it could not.
    fn fault(&self) -> Option<String>;
}

/// What all guests of a run share.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where tasks run.
    pub placement: Arc<Placement>,
    /// How long the library's steps take.
    pub costs: Costs,
    /// What guests are told; the numbers of contexts are set here.
    pub facts: Facts,
    /// Where all tasks are, if they can be a group.
    pub world: Option<Members>,
    /// Ticks of a nanosecond.
    pub ticks_per_ns: f64,
    /// The simulated time after which a guest that polls in vain waits for ever.
    pub patience: Microticks,
}

/// The class of the group of all tasks.
const WORLD_CLASS: u8 = 0;
/// Bytes of packets in a reply.
const REPLY_B: usize = 1 << 17;
/// The longest wait of a guest that polls in vain, before it may look at something else; and of one that reads the
/// clock between its polls.
const LONGEST_NS: f64 = 1e6;
const LONGEST_WITH_CLOCK_NS: f64 = 2e4;

/// A guest's process.
pub struct GuestProcess<G> {
    guest: G,
    settings: Settings,
    device: UnitDevice,
    memory: Arc<Mutex<ProcessMemory>>,
    task: u32,
    contexts: Vec<(ContextNumber, UnitContext)>,
    /// The guest's numbers of operations, by those of the device.
    tickets: HashMap<(ContextNumber, Ticket), Ticket>,
    /// Operations of the guest that ended at once, of which it has not heard.
    ended: Vec<(ContextNumber, Ticket)>,
    /// The group of all tasks, until a context takes it.
    world: Option<Group>,
    then: Then,
    /// Whether it waits, for which contexts' packets, by the place of the condition.
    is_waiting: bool,
    watched: Vec<ContextNumber>,
    /// Waits in a row that ended with nothing, while it sent nothing either, and their length in all.
    in_vain: u32,
    waited: Microticks,
    /// The begin of the last.
    began: Microticks,
    reads_clock: bool,
    is_started: bool,
}

impl<G: Guest> GuestProcess<G> {
    /// The process of a task; `open` gives access to the guest's memory.
    ///
    /// # Panics
    /// If the process has no task.
    pub fn new(spi: &Spi, guest: G, settings: Settings, open: Open) -> Self {
        let device = spi.device().clone();
        let task = settings.placement.task(device.node(), device.process()).expect("a task of this process");
        let memory = Arc::new(Mutex::new(ProcessMemory::new(device.clone(), Some(open))));
        GuestProcess {
            guest,
            settings,
            device,
            memory,
            task,
            contexts: vec![],
            tickets: HashMap::new(),
            ended: vec![],
            world: None,
            then: Then::Go,
            is_waiting: false,
            watched: vec![],
            in_vain: 0,
            waited: Microticks::ZERO,
            began: Microticks::ZERO,
            reads_clock: false,
            is_started: false,
        }
    }

    fn context(&mut self, number: ContextNumber) -> Result<&mut UnitContext, Failure> {
        let found = self.contexts.iter_mut().find(|(n, _)| *n == number);
        found.map(|(_, context)| context).ok_or_else(|| invalid(format!("there is no context {number}")))
    }

    /// Does what the guest asked for.
    fn execute(&mut self, request: Request) -> Result<(), Failure> {
        use Request::{Collective, Data, Flush, Inject, Transfer};
        if matches!(request, Inject { .. } | Data { .. } | Transfer { .. } | Flush { .. } | Collective { .. })
        {
            self.moves();
        }
        match request {
            Request::Open(number) => {
                let endpoint =
                    Endpoint::new(self.task, number).ok_or_else(|| invalid("too many contexts"))?;
                let (device, costs) = (self.device.clone(), self.settings.costs.clone());
                let mut context =
                    UnitContext::new(device, &self.settings.placement, &self.memory, costs, endpoint);
                if number == 0
                    && let Some(world) = self.world.take()
                {
                    context.adopt(world);
                }
                self.contexts.push((number, context));
            }
            Request::Close(number) => self.contexts.retain(|(n, _)| *n != number),
            Request::Spend(step) => {
                self.reads_clock |= step == Software::Clock;
                self.device.thread().spend(self.settings.costs.of(step));
            }
            Request::Compute(ns) => self.device.thread().spend(self.time(ns)),
            Request::Inject { from, to, head, bytes } => {
                let head = Head::of_word(head).ok_or_else(|| invalid("an invalid head"))?;
                let (context, to) = (self.context(from)?, Endpoint(to));
                if context.inject(to, head, [&bytes, &[]]).is_err() {
                    if !context.is_local(to) {
                        return Err(invalid("a packet without space"));
                    }
                    context.overflow(to, head, bytes);
                }
            }
            Request::Data { from, to, head, data, ticket } => {
                let head = Head::of_word(head).ok_or_else(|| invalid("an invalid head"))?;
                let data = Range { address: data.0, bytes: data.1 };
                let begun = self.context(from)?.inject_data(Endpoint(to), head, data);
                let (_, begun) = begun.map_err(|_| invalid("data without space"))?;
                self.note(from, begun, ticket);
            }
            Request::Transfer { from, way, with, pieces, ticket } => {
                let of = |(address, bytes, remote)| (Range { address, bytes }, remote);
                let pieces: Vec<Piece> = pieces.into_iter().map(of).collect();
                let begun = self.context(from)?.transfer_pieces(way, Endpoint(with), &pieces);
                match begun {
                    Ok((count, begun)) if count == pieces.len() => self.note(from, begun, ticket),
                    _ => return Err(invalid("a transfer without space")),
                }
            }
            Request::Flush { from, with, ticket } => {
                let begun = self.context(from)?.flush(Endpoint(with));
                self.note(from, begun.map_err(|_| invalid("a flush without space"))?, ticket);
            }
            Request::Join { by, tasks, class, group } => {
                if usize::from(class) >= CLASS_ROUTES || self.context(by)?.members(&tasks).is_none() {
                    return Err(invalid(format!("class {class} for tasks {tasks:?}")));
                }
                if self.context(by)?.join(&tasks, class) != group {
                    return Err(invalid(format!("a group with number {group}")));
                }
            }
            Request::Leave { by, group } => self.context(by)?.leave(group),
            Collective { by, group, operation, ticket } => {
                let own = self.context(by)?.collective(group, operation);
                self.note(by, Begun::Later(own), ticket);
            }
        }
        Ok(())
    }

    /// It does not wait in vain any more.
    fn moves(&mut self) {
        (self.in_vain, self.waited) = (0, Microticks::ZERO);
    }

    fn note(&mut self, context: ContextNumber, begun: Begun, ticket: Ticket) {
        match begun {
            Begun::Later(own) => drop(self.tickets.insert((context, own), ticket)),
            Begun::Done => self.ended.push((context, ticket)),
        }
    }

    fn time(&self, ns: f64) -> Microticks {
        Microticks::of_f64((ns * self.settings.ticks_per_ns * 1e6).clamp(0.0, 1e18))
    }

    fn ns(&self, time: Microticks) -> f64 {
        time.0 as f64 / 1e6 / self.settings.ticks_per_ns
    }

    /// Begins to wait for something to arrive, for at most this number of polls of a guest that has not waited.
    fn wait(&mut self, now: Microticks, polls: u64) {
        let poll_ns = self.ns(self.settings.costs.of(Software::Poll)).max(1.0);
        // A guest that polls again and again is asked less and less often. What arrives ends the wait at once.
        let growth = f64::from(1u32 << self.in_vain.min(20));
        let limit_ns = poll_ns * polls.clamp(1, 1 << 20) as f64;
        let longest = if std::mem::take(&mut self.reads_clock) { LONGEST_WITH_CLOCK_NS } else { LONGEST_NS };
        let limit = self.time((limit_ns * growth).min(longest.max(limit_ns)));
        self.began = now;
        let mut any: SmallVec<[Watch; 2]> = SmallVec::new();
        self.watched.clear();
        for (number, context) in &self.contexts {
            any.push(context.watches()[0]);
            self.watched.push(*number);
        }
        for (_, context) in &self.contexts {
            any.extend(context.watches().into_iter().skip(1));
            any.extend(context.without_room());
        }
        self.is_waiting = true;
        self.device.thread().wait(Wait { any, at_most: Some(limit) });
    }

    /// Adds to a reply what has arrived.
    fn complete(&mut self, reply: &mut Reply) {
        if !std::mem::replace(&mut self.is_started, true) {
            reply.facts = Some(self.settings.facts.clone());
        }
        let ended = self.ended.drain(..).map(|(context, ticket)| (context, Arrived::Finished(ticket)));
        reply.arrivals.extend(ended);
        let mut bytes = 0;
        for (number, context) in &mut self.contexts {
            while bytes < REPLY_B
                && let Some(arrival) = context.poll()
            {
                let arrived = match arrival {
                    Arrival::Finished(own) => match self.tickets.remove(&(*number, own)) {
                        Some(ticket) => Arrived::Finished(ticket),
                        None => continue,
                    },
                    Arrival::Packet(head, ()) => {
                        let packet = context.bytes(()).to_vec();
                        bytes += packet.len() + 32;
                        context.release();
                        Arrived::Packet(head.to_word(), packet)
                    }
                };
                reply.arrivals.push((*number, arrived));
            }
            reply.room.push((*number, context.room().min().unwrap_or(0)));
        }
    }

    fn has_arrivals(&self) -> bool {
        !self.ended.is_empty() || self.contexts.iter().any(|(_, context)| context.has_arrivals())
    }

    /// The guest has polled in vain for so long that nothing will come.
    fn waits_for_ever(&self) -> Option<Failure> {
        (self.waited >= self.settings.patience).then(|| {
            let seconds = self.ns(self.waited) / 1e9;
            let contexts = self.contexts.len();
            let reason = format!(
                "task {} waits for ever: it has polled its {contexts} contexts for {seconds:.1} s of simulated time, and nothing came",
                self.task
            );
            Failure::new("PAMI_Context_advance", reason)
        })
    }

    fn step(&mut self, now: Microticks, why: Resumed) -> Result<Step, Failure> {
        if why == Resumed::Started {
            // The kernel sets up the network for the whole job before its programs start.
            let world = self.settings.world.as_ref();
            self.world = world.and_then(|members| Group::new(members, WORLD_CLASS, &self.device));
            let requests = self.guest.begin()?;
            return self.go_on(requests);
        }
        for (_, context) in &mut self.contexts {
            context.collect();
        }
        if std::mem::take(&mut self.is_waiting) {
            match why {
                Resumed::Found(place) if usize::from(place) < self.watched.len() => {
                    let number = self.watched[usize::from(place)];
                    self.context(number)?.take();
                }
                Resumed::TimedOut if !self.has_arrivals() => {
                    self.in_vain += 1;
                    self.waited += now - self.began;
                    if let Some(failure) = self.waits_for_ever() {
                        return Err(failure);
                    }
                    return self.answer(Reply::at(self.ns(now)));
                }
                // Space for packets, if nothing has arrived.
                Resumed::Found(_) if !self.device.thread().has_pending() => {
                    self.moves();
                    return self.answer(Reply::at(self.ns(now)));
                }
                _ => {}
            }
        }
        if self.device.thread().has_pending() {
            return Ok(Step::Running);
        }
        match std::mem::replace(&mut self.then, Then::Go) {
            Then::End => return Ok(Step::Ended(Ok(()))),
            Then::Expose(address, bytes) => {
                let exposed = lock(&self.memory).mapping(Range { address, bytes });
                return self.answer(Reply { exposed, ..Reply::at(self.ns(now)) });
            }
            Then::Classes(context, tasks) => {
                let classes = self.context(context)?.free_classes(&tasks);
                return self.answer(Reply { classes, ..Reply::at(self.ns(now)) });
            }
            Then::Go => return self.answer(Reply::at(self.ns(now))),
            Then::Wait(_) if self.has_arrivals() => {
                self.moves();
                return self.answer(Reply::at(self.ns(now)));
            }
            Then::Wait(polls) => {
                self.then = Then::Wait(polls);
                self.wait(now, polls);
            }
        }
        Ok(Step::Running)
    }

    /// Lets the guest go on, until it does something that takes time.
    fn answer(&mut self, mut reply: Reply) -> Result<Step, Failure> {
        self.complete(&mut reply);
        let requests = self.guest.exchange(&reply)?;
        self.go_on(requests)
    }

    fn go_on(&mut self, requests: Requests) -> Result<Step, Failure> {
        for request in requests.list {
            self.execute(request)?;
        }
        if let Some(why) = self.guest.fault() {
            return Err(Failure::new("memory", why));
        }
        self.then = requests.then;
        // Also where nothing takes time the process is resumed: an operation must be there.
        self.device.thread().spend(Microticks(1));
        Ok(Step::Running)
    }
}

fn invalid(reason: impl std::fmt::Display) -> Failure {
    Failure::new("guest", format!("the program's library asks for what cannot be: {reason}"))
}

impl<G: Guest> Process<Command, Watch> for GuestProcess<G> {
    fn resume(&mut self, now: Microticks, why: Resumed, operations: &mut Operations<Command, Watch>) -> Step {
        self.device.thread().resumed(now, why);
        let step = self.step(now, why);
        self.device.thread().take(operations);
        step.unwrap_or_else(|failure| {
            operations.clear();
            Step::Ended(Err(failure))
        })
    }
}
