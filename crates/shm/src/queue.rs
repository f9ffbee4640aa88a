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
//! A queue that one writer alone writes to needs no claims: [`Writer`] counts by itself, and `tail` stays 0. Its
//! messages may be longer than a slot ([`Queue::LONG_MAX`]): the bytes go on over the slots that follow, also
//! over their turns, and over `BEHIND` more slots behind the last one, so that a message is always one piece.
//! 4. Whoever looks at a turn looks at one where a message begins. Before a message is published, the turn
//!    where the next one begins is not the one that the reader will expect there, although bytes of an earlier
//!    message may have been in its place (`Writer::covered`).
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

/// A slot, and what it has before its payload, bytes.
const SLOT_B: usize = PAYLOAD_MAX + HEAD_B;
const HEAD_B: usize = 16;

/// A cache line, and what the first one of a slot has of its payload, bytes.
const LINE_B: usize = 64;
const FIRST_LINE_B: usize = LINE_B - HEAD_B;

/// Lines of a slot that are fetched when its first one says that the message has some of them: it is looked at
/// later. Their number is no variable, which short messages would pay for.
const LINES_AHEAD: usize = 4;
/// How far ahead the writer takes slots from the reader's core, which polls the next one all the time, and
/// prefetches others only while messages wait.
const WRITE_AHEAD: u64 = 8;
/// How far ahead the reader prefetches slots while messages wait: the transfer of a line takes as long as
/// several messages. It does not first check whether a slot is written, which would wait for its line.
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

/// A queue of `SLOTS` messages, with memory of `BEHIND` more for long ones. All bytes zero is a valid empty
/// queue.
#[repr(C)]
pub struct Queue<const SLOTS: usize, const BEHIND: usize = 0> {
    tail: Line<AtomicU64>,
    head: Line<AtomicU64>,
    slots: [Slot; SLOTS],
    behind: [Slot; BEHIND],
}
#[cfg(not(all(loom, test)))]
const _: () = assert!(size_of::<Slot>() == SLOT_B);

// SAFETY: cells are accessed as the invariants say.
unsafe impl<const SLOTS: usize, const BEHIND: usize> Sync for Queue<SLOTS, BEHIND> {}
// SAFETY: the same.
unsafe impl<const SLOTS: usize, const BEHIND: usize> Send for Queue<SLOTS, BEHIND> {}

/// Fetches a cache line of a slot, to write to it or to read it.
#[inline(always)]
fn fetch<const WRITES: bool>(slot: &Slot, line: usize) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: a hint without effect on memory.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch};
        let at = std::ptr::from_ref(slot).cast::<i8>().wrapping_add(line * LINE_B);
        if WRITES { _mm_prefetch::<_MM_HINT_ET0>(at) } else { _mm_prefetch::<_MM_HINT_T0>(at) }
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    let _ = (slot, line);
}

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
            // The header of MPI: its words were stored one by one, and a wider read would wait until all of
            // them are in the cache. Only volatile ones are not put together to one.
            24 if from.as_ptr().cast::<u64>().is_aligned() => {
                let words = [0, 1, 2].map(|at| from.as_ptr().cast::<u64>().add(at).read_volatile());
                to.cast::<[u64; 3]>().write_unaligned(words);
            }
            length => to.copy_from_nonoverlapping(from.as_ptr(), length),
        }
    }
}

#[inline(always)]
fn check_length(parts: [&[u8]; 2], max: usize) -> usize {
    let length = parts[0].len() + parts[1].len();
    assert!(length <= max, "{length} B in a message of at most {max} B");
    length
}

impl<const SLOTS: usize, const BEHIND: usize> Queue<SLOTS, BEHIND> {
    /// Longest message of a [`Writer`], bytes.
    pub const LONG_MAX: usize = PAYLOAD_MAX + BEHIND * SLOT_B;

    /// Number of slots after which the reader publishes how far it has read.
    const STRIDE: u64 = if SLOTS >= 8 { SLOTS as u64 / 8 } else { 1 };

    /// Slots of a message of this length.
    #[inline(always)]
    fn slots_of(length: usize) -> u64 {
        if BEHIND == 0 || length <= PAYLOAD_MAX { 1 } else { (length + HEAD_B).div_ceil(SLOT_B) as u64 }
    }

    /// Length of the n-th message, bytes. Another process may be malicious, so it is bounded.
    ///
    /// # Safety
    /// It has been written, by the caller or for it (invariant 3).
    #[inline(always)]
    unsafe fn length_of(&self, n: u64) -> usize {
        let slot = &self.slots[n as usize % SLOTS];
        // SAFETY: the caller's promise.
        slot.length.with(|at| unsafe { *at } as usize).min(Self::LONG_MAX)
    }

    /// Where the bytes of the n-th message are if it is long: with all memory behind them.
    #[cfg(not(all(loom, test)))]
    #[inline(always)]
    fn long(&self, n: u64) -> *mut u8 {
        let at = std::mem::offset_of!(Self, slots) + (n as usize % SLOTS) * SLOT_B + HEAD_B;
        // SAFETY: within this value. All bytes of slots are in cells.
        unsafe { std::ptr::from_ref(self).cast_mut().cast::<u8>().add(at) }
    }

