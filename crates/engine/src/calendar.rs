//! The event queue of a block: one bucket per tick.
//!
//! Nearly all events of a network are less than a packet time ahead, so a ring of buckets, one for each of
//! the next ticks, stores them in constant time and without comparisons. The ring's length, the horizon, is the
//! user's to choose. A bucket is a list of small pages from one pool: pages return to the pool as soon as a tick
//! is taken and are reused first, so that the queue stays as small as its contents, and in the cache. Events
//! beyond the horizon wait in a second ring with a bucket for each span of that length, and those beyond its
//! [`SPANS`] spans in a heap.

use crate::{Time, prefetch};
use borsh::{BorshDeserialize, BorshSerialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

/// Words with a bit for each bucket, at most: the words that are not zero are the bits of another.
const WORDS_MAX: usize = 64;
/// Spans of the horizon's length that the second ring covers.
const SPANS: u64 = 64;
/// Events per page; a power of two.
const PAGE: usize = 16;
const NONE: u32 = u32::MAX;

/// The pages of a tick. All but the last are full.
#[derive(Clone, Copy)]
struct Bucket {
    /// The first page, or [`NONE`].
    first: u32,
    /// Where the next event goes; at the start of a page if there is no space, so that a new page is needed.
    next: u32,
}

const EMPTY: Bucket = Bucket { first: NONE, next: 0 };

/// A queue of events by time. `E` is a few machine words. `HORIZON` is the number of ticks that the ring covers: a
/// power of two from 64 to 4,096.
pub struct Calendar<E, const HORIZON: usize = 512> {
    /// All events before this tick have been taken.
    now: Time,
    buckets: Box<[Bucket; HORIZON]>,
    /// One bit per bucket: whether it is nonempty; and one per word of these.
    occupied: [u64; WORDS_MAX],
    words: u64,
    /// The pages, consecutively.
    events: Vec<E>,
    /// For each page the next page of its bucket, or of the free list.
    next: Vec<u32>,
    free: u32,
    far: Spans<E, HORIZON>,
}

impl<E: Copy + Default, const HORIZON: usize> Default for Calendar<E, HORIZON> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy + Default, const HORIZON: usize> Calendar<E, HORIZON> {
    const FITS: () = assert!(HORIZON.is_power_of_two() && HORIZON >= 64 && HORIZON <= 64 * WORDS_MAX);

    /// An empty queue at time zero.
    pub fn new() -> Self {
        const { Self::FITS };
        Calendar {
            now: Time::ZERO,
            buckets: Box::new([EMPTY; HORIZON]),
            occupied: [0; WORDS_MAX],
            words: 0,
            events: Vec::new(),
            next: Vec::new(),
            free: NONE,
            far: Spans::new(),
        }
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.next_time().is_none()
    }

    /// Adds an event.
    ///
    /// # Panics
    /// In debug builds, if the events of `time` have already been taken.
    #[inline]
    pub fn push(&mut self, time: Time, event: E) {
        debug_assert!(time >= self.now, "an event at {time}, but the time is already {}", self.now);
        if time - self.now < HORIZON as u64 {
            self.push_near(time, event);
        } else {
            self.far.push(self.now, time, event);
        }
    }

    #[inline]
    fn push_near(&mut self, time: Time, event: E) {
        let slot = time.ticks() as usize % HORIZON;
        let mut place = self.buckets[slot].next;
        if (place as usize).is_multiple_of(PAGE) {
            place = self.add_page(slot);
        }
        self.events[place as usize] = event;
        self.buckets[slot].next = place + 1;
    }

    /// Adds a page to a bucket; returns its first place.
    #[inline(never)]
    fn add_page(&mut self, slot: usize) -> u32 {
        let page = if self.free == NONE {
            self.events.extend([E::default(); PAGE]);
            self.next.push(NONE);
            (self.next.len() - 1) as u32
        } else {
            let page = self.free;
            self.free = self.next[page as usize];
            self.next[page as usize] = NONE;
            page
        };
        let bucket = &mut self.buckets[slot];
        if bucket.first == NONE {
            bucket.first = page;
            self.occupied[slot / 64] |= 1 << (slot % 64);
            self.words |= 1 << (slot / 64);
        } else {
            self.next[(bucket.next as usize - 1) / PAGE] = page;
        }
        page * PAGE as u32
    }

    /// The time of the earliest event.
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        let near = self.next_near().unwrap_or(Time::MAX);
        Some(near.min(self.far.earliest)).filter(|&t| t != Time::MAX)
    }

    #[inline]
    fn next_near(&self) -> Option<Time> {
        let start = self.now.ticks() as usize % HORIZON;
        let from_here = self.occupied[start / 64] >> (start % 64);
        if from_here != 0 {
            return Some(self.now + u64::from(from_here.trailing_zeros()));
        }
        // The words after this one, or else those up to it, whose buckets are those of the ring's next turn.
        let after = self.words & (!1 << (start / 64));
        let words = if after != 0 { after } else { self.words };
        if words == 0 {
            return None;
        }
        let word = words.trailing_zeros() as usize;
        let slot = word * 64 + self.occupied[word].trailing_zeros() as usize;
        Some(self.now + ((slot + HORIZON - start) % HORIZON) as u64)
    }

    /// Advances to `time`, before which no events may remain, and moves its events to `into`, which is
    /// cleared first.
    ///
    /// Later events may be added for `time + 1` on.
    #[inline]
    pub fn take(&mut self, time: Time, into: &mut Vec<E>) {
        debug_assert!(self.next_time().is_none_or(|t| t >= time));
        into.clear();
        // Events of the span that now begins move to the ring, including those for this tick.
        self.now = time;
        if span_of::<HORIZON>(self.far.earliest) <= span_of::<HORIZON>(time) {
            self.move_near();
        }
        let slot = time.ticks() as usize % HORIZON;
        let bucket = std::mem::replace(&mut self.buckets[slot], EMPTY);
        self.now = time + 1;
        if bucket.first == NONE {
            return;
        }
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        self.words &= !(u64::from(self.occupied[slot / 64] == 0) << (slot / 64));
        let last = (bucket.next as usize - 1) / PAGE;
        let mut page = bucket.first as usize;
        // Copies whole pages, including the last one: copies of a fixed size need no call and no branch on
        // their length.
        loop {
            if let Some(events) = self.events[page * PAGE..].first_chunk::<PAGE>() {
                into.extend_from_slice(events);
            }
            if page == last {
                break;
            }
            page = self.next[page] as usize;
        }
        into.truncate(into.len() - PAGE + (bucket.next as usize - last * PAGE));
        self.next[last] = self.free;
        self.free = bucket.first;
    }

    #[cold]
    fn move_near(&mut self) {
        let mut list = std::mem::take(&mut self.far.moving);
        self.far.take(self.now, &mut list);
        for (time, event) in list.drain(..) {
            self.push_near(time, event);
        }
        self.far.moving = list;
    }

    /// Calls `f` with the first events at `time`, about `most` at most, for prefetching the memory that they
    /// need. `time` must be within the horizon.
    #[inline]
    pub fn peek(&self, time: Time, most: usize, mut f: impl FnMut(&E)) {
        let bucket = &self.buckets[time.ticks() as usize % HORIZON];
        if bucket.first == NONE {
            return;
        }
        let last = (bucket.next as usize - 1) / PAGE;
        let mut page = bucket.first as usize;
        let mut seen = 0;
        while page != last && seen < most {
            let next = self.next[page] as usize;
            self.fetch_page(next);
            self.events[page * PAGE..][..PAGE].iter().for_each(&mut f);
            page = next;
            seen += PAGE;
        }
        if page == last {
            self.events[last * PAGE..bucket.next as usize].iter().for_each(f);
        }
    }

    /// Prefetches the first events at `time`, for a [`Self::peek`] soon.
    #[inline]
    pub fn fetch(&self, time: Time) {
        let first = self.buckets[time.ticks() as usize % HORIZON].first;
        if first != NONE {
            self.fetch_page(first as usize);
        }
    }

    #[inline]
    fn fetch_page(&self, page: usize) {
        if let Some(events) = self.events[page * PAGE..].first_chunk::<PAGE>() {
            prefetch(events);
        }
    }

    /// All events, with their times, in no particular order.
    fn all(&self) -> Vec<(Time, E)> {
        let mut all = vec![];
        for time in (0..HORIZON as u64).map(|ahead| self.now + ahead) {
            self.peek(time, usize::MAX, |&event| all.push((time, event)));
        }
        all.extend(self.far.buckets.iter().flatten().copied());
        all.extend(self.far.overflow.iter().map(|Reverse(of)| (of.time, of.event)));
        all
    }

    /// Memory that the queue occupies, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.buckets)
            + self.events.capacity() * size_of::<E>()
            + self.next.capacity() * 4
            + self.far.bytes()
    }
}

