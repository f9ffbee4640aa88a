//! Marks for a profile of a run on a simulated machine (PAMI's extension `NETLOOM_profile`): the calls of the
//! program, and what happens to messages. Without a profile a call costs a look at a word.

use netloom_mpi::matching::Envelope;
use netloom_mpi::transport::MessageEvent;
use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The functions of the extension.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    pub call_begins: unsafe extern "C" fn(*const c_char, usize, c_int),
    pub call_ends: unsafe extern "C" fn(),
    pub sent: unsafe extern "C" fn(u32, u32, c_int, u64),
    pub taken: unsafe extern "C" fn(u32, u32, c_int, u64, u64),
    pub received: unsafe extern "C" fn(u64),
}

/// NULL if there is no profile.
static FUNCTIONS: AtomicPtr<Functions> = AtomicPtr::new(std::ptr::null_mut());

thread_local! {
    /// Calls that the thread is in: functions of the program may make calls during others, which belong to
    /// them.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

#[inline]
fn functions() -> Option<&'static Functions> {
    // SAFETY: it is NULL, or stays until the process ends.
    unsafe { FUNCTIONS.load(Ordering::Acquire).as_ref() }
}

/// There is a profile from now on, which began with the process: the calling thread is in its first call.
pub fn begin(of: Functions, name: &'static str) -> Option<InCall> {
    static KEPT: OnceLock<Functions> = OnceLock::new();
    let is_first = KEPT.get().is_none();
    let functions = KEPT.get_or_init(|| of);
    FUNCTIONS.store(std::ptr::from_ref(functions).cast_mut(), Ordering::Release);
    InCall::new(functions, name, is_first)
}

/// A call that the calling thread is in.
#[derive(Debug)]
pub struct InCall(&'static Functions);

impl InCall {
    fn new(functions: &'static Functions, name: &'static str, is_first: bool) -> Option<Self> {
        let depth = DEPTH.get();
        DEPTH.set(depth + 1);
        if depth == 0 {
            // SAFETY: a constant string.
            unsafe { (functions.call_begins)(name.as_ptr().cast(), name.len(), c_int::from(is_first)) };
        }
        Some(InCall(functions))
    }
}

impl Drop for InCall {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            // SAFETY: a function without arguments.
            unsafe { (self.0.call_ends)() };
        }
    }
}

/// The program makes a call, which ends with the result's life.
#[inline]
#[must_use]
pub fn call(name: &'static str) -> Option<InCall> {
    InCall::new(functions()?, name, false)
}

/// Something has happened to a message.
#[inline]
pub fn observe(event: impl FnOnce() -> MessageEvent) {
    if let Some(functions) = functions() {
        mark(functions, event());
    }
}

#[cold]
fn mark(functions: &Functions, event: MessageEvent) {
    // SAFETY: functions of numbers.
    unsafe {
        match event {
            MessageEvent::Sent(peer, Envelope { context, tag, bytes, .. }) => {
                (functions.sent)(peer, context, tag, bytes);
            }
            MessageEvent::Taken(peer, Envelope { context, tag, bytes, .. }, rest) => {
                let number = rest.map_or(0, |number| u64::from(number) + 1);
                (functions.taken)(peer, context, tag, bytes, number);
            }
            MessageEvent::Received(number) => (functions.received)(u64::from(number) + 1),
        }
    }
}
