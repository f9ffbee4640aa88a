//! What a node's processes and its NIC share: its memory, its virtual ports with their queues (sections 2.1 and 2.7), and what is
//! registered.

use super::atc::Atc;
use super::checker::{Checker, Item, PAGE_B};
use super::config::ThConfig;
use super::descriptor::{Address, Descriptor};
use super::queue::{ErrorPacket, Interrupt, Queue, QueueConfig};
use super::sequence::Control;
use super::status::{Refusal, Status};
use netloom_fabric::config::FlitFormat;
use netloom_node::memory::Contents;
pub(super) use netloom_node::program::lock;
use std::collections::VecDeque;

/// Virtual ports that take descriptors by PIO writes.
pub const PIO_PORTS: u8 = 8;
/// Virtual ports in all; the others fetch descriptors by DMA.
pub const PORTS: u8 = 40;

/// What all nodes of a block have in common.
pub struct Common {
    /// The NIC.
    pub config: ThConfig,
    /// The form of the network's packets.
    pub packet: FlitFormat,
    /// Nodes of the machine.
    pub nodes: u32,
    /// Processes of each node.
    pub processes: u8,
}

/// How a virtual port gets its descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// Written by the core, into the port's HDQ on the chip.
    Pio,
    /// Fetched by the NIC from the port's SDQ in host memory.
    Dma,
}

/// What an event is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An operation of this port.
    Local,
    /// An operation of another's on memory of this port.
    Remote,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is of.
    pub kind: EventKind,
    /// What its descriptor gave it.
    pub user: u32,
    /// How the operation ended.
    pub status: Status,
}

/// A mini-packet that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MiniPacket {
    /// Node and port that it is from.
    pub from: (u32, u8),
    /// Its data, as much as the sender had.
    pub data: Vec<u8>,
}

/// An endpoint, as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointConfig {
    /// How it gets its descriptors.
    pub submission: Submission,
    /// Its key.
    pub key: u16,
    /// Its event queue.
    pub events: QueueConfig,
    /// Its mini-packet queue.
    pub mini_packets: QueueConfig,
    /// Whether its queues lie in the memory of the CPU that the NIC is not attached to (section 3.1).
    pub is_far: bool,
}

impl EndpointConfig {
    /// With queues of physical memory next to the NIC, for so many events and as many mini-packets.
    pub fn new(submission: Submission, key: u16, entries: usize) -> Self {
        let queue = QueueConfig::pinned(entries);
        EndpointConfig { submission, key, events: queue, mini_packets: queue, is_far: false }
    }
}

/// A request that did not end as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedRequest {
    /// The port that it was for.
    pub to: Address,
    /// How it ended.
    pub status: Status,
    /// The number of its local event, if it was to have one.
    pub event: Option<u32>,
}

/// Failed requests that an endpoint keeps **(ours)**.
const FAILED: usize = 64;

/// A virtual port.
pub struct Port {
    /// The process that has it.
    pub process: u8,
    /// How it was made.
    pub config: EndpointConfig,
    /// Its event queue.
    pub events: Queue<Event>,
    /// Requests of it that failed.
    pub failed: Queue<FailedRequest>,
    /// Its mini-packet queue.
    pub mini_packets: Queue<MiniPacket>,
    /// Mini-packets on their way to memory.
    pub(super) mini_under_way: usize,
    /// Descriptors in host memory that the NIC has not fetched.
    pub sdq: VecDeque<Descriptor>,
    /// Descriptors on their way to the chip, or there.
    pub held: u32,
    /// Control packets that have come for its sequences.
    pub(super) control: Control,
    /// Whether its queues interrupt when they are no longer empty: of events, of mini-packets.
    pub interrupts: [bool; 2],
}

