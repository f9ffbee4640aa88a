//! A rank: its program, and its library's protocols between two ranks: eager and rendezvous, with messages
//! matched by source and tag in the order in which they were sent, as in MPI.
//!
//! The library makes progress while its rank waits and, if so configured, while it computes.

mod report;
mod waits;

use crate::config::{MessagingConfig, ProgressMode, Steps};
use crate::matching::Contexts;
use crate::program::{Collective, HardwareCollectives, Issue, OpId, Operation, Program};
use crate::slab::Slab;
use crate::timeline::Waiting;
use crate::transit::Transit;
use crate::transport::{Envelope, Event, Kind, Transport};
use netloom_node::process::{Failure, Operations, Outcome, Process, Resumed, Step, Wait};
use netloom_node::program::lock;
use netloom_node::time::Microticks;
pub use report::{Awaited, RankReport};
use report::{end_of, note_step};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// A message that has arrived and waits for its receive, or for earlier messages.
#[derive(Clone, Copy, Debug)]
struct Unmatched {
    envelope: Envelope,
    from: u32,
}

/// A receive: its operation, and the length of its buffer.
#[derive(Clone, Copy, Debug)]
struct Posted {
    op: OpId,
    bytes: u64,
}

/// A receive by rendezvous.
#[derive(Clone, Copy, Debug)]
struct Receive {
    op: OpId,
    from: u32,
    /// The announcement of the message, with the sender's request.
    announced: Envelope,
    /// When it met the message; the data are fetched then, if this side does so.
    met_at: Microticks,
}

/// A collective operation by hardware in which the rank takes part, and its number.
#[derive(Clone, Copy, Debug)]
struct Joined {
    op: OpId,
    what: Collective,
    number: usize,
}

/// The current activity of the rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Library,
    Computing(OpId),
    /// Waiting while other hardware computes.
    Overlapping,
    Waiting,
}

/// A rank of a program over a transport.
pub struct Rank<T> {
    rank: u32,
    transport: T,
    program: Box<dyn Program>,
    steps: Steps,
    eager_max_bytes: u64,
    progress: ProgressMode,
    issue: Issue,
    matching: Contexts<Posted, Unmatched>,
    /// Number of messages to be matched sent to each rank.
    sent: HashMap<u32, u32>,
    /// For each rank: the next message to be matched, and later ones that arrived before it.
    early: HashMap<u32, (u32, BTreeMap<u32, Envelope>)>,
    /// Ends of computations, by CPU; and computations that wait for the library's pending operations.
    timers: BTreeMap<(Microticks, u32), OpId>,
    to_compute: VecDeque<(OpId, Microticks)>,
    /// Times to be recorded when the library's pending operations are complete.
    marks: VecDeque<(OpId, u64)>,
    /// Sends by rendezvous, by request: the operation and the receiver.
    sends: Slab<(OpId, u32)>,
    /// Receives by rendezvous.
    receives: Slab<Receive>,
    /// When the next send may start.
    send_free: Microticks,
    doing: Doing,
    /// Start of the current activity, and the part of it that the library's own instructions take.
    since: Microticks,
    spent: Microticks,
    /// Start of the wait that the next event ends, and the waiting time since then.
    waits: Option<(Microticks, Microticks)>,
    transit: Arc<Transit>,
    /// The current collective operation by hardware, and the number of those so far.
    collective: Option<Joined>,
    collectives: usize,
    report: Arc<Mutex<RankReport>>,
}

