//! A copy between the memory of two processes in which both take part: the kernel copies about as fast for
//! each of two cores as for one.
//!
//! The process that wants the copy, the *requester*, describes it in its own record ([`SharedCopy`]) and
//! enters its number in the *request* of the other, the *helper*, which looks there when it has nothing else
//! to do. Both claim ranges of the data, each about half of what is left, and copy them. If the helper is
//! busy, the requester copies everything.
//!
//! # Invariants
//! 1. `claimed` holds the generation of the copy and the number of units claimed so far. It only grows within
//!    a generation, and generations are not reused (2^32 copies later, a helper that slept all the time might
//!    err).
//! 2. What describes a copy is written only while `claimed` is closed. So a helper whose compare-and-exchange
//!    of `claimed` succeeds has read the description of that generation.
//! 3. The requester closes the copy when all units are claimed, and those that the helper claimed are copied.
#![allow(unsafe_code)]

use crate::sync::{AtomicU32, AtomicU64, Ordering, pause};
use std::io;

/// Granularity of claims, bytes.
const UNIT_B: u64 = 4096;
/// Smallest claim, units: a system call takes as long as the copy of some pages.
const CLAIM_MIN: u64 = 16;
/// Shortest copy in which another process takes part, bytes.
pub const SHARED_FROM_B: usize = 96 << 10;
/// Units claimed while no copy is open.
const CLOSED: u32 = u32::MAX;
/// Looks at the helper's progress between two looks at whether it still lives.
const LOOKS: u32 = 1 << 14;

/// The copy that a task shares with another. All bytes zero is valid: none is open.
#[repr(C, align(128))]
pub struct SharedCopy {
    /// Generation, units claimed.
    claimed: AtomicU64,
    /// The task that may take part.
    helper: AtomicU32,
    /// Whether data moves from the helper to the requester.
    is_read: AtomicU32,
    /// Address in the requester, address in the helper, length.
    span: [AtomicU64; 3],
    /// Units that the helper has copied.
    helped: AtomicU64,
    /// Whether the helper could not copy.
    failed: AtomicU32,
    /// Whether a thread of the requester uses this record.
    is_used: AtomicU32,
}

/// What is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Whether data moves from the helper to the requester.
    pub is_read: bool,
    /// Address in the requester.
    pub requester: u64,
    /// Address in the helper.
    pub helper: u64,
    /// Length, bytes.
    pub bytes: u64,
}

impl Span {
    fn units(self) -> u64 {
        self.bytes.div_ceil(UNIT_B)
    }

    /// Offset and length of claimed units, bytes.
    fn range(self, (from, to): (u64, u64)) -> (u64, usize) {
        (from * UNIT_B, ((to * UNIT_B).min(self.bytes) - from * UNIT_B) as usize)
    }
}

/// How a shared copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// All data is copied.
    Done,
    /// Nobody may share it at present: nothing is copied.
    Alone,
    /// The helper was not permitted to copy: some of the data may not be copied.
    Refused,
    /// The helper has ended, with some of the data not copied.
    Gone,
}

