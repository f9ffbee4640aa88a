//! Programs: processes written as an `async fn`. There is no async runtime: the node polls the function when
//! its operation is complete.

use crate::process::{Operations, Outcome, Process, Resumed, Step, Wait};
use crate::thread::Thread;
use crate::time::Microticks;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// Locks the state shared by a program and its node. The two never run at the same time, so this never waits;
/// a lock is needed only because a future that is `Send` may hold nothing weaker.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic ends the whole run, so no thread can observe an inconsistent state.
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A program's side of its node: its hardware thread, with functions that wait for its operations.
pub struct Core<C, W>(Thread<C, W>);

impl<C, W> Clone for Core<C, W> {
    fn clone(&self) -> Self {
        Core(self.0.clone())
    }
}

impl<C, W> Core<C, W> {
    /// For a program that runs on this thread.
    pub fn new(thread: Thread<C, W>) -> Self {
        Core(thread)
    }

    /// The thread.
    pub fn thread(&self) -> &Thread<C, W> {
        &self.0
    }

    /// The current time.
    pub fn now(&self) -> Microticks {
        self.0.now()
    }

    /// Waits until all operations of the thread are complete; returns at once if there are none. Returns how
    /// the last one ended.
    pub async fn done(&self) -> Resumed {
        std::future::poll_fn(|_| {
            let mut mailbox = lock(&self.0.0);
            if mailbox.operations.is_empty() {
                // Without a reason there was no operation.
                return Poll::Ready(mailbox.resumed.take().unwrap_or(Resumed::Done));
            }
            Poll::Pending
        })
        .await
    }

    /// Computes for this long.
    pub async fn spend(&self, microticks: Microticks) {
        if !microticks.is_zero() {
            self.0.spend(microticks);
            self.done().await;
        }
    }

    /// Submits a command to the network interface and continues when the core may.
    pub async fn submit(&self, command: C) {
        self.0.submit(command);
        self.done().await;
    }

    /// Waits for a condition, up to the time limit if there is one. Returns whether the condition holds.
    pub async fn wait(&self, watch: W, at_most: Option<Microticks>) -> bool {
        self.0.wait(Wait { at_most, ..Wait::for_one(watch) });
        self.done().await != Resumed::TimedOut
    }
}

/// A program as a process.
pub struct Program<C, W> {
    function: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    thread: Thread<C, W>,
}

/// A type that a program may return.
pub trait IntoOutcome {
    /// The outcome of the process.
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
    /// A program that has not started, using this core.
    pub fn new<F>(core: &Core<C, W>, function: F) -> Self
    where
        F: Future<Output: IntoOutcome> + Send + 'static,
    {
        Program { function: Box::pin(async { function.await.into_outcome() }), thread: core.thread().clone() }
    }
}

impl<C: Send, W: Send> Process<C, W> for Program<C, W> {
    fn resume(&mut self, now: Microticks, why: Resumed, operations: &mut Operations<C, W>) -> Step {
        self.thread.resumed(now, why);
        let polled = self.function.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        self.thread.take(operations);
        match polled {
            Poll::Ready(outcome) => Step::Ended(outcome),
            Poll::Pending => Step::Running,
        }
    }
}
