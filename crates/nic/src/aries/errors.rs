//! Errors of the NIC as reported to the node's system software (`GNI_SubscribeErrors`; "Reliability,
//! Availability and Serviceability": "In all cases, either the operating system or the Hardware Supervisory
//! System are notified"), in addition to the completion events for the initiator.

use super::node::{Common, Node, lock};
use super::status::{Refusal, Status};
use super::{Nic, Watch};
use netloom_node::time::Microticks;
use std::collections::VecDeque;

/// Events that a subscription buffers **(ours)**.
const KEPT: usize = 64;

/// The type of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A request of this node had no response in time.
    Timeout,
    /// A request of another node was rejected.
    Refused(Status),
    /// A packet arrived corrupted.
    Damaged,
}

/// An error event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorEvent {
    /// The type.
    pub kind: ErrorKind,
    /// The time.
    pub at: Microticks,
    /// The machine's number of the node that sent the packet, if any.
    pub from: Option<u32>,
}

/// The errors that a subscription covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorMask {
    /// See [`ErrorKind::Timeout`].
    pub timeouts: bool,
    /// See [`ErrorKind::Refused`].
    pub refused: bool,
    /// See [`ErrorKind::Damaged`].
    pub damaged: bool,
}

impl ErrorMask {
    /// All errors.
    pub const ALL: ErrorMask = ErrorMask { timeouts: true, refused: true, damaged: true };

    fn has(self, kind: ErrorKind) -> bool {
        match kind {
            ErrorKind::Timeout => self.timeouts,
            ErrorKind::Refused(_) => self.refused,
            ErrorKind::Damaged => self.damaged,
        }
    }
}

/// A subscription to errors.
pub struct Subscription {
    /// The process that receives them.
    pub process: u8,
    /// The errors that it covers.
    pub mask: ErrorMask,
    events: VecDeque<ErrorEvent>,
    is_overrun: bool,
}

impl Subscription {
    /// A subscription without events.
    pub fn new(process: u8, mask: ErrorMask) -> Self {
        Subscription { process, mask, events: VecDeque::new(), is_overrun: false }
    }

    /// Takes the next error event.
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if there is none; [`Refusal::Overrun`] if some were lost.
    pub fn take(&mut self) -> Result<ErrorEvent, Refusal> {
        match self.events.pop_front() {
            Some(event) => Ok(event),
            None if std::mem::take(&mut self.is_overrun) => Err(Refusal::Overrun),
            None => Err(Refusal::NotDone),
        }
    }
}

impl Nic {
    /// Reports an error to all its subscriptions.
    pub(super) fn report(&mut self, c: &Common, t: Microticks, kind: ErrorKind, from: Option<u32>) {
        let mut reported = vec![];
        for subscription in lock(&self.here).subscriptions.iter_mut().flatten() {
            if !subscription.mask.has(kind) {
                continue;
            }
            if subscription.events.len() < KEPT {
                subscription.events.push_back(ErrorEvent { kind, at: t, from });
            } else {
                subscription.is_overrun = true;
            }
            reported.push(subscription.process);
        }
        if !reported.is_empty() {
            self.interrupt(c, t, |process, watch| watch == Watch::Errors && reported.contains(&process));
        }
    }
}

impl Node {
    /// A subscription of a process.
    ///
    /// # Errors
    /// If it does not belong to the process.
    pub fn subscription(&mut self, process: u8, number: usize) -> Result<&mut Subscription, Refusal> {
        let found = self.subscriptions.get_mut(number).and_then(Option::as_mut);
        found.filter(|s| s.process == process).ok_or(Refusal::InvalidParam)
    }
}
