//! Routers: buffers, tokens, arbitration. Each family has its own folder; this folder has the parts that all
//! families share.

mod ack_clock;
mod bits;
mod checkpoint;
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

pub use checkpoint::NetworkState;
pub use errors::LinkCrcs;
pub use network::{BuildOptions, Network, NodeBlock, Overseer, RouterBlock};
pub use stall::{PossibleOutput, StallReport, StoppedUnit, WaitingPacket};
pub use statistics::{LinkCounts, LinkErrors, Totals, VcClass, WindowRecord};

/// Maximum number of nodes of a block: 20 bits of an event's place.
const BLOCK_MAX: usize = 1 << 20;
