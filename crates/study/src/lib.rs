//! Machines and studies as files; runs and sweeps; results as values.
//!
//! A study goes through here in this order: [`resolve`](mod@resolve) reads and checks it, what implements
//! [`run::Simulate`] runs it (the crate `netloom-simulate`), and a [`result::RunResult`] holds what was
//! measured. [`sweep`] does so for many points. What draws and writes results is the crate `netloom-report`,
//! what compares them with published figures `netloom-validate`.

pub mod claims;
pub mod decode;
pub mod diagnose;
mod interfaces;
pub mod interval;
pub mod keys;
pub mod library;
pub mod machine;
pub mod memory;
pub mod number;
pub mod profile;
pub mod published;
mod renamed;
pub mod resolve;
pub mod result;
pub mod run;
pub mod study;
pub mod sweep;
pub mod timeline;
pub mod tree;
pub mod windows;
