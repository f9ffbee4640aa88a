//! The simulator's end of the channel to a guest: it lets the guest run, waits until it hands over, and notices
//! when it has ended.
#![allow(unsafe_code)]

use crate::memory::Status;
use netloom_messaging::pami::guest::process::Guest;
use netloom_messaging::pami::guest::{Reply, Requests, Then};
use netloom_node::process::Failure;
use netloom_shm::channel::Channel;
use netloom_shm::segment::{Segment, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often it looks whether a guest that runs has ended.
const LOOK: Duration = Duration::from_millis(20);
/// A guest that runs for longer by itself is worth a word.
const LONG: Duration = Duration::from_secs(10);

/// What the links of a job share.
#[derive(Debug, Default)]
pub struct Shared {
    /// The job is over: nobody waits for a guest any more.
    pub is_over: AtomicBool,
    /// The process of a task has failed.
    pub has_crashed: AtomicBool,
    /// Hand-overs to guests.
    pub hand_overs: AtomicU64,
}

/// The end of a task's channel.
pub struct GuestLink {
    /// The channel.
    pub channel: Channel,
    /// The job.
    pub segment: Arc<Segment>,
    /// The task.
    pub task: u32,
    /// See [`Status`].
    pub status: Arc<Status>,
    /// See [`Shared`].
    pub shared: Arc<Shared>,
}

/// What has become of a process.
enum Life {
    Runs,
    Ended,
    Failed,
}

impl GuestLink {
    fn life(&self) -> Life {
        let record = self.segment.task(self.task);
        match (record.state(), record.pid()) {
            (State::Dead, _) => Life::Failed,
            // Perhaps it never used the library.
            (State::Ended, _) => Life::Ended,
            // It has left its clients, and may go on; the launcher waits for it.
            // SAFETY: a system call that only asks.
            (State::Finished, pid) if unsafe { libc::kill(pid, 0) } != 0 => Life::Ended,
            _ => Life::Runs,
        }
    }

    /// Waits until the guest hands over.
    fn wait(&self) -> Result<Requests, Failure> {
        let (began, mut has_told) = (Instant::now(), false);
        while !self.channel.sleep(LOOK) {
            let life = self.life();
            if self.channel.is_own_turn() {
                break;
            }
            match life {
                Life::Ended => {
                    self.status.end();
                    return Ok(Requests { list: vec![], then: Then::End });
                }
                Life::Failed => {
                    self.shared.has_crashed.store(true, Ordering::Release);
                    self.shared.is_over.store(true, Ordering::Release);
                    return Err(Failure::new("task", OVER));
                }
                Life::Runs if self.shared.is_over.load(Ordering::Acquire) => {
                    return Err(Failure::new("task", OVER));
                }
                Life::Runs => {}
            }
            if began.elapsed() > LONG && !std::mem::replace(&mut has_told, true) {
                eprintln!(
                    "netloom: task {} has run for {} s without a call of its library; simulated time stands still meanwhile",
                    self.task,
                    LONG.as_secs()
                );
            }
        }
        let requests: Result<Requests, _> = postcard::from_bytes(self.channel.message());
        if requests.as_ref().is_ok_and(|requests| requests.then == Then::End) {
            self.status.end();
        }
        requests
            .map_err(|error| Failure::new("guest", format!("its library is of another version ({error})")))
    }
}

/// The failure of a task that was ended with its job.
pub const OVER: &str = "the job is over";

impl Guest for GuestLink {
    fn begin(&mut self) -> Result<Requests, Failure> {
        self.wait()
    }

    fn exchange(&mut self, reply: &Reply) -> Result<Requests, Failure> {
        let message = postcard::to_stdvec(reply).map_err(|error| Failure::new("guest", error))?;
        self.shared.hand_overs.fetch_add(1, Ordering::Relaxed);
        self.channel.pass(&message);
        self.wait()
    }

    fn fault(&self) -> Option<String> {
        self.status.fault()
    }
}
