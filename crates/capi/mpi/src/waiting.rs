//! For what a call waits, in words: asked when a rank of a simulated machine waits for ever.

use crate::library::CONTEXTS;
use crate::pami::listener;
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

/// The calls that threads are in, by name.
fn call_names() -> String {
    // SAFETY: it was a reference.
    let name_in = |call: &Name| unsafe { call.load(Ordering::Relaxed).as_ref() }.copied();
    if !crate::threads::is_shared() {
        return name_in(&CALL).unwrap_or("MPI").into();
    }
    let mut counts = BTreeMap::<_, u32>::new();
    for call in calls().iter().filter(|call| Arc::strong_count(call) > 1) {
        if let Some(name) = name_in(call) {
            *counts.entry(name).or_default() += 1;
        }
    }
    let words = counts.into_iter().map(|(name, threads)| match threads {
        1 => name.into(),
        _ => format!("{name} of {threads} threads"),
    });
    let words = words.collect::<Vec<String>>().join(", ");
    if words.is_empty() { "MPI".into() } else { words }
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
    let call = call_names();
    let mut list = listener().map(|listener| listener.unfinished(name_of)).unwrap_or_default();
    // A probe is no request.
    if call.contains("robe") {
        list.extend(listener().and_then(|listener| listener.probed(name_of)));
    }
    let words =
        format!("{call}: {}", if list.is_empty() { "nothing is under way".into() } else { list.join(", ") });
    let bytes = &words.as_bytes()[..words.len().min(length)];
    // SAFETY: the caller gave the place.
    unsafe { text.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    bytes.len()
}
