//! Messages between the processes of one computer (Kumar et al., *PAMI*, section III.F): one segment of
//! shared memory per job, in which each context of a process has one queue that all others write to, so that
//! memory does not grow with the number of pairs.
//!
//! - [`queue`] – the queue, many writers and one reader, without locks.
//! - [`channel`] – the simulator and a program that runs on a simulated node, by turns.
//! - [`doorbell`] – how a process sleeps until something is written to it.
//! - [`segment`] – the shared memory of a job, and where what lies in it.
//! - [`flags`] – a few bytes that another process looks at, for short collectives.
//! - [`blocks`] – memory that the tasks of a job share by name.
//! - [`launch`] – starts the processes of a job, and waits until they have ended.
//! - [`memory`] – reads and writes of the memory of another process, in one copy.
//! - [`assist`] – such a copy by both processes at once.
//! - [`bare`] – what the hardware does between two cores, to compare with.
//!
//! This crate knows bytes only; protocols stand in `netloom-messaging`. Linux only.

#![allow(unexpected_cfgs)] // loom is set by hand.

pub mod assist;
pub mod bare;
pub mod blocks;
pub mod channel;
pub mod doorbell;
pub mod fastbox;
pub mod flags;
pub mod launch;
pub mod memory;
pub mod queue;
pub mod segment;
mod sync;
