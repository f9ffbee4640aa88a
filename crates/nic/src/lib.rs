//! Network interfaces: what stands between a node's programs and its router.

mod agenda;
pub mod aries;
mod arrivals;
pub mod config;
mod contents;
pub mod detour;
pub mod fifo;
pub mod message_unit;
mod nics;
pub mod pcie;
pub mod program;
pub mod th;
mod watches;
mod window;

pub use window::ACKNOWLEDGEMENT;
