//! `NETLOOM_waiting`: a library that stands on PAMI, such as MPI, says for what a call waits when a task of a
//! simulated machine waits for ever, and natively at the time limit of a job: in its own words, and as bytes that
//! are compared with those of other tasks. An extension of this library.

use super::{Extension, everywhere};
use netloom_shm::launch::{Request, Waiting, ask as ask_launcher};
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub const EXTENSION: Extension = Extension {
    name: "NETLOOM_waiting",
    refusal: everywhere,
    symbols: &["describe", "state"],
    symbol: |_, name| match name {
        "describe" => describe as *mut c_void,
        _ => set_state as *mut c_void,
    },
};

/// Most bytes of words, and of a state.
const WORDS_B: usize = 4 << 10;
const STATE_B: usize = 256 << 10;

/// Writes text or bytes of at most this length, without a final NUL, and returns its length.
type Write = unsafe extern "C" fn(*mut c_char, usize) -> usize;

/// The addresses of the functions, or 0.
static DESCRIBE: AtomicUsize = AtomicUsize::new(0);
static STATE: AtomicUsize = AtomicUsize::new(0);

/// Symbol `describe`: the function that is asked, from a call that waits; NULL ends that.
unsafe extern "C" fn describe(function: Option<Write>) {
    DESCRIBE.store(function.map_or(0, |function| function as usize), Ordering::Release);
}

/// Symbol `state`: likewise.
unsafe extern "C" fn set_state(function: Option<Write>) {
    STATE.store(function.map_or(0, |function| function as usize), Ordering::Release);
}

fn ask(function: &AtomicUsize, max_bytes: usize) -> Vec<u8> {
    let function = match function.load(Ordering::Acquire) {
        0 => return vec![],
        // SAFETY: one of the functions above stored it.
        address => unsafe { std::mem::transmute::<usize, Write>(address) },
    };
    let mut bytes = vec![0u8; max_bytes];
    // SAFETY: a place of that length.
    let length = unsafe { function(bytes.as_mut_ptr().cast(), bytes.len()) };
    bytes.truncate(length);
    bytes
}

/// For what the library above waits, if it says so.
pub fn described() -> Option<String> {
    let text = ask(&DESCRIBE, WORDS_B);
    Some(String::from_utf8_lossy(&text).into_owned()).filter(|text| !text.is_empty())
}

/// The same as bytes; none if it does not say so.
pub fn state() -> Vec<u8> {
    ask(&STATE, STATE_B)
}

/// Natively: reports to the launcher, once, what a call waits for that has these operations under way.
#[cold]
pub fn report(task: u32, unfinished: Vec<String>) {
    static HAS_REPORTED: AtomicBool = AtomicBool::new(false);
    if HAS_REPORTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let waiting = Waiting { lines: unfinished.into_iter().chain(described()).collect(), state: state() };
    // The launcher waits for it a moment, and ends the job all the same if it does not come.
    let _ = ask_launcher(&Request::Report(task, waiting));
}
