//! Messages over Cray XC's Aries NIC, by uGNI, as Cray MPI sends them (Alverson et al., *Cray XC Network
//! Software Stack*; limits are the library's defaults):
//!
//! - Short messages (SMSG) are put into mailboxes at the receiver.
//! - "Where space is available, intermediate size messages are sent eagerly to pre-allocated system buffers":
//!   the sender copies a message into buffers of its own, announces each by a short message, and the receiver
//!   gets them into buffers of its own, copies the data from there and says so by a short message.
//! - The data of long messages, and of those for which no buffer is idle, is fetched after matching.
//!
//! Gets are by FMA, or from some length on by the block transfer engine.

use super::blocks::{Announced, Blocks, Parts};
use super::packets::Placement;
use crate::config::{BuffersConfig, Steps};
use crate::device::{GniDevice, Simulated};
use crate::gni::{Endpoint, MemOptions, Post, PostKind, Step};
use crate::program::Collective;
use crate::smsg::{Connection, Mailbox};
use crate::transport::{ENVELOPE_B, Envelope, Event, Transport};
use netloom_nic::aries::address::MemHandle;
use netloom_nic::aries::collective::{Reduction, Tree};
use netloom_nic::aries::{EventKind, Submission, Watch};
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use smallvec::{SmallVec, smallvec};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The job's protection tag and cookie.
pub const PTAG: u8 = 1;
/// See [`PTAG`].
pub const COOKIE: u32 = 1;

/// Addresses of each process's registered memory: mailboxes, buffers for sending and for receiving, then
/// outgoing data and incoming data, by request.
const AT: u64 = 1 << 32;
const BYTES: u64 = 1 << 39;
const BLOCKS_OUT: u64 = AT + (1 << 36);
const BLOCKS_IN: u64 = AT + (3 << 35);
const OUT: u64 = AT + (1 << 37);
const IN: u64 = AT + (1 << 38);
const BUFFER_B: u64 = 1 << 28;
const BUFFERS: u32 = 64;
/// Distance of the buffers of eager messages, bytes.
const BLOCK_B: u64 = 1 << 15;
/// Gets of such buffers are numbered from here, others by request.
const BLOCK: u64 = 1 << 32;
/// Capacity of the completion queue, events.
const EVENTS: usize = 1 << 16;
/// Maximum data of an eager message where the machine does not set it, bytes: `MPICH_GNI_MAX_EAGER_MSG_SIZE`.
const EAGER_MAX_B: u64 = 8192;

/// Maximum data of a short message by the number of ranks, bytes, for mailboxes take memory for each rank:
/// the defaults of `MPICH_GNI_MAX_VSHORT_MSG_SIZE`, as Cray's courses give them.
fn short_max_bytes(ranks: usize) -> u64 {
    match ranks {
        0..=512 => 8152,
        513..=1024 => 2008,
        1025..=16_384 => 472,
        _ => 216,
    }
}

/// Tags of short messages: a message; an announced part of a message; a part that has been got.
const MESSAGE: u8 = 0;
const PART: u8 = 1;
const READ: u8 = 2;

/// The collective engine that it uses, and the radix of its tree: the maximum of an engine.
const ENGINE: u8 = 0;
const RADIX: u32 = 32;

/// What a machine sets of the library.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its buffers.
    pub buffers: BuffersConfig,
    /// Data of the longest eager message, bytes, if it is set.
    pub eager_max_bytes: Option<u64>,
    /// Short messages in flight to one rank at once.
    pub credits: u32,
    /// How long copies take: none, where those who use the transport take the time of all copies.
    pub steps: Steps,
}

/// What is to be sent to a rank.
#[derive(Clone, Copy, Debug)]
enum Outgoing {
    /// A short message.
    Message(Envelope),
    /// A part of a message, and the buffer into which it has been copied; whether it is the last.
    Part { envelope: Envelope, part: u16, block: Option<u32>, is_last: bool },
    /// One of its buffers has been read.
    Read(u32),
}

