//! What programs on nodes with Message Units call, in the manner of the machine's own system programming interface (section IV):
//! the kernel's side sets up base addresses; the user's side injects descriptors and waits for counters. Each call costs the
//! time of its instructions.
//!
//! A program is an `async fn`. There is no runtime: its node's host polls it when what it waits for has happened.
//!
//! ```
//! use netloom_nic::message_unit::descriptor::{ANY_DIRECTION, Descriptor, Kind, Network};
//! use netloom_nic::message_unit::spi::Spi;
//!
//! /// Node 0 writes 32 bytes into node 1's memory, and node 1 waits for them.
//! async fn put(spi: Spi) {
//!     spi.set_base_address(0, 0x1000);
//!     spi.set_counter(0x1000, 32);
//!     let kind = Kind::DirectPut { base: 0, offset: 64, counter_base: 0, counter_offset: 0 };
//!     match spi.node() {
//!         0 => {
//!             let (payload, length) = (0x2000, 32);
//!             let map = ANY_DIRECTION;
//!             let network = Network::in_order(1);
//!             spi.inject(0, Descriptor { payload, length, map, network, kind, prefetch_only: false }).await;
//!         }
//!         1 => spi.wait_counter(0x1000).await,
//!         _ => {}
//!     }
//! }
//! # let _ = put;
//! ```

use super::common::Common;
use crate::contents::Contents;

use super::descriptor::Descriptor;
use super::fifos::{InjectionFifo, Packet, ReceptionFifo};
use super::interrupts::{Group, Interrupt};
use super::kernel::{Kernel, MemoryRegion, Refusal, Resource};
use super::protection::{RANGES, Range};
use super::{BASE_ADDRESSES, INJECTION_FIFOS, RECEPTION_FIFOS, encoding, lock};
use netloom_engine::Time;
use netloom_fabric::collective::{CLASS_ROUTES, ClassRoute};
use netloom_fabric::topology::torus::Torus;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// A node, as its program sees it.
#[derive(Clone)]
pub struct Spi {
    node: u32,
    shared: Arc<Mutex<Shared>>,
    contents: Arc<Mutex<Contents>>,
    torus: Arc<Torus>,
    pcie_bytes_per_tick: f64,
}

/// What a program asked for and waits for.
#[derive(Clone, Debug)]
pub(super) enum Call {
    /// Its own instructions, for so many ticks.
    Compute(Time),
    /// A descriptor into an injection FIFO.
    Inject(u16, Box<Descriptor>),
    /// Room for it there.
    WaitRoom(u16, Box<Descriptor>),
    /// So many descriptors of an injection FIFO to be injected.
    WaitInjected(u16, u64),
    /// A packet in a reception FIFO, if one lies there.
    Poll(u16),
    /// A packet in a reception FIFO.
    WaitPacket(u16),
    /// An interrupt of a group.
    WaitInterrupt(Group),
    /// A counter at an address to come to zero.
    WaitCounter(u64),
    /// A store to the control register of a barrier class.
    Say(u8, u64),
    /// These bits of the status register of a barrier class to be zero.
    WaitBarrier(u8, u64),
}

/// What a program asked for that takes no time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Setting {
    Base(u16, u64),
    Counter(u64, i64),
    ClassRoute(u8, Option<ClassRoute>),
    Barrier(u8, Option<ClassRoute>, u64),
    Injection(u16, InjectionFifo),
    Reception(u16, ReceptionFifo),
    Range(usize, Option<Range>),
    Interrupt(Interrupt, Option<Group>),
    Free(Resource, u16),
}

/// The three bits of a barrier class take turns (`GIBarrier.h` of the public driver): a node that has yet to come to a barrier says its
/// bit, and when nobody does, all have come.
fn barrier_bit(turn: u64) -> u64 {
    0b100 >> (turn % 3)
}

/// What all say at the start.
const BARRIER_START: u64 = 0b100;

/// The bits of a class in the status of all.
pub(super) fn status_of(status: u64, class: u8) -> u64 {
    status >> (4 * u32::from(class)) & 7
}

/// A figure that a program measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is of, for whoever reads it: a run of the program's own.
    pub of: u64,
    /// The figure, ticks.
    pub ticks: Time,
}

