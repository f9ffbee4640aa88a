//! Attributes of communicators, types and windows (MPI 5.0, section 7.7). Functions of the program are called
//! when they are copied or deleted; they may make calls, so the library is borrowed only between them.

use crate::abi::*;
use crate::communicators;
use crate::info::Info;
use crate::library::{CommId, Library, library};
use crate::threads;
use crate::types;
use crate::windows::{Win, WinId};
use netloom_mpi::error::{Class, Error};
use std::ffi::{c_int, c_void};

/// Keys that the program makes, from this one on.
const USER_KEYVAL: c_int = 10_000;
const KEYVAL_INVALID: c_int = 0;

/// What attributes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    Comm,
    Type,
    Win,
}

impl Carrier {
    /// The name of the argument.
    fn name(self) -> &'static str {
        match self {
            Carrier::Comm => "comm",
            Carrier::Type => "datatype",
            Carrier::Win => "win",
        }
    }
}

/// `MPI_COMM_DUP_FN`; NULL is `MPI_COMM_NULL_COPY_FN`, and of functions that delete,
/// `MPI_COMM_NULL_DELETE_FN`.
const DUP_FN: usize = 1;

/// A key: what is done when an attribute is copied and deleted.
#[derive(Clone, Copy)]
pub struct Keyval {
    carrier: Carrier,
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
unsafe fn now() -> Library {
    // SAFETY: the caller's promise.
    unsafe { library() }.expect("calls before MPI_Init and after MPI_Finalize are refused")
}

impl Library {
    fn keyval(&self, carrier: Carrier, key: c_int) -> Result<Keyval, Error> {
        let at = usize::try_from(key - USER_KEYVAL).ok();
        let found = at.and_then(|at| self.keyvals.get(at)).copied().filter(|of| of.carrier == carrier);
        found.ok_or_else(|| {
            let what = if key == KEYVAL_INVALID { "MPI_KEYVAL_INVALID" } else { "no key that can be set" };
            Error::new(Class::Keyval, format!("keyval is {key}, which is {what}"))
        })
    }

    /// The attributes of a handle: by key, in the order in which they were set.
    fn attributes(&mut self, carrier: Carrier, handle: usize) -> Result<&mut Vec<(c_int, usize)>, Error> {
        let name = carrier.name();
        Ok(match carrier {
            Carrier::Comm => {
                let comm = self.comm(name, handle)?;
                &mut self.of(comm).attributes
            }
            Carrier::Type => {
                types::find(name, handle)?;
                self.type_attributes.entry(handle).or_default()
            }
            Carrier::Win => {
                let win = self.win(name, handle)?;
                &mut self.of_win(win).attributes
            }
        })
    }
}

fn find(list: &[(c_int, usize)], key: c_int) -> Option<usize> {
    list.iter().find(|of| of.0 == key).map(|of| of.1)
}

/// # Safety
/// The program makes one call at a time, and gave the place.
unsafe fn create(
    carrier: Carrier,
    copy: usize,
    delete: usize,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe {
        let keyvals = &mut now().keyvals;
        keyvals.push(Keyval { carrier, copy, delete, extra: extra as usize, is_freed: false });
        *keyval = USER_KEYVAL + keyvals.len() as c_int - 1;
    }
    Ok(())
}

/// Attributes of this key stay until they are deleted.
///
/// # Safety
/// The program makes one call at a time, and gave the place.
unsafe fn free_key(carrier: Carrier, keyval: *mut c_int) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe {
        let mut library = now();
        if library.keyval(carrier, *keyval)?.is_freed {
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

/// # Safety
/// The program makes one call at a time.
unsafe fn set_of(carrier: Carrier, handle: usize, key: c_int, value: *mut c_void) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone.
    unsafe {
        let has_one = find(now().attributes(carrier, handle)?, key).is_some();
        if now().keyval(carrier, key)?.is_freed {
            return Err(Error::new(Class::Keyval, format!("keyval {key} has been freed")));
        }
        if has_one {
            delete_of(carrier, handle, key)?;
        }
        now().attributes(carrier, handle)?.push((key, value as usize));
    }
    Ok(())
}

/// # Safety
/// The program makes one call at a time.
unsafe fn delete_of(carrier: Carrier, handle: usize, key: c_int) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone; the program gave the function.
    unsafe {
        let value = find(now().attributes(carrier, handle)?, key);
        let keyval = now().keyval(carrier, key)?;
        let Some(value) = value else {
            let text = format!("{} has no attribute of keyval {key}", carrier.name());
            return Err(Error::new(Class::Keyval, text));
        };
        if keyval.delete != 0 {
            let delete = std::mem::transmute::<usize, Delete>(keyval.delete);
            let delete = || delete(handle, key, value as *mut c_void, keyval.extra as *mut c_void);
            let code = threads::unlocked(delete);
            if code != SUCCESS {
                return Err(failed("deletes", code));
            }
        }
        now().attributes(carrier, handle)?.retain(|of| of.0 != key);
    }
    Ok(())
}

/// Deletes all attributes, the last one first.
///
/// # Safety
/// The program makes one call at a time.
pub unsafe fn delete_all(carrier: Carrier, handle: usize) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone.
    unsafe {
        while let Some(&(key, _)) = now().attributes(carrier, handle)?.last() {
            delete_of(carrier, handle, key)?;
        }
    }
    Ok(())
}

