//! Where nodes are and how links join them.

pub mod io;
pub mod partitions;
pub mod torus;
