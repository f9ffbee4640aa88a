//! For a packet at a node, where it may go.

pub mod hints;
