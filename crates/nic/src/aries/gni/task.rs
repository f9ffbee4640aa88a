//! A program on its node, and what it and its host tell each other.

use super::Gni;
use crate::aries::Watch;
use crate::aries::fma::Command;
use crate::aries::node::{Common, Node, lock};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

/// What a program waits for.
pub(in crate::aries) enum Call {
    /// Its own instructions, microticks.
    Compute(u64),
    /// A store to the NIC, which leaves the core at the end of so long.
    Write { bytes: u32, command: Box<Command>, cost: u64 },
    /// Something to be seen in memory.
    Wait(Watch),
}

/// A figure that a program measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is of, for whoever reads it.
    pub of: u64,
    /// The figure, millionths of a tick.
    pub microticks: u64,
}

/// What a program and its host tell each other.
#[derive(Default)]
pub(in crate::aries) struct Mailbox {
    pub now: u64,
    pub call: Option<Call>,
    /// Whether the call has been carried out, and its program not yet been told.
    pub done: bool,
    pub notes: Vec<Note>,
    /// The process' own FMA descriptor.
    pub descriptor: Option<u8>,
}

/// A program on its node.
pub(in crate::aries) struct Task {
    function: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    pub mailbox: Arc<Mutex<Mailbox>>,
}

impl Task {
    pub fn new<F>(
        node: u32,
        process: u8,
        common: &Arc<Common>,
        here: &Arc<Mutex<Node>>,
        function: impl FnOnce(Gni) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mailbox = Arc::default();
        let (here, common) = (Arc::clone(here), Arc::clone(common));
        let gni = Gni { node, process, mailbox: Arc::clone(&mailbox), here, common };
        Task { function: Mutex::new(Some(Box::pin(function(gni)))), mailbox }
    }

    /// Its bytes, without the program's own.
    pub fn bytes() -> usize {
        size_of::<Task>() + size_of::<Mailbox>() + 2 * size_of::<usize>()
    }

    /// Whether it has returned.
    pub fn is_done(&self) -> bool {
        lock(&self.function).is_none()
    }

    /// Ends it: its node is dead.
    pub fn end(&self) {
        *lock(&self.function) = None;
    }

    /// Lets it go on until its next call.
    pub fn poll(&self) {
        let mut function = lock(&self.function);
        if let Some(f) = &mut *function
            && f.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            *function = None;
        }
    }
}