impl SharedCopy {
    /// Copies together with the task `helper`. `request` is that task's request; `copy` copies a range of
    /// bytes by its offset and length, `is_gone` whether the helper has ended.
    ///
    /// # Errors
    /// Those of `copy`.
    pub fn share(
        &self,
        [requester, helper]: [u32; 2],
        request: &AtomicU32,
        span: Span,
        mut copy: impl FnMut(u64, usize) -> io::Result<()>,
        is_gone: impl Fn() -> bool,
    ) -> io::Result<Shared> {
        if self.is_used.swap(1, Ordering::Acquire) != 0 {
            return Ok(Shared::Alone);
        }
        let own = requester + 1;
        if request.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            self.is_used.store(0, Ordering::Release);
            return Ok(Shared::Alone);
        }
        self.open(helper, span);
        let units = span.units();
        let (mut copied, mut result) = (0, Ok(()));
        // As long as the helper has claimed nothing, it is busy: after the first half this process copies
        // all.
        while let Some(claim) = self.claim(span, |now| match (now, result.is_err()) {
            (_, true) => units - now,
            (0, _) => units.div_ceil(2),
            (now, _) if now == copied => units - now,
            (now, _) => (units - now).div_ceil(2).max(CLAIM_MIN),
        }) {
            copied += claim.1 - claim.0;
            let (offset, bytes) = span.range(claim);
            if result.is_ok() {
                result = copy(offset, bytes);
            }
        }
        let _ = request.compare_exchange(own, 0, Ordering::Relaxed, Ordering::Relaxed);
        let mut looks = 0;
        let mut end = Shared::Done;
        while self.helped.load(Ordering::Acquire) < units - copied {
            looks += 1;
            pause(looks);
            if looks % LOOKS == 0 && is_gone() {
                end = Shared::Gone;
                break;
            }
        }
        if end == Shared::Done && self.failed.load(Ordering::Relaxed) != 0 {
            end = Shared::Refused;
        }
        self.close();
        self.is_used.store(0, Ordering::Release);
        result.map(|()| end)
    }

    /// Takes part in the copy, as the task `helper`: `copy` copies a range of it by its offset and length.
    /// Returns whether there was one.
    pub fn help(&self, helper: u32, mut copy: impl FnMut(Span, u64, usize) -> io::Result<()>) -> bool {
        let mut is_busy = false;
        loop {
            let now = self.claimed.load(Ordering::Acquire);
            let [requester, address, bytes] = [0, 1, 2].map(|n| self.span[n].load(Ordering::Acquire));
            let is_read = self.is_read.load(Ordering::Acquire) != 0;
            let span = Span { is_read, requester, helper: address, bytes };
            let (units, from) = (span.units(), now & u64::from(u32::MAX));
            if self.helper.load(Ordering::Acquire) != helper || from >= units {
                return is_busy;
            }
            let count = (units - from).div_ceil(2).max(CLAIM_MIN).min(units - from);
            if self.claimed.compare_exchange(now, now + count, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                continue;
            }
            let (offset, bytes) = span.range((from, from + count));
            if copy(span, offset, bytes).is_err() {
                self.failed.store(1, Ordering::Relaxed);
            }
            self.helped.fetch_add(count, Ordering::Release);
            is_busy = true;
        }
    }

    fn open(&self, helper: u32, span: Span) {
        self.close();
        self.helper.store(helper, Ordering::Release);
        self.is_read.store(u32::from(span.is_read), Ordering::Release);
        for (at, value) in self.span.iter().zip([span.requester, span.helper, span.bytes]) {
            at.store(value, Ordering::Release);
        }
        self.failed.store(0, Ordering::Release);
        self.helped.store(0, Ordering::Release);
        let generation = (self.claimed.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        self.claimed.store(generation << 32, Ordering::Release);
    }

    fn close(&self) {
        self.claimed.fetch_or(u64::from(CLOSED), Ordering::AcqRel);
    }

    /// Claims as many units as `count` says for the number claimed so far; `None` if all are.
    fn claim(&self, span: Span, count: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
        let mut now = self.claimed.load(Ordering::Relaxed);
        loop {
            let from = now & u64::from(u32::MAX);
            let count = count(from).min(span.units() - from);
            if count == 0 {
                return None;
            }
            match self.claimed.compare_exchange_weak(now, now + count, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some((from, from + count)),
                Err(changed) => now = changed,
            }
        }
    }
}

