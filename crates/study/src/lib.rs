//! Machines and studies as files; runs, sweeps, comparison with published figures, reports.
//!
//! A study goes through here in this order: [`resolve`] reads and checks it, [`mod@run`] has it simulated, [`mod@write`]
//! puts the result into a folder, [`terminal`] tells a person. [`sweep`] does so for many points, [`validate`] for the
//! published figures.

pub mod bench;
pub mod beside;
pub mod compare;
pub mod decode;
pub mod diagnose;
mod errors;
pub mod figures;
mod fitted;
pub mod judges;
pub mod machine;
mod measure;
pub mod memory;
pub mod published;
mod renamed;
pub mod resolve;
pub mod result;
pub mod run;
pub mod simulate;
pub mod study;
pub mod sweep;
pub mod tally;
pub mod terminal;
pub mod tree;
pub mod validate;
pub mod verdicts;
pub mod windows;
pub mod write;
