//! How many threads a run gains from: several, where blocks take longer beside the longest one of their
//! window than threads take to wait for each other; otherwise one. Results do not depend on it, so the time
//! that this computer takes may decide.
#![allow(unexpected_cfgs)] // loom is set by hand.

use std::time::Instant;

/// What a window gains at most from other threads, below which one is faster, ns: a barrier takes 100 to 600.
const LEAST_NS: u64 = 1000;
/// What the windows of a run are worth in a row before it changes its number of threads: threads take some 50
/// us to begin.
const SMALL: u32 = 64;
/// What a window with a large gain is worth.
const LARGE: u32 = 4;

/// What windows would gain from several threads, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gain {
    /// Whether it is small, so that one thread is better.
    pub is_small: bool,
    /// The last windows with a small gain, less those with a large one.
    score: u32,
}

impl Gain {
    /// As at the beginning of a run.
    pub const SMALL: Gain = Gain { is_small: true, score: SMALL };
    /// Another window would gain this, ns. Returns whether another number of threads is better now.
    pub fn weigh(&mut self, ns: u64) -> bool {
        let before = self.is_small;
        self.score = if ns < LEAST_NS { SMALL.min(self.score + 1) } else { self.score.saturating_sub(LARGE) };
        match self.score {
            0 => self.is_small = false,
            SMALL => self.is_small = true,
            _ => {}
        }
        self.is_small != before
    }
}

/// The time that a thread takes for the blocks of a window.
pub(crate) struct Stopwatch {
    last: Instant,
    pub sum_ns: u64,
    pub longest_ns: u64,
}

impl Stopwatch {
    pub fn start() -> Self {
        Stopwatch { last: Instant::now(), sum_ns: 0, longest_ns: 0 }
    }

    /// A block is done.
    pub fn lap(&mut self) {
        let now = Instant::now();
        let ns = (now - self.last).as_nanos() as u64;
        self.last = now;
        self.sum_ns += ns;
        self.longest_ns = self.longest_ns.max(ns);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_changes_after_many_windows_and_not_for_a_few() {
        let mut gain = Gain::SMALL;
        let heavy = SMALL / LARGE;
        assert!((1..heavy).all(|_| !gain.weigh(LEAST_NS)) && gain.weigh(LEAST_NS) && !gain.is_small);
        assert!(!gain.weigh(LEAST_NS));
        // Now and then a window with little to do changes nothing.
        assert!((0..1000).all(|n| !gain.weigh(if n % 3 == 0 { 5000 } else { 0 })));
        assert!((0..SMALL).filter(|_| gain.weigh(0)).count() == 1 && gain.is_small);
        assert!((0..1000).all(|n| !gain.weigh(if n % 10 == 0 { 5000 } else { 0 })));
    }
}
