//! What programs on nodes with TH Express NICs call, after libglex (section 3.1): endpoints, which are virtual ports; registered memory;
//! mini-packets, puts and gets, all of which are submitted and not waited for; events.
//!
//! A program is an `async fn`, one for each process. There is no runtime: its node's host polls it when what it waits for has happened.
//!
//! ```
//! use netloom_nic::th::glex::Glex;
//! use netloom_nic::th::{Address, Options, Submission};
//!
//! /// Node 0 puts 8 bytes into node 1's memory, and node 1 hears of it by an event.
//! async fn put(glex: Glex) {
//!     let endpoint = glex.create_endpoint(Submission::Pio, 7, 64).expect("free");
//!     glex.register(endpoint, 0x1000, 4096, true).expect("free");
//!     if glex.node() == 0 {
//!         let to = Address { node: 1, vp: endpoint, key: 7 };
//!         let options = Options { remote_event: Some(1), ..Options::default() };
//!         glex.put_immediate(endpoint, to, 0x1000, &7u64.to_le_bytes(), options).await.expect("possible");
//!     } else if glex.node() == 1 {
//!         glex.wait_event(endpoint).await.expect("it comes");
//!         assert_eq!(glex.load(0x1000, 1), [7]);
//!     }
//! }
//! # let _ = put;
//! ```

use super::Watch;
use super::config::ThCoreConfig;
use super::descriptor::{Address, Descriptor, Operation, Options};
use super::node::{Common, Event, MiniPacket, Node, Port, Queue, Submission, lock, place, submission_of};
use super::status::Refusal;
use super::submit::Write;
use crate::agenda::MILLI;
use crate::program::{Mailbox, Note, call};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// What a program waits for.
pub(super) enum Call {
    /// Its own instructions, microticks.
    Compute(u64),
    /// A store to the NIC, which leaves the core at the end of so long.
    Write { write: Write, cost: u64 },
    /// Something to be seen in memory.
    Wait(Watch),
}

/// Most children of a collective descriptor **(ours)**.
pub const CHILDREN: usize = 16;

/// Registered memory of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    endpoint: u8,
    item: u16,
}

/// A process, as its program sees it.
#[derive(Clone)]
pub struct Glex {
    node: u32,
    process: u8,
    mailbox: Arc<Mutex<Mailbox<Call>>>,
    here: Arc<Mutex<Node>>,
    common: Arc<Common>,
}

impl Glex {
    pub(super) fn new(
        node: u32,
        process: u8,
        mailbox: &Arc<Mutex<Mailbox<Call>>>,
        here: &Arc<Mutex<Node>>,
        common: &Arc<Common>,
    ) -> Self {
        let (mailbox, here, common) = (Arc::clone(mailbox), Arc::clone(here), Arc::clone(common));
        Glex { node, process, mailbox, here, common }
    }

    /// The machine's number of the node.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// Which of the node's processes this is.
    pub fn process(&self) -> u8 {
        self.process
    }

    /// Processes of each node.
    pub fn processes(&self) -> u8 {
        self.common.processes
    }

    /// Nodes of the machine.
    pub fn nodes(&self) -> u32 {
        self.common.nodes
    }

    /// What its instructions cost.
    pub fn core(&self) -> &ThCoreConfig {
        &self.common.config.core
    }

    /// The time, millionths of a tick: the core's own counter.
    pub fn now_microticks(&self) -> u64 {
        lock(&self.mailbox).now
    }

    /// Keeps a figure that the program measured.
    pub fn note(&self, of: u64, microticks: u64) {
        lock(&self.mailbox).notes.push(Note { of, microticks });
    }

    /// Makes an endpoint: a virtual port with a key and queues for so many events and as many mini-packets (the kernel's part: not timed).
    ///
    /// # Errors
    /// If all ports of the kind are taken.
    pub fn create_endpoint(&self, submission: Submission, key: u16, entries: usize) -> Result<u8, Refusal> {
        let port = Port {
            process: self.process,
            key,
            events: Queue::new(entries),
            mini_packets: Queue::new(entries),
            mini_under_way: 0,
            sdq: VecDeque::new(),
            held: 0,
        };
        lock(&self.here).take_port(submission, port)
    }

    /// Gives an endpoint back.
    ///
    /// # Errors
    /// If it is not the process' own.
    pub fn destroy_endpoint(&self, endpoint: u8) -> Result<(), Refusal> {
        self.own(&mut lock(&self.here), endpoint)?;
        lock(&self.here).ports[usize::from(endpoint)] = None;
        Ok(())
    }

