//! Synthetic traffic on any machine: a pattern, packet sizes, a load, and limits.
//!
//! One generator ([`source`]) determines the destination, time and size of a node's next packet without any
//! header: it creates [`source::Request`]s. Each kind of machine has a file that turns them into packets.
//! Nothing is stored of packets that have not entered the network.
//!
//! | file | contents |
//! |---|---|
//! | `pattern.rs` | destinations of each pattern (`Destinations`), and their use in a run |
//! | `order.rs` | an order of destinations that is computed, not stored |
//! | `permutation.rs` | permutations, drawn or read |
//! | `jobs.rs` | jobs side by side, and their nodes |
//! | `phases.rs` | an all-to-all in two phases: packets that nodes forward |
//! | `plan.rs` | the traffic of a machine: pattern, sizes, and the rates of each job |
//! | `source.rs` | a sequence of packets of a node: the next one |
//! | `torus.rs`, `torus_plan.rs` | nodes of tori: FIFOs, hint bits, priorities |
//! | `switched.rs`, `switched_plan.rs` | nodes of networks of switches: flits, requests and responses, modes of routing |
//! | `beside.rs` | programs on some nodes, synthetic traffic on others |
//! | `counts.rs` | counters of arrived packets |
//! | `reordering.rs` | reordering extents |

mod beside;
pub mod counts;
pub mod jobs;
pub mod order;
pub mod pattern;
pub(crate) mod permutation;
mod phases;
pub mod plan;
pub mod reordering;
pub mod source;
mod switched;
mod switched_plan;
mod torus;
mod torus_plan;

pub use beside::Beside;
pub use counts::{ClassCounts, Counts, JobCounts};
pub use jobs::Jobs;
pub use pattern::Pattern;
pub use phases::Phases;
pub use plan::{Plan, Rate};
pub use switched::SwitchedTraffic;
pub use switched_plan::SwitchedPlan;
pub use torus::TorusTraffic;
pub use torus_plan::TorusPlan;
