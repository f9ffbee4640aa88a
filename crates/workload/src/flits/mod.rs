//! Synthetic traffic on machines of switches: nodes that put packets of flits straight into the network, without a network
//! interface.
//!
//! | file | what |
//! |---|---|
//! | `destinations.rs` | who sends to whom |
//! | `plan.rs` | what all nodes of a machine do |
//! | `nodes.rs` | the nodes of a block: what they send, what they answer |
//! | `counts.rs` | what was counted where packets arrived |

mod counts;
mod destinations;
mod nodes;
mod plan;

pub use counts::{ClassCounts, Counts};
pub use destinations::Destinations;
pub use nodes::Nodes;
pub use plan::Plan;
