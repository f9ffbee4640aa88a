//! Machines and studies as files; runs and sweeps; results as values.
//!
//! A study goes through here in this order: [`resolve`](mod@resolve) reads and checks it, [`simulate`] runs it, and a
//! [`result::RunResult`] holds what was measured. [`sweep`] does so for many points. What draws and writes results is the crate
//! `netloom-report`, what compares them with published figures `netloom-validate`.

pub mod claims;
pub mod decode;
pub mod diagnose;
mod errors;
pub mod interval;
pub mod keys;
pub mod library;
pub mod machine;
mod measure;
pub mod memory;
pub mod number;
pub mod published;
mod renamed;
pub mod resolve;
pub mod result;
pub mod run;
pub mod simulate;
pub mod study;
pub mod sweep;
pub mod tree;
pub mod windows;
