//! Loads exchanged between routers ("downstream load", carried by every tenth flit; "Aries Router").
//!
//! A router samples its load every few cycles, and its neighbours receive it with the delay of the link. As
//! events these would outnumber packets. So a router only stores its last samples, updated when its load
//! changes, and readers look up the sample that has had the time to arrive. If reader and writer are in
//! different blocks, that sample was fixed in an earlier window, so that no thread waits and the result
//! depends on neither threads nor blocks. If several processes simulate the machine, each tells the others at
//! the end of a window which loads of its routers have changed, and when.

use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::{SharedState, Time, decode, encode};
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU16, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The last samples of a set of loads. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Loads {
    /// Sampling period, ticks.
    period: u64,
    /// Number of samples kept of each load.
    kept: u64,
    samples: Arc<[AtomicU16]>,
    /// For each load, the number of samples taken: at 0, at the end of each period.
    taken: Arc<[AtomicU64]>,
    /// The current value of each load, since its last sample.
    current: Arc<[AtomicU16]>,
    /// The changes that other processes have not heard of: load, time, value. `None` if there are none.
    changes: Option<Arc<Mutex<Vec<Change>>>>,
}

/// A load that has changed: its number, when, its value.
type Change = (u32, Time, u16);

/// The loads of routers and of links, of which processes tell each other.
#[derive(Debug)]
pub(super) struct SharedLoads(pub [Loads; 2]);

impl SharedState for SharedLoads {
    fn take(&self) -> Vec<u8> {
        let taken = self
            .0
            .each_ref()
            .map(|loads| loads.changes.as_ref().map(|list| std::mem::take(&mut *lock(list))));
        encode(&taken)
    }

    fn apply(&self, changes: &[u8]) {
        let changes: [Option<Vec<Change>>; 2] = decode(changes);
        for (loads, changes) in self.0.iter().zip(changes) {
            for (load, at, value) in changes.into_iter().flatten() {
                loads.set(load as usize, at, value);
            }
        }
    }
}

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Loads {
    /// `count` loads, all 0, sampled at every multiple of `period`, and read with a delay of at most `age`; in
    /// several processes, if it is shared.
    pub fn new(count: usize, period: u64, age: u64, is_shared: bool) -> Self {
        // A writer in another block may be ahead of a reader by a window, which is no longer than the delay.
        let kept = (2 * age / period + 2).next_power_of_two();
        Loads {
            period,
            kept,
            samples: (0..count * kept as usize).map(|_| AtomicU16::new(0)).collect(),
            taken: (0..count).map(|_| AtomicU64::new(0)).collect(),
            current: (0..count).map(|_| AtomicU16::new(0)).collect(),
            changes: is_shared.then(Arc::default),
        }
    }

    /// Writes all loads, between two windows.
    pub fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        let small = |list: &[AtomicU16]| list.iter().map(|of| of.load(Relaxed)).collect::<Vec<u16>>();
        let taken: Vec<u64> = self.taken.iter().map(|of| of.load(Relaxed)).collect();
        (small(&self.samples), taken, small(&self.current)).serialize(to)
    }

    /// Reads them.
    pub fn load(&self, from: &mut &[u8]) -> io::Result<()> {
        let (samples, taken, current): (Vec<u16>, Vec<u64>, Vec<u16>) = BorshDeserialize::deserialize(from)?;
        if [samples.len(), taken.len()] != [self.samples.len(), self.taken.len()] {
            return Err(io::Error::other("another number of loads"));
        }
        self.samples.iter().zip(samples).for_each(|(of, is)| of.store(is, Relaxed));
        self.taken.iter().zip(taken).for_each(|(of, is)| of.store(is, Relaxed));
        self.current.iter().zip(current).for_each(|(of, is)| of.store(is, Relaxed));
        Ok(())
    }

    /// Sets a load at `now`. Only one thread at a time may write a load.
    #[inline]
    pub fn change(&self, load: usize, now: Time, to: u16) {
        if let Some(changes) = &self.changes {
            lock(changes).push((load as u32, now, to));
        }
        self.set(load, now, to);
    }

    #[inline(always)]
    fn set(&self, load: usize, now: Time, to: u16) {
        let taken = self.taken[load].load(Relaxed);
        // Most changes are within a period: that divides nothing.
        if now.ticks() >= taken * self.period {
            let upto = now.ticks() / self.period + 1;
            let old = self.current[load].load(Relaxed);
            for sample in taken.max(upto.saturating_sub(self.kept))..upto {
                self.samples[load * self.kept as usize + (sample % self.kept) as usize].store(old, Relaxed);
            }
            // A reader that sees the count sees the samples too.
            self.taken[load].store(upto, Release);
        }
        // A reader that sees the new value sees the count.
        self.current[load].store(to, Release);
    }

    /// The last sample of a load at or before `at`. The writer must have reached `at` in an earlier window,
    /// or be in the same block.
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
            // The writer may have changed it just now, in which case it has taken the sample before.
            sampled().unwrap_or(current)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_what_a_load_was_at_their_time() {
        let loads = Loads::new(2, 10, 500, false);
        assert_eq!(loads.at(1, Time::at(1_000_000)), 0);
        for (time, value) in [(3, 7), (10, 8), (11, 9), (40, 1), (200, 5)] {
            loads.change(1, Time::at(time), value);
        }
        let seen: Vec<u16> =
            [0, 9, 10, 19, 20, 39, 40, 49, 50, 200, 209, 210, 999].map(|at| loads.at(1, Time::at(at))).into();
        // A change at the exact time of a sample is not part of it.
        assert_eq!(seen, [0, 0, 7, 7, 9, 9, 9, 9, 1, 1, 1, 5, 5]);
        assert_eq!(loads.at(0, Time::at(50)), 0);
    }
}
