//! Messages over the TH Express NIC, by libglex, as MPICH2-GLEX2 sends them (Pang et al., section 4).
//!
//! | what | section | file |
//! |---|---|---|
//! | the shared channel: mini-packets; blocks, which the receiver gets | 4.2 | here, `../blocks.rs` |
//! | credits | 4.2 | `credits.rs` |
//! | exclusive channels: puts into rings of buffers, and when they are created | 4.3, 4.6 | `exclusive.rs`, `peer.rs` |
//! | the data of long messages: gets into the receiver's buffer | 4.4 | here |
//! | what packets begin with | | `header.rs` |
//! | collective operations by the NIC | 4.7 | `collective.rs` |
//!
//! Order (4.5): messages are numbered, and taken in this order by those who use the transport.

mod collective;
mod credits;
mod exclusive;
mod header;
mod peer;

use super::blocks::{Announced, Blocks};
use super::packets::Placement;
use crate::config::{ChannelsConfig, DescriptorPath, Steps};
use crate::device::{GlexDevice, Simulated};
use crate::glex::Step;
use crate::program::Collective;
use crate::transport::{ENVELOPE_B, Envelope, Event, Kind, Transport};
use collective::Collectives;
use credits::UNASKED;
use header::{Header, Packet};
use netloom_nic::th::status::Refusal;
use netloom_nic::th::{
    Address, EndpointConfig, Event as NicEvent, EventKind, MiniPacket, Options, PIO_PORTS, QueueConfig,
    Request, Submission, Watch, Write,
};
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use peer::{Outgoing, Peer};
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The endpoints' key, and the capacity of their event queues.
const KEY: u16 = 7;
const EVENTS: usize = 1 << 14;
/// Addresses: outgoing and incoming data by request, blocks, rings, and the queue of mini-packets where that
/// is too large for one piece of physical memory.
const AT: u64 = 1 << 32;
const BYTES: u64 = 1 << 39;
const OUT: u64 = AT;
const BLOCKS_OUT: u64 = AT + (1 << 35);
const BLOCKS_IN: u64 = AT + (1 << 36);
const RINGS_OUT: u64 = AT + (1 << 37);
const RINGS_IN: u64 = AT + (3 << 36);
const IN: u64 = AT + (1 << 38);
const QUEUE: u64 = AT + (3 << 37);
const BUFFER_B: u64 = 1 << 28;
const BUFFERS: u32 = 64;
/// Interval at which the library retries after a descriptor queue was full: no event reports free space.
const RETRY: Microticks = Microticks::of_ticks(300);
/// The longest eager message, bytes, where the machine does not set it: MPICH2's own.
const EAGER_MAX_B: u64 = 131_072;

/// What the number of an event stands for, in its uppermost bits: a request, a block or a buffer of a ring.
const REQUEST: u32 = 0;
const BLOCK: u32 = 1 << 30;
const RING: u32 = 2 << 30;
const NUMBER: u32 = (1 << 30) - 1;

/// What a machine sets of the library.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its channels.
    pub channels: ChannelsConfig,
    /// Data of the longest eager message, bytes, if it is set.
    pub eager_max_bytes: Option<u64>,
    /// Mini-packets in flight to one rank at once.
    pub credits: u32,
    /// How long copies take: none, where those who use the transport take the time of all copies.
    pub steps: Steps,
}

/// A rank's messages on its TH Express NIC.
pub struct GlexTransport<D> {
    device: D,
    placement: Arc<Placement>,
    rank: u32,
    settings: Settings,
    endpoint: u8,
    /// Entries of the queue of mini-packets to give to ranks that need more.
    pool: u32,
    peers: BTreeMap<u32, Peer>,
    blocks: Blocks,
    /// The rank that each ring of buffers is for.
    rings: Vec<Option<u32>>,
    /// Requests for which the descriptor queue had no space, and ranks whose messages wait for these.
    unposted: VecDeque<Request>,
    behind: VecDeque<u32>,
    /// Ranks to which more may be sent since something has arrived.
    ready: VecDeque<u32>,
    /// Messages whose data has been copied, by request.
    sent: VecDeque<u32>,
    /// See [`Transport::take_spent`].
    spent: Microticks,
    collectives: Option<Collectives>,
}

