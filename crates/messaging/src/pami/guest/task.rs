//! What the hardware threads of a task share in the simulator: its contexts' devices, and what each thread
//! does.

use super::interface::{Arrival, ContextPort, Interface};
use super::process::{Settings, invalid};
use super::profile::Groups;
use super::{Arrived, ContextNumber, Contexts, Reply, Request, ThreadNumber};
use crate::pami::Endpoint;
use crate::pami::device::{Begun, Piece, Range, Step as Software, Ticket};
use crate::pami::packet::Head;
use crate::transit::Flight;
use netloom_fabric::collective::CLASS_ROUTES;
use netloom_node::process::Failure;
use netloom_node::time::Microticks;
use std::collections::HashMap;

/// Bytes of packets in a reply.
const REPLY_B: usize = 1 << 17;

/// What a hardware thread does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Doing {
    /// Nothing: it has no thread of the guest.
    #[default]
    Nothing,
    /// It runs, or waits for a known time.
    Runs,
    /// It polls these contexts.
    Polls(Contexts),
    /// It sleeps until the wake-up unit sees something for these contexts, or another thread unparks it.
    Sleeps(Contexts),
    /// It is blocked until another thread unparks it.
    Blocked,
}

impl Doing {
    fn waits_for(self, any: Contexts) -> bool {
        let (Doing::Polls(contexts) | Doing::Sleeps(contexts)) = self else { return false };
        contexts.and(any) != Contexts::default()
    }
}

/// A task on its node.
pub struct Task<I: Interface> {
    pub(super) settings: Settings,
    pub(super) interface: I,
    pub(super) number: u32,
    contexts: Vec<(ContextNumber, I::Context)>,
    /// The guest's numbers of operations, by those of the device.
    tickets: HashMap<(ContextNumber, Ticket), Ticket>,
    /// Operations of the guest that ended at once, of which it has not heard.
    ended_at_once: Vec<(ContextNumber, Ticket)>,
    /// Its groups, if the run has a profile.
    pub(super) groups: Groups,
    /// Its hardware threads.
    threads: Vec<Doing>,
    /// Those that another one has unparked since they were answered, one bit each.
    unparked: u64,
    /// Threads that are to begin.
    starting: Vec<ThreadNumber>,
    /// Operations that its threads have begun, and packets that they have received: those that wait in vain
    /// see whether there were any.
    pub(super) progress: u64,
    /// Turns of its threads that may have changed what other threads look at.
    pub(super) turns: u64,
    /// Its process has ended, and when.
    pub(super) is_over: bool,
    pub(super) ended: Microticks,
}

impl<I: Interface> Task<I> {
    /// A task on its node's interface.
    pub fn new(interface: I, number: u32, mut settings: Settings) -> Self {
        interface.adapt(&mut settings.facts);
        let threads = vec![Doing::Nothing; settings.facts.threads as usize];
        Task {
            settings,
            interface,
            number,
            contexts: vec![],
            tickets: HashMap::new(),
            ended_at_once: vec![],
            groups: Groups::default(),
            threads,
            unparked: 0,
            starting: vec![],
            progress: 0,
            turns: 0,
            is_over: false,
            ended: Microticks::ZERO,
        }
    }

    /// When its process ended, ns.
    pub fn ended_ns(&self) -> f64 {
        self.ns(self.ended)
    }

    /// The process of the node that is a hardware thread of this task.
    pub(super) fn hardware_thread(&self, thread: ThreadNumber) -> u8 {
        hardware_thread(
            self.settings.placement.processes,
            self.settings.placement.of_task(self.number).1,
            thread,
        )
    }

    /// A hardware thread does this from now on.
    pub(super) fn set(&mut self, thread: ThreadNumber, doing: Doing) {
        self.threads[thread as usize] = doing;
    }

    /// Whether other threads can make progress without this one.
    pub(super) fn others_run(&self, thread: ThreadNumber) -> bool {
        let mut others = self.threads.iter().enumerate().filter(|&(number, _)| number != thread as usize);
        others.any(|(_, doing)| matches!(doing, Doing::Runs | Doing::Polls(_) | Doing::Sleeps(_)))
    }

    /// Contexts that other threads poll.
    pub(super) fn polled_by_others(&self, thread: ThreadNumber) -> Contexts {
        let others = self.threads.iter().enumerate().filter(|&(number, _)| number != thread as usize);
        others.fold(Contexts::default(), |all, (_, doing)| match doing {
            Doing::Polls(contexts) | Doing::Sleeps(contexts) => all.or(*contexts),
            _ => all,
        })
    }

    /// Threads that are blocked, if all are, or sleep.
    pub(super) fn all_blocked(&self) -> Option<usize> {
        let is_blocked = |doing: &&Doing| **doing == Doing::Blocked;
        let is_busy = |doing: &&Doing| !matches!(**doing, Doing::Nothing | Doing::Sleeps(_));
        let busy = self.threads.iter().filter(is_busy);
        let (blocked, busy) = (self.threads.iter().filter(is_blocked).count(), busy.count());
        (blocked == busy && busy > 0).then_some(blocked)
    }