impl<T: Transport> Rank<T> {
    /// A rank with its program; `report` receives its results.
    pub fn new(
        rank: u32,
        transport: T,
        program: Box<dyn Program>,
        config: &MessagingConfig,
        ticks_per_second: u64,
        transit: &Arc<Transit>,
        report: &Arc<Mutex<RankReport>>,
    ) -> Self {
        let eager_max_bytes = config.eager_max_B.unwrap_or(u64::MAX).min(transport.eager_max_bytes());
        Rank {
            rank,
            transport,
            program,
            steps: Steps::new(config, ticks_per_second),
            eager_max_bytes,
            progress: config.progress,
            issue: Issue::new(),
            matching: Contexts::default(),
            sent: HashMap::new(),
            early: HashMap::new(),
            timers: BTreeMap::new(),
            to_compute: VecDeque::new(),
            marks: VecDeque::new(),
            sends: Slab::default(),
            receives: Slab::default(),
            send_free: Microticks::ZERO,
            doing: Doing::Library,
            since: Microticks::ZERO,
            spent: Microticks::ZERO,
            waits: None,
            transit: Arc::clone(transit),
            collective: None,
            collectives: 0,
            report: Arc::clone(report),
        }
    }

    /// Adds this time for the library's own instructions.
    fn spend(&mut self, microticks: Microticks) {
        if !microticks.is_zero() {
            self.spent += microticks;
            self.transport.thread().spend(microticks);
        }
    }

    /// Sends a message of the protocols after the library's pending operations.
    fn put(&mut self, to: u32, envelope: Envelope) {
        self.transit.sends(self.rank, to, &envelope, self.since + self.spent);
        self.transport.send(to, envelope);
    }

    /// Whether the node has pending operations, so that time passes before the library continues.
    fn has_pending(&self) -> bool {
        self.transport.thread().has_pending()
    }

    /// An operation of the program has finished: performs those that start now.
    fn finished(&mut self, op: OpId, now: Microticks) -> Outcome {
        let mut issue = std::mem::take(&mut self.issue);
        self.program.finished(op, &mut issue);
        self.issue = issue;
        self.perform(now)
    }

    /// Performs the operations just issued, and those that follow from operations that complete at once.
    fn perform(&mut self, now: Microticks) -> Outcome {
        let mut finished = VecDeque::new();
        loop {
            let mut issue = std::mem::take(&mut self.issue);
            for (op, operation) in issue.drain() {
                match operation {
                    Operation::Compute { ns: 0, .. } => finished.push_back(op),
                    Operation::Compute { ns, cpu } => {
                        let microticks = Microticks::of_f64(ns as f64 * self.steps.nanosecond);
                        if cpu == 0 && self.progress == ProgressMode::InCalls {
                            self.to_compute.push_back((op, microticks));
                        } else {
                            self.timers.insert((now + microticks, op.0), op);
                        }
                    }
                    Operation::Send { to, bytes, tag } => {
                        if self.send(now, op, to, bytes, tag)? {
                            finished.push_back(op);
                        }
                    }
                    Operation::Collective { what, bytes } => self.join(now, op, what, bytes)?,
                    Operation::Mark { key } => self.marks.push_back((op, key)),
                    Operation::Receive { from, bytes, tag } => {
                        if let Some(message) = self.matching.post(from, tag, Posted { op, bytes }) {
                            finished.extend(self.matched(Posted { op, bytes }, message, false)?);
                        }
                    }
                }
            }
            self.issue = issue;
            let Some(op) = finished.pop_front() else { return Ok(()) };
            let mut issue = std::mem::take(&mut self.issue);
            self.program.finished(op, &mut issue);
            self.issue = issue;
        }
    }

    /// Takes part in a collective operation by hardware.
    fn join(&mut self, now: Microticks, op: OpId, what: Collective, bytes: u64) -> Outcome {
        let refused = match self.transport.collective_max_bytes(what) {
            None => Some("the machine has no hardware that does it among these ranks".to_owned()),
            Some(most) if bytes > most => {
                Some(format!("the machine's hardware supports at most {most} B, found {bytes} B"))
            }
            Some(_) => self.collective.map(|_| "another collective operation has not ended".to_owned()),
        };
        if let Some(reason) = refused {
            return Err(Failure::new(what.name(), format!("{reason}; use an algorithm by messages")));
        }
        self.spend(self.transport.collective_time(what).unwrap_or(self.steps.send));
        self.collective = Some(Joined { op, what, number: self.collectives });
        self.transit.enters(self.collectives, now + self.spent);
        self.collectives += 1;
        lock(&self.report).hardware_collectives += 1;
        self.transport.collective(what, bytes);
        Ok(())
    }

