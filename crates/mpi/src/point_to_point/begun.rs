//! Which collective operations of each communicator have begun, by which calls: for reports of deadlocks. Only
//! where the transport knows the call: natively nothing is noted.

use super::PointToPoint;
use crate::transport::Transport;
use crate::waits::{Begun, CONTEXTS, WITHIN_GROUP, base};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

/// Operations of a communicator that are remembered.
const REMEMBERED: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Histories(RefCell<BTreeMap<u32, History>>);

#[derive(Debug, Default)]
struct History {
    begun: u32,
    recent: VecDeque<Operation>,
}

#[derive(Debug)]
struct Operation {
    number: u32,
    call: &'static str,
    root: Option<u32>,
    bytes: Option<u64>,
}

impl<T: Transport> PointToPoint<T> {
    /// The `number`-th collective operation of a group begins.
    #[inline]
    pub(crate) fn collective_begins(&self, context: u32, number: u32) {
        if let Some(call) = self.transport.call() {
            self.note_begin(context, number, call);
        }
    }

    fn note_begin(&self, context: u32, number: u32, call: &'static str) {
        if context & WITHIN_GROUP != 0 {
            return;
        }
        let mut histories = self.begun.0.borrow_mut();
        let history = histories.entry(base(context)).or_default();
        history.begun = history.begun.max(number);
        match history.recent.iter_mut().find(|of| of.number == number) {
            Some(again) => again.call = call,
            None => {
                if history.recent.len() == REMEMBERED {
                    history.recent.pop_front();
                }
                history.recent.push_back(Operation { number, call, root: None, bytes: None });
            }
        }
    }

    /// What must be the same at all ranks of an operation.
    #[inline]
    pub(crate) fn note_collective(&self, context: u32, number: u32, root: Option<u32>, bytes: Option<usize>) {
        // The groups of an intercommunicator have roots and lengths of their own.
        if self.transport.call().is_none() || !context.is_multiple_of(CONTEXTS) {
            return;
        }
        let mut histories = self.begun.0.borrow_mut();
        let recent = histories.get_mut(&context).map(|history| &mut history.recent);
        if let Some(found) = recent.and_then(|recent| recent.iter_mut().find(|of| of.number == number)) {
            (found.root, found.bytes) = (root, bytes.map(|bytes| bytes as u64));
        }
    }

    /// The communicator of a context is freed, or a new one has it.
    pub fn forget_collectives(&self, context: u32) {
        self.begun.0.borrow_mut().remove(&base(context));
    }

    /// The greatest number of those that have begun, and the last ones.
    pub fn begun(&self, context: u32) -> (u32, Vec<Begun>) {
        // Another thread may be about to note something.
        let Ok(histories) = self.begun.0.try_borrow() else { return (0, vec![]) };
        let Some(history) = histories.get(&base(context)) else { return (0, vec![]) };
        let begun = |of: &Operation| Begun {
            number: of.number,
            call: of.call.into(),
            root: of.root,
            bytes: of.bytes,
        };
        (history.begun, history.recent.iter().map(begun).collect())
    }
}
