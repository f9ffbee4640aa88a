//! A context that a communication thread advances: how the thread and those of the program share its lock.

use super::{Handler, is_enabled, locked};
use crate::check::enter;
use crate::context::Context;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

/// Releases of the lock with nothing left to do after which a communication thread takes the lock all the
/// same, for at most this time: some programs try the lock until it is taken, to see that the thread is
/// there.
const VAIN_RELEASES: u32 = 256;
const SHOWN: Duration = Duration::from_millis(20);
/// On a simulated node: the time for which it keeps the lock until somebody has seen it, ns.
const SHOWN_NS: f64 = 2e4;

/// What is known of a context's background progress.
#[derive(Default)]
pub struct Background {
    /// Whether a communication thread has the context.
    pub(super) is_on: AtomicBool,
    /// Whether that thread has found the lock taken.
    wanted: AtomicBool,
    /// Threads of the program that wait for the lock.
    waiting: AtomicU32,
    /// Releases of the lock with nothing left to do.
    vain: AtomicU32,
    /// Whether the communication thread keeps the lock until a thread of the program has found it taken.
    shows_lock: AtomicBool,
    /// On a simulated node: somebody rang for the context since the thread last looked at it.
    pub(super) is_rung: AtomicBool,
    /// Runs instead of the library's advance, with this cookie.
    pub(super) progress: Mutex<Handlers>,
}

#[derive(Clone, Copy)]
pub(super) struct Handlers(pub(super) Handler, pub(super) *mut c_void);
// SAFETY: a function of the program and a value that only it reads.
unsafe impl Send for Handlers {}

impl Default for Handlers {
    fn default() -> Self {
        Handlers(None, std::ptr::null_mut())
    }
}

/// What a thread found at a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Found {
    /// Nothing; who rings when there is something is known.
    Nothing,
    /// The lock was taken; who has it rings.
    Locked,
    /// Nothing that could be done now, but something is left that nobody rings for.
    Left,
    /// Something was done.
    Progress,
}

impl Context {
    /// For the communication thread: advances the context once, or lets the program's handler do so.
    pub(super) fn advance_in_background(&self, looks: bool) -> Found {
        self.background.is_rung.store(false, Ordering::Relaxed);
        if !self.try_lock_in_background() {
            return Found::Locked;
        }
        let call = "a communication thread";
        let Handlers(progress, cookie) = *locked(&self.background.progress);
        self.locked();
        // SAFETY: the context lives: see `Thread::round`.
        let entered = unsafe { enter(call, self.handle()) };
        let mut is_due = false;
        let mut found = Found::Nothing;
        if let Some(entered) = &entered
            && let Some(_advancing) = entered.begin_advance(call)
        {
            if looks {
                self.look_for_ended_tasks();
            }
            match progress {
                Some(_) => is_due = self.has_something(),
                None if self.advance_once() => found = Found::Progress,
                None if self.is_quiet() => {}
                None => found = Found::Left,
            }
        }
        drop(entered);
        if self.background.shows_lock.load(Ordering::Relaxed) {
            self.show_lock();
        }
        self.may_unlock();
        // SAFETY: locked above.
        unsafe { self.unlock() };
        if let (Some(progress), true) = (progress, is_due) {
            // SAFETY: the program gave them.
            unsafe { progress(self.handle(), cookie) };
            found = Found::Left;
        }
        found
    }

    /// Takes the lock unless a thread of the program has it or waits for it; then that thread will ring.
    fn try_lock_in_background(&self) -> bool {
        let background = &self.background;
        let try_lock = || background.waiting.load(Ordering::Relaxed) == 0 && self.try_lock();
        if try_lock() {
            return true;
        }
        background.wanted.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        try_lock()
    }

    /// Keeps the lock until a thread of the program has found it taken.
    #[cold]
    fn show_lock(&self) {
        let background = &self.background;
        let is_wanted = || {
            background.shows_lock.load(Ordering::Relaxed) && background.waiting.load(Ordering::Relaxed) == 0
        };
        if let Some(own) = crate::threads::current() {
            let until_ns = own.hub().last_ns() + SHOWN_NS;
            while is_wanted() && own.hub().last_ns() < until_ns {
                own.hub().give_way();
            }
        } else {
            let began = Instant::now();
            while is_wanted() && began.elapsed() < SHOWN {
                std::thread::yield_now();
            }
        }
        background.shows_lock.store(false, Ordering::Relaxed);
    }

    /// A thread of the program has found the lock taken.
    pub fn lock_is_seen(&self) {
        self.background.shows_lock.store(false, Ordering::Relaxed);
    }

    /// On a simulated node: the communication thread must look at the context before it sleeps.
    pub fn note_ring(&self) {
        self.background.is_rung.store(true, Ordering::Relaxed);
    }

    /// Takes the lock, for a thread of the program.
    pub fn lock_for_program(&self) {
        if !is_enabled(self) {
            return self.take_lock();
        }
        if !self.try_lock() {
            self.background.waiting.fetch_add(1, Ordering::Relaxed);
            self.take_lock();
            self.background.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Releases the lock, for a thread of the program that has advanced the context, or has done anything
    /// else. The communication thread learns of what is left to do.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    pub unsafe fn unlock_for_program(&self, is_advance: bool) {
        if !is_enabled(self) {
            // SAFETY: the caller's promise.
            return unsafe { self.unlock() };
        }
        loop {
            // A message that came while the lock was taken may have woken the communication thread in vain.
            // It is woken again only if something is left, since a program may well advance by itself. The
            // exchange makes visible here what that thread had seen when it set this.
            self.background.wanted.swap(false, Ordering::AcqRel);
            fence(Ordering::SeqCst);
            let is_left = self.has_something();
            // SAFETY: the caller's promise, or it was taken below.
            unsafe { self.unlock() };
            fence(Ordering::SeqCst);
            let count = || self.background.vain.fetch_add(1, Ordering::Relaxed) % VAIN_RELEASES;
            let is_vain = !is_left && !is_advance && count() == VAIN_RELEASES - 1;
            if is_vain {
                self.background.shows_lock.store(true, Ordering::Relaxed);
            }
            if is_left || is_vain {
                return self.ring();
            }
            if !self.background.wanted.load(Ordering::Relaxed) || !self.try_lock() {
                return;
            }
        }
    }
}
