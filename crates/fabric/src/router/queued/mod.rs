//! The router of Blue Gene/Q (Chen et al., section II): virtual cut-through and token flow control as in
//! BlueGene/L, but each VC has several queues, so that packets for different links do not block one another;
//! dynamic packets follow zones of dimensions; there are VCs for high-priority and system packets; and the
//! network combines collective operations. `docs/queued-router.md` describes its actions in each cycle.

mod arbitration;
mod block;
mod build;
mod central;
mod checkpoint;
mod counters;
mod ends;
mod hosts;
mod interrupts;
mod queues;
mod reading;
mod recovery;
mod report;
mod soft;
mod state;
mod tables;
mod trees;
mod vcs;

/// Networks of these routers, as their hosts see them.
pub enum QueuedFamily {}

pub use block::QueuedBlock;
pub use build::QueuedNetwork;
pub use counters::{CounterMasks, PortCounters};
pub use hosts::{BarrierStatus, QueuedSignal};
