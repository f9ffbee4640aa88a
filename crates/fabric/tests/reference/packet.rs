//! Packets: a user's specification, and the reference's state of them.

use super::geometry::Hints;
use netloom_fabric::config::DIMENSIONS_MAX;

/// How a packet is routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// In any hinted direction, on any dynamic VC, or on the escape VC if none is available.
    Dynamic,
    /// In the escape order, on the escape VC.
    Static,
}

/// A packet to inject.
#[derive(Clone, Copy, Debug)]
pub struct PacketSpec {
    /// Its destination: not the node that injects it.
    pub destination: usize,
    /// Its size.
    pub chunks: u32,
    /// Its routing; a high-priority packet is always statically routed.
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

/// A packet and its route so far.
pub struct Packet {
    /// The node that injected it.
    pub source: usize,
    /// The injection FIFO there.
    pub fifo: usize,
    /// Its specification.
    pub spec: PacketSpec,
    /// The directions that it must still travel after the last granted link.
    pub hints: Hints,
    /// The dimensions with a crossed dateline.
    pub crossed: [bool; DIMENSIONS_MAX],
    /// Its granted links.
    pub hops: Vec<Hop>,
    /// Arrival time of its last byte in the reception FIFO.
    pub delivered_at: Option<u64>,
}

impl Packet {
    /// Whether no direction is left: the packet is at its destination, or will be after its last granted
    /// link.
    pub fn at_destination(&self) -> bool {
        self.hints.iter().all(Option::is_none)
    }

    /// From its creation to the end of its delivery, ticks.
    pub fn latency(&self) -> Option<u64> {
        self.delivered_at.map(|t| t - self.spec.made_at)
    }
}
