//! A TH Express NIC as seen by the software of a simulated process: set-up by the kernel, and operations of
//! the library that do not wait.

use super::{Step, lock};
use crate::device::{Device, GlexDevice, Simulated};
use netloom_nic::th::config::{ThConfig, ThCoreConfig};
use netloom_nic::th::status::Refusal;
use netloom_nic::th::{
    Address, Common, EVENT_B, EndpointConfig, Event, MiniPacket, Nic, Node, Port, Request, Submission, Watch,
    Write, place,
};
use netloom_node::nodes::{ProcessSlot, ThreadOf};
use netloom_node::time::Microticks;
use std::sync::{Arc, Mutex};

/// The NIC of a process's node.
#[derive(Clone)]
pub struct ThDevice {
    pub(super) node: u32,
    process: u8,
    thread: ThreadOf<Nic>,
    pub(super) here: Arc<Mutex<Node>>,
    pub(super) common: Arc<Common>,
}

impl ThDevice {
    /// The device of a process.
    pub fn new(slot: ProcessSlot<Nic>) -> Self {
        let ProcessSlot { node, process, thread, shared, common } = slot;
        ThDevice { node, process, thread, here: shared, common }
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

    /// Number of nodes of the machine.
    pub fn nodes(&self) -> u32 {
        self.common.nodes
    }

    /// The costs of software steps.
    pub fn core(&self) -> &ThCoreConfig {
        &self.common.config.core
    }

    /// Records a measurement of the program.
    pub fn measure(&self, key: u64, value: impl Into<u64>) {
        self.thread.measure(key, value);
    }

    /// Limits of the NIC and its software.
    pub fn limits(&self) -> &ThConfig {
        &self.common.config
    }

    /// Creates an endpoint: a virtual port with a key and queues for `entries` events and as many
    /// mini-packets (by the kernel: not timed).
    ///
    /// # Errors
    /// If all ports of the kind are in use, or the queues are too large for contiguous memory.
    pub fn create_endpoint(&self, submission: Submission, key: u16, entries: usize) -> Result<u8, Refusal> {
        self.create_endpoint_with(EndpointConfig::new(submission, key, entries))
    }

    /// Creates an endpoint with queues of the given sizes, optionally at virtual addresses, in the memory of
    /// either CPU.
    ///
    /// # Errors
    /// As [`Self::create_endpoint`]; if a queue has no capacity, or its address is not that of a page.
    pub fn create_endpoint_with(&self, config: EndpointConfig) -> Result<u8, Refusal> {
        let c = &self.common.config;
        config.events.check(c, EVENT_B)?;
        config.mini_packets.check(c, c.mini_packet_B)?;
        lock(&self.here).take_port(config.submission, Port::new(self.process, config))
    }

    /// The configuration of an endpoint.
    ///
    /// # Errors
    /// If it does not belong to the process.
    pub fn endpoint(&self, endpoint: u8) -> Result<EndpointConfig, Refusal> {
        Ok(self.own(&mut lock(&self.here), endpoint)?.config)
    }

    /// The address of an endpoint for other processes.
    ///
    /// # Errors
    /// If it does not belong to the process.
    pub fn address(&self, endpoint: u8) -> Result<Address, Refusal> {
        let key = self.own(&mut lock(&self.here), endpoint)?.config.key;
        Ok(Address { node: self.node, vp: endpoint, key })
    }

    /// Frees an endpoint.
    ///
    /// # Errors
    /// If it does not belong to the process.
    pub fn destroy_endpoint(&self, endpoint: u8) -> Result<(), Refusal> {
        self.own(&mut lock(&self.here), endpoint)?;
        lock(&self.here).free_port(endpoint);
        Ok(())
    }

    pub(super) fn own<'a>(&self, here: &'a mut Node, endpoint: u8) -> Result<&'a mut Port, Refusal> {
        here.port(endpoint).filter(|port| port.process == self.process).ok_or(Refusal::NotOwned)
    }

    /// Stores bytes in the process's memory (not timed: model the time with [`Device::spend`]).
    pub fn store(&self, address: u64, bytes: &[u8]) {
        lock(&self.here).contents.store(place(self.process, address), bytes.len(), Some(bytes));
    }

    /// Bytes of the process's memory; zeros where nothing was stored.
    pub fn load(&self, address: u64, length: usize) -> Vec<u8> {
        lock(&self.here).contents.load_all(place(self.process, address), length)
    }

    /// Writes to the NIC.
    pub(super) fn write(&self, write: Write) {
        self.thread.submit(write);
    }
}

impl Device for ThDevice {
    type Step = Step;

    fn now(&self) -> Microticks {
        self.thread.now()
    }

    fn spend(&self, step: Step) {
        let core = self.core();
        self.thread.spend(match step {
            Step::Library => Microticks::of_milliticks(core.library_milliticks),
            Step::Lines(count) => Microticks::of_milliticks(count * core.line_milliticks),
            Step::CopyLines(count) => Microticks::of_milliticks(count * core.copy_line_milliticks),
            Step::Poll => Microticks::of_milliticks(core.poll_milliticks),
            Step::Compute(time) => time,
        });
    }

    fn fail(&self, call: &str, reason: impl std::fmt::Display) {
        self.thread.fail(call, reason);
    }
}

impl Simulated for ThDevice {
    type Command = Write;
    type Watch = Watch;

    fn thread(&self) -> &ThreadOf<Nic> {
        &self.thread
    }
}

impl GlexDevice for ThDevice {
    fn node(&self) -> u32 {
        self.node
    }

    fn mini_packet_max_bytes(&self) -> u64 {
        self.limits().mini_packet_B.into()
    }

    fn immediate_max_bytes(&self) -> u64 {
        self.limits().immediate_max_B.into()
    }

    fn pinned_max_bytes(&self) -> u64 {
        self.limits().pinned_max_B
    }

    fn create_endpoint(&self, config: EndpointConfig) -> Result<u8, Refusal> {
        self.create_endpoint_with(config)
    }

    fn store(&self, address: u64, bytes: &[u8]) {
        ThDevice::store(self, address, bytes);
    }

    fn load(&self, address: u64, length: usize) -> Vec<u8> {
        ThDevice::load(self, address, length)
    }

    fn register(&self, endpoint: u8, address: u64, bytes: u64) -> Result<(), Refusal> {
        ThDevice::register(self, endpoint, address, bytes, true).map(|_| ())
    }

    fn post(&self, endpoint: u8, request: Request) -> Result<(), Refusal> {
        ThDevice::post(self, endpoint, request)
    }

    fn has_any(&self, endpoint: u8) -> (bool, bool) {
        ThDevice::has_any(self, endpoint)
    }

    fn poll_event(&self, endpoint: u8) -> Result<Event, Refusal> {
        self.spend(Step::Poll);
        self.own(&mut lock(&self.here), endpoint)?.events.pop()
    }

    fn poll_mini_packet(&self, endpoint: u8) -> Result<MiniPacket, Refusal> {
        self.spend(Step::Poll);
        self.take_mini_packet(endpoint)
    }
}
