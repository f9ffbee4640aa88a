//! Actions due at a node, with times in millionths of a tick, so that rates that are not multiples of the
//! router's clock are exact.

use crate::time::Microticks;
use netloom_engine::{Time, prefetch};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Pending actions, ordered by time, then by rank, then by insertion.
pub struct Agenda<T> {
    heap: BinaryHeap<Entry<T>>,
    count: u64,
    /// The wake-up time requested from the fabric.
    armed: Time,
}

/// The highest rank.
const LAST: u32 = (1 << 24) - 1;

struct Entry<T> {
    at: Microticks,
    /// The rank in the high bits, and the number of earlier insertions.
    number: u64,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    /// The earliest action compares greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Agenda { heap: BinaryHeap::new(), count: 0, armed: Time::MAX }
    }
}

impl<T> Agenda<T> {
    /// Schedules an action.
    pub fn at(&mut self, at: Microticks, what: T) {
        self.at_ranked(at, 0, what);
    }

    /// Schedules an action after those with a lower rank at the same time. Ranks are below 2^24, except for
    /// the highest, [`u32::MAX`].
    pub fn at_ranked(&mut self, at: Microticks, rank: u32, what: T) {
        self.count += 1;
        let rank = u64::from(rank.min(LAST));
        self.heap.push(Entry { at, number: rank << 40 | self.count, what });
    }

    /// Whether any action is due by a tick.
    pub fn is_due(&self, now: Time) -> bool {
        self.heap.peek().is_some_and(|entry| entry.at <= Microticks::at(now))
    }

    /// Prefetches the entries that the next action and its removal need first.
    #[inline]
    pub fn prefetch(&self) {
        self.heap.as_slice().iter().take(4).for_each(prefetch);
    }

    /// The next action.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        self.heap.peek().map(|entry| &entry.what)
    }

    /// The next action due by a tick, with its exact time.
    pub fn due(&mut self, now: Time) -> Option<(Microticks, T)> {
        if !self.is_due(now) {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.what))
    }

    /// The tick of the next wake-up, if the fabric does not know it yet.
    pub fn arm(&mut self, now: Time) -> Option<Time> {
        if self.armed <= now {
            self.armed = Time::MAX;
        }
        let at = self.heap.peek()?.at.tick_up().max(now + 1);
        (at < self.armed).then(|| {
            self.armed = at;
            at
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_done_in_order() {
        let (at, mut agenda) = (Time::at, Agenda::default());
        for (due, what) in [(3_500_000, 'c'), (2_000_001, 'a'), (3_500_000, 'd'), (2_900_000, 'b')] {
            agenda.at(Microticks(due), what);
        }
        assert_eq!((agenda.arm(at(0)), agenda.arm(at(0))), (Some(at(3)), None));
        assert!(agenda.due(at(2)).is_none());
        assert_eq!(
            [agenda.due(at(3)), agenda.due(at(3))],
            [Some((Microticks(2_000_001), 'a')), Some((Microticks(2_900_000), 'b'))]
        );
        assert!(agenda.due(at(3)).is_none());
        assert_eq!(agenda.arm(at(3)), Some(at(4)));
        assert_eq!([agenda.due(at(4)).map(|d| d.1), agenda.due(at(4)).map(|d| d.1)], [Some('c'), Some('d')]);
        assert_eq!(agenda.arm(at(4)), None);
    }
}
