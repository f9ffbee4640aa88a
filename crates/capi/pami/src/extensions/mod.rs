//! Extensions: opened by name, their functions and variables found by name. The types of these are in
//! `crates/capi/include/pami_ext.h`.
//!
//! - `async_progress` – progress in the background.
//! - `torus` – the torus of a simulated machine.
//! - `l2_atomic` – memory for atomic operations.
//! - `flags` – memory that other tasks look at, for short collectives.
//! - `compute` – how long a program computes on a simulated machine.
//! - `local_tasks` – which tasks run on the same node.
//! - `poll` – progress for a program that has other things to do.
//! - `profile` – a library above marks its program's calls for a profile.
//! - `mpi_steps` – steps of MPI's software take time on a simulated machine.
//! - `threads` – threads share a context under its lock.
//! - `waiting` – a library above tells for what it waits.
//! - `whole_messages` – sends of several packets that are done at once.

mod async_progress;
mod compute;
mod flags;
mod l2_atomic;
mod local_tasks;
mod mpi_steps;
mod poll;
mod profile;
mod threads;
mod torus;
mod waiting;
mod whole_messages;

pub use waiting::{described, report, state as waiting_state};

use crate::abi::*;
use crate::client::{Job, fail, job};
use std::ffi::{CStr, c_char, c_void};

/// An extension. Handles point to the elements of [`LIST`].
struct Extension {
    name: &'static str,
    /// Why it is not there for this job, if it is not.
    refusal: fn(&'static Job) -> Option<&'static str>,
    /// The names of its symbols.
    symbols: &'static [&'static str],
    /// The value of one of them, of a job that has the extension.
    symbol: fn(&'static Job, &str) -> *mut c_void,
}

static LIST: [Extension; 13] = [
    torus::EXTENSION,
    async_progress::EXTENSION,
    l2_atomic::EXTENSION,
    local_tasks::EXTENSION,
    local_tasks::MAPPING,
    compute::EXTENSION,
    poll::EXTENSION,
    profile::EXTENSION,
    mpi_steps::EXTENSION,
    threads::EXTENSION,
    waiting::EXTENSION,
    whole_messages::EXTENSION,
    flags::EXTENSION,
];

/// Always there.
fn everywhere(_: &'static Job) -> Option<&'static str> {
    None
}

/// The extension of a handle.
fn extension(handle: *mut c_void) -> Option<&'static Extension> {
    LIST.iter().find(|extension| std::ptr::eq(std::ptr::from_ref(*extension).cast(), handle))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Extension_open(
    _client: *mut c_void,
    name: *const c_char,
    made: *mut *mut c_void,
) -> Result {
    if name.is_null() || made.is_null() {
        return fail(INVAL, "PAMI_Extension_open: name or extension is NULL");
    }
    // SAFETY: the program gave it.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let Some(found) = LIST.iter().find(|extension| extension.name == name) else {
        let known: Vec<&str> = LIST.iter().map(|extension| extension.name).collect();
        let known = known.join(", ");
        return fail(UNIMPL, format!("PAMI_Extension_open: there is no extension {name}; there are {known}"));
    };
    let job = match job() {
        Ok(job) => job,
        Err(reason) => return fail(ERROR, format!("PAMI_Extension_open: {reason}")),
    };
    if let Some(why) = (found.refusal)(job) {
        return fail(UNIMPL, format!("PAMI_Extension_open: {name}: {why}"));
    }
    // SAFETY: the program gave it.
    unsafe { *made = std::ptr::from_ref(found).cast_mut().cast() };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Extension_close(handle: *mut c_void) -> Result {
    match extension(handle) {
        Some(_) => SUCCESS,
        None => fail(INVAL, "PAMI_Extension_close: there is no such extension"),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Extension_symbol(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    let (Some(found), false) = (extension(handle), name.is_null()) else {
        fail(INVAL, "PAMI_Extension_symbol: there is no such extension, or the name is NULL");
        return std::ptr::null_mut();
    };
    // SAFETY: the program gave it.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let (symbol, Ok(job)) = (found.symbols.iter().find(|symbol| symbol.eq_ignore_ascii_case(&name)), job())
    else {
        return std::ptr::null_mut();
    };
    let Some(symbol) = symbol else {
        let (extension, known) = (found.name, found.symbols.join(", "));
        fail(INVAL, format!("PAMI_Extension_symbol: {extension} has no {name}; it has {known}"));
        return std::ptr::null_mut();
    };
    (found.symbol)(job, symbol)
}
