//! Errors of the NIC as the node's system software hears of them (`GNI_SubscribeErrors`; "Reliability, Availability and Serviceability": "In all
//! cases, either the operating system or the Hardware Supervisory System are notified"), beside the completion events that tell who asked.

use super::Gni;
use crate::aries::node::{Common, Node, lock};
use crate::aries::status::{Refusal, Status};
use crate::aries::{Nic, Watch};
use netloom_node::agenda::MILLI;
use std::collections::VecDeque;

/// Events that a subscription keeps **(ours)**.
const KEPT: usize = 64;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A request of this node had no response in time.
    Timeout,
    /// A request of another was refused.
    Refused(Status),
    /// A packet came damaged.
    Damaged,
}

/// An error event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorEvent {
    /// What went wrong.
    pub kind: ErrorKind,
    /// When, microticks.
    pub at: u64,
    /// The machine's number of the node that sent the packet, if one came.
    pub from: Option<u32>,
}

/// Which errors a subscription hears of.
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
    /// All of them.
    pub const ALL: ErrorMask = ErrorMask { timeouts: true, refused: true, damaged: true };

    fn has(self, kind: ErrorKind) -> bool {
        match kind {
            ErrorKind::Timeout => self.timeouts,
            ErrorKind::Refused(_) => self.refused,
            ErrorKind::Damaged => self.damaged,
        }
    }
}

/// Who hears of errors.
pub struct Subscription {
    process: u8,
    mask: ErrorMask,
    events: VecDeque<ErrorEvent>,
    is_overrun: bool,
}

impl Nic {
    /// Tells all who have asked for it of an error.
    pub(in crate::aries) fn report(&mut self, c: &Common, t: u64, kind: ErrorKind, from: Option<u32>) {
        let mut told = vec![];
        for subscription in lock(&self.here).subscriptions.iter_mut().flatten() {
            if !subscription.mask.has(kind) {
                continue;
            }
            if subscription.events.len() < KEPT {
                subscription.events.push_back(ErrorEvent { kind, at: t, from });
            } else {
                subscription.is_overrun = true;
            }
            told.push(subscription.process);
        }
        if !told.is_empty() {
            self.interrupt(c, t, |process, watch| watch == Watch::Errors && told.contains(&process));
        }
    }
}

impl Node {
    fn subscription(&mut self, process: u8, number: usize) -> Result<&mut Subscription, Refusal> {
        let found = self.subscriptions.get_mut(number).and_then(Option::as_mut);
        found.filter(|s| s.process == process).ok_or(Refusal::InvalidParam)
    }
}

impl Gni {
    /// Asks to be told of errors of this node's NIC; returns the subscription's number.
    pub fn subscribe_errors(&self, mask: ErrorMask) -> usize {
        let all = &mut lock(&self.here).subscriptions;
        let (process, events, is_overrun) = (self.process, VecDeque::new(), false);
        all.push(Some(Subscription { process, mask, events, is_overrun }));
        all.len() - 1
    }

    /// Ends a subscription.
    ///
    /// # Errors
    /// If it is not the process' own.
    pub fn release_errors(&self, subscription: usize) -> Result<(), Refusal> {
        let mut here = lock(&self.here);
        here.subscription(self.process, subscription)?;
        here.subscriptions[subscription] = None;
        Ok(())
    }

    /// Which errors it hears of.
    ///
    /// # Errors
    /// If it is not the process' own.
    pub fn error_mask(&self, subscription: usize) -> Result<ErrorMask, Refusal> {
        Ok(lock(&self.here).subscription(self.process, subscription)?.mask)
    }

    /// Changes that.
    ///
    /// # Errors
    /// If it is not the process' own.
    pub fn set_error_mask(&self, subscription: usize, mask: ErrorMask) -> Result<(), Refusal> {
        lock(&self.here).subscription(self.process, subscription)?.mask = mask;
        Ok(())
    }

    /// Takes the next error event (the kernel's part: a system call).
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if there is none; [`Refusal::Overrun`] if some were lost.
    pub async fn get_error_event(&self, subscription: usize) -> Result<ErrorEvent, Refusal> {
        self.compute_milliticks(self.core().system_call_milliticks).await;
        let mut here = lock(&self.here);
        let s = here.subscription(self.process, subscription)?;
        match s.events.pop_front() {
            Some(event) => Ok(event),
            None if std::mem::take(&mut s.is_overrun) => Err(Refusal::Overrun),
            None => Err(Refusal::NotDone),
        }
    }

    /// Sleeps until there is an error event, for so long at most or without end, and takes it.
    ///
    /// # Errors
    /// As [`Self::get_error_event`].
    pub async fn wait_error_event(
        &self,
        subscription: usize,
        milliticks: Option<u64>,
    ) -> Result<ErrorEvent, Refusal> {
        let end = milliticks.map(|most| self.now_microticks() + most * MILLI);
        loop {
            match self.get_error_event(subscription).await {
                Err(Refusal::NotDone) => {}
                found => return found,
            }
            let left = end.map(|end| end.saturating_sub(self.now_microticks()));
            if left == Some(0) {
                return Err(Refusal::NotDone);
            }
            self.core.wait(Watch::Errors, left).await;
        }
    }
}
