//! TH Express NICs: their data transfers and limits.

mod collectives;
mod connections;
mod full;
mod limits;
mod machine;
mod queues;
mod sequences;
mod thin;
