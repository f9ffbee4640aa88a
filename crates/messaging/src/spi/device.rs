//! A Message Unit as seen by the software of a simulated process: set-up by the kernel's part, and operations
//! of the user's part that do not wait.

use super::Step;
use super::kernel::{Kernel, MemoryRegion, Refusal, Resource};
use crate::device::{Device, Full, MuDevice, Simulated};
use netloom_fabric::collective::{ByteOrder, CLASS_ROUTES, ClassRoute, CollectiveHeader, combine};
use netloom_fabric::topology::torus::Torus;
use netloom_nic::message_unit::commands::{Command, Pcie, Setting, Shared, Watch};
use netloom_nic::message_unit::descriptor::Descriptor;
use netloom_nic::message_unit::fifos::{InjectionFifo, Packet, ReceptionFifo};
use netloom_nic::message_unit::interrupts::{Group, Interrupt};
use netloom_nic::message_unit::protection::{RANGES, Range};
use netloom_nic::message_unit::{BASE_ADDRESSES, INJECTION_FIFOS, RECEPTION_FIFOS, encoding};
use netloom_nic::message_unit::{Common, MessageUnit};
use netloom_node::memory::{AddressSpace, Contents};
use netloom_node::nodes::{ProcessSlot, ThreadOf};
use netloom_node::process::Wait;
use netloom_node::program::lock;
use netloom_node::time::Microticks;
use std::sync::{Arc, Mutex, MutexGuard};

/// The Message Unit of a process's node.
#[derive(Clone)]
pub struct UnitDevice {
    node: u32,
    process: u8,
    /// The process of the node by which commands reach the unit.
    runs_as: u8,
    thread: ThreadOf<MessageUnit>,
    shared: Arc<Mutex<Shared>>,
    contents: Arc<Mutex<Contents>>,
    kernel: Arc<Mutex<Kernel>>,
    common: Arc<Common>,
}

/// The bit of a barrier class for a turn; its three bits are used in rotation (`GIBarrier.h` of the public
/// driver): a node that has not entered a barrier sets its bit, and when no node does, all have entered.
fn barrier_bit(turn: u64) -> u64 {
    0b100 >> (turn % 3)
}

/// The condition that all nodes have entered the barrier of a class for the `turn`-th time.
pub fn barrier_watch(class: u8, turn: u64) -> Watch {
    Watch::Barrier(class, barrier_bit(turn))
}

/// The initial bits of all nodes.
const BARRIER_START: u64 = 0b100;

impl UnitDevice {
    /// The device of a process, with its node's kernel.
    pub fn new(slot: ProcessSlot<MessageUnit>, kernel: &Arc<Mutex<Kernel>>) -> Self {
        let ProcessSlot { node, process, thread, shared, common } = slot;
        let contents = Arc::clone(lock(&shared).contents());
        UnitDevice {
            node,
            process,
            runs_as: process,
            thread,
            shared,
            contents,
            kernel: Arc::clone(kernel),
            common,
        }
    }

    /// The number of this process on its node.
    pub fn process(&self) -> u8 {
        self.process
    }

    /// Another process of the node takes over what this device submits, until the next call: a hardware
    /// thread that works for this one.
    pub fn run_as(&mut self, process: u8) {
        self.runs_as = process;
    }

    /// The process that takes over what this device submits.
    pub fn runs_as(&self) -> u8 {
        self.runs_as
    }

    /// Processes per node.
    pub fn processes(&self) -> u8 {
        self.common.processes
    }

    /// The node's number.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// Number of compute nodes of the machine.
    pub fn nodes(&self) -> u32 {
        self.common.torus.nodes()
    }

    /// The topology of the machine.
    pub fn torus(&self) -> &Torus {
        &self.common.torus
    }

    /// Whether this is an IO node.
    pub fn is_io_node(&self) -> bool {
        self.common.torus.is_io_node(self.node)
    }

    /// Records a measurement of the program.
    pub fn measure(&self, key: u64, ticks: u64) {
        self.thread.measure(key, Microticks::of_ticks(ticks));
    }

