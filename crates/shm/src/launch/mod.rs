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
//! At the time limit tasks report what they wait for, and have a moment for it.
//!
//! A task can ask the launcher of `netloom exec` for more tasks, and for names of ports and services. Tasks
//! that are started together are a world of their own, and tasks of the job like all others.
//!
//! The launcher changes signal handlers and waits for any child, so a process launches one job at a time, and
//! has no other children meanwhile.
//!
//! - `job.rs` – what is launched, and how it ended.
//! - `launcher.rs` – starts the tasks and waits for them.
//! - `spawn.rs` – starts more tasks while the job runs.
//! - `request.rs`, `service.rs`, `names.rs` – what tasks ask of the launcher, and how; ports and services.
//! - `environment.rs` – their environment variables and cores.
//! - `output.rs` – their output, line by line.
//! - `signals.rs` – signals that the launcher receives and sends.

mod environment;
mod job;
mod launcher;
mod names;
mod output;
mod request;
mod service;
mod signals;
mod spawn;

pub use environment::{World, share_core, share_core_of, started_together, universe};
pub use job::{AtLimit, Bind, Failure, Job, LaunchError, Outcome, TIMED_OUT};
pub use launcher::{launch, launch_in};
pub use request::{Answer, Command, Request, Waiting};
pub use service::{Asked, ask};
