//! Programs: processes written as an `async fn`. There is no runtime: the node polls the function when its operation is done.

use crate::process::{Failure, Measurement, Operation, Operations, Outcome, Process, Resumed, Step, Wait};
use crate::time::Microticks;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// Locks what a program and its node share. The two never run at once, so this never waits; it is there because a future that is `Send`
/// may hold nothing weaker.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic ends the run as a whole: there is nobody left to be protected from what it left behind.
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What a program and its node exchange.
struct Mailbox<C, W> {
    now: Microticks,
    /// What the program has asked for and its node has not yet taken over.
    operations: Operations<C, W>,
    /// Why the program was resumed, until it has looked.
    resumed: Option<Resumed>,
    /// Whether who asks for operations is no program and does not wait for them.
    queues: bool,
    measurements: Vec<Measurement>,
}

/// A program's side of its node: the interfaces of network interfaces are built on it.
pub struct Core<C, W>(Arc<Mutex<Mailbox<C, W>>>);

impl<C, W> Clone for Core<C, W> {
    fn clone(&self) -> Self {
        Core(Arc::clone(&self.0))
    }
}

impl<C, W> Default for Core<C, W> {
    fn default() -> Self {
        let (operations, measurements) = (Operations::new(), vec![]);
        let mailbox =
            Mailbox { now: Microticks::ZERO, operations, resumed: None, queues: false, measurements };
        Core(Arc::new(Mutex::new(mailbox)))
    }
}

impl<C, W> Core<C, W> {
    /// Bytes of what a program and its node share.
    pub const fn bytes() -> usize {
        size_of::<Mutex<Mailbox<C, W>>>()
    }

    /// Sets the time for a process that is a state machine rather than a program: it asks for operations and never waits for them itself.
    pub fn resumed(&self, now: Microticks) {
        let mut mailbox = lock(&self.0);
        mailbox.now = now;
        mailbox.queues = true;
    }

    /// Whether anything has been asked for that the node has not yet been handed.
    pub fn has_asked(&self) -> bool {
        !lock(&self.0).operations.is_empty()
    }

    /// Hands to the node what has been asked for.
    pub fn hand_over(&self, operations: &mut Operations<C, W>) {
        operations.append(&mut lock(&self.0).operations);
    }

    /// The time.
    pub fn now(&self) -> Microticks {
        lock(&self.0).now
    }

    /// Keeps a figure that the program measured.
    pub fn measure(&self, key: u64, value: impl Into<u64>) {
        let value = value.into();
        lock(&self.0).measurements.push(Measurement { key, value });
    }

    /// The figures so far.
    pub fn measurements(&self) -> Vec<Measurement> {
        lock(&self.0).measurements.clone()
    }

    /// Asks for an operation, which is done when all before it are. The program continues meanwhile, until it waits for something.
    pub fn ask(&self, operation: Operation<C, W>) {
        lock(&self.0).operations.push_back(operation);
    }

    /// Ends the program, for what it has done wrong, when all that it has asked for is done.
    pub fn fail(&self, call: &str, reason: impl std::fmt::Display) {
        self.ask(Operation::Fail(Failure::new(call, reason)));
    }

    /// Waits until all that has been asked for is done. Returns how the last of it ended. A process that is no program does not wait: for
    /// it, an interface's calls only ask ([`queued`]).
    pub async fn done(&self) -> Resumed {
        std::future::poll_fn(|_| {
            let mut mailbox = lock(&self.0);
            if mailbox.queues {
                return Poll::Ready(Resumed::Done);
            }
            if mailbox.operations.is_empty()
                && let Some(why) = mailbox.resumed.take()
            {
                return Poll::Ready(why);
            }
            Poll::Pending
        })
        .await
    }

    /// Runs instructions of its own for this long.
    pub async fn spend(&self, microticks: Microticks) {
        if !microticks.is_zero() {
            self.ask(Operation::Spend(microticks));
            self.done().await;
        }
    }

    /// Gives a command to the network interface and continues when the core may.
    pub async fn submit(&self, command: C) {
        self.ask(Operation::Submit(command));
        self.done().await;
    }

    /// Gives a command after `microticks` of its own instructions.
    pub async fn submit_after(&self, microticks: Microticks, command: C) {
        self.ask(Operation::Spend(microticks));
        self.submit(command).await;
    }

    /// Waits for something, for this long at most if there is a limit. Returns whether it is there.
    pub async fn wait(&self, watch: W, at_most: Option<Microticks>) -> bool {
        self.ask(Operation::Wait(Wait { at_most, ..Wait::for_one(watch) }));
        self.done().await != Resumed::TimedOut
    }
}

/// What a call of an interface answers to a process that is no program: at once, since it only asks ([`Core::resumed`]).
///
/// # Panics
/// If the call waits for something other than what it has asked for.
pub fn queued<T>(call: impl Future<Output = T>) -> T {
    match std::pin::pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a call that only asks does not wait"),
    }
}

/// A program as a process.
pub struct Program<C, W> {
    function: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    core: Core<C, W>,
}

/// What a program may return.
pub trait IntoOutcome {
    /// How it ended.
    fn into_outcome(self) -> Outcome;
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        Ok(())
    }
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

impl<C: Send + 'static, W: Send + 'static> Program<C, W> {
    /// A program that has not begun, which was given this core.
    pub fn new<F>(core: Core<C, W>, function: F) -> Self
    where
        F: Future<Output: IntoOutcome> + Send + 'static,
    {
        Program { function: Box::pin(async { function.await.into_outcome() }), core }
    }
}

impl<C: Send, W: Send> Process<C, W> for Program<C, W> {
    fn resume(&mut self, now: Microticks, why: Resumed, operations: &mut Operations<C, W>) -> Step {
        {
            let mut mailbox = lock(&self.core.0);
            mailbox.now = now;
            mailbox.resumed = (why != Resumed::Started).then_some(why);
        }
        let polled = self.function.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        self.core.hand_over(operations);
        match polled {
            Poll::Ready(outcome) => Step::Ended(outcome),
            Poll::Pending => Step::Running,
        }
    }
}
