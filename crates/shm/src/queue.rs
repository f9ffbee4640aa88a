//! The queue of a context: any number of processes write, one reads.
//!
//! This is the fixed array of section III.B with its *bounded increment*: a writer claims a slot by moving
//! the tail, unless the array is full. Blue Gene/Q's L2 does this in one operation; here it is a
//! compare-and-exchange. A full queue is reported to the writer, which keeps the message: that overflow list
//! is the writer's own, so the order of its messages is kept and no lock is shared.
//!
//! A slot holds its *turn*, 1 + the number of messages before it in the queue. A writer stores it last, and a
//! reader that finds the turn it expects owns the slot. The reader never writes to slots: it publishes how
//! far it has read in `head`, only once per 32 messages (`STRIDE`) and when it finds no more, so that the
//! line stays in the writers' caches. A message of up to 48 B therefore moves one cache line, as in a bare
//! ping-pong.
//!
//! # Invariants
//! 1. `head <= tail <= head + SLOTS`: writers claim only below the published head + `SLOTS`.
//! 2. Only the writer that moved `tail` from `n` to `n + 1` writes slot `n % SLOTS`, until it stores the turn
//!    `n + 1` (release).
//! 3. Only the reader reads that slot, after it has loaded the turn `n + 1` (acquire), until it publishes a
//!    head above `n` (release), which the next writer of the slot loads (acquire).
//!
//! A queue that one writer alone writes to needs no claims: [`Writer`] counts by itself, and `tail` stays 0.
//!
//! A writer that ends between its claim and its turn would stop the queue. So a writer can record a claim
//! before it makes it, and the reader leaves out what only a writer recorded that has ended:
//! [`Reader::skip_lost`].
//!
//! Turns are counted modulo 2^32. A slot is written again after `SLOTS` messages, so a stale turn cannot be
//! taken for the next.
#![allow(unsafe_code)]

use crate::sync::{AtomicU32, AtomicU64, Ordering, UnsafeCell};
use std::mem::MaybeUninit;

/// Longest message of a slot, bytes.
pub const PAYLOAD_MAX: usize = 560;

/// How far ahead the reader fetches slots when messages wait: a line takes as long as several messages.
const READ_AHEAD: u64 = 8;

/// Error: the queue is full at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the queue is full")]
pub struct Full;

/// A variable with a cache line of its own, and the next one, which processors fetch with it.
#[repr(C, align(128))]
struct Line<T>(T);

/// One message. The first cache line holds 48 B of it; the odd number of lines spreads slots over the sets of
/// a cache.
#[repr(C, align(64))]
struct Slot {
    turn: AtomicU32,
    length: UnsafeCell<u32>,
    word: UnsafeCell<u64>,
    payload: UnsafeCell<[MaybeUninit<u8>; PAYLOAD_MAX]>,
}

/// A queue of `SLOTS` messages. All bytes zero is a valid empty queue.
#[repr(C)]
pub struct Queue<const SLOTS: usize> {
    tail: Line<AtomicU64>,
    head: Line<AtomicU64>,
    slots: [Slot; SLOTS],
}

// SAFETY: cells are accessed as the invariants say.
unsafe impl<const SLOTS: usize> Sync for Queue<SLOTS> {}
// SAFETY: the same.
unsafe impl<const SLOTS: usize> Send for Queue<SLOTS> {}

/// Copies bytes; short ones without a call.
///
/// # Safety
/// There must be as much space at `to`.
#[inline(always)]
unsafe fn copy(from: &[u8], to: *mut u8) {
    // SAFETY: the caller's promise; both words are within the bytes.
    unsafe {
        match from.len() {
            0 => {}
            length @ 8..=16 => {
                let [first, last] =
                    [0, length - 8].map(|at| from.as_ptr().add(at).cast::<u64>().read_unaligned());
                to.cast::<u64>().write_unaligned(first);
                to.add(length - 8).cast::<u64>().write_unaligned(last);
            }
            // The header of MPI: its words were stored one by one, and wider reads would wait for all of
            // them.
            24 => {
                let words = [0, 8, 16].map(|at| from.as_ptr().add(at).cast::<u64>().read_unaligned());
                to.cast::<[u64; 3]>().write_unaligned(words);
            }
            length => to.copy_from_nonoverlapping(from.as_ptr(), length),
        }
    }
}

