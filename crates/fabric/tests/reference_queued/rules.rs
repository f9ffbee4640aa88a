//! The possible moves of each packet in a cycle: tokens, VCs and directions.

use super::collective::Words;
use super::geometry::Geometry;
use super::link::LinkTimes;
use super::node::{Node, VirtualChannel};
use super::packet::{Class, Packet};
use super::random::Random;
use netloom_fabric::config::{DirectionChoice, LETTERS, QueuedConfig};

/// VCs of a receiver, and those of them for point-to-point packets.
pub const VCS: usize = 6;
/// See [`VCS`].
pub const POINT_TO_POINT: usize = 4;
/// Their numbers.
pub const DYNAMIC: usize = 0;
/// For deterministic packets, and dynamic ones without space on the dynamic VC.
pub const DETERMINISTIC: usize = 1;
/// User high-priority packets.
pub const HIGH: usize = 2;
/// System packets.
pub const SYSTEM: usize = 3;
/// Collective packets of the user's whole partition, and of the system.
pub const COMMWORLD: usize = 4;
/// Of other sets of user nodes.
pub const SUBCOMM: usize = 5;

/// A move that a packet may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// To a reception FIFO.
    Deliver { fifo: usize },
    /// Onto the link of a port and the VC at its end.
    Link { port: usize, vc: usize },
}

/// The configuration, and derived constants.
pub struct Rules {
    /// The configuration.
    pub config: QueuedConfig,
    /// The topology.
    pub geometry: Geometry,
    /// The dimensions in the order of deterministic routing.
    order: Vec<usize>,
    /// For each zone, its sets of dimensions in order.
    zones: Vec<Vec<Vec<usize>>>,
}

/// Dimensions by their letters.
fn dimensions(letters: &str) -> Vec<usize> {
    letters.chars().map(|c| LETTERS.find(c).expect("a dimension's letter")).collect()
}

impl Rules {
    /// The rules of a configuration.
    pub fn new(config: &QueuedConfig) -> Self {
        let topology = &config.topology;
        let all: Vec<usize> = (0..topology.dims.len()).collect();
        // The maximum distance of packets: half-way around a ring, or along a whole mesh.
        let far = |d: usize| if topology.wraps(d) { topology.dims[d] / 2 } else { topology.dims[d] };
        let order = config.router.dimension_order.as_deref().map_or_else(
            || {
                let mut order = all.clone();
                order.sort_by_key(|&d| u32::MAX - far(d));
                order
            },
            dimensions,
        );
        let zones = match &config.router.zones {
            Some(zones) => {
                zones.iter().map(|sets| sets.iter().map(|set| dimensions(set)).collect()).collect()
            }
            None => {
                let mut alike: Vec<Vec<usize>> = Vec::new();
                for &d in &order {
                    match alike.last_mut() {
                        Some(set) if far(set[0]) == far(d) => set.push(d),
                        _ => alike.push(vec![d]),
                    }
                }
                let with_e = |d: usize| if all.len() == 5 && d != 4 { vec![d, 4] } else { vec![d] };
                vec![
                    alike,
                    vec![all.clone()],
                    order.iter().map(|&d| vec![d]).collect(),
                    order.iter().map(|&d| with_e(d)).collect(),
                ]
            }
        };
        let geometry = Geometry::new(topology, config.router.halfway_tie);
        Rules { config: config.clone(), geometry, order, zones }
    }

    /// A time in whole cycles.
    ///
    /// # Panics
    /// If it is not: then nodes' cycles would not be aligned.
    pub fn cycles(&self, ticks: u32) -> u64 {
        let cycle = self.config.router.cycle_ticks;
        assert!(ticks.is_multiple_of(cycle), "{ticks} ticks are no whole cycles of {cycle}");
        u64::from(ticks / cycle)
    }

    /// Cycles of a data packet on a link, or in transit into a reception FIFO.
    pub fn data_cycles(&self, chunks: u32) -> u64 {
        let p = &self.config.packet;
        self.cycles((p.chunk_B * chunks + p.trailer_B) * self.config.link.ticks_per_byte)
    }

    /// Times of the link of a node's port, in cycles.
    pub fn link_times(&self, node: usize, port: usize) -> LinkTimes {
        let (l, p, d) = (&self.config.link, &self.config.packet, port / 2);
        let ack = (p.ack_B + p.trailer_B) * l.ticks_per_byte;
        let mut wires = l.trace_ticks.get(d).copied().unwrap_or(0);
        // Link chips and cables join the last node of a midplane and the first of the next.
        let (k, midplane) = (self.config.topology.dims[d], l.midplane.get(d).copied().unwrap_or(0));
        if midplane > 0 && k > midplane {
            let lower = if port.is_multiple_of(2) { Some(node) } else { self.geometry.neighbour(node, port) };
            let edge =
                lower.is_some_and(|n| (self.geometry.coordinates(n)[d] as u32 + 1).is_multiple_of(midplane));
            wires += if edge { l.link_chip_ticks } else { 0 };
        }
        LinkTimes {
            ack: self.cycles(ack),
            gap: self.cycles(self.config.router.gap_ticks),
            hop: self.cycles(l.wire_ticks + l.receive_ticks + l.arbitrate_ticks + l.send_ticks + wires),
            tokens: self.cycles(ack + l.wire_ticks + l.receive_ticks + l.send_ticks + wires),
        }
    }