    /// Requests resources of the unit from the kernel (not timed). Returns their numbers.
    ///
    /// # Errors
    /// If fewer are free.
    pub fn allocate(&self, what: Resource, count: u16) -> Result<Vec<u16>, Refusal> {
        lock(&self.kernel).allocate(what, count)
    }

    /// Requests a resource with an agreed number: a class route or a barrier class.
    ///
    /// # Errors
    /// If it is not free.
    pub fn allocate_this(&self, what: Resource, number: u16) -> Result<(), Refusal> {
        lock(&self.kernel).allocate_this(what, number)
    }

    /// Whether the kernel would allocate this number.
    pub fn is_free(&self, what: Resource, number: u16) -> bool {
        lock(&self.kernel).is_free(what, number)
    }

    /// Frees a resource from [`Self::allocate`], and discards its settings.
    ///
    /// # Errors
    /// If it was not allocated.
    ///
    /// The program fails later if it is a FIFO that is not empty.
    pub fn free(&self, what: Resource, number: u16) -> Result<(), Refusal> {
        lock(&self.kernel).free(what, number)?;
        let setting = match what {
            Resource::InjectionFifo => Setting::FreeInjection(number),
            Resource::ReceptionFifo => Setting::FreeReception(number),
            Resource::BaseAddress => Setting::FreeBase(number),
            Resource::ClassRoute => Setting::ClassRoute(number as u8, None),
            Resource::Barrier => Setting::FreeBarrier(number as u8),
        };
        if what == Resource::InjectionFifo {
            lock(&self.kernel).set_up(number, InjectionFifo::usual(number).size_B);
        }
        self.set("free", setting);
        Ok(())
    }

    /// Frees a class route, whose settings remain until it is allocated again: packets that come late have a
    /// route.
    ///
    /// # Errors
    /// If it was not allocated.
    pub fn free_class_route(&self, class: u8) -> Result<(), Refusal> {
        lock(&self.kernel).free(Resource::ClassRoute, class.into())
    }

    /// Requests the physical address of a program's memory from the kernel, for descriptors and the base
    /// address table (not timed).
    ///
    /// # Errors
    /// If it is empty, or overlaps another region.
    pub fn memory_region(&self, start: u64, bytes: u64) -> Result<MemoryRegion, Refusal> {
        lock(&self.kernel).region(start, bytes)
    }

    /// Sets an entry of the base address table (by the kernel: not timed).
    ///
    /// The program fails if the entry does not exist.
    pub fn set_base_address(&self, entry: u16, address: u64) {
        let call = "set_base_address";
        self.check(call, entry < BASE_ADDRESSES, || format!("base address table entry {entry} of 544"));
        self.set(call, Setting::Base(entry, address));
    }

    /// Sets the end of the buffer at an entry of the base address table until the entry is set again: packets
    /// that do not fit are refused. The hardware has no such end (not timed).
    pub fn set_base_end(&self, entry: u16, end: u64) {
        self.set("set_base_end", Setting::BaseEnd(entry, end));
    }

    /// Sets a reception counter to the number of expected bytes. One store: not timed.
    pub fn set_counter(&self, address: u64, bytes: u64) {
        self.set("set_counter", Setting::Counter(address, bytes as i64));
    }

    /// Sets the node's registers for a class route, 0 to 15 (by the kernel: not timed), before any packet of
    /// it can arrive.
    ///
    /// The program fails if the class does not exist; it panics later if the node's links do not allow the
    /// route.
    pub fn set_class_route(&self, class: u8, route: ClassRoute) {
        let (call, is_there) = ("set_class_route", usize::from(class) < CLASS_ROUTES);
        self.check(call, is_there, || format!("class route {class} of {CLASS_ROUTES}"));
        self.set(call, Setting::ClassRoute(class, Some(route)));
    }

