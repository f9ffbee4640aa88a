//! An Aries NIC as seen by the software of a simulated process: set-up by the kernel, and operations of the
//! library that do not wait.

use super::{Endpoint, MemOptions, Post, PostKind, Resources, Step, lock};
use crate::device::{Device, GniDevice, Handle, Simulated};
use netloom_nic::aries::address::{Job, MemHandle, Segment};
use netloom_nic::aries::collective::{Reduction, Tree};
use netloom_nic::aries::config::CoreConfig;
use netloom_nic::aries::status::Refusal;
use netloom_nic::aries::{Command, Common, Event, Nic, Node, Queue, Submission, Watch, place};
use netloom_node::nodes::{ProcessSlot, ThreadOf};
use netloom_node::time::Microticks;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// The NIC of a process's node.
#[derive(Clone)]
pub struct AriesDevice {
    pub(super) node: u32,
    pub(super) process: u8,
    thread: ThreadOf<Nic>,
    pub(super) here: Arc<Mutex<Node>>,
    pub(super) common: Arc<Common>,
    descriptors: Arc<Descriptors>,
}

/// The FMA descriptors of a process: its own, and those of other hardware threads that drive its device,
/// whose stores would mix with its own.
#[derive(Default)]
struct Descriptors {
    own: OnceLock<u8>,
    /// The thread that drives the device, as a process of the node, and its descriptor, if it is another.
    driver: Mutex<Option<(u8, u8)>>,
    others: Mutex<BTreeMap<u8, u8>>,
}

impl AriesDevice {
    pub(super) fn new(slot: ProcessSlot<Nic>) -> Self {
        let ProcessSlot { node, process, thread, shared, common } = slot;
        AriesDevice { node, process, thread, here: shared, common, descriptors: Arc::default() }
    }

    /// The machine's number of the node.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// The number of this process on its node.
    pub fn process(&self) -> u8 {
        self.process
    }

    /// Processes per node.
    pub fn processes(&self) -> u8 {
        self.common.processes
    }

    /// The job that it is attached to.
    ///
    /// # Panics
    /// If it is not attached.
    pub fn job(&self) -> &Job {
        let ptag = self.ptag().expect("signed on");
        self.common.job(ptag).expect("it exists")
    }

    /// The virtual node of this process in its job.
    ///
    /// # Panics
    /// If it is not attached.
    pub fn place(&self) -> u32 {
        self.job().place(self.node).expect("of the job")
    }

    /// Records a measurement of the program.
    pub fn measure(&self, key: u64, value: impl Into<u64>) {
        self.thread.measure(key, value);
    }

    /// The costs of software steps.
    pub fn core(&self) -> &CoreConfig {
        &self.common.config.core
    }

    pub(super) fn ptag(&self) -> Result<u8, Refusal> {
        lock(&self.here).attached.get(&self.process).copied().ok_or(Refusal::Permission)
    }

    /// Attaches to a communication domain, and allocates an FMA descriptor (by the kernel: not timed).
    ///
    /// # Errors
    /// If there is no domain with this ptag and cookie for this node, or all 127 FMA descriptors of the NIC
    /// are in use.
    pub fn cdm_attach(&self, ptag: u8, cookie: u32) -> Result<(), Refusal> {
        let job = self.common.job(ptag).filter(|job| job.cookie == cookie && job.place(self.node).is_some());
        job.ok_or(Refusal::Permission)?;
        let mut here = lock(&self.here);
        if here.attached.contains_key(&self.process) {
            return Err(Refusal::InvalidState);
        }
        let descriptor = here.take_descriptor()?;
        self.descriptors.own.set(descriptor).map_err(|_| Refusal::InvalidState)?;
        here.attached.insert(self.process, ptag);
        Ok(())
    }

