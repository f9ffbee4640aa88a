//! Threads that share a context under its lock, as those of an MPI program do: a thread that waits makes
//! progress under the lock, and releases it while there is none.
//!
//! # Invariant
//! A thread waits without the lock only for what comes after it has released it. A change (an event that was
//! handled, or what [`Context::unlock_shared`] is given) happens under the lock, and is announced by a ring
//! after that. Natively a thread prepares to sleep before it releases the lock, so a later ring ends the
//! sleep. On a simulated node it compares [`Sharing::changes`] with what it saw under the lock, and nobody
//! else runs between that and its wait.

use super::Context;
use super::advance::{SLEEP, SLEEP_AFTER, YIELD_AFTER};
use crate::check::enter;
use crate::device::guest;
use crate::threads;
use netloom_messaging::pami::guest::Contexts;
use parking_lot::lock_api::RawMutexFair as _;
use std::cell::Cell;

/// Polls of one call, after which it lets others have the lock; and of one wait on a simulated node.
const POLLS: usize = 32;
const GUEST_POLLS: u64 = 10_000;

/// What is known of a context's threads.
#[derive(Default)]
pub struct Sharing {
    /// Whether something has changed since the lock was taken; and such locks so far.
    has_changed: Cell<bool>,
    changes: Cell<u64>,
    /// On a simulated node: whether a thread polls, and how many sleep.
    is_polled: Cell<bool>,
    sleeping: Cell<usize>,
}

impl Sharing {
    /// Something has changed for which a thread may wait. The calling thread holds the lock, if there is
    /// more than one.
    #[inline]
    pub fn note_change(&self) {
        self.has_changed.set(true);
    }
}

impl Context {
    /// Takes the lock.
    pub fn lock_shared(&self) {
        // A thread that the program did not create by `pthread_create` is one of the node's from here on.
        if let Some(guest) = self.client().job.simulated {
            drop(guest::lock(guest));
        }
        self.take_lock();
        self.locked();
    }

    /// Releases the lock, and wakes those that wait if anything has changed.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    pub unsafe fn unlock_shared(&self) {
        // Of those that sleep one is to poll, so that waits for ever are found.
        let Sharing { has_changed, is_polled, sleeping, .. } = &self.sharing;
        let has_changed = has_changed.take() || !is_polled.get() && sleeping.get() > 0;
        if has_changed {
            self.sharing.changes.set(self.sharing.changes.get().wrapping_add(1));
        }
        self.may_unlock();
        // SAFETY: the caller's promise.
        unsafe { self.unlock() };
        if has_changed {
            self.ring();
        }
    }

    /// Makes progress, after the caller has changed something or not. If there is none, others have the lock
    /// meanwhile, and the call waits a moment, on a simulated node until something arrives or changes.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    pub unsafe fn advance_shared(&self, has_changed: bool) {
        if has_changed {
            self.sharing.note_change();
        }
        let is_guest = threads::current().is_some();
        let advance = || {
            // SAFETY: the context lives: its lock is held.
            let entered = unsafe { enter("a wait", self.handle()) };
            entered.is_some_and(|found| {
                found.begin_advance("a wait").is_some_and(|_advancing| found.advance_once())
            })
        };
        if (0..if is_guest { 1 } else { POLLS }).any(|_| advance()) {
            self.idle.set(0);
            return;
        }
        // SAFETY: the caller's promise.
        unsafe { if is_guest { self.wait_on_node() } else { self.wait_natively() } }
    }

    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn wait_on_node(&self) {
        let Sharing { has_changed, changes, is_polled, sleeping } = &self.sharing;
        let seen = changes.get().wrapping_add(has_changed.get().into());
        // Polls of several threads would end each other, as one may look at what another one stores.
        let polls = !is_polled.replace(true);
        if !polls {
            sleeping.set(sleeping.get() + 1);
        }
        // SAFETY: the caller's promise.
        unsafe { self.unlock_shared() };
        if let Some((guest, number)) = self.client().job.simulated.zip(self.number)
            && changes.get() == seen
        {
            let contexts = Contexts::default().with(number);
            match polls {
                true => guest::lock(guest).wait(contexts, GUEST_POLLS),
                false => guest::lock(guest).sleep_until_woken(contexts),
            }
        }
        match polls {
            true => is_polled.set(false),
            false => sleeping.set(sleeping.get() - 1),
        }
        self.lock_shared();
    }

    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn wait_natively(&self) {
        let idle = self.idle.get().wrapping_add(1);
        self.idle.set(idle);
        self.count_poll();
        let job = self.client().job;
        let crowded = job.is_oversubscribed();
        if idle < YIELD_AFTER[usize::from(!crowded)] / POLLS as u32 {
            if self.sharing.has_changed.take() {
                self.ring();
            }
            self.may_unlock();
            // SAFETY: the caller's promise.
            unsafe { self.lock.bump() };
            self.locked();
        } else if crowded && idle > SLEEP_AFTER / POLLS as u32 && self.is_quiet() {
            let doorbell = &job.segment.task(job.task).doorbell;
            let mut is_released = false;
            doorbell.sleep(doorbell.bell_of(self.queue), SLEEP, || {
                let is_ready = self.has_something();
                if !is_ready {
                    // SAFETY: the caller's promise.
                    unsafe { self.unlock_shared() };
                    is_released = true;
                }
                is_ready
            });
            if is_released {
                self.lock_shared();
            }
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.unlock_shared() };
            std::thread::yield_now();
            self.lock_shared();
        }
    }
}
