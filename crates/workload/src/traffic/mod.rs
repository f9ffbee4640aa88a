//! Synthetic traffic: a pattern, packets of given sizes, a load, limits, on any machine.
//!
//! What a node sends next, when and how large is one generator ([`source`]), which knows no header: it makes [`source::Request`]s. What
//! makes packets of them is a file for each kind of machine. Nothing is stored of packets that have not entered the network.
//!
//! | file | what |
//! |---|---|
//! | `pattern.rs` | who sends to whom, as each pattern defines it (`Destinations`) and as a run asks |
//! | `order.rs` | an order of destinations that is computed, not stored |
//! | `permutation.rs` | permutations, drawn or read |
//! | `jobs.rs` | jobs side by side, and their nodes |
//! | `plan.rs` | what all nodes of a machine do: pattern, sizes, and how often the nodes of each job send |
//! | `source.rs` | a sequence of packets of a node: the next one |
//! | `torus.rs`, `torus_plan.rs` | nodes of tori: FIFOs, hint bits, priorities |
//! | `switched.rs`, `switched_plan.rs` | nodes of networks of switches: flits, requests and responses, modes of routing |
//! | `beside.rs` | programs on some nodes, synthetic traffic on others |
//! | `counts.rs` | what was counted where packets arrived |
//! | `reordering.rs` | by how much packets arrive out of order |

mod beside;
pub mod counts;
pub mod jobs;
pub mod order;
pub mod pattern;
pub(crate) mod permutation;
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
pub use plan::{Plan, Rate};
pub use switched::SwitchedTraffic;
pub use switched_plan::SwitchedPlan;
pub use torus::TorusTraffic;
pub use torus_plan::TorusPlan;
