//! Threads that share a context under its lock, as those of an MPI program do: a thread that waits makes
//! progress under the lock, and releases it while there is none.
//!
//! Other contexts may be joined to it, whose progress it makes, too. Without communication threads nobody
//! uses them but under the first one's lock. With such threads each has its own lock, and who advances it
//! takes the first one's in dispatch functions: so a thread that has the first one's lock never waits for
//! another, it only tries.
//!
//! # Invariant
//! A thread waits without the lock only for what comes after it has released it. A change (an event that was
//! handled, or what [`Context::unlock_shared`] is given) happens under the lock, and is announced by a ring
//! after that. Natively a thread prepares to sleep before it releases the lock, so a later ring ends the
//! sleep. On a simulated node it compares [`Sharing::changes`] with what it saw under the lock, and nobody
//! else runs between that and its wait.

use super::Context;
use super::advance::{SLEEP, SLEEP_AFTER, YIELD_AFTER, YIELD_EVERY_LOOK};
use crate::check::enter;
use crate::device::guest;
use crate::threads;
use netloom_messaging::pami::guest::{Contexts, LOOK};
use parking_lot::lock_api::RawMutexFair as _;
use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicU64, Ordering};

/// Polls of one call, after which it lets others have the lock; and of one wait on a simulated node.
const POLLS: usize = 32;
const GUEST_POLLS: u64 = 10_000;
/// Looks at what communication threads have changed, without the lock, after which a thread polls again.
const LOOKS: usize = 64;

/// What is known of a context's threads.
#[derive(Default)]
pub struct Sharing {
    /// Whether something has changed since the lock was taken; and such locks so far.
    has_changed: Cell<bool>,
    changes: AtomicU64,
    /// On a simulated node: whether a thread polls, and how many sleep.
    is_polled: Cell<bool>,
    sleeping: Cell<usize>,
    /// Contexts that were joined to this one.
    joined: OnceCell<Joined>,
}

/// Contexts of which the waits of another one make progress, too.
struct Joined {
    contexts: Vec<*const Context>,
    /// Whether communication threads advance them.
    have_threads: bool,
}

impl Sharing {
    /// Waits make progress of these contexts, too.
    pub fn join(&self, contexts: impl Iterator<Item = *const Context>, have_threads: bool) {
        // The first call counts.
        let _ = self.joined.set(Joined { contexts: contexts.collect(), have_threads });
    }

    /// The contexts that were joined, if communication threads advance them or not.
    fn joined(&self, have_threads: bool) -> impl Iterator<Item = &Context> {
        let joined = self.joined.get().filter(|joined| joined.have_threads == have_threads);
        // SAFETY: they live as long as this one.
        joined.into_iter().flat_map(|joined| &joined.contexts).map(|&context| unsafe { &*context })
    }

    fn have_threads(&self) -> bool {
        self.joined.get().is_some_and(|joined| joined.have_threads)
    }

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
            self.sharing.changes.fetch_add(1, Ordering::Release);
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
        if (0..if is_guest { 1 } else { POLLS }).any(|_| self.advance_all(is_guest)) {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe { if is_guest { self.wait_on_node() } else { self.wait_natively() } }
    }

