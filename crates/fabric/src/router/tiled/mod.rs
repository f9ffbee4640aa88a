//! Routers made of tiles (Alverson et al., "Cray XC Series Network", "Aries Router"; Scott et al., "The BlackWidow High-Radix Clos
//! Network"): an input queue, a row bus, a sub-switch, a column bus and a column buffer stand between a link and the next, and each
//! of them queues and arbitrates.
//!
//! | file | what |
//! |---|---|
//! | `header.rs` | a packet's header |
//! | `state.rs` | what a block keeps of tiles, and of packets in them |
//! | `block.rs` | a block: its events, router by router and tick by tick |
//! | `fetch.rs` | what events will touch is brought into the cache |
//! | `inputs.rs`, `switches.rs`, `outputs.rs` | what a tile does: input queue and row bus; sub-switch and column buses; column buffer and link |
//! | `nodes.rs` | Netlink, and what passes between the fabric and hosts |
//! | `way.rs` | a packet's way: outputs, header and VC hop by hop |
//! | `choice.rs` | routing: candidates and their loads |
//! | `channel_load.rs` | what links can bear |
//! | `deadlock.rs` | whether packets could wait for each other in a ring |
//! | `loads.rs` | loads that routers tell one another |
//! | `round_trip.rs` | credits held back by what they are late |
//! | `faults.rs` | what fails, and what is lost by it |
//! | `link_control.rs` | sets of flits that come wrong and are sent again |
//! | `failover.rs` | route tables that lead around failures, and when they are changed |
//! | `tables.rs`, `build.rs`, `report.rs` | constants; building; figures |

mod block;
mod build;
mod channel_load;
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
mod state;
mod switches;
mod tables;
mod way;

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