#[cfg(test)]
impl SharedCopy {
    fn new() -> Self {
        SharedCopy {
            claimed: AtomicU64::new(0),
            helper: AtomicU32::new(0),
            is_read: AtomicU32::new(0),
            span: [0; 3].map(AtomicU64::new),
            helped: AtomicU64::new(0),
            failed: AtomicU32::new(0),
            is_used: AtomicU32::new(0),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const SPAN: Span = Span { is_read: true, requester: 0, helper: 0, bytes: 100 * UNIT_B + 5 };

    #[test]
    fn a_busy_helper_leaves_everything_to_the_requester() {
        let (record, request) = (SharedCopy::new(), AtomicU32::new(0));
        let mut ranges = vec![];
        let copy = |offset, bytes| {
            ranges.push((offset, bytes));
            Ok(())
        };
        assert_eq!(record.share([3, 7], &request, SPAN, copy, || false).unwrap(), Shared::Done);
        assert_eq!(ranges, [(0, 51 * 4096), (51 * 4096, 49 * 4096 + 5)]);
        assert!(!record.help(7, |_, _, _| panic!("it is closed")));
        request.store(9, Ordering::Relaxed);
        let shared = record.share([3, 7], &request, SPAN, |_, _| panic!("not copied"), || false);
        assert_eq!((shared.unwrap(), request.load(Ordering::Relaxed)), (Shared::Alone, 9));
    }

    #[test]
    fn both_copy_each_byte_once_and_refusals_are_reported() {
        for refuses in [false, true] {
            let (record, request) = (SharedCopy::new(), AtomicU32::new(0));
            let ranges = RefCell::new(vec![]);
            let mut is_first = true;
            let copy = |offset, bytes| {
                ranges.borrow_mut().push((offset, bytes));
                // The helper copies while the requester does: here, all that is left.
                if std::mem::take(&mut is_first) {
                    assert_eq!(request.load(Ordering::Relaxed), 4);
                    assert!(!record.help(6, |_, _, _| panic!("another task")));
                    let is_busy = record.help(7, |span, offset, bytes| {
                        assert_eq!(span, SPAN);
                        ranges.borrow_mut().push((offset, bytes));
                        if refuses { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
                    });
                    assert!(is_busy);
                }
                Ok(())
            };
            let end = record.share([3, 7], &request, SPAN, copy, || false).unwrap();
            assert_eq!(end, if refuses { Shared::Refused } else { Shared::Done });
            let ranges = ranges.into_inner();
            let mut next = 0;
            for (offset, bytes) in ranges {
                assert_eq!(offset, next);
                next += bytes as u64;
            }
            assert_eq!(next, SPAN.bytes);
        }
    }

    #[test]
    fn a_helper_that_ends_is_noticed() {
        let (record, request) = (SharedCopy::new(), AtomicU32::new(0));
        let copy = |_, _| {
            // It claims, and ends.
            record.claim(SPAN, |_| 1);
            Ok(())
        };
        assert_eq!(record.share([0, 1], &request, SPAN, copy, || true).unwrap(), Shared::Gone);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// Two copies, one after the other, with different addresses: each unit of each is copied once, by ranges
    /// of the right copy.
    #[test]
    fn loom_two_copies() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new((SharedCopy::new(), AtomicU32::new(0), [0; 2].map(AtomicU32::new)));
            let helper = {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(move || {
                    shared.0.help(1, |span, offset, bytes| {
                        assert_eq!(
                            (span.helper, span.bytes),
                            (10 * span.requester, (1 + span.requester) * UNIT_B)
                        );
                        let units = (bytes as u64).div_ceil(UNIT_B);
                        assert!(offset + bytes as u64 <= span.bytes);
                        shared.2[span.requester as usize - 1].fetch_add(units as u32, Ordering::Relaxed);
                        Ok(())
                    });
                })
            };
            for copy in [1, 2] {
                let span =
                    Span { is_read: true, requester: copy, helper: 10 * copy, bytes: (1 + copy) * UNIT_B };
                let done = &shared.2[copy as usize - 1];
                let own = |_, bytes: usize| {
                    done.fetch_add((bytes as u64).div_ceil(UNIT_B) as u32, Ordering::Relaxed);
                    Ok(())
                };
                assert_eq!(shared.0.share([0, 1], &shared.1, span, own, || false).unwrap(), Shared::Done);
                assert_eq!(u64::from(done.load(Ordering::Relaxed)), 1 + copy);
            }
            helper.join().unwrap();
        });
    }
}