impl<D: GlexDevice> GlexTransport<D> {
    /// For a process.
    pub fn new(device: D, placement: &Arc<Placement>, rank: u32, settings: Settings) -> Self {
        let channels = &settings.channels;
        GlexTransport {
            device,
            placement: Arc::clone(placement),
            rank,
            endpoint: 0,
            pool: channels.pool,
            peers: BTreeMap::new(),
            blocks: Blocks::new(channels.blocks),
            rings: vec![None; channels.exclusive_max as usize],
            unposted: VecDeque::new(),
            behind: VecDeque::new(),
            ready: VecDeque::new(),
            sent: VecDeque::new(),
            spent: Microticks::ZERO,
            collectives: None,
            settings,
        }
    }

    /// The first port of a kind. Each process of a node has the one with its own number after that.
    fn first_port(&self) -> u8 {
        match self.settings.channels.path {
            DescriptorPath::Pio => 0,
            DescriptorPath::Dma => PIO_PORTS,
        }
    }

    fn address(&self, rank: u32) -> Address {
        let vp = self.first_port() + self.placement.process(rank);
        Address { node: self.placement.node(rank), vp, key: KEY }
    }

    /// Creates the endpoint. Over PIO the first processes of a node have ports whose descriptors the processor
    /// writes, the others those whose descriptors the NIC fetches: ports are taken in order.
    fn create_endpoint(&mut self) -> Result<(), Refusal> {
        let own = self.address(self.rank).vp;
        let submission = if own < PIO_PORTS { Submission::Pio } else { Submission::Dma };
        // The queue has entries for the credits of all ranks, for the pool, and for credits that return.
        let each = self.settings.credits as usize + UNASKED;
        let others = self.pool as usize + UNASKED * self.rings.len();
        let entries = self.placement.nodes().len() * each + others;
        let bytes = entries as u64 * self.device.mini_packet_max_bytes();
        let at = (bytes > self.device.pinned_max_bytes()).then_some(QUEUE);
        let mini_packets = QueueConfig { entries, at };
        let config = EndpointConfig { mini_packets, ..EndpointConfig::new(submission, KEY, EVENTS) };
        self.endpoint = self.device.create_endpoint(config)?;
        if self.endpoint == own { Ok(()) } else { Err(Refusal::NotOwned) }
    }

    fn fail(&self, call: &str, reason: impl std::fmt::Debug) {
        self.device.fail(call, format!("{reason:?}"));
    }

    fn peer(&mut self, rank: u32) -> &mut Peer {
        let credits = self.settings.credits;
        self.peers.entry(rank).or_insert_with(|| Peer::new(credits))
    }

    /// The longest message that goes by one mini-packet, bytes. The rank copies it as a whole.
    fn short_max_bytes(&self) -> u64 {
        self.device.mini_packet_max_bytes() - ENVELOPE_B as u64
    }

    /// Takes the time of own instructions.
    fn spend(&mut self, time: Microticks) {
        if !time.is_zero() {
            self.spent += time;
            self.device.spend(Step::Compute(time));
        }
    }

    /// Takes the time to copy a part of a message of this length.
    fn copy(&mut self, part: u64, bytes: u64) {
        if bytes > self.short_max_bytes() {
            self.spend(self.settings.steps.copy(part));
        }
    }

    fn options(&self) -> Options {
        Options { connect: self.settings.channels.connect, ..Options::default() }
    }

    /// Posts a request, or keeps it until the descriptor queue has space.
    fn post(&mut self, request: Request) {
        self.unposted.push_back(request);
        self.post_all();
    }

