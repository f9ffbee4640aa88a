//! Launches the tasks of a job: processes of one program that inherit the job's segment, in the launcher's
//! own process group, until all have ended.
//!
//! - A task that ends before it has left the job is marked [`State::Ended`](crate::segment::State::Ended).
//! - A task that fails is marked [`State::Dead`](crate::segment::State::Dead). The others have some time to
//!   notice, then get SIGTERM, then SIGKILL.
//! - Signals that the launcher receives go to all tasks, except those that a terminal has sent to all
//!   already.
//! - No process is left behind: tasks die with the launcher, and what they started and left is adopted and
//!   ended.
//!
//! The launcher changes signal handlers and waits for any child, so a process launches one job at a time, and
//! has no other children meanwhile.
//!
//! - `job.rs` – what is launched, and how it ended.
//! - `launcher.rs` – starts the tasks and waits for them.
//! - `environment.rs` – their environment variables and cores.
//! - `output.rs` – their output, line by line.
//! - `signals.rs` – signals that the launcher receives and sends.

mod environment;
mod job;
mod launcher;
mod output;
mod signals;

pub use environment::share_core;
pub use job::{Bind, Failure, Job, LaunchError, Outcome, TIMED_OUT};
pub use launcher::{launch, launch_in};
