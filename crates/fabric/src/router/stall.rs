//! Reports of a stalled network: which packets wait, where, and for which resources.

use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use serde::{Deserialize, Serialize};

/// A packet that cannot move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingPacket {
    /// Node or router at which it waits, by the machine's number.
    pub node: u32,
    /// Receiver that holds it; `None` for the head of an injection FIFO.
    pub port: Option<usize>,
    /// VC or injection FIFO that holds it.
    pub slot: usize,
    /// The node that sent it.
    pub source: u32,
    /// Its destination: a torus node's coordinates, or a node's number.
    pub destination: Vec<u32>,
    /// Its size, chunks or flits.
    pub chunks: u32,
    /// Outputs that it may take; none if it waits for a reception FIFO or has no route.
    pub outputs: Vec<PossibleOutput>,
}

/// An output that a waiting packet may take as soon as there is room downstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PossibleOutput {
    /// Its port.
    pub port: usize,
    /// The VC that the packet would take.
    pub vc: usize,
    /// Available tokens of that VC; `None` for routers that count by credits.
    pub tokens: Option<u8>,
}

/// A receiver that has stopped at an uncorrectable error in its buffer, to keep the error from propagating.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    BorshSerialize,
    BorshDeserialize,
)]
pub struct StoppedUnit {
    /// Time at which it stopped, ticks.
    pub at: Time,
    /// Its node, by the machine's number.
    pub node: u32,
    /// The port that it belongs to.
    pub port: usize,
    /// The VC that held the packet.
    pub vc: usize,
    /// The node that sent the packet.
    pub source: u32,
}

/// A stall: no event is pending, but packets are in the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StallReport {
    /// Packets in the network.
    pub in_flight: i64,
    /// Those at the heads of VCs and injection FIFOs, which wait for each other.
    pub waiting: Vec<WaitingPacket>,
}
