//! What a process knows of its windows, as a target and as an origin, and what messages of windows do to it.

use super::lock::Lock;
use super::message::{DONE, Kind, Label, NO_TOKEN, OUT_OF_RANGE, Token};
use super::target::{Exposed, OutOfRange, Place, Reply, carry_out_message};
use crate::error::{Class, Error};
use crate::matching::Envelope;
use crate::transport::{Memory, Process};
use crate::waits::{self, OfWindow};
use std::collections::{BTreeMap, VecDeque};

/// What an origin may access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    #[default]
    None,
    /// All, since a fence; and whether it has.
    Fence {
        /// Whether there was an operation since.
        is_used: bool,
    },
    /// Those of a group, since a start.
    Started {
        /// The group.
        group: Vec<Process>,
        /// Whether none of them sends that it has posted.
        is_unchecked: bool,
    },
    /// Those that are locked, one by one.
    Locks,
    /// All.
    LockAll {
        /// Whether nobody locks alone.
        is_unchecked: bool,
    },
}

/// Whether an origin has the lock of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Held {
    /// No.
    #[default]
    No,
    /// It has asked for it.
    Asked,
    /// Yes.
    Yes,
    /// It needs none: `MPI_MODE_NOCHECK`.
    Unchecked,
}

/// What an origin knows of a target that it has accessed.
#[derive(Debug, Default)]
pub struct Target {
    /// Its lock.
    pub lock: Held,
    /// Results that have not arrived.
    pub results: u32,
    /// Answers that have not arrived of operations without a result.
    pub answers: u32,
    /// Whether it may not have carried out all operations, beside those that it will answer.
    pub is_dirty: bool,
    /// Whether its post has been seen in this epoch.
    pub is_posted: bool,
    /// What the answer of an operation tells, until the program hears of it.
    pub failed: Option<Error>,
}

impl Target {
    /// Whether it has carried out all operations, none of which has failed.
    pub fn is_idle(&self) -> bool {
        self.results == 0 && self.answers == 0 && !self.is_dirty && self.failed.is_none()
    }
}

/// A window.
#[derive(Debug)]
pub struct State {
    /// This process's memory.
    pub exposed: Exposed,
    /// Under which address others reach it without this process, if they can.
    pub address: Option<u64>,
    /// This process's lock.
    pub lock: Lock,
    /// Whom this process has posted to, and has not waited for.
    pub posted_to: Option<Vec<Process>>,
    /// Origins that have completed, and how often.
    pub completed: BTreeMap<Process, u32>,
    /// Origins whose accesses were out of range, which they have not heard of.
    pub out_of_range: Vec<Process>,
    /// What this process may access.
    pub access: Access,
    /// Targets that it has accessed in this epoch.
    pub targets: BTreeMap<Process, Target>,
    /// Targets that have posted to it, and how often.
    pub posts: BTreeMap<Process, u32>,
    /// Where memory of targets is that has been asked for, once it is known.
    pub located: BTreeMap<Process, Option<u64>>,
    /// What has failed, and the program has not heard of.
    pub failed: Option<Error>,
}

impl State {
    /// Of a window that exposes this memory.
    pub fn new(exposed: Exposed, address: Option<u64>) -> Self {
        State {
            exposed,
            address,
            lock: Lock::default(),
            posted_to: None,
            completed: BTreeMap::new(),
            out_of_range: vec![],
            access: Access::None,
            targets: BTreeMap::new(),
            posts: BTreeMap::new(),
            located: BTreeMap::new(),
            failed: None,
        }
    }

    /// Whether this process has the lock of a target.
    pub fn held(&self, process: Process) -> Held {
        self.targets.get(&process).map_or(Held::No, |target| target.lock)
    }

    /// What this process knows of a target.
    pub fn target(&mut self, process: Process) -> &mut Target {
        self.targets.entry(process).or_default()
    }
}

/// Takes one from a count, if there is one.
pub fn take_one(counts: &mut BTreeMap<Process, u32>, of: Process) -> bool {
    let Some(count) = counts.get_mut(&of) else { return false };
    *count -= 1;
    if *count == 0 {
        counts.remove(&of);
    }
    true
}

/// A result for which an origin waits.
#[derive(Debug)]
pub struct Pending {
    window: u32,
    target: Process,
    /// Where its data goes; `None` if it has none.
    place: Option<Place>,
    /// Long data, until it is complete.
    buffer: Box<[u8]>,
    /// Whether somebody asks for its end.
    is_awaited: bool,
    /// Whether only the answer of an operation is to come, which has no result.
    is_answer: bool,
    end: Option<Result<(), Error>>,
}