/// What a program's function and its host share.
#[derive(Default)]
pub(super) struct Shared {
    pub now: Time,
    pub settings: Vec<Setting>,
    pub notes: Vec<Note>,
    pub call: Option<Call>,
    /// Whether the call has been carried out, and its program not yet been told.
    pub done: bool,
    /// When each counter came to zero last.
    pub counted_down: BTreeMap<u64, Time>,
    /// What came of a call: a packet of a reception FIFO, an interrupt.
    pub packet: Option<Packet>,
    pub interrupt: Option<Interrupt>,
    /// What each barrier class's status register says, four bits each, and when it last changed.
    pub status: u64,
    pub status_changed: Time,
    pub kernel: Kernel,
    /// When the PCIe has moved what it was told to, by [`Pcie`].
    pub pcie_free: [Time; 2],
}

/// The two ways over an IO node's PCIe (section II.A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pcie {
    /// To the file system.
    Out,
    /// From it.
    In,
}

impl Spi {
    /// The node's number.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// Compute nodes of the machine.
    pub fn nodes(&self) -> u32 {
        self.torus.nodes()
    }

    /// The machine's shape.
    pub fn torus(&self) -> &Torus {
        &self.torus
    }

    /// Whether this is an IO node.
    pub fn is_io_node(&self) -> bool {
        self.torus.is_io_node(self.node)
    }

    /// The time, ticks: the core's own counter.
    pub fn now(&self) -> Time {
        lock(&self.shared).now
    }

    /// Keeps a figure that the program measured.
    pub fn note(&self, of: u64, ticks: Time) {
        lock(&self.shared).notes.push(Note { of, ticks });
    }

    /// Asks the kernel for so many of what the unit has (not timed). Returns their numbers.
    ///
    /// # Errors
    /// If fewer are free.
    pub fn allocate(&self, what: Resource, count: u16) -> Result<Vec<u16>, Refusal> {
        lock(&self.shared).kernel.allocate(what, count)
    }

    /// The same for one of a number that others have agreed upon: a class route, a barrier class.
    ///
    /// # Errors
    /// If it is not free.
    pub fn allocate_this(&self, what: Resource, number: u16) -> Result<(), Refusal> {
        lock(&self.shared).kernel.allocate_this(what, number)
    }

    /// Gives back what [`Self::allocate`] gave. What was set up of it is forgotten.
    ///
    /// # Errors
    /// If it was not allocated.
    ///
    /// # Panics
    /// Later, if it is a FIFO in which something still is.
    pub fn free(&self, what: Resource, number: u16) -> Result<(), Refusal> {
        let mut shared = lock(&self.shared);
        shared.kernel.free(what, number)?;
        shared.settings.push(Setting::Free(what, number));
        Ok(())
    }

    /// Has the kernel say where in physical memory a program's own memory lies, which descriptors and the base address table need (not timed).
    ///
    /// # Errors
    /// If it has no bytes, or overlaps another region.
    pub fn memory_region(&self, start: u64, bytes: u64) -> Result<MemoryRegion, Refusal> {
        lock(&self.shared).kernel.region(start, bytes)
    }

    /// Sets an entry of the base address table (the kernel's part: it is not timed).
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn set_base_address(&self, entry: u16, address: u64) {
        assert!(entry < BASE_ADDRESSES, "node {}: base address table entry {entry} of 544", self.node);
        lock(&self.shared).settings.push(Setting::Base(entry, address));
    }

    /// Sets a reception counter to the bytes that are to come. One store: not timed.
    pub fn set_counter(&self, address: u64, bytes: u64) {
        lock(&self.shared).settings.push(Setting::Counter(address, bytes as i64));
    }

    /// Sets the node's registers of a class route, 0 to 15 (the kernel's part: it is not timed): before anything of it can come.
    ///
    /// # Panics
    /// If there is no such class; later, if the node's links do not allow it.
    pub fn set_class_route(&self, class: u8, route: ClassRoute) {
        assert!(
            usize::from(class) < CLASS_ROUTES,
            "node {}: class route {class} of {CLASS_ROUTES}",
            self.node
        );
        lock(&self.shared).settings.push(Setting::ClassRoute(class, Some(route)));
    }

    /// Sets the node's registers of a barrier class, 0 to 15 (the kernel's part: it is not timed): on all its nodes, before any enters.
    ///
    /// # Panics
    /// If there is no such class; later, if the node's links do not allow it.
    pub fn set_barrier(&self, class: u8, route: ClassRoute) {
        assert!(
            usize::from(class) < CLASS_ROUTES,
            "node {}: barrier class {class} of {CLASS_ROUTES}",
            self.node
        );
        lock(&self.shared).settings.push(Setting::Barrier(class, Some(route), BARRIER_START));
    }