/// The functions of each kind of carrier.
macro_rules! functions {
    ($carrier:ident: $create:ident $free:ident $set:ident $delete:ident) => {
        pub unsafe fn $create(
            copy: usize,
            delete: usize,
            keyval: *mut c_int,
            extra: *mut c_void,
        ) -> Result<(), Error> {
            // SAFETY: the program makes one call at a time, and gave the place.
            unsafe { create(Carrier::$carrier, copy, delete, keyval, extra) }
        }

        pub unsafe fn $free(keyval: *mut c_int) -> Result<(), Error> {
            // SAFETY: as above.
            unsafe { free_key(Carrier::$carrier, keyval) }
        }

        pub unsafe fn $set(handle: usize, key: c_int, value: *mut c_void) -> Result<(), Error> {
            // SAFETY: as above.
            unsafe { set_of(Carrier::$carrier, handle, key, value) }
        }

        pub unsafe fn $delete(handle: usize, key: c_int) -> Result<(), Error> {
            // SAFETY: as above.
            unsafe { delete_of(Carrier::$carrier, handle, key) }
        }
    };
}
functions!(Comm: create_keyval free_keyval set delete);
functions!(Type: create_type_keyval free_type_keyval set_of_type delete_of_type);
functions!(Win: create_win_keyval free_win_keyval set_of_win delete_of_win);

pub unsafe fn free(comm: *mut usize) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone; the program gave the place.
    unsafe {
        let at = now().comm("comm", *comm)?;
        communicators::check_free(at)?;
        delete_all(Carrier::Comm, *comm)?;
        communicators::free(&mut now(), at);
        *comm = COMM_NULL;
    }
    Ok(())
}

/// Waits for the other members, so that all their messages have arrived, and frees the communicator: by this
/// one, they are connected no more.
pub unsafe fn disconnect(comm: *mut usize) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone; the program gave the place.
    unsafe {
        let at = now().comm("comm", *comm)?;
        communicators::check_free(at)?;
        delete_all(Carrier::Comm, *comm)?;
        crate::dynamic::disconnect(&mut now(), at)?;
        communicators::free(&mut now(), at);
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

/// Returns without the other ranks; the request ends when they have agreed on a context.
pub unsafe fn idup(comm: usize, made: *mut usize, request: *mut usize) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone; the program gave functions and places.
    unsafe {
        let at = now().comm("comm", comm)?;
        let info = now().of(at).info.clone();
        idup_of(comm, info, made, request)
    }
}

/// As [`idup`].
pub unsafe fn idup_with_info(
    comm: usize,
    info: usize,
    made: *mut usize,
    request: *mut usize,
) -> Result<(), Error> {
    let info = crate::info::copy(info)?;
    // SAFETY: the program gave functions and places.
    unsafe { idup_of(comm, info, made, request) }
}

/// # Safety
/// As [`idup`].
unsafe fn idup_of(comm: usize, info: Info, made: *mut usize, request: *mut usize) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone; the program gave functions and places.
    unsafe {
        let at = now().comm("comm", comm)?;
        let copies = copies(Carrier::Comm, comm)?;
        let (handle, future) = communicators::idup(&mut now(), at);
        let new = now().comm("newcomm", handle)?;
        now().of(new).attributes = copies;
        now().of(new).info = info;
        *made = handle;
        now().start(future, request)
    }
}

