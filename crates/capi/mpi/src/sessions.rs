//! Sessions (MPI 5.0, section 11.3): a program may begin with them instead of `MPI_Init`. The library runs
//! from the first session, or `MPI_Init`, to the end of the last one.

use crate::abi::*;
use crate::entry::{Outcome as _, place};
use crate::environment::write;
use crate::errhandlers;
use crate::info::{self, Info};
use crate::library::{CommId, Library, Raised, bad_handle, is_running, library};
use crate::start;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::Processes;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering};

/// See [`crate::handles`].
pub const USER_SESSION: usize = 0x0a00_0000;
/// The hint that says how many threads make calls.
const THREAD_LEVEL: &str = "thread_level";
const SESSION_NULL: usize = 0x120;

/// Process sets: all processes, and this one.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// A session.
pub struct Session {
    pub errhandler: usize,
    info: Info,
}

/// A session that was found, by its handle.
#[derive(Clone, Copy)]
pub struct SessionId(pub usize);

/// How many there are.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Whether any is there, so that the library is needed.
pub fn are_open() -> bool {
    OPEN.load(Ordering::Relaxed) > 0
}

impl Library {
    pub fn session(&self, name: &str, handle: usize) -> Result<SessionId, Error> {
        match self.sessions.get(handle) {
            Some(_) => Ok(SessionId(handle)),
            None => {
                Err(bad_handle(Class::Session, name, handle, "MPI_SESSION_NULL", SESSION_NULL, "session"))
            }
        }
    }

    fn of_session(&mut self, SessionId(handle): SessionId) -> &mut Session {
        self.sessions.get_mut(handle).expect("it is there while the program makes a call with it")
    }

    /// A process set by its name.
    fn process_set(&mut self, name: &str) -> Result<Processes, Error> {
        let at = SETS.iter().position(|set| set.eq_ignore_ascii_case(name));
        let none =
            || Error::new(Class::Arg, format!("pset_name is {name}, and the sets are {}", SETS.join(", ")));
        Ok(Processes::from(&self.of(CommId(at.ok_or_else(none)?)).group))
    }
}

/// The level of threads that the hints of a session ask for.
fn level_of(info: &Info) -> Result<c_int, Error> {
    Ok(match info.get(THREAD_LEVEL) {
        None | Some("MPI_THREAD_SERIALIZED") => THREAD_SERIALIZED,
        Some("MPI_THREAD_SINGLE") => THREAD_SINGLE,
        Some("MPI_THREAD_FUNNELED") => THREAD_FUNNELED,
        Some("MPI_THREAD_MULTIPLE") => THREAD_MULTIPLE,
        Some(other) => {
            return Err(Error::new(Class::Arg, format!("thread_level is {other}, which is no level")));
        }
    })
}

fn name_of(level: c_int) -> &'static str {
    match level {
        THREAD_SINGLE => "MPI_THREAD_SINGLE",
        THREAD_FUNNELED => "MPI_THREAD_FUNNELED",
        THREAD_SERIALIZED => "MPI_THREAD_SERIALIZED",
        _ => "MPI_THREAD_MULTIPLE",
    }
}

/// An error of this call goes to the error handler that is given.
pub unsafe fn init(info: usize, errhandler: usize, session: *mut usize) -> c_int {
    // SAFETY: the program makes one call at a time, and gave the place and the handler, which may make calls:
    // the library is borrowed for the first statement alone.
    unsafe {
        let Err(error) = begin(info, errhandler, session) else { return SUCCESS };
        let function = errhandlers::user_handler(errhandler);
        match function {
            Some(function) => {
                errhandlers::handle(Raised::Handler { function, comm: SESSION_NULL, code: error.code() })
            }
            None if errhandler == ERRORS_RETURN => error.code(),
            None => Err(error).result(&"MPI_Session_init"),
        }
    }
}

