//! Synthetic traffic on machines of switches: nodes that put packets of flits straight into the network, without a network
//! interface.
//!
//! | file | what |
//! |---|---|
//! | `destinations.rs` | who sends to whom |
//! | `jobs.rs` | jobs side by side |
//! | `plan.rs` | what all nodes of a machine do |
//! | `nodes.rs` | the nodes of a block: what they send, what they answer |
//! | `counts.rs` | what was counted where packets arrived |
//! | `order.rs` | by how much packets arrive out of order |

mod counts;
mod destinations;
mod jobs;
mod nodes;
mod order;
mod plan;

pub use counts::{ClassCounts, Counts, JobCounts};
pub use destinations::Destinations;
pub use jobs::Jobs;
pub use nodes::Nodes;
pub use plan::Plan;