    /// Enters the barrier of a class for the `turn`-th time, from 0 on: one store to a register of the unit. The node no longer says that
    /// it has yet to come, but that it has yet to come to the next.
    pub async fn enter_barrier(&self, class: u8, turn: u64) {
        self.call(Call::Say(class, barrier_bit(turn + 1))).await;
    }

    /// Polls the status register of a class until all have entered its barrier for the `turn`-th time.
    pub async fn wait_barrier(&self, class: u8, turn: u64) {
        self.call(Call::WaitBarrier(class, barrier_bit(turn))).await;
    }

    /// Says three bits of its own for a class of global interrupts: one store to a register of the unit.
    pub async fn say(&self, class: u8, says: u64) {
        self.call(Call::Say(class, says & 7)).await;
    }

    /// What the status register of a class says: the OR of all its nodes' bits (not timed), and when any class's last changed.
    pub fn status(&self, class: u8) -> (u64, Time) {
        let shared = lock(&self.shared);
        (status_of(shared.status, class), shared.status_changed)
    }

    /// Stores bytes in the node's memory (not timed: see [`Self::compute`]).
    pub fn store(&self, address: u64, bytes: &[u8]) {
        lock(&self.contents).store(address, bytes.len(), Some(bytes));
    }

    /// Bytes of the node's memory; zeros where nothing was ever stored.
    pub fn load(&self, address: u64, length: usize) -> Vec<u8> {
        lock(&self.contents).load_all(address, length)
    }

    /// Stores numbers as the machine has them, big-endian.
    pub fn store_doubles(&self, address: u64, numbers: &[f64]) {
        self.store(address, &numbers.iter().flat_map(|x| x.to_be_bytes()).collect::<Vec<u8>>());
    }

    /// Numbers as the machine has them.
    pub fn load_doubles(&self, address: u64, count: usize) -> Vec<f64> {
        let bytes = self.load(address, 8 * count);
        bytes.chunks_exact(8).map(|x| f64::from_be_bytes(x.try_into().expect("eight bytes"))).collect()
    }

    /// Sets up an injection FIFO (the kernel's part: it is not timed). One that is not set up is there, of 64 KB, for the user's descriptors.
    ///
    /// # Panics
    /// If there is no such FIFO; later, if it cannot lie there, or overlaps another.
    pub fn set_injection_fifo(&self, fifo: u16, settings: InjectionFifo) {
        assert!(fifo < INJECTION_FIFOS, "node {}: injection FIFO {fifo} of {INJECTION_FIFOS}", self.node);
        lock(&self.shared).settings.push(Setting::Injection(fifo, settings));
    }

    /// Sets up a reception FIFO (the kernel's part: it is not timed). One that is not set up is there, of 1 MB.
    ///
    /// # Panics
    /// If there is no such FIFO; later, if it cannot lie there, or overlaps another.
    pub fn set_reception_fifo(&self, fifo: u16, settings: ReceptionFifo) {
        assert!(fifo < RECEPTION_FIFOS, "node {}: reception FIFO {fifo} of {RECEPTION_FIFOS}", self.node);
        lock(&self.shared).settings.push(Setting::Reception(fifo, settings));
    }

    /// Sets or clears a range register: memory that the unit may touch (the kernel's part). While none is set it may touch all.
    ///
    /// # Panics
    /// If there is no such register.
    pub fn set_range(&self, register: usize, range: Option<Range>) {
        assert!(register < RANGES, "node {}: range register {register} of {RANGES}", self.node);
        lock(&self.shared).settings.push(Setting::Range(register, range));
    }

    /// Leads interrupts of the kind of this one to a group, or masks them, as all are at first (the kernel's part).
    pub fn set_interrupt(&self, like: Interrupt, group: Option<Group>) {
        lock(&self.shared).settings.push(Setting::Interrupt(like, group));
    }

    /// Stores descriptors in memory, for an RDMA read to send; returns their length, bytes.
    pub fn store_descriptors(&self, address: u64, descriptors: &[Descriptor]) -> u64 {
        let bytes: Vec<u8> = descriptors.iter().flat_map(|d| encoding::to_bytes(d, &self.torus)).collect();
        self.store(address, &bytes);
        bytes.len() as u64
    }