/// What a copy of a carrier has.
///
/// # Safety
/// The program makes one call at a time.
unsafe fn copies(carrier: Carrier, handle: usize) -> Result<Vec<(c_int, usize)>, Error> {
    let mut copies = vec![];
    // SAFETY: the library is borrowed for each statement alone; the program gave the functions.
    unsafe {
        for (key, value) in now().attributes(carrier, handle)?.clone() {
            let keyval = now().keyval(carrier, key)?;
            match keyval.copy {
                0 => {}
                DUP_FN => copies.push((key, value)),
                function => {
                    let copy = std::mem::transmute::<usize, Copy>(function);
                    let (mut new, mut flag) = (std::ptr::null_mut(), 0);
                    let (extra, value) = (keyval.extra as *mut c_void, value as *mut c_void);
                    let code = threads::unlocked(|| copy(handle, key, extra, value, &mut new, &mut flag));
                    if code != SUCCESS {
                        return Err(failed("copies", code));
                    }
                    copies.extend((flag != 0).then_some((key, new as usize)));
                }
            }
        }
    }
    Ok(copies)
}

pub unsafe fn dup_type(datatype: usize, (newtype, is_long): (*mut usize, bool)) -> Result<(), Error> {
    let of = types::find("datatype", datatype)?;
    // SAFETY: the library is borrowed for each statement alone; the program gave functions and place.
    unsafe {
        let copies = copies(Carrier::Type, datatype)?;
        crate::constructors::dup(of, (newtype, is_long))?;
        now().type_attributes.insert(*newtype, copies);
    }
    Ok(())
}

pub unsafe fn free_type(datatype: *mut usize) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone; the program gave the place.
    unsafe {
        types::check_free(*datatype)?;
        delete_all(Carrier::Type, *datatype)?;
        now().type_attributes.remove(&*datatype);
        types::free(datatype)
    }
}

pub unsafe fn get_of_type(
    library: &mut Library,
    datatype: usize,
    key: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> Result<(), Error> {
    let own = find(library.attributes(Carrier::Type, datatype)?, key);
    // SAFETY: the program gave the places.
    unsafe { hand_out(library, Carrier::Type, key, [None, own], value, flag) }
}

pub unsafe fn dup(comm: usize, made: *mut usize) -> Result<(), Error> {
    // SAFETY: the library is borrowed for each statement alone; the program gave functions and place.
    unsafe {
        let at = now().comm("comm", comm)?;
        let copies = copies(Carrier::Comm, comm)?;
        let handle = communicators::dup(&mut now(), at)?;
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
        504 => Some(&raw const NONE),
        505 => Some(&raw const library.appnum),
        506 => Some(crate::errhandlers::last_code()),
        507 => Some(&raw const library.universe_size),
        _ => None,
    };
    let predefined = predefined.map(|of| of as usize);
    let own = find(&library.of(comm).attributes, key);
    // SAFETY: the program gave the places.
    unsafe { hand_out(library, Carrier::Comm, key, [predefined, own], value, flag) }
}

/// An attribute of the program, or one that tells of the window's memory.
pub unsafe fn get_of_win(
    library: &mut Library,
    win: WinId,
    key: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> Result<(), Error> {
    let Win { attributes, base, facts, .. } = library.of_win(win);
    let address = |of: *const c_int| of as usize;
    let predefined = match key {
        601 => Some(*base),
        602 => Some(address(&raw const facts.unit)),
        603 => Some((&raw const facts.size) as usize),
        604 => Some(address(&raw const facts.flavor)),
        605 => Some(address(&raw const facts.model)),
        _ => None,
    };
    let own = find(attributes, key);
    // SAFETY: the program gave the places.
    unsafe { hand_out(library, Carrier::Win, key, [predefined, own], value, flag) }
}

/// Tells the program of an attribute, which is predefined or its own.
///
/// # Safety
/// The program gave the places; that of the value is for a pointer.
unsafe fn hand_out(
    library: &Library,
    carrier: Carrier,
    key: c_int,
    [predefined, own]: [Option<usize>; 2],
    value: *mut c_void,
    flag: *mut c_int,
) -> Result<(), Error> {
    if predefined.is_none() {
        library.keyval(carrier, key)?;
    }
    let found = predefined.or(own);
    // SAFETY: the caller's promise.
    unsafe {
        *flag = found.is_some().into();
        if let Some(found) = found {
            *value.cast::<usize>() = found;
        }
    }
    Ok(())
}