/// A rank's messages on its Aries NIC.
pub struct GniTransport<D> {
    device: D,
    placement: Arc<Placement>,
    rank: u32,
    settings: Settings,
    /// Maximum data of a short message, bytes.
    short_max_bytes: u64,
    memory: Option<MemHandle>,
    queue: u16,
    /// Mailboxes of the ranks that it has communicated with.
    peers: BTreeMap<u32, Connection<D>>,
    /// What waits for a credit or for an idle buffer, by rank.
    waiting: BTreeMap<u32, VecDeque<Outgoing>>,
    /// Events of ranks whose messages had not come: writes of two CPUs of a node may overtake each other, so
    /// that the event of a later message is first.
    early_events: BTreeMap<u32, u32>,
    /// The rank of the last message, if it has such events.
    next: Option<u32>,
    /// Buffers of eager messages, and the messages of each rank that come in several of them.
    blocks: Blocks,
    parts: BTreeMap<u32, Parts>,
    /// Messages whose data has been copied into buffers, by request.
    sent: VecDeque<u32>,
    /// See [`Transport::take_spent`].
    spent: Microticks,
}

impl<D: GniDevice + Clone> GniTransport<D> {
    /// The transport of a rank.
    pub fn new(device: D, placement: &Arc<Placement>, rank: u32, settings: Settings) -> Self {
        let buffers = &settings.buffers;
        let short_max = buffers.short_max_B.map(u64::from);
        GniTransport {
            device,
            placement: Arc::clone(placement),
            rank,
            short_max_bytes: short_max.unwrap_or_else(|| short_max_bytes(placement.nodes().len())),
            memory: None,
            queue: 0,
            peers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            early_events: BTreeMap::new(),
            next: None,
            blocks: Blocks::new(buffers.buffers),
            parts: BTreeMap::new(),
            sent: VecDeque::new(),
            spent: Microticks::ZERO,
            settings,
        }
    }

    /// The registered memory of a rank: the processes of a node have one virtual handle each, in order.
    fn memory(&self, rank: u32) -> MemHandle {
        let own = self.memory.expect("it was registered at the start");
        MemHandle { mdh: self.placement.process(rank).into(), ..own }
    }

    fn endpoint(&self, rank: u32) -> Endpoint {
        Endpoint::new(self.placement.node(rank), self.placement.process(rank))
    }

    /// Sets the collective engine's position in the tree of all ranks.
    fn configure_engine(&self) {
        let ranks = self.placement.nodes().len() as u32;
        let of_ranks = Tree::regular(self.rank, ranks, RADIX, ENGINE, self.queue);
        let node = |rank: u32| self.placement.node(rank);
        let tree = Tree {
            children: of_ranks.children.iter().map(|&(rank, engine)| (node(rank), engine)).collect(),
            parent: of_ranks.parent.map(|(rank, engine, child)| (node(rank), engine, child)),
            ..of_ranks
        };
        if let Err(refusal) = self.device.configure_engine(ENGINE, tree) {
            self.device.fail("GNI_CeConfigure", format!("{refusal:?}"));
        }
    }

    /// The mailbox at a rank for messages of another.
    fn mailbox(&self, at: u32, from: u32) -> Mailbox {
        let message_max = self.short_max_bytes + ENVELOPE_B as u64;
        let slots = self.settings.credits.into();
        let mailbox = Mailbox { memory: self.memory(at), address: AT, slots, message_max };
        Mailbox { address: AT + u64::from(from) * mailbox.bytes().next_multiple_of(64), ..mailbox }
    }

    fn peer(&mut self, rank: u32) -> &mut Connection<D> {
        if !self.peers.contains_key(&rank) {
            let to = Endpoint { remote_event: self.rank, ..self.endpoint(rank) };
            let (own, theirs) = (self.mailbox(self.rank, rank), self.mailbox(rank, self.rank));
            let joined = Connection::new(self.device.clone(), to, own, theirs);
            self.peers.insert(rank, joined.expect("mailboxes lie in registered memory"));
        }
        self.peers.get_mut(&rank).expect("just now")
    }

