//! Routing: the outputs that a packet at a node may take.

mod detours;
pub mod dragonfly;
pub mod fat_tree;
pub mod faults;
pub mod hints;
pub mod router_torus;
mod tables;

pub use tables::{Routes, Target};
