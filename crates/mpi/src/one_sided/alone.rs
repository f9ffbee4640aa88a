//! Puts that are alone between two flushes: their program waits for each, so that the kernel's copy, which
//! takes longer to begin but needs no answer, may be the faster path. Of several the packets overlap. Which a
//! put is, is only known at the next flush; until then it counts as the last one.

use super::Window;
use crate::paths::Path;
use crate::transport::{Process, Transport};
use std::cell::Cell;
use std::time::Instant;

/// The puts of a window since the last flush.
#[derive(Debug)]
pub(super) struct Puts {
    count: Cell<u32>,
    /// Whether the one before the last flush was alone.
    was_alone: Cell<bool>,
    trial: Cell<Option<Trial>>,
}

/// A put whose time is to be noted.
#[derive(Clone, Copy, Debug)]
struct Trial {
    to: Process,
    bytes: u64,
    path: Path,
    begin: Instant,
}

impl Default for Puts {
    fn default() -> Self {
        Puts { count: Cell::new(0), was_alone: Cell::new(true), trial: Cell::new(None) }
    }
}

impl Puts {
    /// Whether a put that begins now is likely to be alone.
    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        self.count.get() == 0 && self.was_alone.get()
    }

    /// A put begins.
    #[inline(always)]
    pub fn begin(&self) {
        self.count.set(self.count.get().saturating_add(1));
    }

    /// The time from now to the next flush is to be noted, if this put stays alone.
    #[cold]
    pub fn begin_trial(&self, to: Process, bytes: u64, path: Path) {
        self.trial.set(Some(Trial { to, bytes, path, begin: Instant::now() }));
    }

    /// The time is of no use.
    pub fn end_trial(&self) {
        self.trial.set(None);
    }

    /// All puts so far are at their targets; the trial whose time is to be noted, if one was alone.
    #[inline]
    fn have_arrived(&self) -> Option<Trial> {
        let count = self.count.replace(0);
        if count > 0 {
            self.was_alone.set(count == 1);
        }
        self.trial.take().filter(|_| count == 1)
    }
}

impl<T: Transport> Window<T> {
    /// All puts so far are at their targets.
    #[inline]
    pub(super) fn puts_have_arrived(&self) {
        if let Some(Trial { to, bytes, path, begin }) = self.puts.have_arrived() {
            self.point_to_point.transport().note_put(to, bytes, path, Some(begin.elapsed()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_put_counts_as_the_last_one() {
        let puts = Puts::default();
        let epoch = |count| {
            let alone = (0..count).map(|_| (puts.is_alone(), puts.begin()).0).collect::<Vec<_>>();
            assert!(puts.have_arrived().is_none());
            alone
        };
        assert_eq!(epoch(1), [true]);
        assert_eq!(epoch(3), [true, false, false]);
        assert_eq!(epoch(1), [false]);
        // A flush after nothing says nothing.
        assert_eq!(epoch(0), []);
        assert_eq!(epoch(1), [true]);
    }

    #[test]
    fn the_time_of_several_is_no_trial() {
        let puts = Puts::default();
        for count in [1, 2] {
            puts.begin_trial(3, 8, Path::Copy);
            (0..count).for_each(|_| puts.begin());
            assert_eq!(
                puts.have_arrived().map(|trial| (trial.to, trial.path)),
                (count == 1).then_some((3, Path::Copy))
            );
            assert!(puts.have_arrived().is_none(), "it is noted once");
        }
    }
}
