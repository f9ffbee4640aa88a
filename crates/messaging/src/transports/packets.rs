//! Messages over packets that software injects one by one: BlueGene/L's packet layer, and nodes of other
//! networks without a NIC of their own.
//!
//! Several outgoing messages take turns, packet by packet, so that a message in one direction does not leave
//! the links in others idle. The network may deliver packets in any order: a message is complete when all of
//! its packets have arrived.

use crate::config::Steps;
use crate::pami::Placement as Tasks;
use crate::transport::{Envelope, Event, Kind, Transport};
use netloom_engine::Stream;
use netloom_fabric::packet::Meta;
use netloom_nic::packet_port::{NewPacket, PortMemory, Watch};
use netloom_node::program::lock;
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use smallvec::{SmallVec, smallvec};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// The format of a network's packets.
pub trait PacketFormat<H>: Send + Sync {
    /// Maximum data of a packet, bytes.
    fn data_max(&self) -> u64;

    /// The header of a packet between two nodes with `bytes` of data; `draw` is random.
    fn header(&self, from: u32, to: u32, bytes: u32, draw: u64) -> H;
}

/// The placement of a program's ranks on nodes.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Node of each rank.
    nodes: Box<[u32]>,
    /// First rank of each node with a rank. The others of the node follow it.
    ranks: HashMap<u32, u32>,
    /// Ranks per node; the last node may have fewer.
    per_node: u8,
    /// Whether the ranks belong to one program, rather than to several jobs.
    is_one_program: bool,
}

impl Placement {
    /// One rank per node.
    pub fn new(nodes: &[u32]) -> Self {
        let ranks = (0..).zip(nodes).map(|(rank, &node)| (node, rank)).collect();
        Placement { nodes: nodes.into(), ranks, per_node: 1, is_one_program: true }
    }

    /// Several ranks per node.
    pub fn of_tasks(tasks: &Tasks) -> Self {
        let per_node = u32::from(tasks.processes);
        let first = (0..).step_by(tasks.processes.into());
        Placement {
            nodes: (0..tasks.tasks).map(|task| tasks.nodes[(task / per_node) as usize]).collect(),
            ranks: tasks.nodes.iter().copied().zip(first).collect(),
            per_node: tasks.processes,
            is_one_program: true,
        }
    }

    /// The same for the ranks of several jobs, one job after the other.
    pub fn of_jobs(nodes: &[u32]) -> Self {
        Placement { is_one_program: false, ..Self::new(nodes) }
    }

    /// Whether hardware for collective operations is set up among all ranks: they belong to one program, and
    /// each has a node of its own.
    pub fn has_collectives(&self) -> bool {
        self.is_one_program && self.per_node == 1
    }

    /// Ranks per node.
    pub fn per_node(&self) -> u8 {
        self.per_node
    }

    /// The node of a rank.
    pub fn node(&self, rank: u32) -> u32 {
        self.nodes[rank as usize]
    }

    /// The number of a rank among those of its node.
    pub fn process(&self, rank: u32) -> u8 {
        (rank % u32::from(self.per_node)) as u8
    }

    /// Whether two ranks share a node.
    pub fn share_node(&self, one: u32, other: u32) -> bool {
        self.node(one) == self.node(other)
    }

    /// The rank of a node with this number among those of the node, if it has one.
    pub fn rank(&self, node: u32, process: u8) -> Option<u32> {
        let rank = self.ranks.get(&node)? + u32::from(process);
        (process < self.per_node && (rank as usize) < self.nodes.len()).then_some(rank)
    }

    /// The nodes of all ranks, in order.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }
}

/// An outgoing message.
struct Outgoing {
    to: u32,
    envelope: Envelope,
    packets: u64,
    sent: u64,
}

/// The packet layer of a rank.
pub struct Packets<H> {
    thread: Thread<NewPacket<H>, Watch>,
    memory: Arc<Mutex<PortMemory<H>>>,
    format: Arc<dyn PacketFormat<H>>,
    placement: Arc<Placement>,
    node: u32,
    /// Its number among those of the node.
    process: u8,
    lanes: Vec<usize>,
    /// Groups of reception FIFOs of a node.
    groups: u8,
    steps: Steps,
    outgoing: VecDeque<Outgoing>,
    turn: usize,
    /// For messages of which some packets have arrived: number of missing packets, by sender, kind and
    /// number.
    missing: HashMap<(u32, u8, u32), u64>,
    random: Stream,
    /// Sends whose last packet has been passed to the network.
    done: VecDeque<u32>,
}

