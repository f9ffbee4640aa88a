//! For what a call waits, in words: asked when a rank of a simulated machine waits for ever.

use crate::library::CONTEXTS;
use crate::pami::listener;
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The call that the program is in, or was in last.
static CALL: AtomicPtr<&'static str> = AtomicPtr::new(std::ptr::null_mut());

/// The program makes a call.
#[inline]
pub fn call_begins(name: &'static &'static str) {
    CALL.store(std::ptr::from_ref(name).cast_mut(), Ordering::Relaxed);
}

/// The same for a call that a function of the program may make during another call, which has its name again
/// afterwards.
pub fn in_call<R>(name: &'static &'static str, call: impl FnOnce() -> R) -> R {
    let outer = CALL.load(Ordering::Relaxed);
    call_begins(name);
    let result = call();
    CALL.store(outer, Ordering::Relaxed);
    result
}

/// Names of communicators, by context: those that the program made have their handles.
pub fn names() -> MutexGuard<'static, BTreeMap<u32, String>> {
    static NAMES: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name_of(context: u32) -> String {
    match context & !(CONTEXTS - 1) & !crate::communicators::WITHIN_GROUP {
        0 => "MPI_COMM_WORLD".into(),
        CONTEXTS => "MPI_COMM_SELF".into(),
        other => names().get(&other).cloned().unwrap_or_else(|| "a communicator that is freed".into()),
    }
}

/// What `NETLOOM_waiting` asks for.
pub unsafe extern "C" fn describe(text: *mut c_char, length: usize) -> usize {
    // SAFETY: it was a reference.
    let call = unsafe { CALL.load(Ordering::Relaxed).as_ref() }.copied().unwrap_or("MPI");
    let list = listener().map(|listener| listener.unfinished(name_of)).unwrap_or_default();
    let words =
        format!("{call}: {}", if list.is_empty() { "nothing is under way".into() } else { list.join(", ") });
    let bytes = &words.as_bytes()[..words.len().min(length)];
    // SAFETY: the caller gave the place.
    unsafe { text.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    bytes.len()
}