    /// Sets the node's registers for a barrier class, 0 to 15 (by the kernel: not timed), on all its nodes
    /// before any of them enters.
    ///
    /// The program fails if the class does not exist; it panics later if the node's links do not allow the
    /// route.
    pub fn set_barrier(&self, class: u8, route: ClassRoute) {
        let (call, is_there) = ("set_barrier", usize::from(class) < CLASS_ROUTES);
        self.check(call, is_there, || format!("barrier class {class} of {CLASS_ROUTES}"));
        self.set(call, Setting::Barrier(class, Some(route), BARRIER_START));
    }

    /// The condition that all nodes have entered the barrier of a class for the `turn`-th time.
    pub fn barrier_watch(&self, class: u8, turn: u64) -> Watch {
        barrier_watch(class, turn)
    }

    /// Whether the status register of a class shows this (not timed).
    pub fn has_passed_barrier(&self, class: u8, turn: u64) -> bool {
        self.status(class).0 & barrier_bit(turn) == 0
    }

    /// The status register of a class: the OR of all its nodes' bits (not timed), and the time of the last
    /// change of any class.
    pub fn status(&self, class: u8) -> (u64, u64) {
        let (status, changed) = lock(&self.shared).status(class);
        (status, changed.ticks())
    }

    /// Stores bytes in the node's memory (not timed: model the time with [`Device::spend`]).
    pub fn store(&self, address: u64, bytes: &[u8]) {
        lock(&self.contents).store(address, bytes.len(), Some(bytes));
    }

    /// Bytes of the node's memory; zeros where nothing was stored.
    pub fn load(&self, address: u64, length: usize) -> Vec<u8> {
        lock(&self.contents).load_all(address, length)
    }

    /// Stores numbers in the machine's format, big-endian.
    pub fn store_doubles(&self, address: u64, numbers: &[f64]) {
        self.store(address, &numbers.iter().flat_map(|x| x.to_be_bytes()).collect::<Vec<u8>>());
    }

    /// Loads numbers in the machine's format.
    pub fn load_doubles(&self, address: u64, count: usize) -> Vec<f64> {
        let bytes = self.load(address, 8 * count);
        bytes.chunks_exact(8).map(|x| f64::from_be_bytes(x.try_into().expect("eight bytes"))).collect()
    }

    /// Sets up an injection FIFO (by the kernel: not timed). By default it has 64 KB, for user descriptors.
    ///
    /// The program fails if the FIFO does not exist, or its memory is invalid or overlaps another FIFO's.
    pub fn set_injection_fifo(&self, fifo: u16, settings: InjectionFifo) {
        self.check_injection("set_injection_fifo", fifo);
        lock(&self.kernel).set_up(fifo, settings.size_B);
        self.set("set_injection_fifo", Setting::Injection(fifo, settings));
    }

    /// Sets up a reception FIFO (by the kernel: not timed). By default it has 1 MB.
    ///
    /// The program fails if the FIFO does not exist, or its memory is invalid or overlaps another FIFO's.
    pub fn set_reception_fifo(&self, fifo: u16, settings: ReceptionFifo) {
        self.check_reception("set_reception_fifo", fifo);
        self.set("set_reception_fifo", Setting::Reception(fifo, settings));
    }

    /// Sets or clears a range register: memory that the unit may access (by the kernel). While none is set it
    /// may access all.
    ///
    /// The program fails if the register does not exist.
    pub fn set_range(&self, register: usize, range: Option<Range>) {
        self.check("set_range", register < RANGES, || format!("range register {register} of {RANGES}"));
        self.set("set_range", Setting::Range(register, range));
    }

    /// Directs interrupts of the same kind as `like` to a group, or masks them, which is the default (by the
    /// kernel).
    pub fn set_interrupt(&self, like: Interrupt, group: Option<Group>) {
        self.set("set_interrupt", Setting::Interrupt(like, group));
    }

    /// Physical memory of this length for software (by the kernel: not timed).
    pub fn allocate_memory(&self, bytes: u64) -> u64 {
        lock(&self.kernel).physical(bytes)
    }

    /// The same for memory that is elsewhere: `bytes` from an address of that space on.
    pub fn map(&self, bytes: u64, space: Box<dyn AddressSpace>, address: u64) -> u64 {
        let physical = self.allocate_memory(bytes);
        lock(&self.contents).map(physical, bytes, space, address);
        physical
    }

