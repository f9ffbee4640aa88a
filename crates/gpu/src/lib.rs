//! BlueGene/L's torus on a graphics processor: the routers of `docs/torus-router.md` with synthetic traffic,
//! one invocation a node.
//!
//! A packet's first bit takes `hop_ticks` from one node to the next, a token-ack longer. So a node can go
//! through that many ticks, a window, without its neighbours, and between two windows every node takes over
//! what they have sent. The kernel computes with integers alone, and each node draws from a stream of its own:
//! the result is the same on every device. It is not that of the fabric, which draws in another order: both
//! are compared with the clocked reference (`tests/agreement.rs`).
//!
//! | file | contents |
//! |---|---|
//! | `parameters.rs` | which machines and traffic are supported; the constants that the kernel is compiled for |
//! | `words.rs` | the words of a node's state |
//! | `device.rs` | the device: buffers, windows, what was counted |
//! | `counts.rs` | counts of links and packets, from the device's words |
//! | `kernel/*.wgsl` | the kernel: state, random numbers, traffic, links, arbitration, a window |
#![cfg(feature = "device")]

mod counts;
mod device;
mod parameters;
mod words;

pub use counts::{Counts, Distribution, LinkCount};
pub use device::{DeviceError, Machine, TICKS_MAX};
pub use parameters::{Load, Pattern, Traffic, Unsupported};
