//! The hardware thread of a process, as the process's software sees it: it executes operations in order, one
//! after the other. Nothing here waits.

use crate::process::{Failure, Measurement, Noted, Operation, Operations, ProcessId, Resumed, Wait, trim};
use crate::program::lock;
use crate::time::Microticks;
use std::sync::{Arc, Mutex};

/// The state exchanged between a process and its node.
pub(crate) struct Mailbox<C, W> {
    now: Microticks,
    /// Operations that the node has not yet taken.
    pub(crate) operations: Operations<C, W>,
    /// Why the process was resumed, until it reads this.
    pub(crate) resumed: Option<Resumed>,
    measurements: Vec<Measurement>,
    noted: Vec<Noted>,
    notices: Vec<u32>,
}

impl<C, W> Mailbox<C, W> {
    fn spend(&mut self, microticks: Microticks) {
        match self.operations.back_mut() {
            _ if microticks.is_zero() => {}
            Some(Operation::Spend(before)) => *before += microticks,
            _ => self.operations.push_back(Operation::Spend(microticks)),
        }
    }

    /// A note stands before the computation that it belongs to, whose parts stay one operation: so times are
    /// the same with and without notes.
    fn note(&mut self) {
        match self.operations.pop_back() {
            Some(Operation::Spend(before)) => {
                self.operations.extend([Operation::Note(before), Operation::Spend(before)]);
            }
            last => {
                self.operations.extend(last);
                self.operations.push_back(Operation::Note(Microticks::ZERO));
            }
        }
    }
}

/// A process's hardware thread. `C` is a command to its network interface, `W` a condition to wait for.
pub struct Thread<C, W>(pub(crate) Arc<Mutex<Mailbox<C, W>>>);

impl<C, W> Clone for Thread<C, W> {
    fn clone(&self) -> Self {
        Thread(Arc::clone(&self.0))
    }
}

impl<C, W> Default for Thread<C, W> {
    fn default() -> Self {
        let (operations, measurements) = (Operations::new(), vec![]);
        Thread(Arc::new(Mutex::new(Mailbox {
            now: Microticks::ZERO,
            operations,
            resumed: None,
            measurements,
            noted: vec![],
            notices: vec![],
        })))
    }
}

impl<C, W> Thread<C, W> {
    /// Memory shared by a process and its node, bytes.
    pub const fn bytes() -> usize {
        size_of::<Mutex<Mailbox<C, W>>>()
    }

    /// Resumes its process at a time.
    pub fn resumed(&self, now: Microticks, why: Resumed) {
        let mut mailbox = lock(&self.0);
        mailbox.now = now;
        mailbox.resumed = (why != Resumed::Started).then_some(why);
    }

    /// The time at which its process was resumed.
    pub fn now(&self) -> Microticks {
        lock(&self.0).now
    }

    /// The time that it reaches when it has done what it was told to, if commands and waits take none.
    pub fn reached(&self) -> Microticks {
        let mailbox = lock(&self.0);
        let spent = mailbox.operations.iter().map(|operation| match operation {
            Operation::Spend(time) => *time,
            _ => Microticks::ZERO,
        });
        spent.fold(mailbox.now, |sum, time| sum + time)
    }

    /// Appends a computation of this length to its operations.
    pub fn spend(&self, microticks: Microticks) {
        lock(&self.0).spend(microticks);
    }

    /// The same, followed by a command to the network interface.
    pub fn spend_and_submit(&self, microticks: Microticks, command: C) {
        let mut mailbox = lock(&self.0);
        mailbox.spend(microticks);
        mailbox.operations.push_back(Operation::Submit(command));
    }

    /// Appends a command to the network interface.
    pub fn submit(&self, command: C) {
        self.ask(Operation::Submit(command));
    }

    /// Appends a wait.
    pub fn wait(&self, wait: Wait<W>) {
        self.ask(Operation::Wait(wait));
    }

    /// Appends a wait that other processes of the node end too.
    pub fn park(&self, wait: Wait<W>) {
        self.ask(Operation::Park(wait));
    }

    /// Appends the unparking of a process of the node.
    pub fn unpark(&self, process: ProcessId) {
        self.ask(Operation::Unpark(process));
    }