    /// Starts a send. Returns whether it has finished.
    fn send(&mut self, now: Microticks, op: OpId, to: u32, bytes: u64, tag: u32) -> Result<bool, Failure> {
        let gap = (self.send_free + self.steps.gap).saturating_sub(now + self.spent);
        if !self.steps.gap.is_zero() && !self.send_free.is_zero() {
            self.spend(gap);
        }
        let called_at = now + self.spent;
        self.send_free = called_at.max(Microticks(1));
        self.spend(self.steps.send);
        let sequence = self.sent.entry(to).or_insert(0);
        let mut envelope = Envelope { kind: Kind::Eager, sequence: *sequence, tag, bytes, request: 0 };
        *sequence += 1;
        if to == self.rank {
            self.spend(self.steps.copy(bytes));
            self.note_send(to, &envelope, called_at);
            self.early.entry(to).or_default().1.insert(envelope.sequence, envelope);
            self.timers.insert((now + self.spent + Microticks(1), TO_SELF), OpId(TO_SELF));
            return Ok(true);
        }
        if bytes <= self.eager_max_bytes && self.transport.has_space(bytes) {
            let copies = self.transport.copies(bytes);
            if copies {
                self.spend(self.steps.copy(bytes));
            } else {
                envelope.request = self.sends.insert((op, to)) as u32;
            }
            self.note_send(to, &envelope, called_at);
            self.put(to, envelope);
            return Ok(copies);
        }
        envelope.kind = Kind::RequestToSend;
        envelope.request = self.sends.insert((op, to)) as u32;
        lock(&self.report).rendezvous += 1;
        self.note_send(to, &envelope, called_at);
        self.put(to, envelope);
        Ok(false)
    }

    /// A message has been matched with its receive, which had been posted before it came if it was expected.
    /// Returns the operation, if it has thereby finished.
    fn matched(
        &mut self,
        posted: Posted,
        message: Unmatched,
        is_expected: bool,
    ) -> Result<Option<OpId>, Failure> {
        let Unmatched { envelope, from } = message;
        if envelope.bytes > posted.bytes {
            return Err(Failure::new(
                "receive",
                format!(
                    "a message of {} B from rank {from} to rank {} with tag {} is longer than its receive, which is of {} B",
                    envelope.bytes, self.rank, envelope.tag, posted.bytes
                ),
            ));
        }
        if envelope.kind == Kind::Eager {
            let met_at = self.since + self.spent;
            self.spend(self.steps.receive);
            // One that was not expected was copied to a buffer of the library first.
            if !(is_expected && self.transport.copies_parts(envelope.bytes)) {
                self.spend(self.steps.copy(envelope.bytes));
            }
            self.count(from, &envelope, met_at);
            return Ok(Some(posted.op));
        }
        let request = self.receives.insert(Receive {
            op: posted.op,
            from,
            announced: envelope,
            met_at: self.since + self.spent,
        }) as u32;
        if self.transport.fetches() {
            self.transport.fetch(from, envelope.request, envelope.bytes, request);
        } else {
            let answer = Envelope { kind: Kind::ClearToSend, tag: request, ..envelope };
            self.put(from, answer);
        }
        Ok(None)
    }

    /// Counts a message that has been received.
    fn count(&mut self, from: u32, envelope: &Envelope, met_at: Microticks) {
        let done_at = self.since + self.spent;
        let mut report = lock(&self.report);
        report.messages += 1;
        report.message_bytes += envelope.bytes;
        if let Some(timeline) = &mut report.timeline {
            timeline.received(end_of(from, envelope, (met_at, done_at)));
        }
    }

