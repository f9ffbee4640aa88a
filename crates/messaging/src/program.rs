//! The program of a rank, as a state machine: skeletons, traces and message-passing libraries are all
//! [`Program`]s.
//!
//! A driver (a simulated machine, or the ideal network of the tests) calls [`Program::start`] once and then
//! [`Program::finished`] once for each completed operation. Each call returns the operations that start at
//! that time. A program never reads the time and never waits: all its information is in the order of the
//! calls, so a run depends only on the driver's order of events.
//!
//! **An operation starts when it is issued.** There is no other start, so it is not reported separately.
//! Therefore a program has at most one [`Operation::Compute`] outstanding on a CPU: one that must wait for
//! its CPU is not issued yet ([`Processors`] holds it back in FIFO order). Sends and receives occupy no CPU
//! here; the software time of a message belongs to the messaging layer below the program.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// Identifies an operation, chosen by the program; unique among its outstanding operations and reusable
/// afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u32);

/// Collective operations that a machine's hardware may execute, among all ranks of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Collective {
    /// No rank continues before all have entered.
    Barrier,
    /// Rank 0's data to all.
    Broadcast,
    /// The sum of all ranks' doubles to rank 0.
    Reduce,
    /// The sum of all ranks' doubles to all.
    Allreduce,
}

impl Collective {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Barrier => "barrier",
            Collective::Broadcast => "broadcast",
            Collective::Reduce => "reduce",
            Collective::Allreduce => "allreduce",
        }
    }
}

/// The collective operations that a rank's library executes by the machine's hardware unless an algorithm is
/// named; none by default. It is the same for all ranks of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardwareCollectives {
    /// The most data of each, bytes, in the order of the variants; `None`: by messages.
    max_bytes: [Option<u64>; 4],
}

impl HardwareCollectives {
    /// Those for which there is a maximum of data, bytes.
    pub fn new(max_bytes: impl Fn(Collective) -> Option<u64>) -> Self {
        use Collective::{Allreduce, Barrier, Broadcast, Reduce};
        HardwareCollectives { max_bytes: [Barrier, Broadcast, Reduce, Allreduce].map(max_bytes) }
    }

    /// Whether an operation on this number of bytes is one of them.
    pub fn include(&self, what: Collective, bytes: u64) -> bool {
        self.max_bytes[what as usize].is_some_and(|most| bytes <= most)
    }
}

/// An operation of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Keeps a CPU of the node busy for this time.
    Compute {
        /// Duration, ns.
        ns: u64,
        /// The CPU of the node.
        cpu: u8,
    },
    /// Sends a message. Finishes when its buffer may be reused, as decided by the messaging layer.
    Send {
        /// The receiving rank; may be the sender itself.
        to: u32,
        /// Length of the message, bytes.
        bytes: u64,
        /// The tag that a receive must match.
        tag: u32,
    },
    /// Receives a message. Finishes when the whole message has arrived.
    Receive {
        /// The sending rank; `None` matches any.
        from: Option<u32>,
        /// Length of the receive buffer, bytes. Not used for matching.
        bytes: u64,
        /// The tag of the message; `None` matches any.
        tag: Option<u32>,
    },
    /// Takes part in the next collective operation of all ranks, by the machine's hardware. Finishes when
    /// this rank may continue.
    Collective {
        /// The operation.
        what: Collective,
        /// Its data, bytes.
        bytes: u64,
    },
    /// Records, among the node's measurements, the time at which the library has completed all earlier
    /// operations and passed them to the network interface. Takes no time.
    Mark {
        /// The key of the measurement.
        key: u64,
    },
}

/// One rank's program.
pub trait Program: Send {
    /// Called at most once, before [`Program::start`]: which collective operations its library executes by
    /// hardware unless an algorithm is named.
    fn set_hardware(&mut self, _collectives: HardwareCollectives) {}

    /// Called once, at time zero.
    fn start(&mut self, issue: &mut Issue);

    /// Called once for each completed operation. A driver may call it while it still holds operations of an
    /// earlier call; they keep their order.
    fn finished(&mut self, op: OpId, issue: &mut Issue);

    /// Whether the program has ended: no operation is outstanding and none will be issued.
    fn is_done(&self) -> bool;
}

/// A program that executes operations one after the other.
#[derive(Debug)]
pub struct Serial {
    operations: std::vec::IntoIter<Operation>,
    is_done: bool,
}

impl Serial {
    /// With these operations; empty for an idle rank.
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

/// The ranks to which a program sends, in ascending order: determined by running it alone, with each
/// operation completing at once. Valid for programs whose sends do not depend on the contents or times of
/// messages, as those of skeletons.
pub fn destinations(program: &mut dyn Program) -> BTreeSet<u32> {
    let (mut issue, mut in_flight, mut found) = (Issue::new(), VecDeque::new(), BTreeSet::new());
    program.start(&mut issue);
    loop {
        for (op, operation) in issue.drain() {
            if let Operation::Send { to, .. } = operation {
                found.insert(to);
            }
            in_flight.push_back(op);
        }
        let Some(op) = in_flight.pop_front() else { return found };
        program.finished(op, &mut issue);
    }
}

/// The operations that start now, in the program's order. Receives must be posted and messages of one pair of
/// ranks must be delivered in that order. A driver keeps one list and empties it after each call.
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

    /// Removes all operations, in order; the list keeps its memory.
    pub fn drain(&mut self) -> impl Iterator<Item = (OpId, Operation)> + '_ {
        self.operations.drain(..)
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }
}

/// The CPUs of one rank: each executes one operation at a time and queues the others in FIFO order.
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
    /// Requests a CPU. Returns `work` if the CPU was idle: it starts now and the CPU is busy until
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

    /// Whether a CPU is idle.
    pub fn is_idle(&self, cpu: u8) -> bool {
        self.cpus.get(usize::from(cpu)).is_none_or(|cpu| !cpu.busy)
    }

    /// The current operation of this CPU has finished. Returns the one that runs next.
    ///
    /// # Panics
    /// If the CPU was idle.
    pub fn leave(&mut self, cpu: u8) -> Option<T> {
        let cpu = &mut self.cpus[usize::from(cpu)];
        assert!(cpu.busy, "this CPU was idle");
        let next = cpu.waiting.pop_front();
        cpu.busy = next.is_some();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_has_a_limit_for_each_operation() {
        let some = HardwareCollectives::new(|what| match what {
            Collective::Barrier => Some(0),
            Collective::Allreduce => Some(16),
            Collective::Broadcast | Collective::Reduce => None,
        });
        assert!(some.include(Collective::Barrier, 0) && some.include(Collective::Allreduce, 16));
        assert!(!some.include(Collective::Allreduce, 17) && !some.include(Collective::Broadcast, 0));
        assert!(!some.include(Collective::Reduce, 0));
        assert!(!HardwareCollectives::default().include(Collective::Barrier, 0));
    }

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