    /// The models have no long messages.
    #[cfg(all(loom, test))]
    fn long(&self, _: u64) -> *mut u8 {
        unreachable!("cells of the model are not bytes")
    }

    /// Whether the n-th message has been written, of those that `SLOTS` messages have not followed.
    #[inline(always)]
    fn is_written(&self, n: u64) -> bool {
        self.slots[n as usize % SLOTS].turn.load(Ordering::Acquire) == n.wrapping_add(1) as u32
    }

    /// Fetches the first cache line of a slot.
    #[inline(always)]
    fn prepare_to_read(&self, n: u64) {
        fetch::<false>(&self.slots[n as usize % SLOTS], 0);
    }

    /// Fetches the lines of a slot that follow the first one.
    #[inline(always)]
    fn prepare_to_read_rest(&self, n: u64) {
        let slot = &self.slots[n as usize % SLOTS];
        (1..=LINES_AHEAD).for_each(|line| fetch::<false>(slot, line));
    }

    /// Takes the lines of a slot that a message of this length needs from the reader's core.
    #[inline(always)]
    fn prepare_to_write(&self, n: u64, length: usize) {
        let slot = &self.slots[n as usize % SLOTS];
        fetch::<true>(slot, 0);
        if length > FIRST_LINE_B {
            fetch::<true>(slot, 1);
        }
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
        let length = check_length(parts, PAYLOAD_MAX);
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
        unsafe { self.write(tail, word, parts, length) };
        record(None);
        Ok(())
    }

    /// Writes the n-th message to its slot.
    ///
    /// # Safety
    /// The caller has claimed it (invariant 2), with as many slots as it takes; the parts have `length` bytes.
    #[inline(always)]
    unsafe fn write(&self, n: u64, word: u64, parts: [&[u8]; 2], length: usize) {
        let slot = &self.slots[n as usize % SLOTS];
        // SAFETY: the caller's promise.
        slot.length.with_mut(|at| unsafe { *at = length as u32 });
        slot.word.with_mut(|at| unsafe { *at = word });
        let fill = |at: *mut u8| unsafe {
            copy(parts[0], at);
            copy(parts[1], at.add(parts[0].len()));
        };
        if BEHIND == 0 || length <= PAYLOAD_MAX {
            slot.payload.with_mut(|at| fill(at.cast()));
        } else {
            fill(self.long(n));
        }
        slot.turn.store(n.wrapping_add(1) as u32, Ordering::Release);
    }
}

/// The only writer of a queue. It claims slots without a locked instruction, which would wait until the line
/// of the slot before has come from the reader's core.
pub struct Writer<'a, const SLOTS: usize, const BEHIND: usize = 0> {
    queue: &'a Queue<SLOTS, BEHIND>,
    /// Slots written so far.
    tail: u64,
    /// Slots read when this was last looked at.
    head: u64,
    /// Slots, a bit for each, where bytes of a long message may be in place of a turn.
    covered: u64,
}

impl<'a, const SLOTS: usize, const BEHIND: usize> Writer<'a, SLOTS, BEHIND> {
    const CHECK: () = assert!(BEHIND == 0 || (SLOTS <= 64 && BEHIND < SLOTS), "a bit for each slot");

    /// The writer of a queue, from where the last one stopped.
    ///
    /// # Safety
    /// Nobody else writes to the queue, then or before but by a `Writer`.
    pub unsafe fn new(queue: &'a Queue<SLOTS, BEHIND>) -> Self {
        let () = Self::CHECK;
        let head = queue.head.0.load(Ordering::Acquire);
        let mut tail = head;
        while tail.wrapping_sub(head) < SLOTS as u64 && queue.is_written(tail) {
            // SAFETY: it is written, and nobody writes now.
            tail = tail.wrapping_add(Queue::<SLOTS, BEHIND>::slots_of(unsafe { queue.length_of(tail) }));
        }
        // The last one may have written long messages.
        Writer { queue, tail, head, covered: if BEHIND == 0 { 0 } else { u64::MAX } }
    }

    /// As [`Queue::push`], for messages of up to [`Queue::LONG_MAX`] bytes.
    ///
    /// # Errors
    /// If the queue is full.
    ///
    /// # Panics
    /// If the parts have more bytes.
    #[inline(always)]
    pub fn push(&mut self, word: u64, parts: [&[u8]; 2]) -> Result<(), Full> {
        let length = check_length(parts, Queue::<SLOTS, BEHIND>::LONG_MAX);
        let next = self.tail.wrapping_add(Queue::<SLOTS, BEHIND>::slots_of(length));
        if next.wrapping_sub(self.head) > SLOTS as u64 {
            self.head = self.queue.head.0.load(Ordering::Acquire);
            if next.wrapping_sub(self.head) > SLOTS as u64 {
                return Err(Full);
            }
        }
        if BEHIND > 0 && self.covered != 0 {
            self.uncover(next);
        }
        self.queue.prepare_to_write(next.wrapping_add(WRITE_AHEAD), length);
        // SAFETY: nobody else claims; the slots are free (invariant 1), and there are as many as it takes.
        unsafe { self.queue.write(self.tail, word, parts, length) };
        if BEHIND > 0 && length > PAYLOAD_MAX {
            self.cover(next);
        }
        self.tail = next;
        Ok(())
    }