    fn post_all(&mut self) {
        while let Some(request) = self.unposted.front() {
            match self.device.post(self.endpoint, request.clone()) {
                Ok(()) => drop(self.unposted.pop_front()),
                Err(Refusal::QueueFull) => return,
                Err(refusal) => return self.fail("glex_post", refusal),
            }
        }
    }

    /// Sends what waits for a rank, as far as there is space.
    fn send_to(&mut self, to: u32) {
        while let Some(&next) = self.peer(to).waiting.front() {
            if !self.unposted.is_empty() {
                if !std::mem::replace(&mut self.peer(to).is_queued, true) {
                    self.behind.push_back(to);
                }
                return;
            }
            let (envelope, done) = match next {
                Outgoing::About(packet) => {
                    if !self.send_mini_packet(to, packet, NOTHING, 0) {
                        return;
                    }
                    self.peer(to).waiting.pop_front();
                    continue;
                }
                Outgoing::Message(envelope, done) => (envelope, done),
            };
            let bytes = envelope.data_bytes();
            let part = match self.peer(to).is_exclusive() {
                true => self.send_exclusive(to, envelope, bytes - done),
                false if bytes <= self.short_max_bytes() => {
                    self.send_mini_packet(to, Packet::Message, envelope, bytes as u16).then_some(bytes)
                }
                false => self.send_block(to, envelope, bytes - done),
            };
            let Some(part) = part else { return };
            let waiting = &mut self.peer(to).waiting;
            if done + part < bytes {
                waiting[0] = Outgoing::Message(envelope, done + part);
                continue;
            }
            waiting.pop_front();
            if bytes > self.short_max_bytes() {
                self.sent.push_back(envelope.request);
            }
        }
    }

    /// Sends a mini-packet, if there is a credit: with this much data, or without.
    fn send_mini_packet(&mut self, to: u32, packet: Packet, envelope: Envelope, part: u16) -> bool {
        let peer = self.peer(to);
        let needs_credit = packet != Packet::Credit;
        if needs_credit && !peer.credits.take() {
            return false;
        }
        let wants_more = needs_credit && peer.credits.is_low() && peer.waiting.len() > 1;
        let header = Header { wants_more, ..peer.header(envelope, packet, part) };
        let mut data = header.to_bytes().to_vec();
        if packet == Packet::Message {
            data.resize(data.len() + usize::from(part), 0);
        }
        self.post(Request::mini_packet(&[self.address(to)], &data).with(self.options()));
        true
    }

    /// Sends a part of a message in a block. Returns its length, bytes, if there is a block and a credit.
    fn send_block(&mut self, to: u32, envelope: Envelope, left: u64) -> Option<u64> {
        if self.peer(to).credits.is_spent() {
            return None;
        }
        let Some(block) = self.blocks.take() else {
            if !std::mem::replace(&mut self.peer(to).is_queued, true) {
                self.blocks.needed_for.push_back(to);
            }
            return None;
        };
        let part = left.min(self.settings.channels.block_B.into());
        self.copy(part, envelope.bytes);
        self.send_mini_packet(to, Packet::Block(block), envelope, part as u16);
        Some(part)
    }

    /// Gets announced parts, as far as there are receiving blocks.
    fn get_blocks(&mut self) {
        while let Some((announced, block)) = self.blocks.next() {
            let at = |base: u64, block: u32| base + u64::from(block) * BLOCK_B;
            let places = (at(BLOCKS_IN, block), at(BLOCKS_OUT, announced.block), announced.part.into());
            let options = Options {
                local_event: Some(BLOCK | block),
                remote_event: Some(BLOCK | announced.block),
                ..self.options()
            };
            self.post(Request::get(self.address(announced.from), places).with(options));
        }
    }

