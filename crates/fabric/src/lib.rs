//! Topologies, routings, routers and links of supercomputer networks.

pub mod collective;
pub mod config;
pub mod histogram;
pub mod host;
pub mod link;
pub mod packet;
pub mod router;
pub mod routing;
pub mod topology;
