//! What a profile records of a thread of a guest: the calls of its program and the messages that it sends and
//! receives, with their simulated times. The guest puts marks ([`Mark`]) among its requests; its hardware
//! thread notes when it reaches them, which takes no time. So a run has the same times with and without a
//! profile, and what a guest did before it crashed is known.

use netloom_node::process::Noted;
use netloom_node::time::Microticks;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A point in a program that a profile records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// A call of this name may follow. Names have numbers in the order of these marks.
    Name(String),
    /// A call begins; the number of its name.
    Begin(u32),
    /// The same for one that began with the thread: the call that starts the library.
    BeginFirst(u32),
    /// The call ends.
    End,
    /// Calls in a row of one name that took no time: the name, and how many there were.
    Brief(u32, u64),
    /// The call sends a message.
    Sent(Matched),
    /// A receive takes a message, whose data is there, or else follows ([`Mark::Received`]).
    Taken {
        /// The message.
        message: Matched,
        /// The receive's number, if the data follows.
        number: Option<u64>,
    },
    /// The data of a message that was taken is there; the receive's number.
    Received(u64),
}

/// What a message is matched by, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Matched {
    /// The task at its other end.
    pub peer: u32,
    /// The context of its communicator.
    pub context: u32,
    /// Its tag.
    pub tag: i32,
    /// Its length, bytes.
    pub bytes: u64,
}

/// The parts of a time in calls; they add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The library's instructions.
    pub software: Microticks,
    /// The Message Unit took commands from the thread.
    pub injection: Microticks,
    /// The thread waited.
    pub waiting: Microticks,
}

impl Parts {
    /// All of them.
    pub fn sum(&self) -> Microticks {
        self.software + self.injection + self.waiting
    }

    fn add(&mut self, other: &Parts) {
        self.software += other.software;
        self.injection += other.injection;
        self.waiting += other.waiting;
    }
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The number of its name.
    pub name: u32,
    /// When it began.
    pub from: Microticks,
    /// When it ended.
    pub to: Microticks,
    /// Its time.
    pub parts: Parts,
}

/// The calls of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// The name.
    pub name: String,
    /// How many there were.
    pub count: u64,
    /// The longest of them.
    pub longest: Microticks,
    /// Their times.
    pub parts: Parts,
}

/// What was recorded of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Its calls by the numbers of their names.
    pub by_name: Vec<Calls>,
    /// Its calls in order, but for those that took no time.
    pub calls: Vec<Call>,
    /// Its messages' marks, in order.
    pub messages: Vec<(Microticks, Mark)>,
    /// Calls and messages that are not in the lists, which are full.
    pub dropped: u64,
}

/// Most names of calls.
const NAMES_MAX: usize = 4096;

/// Records a thread.
#[derive(Debug, Default)]
pub struct Recorder {
    record: Record,
    entries_max: usize,
    /// Marks that its hardware thread has not reached, and the time that it had waited when they came.
    pending: VecDeque<(Mark, Microticks)>,
    /// The time that it has waited.
    waited: Microticks,
    /// The call that it is in: its name, when it began, and the time that it had waited then.
    open: Option<(u32, Noted, Microticks)>,
    /// When the thread began.
    began: Noted,
}

impl Recorder {
    /// A recorder that keeps at most this number of calls, and of messages' marks.
    pub fn new(entries_max: usize) -> Self {
        Recorder { entries_max, ..Recorder::default() }
    }

    /// What it has recorded.
    pub fn into_record(self) -> Record {
        self.record
    }

    /// The thread begins.
    pub(super) fn begin(&mut self, now: Microticks) {
        self.began = Noted { at: now, computed: Microticks::ZERO };
    }

    /// Whether a mark is one that a library sets.
    pub(super) fn is_valid(&self, mark: &Mark, tasks: u32) -> bool {
        let of_pending = |(mark, _): &(Mark, Microticks)| matches!(mark, Mark::Name(_));
        let names = || self.record.by_name.len() + self.pending.iter().filter(|p| of_pending(p)).count();
        match mark {
            Mark::Name(_) => names() < NAMES_MAX,
            Mark::Begin(name) | Mark::BeginFirst(name) | Mark::Brief(name, _) => (*name as usize) < names(),
            Mark::Sent(message) | Mark::Taken { message, .. } => message.peer < tasks,
            Mark::End | Mark::Received(_) => true,
        }
    }

    /// The hardware thread will reach a mark.
    pub(super) fn expect(&mut self, mark: Mark) {
        self.pending.push_back((mark, self.waited));
    }

    /// The thread has waited.
    pub(super) fn wait(&mut self, from: Microticks, to: Microticks) {
        self.waited += to - from;
    }

    /// The hardware thread has reached the next marks.
    pub(super) fn reached(&mut self, notes: Vec<Noted>) {
        for noted in notes {
            let Some((mark, waited)) = self.pending.pop_front() else { return };
            self.reach(mark, waited, noted);
        }
    }

    fn reach(&mut self, mark: Mark, waited: Microticks, noted: Noted) {
        match mark {
            Mark::Name(name) => self.record.by_name.push(Calls { name, ..Calls::default() }),
            Mark::Begin(name) => self.open = Some((name, noted, waited)),
            Mark::BeginFirst(name) => self.open = Some((name, self.began, Microticks::ZERO)),
            Mark::End => {
                let Some((name, began, waited_before)) = self.open.take() else { return };
                let (took, waiting) = (noted.at - began.at, waited - waited_before);
                let software = noted.computed - began.computed;
                let injection = took.saturating_sub(software + waiting);
                let parts = Parts { software, injection, waiting };
                self.add(Call { name, from: began.at, to: noted.at, parts });
            }
            Mark::Brief(name, count) => self.record.by_name[name as usize].count += count,
            Mark::Sent(_) | Mark::Taken { .. } | Mark::Received(_) => {
                if self.record.messages.len() < self.entries_max {
                    self.record.messages.push((noted.at, mark));
                } else {
                    self.record.dropped += 1;
                }
            }
        }
    }

    fn add(&mut self, call: Call) {
        let took = call.to - call.from;
        let calls = &mut self.record.by_name[call.name as usize];
        calls.count += 1;
        calls.longest = calls.longest.max(took);
        calls.parts.add(&call.parts);
        if took.is_zero() {
            return;
        }
        if self.record.calls.len() < self.entries_max {
            self.record.calls.push(call);
        } else {
            self.record.dropped += 1;
        }
    }
}
