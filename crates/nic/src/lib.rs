//! Network interfaces: what stands between a node's programs and its router.

pub mod config;
pub mod detour;
pub mod fifo;
mod window;

pub use window::ACKNOWLEDGEMENT;
