//! What a profile records of a thread of a guest: the calls of its program and the messages that it sends and
//! receives, with their simulated times. The guest puts marks ([`Mark`]) among its requests; its hardware
//! thread notes when it reaches them, which takes no time. So a run has the same times with and without a
//! profile, and what a guest did before it crashed is known.

use super::ContextNumber;
use crate::pami::device::Collective;
use crate::pami::message_unit::Flight;
use crate::transit::{Hops, Unloaded};
use netloom_node::process::Noted;
use netloom_node::program::lock;
use netloom_node::time::Microticks;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

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
    /// The part of its waiting that what was in flight takes on a machine that is otherwise empty.
    pub wire: Microticks,
    /// The part that what was in flight took longer.
    pub queueing: Microticks,
}

impl Parts {
    /// The whole time.
    pub fn sum(&self) -> Microticks {
        self.software + self.injection + self.waiting
    }

    /// The part of its waiting before others had sent.
    pub fn partner(&self) -> Microticks {
        self.waiting.saturating_sub(self.wire + self.queueing)
    }

    fn add(&mut self, other: &Parts) {
        self.software += other.software;
        self.injection += other.injection;
        self.waiting += other.waiting;
        self.wire += other.wire;
        self.queueing += other.queueing;
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

/// A collective operation by hardware: the tasks of its group, which of their groups it is, and which
/// operation of it.
type Operation = (Arc<[(u32, u32)]>, u32, usize);

/// What the recorders of a run share.
pub struct Shared {
    /// How long messages take on a machine that is otherwise empty.
    pub unloaded: Unloaded,
    /// Hops between nodes.
    pub hops: Hops,
    /// For each operation by hardware, when the last task entered it for which others wait.
    entered: Mutex<HashMap<Operation, Microticks>>,
}

impl Shared {
    /// For a run on a machine with these times.
    pub fn new(unloaded: Unloaded, hops: Hops) -> Self {
        Shared { unloaded, hops, entered: Mutex::default() }
    }
}

/// The groups of a task whose collective operations are by hardware.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// How often these tasks have been a group.
    joined: HashMap<Arc<[(u32, u32)]>, u32>,
    /// By context and number: the group, and its next operation.
    groups: HashMap<(ContextNumber, usize), Operation>,
}

impl Groups {
    /// A group of tasks has been set up. That of all tasks has none in the list.
    pub fn join(&mut self, by: ContextNumber, group: usize, tasks: &[(u32, u32)]) {
        let tasks: Arc<[(u32, u32)]> = tasks.into();
        let count = self.joined.entry(Arc::clone(&tasks)).or_insert(0);
        *count += 1;
        self.groups.insert((by, group), (tasks, *count, 0));
    }

    /// A task enters an operation. Returns it, and whether others wait for the task.
    fn enter(
        &mut self,
        (by, group): (ContextNumber, usize),
        operation: &Collective,
        task: u32,
    ) -> Option<(Operation, bool)> {
        let next = self.groups.get_mut(&(by, group))?;
        let own = next.clone();
        next.2 += 1;
        let counts = match *operation {
            Collective::Broadcast { root, .. } | Collective::Rectangle { root, .. } => root == task,
            _ => true,
        };
        Some((own, counts))
    }
}

/// A wait whose reason is not known yet: what ends it has not come.
#[derive(Clone, Copy, Debug)]
struct OpenWait {
    from: Microticks,
    to: Microticks,
    of: Of,
}

/// The call that a wait is part of.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// The one that the thread is in, if it is in one.
    Current,
    /// One of this name that has ended, and its place if it is kept.
    Ended(u32, Option<usize>),
}

/// A point that the hardware thread has not reached.
#[derive(Debug)]
enum Point {
    Mark(Mark),
    /// It enters a collective operation by hardware; others wait for it or not.
    Enter(Operation, bool),
}

/// Most waits whose reason is not known.
const OPEN_WAITS_MAX: usize = 10_000;
/// Most names of calls.
const NAMES_MAX: usize = 4096;

/// Records a thread.
pub struct Recorder {
    shared: Arc<Shared>,
    node: u32,
    record: Record,
    entries_max: usize,
    /// Marks that its hardware thread has not reached, and the time that it had waited when they came.
    pending: VecDeque<(Point, Microticks)>,
    /// The time that it has waited.
    waited: Microticks,
    open_waits: Vec<OpenWait>,
    /// The call that it is in: its name, when it began, and the time that it had waited then.
    open: Option<(u32, Noted, Microticks)>,
    /// The known parts of its waiting.
    open_parts: Parts,
    /// The operation by hardware that it has entered in this call.
    collective: Option<Operation>,
    /// When the thread began.
    began: Noted,
}

impl Recorder {
    /// A recorder that keeps at most this number of calls, and of messages' marks.
    pub fn new(shared: &Arc<Shared>, node: u32, entries_max: usize) -> Self {
        Recorder {
            shared: Arc::clone(shared),
            node,
            record: Record::default(),
            entries_max,
            pending: VecDeque::new(),
            waited: Microticks::ZERO,
            open_waits: vec![],
            open: None,
            open_parts: Parts::default(),
            collective: None,
            began: Noted::default(),
        }
    }

    /// What it has recorded.
    pub fn take_record(&mut self) -> Record {
        std::mem::take(&mut self.record)
    }

    /// The thread begins.
    pub(super) fn begin(&mut self, now: Microticks) {
        self.began = Noted { at: now, computed: Microticks::ZERO };
    }