    /// Detaches (by the kernel): frees the process's memory, queues and FMA descriptor. It cannot attach
    /// again.
    ///
    /// # Errors
    /// If it is not attached.
    pub fn cdm_destroy(&self) -> Result<(), Refusal> {
        self.ptag()?;
        let mut here = lock(&self.here);
        here.attached.remove(&self.process);
        here.domains.forget(self.process);
        here.receives.remove(&self.process);
        let others = lock(&self.descriptors.others);
        let own = self.descriptors.own.get();
        own.into_iter().chain(others.values()).for_each(|descriptor| here.descriptors &= !(1 << descriptor));
        drop(others);
        let own = |queue: &mut Option<Queue>| queue.take_if(|q| q.process == self.process);
        here.queues.iter_mut().for_each(|queue| drop(own(queue)));
        Ok(())
    }

    /// The resources of the NIC in use (`GNI_GetDevResInfo`).
    pub fn resources(&self) -> Resources {
        let here = lock(&self.here);
        let queues = here.queues.iter().flatten().count();
        let (descriptors, segments) = (here.descriptors.count_ones() as usize, here.domains.segments());
        Resources { descriptors, segments, queues }
    }

    /// Reserves memory domain handles of this NIC for the job's virtual ones (by the kernel), once per node.
    ///
    /// # Errors
    /// If there are not enough consecutive free handles, or they have already been reserved.
    pub fn reserve_virtual_handles(&self, count: u16) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        lock(&self.here).domains.reserve(ptag, count)
    }

    /// Registers memory of the process (by the kernel).
    ///
    /// # Errors
    /// If it is empty or exceeds the range of an offset, all 4,096 handles are in use, or the virtual handle
    /// is not the job's or in use.
    pub fn mem_register(&self, address: u64, bytes: u64, options: MemOptions) -> Result<MemHandle, Refusal> {
        let MemOptions { queue, page, is_read_only, virtual_mdh } = options;
        let (process, ptag) = (self.process, self.ptag()?);
        if address + bytes > 1 << 48 {
            return Err(Refusal::InvalidParam);
        }
        let segment = Segment { process, ptag, address, bytes, page, is_read_only, queue };
        lock(&self.here).domains.register(segment, virtual_mdh)
    }

    /// Deregisters memory.
    ///
    /// # Errors
    /// If it is not registered.
    pub fn mem_deregister(&self, memory: MemHandle) -> Result<(), Refusal> {
        let ptag = self.ptag()?;
        lock(&self.here).domains.deregister(ptag, memory)
    }

    /// Stores bytes in the process's memory (not timed: model the time with [`Device::spend`]).
    pub fn store(&self, address: u64, bytes: &[u8]) {
        lock(&self.here).contents.store(place(self.process, address), bytes.len(), Some(bytes));
    }

    /// Bytes of the process's memory; zeros where nothing was stored.
    pub fn load(&self, address: u64, length: usize) -> Vec<u8> {
        lock(&self.here).contents.load_all(place(self.process, address), length)
    }

    /// Stores a word, little-endian as on the machine.
    pub fn store_word(&self, address: u64, word: u64) {
        self.store(address, &word.to_le_bytes());
    }

    /// A word of memory.
    pub fn load_word(&self, address: u64) -> u64 {
        u64::from_le_bytes(self.load(address, 8).try_into().expect("eight bytes"))
    }

    /// The FMA descriptor of the thread that drives the device: the process's own, if it does itself.
    ///
    /// # Panics
    /// If it is not attached.
    pub fn descriptor(&self) -> u8 {
        let driver = *lock(&self.descriptors.driver);
        driver.map_or_else(|| *self.descriptors.own.get().expect("signed on"), |(_, descriptor)| descriptor)
    }

    /// From now on another hardware thread drives the device, which is this process of its node: it has an
    /// FMA descriptor of its own, unless all of the NIC are in use.
    pub fn run_as(&self, process: u8) {
        let mut driver = lock(&self.descriptors.driver);
        if process == self.process || self.ptag().is_err() {
            *driver = None;
        } else if driver.is_none_or(|(driver, _)| driver != process) {
            let mut others = lock(&self.descriptors.others);
            let known = others.get(&process).copied();
            let descriptor = known.or_else(|| lock(&self.here).take_descriptor().ok());
            others.extend(descriptor.map(|descriptor| (process, descriptor)));
            *driver = descriptor.map(|descriptor| (process, descriptor));
        }
    }

    /// Allocates a further FMA descriptor, for a separate thread (by the kernel).
    ///
    /// # Errors
    /// If all 127 are in use.
    pub fn fma_descriptor(&self) -> Result<u8, Refusal> {
        self.ptag()?;
        lock(&self.here).take_descriptor()
    }

    /// Frees an FMA descriptor.
    pub fn free_fma_descriptor(&self, descriptor: u8) {
        lock(&self.here).descriptors &= !(1 << descriptor);
    }

    /// Takes these steps and stores a command of this size to the NIC.
    pub(super) fn write(&self, steps: &[Step], bytes: u32, command: Command) {
        let time = steps.iter().map(|&step| self.time_of(step)).sum();
        self.thread.spend_and_submit(time, Submission::Write { bytes, command: Box::new(command) });
    }

    fn time_of(&self, step: Step) -> Microticks {
        let core = self.core();
        match step {
            Step::Library => Microticks::of_milliticks(core.library_milliticks),
            Step::Store => Microticks::of_milliticks(core.store_milliticks),
            Step::Line => Microticks::of_milliticks(core.line_milliticks),
            Step::Poll => Microticks::of_milliticks(core.poll_milliticks),
            Step::SystemCall => Microticks::of_milliticks(core.system_call_milliticks),
            Step::Compute(time) => time,
        }
    }
}

