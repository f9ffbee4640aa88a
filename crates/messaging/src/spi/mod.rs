//! What programs on nodes with Message Units call, in the manner of the machine's own system programming interface (section IV):
//! the kernel's side sets up base addresses; the user's side injects descriptors and waits for counters. Each call costs the
//! time of its instructions.
//!
//! A program is an `async fn`. There is no runtime: its node's host polls it when what it waits for has happened.
//!
//! ```
//! use netloom_messaging::spi::Spi;
//! use netloom_nic::message_unit::descriptor::{ANY_DIRECTION, Descriptor, Kind, Network};
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

pub mod kernel;

use kernel::{Kernel, MemoryRegion, Refusal, Resource};
use netloom_engine::Time;
use netloom_fabric::collective::{CLASS_ROUTES, ClassRoute};
use netloom_fabric::config::Outline;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::message_unit::commands::{Command, Setting, Shared, Watch};
use netloom_nic::message_unit::config::MessageUnitConfig;
use netloom_nic::message_unit::descriptor::Descriptor;
use netloom_nic::message_unit::fifos::{InjectionFifo, Packet, ReceptionFifo};
use netloom_nic::message_unit::interrupts::{Group, Interrupt};
use netloom_nic::message_unit::protection::{RANGES, Range};
use netloom_nic::message_unit::{self, BASE_ADDRESSES, INJECTION_FIFOS, RECEPTION_FIFOS, encoding};
use netloom_nic::message_unit::{Common, MessageUnit, MessageUnits};
use netloom_node::memory::Contents;
use netloom_node::nodes::{CoreOf, ProcessOf, ProcessSlot};
use netloom_node::process::{Operation, Wait};
use netloom_node::program::{IntoOutcome, Program, lock};
use netloom_node::time::Microticks;
use std::future::Future;
use std::sync::{Arc, Mutex};

pub use netloom_nic::message_unit::commands::Pcie;

/// Makes the nodes' side of a block, by the machine's numbers, with so many processes each; `program` is what each of them runs.
///
/// # Panics
/// If there are more processes than a node's numbers can tell, 255.
pub fn units<F>(
    config: &MessageUnitConfig,
    network: &Outline,
    numbers: &[u32],
    processes: u32,
    seed: u64,
    mut program: impl FnMut(Spi) -> F,
) -> MessageUnits
where
    F: Future<Output: IntoOutcome> + Send + 'static,
{
    units_of(config, network, numbers, processes, seed, |spi| -> Box<ProcessOf<MessageUnit>> {
        Box::new(Program::new(spi.core().clone(), program(spi)))
    })
}

/// The same with any processes.
///
/// # Panics
/// If there are more processes than a node's numbers can tell, 255.
pub fn units_of(
    config: &MessageUnitConfig,
    network: &Outline,
    numbers: &[u32],
    processes: u32,
    seed: u64,
    mut process: impl FnMut(Spi) -> Box<ProcessOf<MessageUnit>>,
) -> MessageUnits {
    // The processes of a node are made one after another.
    let mut kernel = Arc::default();
    message_unit::units_of(config, network, numbers, processes, seed, |slot| {
        if slot.process == 0 {
            kernel = Arc::default();
        }
        process(Spi::new(slot, &kernel))
    })
}

/// A process on its node, as its program sees it.
#[derive(Clone)]
pub struct Spi {
    node: u32,
    process: u8,
    core: CoreOf<MessageUnit>,
    shared: Arc<Mutex<Shared>>,
    contents: Arc<Mutex<Contents>>,
    kernel: Arc<Mutex<Kernel>>,
    common: Arc<Common>,
}

/// The three bits of a barrier class take turns (`GIBarrier.h` of the public driver): a node that has yet to come to a barrier says its
/// bit, and when nobody does, all have come.
fn barrier_bit(turn: u64) -> u64 {
    0b100 >> (turn % 3)
}

/// What all say at the start.
const BARRIER_START: u64 = 0b100;

impl Spi {
    fn new(slot: ProcessSlot<MessageUnit>, kernel: &Arc<Mutex<Kernel>>) -> Self {
        let ProcessSlot { node, process, core, shared, common } = slot;
        let contents = Arc::clone(lock(&shared).contents());
        Spi { node, process, core, shared, contents, kernel: Arc::clone(kernel), common }
    }

