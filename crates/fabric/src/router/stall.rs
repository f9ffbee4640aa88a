//! A stall noticed and told: which packets wait, where, and for what.

use netloom_engine::Time;

/// A packet that cannot move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingPacket {
    /// Node or router at which it waits, by the machine's number.
    pub node: u32,
    /// Receiver in which it stands, or none if it is the head of an injection FIFO.
    pub port: Option<usize>,
    /// VC in which it stands, or injection FIFO.
    pub slot: usize,
    /// Where it came from.
    pub source: u32,
    /// Its destination: a torus node's coordinates, or a node's number.
    pub destination: Vec<u32>,
    /// Its size, chunks or flits.
    pub chunks: u32,
    /// Ports through which it may leave.
    pub ports: Vec<usize>,
    /// For each of them, the tokens that it sees for its VCs.
    pub tokens: Vec<Vec<u8>>,
}

/// A receiver that has stopped at an error in its buffer which it could not correct, so that nothing wrong leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoppedUnit {
    /// When, ticks.
    pub at: Time,
    /// Its node, by the machine's number.
    pub node: u32,
    /// The port that it belongs to.
    pub port: usize,
    /// The VC in which the packet stood.
    pub vc: usize,
    /// The node that sent the packet.
    pub source: u32,
}

/// Nothing will ever happen any more, but packets are in the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StallReport {
    /// Packets in the network.
    pub under_way: i64,
    /// Those at the heads of VCs and injection FIFOs: the ones that wait for each other.
    pub waiting: Vec<WaitingPacket>,
}