    /// Tokens of a VC: chunks for the dynamic one, packets for the others.
    pub fn capacity(&self, vc: usize) -> u32 {
        let r = &self.config.router;
        if vc == DYNAMIC { r.dynamic_vc_B / self.config.packet.chunk_B } else { r.slots }
    }

    /// An empty VC. Collective VCs have one queue.
    pub fn channel(&self, vc: usize) -> VirtualChannel {
        let queues = if vc < POINT_TO_POINT { self.config.router.queues as usize } else { 1 };
        VirtualChannel::new(queues, self.capacity(vc))
    }

    /// From the start of the central collective logic's read of packets to when the result is at its links:
    /// through up-tree or down-tree, or at the root both; where packets are combined, through the ALUs too,
    /// and the floating-point units for doubles.
    pub fn central_cycles(&self, turns: bool, combined: Option<Words>) -> u64 {
        let c = &self.config.router.collective;
        let alus = match combined {
            None => 0,
            Some(Words::Integers) => c.combine_ticks,
            Some(Words::Doubles) => c.combine_ticks + c.float_ticks,
        };
        self.cycles(c.central_ticks) * if turns { 2 } else { 1 } + self.cycles(alus)
    }

    /// From the end of a packet that was read for up-tree to the possible start of the next.
    pub fn gap_cycles(&self) -> u64 {
        self.cycles(self.config.router.collective.gap_ticks)
    }

    /// Tokens that a grant of a VC takes.
    pub fn tokens_taken(&self, vc: usize, chunks: u32) -> u32 {
        if vc == DYNAMIC { chunks } else { 1 }
    }

    /// Whether a VC at the end of a port's link is available to a packet now: if there is space for a full
    /// packet; on a VC other than the dynamic one for two, unless it continues straight there.
    fn offers(&self, state: &Node, came: Option<(usize, usize)>, port: usize, vc: usize) -> bool {
        let straight_on = came.is_some_and(|(came_by, came_on)| came_by ^ 1 == port && came_on == vc);
        let needed = match vc {
            DYNAMIC => self.config.packet.chunks_max,
            _ if straight_on => 1,
            _ => 2,
        };
        let sender = &state.ports[port].sender;
        // Collective packets have reserved the claimed links.
        sender.available() && !state.central.claims(port) && sender.tokens[vc] >= needed
    }

    /// The reception FIFO of a packet that arrived through a port.
    fn reception(&self, class: Class, port: usize) -> usize {
        let receivers = 2 * self.geometry.dimensions();
        match class {
            Class::Dynamic { .. } | Class::Deterministic => port,
            Class::High => receivers,
            Class::System => receivers + 1,
        }
    }

    /// The single port that a packet takes when it is routed deterministically; `None` at its destination.
    pub fn fixed_port(&self, packet: &Packet) -> Option<usize> {
        self.order.iter().find_map(|&d| packet.hints[d])
    }

    /// The moves that a packet may choose from now. `came`: the port and VC on which it arrived, `None` at
    /// injection. `path_idle`: whether a path leads from its position to the senders.
    pub fn moves(
        &self,
        packet: &Packet,
        came: Option<(usize, usize)>,
        state: &Node,
        path_idle: bool,
    ) -> Vec<Move> {
        let class = packet.spec.class;
        let Some(fixed) = self.fixed_port(packet) else {
            let (port, _) = came.expect("a packet is not injected at its destination");
            let fifo = self.reception(class, port);
            return if state.receptions[fifo].is_none() { vec![Move::Deliver { fifo }] } else { vec![] };
        };
        if !path_idle {
            return vec![];
        }
        let offered = |port: usize, vc: usize| self.offers(state, came, port, vc);
        if let Class::Dynamic { zone } = class {
            let hinted = |set: &&Vec<usize>| set.iter().any(|&d| packet.hints[d].is_some());
            let set = self.zones[zone].iter().find(hinted).expect("a zone has all dimensions");
            let ports = set.iter().filter_map(|&d| packet.hints[d]).filter(|&port| offered(port, DYNAMIC));
            let moves: Vec<Move> = ports.map(|port| Move::Link { port, vc: DYNAMIC }).collect();
            if !moves.is_empty() {
                return moves;
            }
        }
        let vc = class.fixed_vc();
        if offered(fixed, vc) { vec![Move::Link { port: fixed, vc }] } else { vec![] }
    }

    /// The selected move among those available to the packet.
    pub fn choose(&self, moves: &[Move], state: &Node, random: &mut Random) -> Move {
        match self.config.router.direction_choice {
            _ if moves.len() == 1 => moves[0],
            DirectionChoice::Random => moves[random.below(moves.len())],
            DirectionChoice::Jsq => *random.highest(moves, |m| match *m {
                Move::Deliver { .. } => 0,
                // BlueGene/L's four ranges.
                Move::Link { port, vc } => (state.ports[port].sender.tokens[vc] - 1) * 4 / self.capacity(vc),
            }),
        }
    }
}