    /// The same without waiting.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    pub unsafe fn poll_shared(&self, has_changed: bool) {
        if has_changed {
            self.sharing.note_change();
        }
        let simulated = self.client().job.simulated;
        if self.advance_all(simulated.is_some()) {
            return;
        }
        let idle = self.idle.get().wrapping_add(1);
        self.idle.set(idle);
        let is_crowded = simulated.is_none() && self.client().job.is_oversubscribed();
        if is_crowded && idle <= YIELD_AFTER[0] {
            return;
        }
        if simulated.is_none() && idle.is_multiple_of(YIELD_EVERY_LOOK) {
            self.report_if_asked();
        }
        // SAFETY: the caller's promise.
        unsafe { self.unlock_shared() };
        match simulated.zip(self.number) {
            Some((guest, number)) => guest::lock(guest).wait(Contexts::default().with(number), LOOK),
            None if is_crowded && idle.is_multiple_of(YIELD_EVERY_LOOK) => std::thread::yield_now(),
            None => {}
        }
        self.lock_shared();
        if simulated.is_some() {
            self.advance_all(true);
        }
    }

    /// Makes progress once of this context and of those that were joined to it.
    fn advance_all(&self, is_guest: bool) -> bool {
        let mut is_busy = self.advance_in_wait();
        for joined in self.sharing.joined(false) {
            is_busy |= joined.advance_in_wait();
        }
        // A simulated node has hardware threads for them.
        for joined in self.sharing.joined(true).filter(|_| !is_guest) {
            is_busy |= joined.try_to_advance();
        }
        if is_busy {
            self.sharing.note_change();
            self.idle.set(0);
        }
        is_busy
    }

    /// Makes progress once, for a thread that may use the context.
    fn advance_in_wait(&self) -> bool {
        // SAFETY: the context lives: its lock is held, or that of the one that it is joined to.
        let entered = unsafe { enter("a wait", self.handle()) };
        entered
            .is_some_and(|found| found.begin_advance("a wait").is_some_and(|_advancing| found.advance_once()))
    }

    /// The same of a context that has a communication thread, unless another thread uses it.
    fn try_to_advance(&self) -> bool {
        self.try_lock() && {
            self.locked();
            let is_busy = self.advance_in_wait();
            self.may_unlock();
            // SAFETY: locked just now.
            unsafe { self.unlock_for_program(true) };
            is_busy
        }
    }

    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn wait_on_node(&self) {
        let Sharing { has_changed, changes, is_polled, sleeping, .. } = &self.sharing;
        let seen = changes.load(Ordering::Relaxed).wrapping_add(has_changed.get().into());
        // Polls of several threads would end each other, as one may look at what another one stores.
        let polls = !is_polled.replace(true);
        if !polls {
            sleeping.set(sleeping.get() + 1);
        }
        // SAFETY: the caller's promise.
        unsafe { self.unlock_shared() };
        if let Some((guest, number)) = self.client().job.simulated.zip(self.number)
            && changes.load(Ordering::Relaxed) == seen
        {
            let joined = self.sharing.joined(false).filter_map(|context| context.number);
            let contexts = joined.fold(Contexts::default().with(number), Contexts::with);
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
        let is_early = idle < YIELD_AFTER[usize::from(!crowded)] / POLLS as u32;
        if !is_early {
            self.report_if_asked();
        }
        if is_early && self.sharing.have_threads() {
            // SAFETY: the caller's promise.
            unsafe { self.look_for_changes() };
        } else if is_early {
            if self.sharing.has_changed.take() {
                self.ring();
            }
            self.may_unlock();
            // SAFETY: the caller's promise.
            unsafe { self.lock.bump() };
            self.locked();
        } else if crowded
            && idle > SLEEP_AFTER / POLLS as u32
            && self.is_quiet()
            && self.sharing.joined(false).all(Context::is_quiet)
        {
            let doorbell = &job.segment.task(job.task).doorbell;
            let mut is_released = false;
            // Joined contexts have the same bell, unless they have communication threads.
            doorbell.sleep(doorbell.bell_of(self.queue), SLEEP, || {
                let is_ready = self.has_something() || self.sharing.joined(false).any(Context::has_something);
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

    /// Natively, with communication threads: releases the lock for a moment, or until something changes.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn look_for_changes(&self) {
        let Sharing { has_changed, changes, .. } = &self.sharing;
        let seen = changes.load(Ordering::Relaxed).wrapping_add(has_changed.get().into());
        // SAFETY: the caller's promise.
        unsafe { self.unlock_shared() };
        for _ in 0..LOOKS {
            if changes.load(Ordering::Acquire) != seen {
                break;
            }
            std::hint::spin_loop();
        }
        self.lock_shared();
    }
}
