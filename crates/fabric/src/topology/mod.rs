//! Where nodes are and how links join them.

pub mod torus;
