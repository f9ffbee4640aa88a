//! The simulator's side of a guest: a process of a node for each of its threads, which does what the thread
//! asks for, and lets it go on when that is done.

use super::interface::{ContextPort, Interface, Watches};
use super::profile::Recorded;
use super::profile::recorder::Recorder;
use super::task::{Doing, Task};
use super::valid::Sums;
use super::{Contexts, Facts, LOOK, Reply, Request, Requests, Then, ThreadNumber};
use crate::pami::device::{Range, Step as Software};
use crate::pami::{Costs, Placement};
use netloom_node::process::{Failure, Operations, Process, Resumed, Step, Wait};
use netloom_node::program::lock;
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// The way to a thread of a guest. `Ok(None)`: it still runs, and others must not wait for it.
pub trait Guest: Send {
    /// Waits for what the thread does first.
    ///
    /// # Errors
    /// Why it does nothing any more.
    fn begin(&mut self) -> Result<Requests, Failure>;

    /// Lets the thread go on, and waits for what it does next; not for long if other threads of its process
    /// run.
    ///
    /// # Errors
    /// Why it does nothing any more.
    fn exchange(&mut self, reply: &Reply, others_run: bool) -> Result<Option<Requests>, Failure>;

    /// Waits again.
    ///
    /// # Errors
    /// Why it does nothing any more.
    fn look(&mut self, others_run: bool) -> Result<Option<Requests>, Failure>;

    /// The thread has handed over for the last time: its place is free for another.
    fn ended(&mut self);

    /// Threads of its process that have begun by themselves, and must be started.
    fn foreign(&self) -> Vec<ThreadNumber>;

    /// Whether its process has ended, or the job.
    fn is_over(&self) -> bool;

    /// The task has failed, so the others must end too.
    fn end_job(&mut self);

    /// The task waits for ever, and this is what the library above PAMI waits for, as it has it.
    fn waits_for_ever(&mut self, _state: Vec<u8>) {}

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
    /// Ticks of a nanosecond.
    pub ticks_per_ns: f64,
    /// The simulated time after which a guest that polls in vain waits for ever, if no other computes or
    /// sleeps.
    pub patience: Microticks,
    /// Until when at least a guest computes or sleeps, ticks.
    pub busy_until: Arc<AtomicU64>,
}

/// The longest wait of a thread that polls in vain, before it may look at something else.
const LONGEST_NS: f64 = 1e6;
/// The same if it reads the clock between its polls: at least so long, or so much of the time that it has
/// waited.
const LONGEST_WITH_CLOCK_NS: f64 = 2e4;
const LONGEST_WITH_CLOCK: f64 = 0.01;
/// Most waits in vain that a thread skips, because it waited for as long before a packet came last.
const USUAL_MAX: u32 = 5;
/// Calls with [`LOOK`] in vain after which more of them take longer, as those of a thread that waits: most
/// programs that call so often do nothing else.
const LOOKS_MAX: u32 = 10_000;
/// The time after which it is asked again what a thread does that still runs: at first, and at most.
const RUNS_NS: f64 = 1e3;
const RUNS_MAX_NS: f64 = 2e4;

/// A hardware thread of a guest.
pub struct GuestProcess<G, I: Interface> {
    guest: G,
    task: Arc<Mutex<Task<I>>>,
    number: ThreadNumber,
    state: State,
    profile: Recorded<I::Command, I::Watch>,
}

