//! `NETLOOM_threads`: threads of a program share a context under its lock, as those of MPI do. An extension
//! of this library.

use super::{Extension, everywhere};
use crate::check::shared;
use std::ffi::{c_int, c_void};

pub const EXTENSION: Extension = Extension {
    name: "NETLOOM_threads",
    refusal: everywhere,
    symbols: &["lock", "unlock", "advance"],
    symbol: |_, name| match name {
        "lock" => lock as *mut c_void,
        "unlock" => unlock as *mut c_void,
        _ => advance as *mut c_void,
    },
};

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
