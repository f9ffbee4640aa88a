//! What a node's processes and its NIC share: its memory, what is registered of it, completion queues, posted receives, and which parts of
//! the NIC have been given to whom.

use super::address::{Domains, Job};
use super::collective::Tree;
use super::config::AriesConfig;
use super::gni::{Letters, Link, Posted, QueueMode, Subscription};
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
    pub config: AriesConfig,
    pub packet: FlitFormat,
    pub jobs: Arc<[Job]>,
    pub processes: u8,
    pub seed: u64,
    /// The network, and the links to each node from where pulses come, once they are asked for.
    pub topology: SwitchedTopology,
    pub links: OnceLock<Box<[u8]>>,
}

impl Common {
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
    pub process: u8,
    pub room: usize,
    pub events: VecDeque<Event>,
    pub is_overrun: bool,
    pub mode: QueueMode,
    pub is_masked: bool,
}

/// Memory that waits for a message.
#[derive(Clone, Copy, Debug)]
pub struct Receive {
    pub address: u64,
    pub bytes: u64,
    pub queue: Option<u16>,
    pub user: u64,
}

/// A node.
#[derive(Default)]
pub struct Node {
    pub contents: Contents,
    pub domains: Domains,
    /// By number; none where it was destroyed.
    pub queues: Vec<Option<Queue>>,
    /// By process: its job.
    pub attached: BTreeMap<u8, u8>,
    /// FMA descriptors that are taken, a bit each.
    pub descriptors: u128,
    pub receives: BTreeMap<u8, VecDeque<Receive>>,
    /// By collective engine.
    pub trees: [Option<Tree>; super::collective::ENGINES],
    /// What their last operations came to, and whether one is pending.
    pub results: [Option<([u64; 2], Status)>; super::collective::ENGINES],
    pub is_pending: [bool; super::collective::ENGINES],
    /// The answer to who asked whether an FMA descriptor has nothing outstanding.
    pub is_synced: bool,
    /// Letters between nodes, the datagrams of its processes and how many there ever were, and what it knows of messages to other nodes.
    pub letters: Letters,
    pub datagrams: Vec<Posted>,
    pub datagram_numbers: u64,
    pub links: BTreeMap<u32, Link>,
    /// Who hears of errors.
    pub subscriptions: Vec<Option<Subscription>>,
}

/// Where an address of a process lies among the contents of its node.
pub(super) fn place(process: u8, address: u64) -> u64 {
    debug_assert!(address < 1 << 48);
    u64::from(process) << 48 | address
}

impl Node {
    pub fn queue(&mut self, queue: u16) -> Option<&mut Queue> {
        self.queues.get_mut(usize::from(queue))?.as_mut()
    }

    pub fn take_descriptor(&mut self) -> Result<u8, Refusal> {
        let first = (!self.descriptors).trailing_zeros() as usize;
        if first >= FMA_DESCRIPTORS {
            return Err(Refusal::ErrorResource);
        }
        self.descriptors |= 1 << first;
        Ok(first as u8)
    }
}
