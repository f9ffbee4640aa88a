//! Network interfaces: what stands between a node's programs and its router.

pub mod config;
