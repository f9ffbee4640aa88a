//! Tori of Blue Gene/Q's routers, run. One program, so that the routers with the same hosts are compiled
//! once.

#[path = "../agreement_queued/mod.rs"]
mod agreement_queued;
mod collective;
mod io_nodes;
mod links;
mod packets;
mod partitions;
mod soft_errors;
#[path = "../traffic/mod.rs"]
mod traffic;
