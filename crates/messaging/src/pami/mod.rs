//! PAMI, the Parallel Active Messaging Interface (Kumar et al., section III): the protocols of a context, as a
//! state machine without I/O, clock or threads. It runs over any [`device::PamiDevice`].
//!
//! - [`endpoint`] – addresses.
//! - [`packet`] – what packets say.
//! - [`device`] – what a device offers.
//! - [`collectives`] – collective algorithms over point-to-point messages.
//! - [`context`] – sends, receives and their progress: immediate, eager, rendezvous.
//! - [`geometry`] – members of collectives.
//! - [`rmw`] – atomic operations on another task's memory.
//! - [`reduce`] – predefined reductions.
//! - [`types`] – layouts of data in memory.
//! - [`work`] – the queue of posted work.

pub mod collectives;
pub mod context;
pub mod device;
pub mod endpoint;
pub mod geometry;
pub mod packet;
pub mod reduce;
pub mod rmw;
pub mod types;
pub mod work;

pub use endpoint::Endpoint;
