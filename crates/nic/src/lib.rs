//! Network interfaces: what stands between a node's programs and its router.

pub mod aries;
pub mod config;
mod contents;
pub mod detour;
pub mod fifo;
pub mod message_unit;
mod window;

pub use window::ACKNOWLEDGEMENT;
