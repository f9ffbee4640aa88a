//! Loads that routers tell one another ("downstream load", carried by every tenth flit; "Aries Router").
//!
//! A router samples its load every few cycles and its neighbours know it as old as the link is long. As events these would be more
//! than packets. So a router only keeps its last samples, filled in when its load changes, and whoever wants to know reads the
//! sample that has had the time to come. What is read was settled in an earlier window wherever the two are in different blocks,
//! so that nobody waits and the result depends on neither threads nor blocks.

use netloom_engine::Time;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU16, AtomicU64};

/// The last samples of many loads. Clones share them.
#[derive(Clone)]
pub(super) struct Loads {
    /// Ticks.
    period: u64,
    /// Samples kept of each load.
    kept: u64,
    samples: Arc<[AtomicU16]>,
    /// For each load, how many samples have been taken: at 0, at the period's end and so on.
    taken: Arc<[AtomicU64]>,
    /// What each load is since the last of them.
    current: Arc<[AtomicU16]>,
}

impl Loads {
    /// So many loads, all 0, sampled at every multiple of `period`, and asked for by whom the news takes `age` to reach at most.
    pub fn new(count: usize, period: u64, age: u64) -> Self {
        // A writer in another block may be ahead of who reads by a window, which is no longer than the news takes.
        let kept = (2 * age / period + 2).next_power_of_two();
        Loads {
            period,
            kept,
            samples: (0..count * kept as usize).map(|_| AtomicU16::new(0)).collect(),
            taken: (0..count).map(|_| AtomicU64::new(0)).collect(),
            current: (0..count).map(|_| AtomicU16::new(0)).collect(),
        }
    }

    /// A load changes at `now`. One thread at a time writes a load.
    #[inline]
    pub fn change(&self, load: usize, now: Time, to: u16) {
        let taken = self.taken[load].load(Relaxed);
        let upto = now.ticks() / self.period + 1;
        if upto > taken {
            let old = self.current[load].load(Relaxed);
            for sample in taken.max(upto.saturating_sub(self.kept))..upto {
                self.samples[load * self.kept as usize + (sample % self.kept) as usize].store(old, Relaxed);
            }
            // Whoever sees the count sees the samples too.
            self.taken[load].store(upto, Release);
        }
        // And whoever sees what is new sees the count.
        self.current[load].store(to, Release);
    }

    /// The last sample of a load at `at` or before. The writer must have reached `at` in an earlier window, or be in the same block.
    #[inline]
    pub fn at(&self, load: usize, at: Time) -> u16 {
        let wanted = at.ticks() / self.period;
        let sampled = || {
            let is_taken = wanted < self.taken[load].load(Acquire);
            is_taken.then(|| {
                self.samples[load * self.kept as usize + (wanted % self.kept) as usize].load(Relaxed)
            })
        };
        sampled().unwrap_or_else(|| {
            let current = self.current[load].load(Acquire);
            // The writer may have changed it just now, and then has taken the sample before.
            sampled().unwrap_or(current)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_what_a_load_was_at_their_time() {
        let loads = Loads::new(2, 10, 500);
        assert_eq!(loads.at(1, Time::at(1_000_000)), 0);
        for (time, value) in [(3, 7), (10, 8), (11, 9), (40, 1), (200, 5)] {
            loads.change(1, Time::at(time), value);
        }
        let seen: Vec<u16> =
            [0, 9, 10, 19, 20, 39, 40, 49, 50, 200, 209, 210, 999].map(|at| loads.at(1, Time::at(at))).into();
        // A change at the very time of a sample is not in it.
        assert_eq!(seen, [0, 0, 7, 7, 9, 9, 9, 9, 1, 1, 1, 5, 5]);
        assert_eq!(loads.at(0, Time::at(50)), 0);
    }
}
