//! The clocked reference: the router of `docs/torus-router.md`, every node in every tick, as simple as
//! possible.
//!
//! It shares only the configuration's types with the fabric, so that an error must be made twice to go
//! unnoticed. It prefers clarity to speed: nothing is scheduled or skipped, and the cost of a tick grows with
//! the size of the machine.
//!
//! Choices that the document leaves open:
//! - In a tick, transfers end before packets arrive: a VC that empties lets the packet that arrives use the
//!   bypass.
//! - Tokens that fall due while a token-ack is on a link wait for its end, together in one packet. A data
//!   packet that is granted after the first of them follows that packet; tokens due after a grant wait for
//!   the data packet's end unless a token-ack leaves before it anyway.
//! - Static and high-priority packets use the escape order too: with another order on the same VC than that
//!   of the escaping packets, the rings could deadlock.
//! - In the senders, a high-priority packet has priority over all normal ones in every cycle.
//! - With the arbitration gap, a receiver could request if a head was free and a path idle (or the head at
//!   its destination). The tick that it may skip is the first in which a direction is available.
//! - Fullness counts the chunks of packets, not those that the corrected bubble rule counts for them.
//! - Reception FIFOs always have space. Failed nodes and links are not modelled, nor are bit errors.
#![allow(dead_code, reason = "each test crate that includes this module uses a part of it")]

pub mod arbitrate;
pub mod chance;
pub mod ends;
pub mod geometry;
pub mod link;
pub mod node;
pub mod packet;
pub mod random;
pub mod rules;
pub mod statistics;
pub mod workload;

use arbitrate::Request;
use ends::{InjectionFifo, Reception};
use link::Place;
use netloom_fabric::config::{DIMENSIONS_MAX, TorusConfig};
use node::{Node, Port, Source, VirtualChannel};
use packet::{Hop, Packet, PacketSpec};
use random::Random;
use rules::{Move, Rules};
use statistics::Statistics;

/// Injection FIFOs for normal packets; those for high-priority packets come after them.
pub const FIFOS_NORMAL: usize = 6;
/// Injection FIFOs of a node.
pub const FIFOS: usize = 8;

/// A machine and all packets ever injected into it.
pub struct Reference {
    /// Its rules.
    pub rules: Rules,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// All packets, in the order of injection.
    pub packets: Vec<Packet>,
    /// The packets delivered, in this order (numbers into `packets`).
    pub deliveries: Vec<usize>,
    /// The statistics.
    pub statistics: Statistics,
    /// The next tick.
    pub now: u64,
    /// The last tick with a grant.
    pub granted_at: u64,
    random: Random,
}

impl Reference {
    /// An idle machine.
    ///
    /// # Panics
    /// If the configuration is invalid, or requires features that the reference does not model.
    pub fn new(config: &TorusConfig, seed: u64) -> Self {
        config.check().expect("a configuration that can be built");
        let broken = !config.topology.dead_nodes.is_empty() || !config.topology.dead_links.is_empty();
        assert!(!broken && config.link.bit_error_rate == 0.0, "the reference knows no faults");
        let rules = Rules::new(config);
        let capacities: Vec<u32> = (0..rules.vcs).map(|vc| rules.capacity(vc)).collect();
        let port = |node, number| {
            let mut port = Port::default();
            port.sender.neighbour = rules.geometry.neighbour(node, number);
            port.sender.tokens[..rules.vcs].copy_from_slice(&capacities);
            let vc = |&capacity| VirtualChannel { capacity, ..VirtualChannel::default() };
            port.receiver.vcs = capacities.iter().map(vc).collect();
            port
        };
        let node = |node| Node {
            ports: (0..2 * rules.geometry.dimensions()).map(|number| port(node, number)).collect(),
            fifos: (0..FIFOS).map(|_| InjectionFifo::default()).collect(),
        };
        let nodes: Vec<Node> = (0..rules.geometry.nodes()).map(node).collect();
        let statistics = Statistics::new(nodes.iter().map(|n: &Node| &n.ports[..]));
        let random = Random::new(seed);
        let (packets, deliveries) = (Vec::new(), Vec::new());
        Reference { rules, nodes, packets, deliveries, statistics, now: 0, granted_at: 0, random }
    }

