//! What travels: what a user asks for, and what the reference knows of it on its way.

use super::geometry::Hints;
use netloom_fabric::config::DIMENSIONS_MAX;

/// How a packet is routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// In any hinted direction, on any dynamic VC, and on the escape VC where there is none.
    Dynamic,
    /// In the escape order, on the escape VC.
    Static,
}

/// A packet to inject.
#[derive(Clone, Copy, Debug)]
pub struct PacketSpec {
    /// The node that it goes to: not the one that it is injected at.
    pub destination: usize,
    /// Its size.
    pub chunks: u32,
    /// How it is routed; a high-priority packet is routed statically whatever this says.
    pub routing: Routing,
    /// Whether it uses the high-priority VC.
    pub high_priority: bool,
    /// The earliest tick at which it may be granted, from which its latency counts.
    pub made_at: u64,
}

/// A grant of a link to a packet.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// The node that the packet left.
    pub node: usize,
    /// The port that it left by.
    pub port: usize,
    /// The VC of the next node's receiver that it was granted.
    pub vc: usize,
    /// The tick of the grant.
    pub granted_at: u64,
}

/// A packet and its way so far.
pub struct Packet {
    /// The node that it was injected at.
    pub source: usize,
    /// The injection FIFO there.
    pub fifo: usize,
    /// What was asked for.
    pub spec: PacketSpec,
    /// The directions that it must still travel after the link that it was granted last.
    pub hints: Hints,
    /// The dimensions whose dateline it has crossed.
    pub crossed: [bool; DIMENSIONS_MAX],
    /// The links that it was granted.
    pub hops: Vec<Hop>,
    /// When its last byte was in the reception FIFO.
    pub delivered_at: Option<u64>,
}

impl Packet {
    /// Whether no direction is left: the packet is, or after its last granted link will be, where it goes.
    pub fn at_destination(&self) -> bool {
        self.hints.iter().all(Option::is_none)
    }

    /// From its making to the end of its delivery, ticks.
    pub fn latency(&self) -> Option<u64> {
        self.delivered_at.map(|t| t - self.spec.made_at)
    }
}
