//! Routers made of tiles (Alverson et al., "Cray XC Series Network", "Aries Router"; Scott et al., "The
//! BlackWidow High-Radix Clos Network"): between two links there are an input queue, a row bus, a sub-switch,
//! a column bus and a column buffer, each of which queues and arbitrates.
//!
//! | file | contents |
//! |---|---|
//! | `header.rs` | a packet's header |
//! | `state.rs` | the state of tiles, and of packets in them |
//! | `block.rs` | a block: its events, router by router and tick by tick |
//! | `fetch.rs` | prefetching |
//! | `inputs.rs`, `switches.rs`, `outputs.rs` | the stages of a tile: input queue and row bus; sub-switch and column buses; column buffer and link |
//! | `nodes.rs` | Netlink, and the exchange between network and hosts |
//! | `route.rs` | a packet's route: outputs, header and VC hop by hop |
//! | `choice.rs` | routing: candidates and their loads |
//! | `channel_load.rs` | throughput bound of links |
//! | `deadlock.rs` | deadlock check |
//! | `loads.rs` | loads exchanged between routers |
//! | `round_trip.rs` | credits delayed by measured round trips |
//! | `faults.rs` | failures, and the packets lost by them |
//! | `link_control.rs` | link-level retransmission |
//! | `failover.rs` | rerouting around failures |
//! | `tables.rs`, `build.rs`, `report.rs` | constants; construction; statistics |

mod block;
mod build;
mod channel_load;
mod checkpoint;
mod choice;
mod deadlock;
mod event;
mod failover;
mod faults;
mod fetch;
mod header;
mod inputs;
mod link_control;
mod loads;
mod nodes;
mod outputs;
mod report;
mod round_trip;
mod route;
mod state;
mod switches;
mod tables;

/// Networks of these routers, as their hosts see them.
pub enum TiledFamily {}

pub use block::TiledBlock;
pub use build::{Shape, TiledNetwork};
pub use channel_load::channel_bound;
pub use deadlock::{Channel, ring_of_channels};
pub use failover::{Failover, Reroute};
pub use faults::{ErrorKind, FaultCounts, FirstError};
pub use header::{Class, Mode, TiledHeader};
pub use link_control::LinkControlCounts;
pub use report::TileCounts;