#[inline(always)]
fn check_length(parts: [&[u8]; 2]) {
    let length = parts[0].len() + parts[1].len();
    assert!(length <= PAYLOAD_MAX, "{length} B in a slot of {PAYLOAD_MAX} B");
}

impl<const SLOTS: usize> Queue<SLOTS> {
    /// Number of messages after which the reader publishes how far it has read.
    const STRIDE: u64 = if SLOTS >= 8 { SLOTS as u64 / 8 } else { 1 };

    /// Whether the n-th message has been written, of those that `SLOTS` messages have not followed.
    #[inline(always)]
    fn is_written(&self, n: u64) -> bool {
        self.slots[n as usize % SLOTS].turn.load(Ordering::Acquire) == n.wrapping_add(1) as u32
    }

    /// Fetches the first cache line of a slot.
    #[inline(always)]
    fn prepare_to_read(&self, n: u64) {
        #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
        // SAFETY: a hint without effect on memory.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>((&raw const self.slots[n as usize % SLOTS]).cast());
        }
        #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
        let _ = n;
    }

    /// Writes a message: a word for the protocol, and the bytes of `parts`, one after the other.
    ///
    /// # Errors
    /// If the queue is full.
    ///
    /// # Panics
    /// If the parts have more than [`PAYLOAD_MAX`] bytes.
    #[inline]
    pub fn push(&self, word: u64, parts: [&[u8]; 2]) -> Result<(), Full> {
        self.push_recorded(word, parts, |_| {})
    }

    /// As [`Self::push`]. `record` is called with the number of the message before it is claimed, perhaps for
    /// several numbers in turn, and with `None` when it is written: see [`Reader::skip_lost`].
    ///
    /// # Errors
    /// If the queue is full.
    ///
    /// # Panics
    /// If the parts have more than [`PAYLOAD_MAX`] bytes.
    #[inline(always)]
    pub fn push_recorded(
        &self,
        word: u64,
        parts: [&[u8]; 2],
        record: impl Fn(Option<u64>),
    ) -> Result<(), Full> {
        check_length(parts);
        let mut tail = self.tail.0.load(Ordering::Relaxed);
        loop {
            // The difference is negative if others have filled the queue since `tail` was loaded.
            let used = tail.wrapping_sub(self.head.0.load(Ordering::Acquire));
            if (used as i64) >= SLOTS as i64 {
                record(None);
                return Err(Full);
            }
            let next = tail.wrapping_add(1);
            record(Some(tail));
            // Release: who sees the claim sees its record.
            match self.tail.0.compare_exchange_weak(tail, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => tail = now,
            }
        }
        // SAFETY: just claimed; the length was checked.
        unsafe { self.write(tail, word, parts) };
        record(None);
        Ok(())
    }

    /// Writes the n-th message to its slot.
    ///
    /// # Safety
    /// The caller has claimed it (invariant 2), and the parts have at most [`PAYLOAD_MAX`] bytes.
    #[inline(always)]
    unsafe fn write(&self, n: u64, word: u64, parts: [&[u8]; 2]) {
        let slot = &self.slots[n as usize % SLOTS];
        let length = parts[0].len() + parts[1].len();
        // SAFETY: the caller's promise.
        slot.length.with_mut(|at| unsafe { *at = length as u32 });
        slot.word.with_mut(|at| unsafe { *at = word });
        slot.payload.with_mut(|at| unsafe {
            let at = at.cast::<u8>();
            copy(parts[0], at);
            copy(parts[1], at.add(parts[0].len()));
        });
        slot.turn.store(n.wrapping_add(1) as u32, Ordering::Release);
    }
}

