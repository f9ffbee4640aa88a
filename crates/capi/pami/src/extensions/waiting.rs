//! `NETLOOM_waiting`: a library that stands on PAMI, such as MPI, says in its own words for what a call
//! waits, when a task of a simulated machine waits for ever. An extension of this library.

use super::{Extension, everywhere};
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

pub const EXTENSION: Extension = Extension {
    name: "NETLOOM_waiting",
    refusal: everywhere,
    symbols: &["describe"],
    symbol: |_, _| describe as *mut c_void,
};

/// Writes text of at most this length, without a final NUL, and returns its length.
type Describe = unsafe extern "C" fn(*mut c_char, usize) -> usize;

/// The address of the function, or 0.
static DESCRIBE: AtomicUsize = AtomicUsize::new(0);

/// Symbol `describe`: the function that is asked, from a call that waits; NULL ends that.
unsafe extern "C" fn describe(function: Option<Describe>) {
    DESCRIBE.store(function.map_or(0, |function| function as usize), Ordering::Release);
}

/// For what the library above waits, if it says so.
pub fn described() -> Option<String> {
    let function = match DESCRIBE.load(Ordering::Acquire) {
        0 => return None,
        // SAFETY: `describe` stored it.
        address => unsafe { std::mem::transmute::<usize, Describe>(address) },
    };
    let mut text = vec![0u8; 4096];
    // SAFETY: a place of that length.
    let length = unsafe { function(text.as_mut_ptr().cast(), text.len()) };
    text.truncate(length);
    Some(String::from_utf8_lossy(&text).into_owned()).filter(|text| !text.is_empty())
}
