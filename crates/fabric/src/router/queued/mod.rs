//! The router of Blue Gene/Q (Chen et al., section II): virtual cut-through and token flow control as in BlueGene/L, but
//! each VC has several queues, so that packets for different links do not block one another; dynamic packets keep to zones of
//! dimensions; there are VCs for high priority and for the system; and collective operations are combined on their way. What it does in each cycle is told in
//! `docs/queued-router.md`.

mod arbitration;
mod block;
mod build;
mod central;
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