/// # Safety
/// As [`init`].
unsafe fn begin(info: usize, errhandler: usize, session: *mut usize) -> Result<(), Error> {
    place("session", session)?;
    let mut info = info::copy(info)?;
    let level = level_of(&info)?;
    if !is_running() {
        start::begin_library("MPI_Session_init", level);
    }
    // SAFETY: the program makes one call at a time, and gave the place.
    unsafe {
        let mut library = library().expect("it runs now");
        errhandlers::check(errhandler)?;
        info.set(THREAD_LEVEL, name_of(library.thread_level));
        *session = library.sessions.insert(Session { errhandler, info });
    }
    OPEN.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// With the last one the library ends, unless `MPI_Finalize` is still to come: then all processes meet.
pub unsafe fn finalize(session: *mut usize) -> Result<(), Error> {
    // SAFETY: the program makes one call at a time, and gave the place.
    unsafe {
        let mut library = library().expect("calls without a library are refused");
        library.session("session", *session)?;
        library.sessions.remove(*session);
        *session = SESSION_NULL;
    }
    OPEN.fetch_sub(1, Ordering::Relaxed);
    if !are_open() && !start::is_world_model() {
        // SAFETY: as above.
        unsafe { start::end_library() }?;
    }
    Ok(())
}

pub unsafe fn sets(library: &mut Library, _: SessionId, info: usize, count: *mut c_int) -> Result<(), Error> {
    let _ = library;
    info::check(info)?;
    // SAFETY: the program gave the place.
    unsafe { *count = SETS.len() as c_int };
    Ok(())
}

/// The name, as far as the buffer holds it, and the length that it needs.
pub unsafe fn nth_set(
    _: &mut Library,
    _: SessionId,
    info: usize,
    n: c_int,
    length: *mut c_int,
    name: *mut c_char,
) -> Result<(), Error> {
    info::check(info)?;
    let outside = || Error::new(Class::Arg, format!("n is {n}, and there are {} process sets", SETS.len()));
    let set = usize::try_from(n).ok().and_then(|n| SETS.get(n)).ok_or_else(outside)?;
    // SAFETY: the program gave the places.
    unsafe {
        match *length {
            0 => {}
            space if name.is_null() => {
                let text = format!("pset_name is NULL, and pset_len says that it has {space} B");
                return Err(Error::new(Class::Arg, text));
            }
            space => write(set, space.max(1) as usize, name, &mut 0),
        }
        *length = set.len() as c_int + 1;
    }
    Ok(())
}

/// # Safety
/// The program gave the string.
unsafe fn set_of(library: &mut Library, name: *const c_char) -> Result<Processes, Error> {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    library.process_set(&name)
}

pub unsafe fn set_info(
    library: &mut Library,
    _: SessionId,
    name: *const c_char,
    info: *mut usize,
) -> Result<(), Error> {
    // SAFETY: the program gave the string and the place.
    unsafe {
        let mut facts = Info::default();
        facts.set("mpi_size", &set_of(library, name)?.size().to_string());
        *info = info::add(facts);
    }
    Ok(())
}

pub unsafe fn group(
    library: &mut Library,
    SessionId(session): SessionId,
    name: *const c_char,
    group: *mut usize,
) -> Result<(), Error> {
    // SAFETY: the program gave the string and the place.
    unsafe {
        let set = set_of(library, name)?.in_session(Some(session));
        library.hand_out_group(set, group)
    }
}

pub unsafe fn get_info(library: &mut Library, session: SessionId, info: *mut usize) -> Result<(), Error> {
    let copy = library.of_session(session).info.clone();
    // SAFETY: the program gave the place.
    unsafe { *info = info::add(copy) };
    Ok(())
}

pub unsafe fn set_errhandler(
    library: &mut Library,
    session: SessionId,
    errhandler: usize,
) -> Result<(), Error> {
    errhandlers::check(errhandler)?;
    library.of_session(session).errhandler = errhandler;
    Ok(())
}

pub unsafe fn get_errhandler(
    library: &mut Library,
    session: SessionId,
    errhandler: *mut usize,
) -> Result<(), Error> {
    let handle = library.of_session(session).errhandler;
    // SAFETY: the program gave the place.
    unsafe { errhandlers::hand_out(handle, errhandler) }
}

/// Handlers may be made before there is a library.
pub unsafe fn create_errhandler(function: usize, errhandler: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { errhandlers::create_early(function, errhandler) }
}

pub unsafe fn call_errhandler(session: usize, errorcode: c_int) -> c_int {
    // SAFETY: the program makes one call at a time.
    unsafe {
        errhandlers::call_of("MPI_Session_call_errhandler", session, errorcode, |library| {
            library.session("session", session).map(|_| ())
        })
    }
}