/// The only writer of a queue. It claims slots without a locked instruction, which would wait until the line
/// of the slot before has come from the reader's core.
pub struct Writer<'a, const SLOTS: usize> {
    queue: &'a Queue<SLOTS>,
    /// Messages written so far.
    tail: u64,
    /// Messages read when this was last looked at.
    head: u64,
}

impl<'a, const SLOTS: usize> Writer<'a, SLOTS> {
    /// The writer of a queue, from where the last one stopped.
    ///
    /// # Safety
    /// Nobody else writes to the queue, then or before but by a `Writer`.
    pub unsafe fn new(queue: &'a Queue<SLOTS>) -> Self {
        let head = queue.head.0.load(Ordering::Acquire);
        let mut tail = head;
        while tail.wrapping_sub(head) < SLOTS as u64 && queue.is_written(tail) {
            tail = tail.wrapping_add(1);
        }
        Writer { queue, tail, head }
    }

    /// As [`Queue::push`].
    ///
    /// # Errors
    /// If the queue is full.
    ///
    /// # Panics
    /// If the parts have more than [`PAYLOAD_MAX`] bytes.
    #[inline(always)]
    pub fn push(&mut self, word: u64, parts: [&[u8]; 2]) -> Result<(), Full> {
        check_length(parts);
        if self.tail.wrapping_sub(self.head) >= SLOTS as u64 {
            self.head = self.queue.head.0.load(Ordering::Acquire);
            if self.tail.wrapping_sub(self.head) >= SLOTS as u64 {
                return Err(Full);
            }
        }
        // SAFETY: nobody else claims; the slot is free (invariant 1), and the length was checked.
        unsafe { self.queue.write(self.tail, word, parts) };
        self.tail = self.tail.wrapping_add(1);
        Ok(())
    }
}

/// The reader of a queue.
pub struct Reader<'a, const SLOTS: usize> {
    queue: &'a Queue<SLOTS>,
    /// Messages read so far.
    head: u64,
    /// The head that writers see.
    published: u64,
    /// The last slot that was fetched ahead.
    fetched: u64,
}

/// A message in its slot.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The protocol's word.
    pub word: u64,
    /// Its bytes.
    pub payload: &'a [u8],
}

impl<'a, const SLOTS: usize> Reader<'a, SLOTS> {
    /// The reader of a queue, from where the last one stopped.
    ///
    /// # Safety
    /// A queue has one reader at a time.
    pub unsafe fn new(queue: &'a Queue<SLOTS>) -> Self {
        let head = queue.head.0.load(Ordering::Acquire);
        Reader { queue, head, published: head, fetched: head }
    }

