//! Where nodes are and how links join them.

pub mod partitions;
pub mod torus;
