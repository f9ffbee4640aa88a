//! What every call does first and last: the library is found, and an error is told to the error handler.

use crate::abi::SUCCESS;
use crate::library::{Library, is_running, library};
use netloom_mpi::error::{Class, Error};
use std::ffi::c_int;
use std::io::Write as _;

/// Carries out a call that needs an initialised library. `comm` is the handle, of a
/// communicator or a window, whose error handler is told of errors, or 0.
///
/// # Safety
/// The program makes one call at a time.
#[inline]
pub unsafe fn run(
    name: &'static &'static str,
    comm: usize,
    call: impl FnOnce(&mut Library) -> Result<(), Error>,
) -> c_int {
    crate::waiting::call_begins(name);
    // SAFETY: the caller's promise.
    let Some(library) = (unsafe { library() }) else { return outside(name) };
    match call(library) {
        Ok(()) => SUCCESS,
        Err(error) => {
            let raised = library.raise(name, comm, &error);
            // SAFETY: the program gave the handler; the library is not used any more.
            unsafe { crate::errhandlers::handle(raised) }
        }
    }
}

/// Carries out a call that needs MPI to be initialised, but not the library throughout: a reduction of the program may make it
/// while the library is in use, or it calls functions of the program that may make calls. `comm` as for [`run`].
///
/// # Safety
/// As [`run`], apart from reductions.
#[inline]
pub unsafe fn run_alone(
    name: &'static &'static str,
    comm: usize,
    call: impl FnOnce() -> Result<(), Error>,
) -> c_int {
    if !is_running() {
        return outside(name);
    }
    match crate::waiting::in_call(name, call) {
        Ok(()) => SUCCESS,
        // SAFETY: the caller's promise.
        Err(error) => unsafe { run(name, comm, |_| Err(error)) },
    }
}

/// Tells the user something, in one write, so that the lines of several ranks do not mix.
pub fn tell(text: &str) {
    // There is nobody to tell that it failed.
    let _ = std::io::stderr().write_all(format!("netloom: {text}\n").as_bytes());
}

/// A call before `MPI_Init` or after `MPI_Finalize`.
#[cold]
pub fn outside(name: &str) -> c_int {
    tell(&format!(
        "{name} is called before MPI_Init or after MPI_Finalize; the standard allows few functions there"
    ));
    std::process::exit(1);
}

/// A call that this library does not carry out yet.
///
/// # Safety
/// As [`run`].
#[cold]
pub unsafe fn unsupported(name: &'static &'static str, comm: usize) -> c_int {
    let error = Error::new(Class::UnsupportedOperation, "netloom does not have this function yet");
    // SAFETY: the caller's promise.
    unsafe { run(name, comm, |_| Err(error)) }
}