    /// Appends a notice to a process of the node, of what this one has written for it.
    pub fn notify(&self, process: ProcessId, number: u32) {
        self.ask(Operation::Notify(process, number));
    }

    /// A notice has come.
    pub(crate) fn notified(&self, number: u32) {
        lock(&self.0).notices.push(number);
    }

    /// Whether there are notices that were not taken.
    pub(crate) fn has_notices(&self) -> bool {
        !lock(&self.0).notices.is_empty()
    }

    /// The notices that have come since the last call, in order.
    pub fn take_notices(&self) -> Vec<u32> {
        std::mem::take(&mut lock(&self.0).notices)
    }

    /// Appends the failure of the process.
    pub fn fail(&self, call: &str, reason: impl std::fmt::Display) {
        self.ask(Operation::Fail(Failure::new(call, reason)));
    }

    fn ask(&self, operation: Operation<C, W>) {
        lock(&self.0).operations.push_back(operation);
    }

    /// Appends a note of the time, which takes none.
    pub fn note(&self) {
        lock(&self.0).note();
    }

    /// The process has reached a note.
    pub(crate) fn noted(&self, noted: Noted) {
        lock(&self.0).noted.push(noted);
    }

    /// The notes that the process has reached since the last call, in order.
    pub fn take_noted(&self) -> Vec<Noted> {
        std::mem::take(&mut lock(&self.0).noted)
    }

    /// Whether it has operations that its node has not taken: time passes before the process is resumed.
    pub fn has_pending(&self) -> bool {
        !lock(&self.0).operations.is_empty()
    }

    /// Moves its operations to its node.
    pub fn take(&self, operations: &mut Operations<C, W>) {
        let mut mailbox = lock(&self.0);
        if operations.is_empty() {
            std::mem::swap(operations, &mut mailbox.operations);
            trim(&mut mailbox.operations);
        } else {
            operations.append(&mut mailbox.operations);
        }
    }

    /// Records a measurement of the process.
    pub fn measure(&self, key: u64, value: impl Into<u64>) {
        let value = value.into();
        lock(&self.0).measurements.push(Measurement { key, value });
    }

    /// The measurements so far.
    pub fn measurements(&self) -> Vec<Measurement> {
        lock(&self.0).measurements.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_is_asked_for_comes_in_order_and_instructions_in_a_row_are_one_operation() {
        let thread: Thread<char, ()> = Thread::default();
        thread.resumed(Microticks(5), Resumed::Started);
        thread.spend(Microticks(0));
        assert!(!thread.has_pending() && thread.now() == Microticks(5));
        thread.spend(Microticks(3));
        thread.spend(Microticks(4));
        thread.submit('a');
        thread.spend_and_submit(Microticks(0), 'b');
        thread.spend_and_submit(Microticks(2), 'c');
        thread.spend(Microticks(1));
        let mut operations = Operations::new();
        thread.take(&mut operations);
        let reported: Vec<String> = operations.iter().map(|o| format!("{o:?}")).collect();
        assert_eq!(
            reported,
            [
                "Spend(Microticks(7))",
                "Submit('a')",
                "Submit('b')",
                "Spend(Microticks(2))",
                "Submit('c')",
                "Spend(Microticks(1))"
            ]
        );
        assert!(!thread.has_pending());
    }

    #[test]
    fn notes_do_not_divide_a_computation() {
        let thread: Thread<char, ()> = Thread::default();
        thread.note();
        thread.spend(Microticks(3));
        thread.note();
        thread.spend(Microticks(4));
        thread.note();
        thread.submit('a');
        thread.note();
        thread.spend(Microticks(1));
        let mut operations = Operations::new();
        thread.take(&mut operations);
        let reported: Vec<String> = operations.iter().map(|o| format!("{o:?}")).collect();
        assert_eq!(
            reported,
            [
                "Note(Microticks(0))",
                "Note(Microticks(3))",
                "Note(Microticks(7))",
                "Spend(Microticks(7))",
                "Submit('a')",
                "Note(Microticks(0))",
                "Spend(Microticks(1))"
            ]
        );
    }
}
