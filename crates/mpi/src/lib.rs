//! MPI over any transport, free of I/O, of C and of threads: requests, matching, datatypes, reductions,
//! collectives.
//!
//! - [`transport`] – what carries messages.
//! - [`point_to_point`] – sends, receives, their requests.
//! - [`matching`] – posted receives and unexpected messages; `unexpected` – the data of the latter.
//! - [`group`] – the processes of a communicator, and its context; [`topology`] – grids of them.
//! - [`contexts`] – how processes agree on the context of a communicator.
//! - [`collective`] – collective operations as `async fn` over point-to-point messages.
//! - [`one_sided`] – windows: memory that other processes access.
//! - [`datatype`], [`op`] – types and predefined reductions.
//! - [`error`] – error classes.
//! - [`paths`], [`fetched`] – which of two paths is faster, by trials.
//! - [`handles`] – the objects that a program makes.
//! - [`waits`] – for what a process waits, and why all of them do.

pub mod collective;
pub mod contexts;
pub mod datatype;
pub mod error;
pub mod fetched;
pub mod group;
pub mod handles;
pub mod matching;
pub mod one_sided;
pub mod op;
pub mod paths;
pub mod point_to_point;
mod soft_float;
pub mod topology;
pub mod transport;
mod unexpected;
pub mod waits;