    /// Adds a packet to an injection FIFO, and returns its number.
    ///
    /// # Panics
    /// If the packet is invalid: no or too many chunks, to its own node, in a FIFO of the other priority.
    pub fn inject(&mut self, node: usize, fifo: usize, spec: PacketSpec) -> usize {
        assert!((1..=self.rules.config.packet.chunks_max).contains(&spec.chunks), "a packet of no such size");
        assert!(spec.destination != node, "a packet to its own node needs no network");
        assert_eq!(spec.high_priority, fifo >= FIFOS_NORMAL, "FIFOs 6 and 7 are for high priority");
        let number = self.packets.len();
        self.packets.push(Packet {
            source: node,
            fifo,
            spec,
            hints: self.rules.geometry.hints(node, spec.destination),
            crossed: [false; DIMENSIONS_MAX],
            hops: Vec::new(),
            delivered_at: None,
        });
        self.nodes[node].fifos[fifo].queue.push_back(number);
        number
    }

    /// Packets injected and not delivered.
    pub fn undelivered(&self) -> usize {
        self.packets.len() - self.deliveries.len()
    }

    /// One tick.
    pub fn step(&mut self) {
        self.step_pulling(&mut |_, _, _| None);
    }

    /// One tick in which each empty injection FIFO pulls a packet from `source(node, fifo, now)` before
    /// arbitration.
    pub fn step_pulling(&mut self, source: &mut dyn FnMut(usize, usize, u64) -> Option<PacketSpec>) {
        self.end_transfers();
        self.arrive();
        for node in 0..self.nodes.len() {
            for fifo in 0..FIFOS {
                if self.nodes[node].fifos[fifo].queue.is_empty()
                    && let Some(spec) = source(node, fifo, self.now)
                {
                    self.inject(node, fifo, spec);
                }
            }
        }
        for node in 0..self.nodes.len() {
            self.arbitrate(node);
        }
        self.send();
        self.statistics.count(self.now, self.nodes.iter().map(|n| &n.ports[..]));
        self.now += 1;
    }

    /// Runs until all packets are delivered and all tokens are back; returns whether this took at most
    /// `ticks_max` ticks.
    pub fn run_until_drained(&mut self, ticks_max: u64) -> bool {
        let end = self.now + ticks_max;
        while self.undelivered() > 0 || !self.at_rest() {
            if self.now == end {
                return false;
            }
            self.step();
        }
        true
    }

    /// The mean latency of all packets delivered, ticks.
    pub fn latency_mean(&self) -> f64 {
        self.statistics.latency.1 as f64 / self.statistics.latency.0 as f64
    }

    /// Whether there are no packets, every link is idle, and every token is back.
    pub fn at_rest(&self) -> bool {
        let tokens: Vec<u32> = (0..self.rules.vcs).map(|vc| self.rules.capacity(vc)).collect();
        self.nodes.iter().all(|node| {
            node.fifos.iter().all(|fifo| fifo.queue.is_empty())
                && node.ports.iter().all(|Port { receiver, sender }| {
                    receiver.vcs.iter().all(|vc| vc.queue.is_empty() && vc.chunks == 0 && !vc.moving)
                        && receiver.bypass.is_none()
                        && receiver.paths_busy == 0
                        && receiver.reception.iter().all(Option::is_none)
                        && sender.at_rest(self.now, &tokens)
                })
        })
    }

    /// Checks that every token is accounted for: at its sender, with a packet, due, or in flight.
    ///
    /// # Panics
    /// If one is missing or surplus.
    pub fn check_tokens(&self) {
        for (n, node) in self.nodes.iter().enumerate() {
            for (p, port) in node.ports.iter().enumerate() {
                let Some(other) = port.sender.neighbour else { continue };
                let far = &self.nodes[other].ports[p ^ 1];
                let mut tokens = port.sender.tokens;
                let waiting = port.sender.transfer.iter().filter_map(|t| t.waiting.as_ref());
                let in_flight = port.sender.packets_in_flight.iter().map(|(_, place)| place);
                let queued = far.receiver.vcs.iter().flat_map(|vc| &vc.queue);
                for place in waiting.chain(in_flight).chain(queued).chain(&far.receiver.bypass) {
                    tokens[place.vc] += place.tokens;
                }
                let returning = far.sender.tokens_in_flight.iter().map(|(_, tokens)| tokens);
                for back in returning.chain([&far.sender.due]) {
                    tokens.iter_mut().zip(back).for_each(|(sum, &n)| *sum += n);
                }
                for (vc, &sum) in tokens[..self.rules.vcs].iter().enumerate() {
                    assert_eq!(
                        sum,
                        self.rules.capacity(vc),
                        "node {n}, port {p}, VC {vc}, tick {}",
                        self.now
                    );
                }
            }
        }
    }

