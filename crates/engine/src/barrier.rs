//! A barrier for windows of microseconds: it spins before it gives its core away.

use std::sync::atomic::{AtomicUsize, Ordering::*};

/// Turns of the spin before a waiting thread yields. Windows of a large machine are far apart, and then the yield is what
/// lets another process use the core.
const SPINS: u32 = 4000;

/// A reusable barrier for a fixed number of threads. The last to arrive may do something before the others go on.
pub(crate) struct Barrier {
    threads: usize,
    /// How many have arrived in this round.
    arrived: AtomicUsize,
    /// Rounds completed. Written only by the last to arrive, after its work: whoever sees the new value sees that work.
    round: AtomicUsize,
}

impl Barrier {
    pub(crate) fn new(threads: usize) -> Self {
        Barrier { threads, arrived: AtomicUsize::new(0), round: AtomicUsize::new(0) }
    }

    /// Waits for all threads; the last one runs `last` while the others still wait.
    pub(crate) fn wait(&self, last: impl FnOnce()) {
        // Read before arriving: afterwards the round may end at any moment.
        let round = self.round.load(Relaxed);
        // AcqRel: the last to arrive sees what every other thread did before it arrived.
        if self.arrived.fetch_add(1, AcqRel) + 1 == self.threads {
            last();
            self.arrived.store(0, Relaxed);
            self.round.store(round.wrapping_add(1), Release);
            return;
        }
        let mut spins = 0;
        while self.round.load(Acquire) == round {
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_early() {
        let barrier = Barrier::new(3);
        let (count, lasts) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 0..2000 {
                        count.fetch_add(1, Relaxed);
                        barrier.wait(|| {
                            assert_eq!(count.load(Relaxed), 3 * (round + 1));
                            lasts.fetch_add(1, Relaxed);
                        });
                        assert!(count.load(Relaxed) >= 3 * (round + 1));
                        barrier.wait(|| ());
                    }
                });
            }
        });
        assert_eq!(lasts.load(Relaxed), 2000);
    }
}
