//! The event queue of a block: one bucket a tick.
//!
//! Nearly all events of a network lie less than a packet's length ahead, so a ring of buckets, one for each of the next
//! [`HORIZON`] ticks, takes them in constant time and without comparing. A bucket is a list of small pages from one pool:
//! pages return to the pool as soon as a tick is taken and are the first to be used again, so that the queue of a block
//! stays as small as what is in it, and in the cache. Events beyond the horizon wait in a heap.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Ticks that the ring covers; a power of two.
const HORIZON: u64 = 512;
/// Events of a page; a power of two.
const PAGE: usize = 16;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Bucket {
    first: u32,
    last: u32,
    count: u32,
}

const EMPTY: Bucket = Bucket { first: NONE, last: NONE, count: 0 };

/// A queue of events by time. `E` is a few machine words.
pub struct Calendar<E> {
    /// Everything before this tick has been taken.
    now: Time,
    buckets: Box<[Bucket]>,
    /// One bit a bucket: whether it holds anything.
    occupied: [u64; (HORIZON / 64) as usize],
    pages: Vec<[E; PAGE]>,
    /// For each page the next of its bucket, or of the free list.
    next: Vec<u32>,
    free: u32,
    far: BinaryHeap<Reverse<Far<E>>>,
    far_sequence: u64,
    len: usize,
}

struct Far<E> {
    time: Time,
    sequence: u64,
    event: E,
}

impl<E> PartialEq for Far<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.time, self.sequence) == (other.time, other.sequence)
    }
}
impl<E> Eq for Far<E> {}
impl<E> PartialOrd for Far<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Far<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.sequence).cmp(&(other.time, other.sequence))
    }
}

impl<E: Copy + Default> Default for Calendar<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy + Default> Calendar<E> {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        Calendar {
            now: 0,
            buckets: vec![EMPTY; HORIZON as usize].into_boxed_slice(),
            occupied: [0; (HORIZON / 64) as usize],
            pages: Vec::new(),
            next: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            far_sequence: 0,
            len: 0,
        }
    }

    /// Events waiting.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event.
    ///
    /// # Panics
    /// In debug builds, if `time` has been taken already.
    #[inline]
    pub fn push(&mut self, time: Time, event: E) {
        debug_assert!(time >= self.now, "an event at {time}, but time is {} already", self.now);
        self.len += 1;
        if time - self.now < HORIZON {
            self.push_near(time, event);
        } else {
            self.push_far(time, event);
        }
    }

    #[inline]
    fn push_near(&mut self, time: Time, event: E) {
        let slot = (time % HORIZON) as usize;
        let bucket = &mut self.buckets[slot];
        let place = bucket.count as usize % PAGE;
        if place == 0 {
            let page = if self.free != NONE {
                let page = self.free;
                self.free = self.next[page as usize];
                page
            } else {
                self.pages.push([E::default(); PAGE]);
                self.next.push(NONE);
                (self.pages.len() - 1) as u32
            };
            self.next[page as usize] = NONE;
            if bucket.count == 0 {
                bucket.first = page;
                self.occupied[slot / 64] |= 1 << (slot % 64);
            } else {
                self.next[bucket.last as usize] = page;
            }
            bucket.last = page;
        }
        self.pages[bucket.last as usize][place] = event;
        bucket.count += 1;
    }

    #[cold]
    fn push_far(&mut self, time: Time, event: E) {
        self.far_sequence += 1;
        self.far.push(Reverse(Far { time, sequence: self.far_sequence, event }));
    }

    /// The earliest time at which something waits.
    pub fn next_time(&self) -> Option<Time> {
        let near = self.next_near();
        let far = self.far.peek().map(|f| f.0.time);
        match (near, far) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn next_near(&self) -> Option<Time> {
        let words = self.occupied.len();
        let start = (self.now % HORIZON) as usize;
        for step in 0..=words {
            let word = (start / 64 + step) % words;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= !0 << (start % 64);
            } else if step == words {
                bits &= !(!0 << (start % 64));
            }
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                return Some(self.now + (slot + HORIZON as usize - start) as u64 % HORIZON);
            }
        }
        None
    }

    /// Moves to `time`, to which nothing earlier may be left, and takes its events into `into`, which it clears first.
    ///
    /// Later events may be added for `time + 1` on.
    #[inline]
    pub fn take(&mut self, time: Time, into: &mut Vec<E>) {
        debug_assert!(self.next_time().is_none_or(|t| t >= time));
        into.clear();
        // What the heap holds for the ticks that come into reach moves to the ring; those of this tick with it.
        self.now = time;
        if let Some(first) = self.far.peek()
            && first.0.time - time < HORIZON
        {
            self.move_near();
        }
        let slot = (time % HORIZON) as usize;
        let bucket = std::mem::replace(&mut self.buckets[slot], EMPTY);
        self.now = time + 1;
        if bucket.count == 0 {
            return;
        }
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        self.len -= bucket.count as usize;
        let mut left = bucket.count as usize;
        let mut page = bucket.first;
        loop {
            let n = left.min(PAGE);
            into.extend_from_slice(&self.pages[page as usize][..n]);
            left -= n;
            if left == 0 {
                break;
            }
            page = self.next[page as usize];
        }
        self.next[bucket.last as usize] = self.free;
        self.free = bucket.first;
    }

    #[cold]
    fn move_near(&mut self) {
        while let Some(first) = self.far.peek()
            && first.0.time - self.now < HORIZON
        {
            let Reverse(far) = self.far.pop().expect("peeked");
            self.push_near(far.time, far.event);
        }
    }

    /// Calls `f` with each event that waits for `time`, which must lie within the horizon: to fetch ahead what it
    /// will need.
    #[inline]
    pub fn peek(&self, time: Time, mut f: impl FnMut(&E)) {
        let bucket = &self.buckets[(time % HORIZON) as usize];
        let mut left = bucket.count as usize;
        let mut page = bucket.first;
        while left > 0 {
            let n = left.min(PAGE);
            for event in &self.pages[page as usize][..n] {
                f(event);
            }
            left -= n;
            page = self.next[page as usize];
        }
    }

    /// Bytes that the queue occupies.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>()
            + self.pages.capacity() * size_of::<[E; PAGE]>()
            + self.next.capacity() * 4
            + self.far.capacity() * size_of::<Far<E>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against a sorted map: the same events at the same times, near and far, with pushes between takes.
        #[test]
        fn agrees_with_a_sorted_map(steps in proptest::collection::vec((0u64..2000, 1usize..40), 1..200)) {
            let mut calendar = Calendar::<u32>::new();
            let mut naive: BTreeMap<Time, Vec<u32>> = BTreeMap::new();
            let mut id = 0;
            let mut taken = Vec::new();
            for (ahead, count) in steps {
                for i in 0..count as u64 {
                    let time = calendar.now + (ahead * (i + 1)) % 1777;
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
                prop_assert_eq!(calendar.len(), naive.values().map(Vec::len).sum::<usize>());
            }
            while let Some(time) = calendar.next_time() {
                let mut expected = naive.remove(&time).expect("the same times");
                calendar.take(time, &mut taken);
                taken.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(&taken, &expected);
            }
            prop_assert!(naive.is_empty());
        }
    }

    #[test]
    fn pages_are_used_again() {
        let mut calendar = Calendar::<u64>::new();
        let mut taken = Vec::new();
        for time in 0..100_000u64 {
            for i in 0..20 {
                calendar.push(time + 1 + i * 13, i);
            }
            calendar.take(time, &mut taken);
        }
        assert!(calendar.pages.len() < 600, "{} pages for 2,600 events", calendar.pages.len());
    }
}