    /// Polls the tail of a reception FIFO until a packet lies there, takes it, and moves the head past it.
    ///
    /// # Panics
    /// If there is no such FIFO.
    pub async fn receive(&self, fifo: u16) -> Packet {
        assert!(fifo < RECEPTION_FIFOS, "node {}: reception FIFO {fifo} of {RECEPTION_FIFOS}", self.node);
        self.call(Call::WaitPacket(fifo)).await;
        lock(&self.shared).packet.take().expect("it came")
    }

    /// Does nothing until the unit raises an interrupt of a group, and clears it.
    pub async fn wait_interrupt(&self, group: Group) -> Interrupt {
        self.call(Call::WaitInterrupt(group)).await;
        lock(&self.shared).interrupt.take().expect("it came")
    }

    /// Writes a descriptor into an injection FIFO and moves its tail, when there is room.
    ///
    /// # Panics
    /// If there is no such FIFO, or the descriptor describes nothing that can be sent.
    pub async fn inject(&self, fifo: u16, descriptor: Descriptor) {
        assert!(fifo < INJECTION_FIFOS, "node {}: injection FIFO {fifo} of {INJECTION_FIFOS}", self.node);
        if let Some(problem) = descriptor.problem(&self.torus, self.node) {
            panic!("node {}: a descriptor in injection FIFO {fifo}: {problem}", self.node);
        }
        self.call(Call::WaitRoom(fifo, Box::new(descriptor))).await;
    }

    /// Polls the counter of an injection FIFO's descriptors until so many have been injected since the start.
    pub async fn wait_injected(&self, fifo: u16, descriptors: u64) {
        self.call(Call::WaitInjected(fifo, descriptors)).await;
    }

    /// Looks once whether a packet lies in a reception FIFO, and takes it, like [`Self::receive`].
    pub async fn poll(&self, fifo: u16) -> Option<Packet> {
        self.call(Call::Poll(fifo)).await;
        lock(&self.shared).packet.take()
    }

    /// Has an IO node's PCIe move so many bytes, behind what it moves already that way; returns when it has. Its reads and writes of memory
    /// are not counted against the L2's **(ours)**.
    pub fn pcie(&self, way: Pcie, bytes: u64) -> Time {
        let mut shared = lock(&self.shared);
        let begin = shared.pcie_free[way as usize].max(shared.now);
        let end = begin + (bytes as f64 / self.pcie_bytes_per_tick).ceil() as Time;
        shared.pcie_free[way as usize] = end;
        end
    }

    /// Does something else until a time, unless it is past.
    pub async fn wait_until(&self, time: Time) {
        self.compute(time.saturating_sub(self.now())).await;
    }

    /// Polls a counter until it is zero or below.
    pub async fn wait_counter(&self, address: u64) {
        self.call(Call::WaitCounter(address)).await;
    }

    /// When a counter came to zero last, ticks; 0 if it never has. No hardware tells it: it is for telling the hardware's time from
    /// the software's.
    pub fn counted_down(&self, address: u64) -> Time {
        lock(&self.shared).counted_down.get(&address).copied().unwrap_or(0)
    }

    /// Runs instructions of its own for so many ticks.
    pub async fn compute(&self, ticks: Time) {
        if ticks > 0 {
            self.call(Call::Compute(ticks)).await;
        }
    }

    async fn call(&self, call: Call) {
        lock(&self.shared).call = Some(call);
        std::future::poll_fn(|_| {
            let mut shared = lock(&self.shared);
            if std::mem::take(&mut shared.done) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// A program on its node.
pub(super) struct Task {
    /// None once it has returned.
    function: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    pub shared: Arc<Mutex<Shared>>,
    pub started: bool,
    /// What it waits for, and since when.
    pub waiting: Option<(Call, Time)>,
}

impl Task {
    pub fn new<F>(
        node: u32,
        common: &Common,
        contents: &Arc<Mutex<Contents>>,
        function: impl FnOnce(Spi) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let shared = Arc::default();
        let (contents, torus) = (Arc::clone(contents), Arc::clone(&common.torus));
        let pcie_bytes_per_tick = common.config.pcie_bytes_per_tick;
        let function =
            function(Spi { node, shared: Arc::clone(&shared), contents, torus, pcie_bytes_per_tick });
        Task { function: Some(Box::pin(function)), shared, started: false, waiting: None }
    }

    /// Whether it has returned.
    pub fn is_done(&self) -> bool {
        self.function.is_none()
    }

    /// Lets it go on until its next call.
    pub fn poll(&mut self) {
        if let Some(function) = &mut self.function
            && function.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            self.function = None;
        }
    }
}
