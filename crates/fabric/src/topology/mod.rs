//! Topologies: the positions of nodes, and the links between them.

pub mod bundles;
pub mod cabling;
pub mod dragonfly;
pub mod fat_tree;
pub mod io;
pub mod partitions;
pub mod places;
pub mod router_torus;
pub mod torus;
pub mod wiring;
pub mod xc;
