//! What a program asks of its host.

use super::Gni;
use crate::aries::Watch;
use crate::aries::fma::Command;
use crate::aries::node::{Common, Node};
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock};

pub use crate::program::Note;

/// What a program waits for.
pub(in crate::aries) enum Call {
    /// Its own instructions, microticks.
    Compute(u64),
    /// A store to the NIC, which leaves the core at the end of so long.
    Write { bytes: u32, command: Box<Command>, cost: u64 },
    /// Something to be seen in memory, for so long at most if there is an end, microticks.
    Wait(Watch, Option<u64>),
    /// Whether an FMA descriptor has nothing outstanding: the answer lies in the node.
    IsSynced(u8),
}

/// What a program and its host tell each other.
pub(in crate::aries) type Mailbox = crate::program::Mailbox<Call>;

/// A program on its node.
pub(in crate::aries) type Task = crate::program::Task<Call>;

/// A program of a process.
pub(in crate::aries) fn task<F>(
    node: u32,
    process: u8,
    common: &Arc<Common>,
    here: &Arc<Mutex<Node>>,
    function: impl FnOnce(Gni) -> F,
) -> Task
where
    F: Future<Output = ()> + Send + 'static,
{
    let mailbox = Arc::default();
    let (here, common, descriptor) = (Arc::clone(here), Arc::clone(common), Arc::new(OnceLock::new()));
    let gni = Gni { node, process, mailbox: Arc::clone(&mailbox), here, common, descriptor };
    Task::new(mailbox, function(gni))
}