    /// Whether a mark is one that a library sets.
    pub(super) fn is_valid(&self, mark: &Mark, tasks: u32) -> bool {
        let of_pending = |(point, _): &(Point, Microticks)| matches!(point, Point::Mark(Mark::Name(_)));
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
        self.pending.push_back((Point::Mark(mark), self.waited));
    }

    /// The hardware thread will enter an operation by hardware. Returns whether its group is known.
    pub(super) fn expect_entry(
        &mut self,
        groups: &mut Groups,
        of: (ContextNumber, usize),
        operation: &Collective,
        task: u32,
    ) -> bool {
        let entered = groups.enter(of, operation, task);
        let is_known = entered.is_some();
        self.pending
            .extend(entered.map(|(operation, counts)| (Point::Enter(operation, counts), self.waited)));
        is_known
    }

    /// The thread has waited.
    pub(super) fn wait(&mut self, from: Microticks, to: Microticks) {
        self.waited += to - from;
        if from < to {
            // What is forgotten is taken for waiting for others.
            if self.open_waits.len() == OPEN_WAITS_MAX {
                self.open_waits.clear();
            }
            self.open_waits.push(OpenWait { from, to, of: Of::Current });
        }
    }

    /// Something has arrived for which the thread may have waited. During an operation by hardware it waits
    /// for others to enter that.
    pub(super) fn arrived(&mut self, flight: Flight) {
        if self.collective.is_some() || self.open_waits.is_empty() {
            return;
        }
        let took = flight.found.saturating_sub(flight.sent);
        let hops = (self.shared.hops)(flight.node, self.node);
        // Without measurements all is attributed to the wire.
        let alone = self.shared.unloaded.time(flight.part, flight.bytes, hops).unwrap_or(took);
        self.explain(flight.sent, alone, took);
    }

    /// Why the waits since the last arrival took as long as they did: nothing was in flight before it was
    /// `sent`; the rest has the shares of the time that it `took`.
    fn explain(&mut self, sent: Microticks, alone: Microticks, took: Microticks) {
        let share = if took > alone { alone.0 as f64 / took.0 as f64 } else { 1.0 };
        for OpenWait { from, to, of } in self.open_waits.drain(..) {
            let in_flight = to.saturating_sub(from.max(sent));
            let wire = Microticks::of_f64(in_flight.0 as f64 * share).min(in_flight);
            let parts = Parts { wire, queueing: in_flight - wire, ..Parts::default() };
            match of {
                Of::Current => self.open_parts.add(&parts),
                Of::Ended(name, place) => {
                    self.record.by_name[name as usize].parts.add(&parts);
                    if let Some(place) = place {
                        self.record.calls[place].parts.add(&parts);
                    }
                }
            }
        }
    }

    /// The hardware thread has reached the next marks.
    pub(super) fn reached(&mut self, notes: Vec<Noted>) {
        for noted in notes {
            match self.pending.pop_front() {
                Some((Point::Mark(mark), waited)) => self.reach(mark, waited, noted),
                Some((Point::Enter(operation, counts), _)) => {
                    if counts {
                        let mut entered = lock(&self.shared.entered);
                        let last = entered.entry(operation.clone()).or_default();
                        *last = noted.at.max(*last);
                    }
                    self.collective = Some(operation);
                }
                None => return,
            }
        }
    }

    fn reach(&mut self, mark: Mark, waited: Microticks, noted: Noted) {
        match mark {
            Mark::Name(name) => self.record.by_name.push(Calls { name, ..Calls::default() }),
            Mark::Begin(name) => self.open_call(name, noted, waited),
            Mark::BeginFirst(name) => self.open_call(name, self.began, Microticks::ZERO),
            Mark::End => {
                self.explain_collective();
                let Some((name, began, waited_before)) = self.open.take() else { return };
                let (took, waiting) = (noted.at - began.at, waited - waited_before);
                let software = noted.computed - began.computed;
                let injection = took.saturating_sub(software + waiting);
                let Parts { wire, queueing, .. } = std::mem::take(&mut self.open_parts);
                let parts = Parts { software, injection, waiting, wire, queueing };
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

    /// A call begins. Waits before it are outside of calls, and of no interest.
    fn open_call(&mut self, name: u32, noted: Noted, waited: Microticks) {
        self.open_waits.retain(|wait| !matches!(wait.of, Of::Current));
        self.open = Some((name, noted, waited));
        self.open_parts = Parts::default();
    }

    /// An operation by hardware in the call has ended: what came after the last task had entered it was in
    /// flight.
    fn explain_collective(&mut self) {
        if let Some(operation) = self.collective.take() {
            let last = lock(&self.shared.entered).get(&operation).copied().unwrap_or_default();
            self.explain(last, Microticks::ZERO, Microticks::ZERO);
        }
    }

    fn add(&mut self, call: Call) {
        let took = call.to - call.from;
        let calls = &mut self.record.by_name[call.name as usize];
        calls.count += 1;
        calls.longest = calls.longest.max(took);
        calls.parts.add(&call.parts);
        let mut place = None;
        if took.is_zero() {
        } else if self.record.calls.len() < self.entries_max {
            place = Some(self.record.calls.len());
            self.record.calls.push(call);
        } else {
            self.record.dropped += 1;
        }
        for wait in &mut self.open_waits {
            if let Of::Current = wait.of {
                wait.of = Of::Ended(call.name, place);
            }
        }
    }
}
