//! Processes: the interface between a node and the software on it.
//!
//! A process is resumed when all its operations are complete, and returns its next operations, which its node
//! executes one after the other. A process is an `async fn` ([`crate::program`]) or a state machine of a
//! library.

use crate::time::Microticks;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::fmt;

/// Number of a process on its node.
pub type ProcessId = u8;

/// An operation of a process. `C` is a command to its network interface, `W` a condition to wait for.
#[derive(Debug)]
pub enum Operation<C, W> {
    /// Computes for this long.
    Spend(Microticks),
    /// Submits a command to the network interface; complete when the core may continue.
    Submit(C),
    /// Waits.
    Wait(Wait<W>),
    /// The same, until another process of the node unparks this one at the latest. If one has done so since
    /// this process parked last, it does not wait.
    Park(Wait<W>),
    /// Unparks a process of the node.
    Unpark(ProcessId),
    /// Ends a store to memory that processes of the node share: a process has been written something. Who
    /// [listens](Wait::listens) to it resumes, and finds the number among its thread's
    /// [notices](crate::thread::Thread::take_notices).
    Notify(ProcessId, u32),
    /// Records the time ([`Noted`]) at which this much of the computation that follows is complete. It takes
    /// no time.
    Note(Microticks),
    /// Ends the process with this failure.
    Fail(Failure),
}

/// A wait for any of several conditions, by polling them in turn or asleep.
#[derive(Clone, Debug)]
pub struct Wait<W> {
    /// The conditions that end the wait.
    pub any: SmallVec<[W; 2]>,
    /// The time limit.
    pub at_most: Option<Microticks>,
    /// The process sleeps, and a wake-up unit wakes it: it does not poll meanwhile.
    pub sleeps: bool,
    /// The wait also ends when this process of the node, of whose threads the waiting one is, is
    /// [notified](Operation::Notify).
    pub listens: Option<ProcessId>,
}

impl<W> Wait<W> {
    /// A wait for one condition without a time limit.
    pub fn for_one(watch: W) -> Self {
        Self::for_any([watch])
    }

    /// The same for any of several.
    pub fn for_any(watches: impl IntoIterator<Item = W>) -> Self {
        Wait { any: SmallVec::from_iter(watches), at_most: None, sleeps: false, listens: None }
    }
}

/// Why a process is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumed {
    /// It starts.
    Started,
    /// Its last operation is complete.
    Done,
    /// Its last operation was a wait, and the condition with this index holds.
    Found(u16),
    /// Its last operation was a wait, which has reached its time limit.
    TimedOut,
    /// It was parked, and another process has unparked it.
    Unparked,
    /// Its last operation was a wait, and the process that it listens to was notified.
    Notified,
}

/// The operations of a process, in order.
pub type Operations<C, W> = VecDeque<Operation<C, W>>;

/// Frees the memory of a list that was long, such as one with the stores of a message, and is empty now. A
/// machine has several lists a node.
#[inline]
pub(crate) fn trim<C, W>(operations: &mut Operations<C, W>) {
    const KEPT: usize = 32;
    if operations.is_empty() && operations.capacity() > KEPT {
        *operations = VecDeque::new();
    }
}

/// The state that a process returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is resumed when its operations are complete. If it has none, it is never resumed.
    Running,
    /// It has ended; its remaining operations are still executed.
    Ended(Outcome),
}

/// How a process ended.
pub type Outcome = Result<(), Failure>;

/// A process.
pub trait Process<C, W>: Send {
    /// Resumes at a time, and appends its next operations. All earlier ones are complete.
    fn resume(&mut self, now: Microticks, why: Resumed, operations: &mut Operations<C, W>) -> Step;

    /// Whether its node has neither it nor any process after it, so that they take no memory.
    fn is_absent(&self) -> bool {
        false
    }

    /// Whether it has nothing to do until another process unparks it: it takes no part of its core, and need
    /// not end.
    fn is_idle(&self) -> bool {
        false
    }
}

/// Why a process failed: a call was rejected, or an operation was invalid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Failure {
    /// The failed call, by its name in the interface.
    pub call: String,
    /// The reason.
    pub reason: String,
}

impl Failure {
    /// A failed call, with the reason.
    pub fn new(call: impl Into<String>, reason: impl fmt::Display) -> Self {
        Failure { call: call.into(), reason: reason.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.reason)
    }
}

impl std::error::Error for Failure {}

/// Adds the name of the call to an error.
pub trait InCall<T> {
    /// Converts the error to a failure of this call.
    ///
    /// # Errors
    /// If this is an error.
    fn in_call(self, call: &str) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> InCall<T> for Result<T, E> {
    fn in_call(self, call: &str) -> Result<T, Failure> {
        self.map_err(|reason| Failure::new(call, reason))
    }
}

/// The time at which a process reached an [`Operation::Note`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// The time.
    pub at: Microticks,
    /// The time that its computations have taken until then, with that of threads that share its core.
    pub computed: Microticks,
}

/// A value that a program measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// Identifies the value within the program.
    pub key: u64,
    /// The value; times are in microticks.
    pub value: u64,
}

impl Measurement {
    /// The value as a time.
    pub fn time(&self) -> Microticks {
        Microticks(self.value)
    }
}
