//! The queue of work that any thread posts to a context, and the thread that advances the context takes
//! (section III.B, *Lockless queues*): a fixed array whose elements are claimed by a bounded increment, and
//! an overflow queue behind it, accessed through a mutex, for when the array is full.
//!
//! # Invariants
//! 1. `head <= tail <= head + SLOTS`. Only the thread that moved `tail` from `n` to `n + 1` stores to element
//!    `n % SLOTS`; only the taker clears it, before it moves `head` past `n`.
//! 2. While `has_overflow`, all posts go to the overflow queue, so what one thread posts is taken in its
//!    order: the taker empties the array before it takes what overflowed *before that*, under the mutex.

#[cfg(all(loom, test))]
use loom::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
#[cfg(not(all(loom, test)))]
use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

#[cfg(not(all(loom, test)))]
const SLOTS: usize = 64;
#[cfg(all(loom, test))]
const SLOTS: usize = 1;

/// A queue of items that are not 0: addresses, as a rule.
#[derive(Debug)]
pub struct WorkQueue {
    slots: [AtomicUsize; SLOTS],
    head: AtomicUsize,
    tail: AtomicUsize,
    has_overflow: AtomicBool,
    overflow: Mutex<Vec<usize>>,
}

impl Default for WorkQueue {
    fn default() -> Self {
        WorkQueue {
            slots: std::array::from_fn(|_| AtomicUsize::new(0)),
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            has_overflow: AtomicBool::new(false),
            overflow: Mutex::new(vec![]),
        }
    }
}

impl WorkQueue {
    /// Posts an item, from any thread.
    ///
    /// # Panics
    /// If the item is 0.
    pub fn post(&self, item: usize) {
        assert!(item != 0, "0 marks an empty element");
        if !self.has_overflow.load(Ordering::Acquire) && self.claim(item) {
            return;
        }
        let mut overflow = self.overflow.lock().expect("nothing panics with the lock");
        overflow.push(item);
        self.has_overflow.store(true, Ordering::Release);
    }

    /// The bounded increment; returns whether there was space.
    fn claim(&self, item: usize) -> bool {
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            let used = tail.wrapping_sub(self.head.load(Ordering::Acquire));
            // "Negative" if `tail` is older than `head`.
            if used >= SLOTS && (used as isize) >= 0 {
                return false;
            }
            let next = tail.wrapping_add(1);
            match self.tail.compare_exchange_weak(tail, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => tail = now,
            }
        }
        self.slots[tail % SLOTS].store(item, Ordering::Release);
        true
    }

    /// Whether nothing was posted. Cheap, since it is asked at each advance.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.load(Ordering::Relaxed) == self.tail.load(Ordering::Relaxed)
            && !self.has_overflow.load(Ordering::Relaxed)
    }

    /// Takes all that is there, in order. Only one thread at a time may take.
    pub fn take(&self, into: &mut Vec<usize>) {
        self.take_array(into);
        if self.has_overflow.load(Ordering::Acquire) {
            let mut overflow = self.overflow.lock().expect("nothing panics with the lock");
            // What was posted to the array before these: see invariant 2.
            if self.take_array(into) {
                into.append(&mut overflow);
                self.has_overflow.store(false, Ordering::Release);
            }
        }
    }

    /// Returns whether nothing is left: an element may be claimed and not stored yet.
    fn take_array(&self, into: &mut Vec<usize>) -> bool {
        let mut head = self.head.load(Ordering::Relaxed);
        while head != self.tail.load(Ordering::Acquire) {
            let item = self.slots[head % SLOTS].swap(0, Ordering::Acquire);
            if item == 0 {
                return false;
            }
            into.push(item);
            head = head.wrapping_add(1);
            self.head.store(head, Ordering::Release);
        }
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn four_threads_lose_nothing_and_keep_their_order() {
        const COUNT: usize = 20_000;
        let queue = Arc::new(WorkQueue::default());
        let posters: Vec<_> = (0..4)
            .map(|thread| {
                let queue = Arc::clone(&queue);
                std::thread::spawn(move || (1..=COUNT).for_each(|n| queue.post(thread << 32 | n)))
            })
            .collect();
        let mut next = [1; 4];
        let mut taken = vec![];
        while next.iter().sum::<usize>() < 4 * (COUNT + 1) {
            queue.take(&mut taken);
            for item in taken.drain(..) {
                let (thread, n) = (item >> 32, item & 0xffff_ffff);
                assert_eq!(n, next[thread], "of thread {thread}");
                next[thread] += 1;
            }
        }
        posters.into_iter().for_each(|poster| poster.join().unwrap());
        assert!(queue.is_empty());
    }

    #[test]
    fn more_than_the_array_holds_overflows() {
        let queue = WorkQueue::default();
        let all: Vec<usize> = (1..=3 * SLOTS).collect();
        all.iter().for_each(|&item| queue.post(item));
        assert!(!queue.is_empty());
        let mut taken = vec![];
        queue.take(&mut taken);
        assert_eq!(taken, all);
        assert!(queue.is_empty());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// Two threads post three items to an array of one, while they are taken.
    #[test]
    fn loom_posts() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let queue = Arc::new(WorkQueue::default());
            let posters: Vec<_> = [(1, 2), (2, 1)]
                .map(|(thread, count)| {
                    let queue = Arc::clone(&queue);
                    loom::thread::spawn(move || (1..=count).for_each(|n| queue.post(thread << 8 | n)))
                })
                .into_iter()
                .collect();
            let mut taken = vec![];
            queue.take(&mut taken);
            posters.into_iter().for_each(|poster| poster.join().unwrap());
            queue.take(&mut taken);
            let of = |thread| taken.iter().copied().filter(move |item| item >> 8 == thread);
            assert!(of(1).eq([0x101, 0x102]) && of(2).eq([0x201]), "{taken:x?}");
        });
    }
}
