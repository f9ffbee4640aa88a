//! The clocked reference: the router of `docs/queued-router.md`, every node in every cycle, as simple as
//! possible.
//!
//! It shares only the configuration's types with the fabric, so that an error must be made twice to go
//! unnoticed; parts that are not specific to the router (topologies, links, statistics) are those of
//! BlueGene/L's reference. It advances by a network cycle, so all times of the machine must be whole cycles.
//!
//! Choices that the document leaves open:
//! - In a cycle, transfers end before packets arrive.
//! - A queue's next packet requests when the previous one has completely left, and a packet in transfer still
//!   counts in its queue.
//! - A deterministic packet waits for those that arrived before it in its VC for the same link and have not
//!   started to leave; the destination counts as one link.
//! - The dynamic VC is available with space for a full packet, as in BlueGene/L, whatever the packet's size.
//! - Among several VCs of one priority the main arbiter picks at random; so does a sender among requests.
//! - A sender counts the packets that passed through since its last injection, whether or not there was a
//!   packet to inject.
//! - If several receivers have a packet for the same reception FIFO, any of them is served.
//! - Reception FIFOs always have space. Deposits and packets to their own node are not modelled.
//!
//! Of `docs/collectives.md` it models everything that affects timing or order, with a number in each packet
//! in place of data, which is summed whatever the operation: this shows that nothing is lost or duplicated.
//! Barriers are not modelled. Choices:
//! - A collective VC is one queue, and its next packet becomes visible when the previous one has been read.
//! - In a cycle down-tree grants first, then up-tree, then the point-to-point arbiters.
//! - A granted packet is read from the first cycle in which its links will be free when it leaves the logic;
//!   from then on they are reserved, and tokens that become due later wait for its end, as with any packet.

pub mod arbitrate;
pub mod central;
pub mod collective;
#[path = "../reference/ends.rs"]
pub mod ends;
#[path = "../reference/geometry.rs"]
pub mod geometry;
#[path = "../reference/link.rs"]
pub mod link;
pub mod node;
pub mod packet;
#[path = "../reference/random.rs"]
pub mod random;
pub mod rules;
#[path = "../reference/statistics.rs"]
pub mod statistics;

use arbitrate::Request;
use central::{Central, Passing, Side};
use collective::{Arrival, ClassRoute, CollectivePacket};
use ends::{InjectionFifo, Reception};
use link::{LinkTimes, Place, Sender};
use netloom_fabric::config::QueuedConfig;
use node::{Node, Port, Receiver, Source};
use packet::{Packet, PacketSpec};
use random::Random;
use rules::{Move, Rules, VCS};
use statistics::Statistics;

/// Injection FIFOs of a node.
pub const FIFOS: usize = 16;

/// A machine and all packets ever injected into it.
pub struct Reference {
    /// Its rules.
    pub rules: Rules,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Times of each node's links.
    times: Vec<Vec<LinkTimes>>,
    /// All packets, in the order of injection.
    pub packets: Vec<Packet>,
    /// Number of packets delivered.
    pub delivered: usize,
    /// All collective packets: contributions and results.
    pub collectives: Vec<CollectivePacket>,
    /// Those that arrived in reception FIFOs.
    pub arrivals: Vec<Arrival>,
    /// The statistics.
    pub statistics: Statistics,
    /// The next cycle.
    pub now: u64,
    random: Random,
}

impl Reference {
    /// An idle machine.
    ///
    /// # Panics
    /// If the configuration is invalid, or has times that are not whole cycles.
    pub fn new(config: &QueuedConfig, seed: u64) -> Self {
        config.check().expect("a configuration that can be built");
        let rules = Rules::new(config);
        let ports = 0..2 * rules.geometry.dimensions();
        let port = |node, number| {
            let mut sender =
                Sender { neighbour: rules.geometry.neighbour(node, number), ..Sender::default() };
            (0..VCS).for_each(|vc| sender.tokens[vc] = rules.capacity(vc));
            let vcs = (0..VCS).map(|vc| rules.channel(vc)).collect();
            Port { receiver: Receiver { vcs, paths_busy: 0 }, sender, through: 0 }
        };
        let node = |node| Node {
            ports: ports.clone().map(|number| port(node, number)).collect(),
            fifos: (0..FIFOS).map(|_| InjectionFifo::default()).collect(),
            receptions: vec![None; ports.len() + 2],
            central: Central::default(),
        };
        let nodes: Vec<Node> = (0..rules.geometry.nodes()).map(node).collect();
        let times = |node| ports.clone().map(|port| rules.link_times(node, port)).collect();
        let times = (0..nodes.len()).map(times).collect();
        let statistics = Statistics::new(nodes.iter().map(|n| &n.ports[..]));
        let random = Random::new(seed);
        Reference {
            rules,
            nodes,
            times,
            packets: vec![],
            delivered: 0,
            collectives: vec![],
            arrivals: vec![],
            statistics,
            now: 0,
            random,
        }
    }

    /// Adds a packet to an injection FIFO, and returns its number.
    ///
    /// # Panics
    /// If the packet is invalid: no or too many chunks, or to its own node.
    pub fn inject(&mut self, node: usize, fifo: usize, spec: PacketSpec) -> usize {
        assert!((1..=self.rules.config.packet.chunks_max).contains(&spec.chunks), "a packet of no such size");
        assert!(spec.destination != node, "a packet to its own node needs no network");
        let number = self.packets.len();
        let hints = self.rules.geometry.hints(node, spec.destination);
        self.packets.push(Packet { spec, hints, delivered_at: None });
        self.nodes[node].fifos[fifo].queue.push_back(number);
        number
    }

