//! What every call does first and last: the library is found, and an error is told to the error handler.

use crate::abi::{ERRORS_RETURN, SUCCESS};
use crate::errhandlers;
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
    let _profiled = crate::profile::call(name);
    // SAFETY: the caller's promise.
    let Some(mut library) = (unsafe { library() }) else { return outside(name) };
    library.call_object = comm;
    match call(&mut library) {
        Ok(()) => SUCCESS,
        Err(error) => {
            let raised = library.raise(name, comm, &error);
            drop(library);
            // SAFETY: the program gave the handler; the library is not used any more.
            unsafe { crate::errhandlers::handle(raised) }
        }
    }
}

/// Carries out a send: past the library's lock if such sends are there and it is one, which `handed` returns,
/// else as other calls.
#[inline]
pub fn send_without_lock(
    name: &'static &'static str,
    handed: impl FnOnce() -> bool,
    otherwise: impl FnOnce() -> c_int,
) -> c_int {
    if crate::handoff::is_on() {
        let _profiled = crate::profile::call(name);
        if handed() {
            return SUCCESS;
        }
    }
    otherwise()
}

/// Carries out a call that needs MPI to be initialised, but not the library throughout: a reduction of the
/// program may make it while the library is in use, or it calls functions of the program that may make calls.
/// It has the lock of threads all the same.
/// `comm` as for [`run`].
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
    let _profiled = crate::profile::call(name);
    let held = crate::threads::enter();
    let result = crate::waiting::in_call(name, call);
    drop(held);
    match result {
        Ok(()) => SUCCESS,
        // SAFETY: the caller's promise.
        Err(error) => unsafe { run(name, comm, |_| Err(error)) },
    }
}

/// What a function returns that may be called at any time.
pub trait Outcome {
    /// What C gets.
    type Result;
    fn result(self, name: &'static &'static str) -> Self::Result;
}

impl Outcome for Result<(), Error> {
    type Result = c_int;

    fn result(self, name: &'static &'static str) -> c_int {
        match self {
            Ok(()) => SUCCESS,
            // SAFETY: the program makes one call at a time.
            Err(error) if is_running() => unsafe { run(name, 0, |_| Err(error)) },
            Err(error) if errhandlers::initial() == ERRORS_RETURN => error.code(),
            Err(error) => {
                tell(&format!("{name}: {error} ({})", error.class.name()));
                std::process::exit(error.class as c_int);
            }
        }
    }
}

macro_rules! plain_outcomes {
    ($($of:ty)*) => {$(
        impl Outcome for $of {
            type Result = $of;

            fn result(self, _: &'static &'static str) -> $of {
                self
            }
        }
    )*};
}
plain_outcomes!(c_int f64 isize usize);

/// Carries out a call that may be made at any time.
#[inline]
pub fn at_any_time<R: Outcome>(name: &'static &'static str, outcome: R) -> R::Result {
    outcome.result(name)
}

/// That a place for a result is there.
#[inline]
pub fn place<T>(name: &str, place: *mut T) -> Result<(), Error> {
    if place.is_null() { Err(no_place(name)) } else { Ok(()) }
}

#[cold]
fn no_place(name: &str) -> Error {
    Error::new(Class::Arg, format!("{name} is NULL, and a result goes there"))
}

/// Tells the user something, in one write, so that the lines of several ranks do not mix.
pub fn tell(text: &str) {
    // There is nobody to tell that it failed.
    let _ = std::io::stderr().write_all(format!("netloom: {text}\n").as_bytes());
}

/// A call before `MPI_Init` or after `MPI_Finalize`.
#[cold]
pub fn outside(name: &str) -> c_int {
    if errhandlers::initial() == ERRORS_RETURN {
        return Class::Other as c_int;
    }
    tell(&format!(
        "{name} is called before MPI_Init or after MPI_Finalize; the standard allows few functions there"
    ));
    std::process::exit(1);
}
