//! Network interfaces as libraries see them: the same for simulated processes and, later, real ones.
//!
//! Nothing here waits. A call returns at once, or reports that there is no space; time is modelled by
//! [`Device::spend`] and by the results of later polls. So a library over a device is a state machine, which
//! is resumed when an event arrives.

use crate::gni::{Endpoint, MemOptions, Post};
use netloom_fabric::collective::ClassRoute;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::aries::collective::{Reduction, Tree};
use netloom_nic::message_unit::descriptor::Descriptor;
use netloom_nic::message_unit::fifos::{InjectionFifo, Packet};
use netloom_nic::{aries, th};
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use std::fmt::Display;

/// Operations that all devices have.
pub trait Device: Send {
    /// The steps of the software that drives it.
    type Step;

    /// The time at which the library was resumed.
    fn now(&self) -> Microticks;

    /// The software takes a step: on a simulated node the step's configured time passes on the hardware
    /// thread; between real processes this does nothing, since the step itself takes the time.
    fn spend(&self, step: Self::Step);

    /// The rank fails, because a call was rejected.
    fn fail(&self, call: &str, reason: impl Display);
}

/// A device of a simulated node, driven by the hardware thread of a process.
pub trait Simulated: Device {
    /// Commands of its network interface.
    type Command: Send + 'static;
    /// Conditions that can be waited for.
    type Watch: Copy + Send + 'static;

    /// The thread.
    fn thread(&self) -> &Thread<Self::Command, Self::Watch>;
}

/// Error: no space at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Blue Gene/Q's Message Unit, with the operations of its system programming interface.
pub trait MuDevice: Device<Step = crate::spi::Step> {
    /// The number of the node.
    fn node(&self) -> u32;

    /// The topology of the machine.
    fn torus(&self) -> &Torus;

    /// Sets an entry of the base address table.
    fn set_base_address(&self, entry: u16, address: u64);

    /// Sets the end of the buffer at an entry, until the entry is set again: what does not fit is refused.
    fn set_base_end(&self, entry: u16, end: u64);

    /// Sets up an injection FIFO.
    fn set_injection_fifo(&self, fifo: u16, settings: InjectionFifo);

    /// Sets the node's registers for the class route and the barrier class with this number.
    fn set_class(&self, class: u8, route: ClassRoute);

    /// Sets a reception counter to the number of expected bytes.
    fn set_counter(&self, address: u64, bytes: u64);

    /// When a counter last reached zero, ticks; 0 if it never has.
    fn counted_down(&self, address: u64) -> u64;

    /// Stores descriptors in memory, for an RDMA read to send; returns their length, bytes.
    fn store_descriptors(&self, address: u64, descriptors: &[Descriptor]) -> u64;

    /// Writes a descriptor to an injection FIFO and advances its tail.
    ///
    /// # Errors
    /// If the FIFO is full.
    fn inject(&self, fifo: u16, descriptor: &Descriptor) -> Result<(), Full>;

    /// Polls a reception FIFO for its next packet. When the library is resumed next, [`Self::polled`] returns
    /// it.
    fn poll(&self, fifo: u16);

    /// The result of the last poll.
    fn polled(&self) -> Option<Packet>;

    /// Enters the barrier of a class for the `turn`-th time, from 0.
    fn enter_barrier(&self, class: u8, turn: u64);

    /// Whether all nodes have entered it.
    fn has_passed_barrier(&self, class: u8, turn: u64) -> bool;
}

/// Cray XC's Aries NIC, with the operations of uGNI.
pub trait GniDevice: Device<Step = crate::gni::Step> {
    /// Attaches to a communication domain.
    ///
    /// # Errors
    /// If it cannot.
    fn attach(&self, ptag: u8, cookie: u32) -> Result<(), aries::status::Refusal>;

    /// From now on another hardware thread drives the device, which is this process of its node.
    fn run_as(&self, process: u8);

    /// Creates a completion queue with this capacity.
    fn create_queue(&self, entries: usize) -> u16;