    /// The next message, if it has been written. It stays in its slot until [`Self::release`].
    #[inline]
    pub fn next(&self) -> Option<Message<'_>> {
        // SAFETY: it is there.
        self.has_next().then(|| unsafe { self.message() })
    }

    /// The next message, which is there.
    ///
    /// # Safety
    /// [`Self::has_next`] was true.
    #[inline(always)]
    pub unsafe fn message(&self) -> Message<'_> {
        let slot = &self.queue.slots[self.head as usize % SLOTS];
        // SAFETY: invariant 3; the writer initialised the first `length` bytes. Another process may be
        // malicious, so the length is bounded.
        let length = slot.length.with(|at| unsafe { *at } as usize).min(PAYLOAD_MAX);
        let word = slot.word.with(|at| unsafe { *at });
        let payload = slot.payload.with(|at| unsafe { std::slice::from_raw_parts(at.cast(), length) });
        Message { word, payload }
    }

    /// Whether the next message is there.
    #[inline(always)]
    pub fn has_next(&self) -> bool {
        self.queue.is_written(self.head)
    }

    /// Frees the slot of the message that [`Self::next`] returned.
    #[inline]
    pub fn release(&mut self) {
        self.head = self.head.wrapping_add(1);
        if self.head.is_multiple_of(Queue::<SLOTS>::STRIDE) {
            self.publish();
        }
        if (self.fetched.wrapping_sub(self.head) as i64) < 0 {
            self.fetched = self.head;
        }
        // While the last slot that was fetched is written, others wait behind it.
        for _ in 0..2 {
            if self.fetched.wrapping_sub(self.head) < READ_AHEAD && self.queue.is_written(self.fetched) {
                self.fetched = self.fetched.wrapping_add(1);
                self.queue.prepare_to_read(self.fetched);
            }
        }
    }

    /// Lets writers see that all messages so far have been read: a reader that finds no more does so, so that
    /// who sends as many as there are slots, and then waits for an answer, finds all slots free again.
    #[inline(always)]
    pub fn publish(&mut self) {
        if self.published != self.head {
            self.published = self.head;
            self.queue.head.0.store(self.head, Ordering::Release);
        }
    }

    /// Leaves out messages that writers claimed and then ended without writing them; returns whether there
    /// were any. `is_lost` says of the number of a message that a writer that has ended recorded it and no
    /// other writer has: a writer that lives records what it claims before it claims it, and until it is
    /// written.
    pub fn skip_lost(&mut self, is_lost: impl Fn(u64) -> bool) -> bool {
        let before = self.head;
        // Acquire: the records of what is claimed are visible.
        while self.queue.tail.0.load(Ordering::Acquire) != self.head
            && !self.has_next()
            && is_lost(self.head)
            // The writer may have written it before it withdrew its record.
            && !self.has_next()
        {
            self.release();
        }
        self.head != before
    }

    /// Whether a message has been claimed by a writer that has not written it yet, or one is there. Not for a
    /// queue with a [`Writer`].
    pub fn has_claimed(&self) -> bool {
        self.queue.tail.0.load(Ordering::Relaxed) != self.head
    }
}

impl<const SLOTS: usize> Drop for Reader<'_, SLOTS> {
    fn drop(&mut self) {
        self.queue.head.0.store(self.head, Ordering::Release);
    }
}