impl Device for AriesDevice {
    type Step = Step;

    fn now(&self) -> Microticks {
        self.thread.now()
    }

    fn spend(&self, step: Step) {
        self.thread.spend(self.time_of(step));
    }

    fn fail(&self, call: &str, reason: impl std::fmt::Display) {
        self.thread.fail(call, reason);
    }
}

impl Simulated for AriesDevice {
    type Command = Submission;
    type Watch = Watch;

    fn thread(&self) -> &ThreadOf<Nic> {
        &self.thread
    }
}

impl GniDevice for AriesDevice {
    fn attach(&self, ptag: u8, cookie: u32) -> Result<(), Refusal> {
        self.cdm_attach(ptag, cookie)?;
        // One process of a node does it for all.
        if self.process == 0 { self.reserve_virtual_handles(self.processes().into()) } else { Ok(()) }
    }

    fn run_as(&self, process: u8) {
        AriesDevice::run_as(self, process);
    }

    fn create_queue(&self, entries: usize) -> u16 {
        self.cq_create(entries)
    }

    fn register(&self, address: u64, bytes: u64, options: MemOptions) -> Result<Handle, Refusal> {
        self.mem_register(address, bytes, options)
    }

    fn configure_engine(&self, engine: u8, tree: Tree) -> Result<(), Refusal> {
        self.ce_configure(engine, tree)
    }

    fn load_word(&self, address: u64) -> u64 {
        AriesDevice::load_word(self, address)
    }

    fn load(&self, address: u64, length: usize) -> Vec<u8> {
        AriesDevice::load(self, address, length)
    }

    fn post(&self, to: Endpoint, post: Post) -> Result<(), Refusal> {
        match post.kind {
            PostKind::RdmaPut | PostKind::RdmaGet | PostKind::Send => self.post_rdma(to, post),
            _ => self.post_fma(to, post),
        }
    }

    fn put_bytes(&self, to: Endpoint, post: Post, bytes: &[u8]) -> Result<(), Refusal> {
        AriesDevice::put_bytes(self, to, post, bytes)
    }

    fn join(&self, engine: u8, operation: Reduction, value: u64) -> Result<(), Refusal> {
        self.ce_join(engine, operation, false, [value, 0])
    }

    fn has_event(&self, queue: u16) -> bool {
        self.cq_has_event(queue)
    }

    fn poll(&self, queue: u16) -> Result<Event, Refusal> {
        self.spend(Step::Poll);
        self.take_event(queue)
    }
}