    /// Which of the node's processes this is.
    pub fn process(&self) -> u8 {
        self.process
    }

    /// Processes of each node.
    pub fn processes(&self) -> u8 {
        self.common.processes
    }

    /// The node's number.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// Compute nodes of the machine.
    pub fn nodes(&self) -> u32 {
        self.common.torus.nodes()
    }

    /// The machine's shape.
    pub fn torus(&self) -> &Torus {
        &self.common.torus
    }

    /// Whether this is an IO node.
    pub fn is_io_node(&self) -> bool {
        self.common.torus.is_io_node(self.node)
    }

    /// The time, ticks: the core's own counter.
    pub fn now(&self) -> Time {
        self.core.now().ticks()
    }

    /// Keeps a figure that the program measured.
    pub fn measure(&self, key: u64, ticks: Time) {
        self.core.measure(key, Microticks::of_ticks(ticks));
    }

    /// Asks the kernel for so many of what the unit has (not timed). Returns their numbers.
    ///
    /// # Errors
    /// If fewer are free.
    pub fn allocate(&self, what: Resource, count: u16) -> Result<Vec<u16>, Refusal> {
        lock(&self.kernel).allocate(what, count)
    }

    /// The same for one of a number that others have agreed upon: a class route, a barrier class.
    ///
    /// # Errors
    /// If it is not free.
    pub fn allocate_this(&self, what: Resource, number: u16) -> Result<(), Refusal> {
        lock(&self.kernel).allocate_this(what, number)
    }

    /// Gives back what [`Self::allocate`] gave. What was set up of it is forgotten.
    ///
    /// # Errors
    /// If it was not allocated.
    ///
    /// The program fails later, if it is a FIFO in which something still is.
    pub fn free(&self, what: Resource, number: u16) -> Result<(), Refusal> {
        lock(&self.kernel).free(what, number)?;
        let setting = match what {
            Resource::InjectionFifo => Setting::FreeInjection(number),
            Resource::ReceptionFifo => Setting::FreeReception(number),
            Resource::BaseAddress => Setting::FreeBase(number),
            Resource::ClassRoute => Setting::ClassRoute(number as u8, None),
            Resource::Barrier => Setting::FreeBarrier(number as u8),
        };
        self.set("free", setting);
        Ok(())
    }

    /// Has the kernel say where in physical memory a program's own memory lies, which descriptors and the base address table need (not timed).
    ///
    /// # Errors
    /// If it has no bytes, or overlaps another region.
    pub fn memory_region(&self, start: u64, bytes: u64) -> Result<MemoryRegion, Refusal> {
        lock(&self.kernel).region(start, bytes)
    }

    /// Sets an entry of the base address table (the kernel's part: it is not timed).
    ///
    /// A program that names no such entry fails.
    pub fn set_base_address(&self, entry: u16, address: u64) {
        let call = "set_base_address";
        self.check(call, entry < BASE_ADDRESSES, || format!("base address table entry {entry} of 544"));
        self.set(call, Setting::Base(entry, address));
    }

    /// Sets a reception counter to the bytes that are to come. One store: not timed.
    pub fn set_counter(&self, address: u64, bytes: u64) {
        self.set("set_counter", Setting::Counter(address, bytes as i64));
    }

    /// Sets the node's registers of a class route, 0 to 15 (the kernel's part: it is not timed): before anything of it can come.
    ///
    /// A program that names no such class fails; it panics later, if the node's links do not allow it.
    pub fn set_class_route(&self, class: u8, route: ClassRoute) {
        let (call, is_there) = ("set_class_route", usize::from(class) < CLASS_ROUTES);
        self.check(call, is_there, || format!("class route {class} of {CLASS_ROUTES}"));
        self.set(call, Setting::ClassRoute(class, Some(route)));
    }

    /// Sets the node's registers of a barrier class, 0 to 15 (the kernel's part: it is not timed): on all its nodes, before any enters.
    ///
    /// A program that names no such class fails; it panics later, if the node's links do not allow it.
    pub fn set_barrier(&self, class: u8, route: ClassRoute) {
        let (call, is_there) = ("set_barrier", usize::from(class) < CLASS_ROUTES);
        self.check(call, is_there, || format!("barrier class {class} of {CLASS_ROUTES}"));
        self.set(call, Setting::Barrier(class, Some(route), BARRIER_START));
    }

