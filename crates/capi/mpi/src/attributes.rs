//! Attributes of communicators (MPI 5.0, section 7.7). Functions of the program are called when they are copied or deleted; they may
//! make calls, so the library is borrowed only between them.

use crate::abi::*;
use crate::communicators;
use crate::library::{CommId, Library, library};
use crate::requests::{EMPTY, Request};
use netloom_mpi::error::{Class, Error};
use std::ffi::{c_int, c_void};

/// Keys that the program makes, from this one on.
const USER_KEYVAL: c_int = 10_000;
const KEYVAL_INVALID: c_int = 0;

/// `MPI_COMM_DUP_FN`; NULL is `MPI_COMM_NULL_COPY_FN`, and of functions that delete, `MPI_COMM_NULL_DELETE_FN`.
const DUP_FN: usize = 1;

/// A key: what is done when an attribute is copied and deleted.
#[derive(Clone, Copy)]
pub struct Keyval {
    copy: usize,
    delete: usize,
    extra: usize,
    is_freed: bool,
}

type Copy =
    unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void, *mut *mut c_void, *mut c_int) -> c_int;
type Delete = unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void) -> c_int;

/// The library, for a moment.
///
/// # Safety
/// No function of the program is called while it is borrowed.
unsafe fn now<'a>() -> &'a mut Library {
    // SAFETY: the caller's promise.
    unsafe { library() }.expect("calls before MPI_Init and after MPI_Finalize are refused")
}

impl Library {
    fn keyval(&self, key: c_int) -> Result<Keyval, Error> {
        let at = usize::try_from(key - USER_KEYVAL).ok();
        let found = at.and_then(|at| self.keyvals.get(at)).copied();
        found.ok_or_else(|| {
            let what = if key == KEYVAL_INVALID { "MPI_KEYVAL_INVALID" } else { "no key that can be set" };
            Error::new(Class::Keyval, format!("keyval is {key}, which is {what}"))
        })
    }

    fn attribute(&mut self, comm: CommId, key: c_int) -> Option<usize> {
        self.of(comm).attributes.iter().find(|of| of.0 == key).map(|of| of.1)
    }
}

pub unsafe fn create_keyval(
    copy: usize,
    delete: usize,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe {
        let keyvals = &mut now().keyvals;
        keyvals.push(Keyval { copy, delete, extra: extra as usize, is_freed: false });
        *keyval = USER_KEYVAL + keyvals.len() as c_int - 1;
    }
    Ok(())
}

/// Attributes of this key stay until they are deleted.
pub unsafe fn free_keyval(keyval: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe {
        let library = now();
        if library.keyval(*keyval)?.is_freed {
            return Err(Error::new(Class::Keyval, format!("keyval {} has been freed", *keyval)));
        }
        library.keyvals[(*keyval - USER_KEYVAL) as usize].is_freed = true;
        *keyval = KEYVAL_INVALID;
    }
    Ok(())
}

/// The program's function failed: its code is told.
fn failed(what: &str, code: c_int) -> Error {
    Error::new(Class::Other, format!("the function that {what} an attribute returned {code}")).with_code(code)
}

pub unsafe fn set(comm: usize, key: c_int, value: *mut c_void) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone.
    unsafe {
        let at = now().comm("comm", comm)?;
        if now().keyval(key)?.is_freed {
            return Err(Error::new(Class::Keyval, format!("keyval {key} has been freed")));
        }
        if now().attribute(at, key).is_some() {
            delete(comm, key)?;
        }
        now().of(at).attributes.push((key, value as usize));
    }
    Ok(())
}

pub unsafe fn delete(comm: usize, key: c_int) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone; the program gave the function.
    unsafe {
        let at = now().comm("comm", comm)?;
        let keyval = now().keyval(key)?;
        let Some(value) = now().attribute(at, key) else {
            return Err(Error::new(Class::Keyval, format!("comm has no attribute of keyval {key}")));
        };
        if keyval.delete != 0 {
            let delete = std::mem::transmute::<usize, Delete>(keyval.delete);
            let code = delete(comm, key, value as *mut c_void, keyval.extra as *mut c_void);
            if code != SUCCESS {
                return Err(failed("deletes", code));
            }
        }
        now().of(at).attributes.retain(|of| of.0 != key);
    }
    Ok(())
}

