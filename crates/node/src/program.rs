//! Programs: processes written as an `async fn`. There is no runtime: the node polls the function when its operation is done.

use crate::process::{Operations, Outcome, Process, Resumed, Step, Wait};
use crate::thread::Thread;
use crate::time::Microticks;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// Locks what a program and its node share. The two never run at once, so this never waits; it is there because a future that is `Send`
/// may hold nothing weaker.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic ends the run as a whole: there is nobody left to be protected from what it left behind.
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A program's side of its node: its hardware thread, and what waits until that has done what it was asked for.
pub struct Core<C, W>(Thread<C, W>);

impl<C, W> Clone for Core<C, W> {
    fn clone(&self) -> Self {
        Core(self.0.clone())
    }
}

impl<C, W> Core<C, W> {
    /// Of a program that runs on this thread.
    pub fn new(thread: Thread<C, W>) -> Self {
        Core(thread)
    }

    /// The thread.
    pub fn thread(&self) -> &Thread<C, W> {
        &self.0
    }

    /// The time.
    pub fn now(&self) -> Microticks {
        self.0.now()
    }

    /// Waits until all that the thread was asked for is done; at once if it was asked for nothing. Returns how the last of it ended.
    pub async fn done(&self) -> Resumed {
        std::future::poll_fn(|_| {
            let mut mailbox = lock(&self.0.0);
            if mailbox.operations.is_empty() {
                // Without a reason nothing was asked for.
                return Poll::Ready(mailbox.resumed.take().unwrap_or(Resumed::Done));
            }
            Poll::Pending
        })
        .await
    }

    /// Runs instructions of its own for this long.
    pub async fn spend(&self, microticks: Microticks) {
        if !microticks.is_zero() {
            self.0.spend(microticks);
            self.done().await;
        }
    }

    /// Gives a command to the network interface and continues when the core may.
    pub async fn submit(&self, command: C) {
        self.0.submit(command);
        self.done().await;
    }

    /// Waits for something, for this long at most if there is a limit. Returns whether it is there.
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
