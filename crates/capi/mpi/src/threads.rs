//! Threads of the program. With `MPI_THREAD_MULTIPLE` a call takes one lock when it begins and releases it
//! when it ends (the *classic* library of section IV.A of the PAMI paper); below it, calls are made one at a
//! time, and there is no lock. It is the lock of PAMI's context, which the context's other users of this
//! process take, too.
//!
//! # Invariants
//! 1. What the library refers to is used only by a thread that holds the lock: it has a
//!    [`Library`](crate::library::Library), or is in a call of `entry`.
//! 2. The lock is released before its call ends in two places: [`wait`], which all waits come to, and
//!    [`unlocked`], where functions of the program are called. Neither is called while something of the
//!    library is borrowed. Of waits the compiler sees to that: `Library::progress` borrows the whole of it. A
//!    future is polled, and so may call an operation of the program, when nothing is borrowed either.
//! 3. What ends a request of another thread without an event of PAMI's is noted by [`note_change`].
//! 4. A thread may wait for the library's lock while it has that of a context of messages, as dispatch
//!    functions do. So one that has the library's only tries to take a context's.

use crate::pami::{Pami, Spend};
use netloom_mpi::transport::Step;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// Whether calls take the lock.
static IS_SHARED: AtomicBool = AtomicBool::new(false);
/// Whether there are communication threads.
static HAS_BACKGROUND: AtomicBool = AtomicBool::new(false);
/// The context, and PAMI's functions `lock`, `unlock`, `advance` and `poll` for it: see `NETLOOM_threads`.
static CONTEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static FUNCTIONS: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];
const LOCK: usize = 0;
const UNLOCK: usize = 1;
const ADVANCE: usize = 2;
const POLL: usize = 3;

/// PAMI's function by which steps of the software take their time, on a simulated machine.
static SPEND: AtomicUsize = AtomicUsize::new(0);

/// Steps that touch nothing of other threads, beside what they belong to.
const PRIVATE: [Step; 3] = [Step::Receive, Step::Handle, Step::Free];

thread_local! {
    /// How often each of [`PRIVATE`] is to take its time when this thread has released the lock. Nothing that
    /// is dropped: calls may come after the thread's end has begun.
    static POSTPONED: Cell<[u32; PRIVATE.len()]> = const { Cell::new([0; PRIVATE.len()]) };
    /// How many calls the thread is in that have the lock: functions of the program make some within others.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static HAS_CHANGED: Cell<bool> = const { Cell::new(false) };
}

/// From now on calls take the lock.
///
/// # Safety
/// No other thread is in a call, and the context lives until [`end`].
pub unsafe fn begin(pami: &Pami) -> bool {
    let Some((context, functions)) = pami.sharing() else { return false };
    CONTEXT.store(context, Ordering::Relaxed);
    for (place, function) in FUNCTIONS.iter().zip(functions) {
        place.store(function as usize, Ordering::Relaxed);
    }
    HAS_BACKGROUND.store(pami.has_threads(), Ordering::Release);
    SPEND.store(pami.spends().map_or(0, |spend| spend as usize), Ordering::Relaxed);
    IS_SHARED.store(true, Ordering::Release);
    true
}

/// From now on they do not, and the calls of this thread that have it have it no more: no other thread is in
/// a call, and the context is about to be destroyed.
pub fn end() {
    if DEPTH.replace(0) > 0 {
        unlock();
        spend_postponed();
    }
    IS_SHARED.store(false, Ordering::Release);
    HAS_BACKGROUND.store(false, Ordering::Release);
}

/// Whether calls take the lock.
#[inline]
pub fn is_shared() -> bool {
    IS_SHARED.load(Ordering::Acquire)
}

#[cold]
fn lock() {
    type Function = unsafe extern "C" fn(*mut c_void);
    // SAFETY: PAMI's function, for a context that lives.
    unsafe {
        let function = FUNCTIONS[LOCK].load(Ordering::Relaxed);
        std::mem::transmute::<usize, Function>(function)(CONTEXT.load(Ordering::Relaxed));
    }
}

fn unlock() {
    // SAFETY: this thread holds the lock.
    unsafe { call_noting(UNLOCK) };
}