    /// Registers memory of the process, under a virtual handle that is the same for all processes with its
    /// number.
    ///
    /// # Errors
    /// If the memory cannot be registered.
    fn register(
        &self,
        address: u64,
        bytes: u64,
        options: MemOptions,
    ) -> Result<Handle, aries::status::Refusal>;

    /// Sets a collective engine's position in a tree.
    ///
    /// # Errors
    /// If the position is invalid.
    fn configure_engine(&self, engine: u8, tree: Tree) -> Result<(), aries::status::Refusal>;

    /// A word of the process's memory.
    fn load_word(&self, address: u64) -> u64;

    /// Bytes of the process's memory.
    fn load(&self, address: u64, length: usize) -> Vec<u8>;

    /// Posts an operation: executed by the core's own stores, or by the block transfer engine.
    ///
    /// # Errors
    /// If it is invalid.
    fn post(&self, to: Endpoint, post: Post) -> Result<(), aries::status::Refusal>;

    /// Posts a put of bytes that are not in registered memory.
    ///
    /// # Errors
    /// If it is invalid.
    fn put_bytes(&self, to: Endpoint, post: Post, bytes: &[u8]) -> Result<(), aries::status::Refusal>;

    /// Joins a collective engine's next operation.
    ///
    /// # Errors
    /// If one is pending.
    fn join(&self, engine: u8, operation: Reduction, value: u64) -> Result<(), aries::status::Refusal>;

    /// Whether a completion queue has an event.
    fn has_event(&self, queue: u16) -> bool;

    /// Takes the next event of a completion queue.
    ///
    /// # Errors
    /// [`aries::status::Refusal::NotDone`] if there is none; if events were lost.
    fn poll(&self, queue: u16) -> Result<aries::Event, aries::status::Refusal>;
}

/// Memory that other processes can access.
pub type Handle = aries::address::MemHandle;

/// TH Express-2's NIC, with the operations of libglex.
pub trait GlexDevice: Device<Step = crate::glex::Step> {
    /// The number of the node.
    fn node(&self) -> u32;

    /// Maximum data of a mini-packet, bytes.
    fn mini_packet_max_bytes(&self) -> u64;

    /// Maximum data of a put that is in its descriptor, bytes.
    fn immediate_max_bytes(&self) -> u64;

    /// The largest queue in one piece of physical memory, bytes.
    fn pinned_max_bytes(&self) -> u64;

    /// Creates an endpoint.
    ///
    /// # Errors
    /// If no endpoint is free, or a queue is too large.
    fn create_endpoint(&self, config: th::EndpointConfig) -> Result<u8, th::status::Refusal>;

    /// Registers memory for an endpoint.
    ///
    /// # Errors
    /// If the memory cannot be registered.
    fn register(&self, endpoint: u8, address: u64, bytes: u64) -> Result<(), th::status::Refusal>;

    /// Stores bytes in the process's memory (not timed).
    fn store(&self, address: u64, bytes: &[u8]);

    /// Bytes of the process's memory (not timed).
    fn load(&self, address: u64, length: usize) -> Vec<u8>;

    /// Posts a request.
    ///
    /// # Errors
    /// If it is invalid; [`th::status::Refusal::QueueFull`] if the descriptor queue is full.
    fn post(&self, endpoint: u8, request: th::Request) -> Result<(), th::status::Refusal>;

    /// Whether an endpoint's queues have an event, and a mini-packet.
    fn has_any(&self, endpoint: u8) -> (bool, bool);

    /// Takes the next event.
    ///
    /// # Errors
    /// If there is none, or events were lost.
    fn poll_event(&self, endpoint: u8) -> Result<th::Event, th::status::Refusal>;

    /// Takes the next mini-packet.
    ///
    /// # Errors
    /// If there is none, or mini-packets were lost.
    fn poll_mini_packet(&self, endpoint: u8) -> Result<th::MiniPacket, th::status::Refusal>;
}
