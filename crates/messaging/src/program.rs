//! What a rank does, as a state machine: skeletons, traces and message-passing libraries are all [`Program`]s.
//!
//! A driver (a simulated machine, or the ideal network of the tests) calls [`Program::start`] once and then
//! [`Program::finished`] once for each operation that has finished. Each call answers with the operations that
//! start at that very moment. A program never asks what time it is and never waits: whatever it needs to know is in
//! the order of the calls, so a run depends on nothing but the driver's order of events.
//!
//! **An operation starts when it is issued.** That is the only start there is, so nobody needs to be told of it. To
//! keep it true, a program has at most one [`Operation::Compute`] outstanding on a CPU: one that must wait for its
//! CPU is not issued yet ([`Processors`] holds it back, first come first served). Sends and receives occupy no CPU
//! here; the time that software spends on a message belongs to the messaging layer below the program.

use std::collections::{BTreeSet, VecDeque};

/// An operation's name, chosen by the program; unique among its outstanding operations and free again afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u32);

/// Collective operations that a machine may do by hardware of its own, among all ranks of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// No rank continues before all have entered.
    Barrier,
    /// Rank 0's data to all.
    Broadcast,
    /// The sum of all ranks' doubles to all.
    Allreduce,
}

impl Collective {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Barrier => "barrier",
            Collective::Broadcast => "broadcast",
            Collective::Allreduce => "allreduce",
        }
    }
}

/// What a program may ask of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Keep a CPU of the node busy. Finishes that much later.
    Compute {
        /// For how long, ns.
        ns: u64,
        /// Which CPU of the node.
        cpu: u8,
    },
    /// Send a message. Finishes when its buffer may be used again, which is for the messaging layer to say.
    Send {
        /// The receiving rank; may be the sender itself.
        to: u32,
        /// Length of the message, bytes.
        bytes: u64,
        /// What a receive must ask for to get this message.
        tag: u32,
    },
    /// Receive a message. Finishes when all of it has arrived.
    Receive {
        /// The sending rank; none takes any.
        from: Option<u32>,
        /// Length of the receive buffer, bytes. Plays no part in matching.
        bytes: u64,
        /// The tag of the message; none takes any.
        tag: Option<u32>,
    },
    /// Take part in the next collective operation of all ranks, by the machine's hardware. Finishes when this rank may continue.
    Collective {
        /// Which.
        what: Collective,
        /// Its data, bytes.
        bytes: u64,
    },
    /// Note the time at which all that was asked for before has been done by the library and handed to the network interface, among what
    /// the node measures. Takes no time.
    Mark {
        /// What the time is noted as.
        key: u64,
    },
}

/// One rank's program.
pub trait Program: Send {
    /// Called once, at time zero.
    fn start(&mut self, issue: &mut Issue);

    /// Called once for each operation that has finished. A driver may call it while it still holds operations of an
    /// earlier call; they keep their order.
    fn finished(&mut self, op: OpId, issue: &mut Issue);

    /// Whether the program has ended: nothing is outstanding and nothing will be issued.
    fn is_done(&self) -> bool;
}

/// A program that does one operation after the other.
#[derive(Debug)]
pub struct Serial {
    operations: std::vec::IntoIter<Operation>,
    is_done: bool,
}

impl Serial {
    /// Of these operations; none for a rank that does nothing.
    pub fn new(operations: Vec<Operation>) -> Self {
        Serial { operations: operations.into_iter(), is_done: false }
    }
}

impl Program for Serial {
    fn start(&mut self, issue: &mut Issue) {
        match self.operations.next() {
            Some(operation) => issue.push(OpId(0), operation),
            None => self.is_done = true,
        }
    }

    fn finished(&mut self, _: OpId, issue: &mut Issue) {
        self.start(issue);
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}

/// The ranks to which a program sends, in rising order: found by running it by itself, each operation finished as soon as
/// it has begun. Right for programs whose sends do not depend on what comes, or when; those of skeletons do not.
pub fn destinations(program: &mut dyn Program) -> BTreeSet<u32> {
    let (mut issue, mut under_way, mut found) = (Issue::new(), VecDeque::new(), BTreeSet::new());
    program.start(&mut issue);
    loop {
        for (op, operation) in issue.drain() {
            if let Operation::Send { to, .. } = operation {
                found.insert(to);
            }
            under_way.push_back(op);
        }
        let Some(op) = under_way.pop_front() else { return found };
        program.finished(op, &mut issue);
    }
}

/// The operations that start now, in the order in which the program started them. Receives must be posted and
/// messages of one pair of ranks must be delivered in that order. A driver keeps one and empties it after each call.
#[derive(Debug, Default)]
pub struct Issue {
    operations: Vec<(OpId, Operation)>,
}

impl Issue {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts an operation.
    pub fn push(&mut self, op: OpId, operation: Operation) {
        self.operations.push((op, operation));
    }

    /// Takes all operations out, in order; the list keeps its memory.
    pub fn drain(&mut self) -> impl Iterator<Item = (OpId, Operation)> + '_ {
        self.operations.drain(..)
    }

    /// How many operations it holds.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }
}

/// The CPUs of one rank: each runs one thing at a time and keeps the others waiting, first come first served.
///
/// Nothing is allocated for a rank that never computes, and no queue for a CPU that is never contended.
#[derive(Debug)]
pub struct Processors<T> {
    cpus: Vec<Cpu<T>>,
}

#[derive(Debug)]
struct Cpu<T> {
    busy: bool,
    waiting: VecDeque<T>,
}

impl<T> Default for Processors<T> {
    fn default() -> Self {
        Self { cpus: Vec::new() }
    }
}

impl<T> Processors<T> {
    /// Asks for a CPU. Gives `work` back where the CPU was idle: it starts now and the CPU is busy until
    /// [`Processors::leave`]. Otherwise `work` waits.
    pub fn enter(&mut self, cpu: u8, work: T) -> Option<T> {
        let index = usize::from(cpu);
        if index >= self.cpus.len() {
            self.cpus.resize_with(index + 1, || Cpu { busy: false, waiting: VecDeque::new() });
        }
        let cpu = &mut self.cpus[index];
        if cpu.busy {
            cpu.waiting.push_back(work);
            return None;
        }
        cpu.busy = true;
        Some(work)
    }

    /// Whether nothing runs on a CPU.
    pub fn is_idle(&self, cpu: u8) -> bool {
        self.cpus.get(usize::from(cpu)).is_none_or(|cpu| !cpu.busy)
    }

    /// What ran on this CPU has finished. Answers with what runs there from now on.
    ///
    /// # Panics
    /// Where nothing ran there.
    pub fn leave(&mut self, cpu: u8) -> Option<T> {
        let cpu = &mut self.cpus[usize::from(cpu)];
        assert!(cpu.busy, "nothing ran on this CPU");
        let next = cpu.waiting.pop_front();
        cpu.busy = next.is_some();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_runs_one_thing_at_a_time_in_order() {
        let mut cpus = Processors::default();
        assert_eq!(cpus.enter(1, 'a'), Some('a'));
        assert_eq!(cpus.enter(1, 'b'), None);
        assert_eq!(cpus.enter(1, 'c'), None);
        assert_eq!(cpus.enter(0, 'd'), Some('d'));
        assert_eq!(cpus.leave(1), Some('b'));
        assert_eq!(cpus.leave(1), Some('c'));
        assert!(!cpus.is_idle(1));
        assert_eq!(cpus.leave(1), None);
        assert!(cpus.is_idle(1) && !cpus.is_idle(0) && cpus.is_idle(200));
    }
}
