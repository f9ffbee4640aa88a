//! Windows: all blocks advance by one lookahead, exchange messages, and repeat.
//!
//! A panic in a block ends the run on all threads: its thread stores it and still arrives at the barrier, the
//! last thread there ends the run instead of starting a window, and [`Simulation::run_until`] resumes the
//! panic.
//!
//! Loom checks the windows like the barrier, see `barrier.rs`.
#![allow(unexpected_cfgs)] // loom is set by hand.

use crate::barrier::Barrier;
use crate::gain::{Gain, Stopwatch};
use crate::peers::{Peers, Remote, SharedState};
use crate::{Progress, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::*;
use std::sync::{Arc, LockResult, PoisonError};

#[cfg(all(loom, test))]
use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize},
};
#[cfg(not(all(loom, test)))]
use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize},
};

/// A part of the model that one thread simulates at a time.
pub trait Block: Send {
    /// The messages between blocks: events by value.
    type Message: Send + Serialize + DeserializeOwned;

    /// The time of the block's next event.
    fn next_time(&self) -> Option<Time>;

    /// Applies all events before `until`; messages to other blocks go to `out`, due at `until` at the
    /// earliest. Returns the number of events applied.
    fn advance(&mut self, until: Time, out: &mut Outbox<Self::Message>) -> u64;

    /// Receives messages from other blocks, each due at or after the time of everything applied so far;
    /// empties the list.
    fn receive(&mut self, messages: &mut Vec<(Time, Self::Message)>);
}

/// The messages that a block sends in a window, by receiving block.
pub struct Outbox<M> {
    lanes: Vec<Vec<(Time, M)>>,
    to: Vec<u32>,
    earliest: Time,
}

impl<M> Outbox<M> {
    /// Lanes to these blocks, by number.
    pub fn new(to: Vec<u32>) -> Self {
        Outbox { lanes: to.iter().map(|_| Vec::new()).collect(), to, earliest: Time::MAX }
    }

    /// Sends on a lane.
    #[inline]
    pub fn send(&mut self, lane: usize, time: Time, message: M) {
        self.earliest = self.earliest.min(time);
        self.lanes[lane].push((time, message));
    }
}

struct Slot<B: Block> {
    block: B,
    out: Outbox<B::Message>,
}

/// Why [`Simulation::run_until`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The requested time was reached: all events before it have been applied.
    Time,
    /// No block has any events left.
    Idle,
    /// A stop was requested; all events before the current time have been applied.
    Stopped,
}

type Inbox<M> = Mutex<Vec<(Time, M)>>;

/// Returns the data of a lock, even after a panic in a block: that panic is reported itself, and one about
/// its lock would hide it.
fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// Blocks and the messages between them.
pub struct Simulation<B: Block> {
    slots: Vec<Mutex<Slot<B>>>,
    /// Two per block: one is read while the other fills, by the window's parity.
    inboxes: Vec<[Inbox<B::Message>; 2]>,
    /// Earliest message in each inbox.
    inbox_time: Vec<[AtomicU64; 2]>,
    /// Earliest event of each block.
    next_time: Vec<AtomicU64>,
    /// Minimum delay of messages, ticks.
    lookahead: u64,
    now: Time,
    window: u64,
    /// If threads are spared, what several would gain.
    gain: Option<Gain>,
    /// What other processes simulate, if there are any.
    remote: Option<Remote<B::Message>>,
    /// A block panicked: some events of a window were applied, others were not.
    panicked: bool,
}

impl<B: Block> Simulation<B> {
    /// `lanes[b]` are the blocks to which block `b` sends; `lookahead` is the minimum delay of any message,
    /// ticks: at least one.
    pub fn new(blocks: Vec<B>, lanes: Vec<Vec<u32>>, lookahead: u64) -> Self {
        assert!(lookahead > 0, "the lookahead must be at least one tick");
        assert_eq!(blocks.len(), lanes.len());
        let next_time = blocks.iter().map(|b| AtomicU64::new(of(b.next_time()))).collect();
        Simulation {
            inboxes: blocks.iter().map(|_| [Mutex::new(Vec::new()), Mutex::new(Vec::new())]).collect(),
            inbox_time: blocks.iter().map(|_| [AtomicU64::new(NEVER), AtomicU64::new(NEVER)]).collect(),
            next_time,
            slots: blocks
                .into_iter()
                .zip(lanes)
                .map(|(block, to)| Mutex::new(Slot { block, out: Outbox::new(to) }))
                .collect(),
            lookahead,
            now: Time::ZERO,
            window: 0,
            gain: None,
            remote: None,
            panicked: false,
        }
    }

