//! What travels: what a user asks for, and what the reference knows of it on its way.

use super::geometry::Hints;
use super::rules::{DETERMINISTIC, HIGH, SYSTEM};

/// What a packet is for, and so how it is routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// In the directions that its zone leaves it, on the dynamic VC; deterministically where that has no
    /// room.
    Dynamic { zone: usize },
    /// In the order of dimensions.
    Deterministic,
    /// The same, before all of these, on a VC of its own.
    High,
    /// The same, before all others, on a VC of its own.
    System,
}

impl Class {
    /// The VC of a packet of this class where it is routed deterministically.
    pub fn fixed_vc(self) -> usize {
        match self {
            Class::Dynamic { .. } | Class::Deterministic => DETERMINISTIC,
            Class::High => HIGH,
            Class::System => SYSTEM,
        }
    }

    /// Its priority, at main arbiters and senders: the higher goes first.
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
    /// The node that it goes to: not the one that it is injected at.
    pub destination: usize,
    /// Its size.
    pub chunks: u32,
    /// What it is for.
    pub class: Class,
    /// The earliest cycle at which it may be granted, from which its latency counts.
    pub made_at: u64,
}

/// A packet and its way so far.
pub struct Packet {
    /// What was asked for.
    pub spec: PacketSpec,
    /// The directions that it must still travel after the link that it was granted last.
    pub hints: Hints,
    /// When its last byte was in the reception FIFO.
    pub delivered_at: Option<u64>,
}