#[cfg(test)]
impl<const SLOTS: usize> Queue<SLOTS> {
    pub(crate) fn new() -> Self {
        Queue {
            tail: Line(AtomicU64::new(0)),
            head: Line(AtomicU64::new(0)),
            slots: std::array::from_fn(|_| Slot {
                turn: AtomicU32::new(0),
                length: UnsafeCell::new(0),
                word: UnsafeCell::new(0),
                payload: UnsafeCell::new([MaybeUninit::uninit(); PAYLOAD_MAX]),
            }),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn messages_arrive_in_order_and_a_full_queue_is_reported() {
        let queue = Queue::<16>::new();
        // SAFETY: the only reader.
        let mut reader = unsafe { Reader::new(&queue) };
        assert!(reader.next().is_none());
        for lap in 0..5u64 {
            for n in 0..16 {
                queue.push(lap * 16 + n, [&[n as u8; 3], b"x"]).unwrap();
            }
            assert_eq!(queue.push(0, [&[], &[]]), Err(Full));
            assert!(reader.has_claimed());
            for n in 0..16 {
                let message = reader.next().unwrap();
                assert_eq!(
                    (message.word, message.payload),
                    (lap * 16 + n, &[n as u8, n as u8, n as u8, b'x'][..])
                );
                reader.release();
            }
            assert!(reader.next().is_none() && !reader.has_claimed());
        }
    }

    #[test]
    fn what_a_writer_claimed_and_never_wrote_is_left_out() {
        let queue = Queue::<16>::new();
        // SAFETY: the only reader.
        let mut reader = unsafe { Reader::new(&queue) };
        queue.push(7, [&[], &[]]).unwrap();
        // Number 1 is claimed and lost.
        queue.tail.0.fetch_add(1, Ordering::Relaxed);
        queue.push(8, [&[], &[]]).unwrap();
        assert!(!reader.skip_lost(|_| panic!("a message is there")));
        assert_eq!(reader.next().unwrap().word, 7);
        reader.release();
        assert!(reader.next().is_none() && !reader.skip_lost(|_| false));
        assert!(reader.skip_lost(|n| n == 1));
        assert_eq!(reader.next().unwrap().word, 8);
        reader.release();
        assert!(!reader.skip_lost(|_| panic!("nothing is claimed")));
        let records = std::cell::RefCell::new(vec![]);
        queue.push_recorded(0, [&[], &[]], |n| records.borrow_mut().push(n)).unwrap();
        assert_eq!(records.into_inner(), [Some(3), None]);
    }

    #[test]
    fn a_reader_resumes_where_the_last_one_stopped() {
        let queue = Queue::<64>::new();
        for n in 0..200 {
            queue.push(n, [&[], &[]]).unwrap();
            // SAFETY: the only reader.
            let mut reader = unsafe { Reader::new(&queue) };
            assert_eq!(reader.next().unwrap().word, n);
            reader.release();
        }
    }

    #[test]
    fn an_only_writer_resumes_where_the_last_one_stopped() {
        let queue = Queue::<16>::new();
        let mut sent = 0..;
        let mut read = 0..;
        for count in [3, 16, 0, 1, 9, 16, 2, 40] {
            // SAFETY: one writer at a time, and the only reader.
            let (mut writer, mut reader) = unsafe { (Writer::new(&queue), Reader::new(&queue)) };
            let accepted = (0..count).take_while(|_| {
                let n = sent.start;
                let is_accepted = writer.push(n, [&[], &[]]).is_ok();
                sent.start += u64::from(is_accepted);
                is_accepted
            });
            let accepted = accepted.count();
            assert!(accepted == count || sent.start - read.start == 16, "{accepted} of {count}");
            for _ in 0..accepted / 2 + 1 {
                let Some(message) = reader.next() else { break };
                assert_eq!(Some(message.word), read.next());
                reader.release();
            }
        }
        // SAFETY: the only reader.
        let mut reader = unsafe { Reader::new(&queue) };
        while let Some(message) = reader.next() {
            assert_eq!(Some(message.word), read.next());
            reader.release();
        }
        assert_eq!(read, sent);
    }

    #[test]
    fn four_writers_lose_nothing_and_keep_their_order() {
        const COUNT: u64 = if cfg!(miri) { 50 } else { 100_000 };
        let queue = Arc::new(Queue::<64>::new());
        let writers: Vec<_> = (0..4u64)
            .map(|writer| {
                let queue = Arc::clone(&queue);
                std::thread::spawn(move || {
                    for n in 0..COUNT {
                        let payload = n.to_le_bytes().repeat(1 + (n % 60) as usize);
                        while queue.push(writer << 32 | n, [&payload, &[]]).is_err() {
                            std::thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        // SAFETY: the only reader.
        let mut reader = unsafe { Reader::new(&queue) };
        let mut next = [0; 4];
        while next.iter().sum::<u64>() < 4 * COUNT {
            let Some(message) = reader.next() else {
                std::thread::yield_now();
                continue;
            };
            let (writer, n) = (message.word as usize >> 32, message.word & 0xffff_ffff);
            assert_eq!(n, next[writer], "of writer {writer}");
            assert_eq!(message.payload, n.to_le_bytes().repeat(1 + (n % 60) as usize));
            next[writer] += 1;
            reader.release();
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// Two writers of two messages each into two slots: each slot is used twice, and writers meet a full
    /// queue.
    #[test]
    fn loom_two_writers() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let queue = Arc::new(Queue::<2>::new());
            let writers: Vec<_> = (0..2u64)
                .map(|writer| {
                    let queue = Arc::clone(&queue);
                    loom::thread::spawn(move || {
                        (0..2)
                            .map(|n| queue.push(writer << 8 | n, [&[n as u8], &[]]).is_ok())
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            // SAFETY: the only reader.
            let mut reader = unsafe { Reader::new(&queue) };
            let mut seen = vec![];
            for _ in 0..2 {
                if let Some(message) = reader.next() {
                    assert_eq!(message.payload, [message.word as u8]);
                    seen.push(message.word);
                    reader.release();
                }
            }
            let accepted: Vec<Vec<bool>> = writers.into_iter().map(|w| w.join().unwrap()).collect();
            while let Some(message) = reader.next() {
                seen.push(message.word);
                reader.release();
            }
            for (writer, accepted) in accepted.iter().enumerate() {
                let sent = (0..2).filter(|&n| accepted[n]).map(|n| (writer as u64) << 8 | n as u64);
                let got = seen.iter().copied().filter(|word| word >> 8 == writer as u64);
                assert!(sent.eq(got), "{accepted:?} {seen:?}");
            }
        });
    }

    /// An only writer of four messages into two slots, which stops and resumes in the middle.
    #[test]
    fn loom_an_only_writer() {
        loom::model(|| {
            let queue = Arc::new(Queue::<2>::new());
            let writes = {
                let queue = Arc::clone(&queue);
                loom::thread::spawn(move || {
                    let mut accepted = 0;
                    for _ in 0..2 {
                        // SAFETY: the only writer.
                        let mut writer = unsafe { Writer::new(&queue) };
                        for _ in 0..2 {
                            accepted += u64::from(writer.push(accepted, [&[accepted as u8], &[]]).is_ok());
                        }
                    }
                    accepted
                })
            };
            // SAFETY: the only reader.
            let mut reader = unsafe { Reader::new(&queue) };
            let mut seen = 0;
            let mut read_all = |seen: &mut u64| {
                while let Some(message) = reader.next() {
                    assert_eq!((message.word, message.payload), (*seen, &[*seen as u8][..]));
                    *seen += 1;
                    reader.release();
                }
            };
            read_all(&mut seen);
            let accepted = writes.join().unwrap();
            read_all(&mut seen);
            assert_eq!(seen, accepted);
        });
    }

    /// A writer that ends before, after or without its claim, beside one that lives: the message of the
    /// latter arrives, and nothing blocks the reader.
    #[test]
    fn loom_a_writer_that_ends() {
        loom::model(|| {
            let shared = Arc::new((Queue::<2>::new(), [0; 2].map(AtomicU64::new), AtomicU32::new(0)));
            let set = |record: &AtomicU64, n: Option<u64>| {
                record.store(n.map_or(0, |n| n + 1), Ordering::Release);
            };
            let dies = {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(move || {
                    let (queue, records, has_ended) = &*shared;
                    let tail = queue.tail.0.load(Ordering::Relaxed);
                    set(&records[0], Some(tail));
                    let claim = |from: u64| {
                        queue.tail.0.compare_exchange(from, from + 1, Ordering::Release, Ordering::Relaxed)
                    };
                    let _ = claim(tail);
                    has_ended.store(1, Ordering::Release);
                })
            };
            let lives = {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(move || {
                    shared.0.push_recorded(5, [b"x", &[]], |n| set(&shared.1[1], n)).unwrap();
                })
            };
            let (queue, records, has_ended) = &*shared;
            let is_lost = |n: u64| {
                let [ended, living] = [0, 1].map(|at| records[at].load(Ordering::Acquire) == n + 1);
                has_ended.load(Ordering::Acquire) == 1 && ended && !living
            };
            // SAFETY: the only reader.
            let mut reader = unsafe { Reader::new(queue) };
            reader.skip_lost(is_lost);
            let mut found = 0;
            if reader.next().is_some() {
                found += 1;
                reader.release();
            }
            dies.join().unwrap();
            lives.join().unwrap();
            reader.skip_lost(is_lost);
            if let Some(message) = reader.next() {
                assert_eq!((message.word, message.payload), (5, &b"x"[..]));
                found += 1;
                reader.release();
            }
            reader.skip_lost(is_lost);
            assert_eq!(found, 1);
            assert!(!reader.has_claimed());
        });
    }
}
