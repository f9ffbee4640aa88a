//! Processes: the one seam between a node and what runs on it.
//!
//! A process is resumed when all that it asked for has been done, and answers with what it asks for next: operations, which its node
//! carries out one after the other. Behind the seam stand an `async fn` ([`crate::program`]) or a state machine of a library.

use crate::time::Microticks;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::fmt;

/// Number of a process on its node.
pub type ProcessId = u8;

/// One thing that a process asks for. `C` is a command to its network interface, `W` something to wait for.
#[derive(Debug)]
pub enum Operation<C, W> {
    /// Runs instructions of its own for this long.
    Spend(Microticks),
    /// Gives a command to the network interface; ends when the core may continue.
    Submit(C),
    /// Waits.
    Wait(Wait<W>),
    /// Ends here, for this reason.
    Fail(Failure),
}

/// Waits for any of several things, by polling them in turn or asleep.
#[derive(Clone, Debug)]
pub struct Wait<W> {
    /// What ends the wait.
    pub any: SmallVec<[W; 2]>,
    /// The longest that it lasts.
    pub at_most: Option<Microticks>,
}

impl<W> Wait<W> {
    /// Waits for one thing without a limit.
    pub fn for_one(watch: W) -> Self {
        Wait { any: SmallVec::from_iter([watch]), at_most: None }
    }
}

/// Why a process is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumed {
    /// It begins.
    Started,
    /// Its last operation is done.
    Done,
    /// Its last operation was a wait, and this of what it waited for is there: a place in its list.
    Found(u16),
    /// Its last operation was a wait, which has lasted as long as it may.
    TimedOut,
}

/// The operations that a process asks for.
pub type Operations<C, W> = VecDeque<Operation<C, W>>;

/// How a process answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is resumed when the operations that it has asked for are done. One that has asked for none never is.
    Running,
    /// It has ended; what it has asked for is still done.
    Ended(Outcome),
}

/// How a process ended.
pub type Outcome = Result<(), Failure>;

/// A process.
pub trait Process<C, W>: Send {
    /// Goes on at a time, and appends what it asks for next. All that it asked for before has been done.
    fn resume(&mut self, now: Microticks, why: Resumed, operations: &mut Operations<C, W>) -> Step;
}

/// Why a process failed: a call was refused, or something was asked of it that cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure {
    /// The call that failed, as its interface names it.
    pub call: String,
    /// Why.
    pub reason: String,
}

impl Failure {
    /// A call that failed, and why.
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
    /// The error as a failure of this call.
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

/// A figure that a program measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// Which of the program's figures it is.
    pub key: u64,
    /// The figure; a time is in microticks.
    pub value: u64,
}

impl Measurement {
    /// The figure as a time.
    pub fn time(&self) -> Microticks {
        Microticks(self.value)
    }
}
