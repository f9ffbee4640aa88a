//! Sends, with a note of what is being written, so that what a task that ends leaves unwritten is known.

use super::{QUEUES, Segment, TASKS_MAX};
use crate::fastbox::Fastboxes;
use crate::queue::Full;
#[cfg(doc)]
use crate::queue::Queue;
use crate::sync::{AtomicU64, Ordering};

/// A message that the owner of a queue is about to write, or writes: 1 + the number of the queue that it goes
/// to, and from bit 20 on its number there; 0 if there is none. The owner alone writes it.
#[repr(C, align(64))]
pub(super) struct Claim(AtomicU64);

/// The number of a queue among those of all tasks.
#[inline(always)]
fn number_of(task: u32, queue: usize) -> u32 {
    task * QUEUES as u32 + queue as u32
}

impl Claim {
    fn value(to: u32, queue: usize, n: u64) -> u64 {
        n << Self::NUMBER_SHIFT | (u64::from(number_of(to, queue)) + 1)
    }

    const NUMBER_SHIFT: u32 = 20;
}
const _: () = assert!(TASKS_MAX as usize * QUEUES < 1 << Claim::NUMBER_SHIFT);

impl Segment {
    /// Sends for the owner of the queue `from` of the task `own`, this process.
    ///
    /// # Panics
    /// If there is no such task or queue.
    ///
    /// # Safety
    /// A queue's owner has one sender at a time.
    pub unsafe fn sender(&self, own: u32, from: usize) -> Sender<'_> {
        let claim = &self.task(own).claims[from].0;
        // SAFETY: no other owner has this number, and the owner no other value, as the caller promises.
        let boxes = unsafe { Fastboxes::new(number_of(own, from) + 1) };
        Sender { segment: self, claim, boxes }
    }

    /// Whether a task that has ended claimed the n-th message of a queue of `own`, and no other has.
    pub fn is_lost(&self, own: u32, queue: usize, n: u64) -> bool {
        let claim = Claim::value(own, queue, n);
        let has_claimed = |task: &u32| {
            let claims = &self.task(*task).claims;
            claims.iter().any(|other| other.0.load(Ordering::Acquire) == claim)
        };
        let (over, other): (Vec<u32>, Vec<u32>) =
            (0..self.tasks_ever()).partition(|&task| self.task(task).state().is_over());
        over.iter().any(has_claimed) && !other.iter().any(has_claimed)
    }
}

/// What the owner of a queue needs to send messages, found once for all of them.
pub struct Sender<'a> {
    segment: &'a Segment,
    claim: &'a AtomicU64,
    boxes: Fastboxes<'a>,
}

impl Sender<'_> {
    /// Most bytes of the next message to a context of a task: more if it goes to a fastbox.
    #[inline]
    pub fn longest(&self, to: u32, queue: usize) -> usize {
        self.boxes.longest(number_of(to, queue))
    }

    /// Writes a message to a context of a task, and wakes that task if it sleeps: to the owner's fastbox
    /// there if it has one, or to the queue. See [`Queue::push`]; the word is not
    /// [`ANNOUNCEMENT`](crate::fastbox::ANNOUNCEMENT).
    ///
    /// # Errors
    /// If there is no space.
    ///
    /// # Panics
    /// If there is no such task or queue, or the parts are too long.
    #[inline(always)]
    pub fn send(&mut self, to: u32, queue: usize, word: u64, parts: [&[u8]; 2]) -> Result<(), Full> {
        let (task, inbox) = self.segment.task_and_inbox(to, queue);
        let (claim, claimed) = (self.claim, Claim::value(to, queue, 0));
        let push = |word: u64, parts: [&[u8]; 2]| {
            inbox.queue().push_recorded(word, parts, |n| {
                let value = n.map_or(0, |n| n << Claim::NUMBER_SHIFT | claimed);
                claim.store(value, Ordering::Release);
            })
        };
        self.boxes.push((number_of(to, queue), inbox), word, parts, push)?;
        task.doorbell.ring(queue);
        Ok(())
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::segment::State;

    #[test]
    fn claims_of_tasks_that_have_ended_are_lost_unless_another_has_claimed_the_same() {
        let segment = Segment::create(3).unwrap();
        // SAFETY: the only sender.
        unsafe { segment.sender(1, 5) }.send(0, 2, 7, [&[], &[]]).unwrap();
        assert!(segment.task(1).claims.iter().all(|claim| claim.0.load(Ordering::Relaxed) == 0));
        let claims = [1, 2].map(|task| &segment.task(task).claims[5].0);
        claims[0].store(Claim::value(0, 2, 1), Ordering::Relaxed);
        assert!(!segment.is_lost(0, 2, 1), "its writer lives");
        for state in [State::Dead, State::Ended] {
            segment.task(1).set_state(state);
            assert!(segment.is_lost(0, 2, 1) && !segment.is_lost(0, 2, 2) && !segment.is_lost(0, 1, 1));
        }
        claims[1].store(Claim::value(0, 2, 1), Ordering::Relaxed);
        assert!(!segment.is_lost(0, 2, 1), "another may have claimed it");
    }
}