    /// Enters the barrier of a class for the `turn`-th time, from 0 on: one store to a register of the unit. The node no longer says that
    /// it has yet to come, but that it has yet to come to the next.
    pub async fn enter_barrier(&self, class: u8, turn: u64) {
        self.say(class, barrier_bit(turn + 1)).await;
    }

    /// Polls the status register of a class until all have entered its barrier for the `turn`-th time.
    pub async fn wait_barrier(&self, class: u8, turn: u64) {
        self.core.wait(Watch::Barrier(class, barrier_bit(turn)), None).await;
    }

    /// What tells that all have entered the barrier of a class for the `turn`-th time.
    pub fn barrier_watch(&self, class: u8, turn: u64) -> Watch {
        Watch::Barrier(class, barrier_bit(turn))
    }

    /// Whether the status register of a class says so (not timed).
    pub fn has_passed_barrier(&self, class: u8, turn: u64) -> bool {
        self.status(class).0 & barrier_bit(turn) == 0
    }

    /// Says three bits of its own for a class of global interrupts: one store to a register of the unit.
    pub async fn say(&self, class: u8, says: u64) {
        self.core.ask(Operation::Submit(Command::Say(class, says & 7)));
        self.core.spend(Microticks::of_ticks(u64::from(self.common.config.software.store_ticks))).await;
    }