    /// Sets a node's class route.
    pub fn set_class_route(&mut self, node: usize, class: usize, route: ClassRoute) {
        let routes = &mut self.nodes[node].central.routes;
        assert!(routes.iter().all(|(other, _)| *other != class), "a class route is set once");
        routes.push((class, route));
    }

    /// Adds a packet to a node's collective injection FIFO for its kind of class route.
    pub fn contribute(&mut self, node: usize, packet: CollectivePacket) {
        self.nodes[node].central.own[packet.kind.fifo()].queue.push_back(self.collectives.len());
        self.collectives.push(packet);
    }

    /// One cycle.
    pub fn step(&mut self) {
        self.end_transfers();
        self.arrive();
        for node in 0..self.nodes.len() {
            self.combine(node);
            let (state, packets) = (&mut self.nodes[node], &self.packets);
            for request in arbitrate::grants(&self.rules, state, self.now, packets, &mut self.random) {
                self.grant(node, request);
            }
        }
        self.send();
        self.statistics.count(self.now, self.nodes.iter().map(|n| &n.ports[..]));
        self.now += 1;
    }

    /// Whether there are no packets, every link is idle, and every token is back.
    pub fn at_rest(&self) -> bool {
        let tokens: Vec<u32> = (0..VCS).map(|vc| self.rules.capacity(vc)).collect();
        self.delivered == self.packets.len()
            && self.nodes.iter().flat_map(|n| &n.ports).all(|Port { receiver, sender, .. }| {
                receiver.paths_busy == 0
                    && receiver.vcs.iter().all(|vc| vc.chunks == 0 && vc.tokens == 0)
                    && sender.at_rest(self.now, &tokens)
            })
            && self.nodes.iter().all(|n| n.central.at_rest(self.now))
    }

    /// Transfers that end in this cycle.
    fn end_transfers(&mut self) {
        let now = self.now;
        for (number, node) in self.nodes.iter_mut().enumerate() {
            for source in node.central.read(now) {
                node.release(source, false);
            }
            for packet in node.central.received(now) {
                let packet = self.collectives[packet];
                self.arrivals.push(Arrival { node: number, at: now, packet });
                self.statistics.delivered(now, now - packet.made_at);
            }
            for port in 0..node.ports.len() {
                if let Some(ended) = node.ports[port].sender.end(now) {
                    node.release(ended.source, true);
                }
            }
            for fifo in 0..node.receptions.len() {
                if let Some(ended) = node.receptions[fifo].take_if(|r| r.end == now) {
                    node.release(ended.source, false);
                    let packet = &mut self.packets[ended.packet];
                    packet.delivered_at = Some(now);
                    self.delivered += 1;
                    self.statistics.delivered(now, now - packet.spec.made_at);
                }
            }
        }
    }

    /// Arrivals in this cycle.
    fn arrive(&mut self) {
        let now = self.now;
        for node in 0..self.nodes.len() {
            for port in 0..self.nodes[node].ports.len() {
                let sender = &mut self.nodes[node].ports[port].sender;
                let Some(other) = sender.neighbour else { continue };
                let (packet, tokens) = sender.arriving(now);
                let far = &mut self.nodes[other].ports[port ^ 1];
                if let Some(place) = packet {
                    far.receiver.vcs[place.vc].join(place);
                }
                if let Some(tokens) = tokens {
                    far.sender.earn(tokens);
                }
            }
        }
    }

    /// A node's collective logic in a cycle: a job whose read starts has its links from now on.
    fn combine(&mut self, node: usize) {
        if self.nodes[node].central.routes.is_empty() {
            return;
        }
        for side in [Side::Down, Side::Up] {
            let (rules, state) = ((&self.rules, self.now), &mut self.nodes[node]);
            let passing = central::serve(rules, (node, state), &self.collectives, side, &mut self.random);
            let Some(Passing { job, result, from }) = passing else { continue };
            let (chunks, packet) = (result.chunks, self.collectives.len());
            self.collectives.push(result);
            let state = &mut self.nodes[node];
            job.sources.iter().for_each(|&source| state.start(source));
            for &port in &job.links {
                let place = Place { packet, vc: job.vc, chunks, tokens: 1 };
                state.ports[port].sender.begin_from(Source::Central, place, from);
                self.statistics.hops[job.vc] += 1;
            }
            let time = self.rules.data_cycles(chunks);
            state.central.reading.push((self.now + time, job.sources));
            if job.receives {
                state.central.receptions.push((from + time, packet));
            }
        }
    }

    /// Grants a packet's request.
    fn grant(&mut self, node: usize, Request { source, packet: number, wanted, .. }: Request) {
        let state = &mut self.nodes[node];
        let packet = &mut self.packets[number];
        let chunks = packet.spec.chunks;
        state.start(source);
        match wanted {
            Move::Deliver { fifo } => {
                let end = self.now + self.rules.data_cycles(chunks);
                state.receptions[fifo] = Some(Reception { source, packet: number, end });
            }
            Move::Link { port, vc } => {
                if let Source::Queue { port: from, .. } = source {
                    state.ports[from].receiver.paths_busy += 1;
                }
                let tokens = self.rules.tokens_taken(vc, chunks);
                let next =
                    state.ports[port].sender.begin(source, Place { packet: number, vc, chunks, tokens });
                // The hint bit is cleared on the link that reaches the destination's coordinate.
                if self.rules.geometry.hints(next, packet.spec.destination)[port / 2].is_none() {
                    packet.hints[port / 2] = None;
                }
                self.statistics.hops[vc] += 1;
            }
        }
    }

    /// Each free link starts its next transmission.
    fn send(&mut self) {
        for (node, times) in self.nodes.iter_mut().zip(&self.times) {
            for (port, &times) in node.ports.iter_mut().zip(times) {
                port.sender.send(self.now, times, |chunks| self.rules.data_cycles(chunks));
            }
        }
    }
}