    /// The same for the blocks of one of several processes, of `blocks` in all: its
    /// [share](crate::own_blocks). `lanes` have the numbers of all. All processes then run it with the same
    /// times.
    ///
    /// # Panics
    /// If this is another number of blocks.
    pub fn of_process(
        peers: Arc<dyn Peers>,
        blocks: usize,
        own: Vec<B>,
        lanes: Vec<Vec<u32>>,
        lookahead: u64,
        shared_states: Vec<Arc<dyn SharedState>>,
    ) -> Self {
        let remote = Remote::new(peers, blocks, &lanes, shared_states);
        assert_eq!(remote.own.len(), own.len(), "blocks of this process");
        Simulation { remote: Some(remote), ..Self::new(own, lanes, lookahead) }
    }

    /// A value of each process, by their numbers: of this one alone, or, if there are several, of all, which all
    /// ask.
    pub fn gather<T: Serialize + DeserializeOwned>(&self, own: T) -> Vec<T> {
        match &self.remote {
            None => vec![own],
            Some(remote) => crate::gather(&*remote.peers, &own),
        }
    }

    /// The bytes of all processes at the first one: see [`collect`](crate::collect).
    pub fn collect(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        match &self.remote {
            None => vec![own],
            Some(remote) => crate::collect(&*remote.peers, own),
        }
    }

    /// The numbers of its blocks.
    pub fn numbers(&self) -> std::ops::Range<usize> {
        self.remote.as_ref().map_or(0..self.slots.len(), |remote| remote.own.clone())
    }

    /// Current time: all events before it have been applied.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The blocks, in order.
    pub fn blocks(&mut self) -> impl Iterator<Item = &mut B> {
        self.slots.iter_mut().map(|slot| &mut unpoisoned(slot.get_mut()).block)
    }

    /// Calls a function with each block, in order, and the messages that it has not received.
    pub(crate) fn with_waiting<R>(
        &mut self,
        mut f: impl FnMut(&mut B, &mut Vec<(Time, B::Message)>) -> R,
    ) -> Vec<R> {
        let parity = (self.window % 2) as usize;
        let pairs = self.slots.iter_mut().zip(&mut self.inboxes);
        pairs
            .map(|(slot, inboxes)| {
                f(&mut unpoisoned(slot.get_mut()).block, unpoisoned(inboxes[parity].get_mut()))
            })
            .collect()
    }

    /// The blocks, and what they have not received, are at this time.
    pub(crate) fn resume_at(&mut self, now: Time) {
        self.now = now;
        let parity = (self.window % 2) as usize;
        for (inboxes, times) in self.inboxes.iter_mut().zip(&self.inbox_time) {
            let earliest = unpoisoned(inboxes[parity].get_mut()).iter().map(|message| message.0).min();
            times[parity].store(of(earliest), Relaxed);
        }
        self.refresh();
    }

    /// Must be called after an outside change to a block that may make its next event earlier.
    pub fn refresh(&mut self) {
        for (slot, next) in self.slots.iter_mut().zip(&self.next_time) {
            let block = &unpoisoned(slot.get_mut()).block;
            next.store(of(block.next_time()), Relaxed);
        }
    }

    /// Time of the earliest event or message anywhere. If there are several processes, all ask.
    pub fn next_time(&self) -> Option<Time> {
        let inbox = &self.inbox_time;
        let earliest = (0..self.slots.len()).map(|b| {
            let waiting = inbox[b][0].load(Relaxed).min(inbox[b][1].load(Relaxed));
            self.next_time[b].load(Relaxed).min(waiting)
        });
        let own = earliest.min().unwrap_or(NEVER);
        let all = self.remote.as_ref().map_or(own, |remote| remote.peers.least([own, NEVER])[0]);
        Some(Time::at(all)).filter(|_| all != NEVER)
    }

    /// From now on windows are left to one thread where several would gain nothing.
    pub fn spare_threads(&mut self) {
        self.gain = Some(Gain::SMALL);
    }

