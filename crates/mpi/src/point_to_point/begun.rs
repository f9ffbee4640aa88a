//! Which collective operations of each communicator have begun, by which calls: for reports of programs that wait
//! for ever. Only where the transport knows the call. Every collective passes here, so the communicator that was
//! used last is found at once, and an operation has its place by its number.

use super::PointToPoint;
use crate::transport::Transport;
use crate::waits::{Begun, CONTEXTS, WITHIN_GROUP, base};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Operations of a communicator that are remembered.
const REMEMBERED: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Histories(RefCell<Table>);

#[derive(Debug, Default)]
struct Table {
    list: Vec<History>,
    /// Where each communicator's is in the list, by context.
    places: BTreeMap<u32, usize>,
    /// Where the one is that was used last.
    last: usize,
}

#[derive(Debug)]
struct History {
    context: u32,
    begun: u32,
    /// The last ones, each at the remainder of its number.
    recent: [Option<Operation>; REMEMBERED],
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    number: u32,
    call: &'static str,
    root: Option<u32>,
    bytes: Option<u64>,
}

impl Table {
    /// That of a communicator.
    #[inline]
    fn of(&mut self, context: u32) -> &mut History {
        if self.list.get(self.last).is_none_or(|history| history.context != context) {
            self.last = self.place(context);
        }
        &mut self.list[self.last]
    }

    #[cold]
    fn place(&mut self, context: u32) -> usize {
        *self.places.entry(context).or_insert_with(|| {
            self.list.push(History { context, begun: 0, recent: [None; REMEMBERED] });
            self.list.len() - 1
        })
    }

    fn remove(&mut self, context: u32) {
        let Some(place) = self.places.remove(&context) else { return };
        self.list.swap_remove(place);
        if let Some(moved) = self.list.get(place) {
            self.places.insert(moved.context, place);
        }
    }
}

impl<T: Transport> PointToPoint<T> {
    /// The `number`-th collective operation of a group begins.
    #[inline]
    pub(crate) fn collective_begins(&self, context: u32, number: u32) {
        if let Some(call) = self.transport.call() {
            self.note_begin(context, number, call);
        }
    }

    #[inline(never)]
    fn note_begin(&self, context: u32, number: u32, call: &'static str) {
        if context & WITHIN_GROUP != 0 {
            return;
        }
        let mut table = self.begun.0.borrow_mut();
        let history = table.of(base(context));
        history.begun = history.begun.max(number);
        let place = &mut history.recent[number as usize % REMEMBERED];
        match place {
            // Groups of an intercommunicator have operations of the same number.
            Some(of) if of.number == number => of.call = call,
            _ => *place = Some(Operation { number, call, root: None, bytes: None }),
        }
    }

    /// What must be the same at all ranks of an operation.
    #[inline]
    pub(crate) fn note_collective(&self, context: u32, number: u32, root: Option<u32>, bytes: Option<usize>) {
        // The groups of an intercommunicator have roots and lengths of their own.
        if self.transport.call().is_none() || !context.is_multiple_of(CONTEXTS) {
            return;
        }
        let mut table = self.begun.0.borrow_mut();
        let place = &mut table.of(context).recent[number as usize % REMEMBERED];
        if let Some(of) = place.as_mut().filter(|of| of.number == number) {
            (of.root, of.bytes) = (root, bytes.map(|bytes| bytes as u64));
        }
    }

    /// The communicator of a context is freed, or a new one has it.
    pub fn forget_collectives(&self, context: u32) {
        self.begun.0.borrow_mut().remove(base(context));
    }

    /// The greatest number of those that have begun, and the last ones.
    pub fn begun(&self, context: u32) -> (u32, Vec<Begun>) {
        // Another thread may be about to note something.
        let Ok(table) = self.begun.0.try_borrow() else { return (0, vec![]) };
        let Some(&place) = table.places.get(&base(context)) else { return (0, vec![]) };
        let history = &table.list[place];
        let mut recent: Vec<&Operation> = history.recent.iter().flatten().collect();
        recent.sort_unstable_by_key(|of| of.number);
        let begun = |of: &Operation| Begun {
            number: of.number,
            call: of.call.into(),
            root: of.root,
            bytes: of.bytes,
        };
        (history.begun, recent.into_iter().map(begun).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// In whatever order communicators are used and freed, each has its own history.
        #[test]
        fn each_communicator_has_its_own_history(steps in prop::collection::vec((0u32..6, any::<bool>()), 1..60)) {
            let (mut table, mut counts) = (Table::default(), BTreeMap::<u32, u32>::new());
            for (context, is_freed) in steps {
                if is_freed {
                    table.remove(context);
                    counts.remove(&context);
                } else {
                    table.of(context).begun += 1;
                    *counts.entry(context).or_default() += 1;
                }
                let found = table.places.iter().map(|(&context, &place)| {
                    assert_eq!(table.list[place].context, context);
                    (context, table.list[place].begun)
                });
                prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), counts.clone());
            }
        }
    }
}
