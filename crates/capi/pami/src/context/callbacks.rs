//! What the program's operations call when they are complete, by number.

use crate::abi::EventFunction;
use std::ffi::c_void;

/// What a completed operation calls.
#[derive(Clone, Copy)]
pub struct Callback {
    pub cookie: *mut c_void,
    /// Called when buffers may be reused, or data has arrived.
    pub local_fn: EventFunction,
    /// Called when the target has all data.
    pub remote_fn: EventFunction,
    /// Reports that are still to come.
    pub reports: u8,
    /// Where the old value of an atomic operation goes, and its length.
    pub fetched: (*mut u8, u8),
}

/// Callbacks by number.
#[derive(Default)]
pub struct Callbacks {
    list: Vec<Callback>,
    free: Vec<u32>,
}

impl Callbacks {
    pub fn insert(&mut self, callback: Callback) -> u64 {
        match self.free.pop() {
            Some(at) => {
                self.list[at as usize] = callback;
                u64::from(at)
            }
            None => {
                self.list.push(callback);
                self.list.len() as u64 - 1
            }
        }
    }

    /// The operation was refused: nothing will be reported.
    pub fn withdraw(&mut self, at: u64) {
        self.free.push(at as u32);
    }

    /// Operations that are not complete.
    pub fn pending(&self) -> usize {
        self.list.len() - self.free.len()
    }

    /// One of its reports has come.
    pub(super) fn report(&mut self, at: u64) -> Callback {
        let callback = &mut self.list[at as usize];
        callback.reports -= 1;
        let callback = *callback;
        if callback.reports == 0 {
            self.free.push(at as u32);
        }
        callback
    }
}
