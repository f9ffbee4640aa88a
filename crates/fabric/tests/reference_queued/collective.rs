//! What of collectives travels, and what nodes know of it: class routes and collective packets.

use super::rules::{COMMWORLD, SUBCOMM};

/// What a class route is for.
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

    /// The injection FIFO of its packets, and their reception FIFO: the user's, or the system's.
    pub fn fifo(self) -> usize {
        usize::from(self == Kind::System)
    }
}

/// What a node knows of a tree that it is part of.
#[derive(Clone, Debug)]
pub struct ClassRoute {
    /// What it is for.
    pub kind: Kind,
    /// The ports through which packets come up the tree.
    pub inputs: Vec<usize>,
    /// The port to which they go on up; none at the root.
    pub output: Option<usize>,
    /// Whether the node itself contributes and receives.
    pub local: bool,
}

/// Who gets what comes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// One node's packet, combined with nothing, goes to all.
    Broadcast,
    /// All nodes' packets are combined, and all get the result.
    AllReduce,
    /// All nodes' packets are combined, and this node gets the result.
    Reduce(usize),
}

/// What is combined: of an operation only this makes a difference in time.
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
    /// What kind of class route that is.
    pub kind: Kind,
    /// Who gets the result.
    pub purpose: Purpose,
    /// What is combined.
    pub words: Words,
    /// Its size.
    pub chunks: u32,
    /// The earliest cycle at which it is there to be combined, from which its latency counts.
    pub made_at: u64,
    /// In place of its data: what comes of packets that meet has the sum of theirs.
    pub value: u64,
}

/// A packet that has come to a reception FIFO whole.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// At which node.
    pub node: usize,
    /// When.
    pub at: u64,
    /// The packet.
    pub packet: CollectivePacket,
}

/// One packet of those that meet: with all their numbers, as old as the oldest.
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
