//! The possible moves of each packet in a tick: tokens, VCs and directions.

use super::geometry::Geometry;
use super::link::LinkTimes;
use super::node::{Node, Sender};
use super::packet::{Packet, Routing};
use super::random::Random;
use super::statistics::Statistics;
use netloom_fabric::config::{BubbleRule, DirectionChoice, Escape, EscapeOrder, TorusConfig};

/// A move that a packet may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// To the reception FIFO.
    Deliver,
    /// Onto the link of a port and the VC at its end.
    Link { port: usize, vc: usize },
}

/// The position of a requesting packet.
#[derive(Clone, Copy)]
pub struct Standing {
    /// The node.
    pub node: usize,
    /// The port and VC on which it arrived; `None` at injection.
    pub came: Option<(usize, usize)>,
}

/// The configuration, and derived constants.
pub struct Rules {
    /// The configuration.
    pub config: TorusConfig,
    /// The topology.
    pub geometry: Geometry,
    /// Dynamic VCs, which come first.
    pub dynamic_vcs: usize,
    /// Total number of VCs; the last is the high-priority one.
    pub vcs: usize,
}

impl Rules {
    /// The rules of a configuration.
    pub fn new(config: &TorusConfig) -> Self {
        Rules {
            config: config.clone(),
            geometry: Geometry::new(&config.topology, config.router.halfway_tie),
            dynamic_vcs: config.router.dynamic_vcs as usize,
            vcs: config.vcs(),
        }
    }

    /// The high-priority VC.
    pub fn high_vc(&self) -> usize {
        self.vcs - 1
    }

    /// Whether the link that port `port` of `node` leads onto crosses the dateline of its dimension, which
    /// lies between the highest coordinate and zero.
    pub fn crosses_dateline(&self, node: usize, port: usize) -> bool {
        let (d, minus) = (port / 2, port % 2 == 1);
        let at = |node: usize| self.geometry.coordinates(node)[d];
        self.geometry.neighbour(node, port).is_some_and(|next| (at(next) > at(node)) == minus)
    }

    /// Whether a VC is an escape VC.
    pub fn is_escape(&self, vc: usize) -> bool {
        (self.dynamic_vcs..self.high_vc()).contains(&vc)
    }

    /// Whether a VC is under the bubble rules: the high-priority VC always, the escape VC unless it is one of
    /// a pair.
    fn is_bubble(&self, vc: usize) -> bool {
        vc == self.high_vc() || (self.is_escape(vc) && self.config.router.escape == Escape::Bubble)
    }

    /// Capacity of a VC, chunks.
    pub fn capacity(&self, vc: usize) -> u32 {
        let r = &self.config.router;
        let bytes = if self.is_escape(vc) { r.escape_vc_B.unwrap_or(r.vc_B) } else { r.vc_B };
        bytes / self.config.packet.chunk_B
    }

    /// Ticks of a data packet on a link, or in transit into a reception FIFO.
    pub fn data_ticks(&self, chunks: u32) -> u64 {
        let p = &self.config.packet;
        u64::from((p.chunk_B * chunks + p.trailer_B) * self.config.link.ticks_per_byte)
    }

    /// Times of every link: from a token-ack's first bit to the update of the counters it is all of it,
    /// without arbitration.
    pub fn link_times(&self) -> LinkTimes {
        let (l, p) = (&self.config.link, &self.config.packet);
        let ack = (p.ack_B + p.trailer_B) * l.ticks_per_byte;
        let tokens = ack + l.wire_ticks + l.receive_ticks + l.send_ticks;
        LinkTimes { ack: ack.into(), gap: 0, hop: l.hop_ticks().into(), tokens: tokens.into() }
    }

    /// Tokens that a grant of a VC takes.
    pub fn tokens_taken(&self, vc: usize, chunks: u32) -> u32 {
        if self.is_bubble(vc) && self.config.router.bubble_rule == BubbleRule::Corrected {
            self.config.packet.chunks_max
        } else {
            chunks
        }
    }

    /// Tokens required before a VC is available to a packet. Entering a ring of bubbles requires space for
    /// two.
    fn tokens_needed(&self, came: Option<(usize, usize)>, port: usize, vc: usize) -> u32 {
        let straight_on = came.is_some_and(|(came_by, came_on)| came_by ^ 1 == port && came_on == vc);
        let packets = if self.is_bubble(vc) && !straight_on { 2 } else { 1 };
        packets * self.config.packet.chunks_max
    }

    /// Whether a VC at the end of a port's link is available to a packet now.
    fn offers(&self, sender: &Sender, came: Option<(usize, usize)>, port: usize, vc: usize) -> bool {
        sender.available() && sender.tokens[vc] >= self.tokens_needed(came, port, vc)
    }

    /// The single port that a packet may take on an escape or the high-priority VC.
    fn ordered_port(&self, packet: &Packet) -> usize {
        let hinted = packet.hints.iter().flatten();
        match self.config.router.escape_order {
            EscapeOrder::Dimension => hinted.min_by_key(|&&port| port),
            EscapeOrder::Direction => hinted.min_by_key(|&&port| (port % 2, port)),
        }
        .copied()
        .expect("a packet in transit has a direction")
    }

    /// The escape VC for a packet over the link of a port.
    fn escape_vc(&self, packet: &Packet, node: usize, port: usize) -> usize {
        match self.config.router.escape {
            Escape::Bubble => self.dynamic_vcs,
            Escape::Dateline => {
                let crossed = packet.crossed[port / 2] || self.crosses_dateline(node, port);
                self.dynamic_vcs + usize::from(crossed)
            }
        }
    }

    /// The first phase of arbitration: the packet's requested move, if any is available. `path_idle`: whether
    /// a bus leads from its position to the senders.
    pub fn ask(
        &self,
        packet: &Packet,
        at: Standing,
        state: &Node,
        path_idle: bool,
        random: &mut Random,
    ) -> Option<Move> {
        if packet.at_destination() {
            let (port, _) = at.came.expect("a packet is not injected at its destination");
            let bus = state.ports[port].receiver.reception[usize::from(packet.spec.high_priority)];
            return bus.is_none().then_some(Move::Deliver);
        }
        if !path_idle {
            return None;
        }
        if packet.spec.routing == Routing::Dynamic && !packet.spec.high_priority {
            let mut offered = Vec::new();
            for &port in packet.hints.iter().flatten() {
                for vc in 0..self.dynamic_vcs {
                    if self.offers(&state.ports[port].sender, at.came, port, vc) {
                        offered.push((port, vc));
                    }
                }
            }
            if !offered.is_empty() {
                let &(port, vc) = match self.config.router.direction_choice {
                    DirectionChoice::Jsq => random.highest(&offered, |&(port, vc)| {
                        (state.ports[port].sender.tokens[vc] - 1) * 4 / self.capacity(vc)
                    }),
                    DirectionChoice::Random => &offered[random.below(offered.len())],
                };
                return Some(Move::Link { port, vc });
            }
        }
        let port = self.ordered_port(packet);
        let vc =
            if packet.spec.high_priority { self.high_vc() } else { self.escape_vc(packet, at.node, port) };
        self.offers(&state.ports[port].sender, at.came, port, vc).then_some(Move::Link { port, vc })
    }
}

impl Statistics {
    /// The fraction of grants with an escape VC.
    pub fn escape_share(&self, rules: &Rules) -> f64 {
        let escape: u64 = (0..rules.vcs).filter(|&vc| rules.is_escape(vc)).map(|vc| self.hops[vc]).sum();
        escape as f64 / self.hops.iter().sum::<u64>() as f64
    }
}
