//! What the nodes do: traffic patterns, skeletons of programs, traces.

pub mod config;