    /// Takes the time to copy a part of a message.
    fn copy(&mut self, part: u64) {
        let time = self.settings.steps.copy(part);
        if !time.is_zero() {
            self.spent += time;
            self.device.spend(Step::Compute(time));
        }
    }

    /// Takes the next message of a rank, of which there was an event.
    fn take(&mut self, from: u32) -> Option<Event> {
        self.device.spend(Step::Poll);
        let peer = self.peer(from);
        let message = peer.next()?;
        // The slot is free again.
        if let Err(refusal) = peer.release() {
            self.device.fail("GNI_SmsgRelease", format!("{refusal:?}"));
        }
        if let Entry::Occupied(mut events) = self.early_events.entry(from) {
            *events.get_mut() -= 1;
            match events.get() {
                0 => drop(events.remove()),
                _ => self.next = Some(from),
            }
        }
        match message.tag {
            PART => {
                let (envelope, part, block) = part_of_bytes(&message.header);
                self.blocks.announce(Announced { from, envelope, part, block });
                self.get_blocks();
                None
            }
            READ => {
                self.blocks.was_read(block_of_bytes(&message.header));
                None
            }
            _ => Some(Event::Arrived { from, envelope: Envelope::of_bytes(&message.header) }),
        }
    }

    /// Copies parts of messages into buffers, as far as these are idle.
    fn fill(&mut self, to: u32) {
        let mut at = 0;
        while let Some(&mut next) = self.waiting.get_mut(&to).and_then(|waiting| waiting.get_mut(at)) {
            if let Outgoing::Part { envelope, part, block: None, is_last } = next {
                let Some(block) = self.blocks.take() else { return };
                self.copy(part.into());
                let filled = Outgoing::Part { envelope, part, block: Some(block), is_last };
                self.waiting.get_mut(&to).expect("just now")[at] = filled;
                if is_last {
                    self.sent.push_back(envelope.request);
                }
            }
            at += 1;
        }
    }

    /// Sends as long as there are credits.
    fn put(&mut self, to: u32) {
        while let Some(&next) = self.waiting.get(&to).and_then(VecDeque::front) {
            if self.peer(to).needs_credit().is_some() {
                return;
            }
            match next {
                Outgoing::Read(block) => self.put_short(to, &block.to_le_bytes(), 0, READ),
                Outgoing::Message(envelope) => {
                    self.put_short(to, &envelope.to_bytes(), envelope.data_bytes(), MESSAGE);
                }
                Outgoing::Part { block: None, .. } => return,
                Outgoing::Part { envelope, part, block: Some(block), .. } => {
                    self.put_short(to, &part_to_bytes(&envelope, part, block), 0, PART);
                }
            }
            self.waiting.get_mut(&to).expect("just now").pop_front();
        }
        self.waiting.remove(&to);
    }

    /// Sends a short message with this much data, for which there is a credit.
    fn put_short(&mut self, to: u32, header: &[u8], bytes: u64, tag: u8) {
        if let Err(refusal) = self.peer(to).send(header, &vec![0; bytes as usize], tag, None, 0) {
            self.device.fail("GNI_SmsgSend", format!("{refusal:?}"));
        }
    }

    /// Gets announced parts, as far as there are idle buffers.
    fn get_blocks(&mut self) {
        while let Some((announced, block)) = self.blocks.next() {
            let at = |base: u64, block: u32| base + u64::from(block) * BLOCK_B;
            let places = (at(BLOCKS_IN, block), at(BLOCKS_OUT, announced.block));
            self.get(announced.from, places, announced.part.into(), BLOCK | u64::from(block));
        }
    }