impl<H: Copy + Send + 'static> Packets<H> {
    /// For a rank of a node, whose packets use these lanes. Nodes have this number of groups of reception
    /// FIFOs, which their ranks take in turn.
    pub fn new(
        thread: Thread<NewPacket<H>, Watch>,
        memory: &Arc<Mutex<PortMemory<H>>>,
        format: &Arc<dyn PacketFormat<H>>,
        placement: &Arc<Placement>,
        ((node, process), seed): ((u32, u8), u64),
        (lanes, groups): (&[usize], u8),
        steps: Steps,
    ) -> Self {
        Packets {
            thread,
            memory: Arc::clone(memory),
            format: Arc::clone(format),
            placement: Arc::clone(placement),
            node,
            process,
            lanes: lanes.to_vec(),
            groups,
            steps,
            outgoing: VecDeque::new(),
            turn: 0,
            missing: HashMap::new(),
            random: Stream::new(seed, 21, u64::from(node) | u64::from(process) << 32),
            done: VecDeque::new(),
        }
    }

    fn packets(&self, envelope: &Envelope) -> u64 {
        if envelope.carries_data() { envelope.bytes.div_ceil(self.format.data_max()).max(1) } else { 1 }
    }

    /// A packet has arrived. Returns its message, if that is now complete.
    fn came(&mut self, meta: &Meta) -> Option<Event> {
        let envelope = Envelope::of_words(meta.kind, meta.message);
        // Only ranks send packets.
        let from = self.placement.rank(meta.source, meta.processes[0])?;
        let packets = self.packets(&envelope);
        if packets > 1 {
            let number = if envelope.kind == Kind::Eager { envelope.sequence } else { envelope.request };
            let key = (from, meta.kind, number);
            let missing = self.missing.entry(key).or_insert(packets);
            *missing -= 1;
            if *missing > 0 {
                return None;
            }
            self.missing.remove(&key);
        }
        Some(Event::Arrived { from, envelope })
    }

    /// Puts a packet into each lane with space, from the messages in turn.
    fn put(&mut self) {
        for at in 0..self.lanes.len() {
            let lane = self.lanes[at];
            let active = self.outgoing.len().min(self.lanes.len());
            if active == 0 {
                return;
            }
            if !lock(&self.memory).has_room(lane) {
                continue;
            }
            let place = self.turn % active;
            self.turn = (place + 1) % self.lanes.len();
            let data_max = self.format.data_max();
            let message = &mut self.outgoing[place];
            let (to, envelope) = (self.placement.node(message.to), message.envelope);
            let process = self.placement.process(message.to);
            let left = if envelope.carries_data() { envelope.bytes - data_max * message.sent } else { 0 };
            message.sent += 1;
            let is_last = message.sent == message.packets;
            let bytes = left.min(data_max) as u32;
            let header = self.format.header(self.node, to, bytes, self.random.draw());
            let meta = Meta {
                made: self.thread.now().tick(),
                source: self.node,
                group: process % self.groups,
                kind: envelope.kind as u8,
                processes: [self.process, process],
                message: envelope.to_words(),
                ..Meta::default()
            };
            self.thread.spend(self.steps.packet_send);
            self.thread.submit(NewPacket { lane, header, meta });
            if is_last {
                self.outgoing.remove(place);
                match envelope.kind {
                    Kind::Eager => self.done.push_back(envelope.request),
                    Kind::Data => self.done.push_back(envelope.tag),
                    _ => {}
                }
            }
        }
    }
}

impl<H: Copy + Send + 'static> Transport for Packets<H> {
    type Command = NewPacket<H>;
    type Watch = Watch;

    fn thread(&self) -> &Thread<NewPacket<H>, Watch> {
        &self.thread
    }

    fn eager_max_bytes(&self) -> u64 {
        u64::MAX
    }

    fn fetches(&self) -> bool {
        false
    }

    /// The core reads the data as it writes packets.
    fn copies(&self, _bytes: u64) -> bool {
        false
    }

    fn send(&mut self, to: u32, envelope: Envelope) {
        let packets = self.packets(&envelope);
        self.outgoing.push_back(Outgoing { to, envelope, packets, sent: 0 });
    }

    fn advance(&mut self) -> Option<Event> {
        if let Some(request) = self.done.pop_front() {
            return Some(Event::Sent { request });
        }
        loop {
            let Some(meta) = lock(&self.memory).take_packet(self.process) else { break };
            self.thread.spend(self.steps.packet_receive);
            let event = self.came(&meta);
            if event.is_some() || self.thread.has_pending() {
                return event;
            }
        }
        self.put();
        None
    }

    fn watches(&self) -> (SmallVec<[Watch; 2]>, Option<Microticks>) {
        let room = (!self.outgoing.is_empty()).then_some(Watch::Room);
        let mut any: SmallVec<[Watch; 2]> = smallvec![Watch::Packet(self.process)];
        any.extend(room);
        (any, None)
    }

    fn is_idle(&self) -> bool {
        self.outgoing.is_empty() && self.done.is_empty()
    }
}