/// A message that has arrived after one whose data is not complete.
#[derive(Debug)]
struct Arriving {
    label: Label,
    data: Box<[u8]>,
    /// The number of data that is not complete.
    number: Option<u32>,
    is_cut: bool,
}

/// Data of a message that is to be sent.
#[derive(Debug)]
pub enum Payload {
    /// A copy.
    Bytes(Box<[u8]>),
    /// Memory of the window.
    Memory(Memory),
}

/// A message that is to be sent.
#[derive(Debug)]
pub struct Outgoing {
    /// To whom.
    pub to: Process,
    /// What it is.
    pub label: Label,
    /// Its data.
    pub data: Payload,
}

/// All windows of a process.
#[derive(Debug, Default)]
pub struct Tables {
    /// By number.
    pub windows: BTreeMap<u32, State>,
    /// Messages that are to be sent, in order.
    pub outgoing: VecDeque<Outgoing>,
    results: Vec<Option<Pending>>,
    free: Vec<Token>,
    /// Of each process whose messages cannot be carried out yet, in order.
    arriving: BTreeMap<Process, VecDeque<Arriving>>,
    next_number: u32,
}

/// Where data is to go that comes later, and under which number its arrival is to be reported.
pub struct Announced {
    pub address: u64,
    pub number: u64,
}

/// Numbers of data of results.
const RESULT: u64 = 1 << 32;

fn out_of_range(target: Process) -> Error {
    let text =
        format!("an access to process {target} is outside of the memory that it has attached to its window");
    Error::new(Class::RmaRange, text)
}

impl Tables {
    /// The state of a window that has not been freed.
    pub fn window(&mut self, id: u32) -> &mut State {
        self.windows.get_mut(&id).expect("it is there until it is freed")
    }

    /// A message to another process, or to this one.
    pub fn send(&mut self, to: Process, label: Label, data: impl Into<Box<[u8]>>) {
        self.outgoing.push_back(Outgoing { to, label, data: Payload::Bytes(data.into()) });
    }

    /// Something that a target is asked for.
    pub fn expect(&mut self, window: u32, target: Process, place: Option<Place>, is_awaited: bool) -> Token {
        self.window(window).target(target).results += 1;
        let buffer = Box::default();
        self.insert(Pending { window, target, place, buffer, is_awaited, is_answer: false, end: None })
    }

    /// An operation without a result is sent to a target; the token by which the target answers it, if it is
    /// to do so: the first one since the last flush. Mostly there is no other, and then a flush has nothing to
    /// send. Not between start and complete, which waits for no answers.
    pub fn expect_answer(&mut self, window: u32, target: Process) -> Option<Token> {
        let state = self.window(window);
        let is_started = matches!(state.access, Access::Started { .. });
        let of = state.target(target);
        if is_started || of.is_dirty || of.answers > 0 {
            of.is_dirty = true;
            return None;
        }
        of.answers = 1;
        let (place, buffer, is_awaited, is_answer) = (None, Box::default(), false, true);
        Some(self.insert(Pending { window, target, place, buffer, is_awaited, is_answer, end: None }))
    }

    fn insert(&mut self, pending: Pending) -> Token {
        match self.free.pop() {
            Some(token) => {
                self.results[token as usize] = Some(pending);
                token
            }
            None => {
                self.results.push(Some(pending));
                self.results.len() as Token - 1
            }
        }
    }

    /// What was to be asked for is not.
    pub fn withdraw(&mut self, token: Token) {
        if let Some(Some(Pending { window, target, .. })) = self.results.get(token as usize) {
            let (window, target) = (*window, *target);
            self.window(window).target(target).results -= 1;
        }
        self.forget(token);
    }

    /// How a result has ended that is awaited.
    pub fn ended(&self, token: Token) -> Option<Result<(), Error>> {
        self.results[token as usize].as_ref().and_then(|pending| pending.end.clone())
    }

    /// Nobody asks for a result any more that has ended.
    pub fn forget(&mut self, token: Token) {
        self.results[token as usize] = None;
        self.free.push(token);
    }

