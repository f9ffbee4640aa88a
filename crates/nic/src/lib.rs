//! Network interfaces, between a node's programs and its router.

pub mod aries;
mod arrivals;
pub mod config;
pub mod detour;
pub mod fifo;
pub mod message_unit;
mod outgoing;
pub mod packet_port;
pub mod pcie;
pub mod th;
mod window;

pub use window::ACKNOWLEDGEMENT;
