//! PAMI, the Parallel Active Messaging Interface (Kumar et al., section III): the protocols of a context, as
//! a state machine without I/O, clock or threads. It runs over any [`device::PamiDevice`].
//!
//! - [`endpoint`] – addresses.
//! - [`packet`] – what packets say.
//! - [`device`] – what a device offers.
//! - [`collectives`] – collective algorithms over point-to-point messages.
//! - [`context`] – sends, receives and their progress: immediate, eager, rendezvous.
//! - [`guest`] – real processes that run on simulated nodes.
//! - [`message_unit`] – the device on a simulated Message Unit.
//! - [`geometry`] – members of collectives.
//! - [`rmw`] – atomic operations on another task's memory.
//! - [`reduce`] – predefined reductions.
//! - [`settings`] – numbers of the environment.
//! - [`task`] – the same for programs of the simulator, written as an `async fn`.
//! - [`types`] – layouts of data in memory.
//! - [`work`] – the queue of posted work.

pub mod collectives;
pub mod context;
mod costs;
pub mod device;
pub mod endpoint;
pub mod geometry;
pub mod guest;
pub mod message_unit;
pub mod packet;
mod placement;
pub mod reduce;
pub mod rmw;
pub mod settings;
pub mod task;
pub mod types;
pub mod work;

pub use costs::{CLOCK_NS, Costs};
pub use endpoint::Endpoint;
pub use placement::Placement;

/// A map that grows at the same insertions on every run, so that a guest's memory is laid out alike.
pub type Map<K, V> = std::collections::HashMap<K, V, std::hash::BuildHasherDefault<std::hash::DefaultHasher>>;
