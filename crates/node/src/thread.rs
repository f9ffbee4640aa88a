//! The hardware thread that a process runs on, as the process' software sees it: what it is asked for it does in order, one after the
//! other. Nothing here waits.

use crate::process::{Failure, Measurement, Operation, Operations, Resumed, Wait};
use crate::program::lock;
use crate::time::Microticks;
use std::sync::{Arc, Mutex};

/// What a process and its node exchange.
pub(crate) struct Mailbox<C, W> {
    now: Microticks,
    /// What has been asked for and the node has not yet taken over.
    pub(crate) operations: Operations<C, W>,
    /// Why the process was resumed, until it has looked.
    pub(crate) resumed: Option<Resumed>,
    measurements: Vec<Measurement>,
}

impl<C, W> Mailbox<C, W> {
    fn spend(&mut self, microticks: Microticks) {
        match self.operations.back_mut() {
            _ if microticks.is_zero() => {}
            Some(Operation::Spend(before)) => *before += microticks,
            _ => self.operations.push_back(Operation::Spend(microticks)),
        }
    }
}

/// A process' hardware thread. `C` is a command to its network interface, `W` something to wait for.
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
        })))
    }
}

impl<C, W> Thread<C, W> {
    /// Bytes of what a process and its node share.
    pub const fn bytes() -> usize {
        size_of::<Mutex<Mailbox<C, W>>>()
    }

    /// Its process is resumed at a time.
    pub fn resumed(&self, now: Microticks, why: Resumed) {
        let mut mailbox = lock(&self.0);
        mailbox.now = now;
        mailbox.resumed = (why != Resumed::Started).then_some(why);
    }

    /// The time at which its process was resumed.
    pub fn now(&self) -> Microticks {
        lock(&self.0).now
    }

    /// Runs instructions for this long, behind all that it has been asked for.
    pub fn spend(&self, microticks: Microticks) {
        lock(&self.0).spend(microticks);
    }

    /// The same, and then gives a command to the network interface.
    pub fn spend_and_submit(&self, microticks: Microticks, command: C) {
        let mut mailbox = lock(&self.0);
        mailbox.spend(microticks);
        mailbox.operations.push_back(Operation::Submit(command));
    }

    /// Gives a command to the network interface, when all before it is done.
    pub fn submit(&self, command: C) {
        self.ask(Operation::Submit(command));
    }

    /// Waits for something, when all before it is done.
    pub fn wait(&self, wait: Wait<W>) {
        self.ask(Operation::Wait(wait));
    }

    /// Ends the process, for what it has done wrong, when all before it is done.
    pub fn fail(&self, call: &str, reason: impl std::fmt::Display) {
        self.ask(Operation::Fail(Failure::new(call, reason)));
    }

    fn ask(&self, operation: Operation<C, W>) {
        lock(&self.0).operations.push_back(operation);
    }

    /// Whether it has been asked for anything that its node has not taken over: time passes before the process is resumed.
    pub fn has_pending(&self) -> bool {
        !lock(&self.0).operations.is_empty()
    }

    /// Its node takes over what it has been asked for.
    pub fn take(&self, operations: &mut Operations<C, W>) {
        let mut mailbox = lock(&self.0);
        if operations.is_empty() {
            std::mem::swap(operations, &mut mailbox.operations);
        } else {
            operations.append(&mut mailbox.operations);
        }
    }

    /// Keeps a figure that the process measured.
    pub fn measure(&self, key: u64, value: impl Into<u64>) {
        let value = value.into();
        lock(&self.0).measurements.push(Measurement { key, value });
    }

    /// The figures so far.
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
        let told: Vec<String> = operations.iter().map(|o| format!("{o:?}")).collect();
        assert_eq!(
            told,
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
}
