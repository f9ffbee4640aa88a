//! Progress for a program that has other things to do: PAMI is told so by its extension `NETLOOM_poll`, and neither
//! sleeps nor lets more time pass than a poll takes.

use super::symbol;
use std::ffi::{c_int, c_void};

type One = unsafe extern "C" fn(*mut c_void) -> c_int;
type Several = unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int;

/// The functions of the extension.
#[derive(Debug)]
pub struct Polls {
    one: One,
    several: Several,
}

impl Polls {
    /// `None` if PAMI does not have it.
    ///
    /// # Safety
    /// The client lives.
    pub unsafe fn new(client: *mut c_void) -> Option<Self> {
        let found = |name| symbol(client, c"NETLOOM_poll", name);
        // SAFETY: symbols of these types.
        unsafe {
            Some(Polls {
                one: std::mem::transmute::<*mut c_void, One>(found(c"advance")?),
                several: std::mem::transmute::<*mut c_void, Several>(found(c"advancev")?),
            })
        }
    }

    /// # Safety
    /// The context lives.
    #[inline]
    pub unsafe fn poll(&self, context: *mut c_void) {
        // SAFETY: the caller's promise.
        unsafe { (self.one)(context) };
    }

    /// # Safety
    /// The contexts live.
    pub unsafe fn poll_several(&self, contexts: &mut [*mut c_void]) {
        // SAFETY: the caller's promise.
        unsafe { (self.several)(contexts.as_mut_ptr(), contexts.len()) };
    }
}