impl<E: Copy + Default + BorshSerialize, const HORIZON: usize> BorshSerialize for Calendar<E, HORIZON> {
    fn serialize<W: io::Write>(&self, to: &mut W) -> io::Result<()> {
        (self.now, self.all()).serialize(to)
    }
}

impl<E: Copy + Default + BorshDeserialize, const HORIZON: usize> BorshDeserialize for Calendar<E, HORIZON> {
    fn deserialize_reader<R: io::Read>(from: &mut R) -> io::Result<Self> {
        let (now, all) = <(Time, Vec<(Time, E)>)>::deserialize_reader(from)?;
        let mut calendar = Self::new();
        calendar.now = now;
        for (time, event) in all {
            if time < now {
                return Err(io::Error::other(format!("an event at {time}, before {now}")));
            }
            calendar.push(time, event);
        }
        Ok(calendar)
    }
}

/// The number of the span that contains a time.
#[inline]
fn span_of<const HORIZON: usize>(time: Time) -> u64 {
    time.ticks() / HORIZON as u64
}

/// Events beyond the horizon: one bucket per span of time, and a heap beyond the last one.
struct Spans<E, const HORIZON: usize> {
    buckets: Box<[Vec<(Time, E)>; SPANS as usize]>,
    /// Earliest time in each bucket.
    first: [Time; SPANS as usize],
    /// Earliest time of all, [`Time::MAX`] if there are none.
    earliest: Time,
    overflow: BinaryHeap<Reverse<Overflow<E>>>,
    /// Events being moved to the ring; kept to reuse the memory.
    moving: Vec<(Time, E)>,
}

