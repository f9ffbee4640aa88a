//! `NETLOOM_threads`: threads of a program share a context under its lock, as those of MPI do, and perhaps
//! others with it. An extension of this library.

use super::{Extension, everywhere};
use crate::check::shared;
use crate::client::job;
use crate::context::Context;
use std::ffi::{c_int, c_void};

pub const EXTENSION: Extension = Extension {
    name: "NETLOOM_threads",
    refusal: everywhere,
    symbols: &["lock", "unlock", "advance", "poll", "join", "try_lock", "release", "common"],
    symbol: |_, name| match name {
        "lock" => lock as *mut c_void,
        "unlock" => unlock as *mut c_void,
        "advance" => advance as *mut c_void,
        "poll" => poll as *mut c_void,
        "join" => join as *mut c_void,
        "try_lock" => try_lock as *mut c_void,
        "common" => common as *mut c_void,
        _ => release as *mut c_void,
    },
};

/// Symbol `join`: `advance` of the first context makes progress of these, too. If `have_threads`, they have
/// communication threads and each its own lock, which `advance` only tries to take; the dispatch functions
/// there take the first context's lock. Otherwise the first context's lock is theirs, too.
///
/// To be called before threads share the context; all are destroyed together.
unsafe extern "C" fn join(first: *mut c_void, others: *mut *mut c_void, count: usize, have_threads: c_int) {
    // SAFETY: the caller's context.
    let Some(found) = (unsafe { shared("join of NETLOOM_threads", first) }) else { return };
    // SAFETY: the caller gave `count` handles.
    let others = (0..count).filter_map(|at| unsafe { shared("join of NETLOOM_threads", *others.add(at)) });
    found.sharing().join(others.map(std::ptr::from_ref::<Context>), have_threads != 0);
}

/// Symbol `common`: the number, which is not 0, that the first task of the job has given. It takes no
/// simulated time.
unsafe extern "C" fn common(own: u32) -> u32 {
    job().map_or(own, |job| job.segment.common(own))
}

/// Symbol `lock`: takes the lock of a context.
unsafe extern "C" fn lock(context: *mut c_void) {
    // SAFETY: the caller's context.
    if let Some(found) = unsafe { shared("lock of NETLOOM_threads", context) } {
        found.lock_shared();
    }
}

/// Symbol `unlock`: releases it, and wakes threads in `advance` if the context has handled events, or the
/// caller has changed something for which they may wait.
unsafe extern "C" fn unlock(context: *mut c_void, has_changed: c_int) {
    // SAFETY: the caller's context, whose lock it holds.
    if let Some(found) = unsafe { shared("unlock of NETLOOM_threads", context) } {
        if has_changed != 0 {
            found.sharing().note_change();
        }
        // SAFETY: the same.
        unsafe { found.unlock_shared() };
    }
}

/// Symbol `advance`: makes progress under the lock, which the caller holds. Without any it releases the lock
/// meanwhile and waits, for a moment or until something arrives or changes. As in `unlock`, the caller may
/// have changed something.
unsafe extern "C" fn advance(context: *mut c_void, has_changed: c_int) {
    // SAFETY: the caller's context, whose lock it holds.
    if let Some(found) = unsafe { shared("advance of NETLOOM_threads", context) } {
        // SAFETY: the same.
        unsafe { found.advance_shared(has_changed != 0) };
    }
}

/// Symbol `poll`: as `advance`, but it does not wait. On a simulated node a poll takes its time, in which
/// others may have the lock.
unsafe extern "C" fn poll(context: *mut c_void, has_changed: c_int) {
    // SAFETY: the caller's context, whose lock it holds.
    if let Some(found) = unsafe { shared("poll of NETLOOM_threads", context) } {
        // SAFETY: the same.
        unsafe { found.poll_shared(has_changed != 0) };
    }
}

/// Symbol `try_lock`: takes the lock of a context that has a communication thread, if it is free; 1 if so.
unsafe extern "C" fn try_lock(context: *mut c_void) -> c_int {
    // SAFETY: the caller's context.
    let found = unsafe { shared("try_lock of NETLOOM_threads", context) };
    let is_locked = found.filter(|found| found.try_lock()).inspect(|found| found.locked()).is_some();
    is_locked.into()
}

/// Symbol `release`: releases it.
unsafe extern "C" fn release(context: *mut c_void) {
    // SAFETY: the caller's context, whose lock it holds.
    if let Some(found) = unsafe { shared("release of NETLOOM_threads", context) } {
        found.may_unlock();
        // SAFETY: the same.
        unsafe { found.unlock_for_program(true) };
    }
}
