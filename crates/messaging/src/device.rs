//! Network interfaces as libraries see them: the same whether they are simulated or, later, stand between real processes.
//!
//! Nothing here waits. A call does its part at once, or says that there is no room now; what takes time is told by [`Device::spend`] and by
//! what polling finds later. So a library over a device is a state machine, which whoever runs it resumes when something has come.

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

/// What all have in common.
pub trait Device: Send {
    /// The steps of the software that drives it.
    type Step;

    /// The time at which the library was resumed.
    fn now(&self) -> Microticks;

    /// The software takes a step: on a simulated node its time, which the machine's file says, goes by on the hardware thread; between real
    /// processes it is nothing, since they take it themselves.
    fn spend(&self, step: Self::Step);

    /// The rank cannot go on, for a call that was refused.
    fn fail(&self, call: &str, reason: impl Display);
}

/// A device of a simulated node: it is driven by the hardware thread of a process.
pub trait Simulated: Device {
    /// Commands of its network interface.
    type Command: Send + 'static;
    /// What can be waited for there.
    type Watch: Copy + Send + 'static;

    /// The thread.
    fn thread(&self) -> &Thread<Self::Command, Self::Watch>;
}

/// That there is no room now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Blue Gene/Q's Message Unit, in the words of its system programming interface.
pub trait MuDevice: Device<Step = crate::spi::Step> {
    /// The number of the node.
    fn node(&self) -> u32;

    /// The machine's shape.
    fn torus(&self) -> &Torus;

    /// Sets an entry of the base address table.
    fn set_base_address(&self, entry: u16, address: u64);

    /// Sets up an injection FIFO.
    fn set_injection_fifo(&self, fifo: u16, settings: InjectionFifo);

    /// Sets the node's registers of a class route and of the barrier class of that number.
    fn set_class(&self, class: u8, route: ClassRoute);

    /// Sets a reception counter to the bytes that are to come.
    fn set_counter(&self, address: u64, bytes: u64);

    /// When a counter came to zero last, ticks; 0 if it never has.
    fn counted_down(&self, address: u64) -> u64;

    /// Stores descriptors in memory, for an RDMA read to send; returns their length, bytes.
    fn store_descriptors(&self, address: u64, descriptors: &[Descriptor]) -> u64;

    /// Writes a descriptor into an injection FIFO and moves its tail.
    ///
    /// # Errors
    /// If the FIFO is full.
    fn inject(&self, fifo: u16, descriptor: &Descriptor) -> Result<(), Full>;

    /// Looks for the next packet of a reception FIFO. When the library is resumed next, [`Self::polled`] has it.
    fn poll(&self, fifo: u16);

    /// What the last poll found.
    fn polled(&self) -> Option<Packet>;

    /// Enters the barrier of a class for the `turn`-th time, from 0 on.
    fn enter_barrier(&self, class: u8, turn: u64);

    /// Whether all have entered it.
    fn has_passed_barrier(&self, class: u8, turn: u64) -> bool;
}

/// Cray XC's Aries NIC, in the words of uGNI.
pub trait GniDevice: Device<Step = crate::gni::Step> {
    /// Signs on to a communication domain.
    ///
    /// # Errors
    /// If it cannot.
    fn attach(&self, ptag: u8, cookie: u32) -> Result<(), aries::status::Refusal>;

    /// Makes a completion queue for so many events.
    fn create_queue(&self, entries: usize) -> u16;

    /// Registers memory of the process, under a virtual handle that all processes of its number have.
    ///
    /// # Errors
    /// If it cannot be.
    fn register(
        &self,
        address: u64,
        bytes: u64,
        options: MemOptions,
    ) -> Result<Handle, aries::status::Refusal>;

    /// Gives a collective engine its place in a tree.
    ///
    /// # Errors
    /// If it cannot have it.
    fn configure_engine(&self, engine: u8, tree: Tree) -> Result<(), aries::status::Refusal>;

    /// A word of the process' memory.
    fn load_word(&self, address: u64) -> u64;

    /// Bytes of the process' memory.
    fn load(&self, address: u64, length: usize) -> Vec<u8>;

    /// Posts an operation: by the core's own stores, or for the block transfer engine.
    ///
    /// # Errors
    /// What cannot be posted.
    fn post(&self, to: Endpoint, post: Post) -> Result<(), aries::status::Refusal>;

    /// Posts a put of bytes that lie in no registered memory.
    ///
    /// # Errors
    /// What cannot be posted.
    fn put_bytes(&self, to: Endpoint, post: Post, bytes: &[u8]) -> Result<(), aries::status::Refusal>;

    /// Joins a collective engine's next operation.
    ///
    /// # Errors
    /// If one is pending.
    fn join(&self, engine: u8, operation: Reduction, value: u64) -> Result<(), aries::status::Refusal>;

    /// Whether an event lies in a completion queue.
    fn has_event(&self, queue: u16) -> bool;

    /// Takes the next event of a completion queue.
    ///
    /// # Errors
    /// [`aries::status::Refusal::NotDone`] if there is none; if events were lost.
    fn poll(&self, queue: u16) -> Result<aries::Event, aries::status::Refusal>;
}

/// Memory that others can name.
pub type Handle = aries::address::MemHandle;

/// TH Express-2's NIC, in the words of libglex.
pub trait GlexDevice: Device<Step = crate::glex::Step> {
    /// The number of the node.
    fn node(&self) -> u32;

    /// Data of the longest mini-packet, bytes.
    fn mini_packet_max_bytes(&self) -> u64;

    /// Makes an endpoint with queues for so many events and as many mini-packets.
    ///
    /// # Errors
    /// If there is none left.
    fn create_endpoint(
        &self,
        submission: th::Submission,
        key: u16,
        entries: usize,
    ) -> Result<u8, th::status::Refusal>;

    /// Registers memory for an endpoint.
    ///
    /// # Errors
    /// If it cannot be.
    fn register(&self, endpoint: u8, address: u64, bytes: u64) -> Result<(), th::status::Refusal>;

    /// Posts a request.
    ///
    /// # Errors
    /// If it cannot be; [`th::status::Refusal::QueueFull`] if the descriptor queue is full.
    fn post(&self, endpoint: u8, request: th::Request) -> Result<(), th::status::Refusal>;

    /// Whether an event, and whether a mini-packet, lies in an endpoint's queues.
    fn has_any(&self, endpoint: u8) -> (bool, bool);

    /// Takes the next event.
    ///
    /// # Errors
    /// If there is none; if some were lost.
    fn poll_event(&self, endpoint: u8) -> Result<th::Event, th::status::Refusal>;

    /// Takes the next mini-packet.
    ///
    /// # Errors
    /// If there is none; if some were lost.
    fn poll_mini_packet(&self, endpoint: u8) -> Result<th::MiniPacket, th::status::Refusal>;
}