    /// Descriptors of an injection FIFO that have been injected since it was set up, as its head shows.
    pub fn injected(&self, fifo: u16) -> u64 {
        lock(&self.shared).injected(fifo)
    }

    /// Descriptors written to an injection FIFO since it was set up.
    pub fn written(&self, fifo: u16) -> u64 {
        lock(&self.kernel).written(fifo)
    }

    /// Whether an injection FIFO has space for a descriptor.
    pub fn has_room(&self, fifo: u16) -> bool {
        let injected = self.injected(fifo);
        lock(&self.kernel).has_room(fifo, injected)
    }

    /// Stores descriptors in memory, for an RDMA read to send; returns their length, bytes.
    pub fn store_descriptors(&self, address: u64, descriptors: &[Descriptor]) -> u64 {
        let bytes: Vec<u8> =
            descriptors.iter().flat_map(|d| encoding::to_bytes(d, &self.common.torus)).collect();
        self.store(address, &bytes);
        bytes.len() as u64
    }

    /// Transfers bytes over an IO node's PCIe, after earlier transfers in the same direction; returns the
    /// time of completion. Its memory accesses are not counted against the L2's **(ours)**.
    pub fn pcie(&self, direction: Pcie, bytes: u64) -> u64 {
        let rate = self.common.config.pcie_bytes_per_tick;
        lock(&self.shared).pcie(direction, self.now().tick(), bytes, rate).ticks()
    }

    /// Copies bytes within the node's memory (not timed). Where nothing was stored, nothing is.
    pub fn copy(&self, from: u64, to: u64, bytes: u64) {
        let mut contents = lock(&self.contents);
        let data = contents.load(from, bytes as usize);
        contents.store(to, bytes as usize, data.as_deref());
    }

    /// Combines the words of several ranges of this length as the network does, into another (not timed).
    pub fn combine(&self, from: &[u64], to: u64, bytes: u64, header: CollectiveHeader, order: ByteOrder) {
        let mut contents = lock(&self.contents);
        let inputs: Vec<_> = from.iter().map(|&at| (header, contents.load(at, bytes as usize))).collect();
        let data = combine(&inputs, order).data;
        contents.store(to, bytes as usize, data.as_deref());
    }

    /// Adds to a word of the node's memory by an atomic operation of the L2, which other processes see later:
    /// one store.
    pub fn add_word(&self, address: u64, value: u64) {
        self.thread.submit(Command::AddWord(address, value));
        self.spend(Step::Store);
    }

    /// A word of the node's memory that processes add to.
    pub fn word(&self, address: u64) -> u64 {
        lock(&self.shared).word(address)
    }

    /// When a counter last reached zero, ticks; 0 if it never has. The hardware does not report it: it serves
    /// to separate hardware time from software time.
    pub fn counted_down(&self, address: u64) -> u64 {
        lock(&self.shared).counted_down(address).ticks()
    }