    /// Unparks its other threads, which see that it is over.
    pub(super) fn end(&mut self, own: ThreadNumber, now: Microticks) {
        (self.is_over, self.ended) = (true, now);
        self.unpark_if(|thread, doing| thread != own && doing != Doing::Nothing);
    }

    /// A thread had a turn: those that poll look again.
    pub(super) fn turn(&mut self, own: ThreadNumber) {
        self.turns += 1;
        self.unpark_if(|thread, doing| thread != own && matches!(doing, Doing::Polls(_)));
    }

    fn unpark_if(&self, which: impl Fn(ThreadNumber, Doing) -> bool) {
        for (thread, &doing) in (0..).zip(&self.threads) {
            if which(thread, doing) {
                self.interface.thread().unpark(self.hardware_thread(thread));
            }
        }
    }

    /// A thread has begun something: those that sleep see whether it is something of theirs.
    pub(super) fn wake_sleeping(&self) {
        self.unpark_if(|_, doing| matches!(doing, Doing::Sleeps(_)));
    }

    /// Whether another thread of the guest has unparked this one since it was answered last.
    pub(super) fn take_unparked(&mut self, thread: ThreadNumber) -> bool {
        let is_unparked = self.unparked & 1 << thread != 0;
        self.unparked &= !(1 << thread);
        is_unparked
    }

    /// A thread begins on its hardware thread, when the last one there has ended.
    pub(super) fn start(&mut self, thread: ThreadNumber) -> Result<(), Failure> {
        match self.threads.get_mut(thread as usize) {
            Some(doing @ Doing::Nothing) => *doing = Doing::Runs,
            Some(_) => {}
            None => return Err(invalid(format!("thread {thread} begins"))),
        }
        self.starting.push(thread);
        self.interface.thread().unpark(self.hardware_thread(thread));
        Ok(())
    }

    /// Whether a thread is to begin.
    pub(super) fn begins(&mut self, thread: ThreadNumber) -> bool {
        let place = self.starting.iter().position(|&starting| starting == thread);
        place.map(|place| self.starting.remove(place)).is_some()
    }

    pub(super) fn context(&mut self, number: ContextNumber) -> Result<&mut I::Context, Failure> {
        let found = self.contexts.iter_mut().find(|(n, _)| *n == number);
        found.map(|(_, context)| context).ok_or_else(|| invalid(format!("there is no context {number}")))
    }

    /// These contexts.
    pub(super) fn contexts(
        &self,
        which: Contexts,
    ) -> impl Iterator<Item = (ContextNumber, &I::Context)> + Clone {
        let all = self.contexts.iter().map(|(number, context)| (*number, context));
        all.filter(move |&(number, _)| which.has(number))
    }

    /// Notes what has happened until now, in a process of the node that is resumed.
    pub(super) fn collect(&mut self, process: u8) {
        let brought = self.interface.collect(&mut self.contexts, process);
        self.unpark_if(|thread, doing| doing.waits_for(brought) && self.hardware_thread(thread) != process);
    }

    pub(super) fn has_arrivals(&self, contexts: Contexts) -> bool {
        self.ended_at_once.iter().any(|&(context, _)| contexts.has(context))
            || self.contexts(contexts).any(|(_, context)| context.has_arrivals())
    }

