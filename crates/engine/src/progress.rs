//! Progress of a run as seen from outside, and how to stop it.

use crate::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Shared between a run and its observer. All values are those at the last window's edge.
#[derive(Default)]
pub struct Progress {
    time: AtomicU64,
    events: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    /// Current simulated time.
    pub fn time(&self) -> Time {
        Time::at(self.time.load(Relaxed))
    }

    /// Events applied so far, in all blocks.
    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }

    /// Requests that the run stop at the next window's edge.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether a stop was requested.
    pub fn stopping(&self) -> bool {
        self.stop.load(Relaxed)
    }

    pub(crate) fn reached(&self, time: Time) {
        self.time.store(time.ticks(), Relaxed);
    }

    pub(crate) fn count(&self, events: u64) {
        self.events.fetch_add(events, Relaxed);
    }
}
