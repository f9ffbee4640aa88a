//! Stretches of time so short that the parts of a block cannot affect each other within one, since every
//! delay between two parts is longer. Each part goes through a whole stretch by itself, tick by tick, before
//! the next part does, so that its state stays in the cache: the windows of
//! [`Simulation`](crate::Simulation), within a block. The result is the same as that of all parts advancing
//! together, tick by tick.

use crate::{Calendar, Grouped, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use std::io;

/// An event of one part of a block.
pub trait Owned {
    /// The part's number in the block.
    fn owner(&self) -> u32;
}

/// Maximum number of ticks in a stretch: one bit each.
pub const STRETCH_TICKS_MAX: u64 = 64;

/// The calendar of a block of parts. First [`begin`](Self::begin) a stretch; then, for each
/// [`next_owner`](Self::next_owner), [`take`](Self::take) one tick after another.
pub struct Stretches<E> {
    calendar: Calendar<E>,
    /// Maximum length of a stretch, ticks.
    most: u64,
    /// The current stretch; its end is 0 between stretches.
    start: Time,
    end: Time,
    /// The events known at its start, with their ticks: by owner and tick.
    known: Grouped<(u32, E)>,
    /// The remaining events of the current owner, and the position up to which they have been prefetched.
    left: std::ops::Range<usize>,
    looked_at: usize,
    /// Events that the current owner has added for itself since, by tick; and one bit for each tick with any.
    own: Vec<Vec<E>>,
    occupied: u64,
    /// The events of a tick; kept to reuse the memory.
    taken: Vec<E>,
}

impl<E: Copy + Default + Owned> Stretches<E> {
    /// For `owners` parts, with no delay between two parts below `shortest` ticks.
    pub fn new(owners: usize, shortest: u64) -> Self {
        let most = shortest.clamp(1, STRETCH_TICKS_MAX);
        Stretches {
            calendar: Calendar::new(),
            most,
            start: Time::ZERO,
            end: Time::ZERO,
            known: Grouped::new(owners),
            left: 0..0,
            looked_at: 0,
            own: (0..most).map(|_| vec![]).collect(),
            occupied: 0,
            taken: vec![],
        }
    }

    /// Adds an event: within a stretch, one of the current owner or after the end of the stretch.
    #[inline]
    pub fn push(&mut self, time: Time, event: E) {
        if time < self.end {
            let tick = self.tick(time);
            self.own[tick].push(event);
            self.occupied |= 1 << tick;
        } else {
            self.calendar.push(time, event);
        }
    }

    /// Something is to be taken at a time, though perhaps no event: its tick in the stretch, if it is within it.
    /// It is the current owner's.
    #[inline]
    pub fn mark(&mut self, time: Time) -> Option<usize> {
        (time < self.end).then(|| {
            let tick = self.tick(time);
            self.occupied |= 1 << tick;
            tick
        })
    }

    /// The tick in the current stretch of a time within it, below [`STRETCH_TICKS_MAX`].
    #[inline]
    pub fn tick(&self, time: Time) -> usize {
        (time - self.start) as usize
    }

    /// Writes all events, between stretches.
    ///
    /// # Errors
    /// That of the writer.
    pub fn store(&self, to: &mut Vec<u8>) -> io::Result<()>
    where
        E: BorshSerialize,
    {
        debug_assert!(self.end == Time::ZERO && self.occupied == 0, "a stretch has not ended");
        self.calendar.serialize(to)
    }

    /// Reads them.
    ///
    /// # Errors
    /// If they are not such events.
    pub fn load(&mut self, from: &mut &[u8]) -> io::Result<()>
    where
        E: BorshDeserialize,
    {
        self.calendar = BorshDeserialize::deserialize(from)?;
        Ok(())
    }

    /// The time of the earliest event, between stretches.
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        self.calendar.next_time()
    }

    /// Begins a stretch with the earliest event; it ends at `until` at the latest.
    pub fn begin(&mut self, until: Time) {
        let Some(start) = self.next_time() else { return };
        (self.start, self.end) = (start, until.min(start + self.most));
        while let Some(now) = self.next_time().filter(|&time| time < self.end) {
            self.calendar.take(now, &mut self.taken);
            for &event in &self.taken {
                self.known.add(event.owner(), ((now - start) as u32, event));
            }
        }
        self.known.sort_owners();
        self.known.place(|known| known.1.owner());
        (self.left, self.looked_at) = (0..0, 0);
    }

    /// The next owner; `None` ends the stretch.
    #[inline]
    pub fn next_owner(&mut self) -> Option<u32> {
        let Some((owner, events)) = self.known.next_owner() else {
            self.end = Time::ZERO;
            return None;
        };
        self.left = events;
        Some(owner)
    }

    /// Takes the events of the next tick at which the current owner has any, or that is [marked](Self::mark),
    /// into `into`, which is cleared first.
    #[inline]
    pub fn take(&mut self, into: &mut Vec<E>) -> Option<Time> {
        into.clear();
        let known = &self.known.placed()[self.left.clone()];
        let first = known.first().map_or(u32::MAX, |event| event.0);
        let tick = first.min(self.occupied.trailing_zeros());
        if u64::from(tick) >= STRETCH_TICKS_MAX {
            return None;
        }
        if self.occupied >> tick & 1 != 0 {
            self.occupied &= !(1 << tick);
            std::mem::swap(into, &mut self.own[tick as usize]);
        }
        if first == tick {
            let count = known.iter().take_while(|event| event.0 == tick).count();
            into.extend(known[..count].iter().map(|event| event.1));
            self.left.start += count;
        }
        Some(self.start + u64::from(tick))
    }

    /// Calls the function with events after those taken, each once, for prefetching.
    #[inline]
    pub fn look_ahead(&mut self, count: usize, mut visit: impl FnMut(&E)) {
        let upto = (self.left.start + count).min(self.known.len());
        while self.looked_at < upto {
            visit(&self.known.placed()[self.looked_at].1);
            self.looked_at += 1;
        }
    }

    /// Memory that it occupies, bytes.
    pub fn bytes(&self) -> usize {
        self.calendar.bytes() + self.known.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[derive(Clone, Copy, Default)]
    struct Hop {
        at: u32,
        number: u64,
    }

    impl Owned for Hop {
        fn owner(&self) -> u32 {
            self.at
        }
    }

    /// Parts that pass numbers on to others after at least `SHORTEST` ticks, and to themselves after any
    /// time: the numbers that each has received, in order.
    fn run(most: u64, until: &[u64]) -> Vec<Vec<(Time, u64)>> {
        const PARTS: u32 = 7;
        const SHORTEST: u64 = 9;
        let mut stretches = Stretches::<Hop>::new(PARTS as usize, most.min(SHORTEST));
        (0..PARTS).for_each(|at| stretches.push(Time::at(u64::from(at) % 3), Hop { at, number: 0 }));
        let mut streams: Vec<Stream> = (0..PARTS).map(|at| Stream::new(1, 0, at.into())).collect();
        let mut seen = vec![vec![]; PARTS as usize];
        let mut taken = vec![];
        for until in until.iter().copied().map(Time::at) {
            while stretches.next_time().is_some_and(|time| time < until) {
                stretches.begin(until);
                while let Some(owner) = stretches.next_owner() {
                    while let Some(now) = stretches.take(&mut taken) {
                        assert!(now < until && !taken.is_empty());
                        // Like a router's tick: independent of the order of its events.
                        let sum = taken.iter().fold(0u64, |sum, hop| sum.wrapping_add(hop.number + 1));
                        assert!(taken.iter().all(|hop| hop.at == owner));
                        seen[owner as usize].push((now, sum));
                        let stream = &mut streams[owner as usize];
                        for _ in 0..taken.len() {
                            let to = stream.below(PARTS.into()) as u32;
                            let far = if to == owner { 1 } else { SHORTEST };
                            stretches.push(now + far + stream.below(40), Hop { at: to, number: sum });
                        }
                    }
                }
            }
        }
        seen
    }

    /// With and without an event; ticks after the stretch cannot be marked.
    #[test]
    fn marked_ticks_are_taken() {
        let mut stretches = Stretches::<Hop>::new(2, 10);
        stretches.push(Time::at(100), Hop { at: 1, number: 7 });
        assert_eq!(stretches.mark(Time::at(101)), None, "before a stretch begins");
        stretches.begin(Time::at(200));
        assert_eq!(stretches.next_owner(), Some(1));
        let mut taken = vec![];
        assert_eq!(stretches.take(&mut taken), Some(Time::at(100)));
        let marked = [100, 104, 109, 110].map(|time| stretches.mark(Time::at(time)));
        assert_eq!(marked, [Some(0), Some(4), Some(9), None]);
        stretches.push(Time::at(109), Hop { at: 1, number: 8 });
        for (time, events) in [(100, 0), (104, 0), (109, 1)] {
            assert_eq!((stretches.take(&mut taken), taken.len()), (Some(Time::at(time)), events));
        }
        assert_eq!((stretches.take(&mut taken), stretches.next_owner()), (None, None));
    }

    #[test]
    fn results_do_not_depend_on_the_length_of_a_stretch() {
        let expected = run(1, &[5_000]);
        assert!(expected.iter().all(|seen| seen.len() > 100));
        for most in [2, 5, 9] {
            assert_eq!(run(most, &[5_000]), expected, "{most} ticks");
        }
        assert_eq!(run(9, &[1, 17, 18, 4_321, 5_000]), expected);
    }
}