/// What a hardware thread does.
struct State {
    then: Then,
    /// Whether it waits, for which contexts' packets, by the place of the condition.
    is_waiting: bool,
    watched: Vec<u32>,
    /// What it may be told of: the contexts that it polls, and those that no other thread does.
    awaited: Contexts,
    /// Waits in a row that ended with nothing, while its task did nothing either, and their length in all.
    in_vain: u32,
    /// As many as would have been enough in one wait before a packet came last.
    usual: u32,
    waited: Microticks,
    /// What of it counts.
    counted: Microticks,
    seen_progress: u64,
    /// The begin of the last, and when it ends.
    began: Microticks,
    ends: Option<Microticks>,
    reads_clock: bool,
    has_acted: bool,
    /// Its own turns that may have changed what other threads look at, and those of others when it looked
    /// last.
    turns: u64,
    seen_turns: u64,
    is_told: bool,
    is_idle: bool,
    /// It has waited in vain for so long that nothing will come.
    waits_for_ever: bool,
    /// It runs, and others do not wait for it; how long until it is asked again, ns.
    runs_alone_ns: Option<f64>,
}

impl<G: Guest, I: Interface> GuestProcess<G, I> {
    /// A hardware thread of a task. The first begins by itself.
    pub fn new(task: &Arc<Mutex<Task<I>>>, number: ThreadNumber, guest: G) -> Self {
        let state = State {
            then: Then::Go,
            is_waiting: false,
            watched: vec![],
            in_vain: 0,
            usual: 0,
            awaited: Contexts::default(),
            waited: Microticks::ZERO,
            counted: Microticks::ZERO,
            seen_progress: 0,
            began: Microticks::ZERO,
            ends: None,
            reads_clock: false,
            has_acted: false,
            turns: 0,
            seen_turns: 0,
            is_told: false,
            is_idle: true,
            waits_for_ever: false,
            runs_alone_ns: None,
        };
        GuestProcess { guest, task: Arc::clone(task), number, state, profile: Recorded::default() }
    }

    /// The same with a record of the hardware thread, which is this one of its node.
    #[must_use]
    pub fn recorded(self, recorder: &Arc<Mutex<Recorder>>, thread: &Thread<I::Command, I::Watch>) -> Self {
        GuestProcess { profile: Recorded::new(recorder, thread), ..self }
    }

    fn step(&mut self, task: &mut Task<I>, now: Microticks, why: Resumed) -> Result<Step, Failure> {
        self.profile.advance(self.state.is_waiting.then_some(self.state.began), now);
        if task.is_over {
            return Ok(Step::Ended(Ok(())));
        }
        if why == Resumed::Started && self.number == 0 {
            task.interface.start();
            task.set(0, Doing::Runs);
            self.state.is_idle = false;
            self.profile.begin(now);
            let requests = self.guest.begin()?;
            return self.go_on(task, requests);
        }
        if self.state.is_idle {
            if !task.begins(self.number) {
                task.interface.thread().park(Wait::for_any([]));
                return Ok(Step::Running);
            }
            self.state.is_idle = false;
            task.set(self.number, Doing::Runs);
            let requests = self.guest.begin()?;
            return self.go_on(task, requests);
        }
        task.collect(task.hardware_thread(self.number));
        if self.state.runs_alone_ns.is_some() {
            let requests = self.guest.look(task.others_run(self.number))?;
            return self.take(task, requests);
        }
        if self.state.seen_progress != task.progress {
            self.moves(task);
        }
        if std::mem::take(&mut self.state.is_waiting)
            && let Some(end) = self.waited(task, now, why)?
        {
            return Ok(end);
        }
        if task.interface.thread().has_pending() {
            return Ok(Step::Running);
        }
        let ends = self.state.then == Then::End;
        if task.interface.holds() || ends && !task.interface.is_idle() {
            let (any, at_most) = task.interface.progress();
            task.interface.thread().wait(Wait { at_most, ..Wait::for_any(any) });
            return Ok(Step::Running);
        }
        match self.state.then.clone() {
            Then::End => {
                task.end(self.number, now);
                return Ok(Step::Ended(Ok(())));
            }
            Then::EndThread => {
                self.guest.ended();
                task.set(self.number, Doing::Nothing);
                self.moves(task);
                self.state.is_idle = true;
                task.interface.thread().park(Wait::for_any([]));
            }
            Then::Expose(address, bytes) => {
                let exposed = task.interface.expose(Range { address, bytes });
                return self.answer_with(task, now, |reply| reply.exposed = exposed);
            }
            Then::Classes(context, tasks) => {
                let classes = task.context(context)?.free_classes(&tasks);
                return self.answer_with(task, now, |reply| reply.classes = classes);
            }
            Then::Go => return self.answer(task, now),
            Then::Wait(contexts, polls) => {
                if std::mem::take(&mut self.state.has_acted) {
                    task.settings.set_active(now);
                    self.moves(task);
                }
                let others = task.polled_by_others(self.number);
                self.state.awaited = contexts.or(Contexts::ALL.without(others));
                if task.has_arrivals(self.state.awaited) {
                    task.progress += 1;
                    return self.answer(task, now);
                }
                self.poll(task, now, polls);
            }
            Then::WakeUp(contexts) => {
                self.state.awaited = contexts;
                if task.has_arrivals(contexts) || task.take_unparked(self.number) {
                    task.progress += 1;
                    return self.answer(task, now);
                }
                self.state.began = now;
                let any = self.watches(task);
                let at_most = task.interface.progress().1;
                let listens = task.interface.listens();
                task.interface.thread().park(Wait { at_most, sleeps: true, listens, ..Wait::for_any(any) });
            }
            Then::Block(at_most_ns) => {
                let at_most = at_most_ns.map(|ns| task.time(ns));
                if let Some(most) = at_most {
                    task.settings.set_busy(now, most);
                }
                self.state.ends = at_most.map(|most| now + most);
                self.block(task, now);
            }
            Then::Sleep(ns) => {
                self.state.is_waiting = true;
                let sleep = task.time(ns);
                task.settings.set_busy(now, sleep);
                self.state.began = now;
                task.interface.thread().wait(Wait { at_most: Some(sleep), ..Wait::for_any([]) });
            }
        }
        Ok(Step::Running)
    }

