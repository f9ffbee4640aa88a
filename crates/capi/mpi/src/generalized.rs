//! Generalized requests: what the program carries out itself (MPI 5.0, section 13.2). Its functions may write
//! statuses, and must call nothing else of MPI.

use crate::abi::*;
use crate::library::Library;
use crate::requests::{EMPTY, Request};
use crate::threads;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::point_to_point::Ended;
use std::ffi::{c_int, c_void};

type Query = unsafe extern "C" fn(*mut c_void, *mut Status) -> c_int;
type Free = unsafe extern "C" fn(*mut c_void) -> c_int;
type Cancel = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// The functions of the program, and whether it has said that the operation is complete. They are called
/// without the lock of threads, so nothing of the library is borrowed then.
#[derive(Clone, Copy)]
pub struct Generalized {
    query: usize,
    free: usize,
    cancel: usize,
    extra: usize,
    pub is_complete: bool,
}

/// The error of a function of the program.
fn check(what: &str, code: c_int) -> Result<(), Error> {
    match code {
        SUCCESS => Ok(()),
        code => {
            let text = format!("the function that {what} the request returned {code}");
            Err(Error::new(Class::Other, text).with_code(code))
        }
    }
}

impl Generalized {
    /// What the program says of its end.
    pub fn ended(&self) -> Option<Result<Ended, Error>> {
        if !self.is_complete {
            return None;
        }
        let mut status = Status { source: ANY_SOURCE, tag: ANY_TAG, error: SUCCESS, internal: [0; 5] };
        if self.query != 0 {
            // SAFETY: the program gave the function and its argument.
            let code = unsafe {
                let query = std::mem::transmute::<usize, Query>(self.query);
                threads::unlocked(|| query(self.extra as *mut c_void, &mut status))
            };
            if let Err(error) = check("queries", code) {
                return Some(Err(error));
            }
        }
        let (source, tag) = (status.source, status.tag);
        let is_cancelled = status.is_cancelled();
        Some(Ok(Ended { source, tag, bytes: status.bytes(), is_cancelled, ..EMPTY }))
    }

    /// The request is freed.
    pub fn free(self) -> Result<(), Error> {
        if self.free == 0 {
            return Ok(());
        }
        // SAFETY: the program gave the function and its argument.
        check("frees", unsafe {
            let free = std::mem::transmute::<usize, Free>(self.free);
            threads::unlocked(|| free(self.extra as *mut c_void))
        })
    }

    pub fn cancel(&self) -> Result<(), Error> {
        if self.cancel == 0 {
            return Ok(());
        }
        // SAFETY: the program gave the function and its argument.
        check("cancels", unsafe {
            let cancel = std::mem::transmute::<usize, Cancel>(self.cancel);
            threads::unlocked(|| cancel(self.extra as *mut c_void, self.is_complete.into()))
        })
    }
}

pub unsafe fn start(
    library: &mut Library,
    query: usize,
    free: usize,
    cancel: usize,
    extra: *mut c_void,
    request: *mut usize,
) -> Result<(), Error> {
    let generalized = Generalized { query, free, cancel, extra: extra as usize, is_complete: false };
    // SAFETY: the program gave the place.
    unsafe { library.hand_out(Request::Generalized(Box::new(generalized)), request) }
}

pub unsafe fn complete(library: &mut Library, handle: usize) -> Result<(), Error> {
    let at = library.request_at(handle)?;
    match at.and_then(|at| library.requests[at].as_mut()) {
        Some(Request::Generalized(generalized)) => {
            generalized.is_complete = true;
            let generalized = **generalized;
            threads::note_change();
            // The last of two calls is this one.
            if let Some(place) = library.freed_requests.iter().position(|&freed| Some(freed) == at) {
                let at = library.freed_requests.swap_remove(place);
                library.requests[at] = None;
                library.free_requests.push(at);
                return generalized.free();
            }
            Ok(())
        }
        _ => Err(Error::new(Class::Request, format!("request is {handle:#x}, which is not generalized"))),
    }
}