    /// Before a message up to `next` is written: the message there has not been written, and its turn says
    /// so (invariant 4). The slot is free, or it is the reader's next, in which a message begins.
    fn uncover(&mut self, next: u64) {
        let [begin, end] = [self.tail, next].map(|n| 1 << (n as usize % SLOTS));
        if self.covered & end != 0 && next.wrapping_sub(self.head) < SLOTS as u64 {
            let before = next.wrapping_sub(SLOTS as u64).wrapping_add(1) as u32;
            self.queue.slots[next as usize % SLOTS].turn.store(before, Ordering::Relaxed);
            self.covered &= !end;
        }
        self.covered &= !begin;
    }

    /// A message up to `next` lies over the turns of all its slots but the first. Those at the start of the
    /// queue that it leaves out have the turns that they had.
    fn cover(&mut self, next: u64) {
        let first = self.tail as usize % SLOTS;
        let end = (first + next.wrapping_sub(self.tail) as usize).min(SLOTS);
        (first + 1..end).for_each(|slot| self.covered |= 1 << slot);
    }
}

/// The reader of a queue.
pub struct Reader<'a, const SLOTS: usize, const BEHIND: usize = 0> {
    queue: &'a Queue<SLOTS, BEHIND>,
    /// Slots read so far.
    head: u64,
    /// The head that writers see.
    published: u64,
    /// Messages that are prefetched ahead: one more with each message that is already there, 0 once none is.
    /// A prefetched slot that is still empty costs its writer another transfer of the line.
    ahead: u64,
}

/// A message in its slot.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The protocol's word.
    pub word: u64,
    /// Its bytes.
    pub payload: &'a [u8],
}

impl<'a, const SLOTS: usize, const BEHIND: usize> Reader<'a, SLOTS, BEHIND> {
    /// The reader of a queue, from where the last one stopped.
    ///
    /// # Safety
    /// A queue has one reader at a time.
    pub unsafe fn new(queue: &'a Queue<SLOTS, BEHIND>) -> Self {
        let head = queue.head.0.load(Ordering::Acquire);
        Reader { queue, head, published: head, ahead: 0 }
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
        // SAFETY: invariant 3; the writer initialised the first `length` bytes.
        let length = unsafe { self.queue.length_of(self.head) };
        if length > FIRST_LINE_B {
            // It is looked at later, and copied later still.
            self.queue.prepare_to_read_rest(self.head);
        }
        let word = slot.word.with(|at| unsafe { *at });
        let bytes = |at: *const u8| unsafe { std::slice::from_raw_parts(at, length) };
        let payload = if BEHIND == 0 || length <= PAYLOAD_MAX {
            slot.payload.with(|at| bytes(at.cast()))
        } else {
            bytes(self.queue.long(self.head))
        };
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
        let next = self.after(self.head);
        let slots = next.wrapping_sub(self.head);
        self.head = next;
        if self.head.wrapping_sub(self.published) >= Queue::<SLOTS, BEHIND>::STRIDE {
            self.publish();
        }
        if !self.has_next() {
            self.ahead = 0;
            return;
        }
        // The next messages probably have the length of this one. Long ones would go once around the queue.
        let fetch = |message| self.queue.prepare_to_read(self.head.wrapping_add(message * slots));
        if self.ahead < READ_AHEAD && (self.ahead + 1) * slots < SLOTS as u64 / 2 {
            // One more than before.
            fetch(self.ahead);
            self.ahead += 1;
        }
        fetch(self.ahead);
    }

    /// Where the message after the n-th begins, which has been written, or is left out.
    #[inline(always)]
    fn after(&self, n: u64) -> u64 {
        if BEHIND == 0 {
            return n.wrapping_add(1);
        }
        // SAFETY: it has been written.
        n.wrapping_add(Queue::<SLOTS, BEHIND>::slots_of(unsafe { self.queue.length_of(n) }))
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

impl<const SLOTS: usize, const BEHIND: usize> Drop for Reader<'_, SLOTS, BEHIND> {
    fn drop(&mut self) {
        self.queue.head.0.store(self.head, Ordering::Release);
    }
}

#[cfg(test)]
impl<const SLOTS: usize, const BEHIND: usize> Queue<SLOTS, BEHIND> {
    pub(crate) fn new() -> Self {
        let slot = || Slot {
            turn: AtomicU32::new(0),
            length: UnsafeCell::new(0),
            word: UnsafeCell::new(0),
            payload: UnsafeCell::new([MaybeUninit::uninit(); PAYLOAD_MAX]),
        };
        Queue {
            tail: Line(AtomicU64::new(0)),
            head: Line(AtomicU64::new(0)),
            slots: std::array::from_fn(|_| slot()),
            behind: std::array::from_fn(|_| slot()),
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
