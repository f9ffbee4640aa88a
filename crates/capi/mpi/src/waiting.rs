//! For what a call waits, in words: asked when a rank of a simulated machine waits for ever, and natively at the
//! time limit of a job.

pub mod known;

use crate::pami::listener;
use netloom_mpi::waits::{Pending, Waits};
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of a call, which is one of `functions.txt`, or NULL.
type Name = AtomicPtr<&'static str>;

/// Below `MPI_THREAD_MULTIPLE`: the call that the program is in, or was in last.
static CALL: Name = AtomicPtr::new(std::ptr::null_mut());
/// With it: of each thread that has made a call, the one that it is in.
static CALLS: Mutex<Vec<Arc<Name>>> = Mutex::new(vec![]);

thread_local! {
    static OWN: Arc<Name> = {
        let own = Arc::new(Name::default());
        let mut calls = calls();
        // Of a thread that has ended nobody else has the place.
        calls.retain(|call| Arc::strong_count(call) > 1);
        calls.push(Arc::clone(&own));
        own
    };
}

fn calls() -> MutexGuard<'static, Vec<Arc<Name>>> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts another name for the call of this thread.
#[inline]
fn replace(name: *mut &'static str) -> *mut &'static str {
    let replace_in = |call: &Name| {
        let before = call.load(Ordering::Relaxed);
        call.store(name, Ordering::Relaxed);
        before
    };
    if !crate::threads::is_shared() {
        return replace_in(&CALL);
    }
    // A thread that is ending may have no place any more.
    OWN.try_with(|own| replace_in(own)).unwrap_or(std::ptr::null_mut())
}

/// The program makes a call.
#[inline]
pub fn call_begins(name: &'static &'static str) {
    replace(std::ptr::from_ref(name).cast_mut());
}

/// With `MPI_THREAD_MULTIPLE`: this thread's call ends.
pub fn call_ends() {
    replace(std::ptr::null_mut());
}

/// The same as [`call_begins`] for a call that a function of the program may make during another call, which
/// has its name again afterwards.
pub fn in_call<R>(name: &'static &'static str, call: impl FnOnce() -> R) -> R {
    let outer = replace(std::ptr::from_ref(name).cast_mut());
    let result = call();
    replace(outer);
    result
}

/// A function of the program may make calls; afterwards the call that it is called by has its name again.
pub fn in_function<R>(function: impl FnOnce() -> R) -> R {
    let outer = replace(std::ptr::null_mut());
    let result = function();
    replace(outer);
    result
}

/// The call that this thread is in.
pub fn current() -> &'static str {
    let name_in = |call: &Name| {
        // SAFETY: it was a reference.
        unsafe { call.load(Ordering::Relaxed).as_ref() }.copied()
    };
    let name = match crate::threads::is_shared() {
        true => OWN.try_with(|own| name_in(own)).ok().flatten(),
        false => name_in(&CALL),
    };
    name.unwrap_or("MPI")
}

/// The calls that threads are in, by name, and how many threads are in each.
fn calls_of_threads() -> Vec<(String, u32)> {
    if !crate::threads::is_shared() {
        return vec![(current().into(), 1)];
    }
    let mut counts = BTreeMap::<_, u32>::new();
    for call in calls().iter().filter(|call| Arc::strong_count(call) > 1) {
        // SAFETY: as above.
        if let Some(name) = unsafe { call.load(Ordering::Relaxed).as_ref() }.copied() {
            *counts.entry(name).or_default() += 1;
        }
    }
    counts.into_iter().map(|(name, threads)| (name.into(), threads)).collect()
}

fn waits() -> Waits {
    let calls = calls_of_threads();
    let Some(listener) = listener() else { return Waits { calls, ..Waits::default() } };
    // A probe is no request.
    let probes = calls.iter().any(|(name, _)| name.contains("robe"));
    let mut pending = listener.pending(probes);
    if calls.iter().any(|(name, _)| name == "MPI_Finalize") && listener.transport().frees_teams() {
        pending.push(Pending::Freed);
    }
    Waits { calls, pending, communicators: known::communicators(listener), locked_by: listener.locked_by() }
}

/// What `NETLOOM_waiting` asks for in words.
pub unsafe extern "C" fn describe(text: *mut c_char, length: usize) -> usize {
    let waits = waits();
    let list = waits.pending_in_words();
    let what = if list.is_empty() { "nothing is under way".into() } else { list.join(", ") };
    let words = format!("{}: {what}", waits.calls_in_words());
    // SAFETY: the caller gave the place.
    unsafe { write(words.as_bytes(), text, length) }
}

/// The same as bytes.
pub unsafe extern "C" fn state(bytes: *mut c_char, length: usize) -> usize {
    // SAFETY: the caller gave the place.
    unsafe { write(&waits().to_bytes(length), bytes, length) }
}

/// # Safety
/// There is place for this length.
unsafe fn write(bytes: &[u8], to: *mut c_char, length: usize) -> usize {
    let bytes = &bytes[..bytes.len().min(length)];
    // SAFETY: the caller's promise.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    bytes.len()
}
