//! Routers: buffers, tokens, arbitration. One folder a family; beside them what all families share.

mod ack_clock;
mod bits;
mod common;
mod corruption;
mod errors;
mod event;
mod fibres;
mod network;
mod partition;
mod port;
pub mod queued;
mod recovery;
mod stall;
mod statistics;
pub mod tiled;
pub mod torus;

pub use errors::LinkCrcs;
pub use network::{BuildOptions, Network, NodeBlock, Overseer, RouterBlock};
pub use stall::{StallReport, StoppedUnit, WaitingPacket};
pub use statistics::{LinkCounts, LinkErrors, Totals, VcClass, WindowRecord};

/// Most nodes of a block: 20 bits of a place.
const BLOCK_MAX: usize = 1 << 20;
