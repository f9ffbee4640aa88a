//! The shared file pointer: a number in memory of all processes of a file, which atomic operations change, so
//! that no process waits for another.

use crate::memory::SharedMemory;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicI64, Ordering};

const BYTES: usize = size_of::<AtomicI64>();

/// A number that several processes have, in elementary types of the view.
pub struct SharedPointer(SharedMemory);

/// The file of a new one, which is 0.
pub fn create() -> io::Result<File> {
    crate::memory::create(c"file-pointer", BYTES)
}

impl SharedPointer {
    pub fn of(file: &File) -> io::Result<Self> {
        SharedMemory::of(file, BYTES).map(SharedPointer)
    }

    fn number(&self) -> &AtomicI64 {
        // SAFETY: it is mapped while this lives, and aligned to a page.
        unsafe { &*self.0.address().cast() }
    }

    pub fn get(&self) -> i64 {
        self.number().load(Ordering::SeqCst)
    }

    pub fn set(&self, position: i64) {
        self.number().store(position, Ordering::SeqCst);
    }

    /// Moves it, and returns where it was.
    pub fn advance(&self, by: i64) -> i64 {
        self.number().fetch_add(by, Ordering::SeqCst)
    }
}
