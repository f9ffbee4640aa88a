//! What carries the messages of a guest's task on its node.
//!
//! - [`mod@unit`] – a Message Unit, with packets, RDMA and class routes.
//! - [`messages`] – any other network interface, by the [`Transport`](crate::transport::Transport) of its
//!   messages.
//! - `collective_data` – the data of collective operations that such interfaces execute.

mod collective_data;
pub mod messages;
pub mod unit;

use super::process::Settings;
use super::{ContextNumber, Contexts, Facts};
use crate::pami::Endpoint;
use crate::pami::device::{Begun, Collective, Full, Piece, Range, Ticket, Transfer};
use crate::pami::message_unit::memory::Mapping;
use crate::pami::packet::Head;
use crate::transit::Flight;
use netloom_node::process::ProcessId;
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use smallvec::SmallVec;

/// What has arrived at a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A packet.
    Packet(Head, Vec<u8>),
    /// The end of an operation, by the context's number of it.
    Finished(Ticket),
}

/// Conditions that end a wait.
pub type Watches<W> = SmallVec<[W; 2]>;

/// The network interface of a task's node. Nothing here waits.
pub trait Interface: Send + 'static {
    /// Its commands.
    type Command: Send + 'static;
    /// Conditions that can be waited for.
    type Watch: Copy + Send + 'static;
    /// A context of the task on it.
    type Context: ContextPort<Watch = Self::Watch>;

    /// The hardware thread that drives it.
    fn thread(&self) -> &Thread<Self::Command, Self::Watch>;

    /// The job begins.
    fn start(&mut self) {}

    /// Sets what its guest must know of it.
    fn adapt(&self, _facts: &mut Facts) {}

    /// Opens a context of the task.
    fn open(&mut self, settings: &Settings, endpoint: Endpoint) -> Self::Context;

    /// Whether all tasks are a group from the start.
    fn has_world(&self) -> bool {
        false
    }

    /// Gives a context the group of all tasks, once, if there is one. Returns whether it has it now.
    fn give_world(&mut self, _context: &mut Self::Context) -> bool {
        false
    }

    /// The process of its node that is notified of what other processes of the node have written for the
    /// task, if they may.
    fn listens(&self) -> Option<ProcessId> {
        None
    }

    /// From now on another hardware thread drives it, which is this process of its node.
    fn run_as(&mut self, _process: u8) {}

    /// Notes what has happened until now, in a process of the node that is resumed. Returns the contexts at
    /// which something has arrived of which no condition will report to other processes.
    fn collect(&mut self, contexts: &mut [(ContextNumber, Self::Context)], process: u8) -> Contexts;

    /// Whether the task must wait: the processor still writes packets of a call that has returned to it.
    fn holds(&self) -> bool {
        false
    }

    /// Whether everything that the task sent has left the processor, so that its process may end.
    fn is_idle(&self) -> bool {
        true
    }

    /// Conditions under which [`Self::holds`] and [`Self::is_idle`] may change, and the longest wait for
    /// them.
    fn progress(&self) -> (Watches<Self::Watch>, Option<Microticks>) {
        (Watches::new(), None)
    }

    /// The mapping of a range of the guest's memory, by which others reach it.
    fn expose(&mut self, range: Range) -> Mapping;

    /// Whether others reach a range of memory that a task has exposed.
    fn is_exposed(&self, address: u64, bytes: u64) -> bool;

    /// Reads the ends of a range of the guest's memory, so that a fault is noted if it has none there.
    fn touch(&mut self, range: Range);
}

/// A context of a task on its node's network interface.
pub trait ContextPort: Send {
    /// Conditions that can be waited for.
    type Watch: Copy + Send + 'static;

    /// The next of what has arrived.
    fn next(&mut self) -> Option<Arrival>;

    /// Whether there is something to take.
    fn has_arrivals(&self) -> bool;

    /// A wait has ended since there is a packet: it may be fetched.
    fn fetch(&mut self) {}

    /// Packets or other operations that it may begin now.
    fn room(&self) -> u64;

    /// The conditions of a packet.
    fn packet_watches(&self) -> Watches<Self::Watch>;

    /// The other conditions under which there is more to do.
    fn other_watches(&self) -> Watches<Self::Watch> {
        Watches::new()
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// If there is no space.
    fn inject(&mut self, to: Endpoint, head: Head, bytes: Vec<u8>) -> Result<(), Full>;

    /// Sends memory in packets with this head.
    ///
    /// # Errors
    /// If there is no space.
    fn inject_data(&mut self, to: Endpoint, head: Head, data: Range) -> Result<Begun, Full>;

    /// Moves data between this task's memory and another's.
    ///
    /// # Errors
    /// If it cannot.
    fn transfer(&mut self, way: Transfer, with: Endpoint, pieces: &[Piece]) -> Result<Begun, Full>;

    /// Begins an operation that ends when all earlier puts are complete.
    ///
    /// # Errors
    /// If there is no space.
    fn flush(&mut self, with: Endpoint) -> Result<Begun, Full>;

    /// See [`PamiDevice::free_classes`](crate::pami::device::PamiDevice::free_classes).
    fn free_classes(&mut self, _tasks: &[(u32, u32)]) -> u64 {
        0
    }

    /// Sets up a group of tasks with a class. Returns its number; none if these can be no group.
    fn join(&mut self, _tasks: &[(u32, u32)], _class: u8) -> Option<usize> {
        None
    }

    /// Frees the class of a group.
    fn leave(&mut self, _group: usize) {}

    /// Whether there is such a group.
    fn has_group(&self, _group: usize) -> bool {
        false
    }

    /// Whether a task is a member of a group.
    fn group_has(&self, _group: usize, _task: u32) -> bool {
        false
    }

    /// Begins a collective operation of a group that it [has](Self::has_group).
    fn collective(&mut self, group: usize, operation: Collective) -> Ticket {
        unreachable!("{operation:?} of group {group} on an interface without groups")
    }

    /// From now on what arrives from other nodes is noted.
    fn note_flights(&mut self);

    /// What has arrived since the last call.
    fn take_flights(&mut self) -> Vec<Flight>;
}