    /// What the status register of a class says: the OR of all its nodes' bits (not timed), and when any class's last changed.
    pub fn status(&self, class: u8) -> (u64, Time) {
        lock(&self.shared).status(class)
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
    /// A program that names no such FIFO, or one that cannot lie there or overlaps another, fails.
    pub fn set_injection_fifo(&self, fifo: u16, settings: InjectionFifo) {
        self.check_injection("set_injection_fifo", fifo);
        self.set("set_injection_fifo", Setting::Injection(fifo, settings));
    }

    /// Sets up a reception FIFO (the kernel's part: it is not timed). One that is not set up is there, of 1 MB.
    ///
    /// A program that names no such FIFO, or one that cannot lie there or overlaps another, fails.
    pub fn set_reception_fifo(&self, fifo: u16, settings: ReceptionFifo) {
        self.check_reception("set_reception_fifo", fifo);
        self.set("set_reception_fifo", Setting::Reception(fifo, settings));
    }

    /// Sets or clears a range register: memory that the unit may touch (the kernel's part). While none is set it may touch all.
    ///
    /// A program that names no such register fails.
    pub fn set_range(&self, register: usize, range: Option<Range>) {
        self.check("set_range", register < RANGES, || format!("range register {register} of {RANGES}"));
        self.set("set_range", Setting::Range(register, range));
    }

    /// Leads interrupts of the kind of this one to a group, or masks them, as all are at first (the kernel's part).
    pub fn set_interrupt(&self, like: Interrupt, group: Option<Group>) {
        self.set("set_interrupt", Setting::Interrupt(like, group));
    }

    /// Stores descriptors in memory, for an RDMA read to send; returns their length, bytes.
    pub fn store_descriptors(&self, address: u64, descriptors: &[Descriptor]) -> u64 {
        let bytes: Vec<u8> =
            descriptors.iter().flat_map(|d| encoding::to_bytes(d, &self.common.torus)).collect();
        self.store(address, &bytes);
        bytes.len() as u64
    }

    /// Polls the tail of a reception FIFO until a packet lies there, takes it, and moves the head past it.
    ///
    /// A program that names no such FIFO fails.
    pub async fn receive(&self, fifo: u16) -> Packet {
        self.check_reception("receive", fifo);
        loop {
            self.core.ask(Operation::Wait(Wait::for_one(Watch::Packet(fifo))));
            // Another process of the node may have taken it meanwhile.
            if let Some(packet) = self.take(fifo).await {
                return packet;
            }
        }
    }

    /// Does nothing until the unit raises an interrupt of a group, and clears it.
    pub async fn wait_interrupt(&self, group: Group) -> Interrupt {
        loop {
            self.core.ask(Operation::Wait(Wait::for_one(Watch::Interrupt(group))));
            self.core.submit(Command::TakeInterrupt(group)).await;
            if let Some(interrupt) = lock(&self.shared).taken_interrupt(self.process) {
                return interrupt;
            }
        }
    }

    /// Writes a descriptor into an injection FIFO and moves its tail, when there is room.
    ///
    /// A program that names no such FIFO, or whose descriptor describes nothing that can be sent, fails.
    pub async fn inject(&self, fifo: u16, descriptor: Descriptor) {
        self.check_injection("inject", fifo);
        if let Some(problem) = descriptor.problem(&self.common.torus, self.node) {
            self.core.fail("inject", format!("a descriptor in injection FIFO {fifo}: {problem}"));
        }
        self.core.ask(Operation::Wait(Wait::for_one(Watch::Room(fifo))));
        let own = Microticks::of_ticks(u64::from(self.common.config.software.inject_ticks));
        self.core.submit_after(own, Command::Inject(fifo, Box::new(descriptor))).await;
    }

    /// Polls the counter of an injection FIFO's descriptors until so many have been injected since the start.
    pub async fn wait_injected(&self, fifo: u16, descriptors: u64) {
        self.core.wait(Watch::Injected(fifo, descriptors), None).await;
    }

    /// Looks once whether a packet lies in a reception FIFO, and takes it, like [`Self::receive`].
    pub async fn poll(&self, fifo: u16) -> Option<Packet> {
        self.ask_for_packet(fifo);
        self.core.done().await;
        self.taken()
    }

    /// Has an IO node's PCIe move so many bytes, behind what it moves already that way; returns when it has. Its reads and writes of memory
    /// are not counted against the L2's **(ours)**.
    pub fn pcie(&self, way: Pcie, bytes: u64) -> Time {
        let rate = self.common.config.pcie_bytes_per_tick;
        lock(&self.shared).pcie(way, self.now(), bytes, rate)
    }

    /// The process' side of its node.
    pub fn core(&self) -> &CoreOf<MessageUnit> {
        &self.core
    }

    /// Asks for the next packet of a reception FIFO, as [`Self::poll`] does, but goes on meanwhile: when that is done, [`Self::taken`] has it.
    pub fn ask_for_packet(&self, fifo: u16) {
        self.core.ask(Operation::Submit(Command::Poll(fifo)));
        self.core.ask(Operation::Submit(Command::Take(fifo)));
    }

    /// What the last poll took.
    pub fn taken(&self) -> Option<Packet> {
        lock(&self.shared).taken(self.process)
    }

    /// Does something else until a time, unless it is past.
    pub async fn wait_until(&self, time: Time) {
        self.compute(time.saturating_sub(self.now())).await;
    }

    /// Polls a counter until it is zero or below.
    pub async fn wait_counter(&self, address: u64) {
        self.core.wait(Watch::Counter(address), None).await;
    }

    /// When a counter came to zero last, ticks; 0 if it never has. No hardware tells it: it is for telling the hardware's time from
    /// the software's.
    pub fn counted_down(&self, address: u64) -> Time {
        lock(&self.shared).counted_down(address)
    }

    /// Runs instructions of its own for so many ticks.
    pub async fn compute(&self, ticks: Time) {
        self.core.spend(Microticks::of_ticks(ticks)).await;
    }

    /// Has the unit or the kernel set something up: not timed, and in the order of all calls.
    fn set(&self, call: &'static str, setting: Setting) {
        self.core.ask(Operation::Submit(Command::Set(call, setting)));
    }

    /// Ends the program if it asks for what there is not.
    fn check(&self, call: &str, is_there: bool, what: impl FnOnce() -> String) {
        if !is_there {
            self.core.fail(call, what());
        }
    }

    fn check_injection(&self, call: &str, fifo: u16) {
        self.check(call, fifo < INJECTION_FIFOS, || format!("injection FIFO {fifo} of {INJECTION_FIFOS}"));
    }

    fn check_reception(&self, call: &str, fifo: u16) {
        self.check(call, fifo < RECEPTION_FIFOS, || format!("reception FIFO {fifo} of {RECEPTION_FIFOS}"));
    }

    async fn take(&self, fifo: u16) -> Option<Packet> {
        self.core.submit(Command::Take(fifo)).await;
        self.taken()
    }
}
