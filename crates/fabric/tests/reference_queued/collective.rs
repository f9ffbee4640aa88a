//! Collective packets, and nodes' class routes.

use super::rules::{COMMWORLD, SUBCOMM};

/// The purpose of a class route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The user's whole partition.
    Commworld,
    /// The system.
    System,
    /// Any other set of the user's nodes.
    Subcomm,
}

impl Kind {
    /// The VC of its packets.
    pub fn vc(self) -> usize {
        if self == Kind::Subcomm { SUBCOMM } else { COMMWORLD }
    }

    /// The injection FIFO of its packets, and their reception FIFO: user, or system.
    pub fn fifo(self) -> usize {
        usize::from(self == Kind::System)
    }
}

/// A node's part of a tree.
#[derive(Clone, Debug)]
pub struct ClassRoute {
    /// Its purpose.
    pub kind: Kind,
    /// The ports to the children.
    pub inputs: Vec<usize>,
    /// The port to the parent; `None` at the root.
    pub output: Option<usize>,
    /// Whether the node itself contributes and receives.
    pub local: bool,
}

/// The nodes that receive the result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// One node's packet goes to all; nothing is combined.
    Broadcast,
    /// All nodes' packets are combined; all receive the result.
    AllReduce,
    /// All nodes' packets are combined; this node receives the result.
    Reduce(usize),
}

/// The data type of the operation, its only property that affects timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Integers, or bits.
    Integers,
    /// Double-precision numbers.
    Doubles,
}

/// A collective packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectivePacket {
    /// The number of its class route.
    pub class: usize,
    /// The kind of that class route.
    pub kind: Kind,
    /// The nodes that receive the result.
    pub purpose: Purpose,
    /// The data type.
    pub words: Words,
    /// Its size.
    pub chunks: u32,
    /// The earliest cycle at which it may be combined, from which its latency counts.
    pub made_at: u64,
    /// In place of its data: combined packets have the sum of their values.
    pub value: u64,
}

/// A packet complete in a reception FIFO.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The node.
    pub node: usize,
    /// The time.
    pub at: u64,
    /// The packet.
    pub packet: CollectivePacket,
}

/// The combination of packets that meet: with the sum of their values, as old as the oldest.
pub fn combined(packets: &[CollectivePacket]) -> CollectivePacket {
    let first = packets[0];
    let like_first =
        |p: &CollectivePacket| CollectivePacket { made_at: first.made_at, value: first.value, ..*p } == first;
    assert!(packets.iter().all(like_first), "packets that meet ask for one thing");
    CollectivePacket {
        made_at: packets.iter().map(|p| p.made_at).min().expect("there is one"),
        value: packets.iter().fold(0, |sum, p| sum.wrapping_add(p.value)),
        ..first
    }
}
