//! Messages over Cray XC's Aries NIC, by uGNI: eager messages are short messages (SMSG), put into mailboxes
//! at the receiver; the data of longer ones is fetched, by FMA or by the block transfer engine ("Cray XC
//! Network Software Stack").

use super::packets::Placement;
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

/// Addresses of each process's registered memory: mailboxes, then outgoing data, then incoming data, by
/// request.
const AT: u64 = 1 << 32;
const BYTES: u64 = 1 << 39;
const OUT: u64 = AT + (1 << 37);
const IN: u64 = AT + (1 << 38);
const BUFFER_B: u64 = 1 << 28;
const BUFFERS: u32 = 64;
/// Capacity of the completion queue, events.
const EVENTS: usize = 1 << 16;
/// Maximum data of a short message, and of a get by FMA, bytes (Cray's default limits:
/// `MPICH_GNI_MAX_EAGER_MSG_SIZE`, 8 KB; Open MPI's uGNI transport uses FMA for gets of up to 2 KB, and block
/// transfers above).
const SHORT_MAX_B: u64 = 8192;
const FMA_MAX_B: u64 = 2048;

/// The collective engine that it uses, and the radix of its tree: the maximum of an engine.
const ENGINE: u8 = 0;
const RADIX: u32 = 32;

/// A rank's messages on its Aries NIC.
pub struct GniTransport<D> {
    device: D,
    placement: Arc<Placement>,
    rank: u32,
    /// Maximum data of a short message, bytes.
    short_max_bytes: u64,
    slots: u64,
    memory: Option<MemHandle>,
    queue: u16,
    /// Mailboxes of the ranks that it has communicated with.
    peers: BTreeMap<u32, Connection<D>>,
    /// Messages that wait for a credit, by rank.
    waiting: BTreeMap<u32, VecDeque<Envelope>>,
    /// Events of ranks whose messages had not come: writes of two CPUs of a node may overtake each other, so
    /// that the event of a later message is first.
    early_events: BTreeMap<u32, u32>,
    /// The rank of the last message, if it has such events.
    next: Option<u32>,
}

impl<D: GniDevice + Clone> GniTransport<D> {
    /// The transport of a rank: `eager_max` is the maximum size of an eager message, bytes, `slots` the
    /// maximum number in flight to one rank.
    pub fn new(device: D, placement: &Arc<Placement>, rank: u32, eager_max: Option<u64>, slots: u32) -> Self {
        GniTransport {
            device,
            placement: Arc::clone(placement),
            rank,
            short_max_bytes: eager_max.unwrap_or(SHORT_MAX_B).min(SHORT_MAX_B),
            slots: slots.into(),
            memory: None,
            queue: 0,
            peers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            early_events: BTreeMap::new(),
            next: None,
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
        let mailbox = Mailbox { memory: self.memory(at), address: AT, slots: self.slots, message_max };
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
        Some(Event::Arrived { from, envelope: Envelope::of_bytes(&message.header) })
    }

    /// Sends messages as long as there are credits.
    fn put(&mut self, to: u32) {
        while let Some(&envelope) = self.waiting.get(&to).and_then(VecDeque::front) {
            if self.peer(to).needs_credit().is_some() {
                return;
            }
            let bytes = if envelope.carries_data() { envelope.bytes } else { 0 };
            let (header, data) = (envelope.to_bytes(), vec![0; bytes as usize]);
            if let Err(refusal) = self.peer(to).send(&header, &data, 0, None, 0) {
                self.device.fail("GNI_SmsgSend", format!("{refusal:?}"));
                return;
            }
            self.waiting.get_mut(&to).expect("just now").pop_front();
        }
        self.waiting.remove(&to);
    }
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
        self.short_max_bytes
    }

    fn fetches(&self) -> bool {
        true
    }

    fn send(&mut self, to: u32, envelope: Envelope) {
        self.waiting.entry(to).or_default().push_back(envelope);
        self.put(to);
    }

    fn fetch(&mut self, from: u32, remote: u32, bytes: u64, request: u32) {
        let (kind, bytes) =
            (if bytes <= FMA_MAX_B { PostKind::FmaGet } else { PostKind::RdmaGet }, bytes.max(1));
        let place = |base: u64, request: u32| base + u64::from(request % BUFFERS) * BUFFER_B;
        let post = Post {
            queue: Some(self.queue),
            id: request.into(),
            ..Post::new(
                kind,
                place(IN, request),
                place(OUT, remote),
                self.memory(from),
                // Gets consist of whole words.
                bytes.next_multiple_of(4),
            )
        };
        if let Err(refusal) = self.device.post(self.endpoint(from), post) {
            self.device.fail("GNI_Post", format!("{refusal:?}"));
        }
    }

    fn collective_max_bytes(&self, what: Collective) -> Option<u64> {
        let most = match what {
            Collective::Barrier => 0,
            Collective::Broadcast | Collective::Allreduce => 8,
            Collective::Reduce => return None,
        };
        self.placement.has_collectives().then_some(most)
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
        if let Some(arrived) = self.next.take().and_then(|from| self.take(from)) {
            return Some(arrived);
        }
        while self.device.has_event(self.queue) {
            let event = match self.device.poll(self.queue) {
                Ok(event) => event,
                Err(refusal) => {
                    self.device.fail("GNI_CqGetEvent", format!("{refusal:?}"));
                    return None;
                }
            };
            if event.kind == EventKind::Collective {
                return Some(Event::Collected);
            }
            if event.kind == EventKind::Post {
                return Some(Event::Fetched { request: event.user as u32 });
            }
            let from = event.user as u32;
            *self.early_events.entry(from).or_insert(0) += 1;
            if let Some(arrived) = self.take(from) {
                return Some(arrived);
            }
        }
        let blocked: Vec<u32> = self.waiting.keys().copied().collect();
        blocked.into_iter().for_each(|to| self.put(to));
        None
    }

    fn watches(&self) -> (SmallVec<[Watch; 2]>, Option<Microticks>) {
        let mut any: SmallVec<[Watch; 2]> = smallvec![Watch::Queue(self.queue)];
        let process = self.placement.process(self.rank);
        let credits = self.waiting.keys().filter_map(|to| self.peers.get(to)?.needs_credit());
        any.extend(credits.map(|address| Watch::Memory { process, address, bytes: 8 }));
        (any, None)
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}
