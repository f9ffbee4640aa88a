//! What a node's processes and its NIC share: its memory, what is registered of it, completion queues, posted receives, and which parts of
//! the NIC have been given to whom.

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

/// FMA descriptors of a NIC.
pub const FMA_DESCRIPTORS: usize = 127;

/// What all nodes of a block have in common.
pub struct Common {
    /// The NIC.
    pub config: AriesConfig,
    /// The form of the network's packets.
    pub packet: FlitFormat,
    /// The jobs of the machine.
    pub jobs: Arc<[Job]>,
    /// Processes of each node.
    pub processes: u8,
    pub(super) seed: u64,
    /// The network, and the links to each node from where pulses come, once they are asked for.
    pub(super) topology: SwitchedTopology,
    pub(super) links: OnceLock<Box<[u8]>>,
}

impl Common {
    /// The job of a protection tag.
    pub fn job(&self, ptag: u8) -> Option<&Job> {
        self.jobs.iter().find(|job| job.ptag == ptag)
    }
}

/// What a completion event is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Something that was posted here.
    Post,
    /// Memory of this process that another has written.
    Remote,
    /// A receive that was posted.
    Receive,
    /// A collective operation.
    Collective,
}

/// A completion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is of.
    pub kind: EventKind,
    /// What the initiator gave it: a posted descriptor's or receive's number, a remote event's data.
    pub user: u64,
    /// How it ended.
    pub status: Status,
    /// Bytes of a transfer or a message.
    pub bytes: u64,
}

/// A completion queue, in memory of its process.
pub struct Queue {
    /// The process.
    pub process: u8,
    /// Events that it has room for.
    pub room: usize,
    /// What lies in it.
    pub events: VecDeque<Event>,
    /// Whether it was full and events were lost.
    pub is_overrun: bool,
    /// How its process waits for it.
    pub mode: QueueMode,
    /// Whether it interrupts nobody for now.
    pub is_masked: bool,
}

/// How a process waits for a queue's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueMode {
    /// It polls memory.
    #[default]
    Polled,
    /// It sleeps until the NIC interrupts, which it does when so many events are there.
    Blocking {
        /// How many: 1 is each.
        delay_count: usize,
    },
}

impl Queue {
    /// An empty one of a process.
    pub fn new(process: u8, room: usize) -> Self {
        let mode = QueueMode::Polled;
        Queue { process, room, events: VecDeque::new(), is_overrun: false, mode, is_masked: false }
    }

    /// Whether something lies in it, or events were lost.
    pub fn has_any(&self) -> bool {
        self.is_overrun || !self.events.is_empty()
    }

    /// Whether who waits for it goes on now, and whether by an interrupt.
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

/// Memory that waits for a message.
#[derive(Clone, Copy, Debug)]
pub struct Receive {
    /// Where it is in its process.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// Where its end is told.
    pub queue: Option<u16>,
    /// What its event says.
    pub user: u64,
}

/// A node.
#[derive(Default)]
pub struct Node {
    /// Its memory.
    pub contents: Contents,
    /// What is registered of it.
    pub domains: Domains,
    /// Completion queues by number; none where one was destroyed.
    pub queues: Vec<Option<Queue>>,
    /// By process: its job.
    pub attached: BTreeMap<u8, u8>,
    /// FMA descriptors that are taken, a bit each.
    pub descriptors: u128,
    /// Receives that are posted, by process.
    pub receives: BTreeMap<u8, VecDeque<Receive>>,
    /// The trees of its collective engines.
    pub trees: [Option<Tree>; super::collective::ENGINES],
    /// What the engines' last operations came to.
    pub results: [Option<([u64; 2], Status)>; super::collective::ENGINES],
    /// Whether an operation of an engine is pending.
    pub is_pending: [bool; super::collective::ENGINES],
    /// The answer to who asked whether an FMA descriptor has nothing outstanding.
    pub is_synced: bool,
    /// The completion queue of the node's own messages, once there are any.
    pub system_queue: Option<u16>,
    /// Who hears of errors.
    pub subscriptions: Vec<Option<Subscription>>,
}

/// Where an address of a process lies among the contents of its node.
pub fn place(process: u8, address: u64) -> u64 {
    debug_assert!(address < 1 << 48);
    u64::from(process) << 48 | address
}

impl Node {
    /// Makes a completion queue; says which.
    pub fn add_queue(&mut self, queue: Queue) -> u16 {
        self.queues.push(Some(queue));
        (self.queues.len() - 1) as u16
    }

    /// A completion queue, unless it was destroyed.
    pub fn queue(&mut self, queue: u16) -> Option<&mut Queue> {
        self.queues.get_mut(usize::from(queue))?.as_mut()
    }

    /// Takes an FMA descriptor for a process.
    ///
    /// # Errors
    /// If all are taken.
    pub fn take_descriptor(&mut self) -> Result<u8, Refusal> {
        let first = (!self.descriptors).trailing_zeros() as usize;
        if first >= FMA_DESCRIPTORS {
            return Err(Refusal::ErrorResource);
        }
        self.descriptors |= 1 << first;
        Ok(first as u8)
    }
}