    /// Step one, first half: transfers that end in this tick.
    fn end_transfers(&mut self) {
        let now = self.now;
        for node in &mut self.nodes {
            for port in 0..node.ports.len() {
                if let Some(ended) = node.ports[port].sender.end(now) {
                    node.release(ended.source, true);
                }
                for bus in 0..2 {
                    let reception = &mut node.ports[port].receiver.reception[bus];
                    if let Some(ended) = reception.take_if(|r| r.end == now) {
                        node.release(ended.source, false);
                        let packet = &mut self.packets[ended.packet];
                        packet.delivered_at = Some(now);
                        self.deliveries.push(ended.packet);
                        self.statistics.delivered(now, now - packet.spec.made_at);
                    }
                }
            }
        }
    }

    /// Step one, second half: arrivals in this tick.
    fn arrive(&mut self) {
        let now = self.now;
        for node in 0..self.nodes.len() {
            for port in 0..self.nodes[node].ports.len() {
                let sender = &mut self.nodes[node].ports[port].sender;
                let Some(other) = sender.neighbour else { continue };
                let (packet, tokens) = sender.arriving(now);
                let far = &mut self.nodes[other].ports[port ^ 1];
                if let Some(place) = packet {
                    let vc_empty = far.receiver.vcs[place.vc].queue.is_empty();
                    if self.rules.config.router.bypass && vc_empty && far.receiver.bypass.is_none() {
                        far.receiver.bypass = Some(place);
                    } else {
                        far.receiver.vcs[place.vc].push(place);
                    }
                }
                if let Some(tokens) = tokens {
                    far.sender.earn(tokens);
                }
            }
        }
    }

    /// Step two, and the start of the granted transfers. A node's grants change nothing elsewhere in this
    /// tick.
    fn arbitrate(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        let granted = arbitrate::grants(&self.rules, node, state, self.now, &self.packets, &mut self.random);
        for request in granted {
            self.grant(node, request);
        }
        for port in &mut self.nodes[node].ports {
            let receiver = &mut port.receiver;
            if !receiver.bypass_moving
                && let Some(place) = receiver.bypass.take()
            {
                receiver.vcs[place.vc].push(place);
            }
        }
    }

    /// Grants a packet's request.
    fn grant(&mut self, node: usize, Request { source, packet: number, wanted, .. }: Request) {
        let now = self.now;
        self.granted_at = now;
        let state = &mut self.nodes[node];
        let packet = &mut self.packets[number];
        let chunks = packet.spec.chunks;
        match source {
            Source::Vc { port, vc } => state.ports[port].receiver.vcs[vc].moving = true,
            Source::Bypass { port } => state.ports[port].receiver.bypass_moving = true,
            Source::Injection { fifo } => state.fifos[fifo].moving = true,
        }
        match (wanted, source) {
            (Move::Deliver, Source::Vc { port, .. } | Source::Bypass { port }) => {
                let end = now + self.rules.data_ticks(chunks);
                let bus = usize::from(packet.spec.high_priority);
                state.ports[port].receiver.reception[bus] = Some(Reception { source, packet: number, end });
            }
            (Move::Deliver, Source::Injection { .. }) => unreachable!("a packet to its own node"),
            (Move::Link { port, vc }, _) => {
                if let Source::Vc { port: from, .. } | Source::Bypass { port: from } = source {
                    state.ports[from].receiver.paths_busy += 1;
                }
                let tokens = self.rules.tokens_taken(vc, chunks);
                let next =
                    state.ports[port].sender.begin(source, Place { packet: number, vc, chunks, tokens });
                let d = port / 2;
                if self.rules.geometry.hints(next, packet.spec.destination)[d].is_none() {
                    packet.hints[d] = None;
                }
                packet.crossed[d] |= self.rules.crosses_dateline(node, port);
                packet.hops.push(Hop { node, port, vc, granted_at: now });
                self.statistics.hops[vc] += 1;
            }
        }
    }

    /// Step three: each free link starts its next transmission, token-acks before data.
    fn send(&mut self) {
        let (now, times) = (self.now, self.rules.link_times());
        for sender in self.nodes.iter_mut().flat_map(|n| &mut n.ports).map(|p| &mut p.sender) {
            sender.send(now, times, |chunks| self.rules.data_ticks(chunks));
        }
    }
}