    /// Gets data of another rank, of which `places` are the address here and there.
    fn get(&mut self, from: u32, places: (u64, u64), bytes: u64, id: u64) {
        let is_short = bytes <= self.settings.buffers.fma_max_B.into();
        let kind = if is_short { PostKind::FmaGet } else { PostKind::RdmaGet };
        // Gets consist of whole words.
        let bytes = bytes.max(1).next_multiple_of(4);
        let post = Post::new(kind, places.0, places.1, self.memory(from), bytes);
        if let Err(refusal) =
            self.device.post(self.endpoint(from), Post { queue: Some(self.queue), id, ..post })
        {
            self.device.fail("GNI_Post", format!("{refusal:?}"));
        }
    }

    /// A part of a message has been got.
    fn part_arrived(&mut self, block: u32) -> Option<Event> {
        let Announced { from, envelope, part, block: theirs } = self.blocks.arrived(block)?;
        self.copy(part.into());
        // Before all messages: these may wait for a buffer that the other rank frees only then.
        self.waiting.entry(from).or_default().push_front(Outgoing::Read(theirs));
        self.put(from);
        self.get_blocks();
        let parts = self.parts.entry(from).or_default();
        let has_all = parts.has_all(envelope.sequence, part.into(), envelope.bytes);
        has_all.then_some(Event::Arrived { from, envelope })
    }

    /// Takes an event of the completion queue.
    fn take_event(&mut self) -> Option<Event> {
        let event = match self.device.poll(self.queue) {
            Ok(event) => event,
            Err(refusal) => {
                self.device.fail("GNI_CqGetEvent", format!("{refusal:?}"));
                return None;
            }
        };
        match event.kind {
            EventKind::Collective => Some(Event::Collected),
            EventKind::Post if event.user & BLOCK != 0 => self.part_arrived(event.user as u32),
            EventKind::Post => Some(Event::Fetched { request: event.user as u32 }),
            _ => {
                let from = event.user as u32;
                *self.early_events.entry(from).or_insert(0) += 1;
                self.take(from)
            }
        }
    }

    /// A message whose data has been copied.
    fn take_sent(&mut self) -> Option<Event> {
        self.sent.pop_front().map(|request| Event::Sent { request })
    }
}

/// The header of an announced part.
fn part_to_bytes(envelope: &Envelope, part: u16, block: u32) -> Vec<u8> {
    let mut bytes = envelope.to_bytes().to_vec();
    bytes.extend_from_slice(&(u64::from(block) << 16 | u64::from(part)).to_le_bytes());
    bytes
}

/// The reverse: the envelope, the length of the part and its buffer at the sender.
fn part_of_bytes(bytes: &[u8]) -> (Envelope, u16, u32) {
    let (envelope, rest) = bytes.split_at(ENVELOPE_B.min(bytes.len()));
    let word = word_of(rest);
    (Envelope::of_bytes(envelope), word as u16, (word >> 16) as u32)
}

/// A buffer that has been read.
fn block_of_bytes(bytes: &[u8]) -> u32 {
    word_of(bytes) as u32
}

/// The first bytes as a number; missing ones count as zeros.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let count = bytes.len().min(word.len());
    word[..count].copy_from_slice(&bytes[..count]);
    u64::from_le_bytes(word)
}

impl<D: GniDevice + Clone + Simulated<Command = Submission, Watch = Watch>> Transport for GniTransport<D> {
    type Command = Submission;
    type Watch = Watch;

    fn thread(&self) -> &Thread<Submission, Watch> {
        self.device.thread()
    }

    fn start(&mut self) {
        let device = &self.device;
        let registered = device.attach(PTAG, COOKIE).and_then(|()| {
            self.queue = device.create_queue(EVENTS);
            let queue = Some(self.queue);
            let virtual_mdh = Some(self.placement.process(self.rank).into());
            device.register(AT, BYTES, MemOptions { queue, virtual_mdh, ..MemOptions::default() })
        });
        match registered {
            Ok(memory) => {
                self.memory = Some(memory);
                if self.placement.has_collectives() {
                    self.configure_engine();
                }
            }
            Err(refusal) => device.fail("GNI_MemRegister", format!("{refusal:?}")),
        }
    }

    fn run_as(&mut self, process: u8) {
        self.device.run_as(process);
    }