    /// Applies all events before `until`, using this number of threads, or [fewer](Self::spare_threads).
    ///
    /// # Panics
    /// With a block's own panic, whichever thread advanced it; if several blocks panic in one window, with
    /// that of the lowest-numbered one. Afterwards blocks can only be inspected.
    pub fn run_until(&mut self, until: Time, threads: usize, progress: &Progress) -> Reached {
        assert!(!self.panicked, "a block panicked in an earlier run: its state is not valid");
        let threads = threads.clamp(1, self.slots.len().max(1));
        let mut next = self.next_time();
        loop {
            let Some(first) = next else { return Reached::Idle };
            if first >= until {
                self.now = self.now.max(until);
                progress.reached(self.now);
                // Where nothing happens until then, no window asks.
                let is_stopping = progress.stopping();
                let stops = self
                    .remote
                    .as_ref()
                    .map_or(is_stopping, |remote| remote.peers.least([(!is_stopping).into(), NEVER])[0] == 0);
                return if stops { Reached::Stopped } else { Reached::Time };
            }
            let shared = Window::new(first, self.window, until, threads, self.gain);
            if shared.threads() == 1 {
                self.work(&shared, 0, progress);
            } else {
                std::thread::scope(|scope| {
                    for thread in 1..threads {
                        let (this, shared) = (&*self, &shared);
                        scope.spawn(move || this.work(shared, thread, progress));
                    }
                    self.work(&shared, 0, progress);
                });
            }
            if let Some((_, panic)) = lock(&shared.panic).take() {
                self.panicked = true;
                resume_unwind(panic);
            }
            self.window = shared.number.load(Relaxed);
            self.gain = shared.gain.as_ref().map_or(self.gain, |gain| Some(*lock(gain)));
            next = Some(Time::at(shared.start.load(Relaxed))).filter(|&next| next != Time::MAX);
            let is_reached = next.is_some_and(|next| next >= until);
            self.now = if is_reached { until } else { Time::at(shared.done.load(Relaxed)) };
            progress.reached(self.now);
            if next.is_none() {
                return Reached::Idle;
            } else if is_reached {
                return Reached::Time;
            } else if shared.stops.load(Relaxed) {
                return Reached::Stopped;
            }
        }
    }

    /// One thread's share of all windows up to `until`, or until another number of threads is better.
    fn work(&self, shared: &Window, thread: usize, progress: &Progress) {
        let threads = shared.threads();
        let blocks = self.slots.len();
        let range = |t: usize| (blocks * t / threads, blocks * (t + 1) / threads);
        loop {
            let start = Time::at(shared.start.load(Relaxed));
            if start >= shared.until {
                return;
            }
            let end = start.saturating_add(self.lookahead).min(shared.until);
            let parity = (shared.number.load(Relaxed) % 2) as usize;
            let mut earliest = Time::MAX;
            let mut events = 0;
            let mut watch = shared.gain.as_ref().map(|_| Stopwatch::start());
            let current = Cell::new(0);
            let advanced = catch_unwind(AssertUnwindSafe(|| {
                // First its own blocks, in order, then those that other threads have not started yet.
                for turn in 0..threads {
                    let victim = (thread + turn) % threads;
                    let (low, high) = range(victim);
                    loop {
                        let b = low + shared.claimed[victim].fetch_add(1, Relaxed);
                        if b >= high {
                            break;
                        }
                        current.set(b);
                        let count = self.advance_block(b, parity, end, &mut earliest);
                        events += count;
                        if let Some(watch) = watch.as_mut().filter(|_| count > 0) {
                            watch.lap();
                        }
                    }
                }
            }));
            if let Err(panic) = advanced {
                shared.keep(current.get(), panic);
            }
            if let Some(watch) = watch {
                shared.sum_ns.fetch_add(watch.sum_ns, Relaxed);
                shared.longest_ns.fetch_max(watch.longest_ns, Relaxed);
            }
            shared.earliest.fetch_min(earliest.ticks(), Relaxed);
            progress.count(events);
            // Decided by one thread for all, so that all stop at the same window.
            shared.barrier.wait(|| {
                let earliest = shared.earliest.swap(NEVER, Relaxed);
                // After a panic no thread starts another window.
                let own = if shared.panicked.load(Relaxed) { NEVER } else { earliest };
                let (next, is_stopping) = self.agree(own, parity, progress.stopping());
                for claimed in &shared.claimed {
                    claimed.store(0, Relaxed);
                }
                shared.done.store(end.ticks(), Relaxed);
                shared.number.fetch_add(1, Relaxed);
                shared.start.store(next, Relaxed);
                shared.stops.store(is_stopping && next != NEVER, Relaxed);
                if let Some(gain) = &shared.gain {
                    shared.changes.store(lock(gain).weigh(shared.gain_ns()), Relaxed);
                }
                progress.reached(end);
            });
            if shared.stops.load(Relaxed) || shared.changes.load(Relaxed) {
                return;
            }
        }
    }

    /// What all processes agree on at the end of a window: when the next one starts, and whether the run
    /// stops. What their blocks sent to those of this one has arrived.
    fn agree(&self, next: u64, parity: usize, is_stopping: bool) -> (u64, bool) {
        let Some(remote) = &self.remote else { return (next, is_stopping) };
        let other = 1 - parity;
        remote.exchange(|to, time, message| {
            lock(&self.inboxes[to][other]).push((time, message));
            self.inbox_time[to][other].fetch_min(time.ticks(), Relaxed);
        });
        let [next, goes_on] = remote.peers.least([next, (!is_stopping).into()]);
        (next, goes_on == 0)
    }