    /// It does not wait in vain any more.
    fn moves(&mut self, task: &Task<I>) {
        let state = &mut self.state;
        (state.in_vain, state.seen_progress) = (0, task.progress);
        (state.waited, state.counted) = (Microticks::ZERO, Microticks::ZERO);
    }

    /// Its wait has ended: what it does next, unless it goes on as if it began to wait.
    fn waited(&mut self, task: &mut Task<I>, now: Microticks, why: Resumed) -> Result<Option<Step>, Failure> {
        match (self.state.then.clone(), why) {
            // Its conditions may have changed.
            (Then::WakeUp(_), Resumed::Unparked) if !task.take_unparked(self.number) => Ok(None),
            (Then::Wait(..) | Then::WakeUp(_) | Then::Block(_), Resumed::Unparked) => {
                self.moves(task);
                self.answer(task, now).map(Some)
            }
            (Then::Sleep(_), _) => {
                self.state.in_vain += 1;
                self.state.waited += now - self.state.began;
                if self.state.in_vain > 1 && task.settings.lasts_for_ever(self.state.waited, now) {
                    let slept_s = task.ns(self.state.waited) / 1e9;
                    let reason =
                        |_| format!("it has slept for {slept_s:.1} s of simulated time, and nothing came");
                    return Err(self.waits_for_ever(task, now, "sleep", reason)?);
                }
                self.answer(task, now).map(Some)
            }
            (Then::Block(_), _) => {
                self.state.waited += now - self.state.began;
                if self.state.ends.is_some_and(|ends| now >= ends) {
                    return self.answer(task, now).map(Some);
                }
                if self.guest.is_over() {
                    return Ok(Some(Step::Ended(Ok(()))));
                }
                self.start_foreign(task)?;
                if let Some(threads) =
                    task.all_blocked().filter(|_| task.settings.lasts_for_ever(self.state.waited, now))
                {
                    let reason = format!(
                        "each of its {threads} threads waits for another one (in pthread_join, or at a lock, a \
                         condition, a barrier or a semaphore)"
                    );
                    return Err(self.waits_for_ever(task, now, "pthread", |_| reason)?);
                }
                self.block(task, now);
                Ok(Some(Step::Running))
            }
            (_, Resumed::Found(place)) if usize::from(place) < self.state.watched.len() => {
                let number = self.state.watched[usize::from(place)];
                task.context(number)?.fetch();
                if let Then::Wait(_, polls) = self.state.then {
                    let waited_ns = task.ns(self.state.waited + (now - self.state.began));
                    let polls = (waited_ns / task.poll_ns() / polls.max(1) as f64).clamp(1.0, 1e6);
                    // A little longer, so that it is enough for a packet that comes a little later.
                    self.state.usual = ((1.2 * polls).log2().ceil() as u32).min(USUAL_MAX);
                }
                Ok(None)
            }
            (Then::Wait(contexts, polls), Resumed::TimedOut) if !task.has_arrivals(self.state.awaited) => {
                let lasted = now - self.state.began;
                self.state.in_vain += 1;
                self.state.waited += lasted;
                self.state.counted += task.settings.counted(polls, lasted);
                if self.state.counted < task.settings.patience && self.state.counted < self.state.waited {
                    // Others do not give up before it is known that it polls without end.
                    task.settings.set_active(now);
                }
                if task.settings.lasts_for_ever(self.state.counted, now) {
                    let (call, does) = match task.contexts(contexts).count() {
                        0 => ("sched_yield", "given way".to_string()),
                        1 => ("PAMI_Context_advance", "polled a context".to_string()),
                        count => ("PAMI_Context_advance", format!("polled {count} contexts")),
                    };
                    let waited_us = task.ns(self.state.waited) / 1e3;
                    let waited = match waited_us {
                        ..5e4 => format!("{waited_us:.1} us"),
                        _ => format!("{:.1} s", waited_us / 1e6),
                    };
                    let reason = |is_mpi: bool| {
                        let does = if is_mpi { "waited" } else { &does };
                        format!("it has {does} for {waited} of simulated time, and nothing came")
                    };
                    return Err(self.waits_for_ever(task, now, call, reason)?);
                }
                self.answer(task, now).map(Some)
            }
            // Space for packets, if nothing has arrived.
            (_, Resumed::Found(_)) if !task.interface.thread().has_pending() => {
                self.moves(task);
                self.answer(task, now).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Begins to wait for something to arrive, for at most this number of polls of a thread that has not
    /// waited.
    fn poll(&mut self, task: &Task<I>, now: Microticks, polls: u64) {
        let state = &mut self.state;
        // A thread that polls again and again is asked less and less often. What arrives ends the wait at
        // once. So does what another thread of its task does, which may be a store that it looks at.
        let has_news = task.turns - state.turns != state.seen_turns;
        let (growth, polls) = if has_news {
            (1.0, 1)
        } else {
            let doublings = match polls {
                LOOK => state.in_vain.saturating_sub(LOOKS_MAX),
                _ => state.in_vain.max(state.usual),
            };
            (f64::from(1u32 << doublings.min(20)), polls)
        };
        let limit_ns = task.poll_ns() * polls.clamp(1, 1 << 20) as f64;
        let longest = match std::mem::take(&mut state.reads_clock) {
            true => (LONGEST_WITH_CLOCK * task.ns(state.waited)).clamp(LONGEST_WITH_CLOCK_NS, LONGEST_NS),
            false => LONGEST_NS,
        };
        let at_most = task.time((limit_ns * growth).min(longest.max(limit_ns)));
        let at_most = task.interface.progress().1.into_iter().chain([at_most]).min();
        state.began = now;
        let any = self.watches(task);
        let listens = task.interface.listens();
        task.interface.thread().park(Wait { at_most, listens, ..Wait::for_any(any) });
    }

    /// It begins to wait: the conditions under which there is something for the contexts that it waits for.
    fn watches(&mut self, task: &Task<I>) -> Watches<I::Watch> {
        let state = &mut self.state;
        let mut any: Watches<I::Watch> = Watches::new();
        state.watched.clear();
        let contexts_of = task.contexts(state.awaited);
        for (number, context) in contexts_of.clone() {
            let watches = context.packet_watches();
            state.watched.extend(watches.iter().map(|_| number));
            any.extend(watches);
        }
        for (_, context) in contexts_of {
            any.extend(context.other_watches());
        }
        state.is_waiting = true;
        any
    }

    /// Waits until another thread unparks it.
    fn block(&mut self, task: &mut Task<I>, now: Microticks) {
        let state = &mut self.state;
        let patience = task.settings.patience;
        let at_most = Some(state.ends.map_or(patience, |ends| patience.min(ends - now)));
        (state.began, state.is_waiting) = (now, true);
        task.set(self.number, if state.ends.is_some() { Doing::Runs } else { Doing::Blocked });
        task.interface.thread().park(Wait { at_most, ..Wait::for_any([]) });
    }

    /// The guest has waited in vain for so long that nothing will come: what it says itself. `reason` is told
    /// whether a call of MPI waits.
    fn waits_for_ever(
        &mut self,
        task: &Task<I>,
        now: Microticks,
        call: &str,
        reason: impl FnOnce(bool) -> String,
    ) -> Result<Failure, Failure> {
        self.state.waits_for_ever = true;
        let reply = Reply { wants_report: true, ..Reply::at(task.ns(now)) };
        let requests = self.guest.exchange(&reply, false)?;
        let mut lines = vec![];
        for request in requests.into_iter().flat_map(|requests| requests.list) {
            let Request::Report(report) = request else { continue };
            lines.extend(report.lines);
            if !report.state.is_empty() {
                self.guest.waits_for_ever(report.state);
            }
        }
        let unfinished = match lines.is_empty() {
            true => String::new(),
            false => format!("; unfinished: {}", lines.join(", ")),
        };
        // A program of MPI knows the call that it is in, not those of the library below.
        let of_mpi = lines.iter().find_map(|line| call_of_mpi(line));
        let reason = reason(of_mpi.is_some());
        Ok(Failure::new(of_mpi.unwrap_or(call), format!("waits for ever: {reason}{unfinished}")))
    }

    fn start_foreign(&self, task: &mut Task<I>) -> Result<(), Failure> {
        self.guest.foreign().into_iter().try_for_each(|thread| task.start(thread))
    }

    fn answer(&mut self, task: &mut Task<I>, now: Microticks) -> Result<Step, Failure> {
        self.answer_with(task, now, |_| {})
    }

    /// Lets the guest go on, until it does something that takes time.
    fn answer_with(
        &mut self,
        task: &mut Task<I>,
        now: Microticks,
        answer: impl FnOnce(&mut Reply),
    ) -> Result<Step, Failure> {
        self.profile.hear(task, self.number);
        let mut reply = task.reply(self.number, now);
        answer(&mut reply);
        if self.number == 0 && !std::mem::replace(&mut self.state.is_told, true) {
            reply.facts = Some(task.settings.facts.clone());
        }
        task.set(self.number, Doing::Runs);
        task.take_unparked(self.number);
        self.state.seen_turns = task.turns - self.state.turns;
        let requests = self.guest.exchange(&reply, task.others_run(self.number))?;
        self.take(task, requests)
    }

    fn take(&mut self, task: &mut Task<I>, requests: Option<Requests>) -> Result<Step, Failure> {
        if let Some(requests) = requests {
            self.state.runs_alone_ns = None;
            return self.go_on(task, requests);
        }
        self.start_foreign(task)?;
        let ns = self.state.runs_alone_ns.map_or(RUNS_NS, |ns| (2.0 * ns).min(RUNS_MAX_NS));
        self.state.runs_alone_ns = Some(ns);
        task.interface.thread().spend(task.time(ns));
        Ok(Step::Running)
    }

    fn go_on(&mut self, task: &mut Task<I>, requests: Requests) -> Result<Step, Failure> {
        self.start_foreign(task)?;
        task.check_then(&requests)?;
        if !only_polls(&requests) {
            self.state.turns += 1;
            task.turn(self.number);
        }
        let begins = requests.list.iter().any(|request| !takes_time_only(request));
        let mut sums = Sums::default();
        for request in requests.list {
            if task.check(&request, &mut sums)?
                && let Some(why) = self.guest.fault()
            {
                return Err(Failure::new("memory", why));
            }
            self.state.reads_clock |= matches!(request, Request::Spend(Software::Clock));
            self.state.has_acted |= request == Request::Acts;
            self.profile.expect(task, &request)?;
            task.execute(request)?;
        }
        if let Some(why) = self.guest.fault() {
            return Err(Failure::new("memory", why));
        }
        if begins {
            task.wake_sleeping();
        }
        // From now on others are not told what arrives for the contexts that it waits for.
        match requests.then {
            Then::Wait(contexts, _) => task.set(self.number, Doing::Polls(contexts)),
            Then::WakeUp(contexts) => task.set(self.number, Doing::Sleeps(contexts)),
            _ => {}
        }
        self.state.then = requests.then;
        // Also where nothing takes time the process is resumed: an operation must be there.
        task.interface.thread().spend(Microticks(1));
        Ok(Step::Running)
    }
}

/// The call of MPI that a line of a report begins with, or the first of several.
fn call_of_mpi(line: &str) -> Option<&str> {
    line.split([':', ',']).next().filter(|name| name.starts_with("MPI_") && !name.contains(' '))
}

/// Whether a thread did nothing but poll in its turn.
fn only_polls(requests: &Requests) -> bool {
    let is_poll = |request: &Request| {
        matches!(
            request,
            Request::Spend(Software::Poll | Software::Clock) | Request::Compute(_) | Request::Mark(_)
        )
    };
    matches!(requests.then, Then::Go | Then::Wait(..)) && requests.list.iter().all(is_poll)
}

/// Whether a request does nothing that another thread could wait for.
fn takes_time_only(request: &Request) -> bool {
    matches!(
        request,
        Request::Spend(_) | Request::Compute(_) | Request::Report(_) | Request::Mark(_) | Request::Acts
    )
}

pub(super) fn invalid(reason: impl std::fmt::Display) -> Failure {
    Failure::new("guest", format!("the program's library asks for what cannot be: {reason}"))
}

impl<G: Guest, I: Interface> Process<I::Command, I::Watch> for GuestProcess<G, I> {
    fn resume(
        &mut self,
        now: Microticks,
        why: Resumed,
        operations: &mut Operations<I::Command, I::Watch>,
    ) -> Step {
        let task = Arc::clone(&self.task);
        // One thread of the simulator resumes all processes of a node, so this never waits.
        let mut task = lock(&task);
        // The device of the task has one such thread: whichever process is resumed takes its operations over.
        let thread: Thread<I::Command, I::Watch> = task.interface.thread().clone();
        thread.resumed(now, why);
        let own = task.hardware_thread(self.number);
        task.interface.run_as(own);
        let step = self.step(&mut task, now, why).unwrap_or_else(|failure| {
            thread.take(operations);
            operations.clear();
            task.end(self.number, now);
            // Others that wait for ever tell for what themselves.
            if !self.state.waits_for_ever {
                self.guest.end_job();
            }
            Step::Ended(Err(failure))
        });
        thread.take(operations);
        step
    }

    fn is_idle(&self) -> bool {
        // One that sleeps takes no part of its core either.
        self.state.is_idle || self.state.is_waiting && matches!(self.state.then, Then::WakeUp(_))
    }
}
