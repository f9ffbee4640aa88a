//! TH Express NICs: what they move, and what their limits are.

mod collectives;
mod connections;
mod full;
mod limits;
mod machine;
mod queues;
mod sequences;
mod thin;