    /// Advances one block over the window; lowers `earliest` to its next event and to the messages that it
    /// sent.
    fn advance_block(&self, b: usize, parity: usize, end: Time, earliest: &mut Time) -> u64 {
        let inbox_time = Time::at(self.inbox_time[b][parity].swap(NEVER, Relaxed));
        let next = Time::at(self.next_time[b].load(Relaxed)).min(inbox_time);
        if inbox_time == Time::MAX && next >= end {
            *earliest = next.min(*earliest);
            return 0;
        }
        let mut slot = lock(&self.slots[b]);
        let Slot { block, out } = &mut *slot;
        if inbox_time != Time::MAX {
            block.receive(&mut lock(&self.inboxes[b][parity]));
        }
        let events = if next < end { block.advance(end, out) } else { 0 };
        let next = block.next_time().unwrap_or(Time::MAX);
        self.next_time[b].store(next.ticks(), Relaxed);
        *earliest = next.min(*earliest);
        if out.earliest != Time::MAX {
            *earliest = out.earliest.min(*earliest);
            out.earliest = Time::MAX;
            for (lane, &to) in out.lanes.iter_mut().zip(&out.to) {
                let Some(first) = lane.iter().map(|m| m.0).min() else { continue };
                debug_assert!(first >= end, "a message due at {first} in a window that ends at {end}");
                let other = 1 - parity;
                let to = match &self.remote {
                    Some(remote) if !remote.own.contains(&(to as usize)) => {
                        remote.send(to, lane);
                        continue;
                    }
                    Some(remote) => to - remote.own.start as u32,
                    None => to,
                };
                lock(&self.inboxes[to as usize][other]).append(lane);
                self.inbox_time[to as usize][other].fetch_min(first.ticks(), Relaxed);
            }
        }
        events
    }
}

/// [`Time::MAX`] as a number shared between threads.
const NEVER: u64 = Time::MAX.ticks();

/// A time as such a number.
fn of(time: Option<Time>) -> u64 {
    time.unwrap_or(Time::MAX).ticks()
}

/// The current window's state shared by the threads. Each field is written by the last thread at the barrier,
/// or with atomic minimum and add; the barrier orders the accesses.
struct Window {
    start: AtomicU64,
    number: AtomicU64,
    earliest: AtomicU64,
    claimed: Vec<AtomicUsize>,
    done: AtomicU64,
    barrier: Barrier,
    until: Time,
    panicked: AtomicBool,
    /// The run was asked to stop.
    stops: AtomicBool,
    /// What several threads would gain, if it matters; whether another number is better than this one.
    gain: Option<Mutex<Gain>>,
    changes: AtomicBool,
    /// The time that blocks took in this window: the sum, and the longest.
    sum_ns: AtomicU64,
    longest_ns: AtomicU64,
    /// The block that panicked, and its panic.
    panic: Mutex<Option<(usize, Panic)>>,
}

/// A panic's payload, usually its message.
type Panic = Box<dyn Any + Send>;

impl Window {
    /// The first window up to `until`: its start and number.
    fn new(start: Time, number: u64, until: Time, most: usize, gain: Option<Gain>) -> Self {
        let threads = if gain.is_some_and(|gain| gain.is_small) { 1 } else { most };
        Window {
            stops: AtomicBool::new(false),
            gain: gain.filter(|_| most > 1).map(Mutex::new),
            changes: AtomicBool::new(false),
            sum_ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
            start: AtomicU64::new(start.ticks()),
            number: AtomicU64::new(number),
            earliest: AtomicU64::new(NEVER),
            claimed: (0..threads).map(|_| AtomicUsize::new(0)).collect(),
            done: AtomicU64::new(0),
            barrier: Barrier::new(threads),
            until,
            panicked: AtomicBool::new(false),
            panic: Mutex::new(None),
        }
    }

    fn threads(&self) -> usize {
        self.claimed.len()
    }

    /// What several threads could have gained in the window that has ended.
    fn gain_ns(&self) -> u64 {
        self.sum_ns.swap(0, Relaxed).saturating_sub(self.longest_ns.swap(0, Relaxed))
    }

    /// Stores a block's panic for the caller. Of several it keeps that of the lowest-numbered block, which is
    /// the same for every number of threads, since each thread takes the blocks of a range in order.
    #[cold]
    fn keep(&self, block: usize, panic: Panic) {
        let mut kept = lock(&self.panic);
        if kept.as_ref().is_none_or(|(first, _)| block < *first) {
            *kept = Some((block, panic));
        }
        self.panicked.store(true, Relaxed);
    }
}

#[cfg(all(loom, test))]
mod loom_tests;
// Outside a model loom's atomics do not work.
#[cfg(all(test, not(loom)))]
mod tests;
