//! The state shared by a node's processes and its NIC: memory, virtual ports with their queues (sections 2.1
//! and 2.7), and registrations.

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
/// Total number of virtual ports; the others fetch descriptors by DMA.
pub const PORTS: u8 = 40;

/// State shared by the nodes of a block.
pub struct Common {
    /// Configuration of the NIC.
    pub config: ThConfig,
    /// Format of the network's packets.
    pub packet: FlitFormat,
    /// Number of nodes of the machine.
    pub nodes: u32,
    /// Processes per node.
    pub processes: u8,
}

/// How descriptors are submitted to a virtual port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// Written by the core, to the port's HDQ on the chip.
    Pio,
    /// Fetched by the NIC from the port's SDQ in host memory.
    Dma,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An operation of this port.
    Local,
    /// Another port's operation on memory of this port.
    Remote,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its type.
    pub kind: EventKind,
    /// The data from its descriptor.
    pub user: u32,
    /// The status of the operation.
    pub status: Status,
}

/// A received mini-packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MiniPacket {
    /// The sending node and port.
    pub from: (u32, u8),
    /// Its data, with the sender's length.
    pub data: Vec<u8>,
}

/// The configuration of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointConfig {
    /// How descriptors are submitted.
    pub submission: Submission,
    /// Its key.
    pub key: u16,
    /// Its event queue.
    pub events: QueueConfig,
    /// Its mini-packet queue.
    pub mini_packets: QueueConfig,
    /// Whether its queues are in the memory of the CPU that the NIC is not attached to (section 3.1).
    pub is_far: bool,
}

impl EndpointConfig {
    /// With queues in physical memory next to the NIC, for `entries` events and as many mini-packets.
    pub fn new(submission: Submission, key: u16, entries: usize) -> Self {
        let queue = QueueConfig::pinned(entries);
        EndpointConfig { submission, key, events: queue, mini_packets: queue, is_far: false }
    }
}

/// A failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedRequest {
    /// The target port.
    pub to: Address,
    /// The status of the operation.
    pub status: Status,
    /// The number of its local event, if it has one.
    pub event: Option<u32>,
}

/// Failed requests that an endpoint buffers **(ours)**.
const FAILED: usize = 64;

/// A virtual port.
pub struct Port {
    /// The process that owns it.
    pub process: u8,
    /// Its configuration.
    pub config: EndpointConfig,
    /// Its event queue.
    pub events: Queue<Event>,
    /// Its failed requests.
    pub failed: Queue<FailedRequest>,
    /// Its mini-packet queue.
    pub mini_packets: Queue<MiniPacket>,
    /// Mini-packets being written to memory.
    pub(super) mini_in_flight: usize,
    /// Descriptors in host memory that the NIC has not fetched.
    pub sdq: VecDeque<Descriptor>,
    /// Descriptors on the chip, or in transit to it.
    pub held: u32,
    /// Control packets received for its sequences.
    pub(super) control: Control,
    /// Whether its queues interrupt when they become nonempty: events, mini-packets.
    pub interrupts: [bool; 2],
}

impl Port {
    /// A port newly allocated to a process.
    pub fn new(process: u8, config: EndpointConfig) -> Self {
        Port {
            process,
            config,
            events: Queue::new(config.events),
            failed: Queue::new(QueueConfig::pinned(FAILED)),
            mini_packets: Queue::new(config.mini_packets),
            mini_in_flight: 0,
            sdq: VecDeque::new(),
            held: 0,
            control: Control::default(),
            interrupts: [false; 2],
        }
    }
}

/// The shared state of a node.
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
    /// The queue of error packets, which has a capacity once it has been set up.
    pub errors: Queue<ErrorPacket>,
    /// Whether each error packet interrupts.
    pub error_interrupts: bool,
    /// Cache refreshes requested by software.
    pub refreshes_asked: u64,
    /// Completed refreshes: the global register.
    pub refreshes_done: u64,
}

/// The address in the node's memory of a process's address.
pub fn place(process: u8, address: u64) -> u64 {
    debug_assert!(address < 1 << 48);
    u64::from(process) << 48 | address
}

/// How descriptors are submitted to the port with this number.
pub fn submission_of(vp: u8) -> Submission {
    if vp < PIO_PORTS { Submission::Pio } else { Submission::Dma }
}

impl Node {
    /// A virtual port, if it is allocated.
    pub fn port(&mut self, vp: u8) -> Option<&mut Port> {
        self.ports.get_mut(usize::from(vp))?.as_mut()
    }

    /// Allocates a free port to a process.
    ///
    /// # Errors
    /// If none is free.
    pub fn take_port(&mut self, submission: Submission, port: Port) -> Result<u8, Refusal> {
        self.ports.resize_with(PORTS.into(), || None);
        let free = (0..PORTS)
            .find(|&vp| submission_of(vp) == submission && self.ports[usize::from(vp)].is_none())
            .ok_or(Refusal::Exhausted)?;
        self.ports[usize::from(free)] = Some(port);
        Ok(free)
    }

    /// Frees a port.
    pub fn free_port(&mut self, vp: u8) {
        if let Some(port) = self.ports.get_mut(usize::from(vp)) {
            *port = None;
        }
    }

    /// Checks that an item of the checker is memory of a port.
    ///
    /// # Errors
    /// If it is not.
    pub fn owns(&mut self, vp: u8, item: u16) -> Result<(), Refusal> {
        self.checker.owned(item, vp).map(|_| ())
    }

    /// Registers memory of a port: an item of the checker and, for a buffer, its translations.
    ///
    /// # Errors
    /// If the checker or the buffer has no space for it.
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

    /// Deregisters memory: first in the checker, then in the cache.
    ///
    /// # Errors
    /// If it does not belong to the port.
    pub fn deregister(&mut self, c: &ThConfig, vp: u8, item: u16) -> Result<(), Refusal> {
        let item = self.checker.remove(item, vp)?;
        self.atc.forget(vp, item.base, item.top, c.is_buffer);
        Ok(())
    }
}
