//! The state shared by a node's processes and its NIC: memory, registrations, completion queues, posted
//! receives, and the allocation of the NIC's resources.

use super::address::{Domains, Job};
use super::collective::Tree;
use super::config::AriesConfig;
use super::errors::Subscription;
use super::status::{Refusal, Status};
use netloom_fabric::config::{FlitFormat, SwitchedTopology};
use netloom_node::memory::Contents;
pub(super) use netloom_node::program::lock;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

/// FMA descriptors per NIC.
pub const FMA_DESCRIPTORS: usize = 127;

/// State shared by the nodes of a block.
pub struct Common {
    /// Configuration of the NIC.
    pub config: AriesConfig,
    /// Format of the network's packets.
    pub packet: FlitFormat,
    /// The jobs of the machine.
    pub jobs: Arc<[Job]>,
    /// Processes per node.
    pub processes: u8,
    pub(super) seed: u64,
    /// The network, and the distance of each node from the source of the pulses, computed on first use.
    pub(super) topology: SwitchedTopology,
    pub(super) links: OnceLock<Box<[u8]>>,
}

impl Common {
    /// The job of a protection tag.
    pub fn job(&self, ptag: u8) -> Option<&Job> {
        self.jobs.iter().find(|job| job.ptag == ptag)
    }
}

/// The type of a completion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An operation posted here has completed.
    Post,
    /// Another process has written to this process's memory.
    Remote,
    /// A receive that was posted.
    Receive,
    /// A collective operation.
    Collective,
}

/// A completion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its type.
    pub kind: EventKind,
    /// Data set by the initiator: the number of a posted descriptor or receive, or a remote event's data.
    pub user: u64,
    /// The status of the operation.
    pub status: Status,
    /// Bytes of a transfer or a message.
    pub bytes: u64,
}

/// A completion queue, in memory of its process.
pub struct Queue {
    /// The process.
    pub process: u8,
    /// Its capacity, events.
    pub room: usize,
    /// Its events.
    pub events: VecDeque<Event>,
    /// Whether it overflowed and events were lost.
    pub is_overrun: bool,
    /// How its process waits for it.
    pub mode: QueueMode,
    /// Whether its interrupts are masked.
    pub is_masked: bool,
}

/// How a process waits for a queue's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueMode {
    /// By polling memory.
    #[default]
    Polled,
    /// By sleeping until the NIC interrupts, once `delay_count` events have arrived.
    Blocking {
        /// Number of events; 1 interrupts at each.
        delay_count: usize,
    },
}

impl Queue {
    /// An empty queue of a process.
    pub fn new(process: u8, room: usize) -> Self {
        let mode = QueueMode::Polled;
        Queue { process, room, events: VecDeque::new(), is_overrun: false, mode, is_masked: false }
    }

    /// Whether it has an event, or events were lost.
    pub fn has_any(&self) -> bool {
        self.is_overrun || !self.events.is_empty()
    }

    /// Whether a waiting process is resumed now, and whether by an interrupt.
    pub(super) fn wakes(&self) -> (bool, bool) {
        match self.mode {
            QueueMode::Polled => (self.is_overrun || !self.events.is_empty(), false),
            QueueMode::Blocking { delay_count } => {
                let enough = self.is_overrun || self.events.len() >= delay_count.max(1);
                (enough && !self.is_masked, true)
            }
        }
    }
}

/// A posted receive.
#[derive(Clone, Copy, Debug)]
pub struct Receive {
    /// Its address in its process.
    pub address: u64,
    /// Its length, bytes.
    pub bytes: u64,
    /// The completion queue for it.
    pub queue: Option<u16>,
    /// The user data of its event.
    pub user: u64,
}

/// The shared state of a node.
#[derive(Default)]
pub struct Node {
    /// Its memory.
    pub contents: Contents,
    /// Its registered memory.
    pub domains: Domains,
    /// Completion queues by number; `None` once destroyed.
    pub queues: Vec<Option<Queue>>,
    /// The job of each process.
    pub attached: BTreeMap<u8, u8>,
    /// FMA descriptors in use, one bit each.
    pub descriptors: u128,
    /// Posted receives, by process.
    pub receives: BTreeMap<u8, VecDeque<Receive>>,
    /// The trees of its collective engines.
    pub trees: [Option<Tree>; super::collective::ENGINES],
    /// Results of the engines' last operations.
    pub results: [Option<([u64; 2], Status)>; super::collective::ENGINES],
    /// Whether an operation of an engine is pending.
    pub is_pending: [bool; super::collective::ENGINES],
    /// The answer to the query whether an FMA descriptor has no outstanding requests.
    pub is_synced: bool,
    /// The completion queue of the node's own messages, once it exists.
    pub system_queue: Option<u16>,
    /// The subscriptions to errors.
    pub subscriptions: Vec<Option<Subscription>>,
}

/// The address in the node's memory of a process's address.
pub fn place(process: u8, address: u64) -> u64 {
    debug_assert!(address < 1 << 48);
    u64::from(process) << 48 | address
}

impl Node {
    /// Creates a completion queue; returns its number.
    pub fn add_queue(&mut self, queue: Queue) -> u16 {
        self.queues.push(Some(queue));
        (self.queues.len() - 1) as u16
    }

    /// A completion queue, unless it was destroyed.
    pub fn queue(&mut self, queue: u16) -> Option<&mut Queue> {
        self.queues.get_mut(usize::from(queue))?.as_mut()
    }

    /// Allocates an FMA descriptor to a process.
    ///
    /// # Errors
    /// If all are in use.
    pub fn take_descriptor(&mut self) -> Result<u8, Refusal> {
        let first = (!self.descriptors).trailing_zeros() as usize;
        if first >= FMA_DESCRIPTORS {
            return Err(Refusal::ErrorResource);
        }
        self.descriptors |= 1 << first;
        Ok(first as u8)
    }
}
