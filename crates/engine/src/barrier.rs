//! A barrier for windows of microseconds: waiting threads spin before they yield.

//!
//! `RUSTFLAGS="--cfg loom" cargo test -p netloom-engine --release loom` runs it under loom, which explores
//! all orders that the memory model allows.
#![allow(unexpected_cfgs)] // loom is set by hand.

use std::sync::atomic::Ordering::*;

// Only the tests use loom, so nothing else under that flag needs it.
#[cfg(all(loom, test))]
use loom::{hint::spin_loop, sync::atomic::AtomicUsize, thread::yield_now};
#[cfg(not(all(loom, test)))]
use std::{hint::spin_loop, sync::atomic::AtomicUsize, thread::yield_now};

/// Spins before a waiting thread yields. Windows of a large machine are long, and yielding lets other
/// processes use the core. Under loom another spin would not be a new case; under Miri spins only take time.
const SPINS: u32 = if cfg!(any(miri, all(loom, test))) { 0 } else { 4000 };

/// A reusable barrier for a fixed number of threads. The last to arrive may run a closure before the others
/// continue.
pub(crate) struct Barrier {
    threads: usize,
    /// Number of threads that have arrived in this round.
    arrived: AtomicUsize,
    /// Rounds completed. Written only by the last to arrive, after its closure: a thread that sees the new
    /// value sees the closure's effects.
    round: AtomicUsize,
}

impl Barrier {
    pub(crate) fn new(threads: usize) -> Self {
        Barrier { threads, arrived: AtomicUsize::new(0), round: AtomicUsize::new(0) }
    }

    /// Waits for all threads; the last one runs `last` while the others still wait.
    pub(crate) fn wait(&self, last: impl FnOnce()) {
        let Some(round) = self.arrive(last) else { return };
        let mut spins = 0;
        while self.round.load(Acquire) == round {
            if spins < SPINS {
                spins += 1;
                spin_loop();
            } else {
                yield_now();
            }
        }
    }

    /// Counts this thread in and returns the round whose end it must wait for; `None` if it was the last and
    /// ended the round.
    #[inline]
    fn arrive(&self, last: impl FnOnce()) -> Option<usize> {
        // Read before arriving: afterwards the round may end at any time.
        let round = self.round.load(Relaxed);
        // AcqRel: the last to arrive sees everything that the other threads did before they arrived.
        if self.arrived.fetch_add(1, AcqRel) + 1 < self.threads {
            return Some(round);
        }
        last();
        self.arrived.store(0, Relaxed);
        self.round.store(round.wrapping_add(1), Release);
        None
    }
}

#[cfg(all(loom, test))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// Threads write before the barrier and read after it; relaxed, so that only the barrier orders them. All
    /// but the first `waiting` only arrive, in one round: with two spinning threads, loom would alternate
    /// between them forever.
    fn all_orders(threads: usize, waiting: usize, rounds: usize) {
        loom::model(move || {
            let barrier = Arc::new(Barrier::new(threads));
            let written: Arc<Vec<_>> = Arc::new((0..threads).map(|_| AtomicUsize::new(0)).collect());
            let lasts = Arc::new(AtomicUsize::new(0));
            let body = move |thread: usize| {
                for round in 1..=rounds {
                    written[thread].store(round, Relaxed);
                    let last = || {
                        assert!(written.iter().all(|w| w.load(Relaxed) == round), "the last sees all before");
                        assert_eq!(lasts.load(Relaxed), round - 1, "one is the last in each round");
                        lasts.store(round, Relaxed);
                    };
                    if thread >= waiting {
                        barrier.arrive(last);
                        return;
                    }
                    barrier.wait(last);
                    // No thread passes the next round before this thread arrives.
                    assert_eq!(lasts.load(Relaxed), round, "what the last did is seen behind the barrier");
                    assert!(written.iter().all(|w| (round..=round + 1).contains(&w.load(Relaxed))));
                }
            };
            let others: Vec<_> = (1..threads)
                .map(|thread| {
                    let body = body.clone();
                    loom::thread::spawn(move || body(thread))
                })
                .collect();
            body(0);
            others.into_iter().for_each(|t| t.join().expect("a thread"));
        });
    }

    #[test]
    fn loom_two_threads() {
        all_orders(2, 2, 3);
    }

    #[test]
    fn loom_three_threads() {
        all_orders(3, 1, 1);
    }
}

// Outside a model loom's atomics do not work.
#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_thread_passes_early() {
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
