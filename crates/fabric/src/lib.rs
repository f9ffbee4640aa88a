//! Topologies, routings, routers and links of supercomputer networks.

pub mod config;