    /// A part of a message is there.
    fn part_arrived(&mut self, from: u32, envelope: Envelope, part: u16) -> Option<Event> {
        let bytes = envelope.data_bytes();
        let has_all = self.peer(from).parts.has_all(envelope.sequence, part.into(), bytes);
        has_all.then_some(Event::Arrived { from, envelope })
    }

    fn take_event(&mut self, event: NicEvent) -> Option<Event> {
        let number = event.user & NUMBER;
        match (event.kind, event.user & !NUMBER) {
            (EventKind::Local, REQUEST) => Some(Event::Fetched { request: number }),
            (EventKind::Remote, REQUEST) => Some(Event::Read { request: number }),
            (EventKind::Local, BLOCK) => {
                let Announced { from, envelope, part, .. } = self.blocks.arrived(number)?;
                self.copy(part.into(), envelope.bytes);
                self.get_blocks();
                self.part_arrived(from, envelope, part)
            }
            (EventKind::Remote, BLOCK) => {
                self.blocks.was_read(number);
                if let Some(rank) = self.blocks.needed_for.pop_front() {
                    self.peer(rank).is_queued = false;
                    self.ready.push_back(rank);
                }
                None
            }
            (EventKind::Remote, RING) => self.take_from_ring(number),
            _ => None,
        }
    }

    fn take_mini_packet(&mut self, mini: &MiniPacket) -> Option<Event> {
        let process = mini.from.1.wrapping_sub(self.first_port());
        let from = self.placement.rank(mini.from.0, process)?;
        let Some(header) = Header::of_bytes(&mini.data) else {
            self.fail("glex_receive_mp", "a mini-packet that is none of the library's");
            return None;
        };
        let mut pool = self.pool;
        let peer = self.peer(from);
        if header.packet != Packet::Credit {
            peer.credits.freed(1);
        }
        if header.wants_more {
            peer.credits.grow(&mut pool);
        }
        self.pool = pool;
        self.returned(from, &header);
        match header.packet {
            Packet::Message => self.part_arrived(from, header.envelope, header.part),
            Packet::Block(block) => {
                let Header { envelope, part, .. } = header;
                self.blocks.announce(Announced { from, envelope, part, block });
                self.get_blocks();
                None
            }
            Packet::Credit => None,
            Packet::Connect(_) | Packet::Accept(_) | Packet::Refuse => {
                self.about_channel(from, header.packet);
                None
            }
        }
    }

    /// A message whose data has been copied.
    fn take_sent(&mut self) -> Option<Event> {
        self.sent.pop_front().map(|request| Event::Sent { request })
    }

    /// Credits have come back.
    fn returned(&mut self, from: u32, header: &Header) {
        self.peer(from).returned(header);
        self.ready.push_back(from);
    }

    /// Sends what has become possible, and the credits that are owed.
    fn send_more(&mut self) {
        self.post_all();
        while self.unposted.is_empty()
            && let Some(rank) = self.behind.pop_front()
        {
            self.peer(rank).is_queued = false;
            self.ready.push_back(rank);
        }
        while let Some(rank) = self.ready.pop_front() {
            self.send_to(rank);
            if let Some(of_which) = self.peer(rank).return_unasked() {
                self.send_mini_packet(rank, Packet::Credit, NOTHING, of_which);
            }
        }
    }
}

/// The size of the space for a block, bytes.
const BLOCK_B: u64 = 1 << 15;
/// The envelope of a packet without a message.
const NOTHING: Envelope = Envelope { kind: Kind::Eager, sequence: 0, tag: 0, bytes: 0, request: 0 };

impl<D: GlexDevice + Simulated<Command = Write, Watch = Watch>> Transport for GlexTransport<D> {
    type Command = Write;
    type Watch = Watch;

    fn thread(&self) -> &Thread<Write, Watch> {
        self.device.thread()
    }