    /// Notes a call that has begun at this time and returns now.
    fn note_send(&mut self, to: u32, envelope: &Envelope, called_at: Microticks) {
        let returns_at = self.since + self.spent;
        let mut report = lock(&self.report);
        report.sent += 1;
        if let Some(timeline) = &mut report.timeline {
            timeline.sent(end_of(to, envelope, (called_at, returns_at)));
        }
    }

    /// Matches the messages from a rank that are next in order.
    fn accept(&mut self, from: u32, now: Microticks) -> Outcome {
        loop {
            let (next, early) = self.early.entry(from).or_default();
            let Some(envelope) = early.remove(next) else { return Ok(()) };
            *next += 1;
            let message = Unmatched { envelope, from };
            if let Some(posted) = self.matching.arrive(from, envelope.tag, message)
                && let Some(op) = self.matched(posted, message, true)?
            {
                self.finished(op, now)?;
            }
        }
    }

    /// An event of the transport.
    fn happened(&mut self, event: Event, now: Microticks) -> Outcome {
        self.waited_for(&event, now);
        let unknown = |what: &str, request| {
            Err(Failure::new("advance", format!("{what} of request {request}, which does not exist")))
        };
        match event {
            Event::Arrived { from, envelope } => match envelope.kind {
                Kind::Eager | Kind::RequestToSend => {
                    self.early.entry(from).or_default().1.insert(envelope.sequence, envelope);
                    self.accept(from, now)
                }
                Kind::ClearToSend => {
                    let Some(&(_, to)) = self.sends.get(envelope.request.into()) else {
                        return unknown("a clear-to-send", envelope.request);
                    };
                    // The receiver identifies the data by its own request, this side by the sender's.
                    self.put(
                        to,
                        Envelope {
                            kind: Kind::Data,
                            tag: envelope.request,
                            request: envelope.tag,
                            ..envelope
                        },
                    );
                    Ok(())
                }
                Kind::Data => match self.receives.remove(envelope.request.into()) {
                    None => unknown("data", envelope.request),
                    Some(receive) => {
                        self.spend(self.steps.receive);
                        self.count(receive.from, &receive.announced, receive.met_at);
                        self.finished(receive.op, now)
                    }
                },
                Kind::Finished => match self.sends.remove(envelope.request.into()) {
                    None => unknown("the end", envelope.request),
                    Some((op, _)) => self.finished(op, now),
                },
            },
            Event::Collected => match self.collective.take() {
                None => unknown("the end of a collective operation", 0),
                Some(Joined { op, what, .. }) => {
                    if self.transport.collective_time(what).is_none() {
                        self.spend(self.steps.receive);
                    }
                    self.finished(op, now)
                }
            },
            Event::Sent { request } | Event::Read { request } => match self.sends.remove(request.into()) {
                None => unknown("the end", request),
                Some((op, _)) => self.finished(op, now),
            },
            Event::Fetched { request } => match self.receives.remove(request.into()) {
                None => unknown("data", request),
                Some(Receive { op, from, announced, met_at }) => {
                    self.spend(self.steps.receive);
                    self.count(from, &announced, met_at);
                    if !self.transport.notifies_of_reads() {
                        let (kind, request) = (Kind::Finished, announced.request);
                        self.put(from, Envelope { kind, sequence: 0, tag: 0, bytes: 0, request });
                    }
                    self.finished(op, now)
                }
            },
        }
    }

    /// Adds the time since the last resumption to the report.
    fn account(&mut self, now: Microticks) {
        let passed = now - self.since;
        self.spent += self.transport.take_spent();
        let mut report = lock(&self.report);
        if let RankReport { timeline: Some(timeline), waits_for, sends_to, collective, .. } = &mut *report {
            let (receive, send_to, collective) = (*waits_for, *sends_to, *collective);
            let waiting = Waiting { receive, send_to, collective, ..Waiting::default() };
            note_step(timeline, self.doing, (self.since, now), self.spent, waiting);
        }
        match self.doing {
            Doing::Computing(_) | Doing::Overlapping => report.compute += passed,
            Doing::Waiting => {
                let (_, waited) = self.waits.get_or_insert((self.since, Microticks::ZERO));
                *waited += passed;
            }
            Doing::Library => {
                let software = self.spent.min(passed);
                report.software += software;
                report.injection += passed - software;
            }
        }
        (self.since, self.spent) = (now, Microticks::ZERO);
    }