    /// A result is here.
    fn end(&mut self, token: Token, end: Result<(), Error>) {
        let Some(Some(pending)) = self.results.get_mut(token as usize) else { return };
        let (window, target) = (pending.window, pending.target);
        let (is_awaited, is_answer) = (pending.is_awaited, pending.is_answer);
        pending.place = None;
        pending.buffer = Box::default();
        let error = end.as_ref().err().filter(|_| !is_awaited).cloned();
        pending.end = Some(end);
        if let Some(state) = self.windows.get_mut(&window) {
            let of = state.target(target);
            if is_answer {
                debug_assert!(of.answers > 0, "an epoch has ended without the answer of process {target}");
                of.answers = of.answers.saturating_sub(1);
                of.failed = of.failed.take().or(error);
            } else {
                of.results = of.results.saturating_sub(1);
                state.failed = state.failed.take().or(error);
            }
        }
        if !is_awaited {
            self.forget(token);
        }
    }

    /// A transfer without the target has ended.
    pub fn transferred(&mut self, token: Token, is_cut: bool) {
        let text = "the target of an operation has ended, or its memory cannot be reached";
        self.end(token, if is_cut { Err(Error::new(Class::ProcAborted, text)) } else { Ok(()) });
    }

    /// A message has arrived with all its data.
    pub fn arrived(&mut self, from: Process, envelope: &Envelope, data: &[u8]) {
        let Some(label) = Label::of(envelope) else { return };
        match self.arriving.get_mut(&from) {
            Some(queue) if label.kind != Kind::Result => {
                queue.push_back(Arriving { label, data: data.into(), number: None, is_cut: false });
            }
            _ => self.handle(from, label, data),
        }
    }

    /// A message has arrived whose data comes later.
    pub fn announced(&mut self, from: Process, envelope: &Envelope) -> Announced {
        let Some(label) = Label::of(envelope) else { unreachable!("messages of windows have a kind") };
        if label.kind == Kind::Result {
            let pending = self.results.get_mut(label.token as usize).and_then(Option::as_mut);
            let pending = pending.expect("a result belongs to a token");
            let run = pending.place.as_ref().and_then(|place| place.as_run(envelope.bytes));
            let address = run.unwrap_or_else(|| {
                pending.buffer = vec![0; envelope.bytes as usize].into();
                pending.buffer.as_mut_ptr() as u64
            });
            return Announced { address, number: RESULT | u64::from(label.token) };
        }
        let mut data = vec![0; envelope.bytes as usize].into_boxed_slice();
        let (number, address) = (self.next_number, data.as_mut_ptr() as u64);
        self.next_number = self.next_number.wrapping_add(1);
        let arriving = Arriving { label, data, number: Some(number), is_cut: false };
        self.arriving.entry(from).or_default().push_back(arriving);
        Announced { address, number: u64::from(number) }
    }

    /// The data of an announced message is complete, or will never be.
    pub fn received(&mut self, number: u64, is_cut: bool) {
        if number & RESULT != 0 {
            let token = number as Token;
            let end = match is_cut {
                true => Err(Error::new(Class::ProcAborted, "the target of an operation has ended")),
                false => Ok(()),
            };
            if let Some(Some(Pending { place: Some(place), buffer, .. })) = self.results.get(token as usize)
                && !buffer.is_empty()
                && !is_cut
            {
                place.store(buffer);
            }
            return self.end(token, end);
        }
        let number = Some(number as u32);
        let mut from = None;
        for (&process, queue) in &mut self.arriving {
            if let Some(message) = queue.iter_mut().find(|message| message.number == number) {
                (message.number, message.is_cut) = (None, is_cut);
                from = Some(process);
                break;
            }
        }
        let Some(from) = from else { return };
        // Messages of a process are carried out in order.
        while let Some(queue) = self.arriving.get_mut(&from) {
            match queue.front() {
                Some(first) if first.number.is_some() => return,
                Some(_) => {
                    let first = queue.pop_front().expect("it is there");
                    if !first.is_cut {
                        self.handle(from, first.label, &first.data);
                    }
                }
                None => drop(self.arriving.remove(&from)),
            }
        }
    }