    fn eager_max_bytes(&self) -> u64 {
        self.settings.eager_max_bytes.unwrap_or(EAGER_MAX_B)
    }

    fn has_space(&self, bytes: u64) -> bool {
        let blocks = bytes.div_ceil(self.settings.buffers.buffer_B.into());
        bytes <= self.short_max_bytes || blocks <= self.blocks.idle() as u64
    }

    fn copies(&self, bytes: u64) -> bool {
        bytes <= self.short_max_bytes
    }

    fn copies_parts(&self, bytes: u64) -> bool {
        bytes > self.short_max_bytes
    }

    fn fetches(&self) -> bool {
        true
    }

    fn take_spent(&mut self) -> Microticks {
        std::mem::take(&mut self.spent)
    }

    fn send(&mut self, to: u32, envelope: Envelope) {
        let (bytes, most) = (envelope.data_bytes(), u64::from(self.settings.buffers.buffer_B));
        let waiting = self.waiting.entry(to).or_default();
        if bytes <= self.short_max_bytes {
            waiting.push_back(Outgoing::Message(envelope));
        } else {
            waiting.extend((0..bytes).step_by(most as usize).map(|done| {
                let (part, is_last) = ((bytes - done).min(most) as u16, done + most >= bytes);
                Outgoing::Part { envelope, part, block: None, is_last }
            }));
            self.fill(to);
        }
        self.put(to);
    }

    fn fetch(&mut self, from: u32, remote: u32, bytes: u64, request: u32) {
        let place = |base: u64, request: u32| base + u64::from(request % BUFFERS) * BUFFER_B;
        self.get(from, (place(IN, request), place(OUT, remote)), bytes, request.into());
    }

    fn collective_max_bytes(&self, what: Collective) -> Option<u64> {
        let most = match what {
            Collective::Barrier => 0,
            Collective::Broadcast | Collective::Allreduce => 8,
            Collective::Reduce => return None,
        };
        self.placement.has_collectives().then_some(most)
    }

    /// "Implementation of latency sensitive collectives, including MPI_Allreduce and MPI_Barrier, is optimized
    /// using the Aries collective engine" (*Cray XC Network Software Stack*).
    fn prefers_hardware(&self, what: Collective) -> bool {
        matches!(what, Collective::Barrier | Collective::Allreduce)
    }

    /// By a collective engine, which executes one operation on a word: a barrier is one without a used
    /// result, a broadcast a sum with a single contribution.
    fn collective(&mut self, what: Collective, _: u64) {
        let operation = match what {
            Collective::Barrier => Reduction::And,
            Collective::Broadcast => Reduction::Or,
            Collective::Allreduce => Reduction::FloatAdd,
            Collective::Reduce => unreachable!("it is not supported"),
        };
        if let Err(refusal) = self.device.join(ENGINE, operation, 0) {
            self.device.fail("GNI_CeAllReduce", format!("{refusal:?}"));
        }
    }

    fn advance(&mut self) -> Option<Event> {
        if let Some(sent) = self.take_sent() {
            return Some(sent);
        }
        loop {
            let found = match self.next.take() {
                Some(from) => self.take(from),
                None if self.device.has_event(self.queue) => self.take_event(),
                None => break,
            };
            if found.is_some() {
                return found;
            }
        }
        let blocked: Vec<u32> = self.waiting.keys().copied().collect();
        for to in blocked {
            self.fill(to);
            self.put(to);
        }
        self.take_sent()
    }

    fn watches(&self) -> (SmallVec<[Watch; 2]>, Option<Microticks>) {
        let mut any: SmallVec<[Watch; 2]> = smallvec![Watch::Queue(self.queue)];
        let process = self.placement.process(self.rank);
        let credits = self.waiting.keys().filter_map(|to| self.peers.get(to)?.needs_credit());
        any.extend(credits.map(|address| Watch::Memory { process, address, bytes: 8 }));
        (any, None)
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.sent.is_empty() && self.blocks.are_read()
    }
}
