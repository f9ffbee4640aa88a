//! What each packet may do in a cycle: tokens, VCs and directions.

use super::collective::Words;
use super::geometry::Geometry;
use super::link::LinkTimes;
use super::node::{Node, VirtualChannel};
use super::packet::{Class, Packet};
use super::random::Random;
use netloom_fabric::config::{DirectionChoice, LETTERS, QueuedConfig};

/// VCs of a receiver, and those of them that carry packets from point to point.
pub const VCS: usize = 6;
/// See [`VCS`].
pub const POINT_TO_POINT: usize = 4;
/// Their numbers.
pub const DYNAMIC: usize = 0;
/// For deterministic packets, and dynamic ones that find no room on the dynamic VC.
pub const DETERMINISTIC: usize = 1;
/// The users' high priority.
pub const HIGH: usize = 2;
/// The system's.
pub const SYSTEM: usize = 3;
/// Collective packets of the user's whole partition, and of the system.
pub const COMMWORLD: usize = 4;
/// Of other sets of the user's nodes.
pub const SUBCOMM: usize = 5;

/// A move that a packet may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// To a reception FIFO.
    Deliver { fifo: usize },
    /// Onto the link of a port and the VC at its end.
    Link { port: usize, vc: usize },
}

/// The configuration, and what follows from it.
pub struct Rules {
    /// The configuration.
    pub config: QueuedConfig,
    /// The shape.
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
        // How far packets go at most: half-way round a ring, or down all of a mesh.
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
    /// If it is not: then nodes' cycles would not begin together.
    pub fn cycles(&self, ticks: u32) -> u64 {
        let cycle = self.config.router.cycle_ticks;
        assert!(ticks.is_multiple_of(cycle), "{ticks} ticks are no whole cycles of {cycle}");
        u64::from(ticks / cycle)
    }

    /// Cycles of a data packet on a link, or on its way into a reception FIFO.
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
            hop: self.cycles(l.wire_ticks + l.receive_ticks + l.arbitrate_ticks + l.send_ticks + wires),
            tokens: self.cycles(ack + l.wire_ticks + l.receive_ticks + l.send_ticks + wires),
        }
    }

    /// Tokens of a VC: chunks of the dynamic one, packets of the others.
    pub fn capacity(&self, vc: usize) -> u32 {
        let r = &self.config.router;
        if vc == DYNAMIC { r.dynamic_vc_B / self.config.packet.chunk_B } else { r.slots }
    }

    /// An empty VC. Collective ones are one queue.
    pub fn channel(&self, vc: usize) -> VirtualChannel {
        let queues = if vc < POINT_TO_POINT { self.config.router.queues as usize } else { 1 };
        VirtualChannel::new(queues, self.capacity(vc))
    }

    /// From when the central collective logic begins to read packets to when what comes of them is at its
    /// links: through up-tree or down-tree, or at the root both; where packets are combined, through the ALUs
    /// too, and the floating-point units for doubles.
    pub fn central_cycles(&self, turns: bool, combined: Option<Words>) -> u64 {
        let c = &self.config.router.collective;
        let alus = match combined {
            None => 0,
            Some(Words::Integers) => c.combine_ticks,
            Some(Words::Doubles) => c.combine_ticks + c.float_ticks,
        };
        self.cycles(c.central_ticks) * if turns { 2 } else { 1 } + self.cycles(alus)
    }

    /// From the end of a packet that was read for up-tree to when it may begin with the next.
    pub fn gap_cycles(&self) -> u64 {
        self.cycles(self.config.router.collective.gap_ticks)
    }

    /// Tokens that a grant of a VC takes.
    pub fn tokens_taken(&self, vc: usize, chunks: u32) -> u32 {
        if vc == DYNAMIC { chunks } else { 1 }
    }

    /// Whether a packet may have a VC at the end of a port's link now: if there is room for a full packet; on
    /// another VC than the dynamic one for two, unless it goes straight on there.
    fn offers(&self, state: &Node, came: Option<(usize, usize)>, port: usize, vc: usize) -> bool {
        let straight_on = came.is_some_and(|(came_by, came_on)| came_by ^ 1 == port && came_on == vc);
        let needed = match vc {
            DYNAMIC => self.config.packet.chunks_max,
            _ if straight_on => 1,
            _ => 2,
        };
        let sender = &state.ports[port].sender;
        // What collective packets wait for is theirs.
        sender.available() && !state.central.claims(port) && sender.tokens[vc] >= needed
    }

    /// The reception FIFO of a packet that came in by a port.
    fn reception(&self, class: Class, port: usize) -> usize {
        let receivers = 2 * self.geometry.dimensions();
        match class {
            Class::Dynamic { .. } | Class::Deterministic => port,
            Class::High => receivers,
            Class::System => receivers + 1,
        }
    }

    /// The one port that a packet takes where it is routed deterministically; none at its destination.
    pub fn fixed_port(&self, packet: &Packet) -> Option<usize> {
        self.order.iter().find_map(|&d| packet.hints[d])
    }

    /// The moves among which a packet may choose now. `came`: the port that it came in by and the VC that it
    /// came on, none where it is being injected. `path_idle`: whether a path leads from where it stands to
    /// the senders.
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

    /// The move that a packet takes of those open to it.
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