/// Deletes all attributes, the last one first.
///
/// # Safety
/// The program makes one call at a time.
pub unsafe fn delete_all(comm: usize) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone.
    unsafe {
        let at = now().comm("comm", comm)?;
        while let Some(&(key, _)) = now().of(at).attributes.last() {
            delete(comm, key)?;
        }
    }
    Ok(())
}

pub unsafe fn free(comm: *mut usize) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone; the program gave the place.
    unsafe {
        let at = now().comm("comm", *comm)?;
        communicators::check_free(at)?;
        delete_all(*comm)?;
        communicators::free(now(), at);
        *comm = COMM_NULL;
    }
    Ok(())
}

/// The hints are those of the info object alone.
pub unsafe fn dup_with_info(comm: usize, info: usize, made: *mut usize) -> Result<(), Error> {
    let info = crate::info::copy(info)?;
    // SAFETY: the library is borrowed for each statement alone; the program gave the place.
    unsafe {
        dup(comm, made)?;
        let at = now().comm("newcomm", *made)?;
        now().of(at).info = info;
    }
    Ok(())
}

/// It waits for the other ranks, as contexts are agreed on here, and returns a request that has ended.
pub unsafe fn idup(comm: usize, made: *mut usize, request: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the places.
    unsafe {
        dup(comm, made)?;
        now().hand_out(Request::Ended(Ok(EMPTY)), request)
    }
}

/// As [`idup`].
pub unsafe fn idup_with_info(
    comm: usize,
    info: usize,
    made: *mut usize,
    request: *mut usize,
) -> Result<(), Error> {
    // SAFETY: the program gave the places.
    unsafe {
        dup_with_info(comm, info, made)?;
        now().hand_out(Request::Ended(Ok(EMPTY)), request)
    }
}

pub unsafe fn dup(comm: usize, made: *mut usize) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone; the program gave functions and place.
    unsafe {
        let at = now().comm("comm", comm)?;
        let attributes = now().of(at).attributes.clone();
        let mut copies = vec![];
        for (key, value) in attributes {
            let keyval = now().keyval(key)?;
            match keyval.copy {
                0 => {}
                DUP_FN => copies.push((key, value)),
                function => {
                    let copy = std::mem::transmute::<usize, Copy>(function);
                    let (mut new, mut flag) = (std::ptr::null_mut(), 0);
                    let (extra, value) = (keyval.extra as *mut c_void, value as *mut c_void);
                    let code = copy(comm, key, extra, value, &mut new, &mut flag);
                    if code != SUCCESS {
                        return Err(failed("copies", code));
                    }
                    copies.extend((flag != 0).then_some((key, new as usize)));
                }
            }
        }
        let handle = communicators::dup(now(), at)?;
        let new = now().comm("newcomm", handle)?;
        now().of(new).attributes = copies;
        now().of(new).info = now().of(at).info.clone();
        *made = handle;
    }
    Ok(())
}

/// An attribute of the program, or a predefined one.
pub unsafe fn get(
    library: &mut Library,
    comm: CommId,
    key: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> Result<(), Error> {
    static TAG_UB: c_int = c_int::MAX;
    static NONE: c_int = 0;
    static NO_HOST: c_int = PROC_NULL;
    static ANY: c_int = ANY_SOURCE;
    let predefined: Option<*const c_int> = match key {
        501 => Some(&raw const TAG_UB),
        502 => Some(&raw const ANY),
        503 => Some(&raw const NO_HOST),
        504 | 505 => Some(&raw const NONE),
        506 => Some(crate::errhandlers::last_code()),
        507 => Some(&raw const library.universe_size),
        _ => None,
    };
    if predefined.is_none() {
        library.keyval(key)?;
    }
    let found = predefined.map(|of| of as usize).or_else(|| library.attribute(comm, key));
    // SAFETY: the program gave the places; that of the value is for a pointer.
    unsafe {
        *flag = found.is_some().into();
        if let Some(found) = found {
            *value.cast::<usize>() = found;
        }
    }
    Ok(())
}