    fn resume(&mut self, now: Microticks, why: Resumed) -> Result<Step, Failure> {
        self.account(now);
        if let Doing::Computing(op) = std::mem::replace(&mut self.doing, Doing::Library) {
            self.finished(op, now)?;
        }
        if let Resumed::Found(place) = why {
            self.transport.found(place as usize);
        }
        if why == Resumed::Started {
            self.transport.start();
            let transport = &self.transport;
            let is_preferred = |what: &Collective| transport.prefers_hardware(*what);
            let max_bytes =
                |what| Some(what).filter(is_preferred).and_then(|what| transport.collective_max_bytes(what));
            self.program.set_hardware(HardwareCollectives::new(max_bytes));
            let mut issue = std::mem::take(&mut self.issue);
            self.program.start(&mut issue);
            self.issue = issue;
            self.perform(now)?;
        }
        loop {
            while let Some(entry) = self.timers.first_entry()
                && entry.key().0 <= now
            {
                match entry.remove() {
                    OpId(TO_SELF) => self.accept(self.rank, now)?,
                    op => self.finished(op, now)?,
                }
            }
            if self.has_pending() {
                return Ok(Step::Running);
            }
            if let Some((op, key)) = self.marks.pop_front() {
                self.transport.thread().measure(key, now);
                self.finished(op, now)?;
                continue;
            }
            if let Some((op, microticks)) = self.to_compute.pop_front() {
                self.doing = Doing::Computing(op);
                self.transport.thread().spend(microticks);
                return Ok(Step::Running);
            }
            match self.transport.advance() {
                Some(event) => self.happened(event, now)?,
                None if self.has_pending() => return Ok(Step::Running),
                None => break,
            }
        }
        if self.program.is_done()
            && self.sends.is_empty()
            && self.receives.is_empty()
            && self.transport.is_idle()
        {
            // What it still had to wait for.
            if let Some(waits) = self.waits.take() {
                self.waited_for_the_interface(Some(waits));
            }
            let mut report = lock(&self.report);
            report.ended_at = Some(now);
            report.unreceived = self.matching.unexpected().map(|(source, tag, _)| (source, tag)).min();
            (report.waits_for, report.sends_to, report.collective) = (None, None, None);
            return Ok(Step::Ended(Ok(())));
        }
        let computes = self.timers.values().any(|op| op.0 != TO_SELF);
        self.doing = if computes { Doing::Overlapping } else { Doing::Waiting };
        let mut report = lock(&self.report);
        report.waits_for = self.matching.posted().map(|(source, tag, _)| (source, tag)).min();
        report.sends_to = self.sends.first().map(|&(_, to)| to);
        report.collective = self.collective.map(|own| own.what);
        drop(report);
        let (any, most) = self.transport.watches();
        let timer = self.timers.first_key_value().map(|(key, _)| key.0 - now);
        let at_most = [most, timer].into_iter().flatten().min();
        self.transport.thread().wait(Wait { at_most, ..Wait::for_any(any) });
        Ok(Step::Running)
    }
}

/// In place of an operation of the program: a message of the rank to itself.
const TO_SELF: u32 = u32::MAX;

impl<T: Transport> Process<T::Command, T::Watch> for Rank<T> {
    fn resume(
        &mut self,
        now: Microticks,
        why: Resumed,
        operations: &mut Operations<T::Command, T::Watch>,
    ) -> Step {
        self.transport.thread().resumed(now, why);
        let step = self.resume(now, why);
        self.transport.thread().take(operations);
        step.unwrap_or_else(|failure| {
            operations.clear();
            Step::Ended(Err(failure))
        })
    }
}
