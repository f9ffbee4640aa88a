//! Programs on the nodes' processes, each an `async fn`: there is no runtime, its node's host polls it when what it waits for has happened.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// A figure that a program measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is of, for whoever reads it.
    pub of: u64,
    /// The figure, millionths of a tick.
    pub microticks: u64,
}

/// What a program and its host tell each other; `C` is what a program may call.
pub(crate) struct Mailbox<C> {
    pub now: u64,
    pub call: Option<C>,
    /// Whether the call has been carried out, and its program not yet been told.
    pub done: bool,
    pub notes: Vec<Note>,
}

impl<C> Default for Mailbox<C> {
    fn default() -> Self {
        Mailbox { now: 0, call: None, done: false, notes: vec![] }
    }
}

/// A program and its node's NIC do not run at once, so this never waits; it is there because a future that is `Send` may hold nothing weaker.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().expect("a program that panicked is not polled again")
}

/// Asks the host for something, and goes on when it has been done.
pub(crate) async fn call<C>(mailbox: &Mutex<Mailbox<C>>, call: C) {
    lock(mailbox).call = Some(call);
    std::future::poll_fn(|_| {
        let mut mailbox = lock(mailbox);
        if std::mem::take(&mut mailbox.done) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// A program on its node.
pub(crate) struct Task<C> {
    function: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    pub mailbox: Arc<Mutex<Mailbox<C>>>,
}

impl<C> Task<C> {
    /// A program that has not begun, with its side of the mailbox.
    pub fn new(mailbox: Arc<Mutex<Mailbox<C>>>, function: impl Future<Output = ()> + Send + 'static) -> Self {
        Task { function: Mutex::new(Some(Box::pin(function))), mailbox }
    }

    /// Its bytes, without the program's own.
    pub fn bytes() -> usize {
        size_of::<Self>() + size_of::<Mailbox<C>>() + 2 * size_of::<usize>()
    }

    /// Whether it has returned.
    pub fn is_done(&self) -> bool {
        lock(&self.function).is_none()
    }

    /// Ends it: its node is dead.
    pub fn end(&self) {
        *lock(&self.function) = None;
    }

    /// Lets it go on at a time until its next call, which is returned. What it had called for has been done, if it had called at all.
    pub fn go_on(&self, now: u64, done: bool) -> Option<C> {
        {
            let mut mailbox = lock(&self.mailbox);
            (mailbox.now, mailbox.done) = (now, done);
        }
        let mut function = lock(&self.function);
        if let Some(f) = &mut *function
            && f.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            *function = None;
        }
        drop(function);
        lock(&self.mailbox).call.take()
    }
}