/// Calls `unlock`, `advance` or `poll`, with whether something has changed since the last time.
///
/// # Safety
/// This thread holds the lock.
unsafe fn call_noting(which: usize) {
    type Function = unsafe extern "C" fn(*mut c_void, c_int);
    // SAFETY: PAMI's function, for a context that lives.
    unsafe {
        let function = FUNCTIONS[which].load(Ordering::Relaxed);
        let function = std::mem::transmute::<usize, Function>(function);
        function(CONTEXT.load(Ordering::Relaxed), HAS_CHANGED.take().into());
    }
}

/// A call that has the lock, if calls take it; the end of this value is the end of the call.
#[derive(Debug)]
pub struct Held {
    is_locked: bool,
    /// The thread that has taken the lock releases it.
    _of_thread: std::marker::PhantomData<*mut ()>,
}

/// A call begins.
#[inline]
pub fn enter() -> Held {
    let is_locked = is_shared();
    if is_locked {
        if DEPTH.get() == 0 {
            lock();
        }
        DEPTH.set(DEPTH.get() + 1);
    }
    Held { is_locked, _of_thread: std::marker::PhantomData }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        if self.is_locked && is_shared() {
            DEPTH.set(DEPTH.get() - 1);
            if DEPTH.get() == 0 {
                crate::waiting::call_ends();
                unlock();
                spend_postponed();
            }
        }
    }
}

/// The call has changed something for which another thread may wait.
#[inline]
pub fn note_change() {
    if is_shared() {
        HAS_CHANGED.set(true);
    }
}

/// Makes progress; where there is none, other threads have the lock meanwhile. Returns whether it has done
/// so: below `MPI_THREAD_MULTIPLE` the caller makes progress itself.
///
/// # Safety
/// The caller borrows nothing of the library.
#[inline]
pub unsafe fn wait() -> bool {
    if !is_shared() {
        return false;
    }
    if POSTPONED.get() != [0; PRIVATE.len()] {
        unlock();
        spend_postponed();
        lock();
        // Others may have done meanwhile what the caller waits for.
        return true;
    }
    // SAFETY: this thread holds the lock.
    unsafe { call_noting(ADVANCE) };
    true
}

/// With communication threads, a step that touches nothing of other threads takes its time when the lock has
/// been released: the paper's library does without the lock there, with pools of requests of each thread.
/// Returns whether this is such a step; otherwise its time is the caller's to spend.
#[inline]
pub fn postpone(step: Step) -> bool {
    let Some(kind) = PRIVATE.iter().position(|&of| of == step) else { return false };
    let is_later = has_background() && DEPTH.get() > 0;
    if is_later {
        let mut counts = POSTPONED.get();
        counts[kind] += 1;
        POSTPONED.set(counts);
    }
    is_later
}

fn spend_postponed() {
    let counts = POSTPONED.take();
    let spend = SPEND.load(Ordering::Relaxed);
    if spend == 0 {
        return;
    }
    // SAFETY: PAMI's function of this type.
    let spend = unsafe { std::mem::transmute::<usize, Spend>(spend) };
    for (step, count) in PRIVATE.into_iter().zip(counts) {
        // SAFETY: a function of a number.
        (0..count).for_each(|_| unsafe { spend(step.to_number()) });
    }
}

/// Whether there are communication threads.
#[inline]
pub fn has_background() -> bool {
    HAS_BACKGROUND.load(Ordering::Relaxed)
}

/// With communication threads, makes progress without waiting; other threads may have the lock meanwhile.
/// Returns whether there are any: else the caller makes progress itself.
///
/// # Safety
/// The caller borrows nothing of the library.
#[inline]
pub unsafe fn poll() -> bool {
    if !has_background() {
        return false;
    }
    // SAFETY: this thread holds the lock.
    unsafe { call_noting(POLL) };
    true
}

/// What PAMI reports is handled under the lock: a communication thread takes it, others have it.
#[inline]
pub fn in_dispatch<R>(handle: impl FnOnce() -> R) -> R {
    if !has_background() || DEPTH.get() > 0 {
        return handle();
    }
    lock();
    DEPTH.set(1);
    let result = handle();
    DEPTH.set(0);
    HAS_CHANGED.set(true);
    unlock();
    spend_postponed();
    result
}

/// Calls a function of the program, which may make calls itself and may wait for other threads that do.
///
/// # Safety
/// The caller borrows nothing of the library.
pub unsafe fn unlocked<R>(call: impl FnOnce() -> R) -> R {
    let depth = DEPTH.get();
    if depth == 0 {
        return call();
    }
    unlock();
    DEPTH.set(0);
    let result = crate::waiting::in_function(call);
    lock();
    DEPTH.set(depth);
    result
}
