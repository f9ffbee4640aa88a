//! For a packet at a node, where it may go.

pub mod dragonfly;
pub mod faults;
pub mod hints;
