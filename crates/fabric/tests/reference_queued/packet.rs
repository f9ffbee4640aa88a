//! Packets: a user's specification, and the reference's state of them.

use super::geometry::Hints;
use super::rules::{DETERMINISTIC, HIGH, SYSTEM};

/// The class of a packet, which determines its routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// In the directions that its zone allows, on the dynamic VC; deterministically if that has no space.
    Dynamic { zone: usize },
    /// In the order of dimensions.
    Deterministic,
    /// The same with priority over these, on a VC of its own.
    High,
    /// The same with priority over all others, on a VC of its own.
    System,
}

impl Class {
    /// The VC of a packet of this class when it is routed deterministically.
    pub fn fixed_vc(self) -> usize {
        match self {
            Class::Dynamic { .. } | Class::Deterministic => DETERMINISTIC,
            Class::High => HIGH,
            Class::System => SYSTEM,
        }
    }

    /// Its priority, at main arbiters and senders: higher is served first.
    pub fn priority(self) -> u32 {
        match self {
            Class::Dynamic { .. } | Class::Deterministic => 0,
            Class::High => 1,
            Class::System => 2,
        }
    }

    /// Whether its packets must not overtake one another.
    pub fn is_ordered(self) -> bool {
        !matches!(self, Class::Dynamic { .. })
    }
}

/// A packet to inject.
#[derive(Clone, Copy, Debug)]
pub struct PacketSpec {
    /// Its destination: not the node that injects it.
    pub destination: usize,
    /// Its size.
    pub chunks: u32,
    /// Its class.
    pub class: Class,
    /// The earliest cycle at which it may be granted, from which its latency counts.
    pub made_at: u64,
}

/// A packet and its route so far.
pub struct Packet {
    /// Its specification.
    pub spec: PacketSpec,
    /// The directions that it must still travel after the last granted link.
    pub hints: Hints,
    /// Arrival time of its last byte in the reception FIFO.
    pub delivered_at: Option<u64>,
}