    /// Does what a thread of the guest asked for.
    pub(super) fn execute(&mut self, request: Request) -> Result<(), Failure> {
        use Request::{Collective, Data, Flush, Inject, Transfer};
        if matches!(request, Inject { .. } | Data { .. } | Transfer { .. } | Flush { .. } | Collective { .. })
        {
            self.progress += 1;
        }
        match request {
            Request::Open(number) => {
                let endpoint =
                    Endpoint::new(self.number, number).ok_or_else(|| invalid("too many contexts"))?;
                let mut context = self.interface.open(&self.settings, endpoint);
                if number == 0 && self.interface.give_world(&mut context) {
                    self.groups.join(0, 0, &[]);
                }
                if self.settings.facts.is_profiled {
                    context.note_flights();
                }
                self.contexts.push((number, context));
            }
            Request::Close(number) => self.contexts.retain(|(n, _)| *n != number),
            Request::Spend(step) => self.interface.thread().spend(self.settings.costs.of(step)),
            // Marks are the hardware thread's.
            Request::Report(_) | Request::Mark(_) | Request::Acts => {}
            Request::Compute(ns) => {
                let time = self.time(ns);
                self.settings.set_busy(self.interface.thread().now(), time);
                self.interface.thread().spend(time);
            }
            Request::Start(thread) => self.start(thread)?,
            Request::Unpark(thread) => {
                let thread = thread.min(self.settings.facts.threads - 1);
                self.unparked |= 1 << thread;
                self.interface.thread().unpark(self.hardware_thread(thread));
            }
            Request::Inject { from, to, head, bytes } => {
                let head = Head::of_word(head).ok_or_else(|| invalid("an invalid head"))?;
                let sent = self.context(from)?.inject(Endpoint(to), head, bytes);
                sent.map_err(|_| invalid("a packet without space"))?;
            }
            Request::Data { from, to, head, data, ticket } => {
                let head = Head::of_word(head).ok_or_else(|| invalid("an invalid head"))?;
                let data = Range { address: data.0, bytes: data.1 };
                let begun = self.context(from)?.inject_data(Endpoint(to), head, data);
                self.note(from, begun.map_err(|_| invalid("data without space"))?, ticket);
            }
            Request::Transfer { from, way, with, pieces, ticket } => {
                let of = |(address, bytes, remote)| (Range { address, bytes }, remote);
                let pieces: Vec<Piece> = pieces.into_iter().map(of).collect();
                let begun = self.context(from)?.transfer(way, Endpoint(with), &pieces);
                self.note(from, begun.map_err(|_| invalid("a transfer without space"))?, ticket);
            }
            Request::Flush { from, with, ticket } => {
                let begun = self.context(from)?.flush(Endpoint(with));
                self.note(from, begun.map_err(|_| invalid("a flush without space"))?, ticket);
            }
            Request::Join { by, tasks, class, group } => {
                let joined = match usize::from(class) < CLASS_ROUTES {
                    true => self.context(by)?.join(&tasks, class),
                    false => None,
                };
                match joined {
                    Some(number) if number == group => {}
                    Some(_) => return Err(invalid(format!("a group with number {group}"))),
                    None => return Err(invalid(format!("class {class} for tasks {tasks:?}"))),
                }
                if self.settings.facts.is_profiled {
                    self.groups.join(by, group, &tasks);
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

    fn note(&mut self, context: ContextNumber, begun: Begun, ticket: Ticket) {
        match begun {
            Begun::Later(own) => drop(self.tickets.insert((context, own), ticket)),
            Begun::Done => {
                self.ended_at_once.push((context, ticket));
                self.unpark_if(|_, doing| doing.waits_for(Contexts::default().with(context)));
            }
        }
    }

    pub(super) fn time(&self, ns: f64) -> Microticks {
        Microticks::of_f64((ns * self.settings.ticks_per_ns * 1e6).clamp(0.0, 4e18))
    }

    pub(super) fn ns(&self, time: Microticks) -> f64 {
        time.0 as f64 / 1e6 / self.settings.ticks_per_ns
    }

    /// The duration of a poll, ns.
    pub(super) fn poll_ns(&self) -> f64 {
        self.ns(self.settings.costs.of(Software::Poll)).max(1.0)
    }

    /// Contexts of whose arrivals a thread is not told: other threads poll them.
    fn withheld(&self, thread: ThreadNumber) -> Contexts {
        let own = match self.threads[thread as usize] {
            Doing::Polls(contexts) | Doing::Sleeps(contexts) => contexts,
            _ => Contexts::default(),
        };
        self.polled_by_others(thread).without(own)
    }

    /// The first of what has arrived for a thread since the last call, if that is noted.
    pub(super) fn take_flights(&mut self, thread: ThreadNumber) -> Option<Flight> {
        let withheld = self.withheld(thread);
        let told = self.contexts.iter_mut().filter(|(number, _)| !withheld.has(*number));
        told.flat_map(|(_, context)| context.take_flights()).min_by_key(|flight| flight.found)
    }

    /// What a thread is told.
    pub(super) fn reply(&mut self, thread: ThreadNumber, now: Microticks) -> Reply {
        let mut reply = Reply::at(self.ns(now));
        // A thread that polls a context is told what arrives there itself.
        let withheld = self.withheld(thread);
        let ended = self.ended_at_once.extract_if(.., |(context, _)| !withheld.has(*context));
        reply.arrivals.extend(ended.map(|(context, ticket)| (context, Arrived::Finished(ticket))));
        let mut bytes = 0;
        for (number, context) in &mut self.contexts {
            reply.room.push((*number, context.room()));
            if withheld.has(*number) {
                continue;
            }
            while bytes < REPLY_B
                && let Some(arrival) = context.next()
            {
                let arrived = match arrival {
                    Arrival::Finished(own) => match self.tickets.remove(&(*number, own)) {
                        Some(ticket) => Arrived::Finished(ticket),
                        None => continue,
                    },
                    Arrival::Packet(head, packet) => {
                        bytes += packet.len() + 32;
                        Arrived::Packet(head.to_word(), packet)
                    }
                };
                reply.arrivals.push((*number, arrived));
            }
        }
        reply
    }
}

/// The process of a node that is a hardware thread of one of its tasks, which has this number among those of
/// the node. So the threads of a task are on cores of their own as long as there are any, and at most four on
/// each.
pub fn hardware_thread(tasks_per_node: u8, task: u8, thread: ThreadNumber) -> u8 {
    task + tasks_per_node * thread as u8
}