    /// What the unit shows to software, for several looks at once (not timed).
    pub fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }

    /// Applies a setting of the unit or the kernel: not timed, in the order of all calls.
    fn set(&self, call: &'static str, setting: Setting) {
        self.thread.submit(Command::Set(call, setting));
    }

    /// Ends the program with a failure if it names a resource that does not exist.
    fn check(&self, call: &str, is_there: bool, what: impl FnOnce() -> String) {
        if !is_there {
            self.thread.fail(call, what());
        }
    }

    pub(super) fn check_injection(&self, call: &str, fifo: u16) {
        self.check(call, fifo < INJECTION_FIFOS, || format!("injection FIFO {fifo} of {INJECTION_FIFOS}"));
    }

    pub(super) fn check_reception(&self, call: &str, fifo: u16) {
        self.check(call, fifo < RECEPTION_FIFOS, || format!("reception FIFO {fifo} of {RECEPTION_FIFOS}"));
    }

    /// Sets three bits for a class of global interrupts: one store to a register of the unit.
    pub(super) fn set_barrier_bits(&self, class: u8, bits: u64) {
        self.thread.submit(Command::BarrierBits(class, bits & 7));
        self.spend(Step::Store);
    }

    /// Writes a descriptor to an injection FIFO and advances its tail, when there is space.
    pub(super) fn write(&self, fifo: u16, descriptor: Descriptor) {
        self.check_injection("inject", fifo);
        if let Some(problem) = descriptor.problem(&self.common.torus, self.node) {
            self.thread.fail("inject", format!("a descriptor in injection FIFO {fifo}: {problem}"));
        }
        lock(&self.kernel).writes(fifo);
        self.thread.wait(Wait::for_one(Watch::Room(fifo)));
        self.spend(Step::Inject);
        self.thread.submit(Command::Inject(fifo, Box::new(descriptor)));
    }

    /// Takes the next packet from a reception FIFO, if there is one.
    pub(crate) fn take(&self, fifo: u16) {
        self.thread.submit(Command::Take(fifo));
    }

    /// Clears a pending interrupt of a group.
    pub(super) fn take_interrupt(&self, group: Group) {
        self.thread.submit(Command::TakeInterrupt(group));
    }

    /// The interrupt cleared last.
    pub(super) fn taken_interrupt(&self) -> Option<Interrupt> {
        lock(&self.shared).taken_interrupt(self.runs_as)
    }
}

impl Device for UnitDevice {
    type Step = Step;

    fn now(&self) -> Microticks {
        self.thread.now()
    }

    fn spend(&self, step: Step) {
        let software = &self.common.config.software;
        let ticks = |ticks: u32| Microticks::of_ticks(ticks.into());
        self.thread.spend(match step {
            Step::Inject => ticks(software.inject_ticks),
            Step::Store => ticks(software.store_ticks),
            Step::Compute(time) => time,
        });
    }

    fn fail(&self, call: &str, reason: impl std::fmt::Display) {
        self.thread.fail(call, reason);
    }
}

impl Simulated for UnitDevice {
    type Command = Command;
    type Watch = Watch;

    fn thread(&self) -> &ThreadOf<MessageUnit> {
        &self.thread
    }
}

impl MuDevice for UnitDevice {
    fn node(&self) -> u32 {
        self.node
    }

    fn torus(&self) -> &Torus {
        &self.common.torus
    }

    fn set_base_address(&self, entry: u16, address: u64) {
        UnitDevice::set_base_address(self, entry, address);
    }

    fn set_base_end(&self, entry: u16, end: u64) {
        UnitDevice::set_base_end(self, entry, end);
    }

    fn set_injection_fifo(&self, fifo: u16, settings: InjectionFifo) {
        UnitDevice::set_injection_fifo(self, fifo, settings);
    }

    fn set_class(&self, class: u8, route: ClassRoute) {
        self.set_class_route(class, route);
        self.set_barrier(class, route);
    }

    fn set_counter(&self, address: u64, bytes: u64) {
        UnitDevice::set_counter(self, address, bytes);
    }

    fn counted_down(&self, address: u64) -> u64 {
        UnitDevice::counted_down(self, address)
    }

    fn store_descriptors(&self, address: u64, descriptors: &[Descriptor]) -> u64 {
        UnitDevice::store_descriptors(self, address, descriptors)
    }

    fn inject(&self, fifo: u16, descriptor: &Descriptor) -> Result<(), Full> {
        if !self.has_room(fifo) {
            return Err(Full);
        }
        self.write(fifo, descriptor.clone());
        Ok(())
    }

    fn poll(&self, fifo: u16) {
        self.thread.submit(Command::Poll(fifo));
        self.take(fifo);
    }

    fn polled(&self) -> Option<Packet> {
        lock(&self.shared).taken(self.runs_as)
    }

    fn enter_barrier(&self, class: u8, turn: u64) {
        self.set_barrier_bits(class, barrier_bit(turn + 1));
    }

    fn has_passed_barrier(&self, class: u8, turn: u64) -> bool {
        UnitDevice::has_passed_barrier(self, class, turn)
    }
}