    fn start(&mut self) {
        let made = self.create_endpoint().and_then(|()| {
            self.device.register(self.endpoint, AT, BYTES)?;
            if self.placement.has_collectives() {
                self.collectives = Some(Collectives::new(&self.device, &self.placement, self.rank)?);
            }
            Ok(())
        });
        if let Err(refusal) = made {
            self.fail("glex_create_endpoint", refusal);
        }
    }

    fn eager_max_bytes(&self) -> u64 {
        self.settings.eager_max_bytes.unwrap_or(EAGER_MAX_B)
    }

    fn copies(&self, bytes: u64) -> bool {
        bytes <= self.short_max_bytes()
    }

    fn copies_parts(&self, bytes: u64) -> bool {
        bytes > self.short_max_bytes()
    }

    fn fetches(&self) -> bool {
        true
    }

    fn take_spent(&mut self) -> Microticks {
        std::mem::take(&mut self.spent)
    }

    fn notifies_of_reads(&self) -> bool {
        true
    }

    fn send(&mut self, to: u32, envelope: Envelope) {
        self.want_channel(to);
        self.peer(to).waiting.push_back(Outgoing::Message(envelope, 0));
        self.send_to(to);
    }

    /// The zero-copy transfer (section 4.4): a get, whose events notify both ranks.
    fn fetch(&mut self, from: u32, remote: u32, bytes: u64, request: u32) {
        let place = |base: u64, request: u32| base + u64::from(request % BUFFERS) * BUFFER_B;
        let places = (place(IN, request), place(OUT, remote), bytes);
        let (local_event, remote_event) = (Some(REQUEST | request), Some(REQUEST | remote));
        let options = Options { local_event, remote_event, ..self.options() };
        self.post(Request::get(self.address(from), places).with(options));
    }

    fn collective_max_bytes(&self, what: Collective) -> Option<u64> {
        self.placement.has_collectives().then(|| collective::max_bytes(what)).flatten()
    }

    /// MPICH2-GLEX2 has collective operations by the NIC (section 4.7). That only barriers are by default is
    /// ours: here each of the others begins with a barrier of its own, which real programs overlap with their
    /// computation, so that messages are faster among few ranks.
    fn prefers_hardware(&self, what: Collective) -> bool {
        what == Collective::Barrier
    }

    fn collective(&mut self, what: Collective, bytes: u64) {
        if let Some(collectives) = &mut self.collectives {
            collectives.begin(&self.device, what, bytes);
        }
    }

    fn advance(&mut self) -> Option<Event> {
        if self.collectives.as_mut().is_some_and(|collectives| collectives.advance(&self.device)) {
            return Some(Event::Collected);
        }
        if let Some(sent) = self.take_sent() {
            return Some(sent);
        }
        // One queue of events and one of mini-packets report all channels (section 4.6).
        let (events, mini_packets) = self.device.has_any(self.endpoint);
        let mut found = None;
        if events {
            match self.device.poll_event(self.endpoint) {
                Ok(event) => found = self.take_event(event),
                Err(refusal) => self.fail("glex_poll_event", refusal),
            }
        }
        if found.is_none() && mini_packets {
            match self.device.poll_mini_packet(self.endpoint) {
                Ok(mini) => found = self.take_mini_packet(&mini),
                Err(refusal) => self.fail("glex_poll_mini_packet", refusal),
            }
        }
        self.send_more();
        found.or_else(|| self.take_sent())
    }

    fn watches(&self) -> (SmallVec<[Watch; 2]>, Option<Microticks>) {
        let most = (!self.unposted.is_empty()).then_some(RETRY);
        let mut any: SmallVec<[Watch; 2]> =
            smallvec![Watch::Events(self.endpoint), Watch::MiniPackets(self.endpoint)];
        any.extend(self.collectives.iter().filter_map(Collectives::watches).flatten());
        (any, most)
    }

    fn is_idle(&self) -> bool {
        self.unposted.is_empty()
            && self.sent.is_empty()
            && self.blocks.are_read()
            && self.peers.values().all(|peer| peer.waiting.is_empty())
    }
}
