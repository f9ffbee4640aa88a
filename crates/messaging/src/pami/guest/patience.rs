//! When a thread of a guest waits for ever: what others do, and what counts as waiting.

use super::process::Settings;
use netloom_node::time::Microticks;
use std::sync::atomic::Ordering;

/// Parts of a patience: computing and sleeping that is shorter than one is taken for a part of a poll.
const SHORT_PARTS: u64 = 100_000;
/// Patiences after which nobody waits any more for others that compute or sleep: they may do so in a loop
/// without end.
const PATIENCES: u64 = 100;
/// Fewer polls in one call return to the program, which may do anything between two calls: computing takes no
/// time, and its loop may end by itself. So of each such call, which may last for longer since it is asked less
/// and less often, at most this time counts as waiting in vain, ns.
const POLLS_OF_A_WAIT: u64 = 100;
const COUNTED_MAX_NS: f64 = 5e4;

impl Settings {
    /// Notes that a guest computes or sleeps for this long, from now on.
    pub(super) fn set_busy(&self, now: Microticks, time: Microticks) {
        if time.ticks() > self.patience.ticks() / SHORT_PARTS {
            self.busy_until.fetch_max((now + time).ticks(), Ordering::Relaxed);
        }
    }

    /// Notes that a guest does something now.
    pub(super) fn set_active(&self, now: Microticks) {
        self.busy_until.fetch_max(now.ticks(), Ordering::Relaxed);
    }

    /// What counts of a call that has polled in vain, at most this number of times.
    pub(super) fn counted(&self, polls: u64, lasted: Microticks) -> Microticks {
        match polls {
            POLLS_OF_A_WAIT.. => lasted,
            _ => lasted.min(Microticks::of_f64(COUNTED_MAX_NS * self.ticks_per_ns * 1e6)),
        }
    }

    /// Whether nothing will come for who has waited in vain for this long. What others did a patience ago is
    /// seen here, on any number of threads: no two nodes are as far apart in simulated time.
    pub(super) fn lasts_for_ever(&self, waited: Microticks, now: Microticks) -> bool {
        let busy_until = Microticks::of_ticks(self.busy_until.load(Ordering::Relaxed));
        let is_idle = now.saturating_sub(busy_until) >= self.patience;
        waited >= self.patience && (is_idle || waited.ticks() / PATIENCES >= self.patience.ticks())
    }
}
