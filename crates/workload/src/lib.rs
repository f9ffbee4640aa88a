//! Workloads of nodes: traffic patterns, skeletons of programs, traces.
//!
//! Everything that runs on the simulated nodes is a [`program::Program`]: a state machine that issues
//! operations and is notified of their completion. [`skeleton`]s are written like the programs themselves,
//! [`goal`] replays recorded ones, [`matching`] is the receive side of both, and [`mapping`] determines the
//! node of each rank.

pub mod config;
pub mod exchange;
pub mod glex;
pub mod gni;
pub mod goal;
pub mod job_program;
pub mod mapping;
pub mod measured;
pub mod mpi;
pub mod pami;
pub mod point_to_point;
pub mod processes;
pub mod shape;
pub mod skeleton;
pub mod spi;
pub mod traffic;

#[cfg(test)]
mod ideal;

pub use netloom_fabric::config::ConfigError;
pub use netloom_messaging::{matching, program};