    fn own<'a>(&self, here: &'a mut Node, endpoint: u8) -> Result<&'a mut Port, Refusal> {
        here.port(endpoint).filter(|port| port.process == self.process).ok_or(Refusal::NotOwned)
    }

    /// Registers the pages of memory for an endpoint (the kernel's part).
    ///
    /// # Errors
    /// If all items of the memory checker are taken, or, where the cache is a buffer, all its entries.
    pub fn register(
        &self,
        endpoint: u8,
        address: u64,
        bytes: u64,
        may_write: bool,
    ) -> Result<Memory, Refusal> {
        if bytes == 0 || address.checked_add(bytes).is_none_or(|end| end > 1 << 48) {
            return Err(Refusal::Invalid);
        }
        let mut here = lock(&self.here);
        self.own(&mut here, endpoint)?;
        let item = here.register(&self.common.config, endpoint, (address, bytes), may_write)?;
        Ok(Memory { endpoint, item })
    }

    /// Forgets memory that was registered.
    ///
    /// # Errors
    /// If it was not.
    pub fn deregister(&self, memory: Memory) -> Result<(), Refusal> {
        let mut here = lock(&self.here);
        self.own(&mut here, memory.endpoint)?;
        here.deregister(&self.common.config, memory.endpoint, memory.item)
    }

    /// Sends a mini-packet.
    ///
    /// # Errors
    /// If it is too long, or the descriptor queue is full.
    pub async fn send_mini_packet(
        &self,
        endpoint: u8,
        to: Address,
        data: &[u8],
        options: Options,
    ) -> Result<(), Refusal> {
        if data.len() > self.common.config.mini_packet_B as usize {
            return Err(Refusal::Invalid);
        }
        self.submit(endpoint, Operation::Mini(data.into()), &[to], (0, 0, 0), options).await
    }

    /// Puts data that is in the descriptor itself.
    ///
    /// # Errors
    /// If it is too long, or the descriptor queue is full.
    pub async fn put_immediate(
        &self,
        endpoint: u8,
        to: Address,
        remote: u64,
        data: &[u8],
        options: Options,
    ) -> Result<(), Refusal> {
        if data.is_empty() || data.len() > self.common.config.immediate_max_B as usize {
            return Err(Refusal::Invalid);
        }
        let bytes = data.len() as u64;
        self.submit(endpoint, Operation::Immediate(data.into()), &[to], (0, remote, bytes), options).await
    }

    /// Puts so many bytes of this side's memory into the other's.
    ///
    /// # Errors
    /// If that are none or too many, or the descriptor queue is full.
    pub async fn put(
        &self,
        endpoint: u8,
        to: Address,
        (local, remote, bytes): (u64, u64, u64),
        options: Options,
    ) -> Result<(), Refusal> {
        self.submit(endpoint, Operation::Put, &[to], (local, remote, bytes), options).await
    }

    /// Puts data that is in the descriptor itself to the same place at several children, of which each has its event and this side one for
    /// each: a collective descriptor, which is submitted once and used as many times (section 2.5).
    ///
    /// # Errors
    /// If there are none, or more than [`CHILDREN`]; as [`Self::put_immediate`].
    pub async fn put_to_children(
        &self,
        endpoint: u8,
        children: &[Address],
        remote: u64,
        data: &[u8],
        options: Options,
    ) -> Result<(), Refusal> {
        if data.is_empty() || data.len() > self.common.config.immediate_max_B as usize {
            return Err(Refusal::Invalid);
        }
        let bytes = data.len() as u64;
        self.submit(endpoint, Operation::Immediate(data.into()), children, (0, remote, bytes), options).await
    }

    /// Gets so many bytes of the other side's memory into this one's. Its events tell that all has come, and that all has been read.
    ///
    /// # Errors
    /// If that are none or too many, or the descriptor queue is full.
    pub async fn get(
        &self,
        endpoint: u8,
        to: Address,
        (local, remote, bytes): (u64, u64, u64),
        options: Options,
    ) -> Result<(), Refusal> {
        self.submit(endpoint, Operation::Get, &[to], (local, remote, bytes), options).await
    }

    async fn submit(
        &self,
        endpoint: u8,
        operation: Operation,
        to: &[Address],
        (local, remote, bytes): (u64, u64, u64),
        options: Options,
    ) -> Result<(), Refusal> {
        let config = &self.common.config;
        let fits = |address: u64| address.checked_add(bytes).is_some_and(|end| end <= 1 << 48);
        let is_mini = matches!(operation, Operation::Mini(_));
        let most = u64::from(self.common.packet.data_max_B) << 24;
        let is_length = is_mini || (1..=most).contains(&bytes);
        let is_node = |to: &Address| to.node < self.common.nodes && to.node != self.node;
        let Some((&to, more)) = to.split_first().filter(|_| to.iter().all(is_node)) else {
            return Err(Refusal::Invalid);
        };
        if !is_length || !fits(local) || !fits(remote) || more.len() >= CHILDREN {
            return Err(Refusal::Invalid);
        }
        let more = VecDeque::from(more.to_vec());
        let descriptor = Descriptor { vp: endpoint, operation, to, more, local, remote, bytes, options };
        let length = descriptor.length(config);
        let lines = u64::from(length.div_ceil(64));
        let submission = submission_of(endpoint);
        {
            let mut here = lock(&self.here);
            let port = self.own(&mut here, endpoint)?;
            match submission {
                Submission::Pio if port.held < config.port_descriptors => port.held += 1,
                Submission::Dma if port.sdq.len() < config.sdq_descriptors as usize => {}
                _ => return Err(Refusal::QueueFull),
            }
        }
        let core = self.core();
        let (write, cost) = match submission {
            Submission::Pio => (Write::Descriptor(Box::new(descriptor)), lines * core.line_milliticks),
            Submission::Dma => {
                self.own(&mut lock(&self.here), endpoint)?.sdq.push_back(descriptor);
                (Write::Doorbell(endpoint), lines * core.copy_line_milliticks + core.line_milliticks)
            }
        };
        let cost = (core.library_milliticks + cost) * MILLI;
        call(&self.mailbox, Call::Write { write, cost }).await;
        Ok(())
    }

    /// Looks once whether there is an event, and takes it.
    ///
    /// # Errors
    /// If there is none; if the queue was full and some were lost; if it is not the process' own.
    pub async fn poll_event(&self, endpoint: u8) -> Result<Event, Refusal> {
        self.compute_milliticks(self.core().poll_milliticks).await;
        self.own(&mut lock(&self.here), endpoint)?.events.pop()
    }

    /// Polls until there is an event, and takes it.
    ///
    /// # Errors
    /// If the queue was full and some were lost; if it is not the process' own.
    pub async fn wait_event(&self, endpoint: u8) -> Result<Event, Refusal> {
        call(&self.mailbox, Call::Wait(Watch::Events(endpoint))).await;
        self.own(&mut lock(&self.here), endpoint)?.events.pop()
    }

    /// Looks once whether there is a mini-packet, and takes it.
    ///
    /// # Errors
    /// As [`Self::poll_event`].
    pub async fn poll_mini_packet(&self, endpoint: u8) -> Result<MiniPacket, Refusal> {
        self.compute_milliticks(self.core().poll_milliticks).await;
        self.take_mini_packet(endpoint).await
    }

    /// Polls until there is a mini-packet, and takes it.
    ///
    /// # Errors
    /// As [`Self::wait_event`].
    pub async fn wait_mini_packet(&self, endpoint: u8) -> Result<MiniPacket, Refusal> {
        call(&self.mailbox, Call::Wait(Watch::MiniPackets(endpoint))).await;
        self.take_mini_packet(endpoint).await
    }

    /// A mini-packet is copied out of the queue at its full length.
    async fn take_mini_packet(&self, endpoint: u8) -> Result<MiniPacket, Refusal> {
        let mini = self.own(&mut lock(&self.here), endpoint)?.mini_packets.pop()?;
        let lines = u64::from(self.common.config.mini_packet_B.div_ceil(64));
        self.compute_milliticks(lines * self.core().copy_line_milliticks).await;
        Ok(mini)
    }

    /// Polls memory until what lies there is what is waited for.
    pub async fn wait_memory(&self, address: u64, bytes: u64, is_it: impl Fn(&[u8]) -> bool) {
        while !is_it(&self.load(address, bytes as usize)) {
            call(&self.mailbox, Call::Wait(Watch::Memory { address, bytes })).await;
        }
    }

    /// Runs instructions of its own for so long.
    pub async fn compute_milliticks(&self, milliticks: u64) {
        if milliticks > 0 {
            call(&self.mailbox, Call::Compute(milliticks * MILLI)).await;
        }
    }

    /// Stores bytes in the process' memory (not timed: see [`Self::compute_milliticks`]).
    pub fn store(&self, address: u64, bytes: &[u8]) {
        lock(&self.here).contents.store(place(self.process, address), bytes.len(), Some(bytes));
    }

    /// Bytes of the process' memory; zeros where nothing was ever stored.
    pub fn load(&self, address: u64, length: usize) -> Vec<u8> {
        lock(&self.here).contents.load_all(place(self.process, address), length)
    }
}