    /// Does what a message says.
    fn handle(&mut self, from: Process, label: Label, data: &[u8]) {
        let Label { kind, window, token } = label;
        if kind == Kind::Result {
            return self.result(label, data);
        }
        let Some(state) = self.windows.get_mut(&window) else { return };
        match kind {
            Kind::Put | Kind::Accumulate | Kind::Get | Kind::GetAccumulate | Kind::CompareAndSwap => {
                self.operate(from, label, data);
            }
            Kind::LockShared | Kind::LockExclusive => {
                if state.lock.request(from, kind == Kind::LockExclusive) {
                    self.grant(from, window);
                }
            }
            Kind::Unlock => {
                let granted = state.lock.release(from);
                self.answer(from, window, token);
                granted.into_iter().for_each(|to| self.grant(to, window));
            }
            Kind::Flush => self.answer(from, window, token),
            Kind::Complete => *state.completed.entry(from).or_default() += 1,
            Kind::Locate => {
                let address = state.address.map(u64::to_le_bytes);
                let label = Label { kind: Kind::Located, window, token: 0 };
                address.into_iter().for_each(|address| self.send(from, label, address));
            }
            Kind::Located => {
                let address = data.try_into().map(u64::from_le_bytes).ok();
                state.located.insert(from, address);
            }
            Kind::Post => *state.posts.entry(from).or_default() += 1,
            Kind::Granted => state.target(from).lock = Held::Yes,
            Kind::Result => unreachable!("above"),
        }
    }

    fn grant(&mut self, to: Process, window: u32) {
        self.send(to, Label { kind: Kind::Granted, window, token: 0 }, []);
    }

    /// All that an origin has sent before has been carried out, or was out of range.
    fn answer(&mut self, to: Process, window: u32, token: Token) {
        let list = &mut self.window(window).out_of_range;
        let before = list.len();
        list.retain(|&of| of != to);
        let outcome = if list.len() < before { OUT_OF_RANGE } else { DONE };
        self.send(to, Label { kind: Kind::Result, window: outcome, token }, []);
    }

    /// Carries out an operation.
    fn operate(&mut self, from: Process, Label { kind, window, token }: Label, data: &[u8]) {
        let state = self.window(window);
        let end = carry_out_message(&state.exposed, kind, data);
        let has_result = !matches!(kind, Kind::Put | Kind::Accumulate);
        let (outcome, data) = match end {
            Ok(Some(Reply::Memory(memory))) => (DONE, Payload::Memory(memory)),
            Ok(Some(Reply::Bytes(bytes))) => (DONE, Payload::Bytes(bytes.into())),
            Ok(None) if token == NO_TOKEN => return,
            Ok(None) => (DONE, Payload::Bytes(Box::default())),
            Err(OutOfRange) if has_result || token != NO_TOKEN => {
                (OUT_OF_RANGE, Payload::Bytes(Box::default()))
            }
            Err(OutOfRange) => {
                if !state.out_of_range.contains(&from) {
                    state.out_of_range.push(from);
                }
                return;
            }
        };
        let label = Label { kind: Kind::Result, window: outcome, token };
        self.outgoing.push_back(Outgoing { to: from, label, data });
    }

    /// A result has arrived with all its data.
    fn result(&mut self, Label { window: outcome, token, .. }: Label, data: &[u8]) {
        let Some(Some(pending)) = self.results.get(token as usize) else { return };
        let end = match (outcome, &pending.place) {
            (DONE, Some(place)) => {
                place.store(data);
                Ok(())
            }
            (DONE, None) => Ok(()),
            _ => Err(out_of_range(pending.target)),
        };
        self.end(token, end);
    }

    /// Who has the locks of this process.
    pub fn locks(&self) -> impl Iterator<Item = (u32, &[Process])> {
        self.windows.iter().map(|(&window, state)| (window, state.lock.holders()))
    }

    /// What this process waits for.
    pub fn pending(&self) -> Vec<waits::Pending> {
        let mut list = vec![];
        for (&context, state) in &self.windows {
            let mut add = |what, process| list.push(waits::Pending::Window { context, what, process });
            for (&process, target) in &state.targets {
                match target {
                    Target { lock: Held::Asked, .. } => add(OfWindow::Lock, process),
                    Target { results: 1.., .. } | Target { answers: 1.., .. } => {
                        add(OfWindow::Results, process)
                    }
                    _ => {}
                }
            }
            if let Access::Started { group, is_unchecked: false } = &state.access {
                let is_missing = |target: &&Process| {
                    !state.posts.contains_key(target)
                        && !state.targets.get(target).is_some_and(|of| of.is_posted)
                };
                group.iter().filter(is_missing).for_each(|&target| add(OfWindow::Post, target));
            }
            let origins = state.posted_to.iter().flatten();
            let missing = origins.filter(|&origin| !state.completed.contains_key(origin));
            missing.for_each(|&origin| add(OfWindow::Complete, origin));
        }
        list
    }
}