impl<E: Copy, const HORIZON: usize> Spans<E, HORIZON> {
    fn new() -> Self {
        Spans {
            buckets: Box::new(std::array::from_fn(|_| Vec::new())),
            first: [Time::MAX; SPANS as usize],
            earliest: Time::MAX,
            overflow: BinaryHeap::new(),
            moving: Vec::new(),
        }
    }

    #[inline(never)]
    fn push(&mut self, now: Time, time: Time, event: E) {
        self.earliest = self.earliest.min(time);
        // Spans before that of `now` are empty, so that a bucket holds a single span.
        if span_of::<HORIZON>(time) - span_of::<HORIZON>(now) < SPANS {
            let span = (span_of::<HORIZON>(time) % SPANS) as usize;
            self.buckets[span].push((time, event));
            self.first[span] = self.first[span].min(time);
        } else {
            self.overflow.push(Reverse(Overflow { time, event }));
        }
    }

    /// Takes all events in the span of `now` or before, including those in the heap.
    fn take(&mut self, now: Time, into: &mut Vec<(Time, E)>) {
        let end = Time::at((span_of::<HORIZON>(now) + 1) * HORIZON as u64);
        for (bucket, first) in self.buckets.iter_mut().zip(&mut self.first) {
            if *first < end {
                into.append(bucket);
                *first = Time::MAX;
            }
        }
        while self.overflow.peek().is_some_and(|b| b.0.time < end) {
            into.extend(self.overflow.pop().map(|Reverse(b)| (b.time, b.event)));
        }
        let heap = self.overflow.peek().map_or(Time::MAX, |b| b.0.time);
        self.earliest = self.first.iter().fold(heap, |a, &b| a.min(b));
    }

    fn bytes(&self) -> usize {
        let lists = self.buckets.iter().chain([&self.moving]).map(Vec::capacity).sum::<usize>();
        lists * size_of::<(Time, E)>() + self.overflow.capacity() * size_of::<Overflow<E>>()
    }
}

/// An event ordered by its time.
struct Overflow<E> {
    time: Time,
    event: E,
}

impl<E> PartialEq for Overflow<E> {
    fn eq(&self, other: &Self) -> bool {
        self.time == other.time
    }
}
impl<E> Eq for Overflow<E> {}
impl<E> PartialOrd for Overflow<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Overflow<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.time.cmp(&other.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Compared with a sorted map: the same events at the same times, near and far, with pushes between
        /// takes.
        #[test]
        fn agrees_with_a_sorted_map(steps in proptest::collection::vec((0u64..100_000, 1usize..40), 1..200)) {
            compare::<64>(&steps)?;
            compare::<512>(&steps)?;
            compare::<4096>(&steps)?;
        }
    }

    fn compare<const HORIZON: usize>(steps: &[(u64, usize)]) -> Result<(), TestCaseError> {
        let mut calendar = Calendar::<u32, HORIZON>::new();
        let mut naive: BTreeMap<Time, Vec<u32>> = BTreeMap::new();
        let mut id = 0;
        let mut taken = Vec::new();
        for &(ahead, count) in steps {
            for i in 0..count as u64 {
                let time = calendar.now + (ahead * (i + 1)) % [1777, 50_000][ahead as usize % 2];
                calendar.push(time, id);
                naive.entry(time).or_default().push(id);
                id += 1;
            }
            let (&time, _) = naive.iter().next().expect("something waits");
            prop_assert_eq!(calendar.next_time(), Some(time));
            let mut expected = naive.remove(&time).expect("just seen");
            calendar.take(time, &mut taken);
            taken.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(&taken, &expected);
            prop_assert_eq!(calendar.is_empty(), naive.is_empty());
            if id.is_multiple_of(3) {
                let bytes = borsh::to_vec(&calendar).expect("memory");
                calendar = borsh::from_slice(&bytes).expect("its own bytes");
            }
        }
        while let Some(time) = calendar.next_time() {
            let mut expected = naive.remove(&time).expect("the same times");
            calendar.take(time, &mut taken);
            taken.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(&taken, &expected);
        }
        prop_assert!(naive.is_empty());
        Ok(())
    }

    #[test]
    fn pages_are_used_again() {
        let mut calendar = Calendar::<u64>::new();
        let mut taken = Vec::new();
        for time in 0..100_000u64 {
            for i in 0..20 {
                calendar.push(Time::at(time + 1 + i * 13), i);
            }
            calendar.take(Time::at(time), &mut taken);
        }
        assert!(calendar.next.len() < 600, "{} pages for 2,600 events", calendar.next.len());
    }
}