impl Port {
    /// One that was just given to a process.
    pub fn new(process: u8, config: EndpointConfig) -> Self {
        Port {
            process,
            config,
            events: Queue::new(config.events),
            failed: Queue::new(QueueConfig::pinned(FAILED)),
            mini_packets: Queue::new(config.mini_packets),
            mini_under_way: 0,
            sdq: VecDeque::new(),
            held: 0,
            control: Control::default(),
            interrupts: [false; 2],
        }
    }
}

/// A node.
#[derive(Default)]
pub struct Node {
    /// Its memory.
    pub contents: Contents,
    /// Its virtual ports, by number.
    pub(super) ports: Vec<Option<Port>>,
    pub(super) checker: Checker,
    pub(super) atc: Atc,
    /// The interrupt queue.
    pub interrupts: Queue<Interrupt>,
    /// The queue of error packets, which has room once it has been set up.
    pub errors: Queue<ErrorPacket>,
    /// Whether each error packet interrupts.
    pub error_interrupts: bool,
    /// Refreshes of the cache that software has asked for.
    pub refreshes_asked: u64,
    /// Refreshes that are done: the global register.
    pub refreshes_done: u64,
}

/// Where an address of a process lies among the contents of its node.
pub fn place(process: u8, address: u64) -> u64 {
    debug_assert!(address < 1 << 48);
    u64::from(process) << 48 | address
}

/// How a port of that number gets its descriptors.
pub fn submission_of(vp: u8) -> Submission {
    if vp < PIO_PORTS { Submission::Pio } else { Submission::Dma }
}

impl Node {
    /// A virtual port, if it has been given to a process.
    pub fn port(&mut self, vp: u8) -> Option<&mut Port> {
        self.ports.get_mut(usize::from(vp))?.as_mut()
    }

    /// Gives a process a port that is free.
    ///
    /// # Errors
    /// If none is.
    pub fn take_port(&mut self, submission: Submission, port: Port) -> Result<u8, Refusal> {
        self.ports.resize_with(PORTS.into(), || None);
        let free = (0..PORTS)
            .find(|&vp| submission_of(vp) == submission && self.ports[usize::from(vp)].is_none())
            .ok_or(Refusal::Exhausted)?;
        self.ports[usize::from(free)] = Some(port);
        Ok(free)
    }

    /// Takes a port back from its process.
    pub fn free_port(&mut self, vp: u8) {
        if let Some(port) = self.ports.get_mut(usize::from(vp)) {
            *port = None;
        }
    }

    /// Whether an item of the checker is memory of a port.
    ///
    /// # Errors
    /// If it is not.
    pub fn owns(&mut self, vp: u8, item: u16) -> Result<(), Refusal> {
        self.checker.owned(item, vp).map(|_| ())
    }

    /// Registers memory of a port: an item of the checker, and in a buffer its translations too.
    ///
    /// # Errors
    /// If the checker or the buffer has no room for it.
    pub fn register(
        &mut self,
        c: &ThConfig,
        vp: u8,
        (address, bytes): (u64, u64),
        (may_write, is_valid): (bool, bool),
    ) -> Result<u16, Refusal> {
        let key = self.port(vp).ok_or(Refusal::NotOwned)?.config.key;
        let (base, top) = (address / PAGE_B, (address + bytes - 1) / PAGE_B);
        let item = self.checker.insert(Item { vp, key, may_write, is_valid, base, top }, c.checker_items)?;
        if c.is_buffer
            && let Err(refusal) = self.atc.hold(top - base + 1, c.cache_entries)
        {
            self.checker.remove(item, vp)?;
            return Err(refusal);
        }
        Ok(item)
    }

    /// Forgets memory: first the checker, then what the cache has of it.
    ///
    /// # Errors
    /// If it is not the port's.
    pub fn deregister(&mut self, c: &ThConfig, vp: u8, item: u16) -> Result<(), Refusal> {
        let item = self.checker.remove(item, vp)?;
        self.atc.forget(vp, item.base, item.top, c.is_buffer);
        Ok(())
    }
}
