//! Performance variables: what point-to-point communication of this process has done, and what is under way.
//! They count from `MPI_Init` on, all the time; collectives are messages too.

use super::{INVALID, INVALID_HANDLE, INVALID_INDEX, INVALID_NAME, INVALID_SESSION, SUCCESS, answer, write};
use crate::handoff;
use crate::library::{Library, library};
use netloom_mpi::handles::Handles;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

const NO_WRITE: c_int = 1016;
const NO_START_STOP: c_int = 1017;
const NO_ATOMIC: c_int = 1018;
const CLASS_LEVEL: c_int = 2;
const CLASS_COUNTER: c_int = 7;
const VERBOSITY_USER_DETAIL: c_int = 10;
const BIND_NO_OBJECT: c_int = 1;
/// `MPI_UINT64_T`.
const UINT64: usize = 0x259;
/// `MPI_T_PVAR_ALL_HANDLES`.
const ALL_HANDLES: usize = 1;

/// A variable.
struct Variable {
    name: &'static CStr,
    description: &'static CStr,
    class: c_int,
    read: fn(&Library) -> u64,
}

const VARIABLES: [Variable; 5] = [
    Variable {
        name: c"sends",
        description: c"messages that this process has begun to send",
        class: CLASS_COUNTER,
        read: |library| library.point_to_point.counters().sends.get() + handoff::counts()[0],
    },
    Variable {
        name: c"sent_bytes",
        description: c"the bytes of their data",
        class: CLASS_COUNTER,
        read: |library| library.point_to_point.counters().sent_bytes.get() + handoff::counts()[1],
    },
    Variable {
        name: c"unexpected_messages",
        description: c"messages that arrived before a receive of theirs was posted",
        class: CLASS_COUNTER,
        read: |library| library.point_to_point.counters().unexpected.get(),
    },
    Variable {
        name: c"posted_receives",
        description: c"receives that wait for a message",
        class: CLASS_LEVEL,
        read: |library| library.point_to_point.waiting()[0],
    },
    Variable {
        name: c"waiting_messages",
        description: c"messages that have arrived and wait for a receive",
        class: CLASS_LEVEL,
        read: |library| library.point_to_point.waiting()[1],
    },
];

/// A variable that a session watches.
struct Watch {
    session: usize,
    variable: usize,
    /// What a counter had when it was reset.
    base: u64,
}

impl Watch {
    fn value(&self) -> u64 {
        // SAFETY: the program makes one call at a time.
        let library = unsafe { library() };
        library.map_or(0, |library| (VARIABLES[self.variable].read)(&library)).wrapping_sub(self.base)
    }

    fn is_counter(&self) -> bool {
        VARIABLES[self.variable].class == CLASS_COUNTER
    }
}

/// Sessions, and what they watch.
struct Watches {
    sessions: Handles<()>,
    list: Handles<Watch>,
}

fn watches() -> MutexGuard<'static, Watches> {
    static WATCHES: Mutex<Watches> =
        Mutex::new(Watches { sessions: Handles::new(0x0c00_0000), list: Handles::new(0x0d00_0000) });
    WATCHES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn variable(index: c_int) -> Option<&'static Variable> {
    VARIABLES.get(usize::try_from(index).ok()?)
}

pub unsafe fn pvar_get_num(count: *mut c_int) -> c_int {
    // SAFETY: the program gave the place.
    unsafe { *count = VARIABLES.len() as c_int };
    answer(SUCCESS)
}

pub unsafe fn pvar_get_index(name: *const c_char, class: c_int, index: *mut c_int) -> c_int {
    if name.is_null() {
        return answer(INVALID);
    }
    // SAFETY: the program gave a string.
    let name = unsafe { CStr::from_ptr(name) };
    let Some(at) = VARIABLES.iter().position(|of| of.name == name && of.class == class) else {
        return answer(INVALID_NAME);
    };
    // SAFETY: the program gave the place.
    unsafe { *index = at as c_int };
    answer(SUCCESS)
}

/// # Safety
/// The program gave the place, or NULL.
unsafe fn set<T>(place: *mut T, value: T) {
    // SAFETY: the caller's promise.
    if let Some(place) = unsafe { place.as_mut() } {
        *place = value;
    }
}

pub unsafe fn pvar_get_info(
    index: c_int,
    name: *mut c_char,
    name_length: *mut c_int,
    verbosity: *mut c_int,
    class: *mut c_int,
    datatype: *mut usize,
    enumeration: *mut usize,
    description: *mut c_char,
    description_length: *mut c_int,
    bind: *mut c_int,
    is_read_only: *mut c_int,
    is_continuous: *mut c_int,
    is_atomic: *mut c_int,
) -> c_int {
    let Some(of) = variable(index) else { return answer(INVALID_INDEX) };
    // SAFETY: the program gave the places, or NULL.
    unsafe {
        write(of.name, name, name_length);
        write(of.description, description, description_length);
        set(verbosity, VERBOSITY_USER_DETAIL);
        set(class, of.class);
        set(datatype, UINT64);
        set(enumeration, 0);
        set(bind, BIND_NO_OBJECT);
        // Counters can be reset, and read and reset at once, but not be written otherwise.
        let is_counter = of.class == CLASS_COUNTER;
        set(is_read_only, (!is_counter).into());
        set(is_continuous, 1);
        set(is_atomic, is_counter.into());
    }
    answer(SUCCESS)
}

pub unsafe fn pvar_session_create(session: *mut usize) -> c_int {
    // SAFETY: the program gave the place.
    unsafe { *session = watches().sessions.insert(()) };
    answer(SUCCESS)
}

pub unsafe fn pvar_session_free(session: *mut usize) -> c_int {
    // SAFETY: the program gave the place.
    unsafe {
        if watches().sessions.remove(*session).is_none() {
            return answer(INVALID_SESSION);
        }
        watches().list.retain(|watch| watch.session != *session);
        *session = 0;
    }
    answer(SUCCESS)
}

pub unsafe fn pvar_handle_alloc(
    session: usize,
    index: c_int,
    _: *mut c_void,
    handle: *mut usize,
    count: *mut c_int,
) -> c_int {
    if variable(index).is_none() {
        return answer(INVALID_INDEX);
    }
    let mut watches = watches();
    if watches.sessions.get(session).is_none() {
        return answer(INVALID_SESSION);
    }
    let mut watch = Watch { session, variable: index as usize, base: 0 };
    if watch.is_counter() {
        watch.base = watch.value();
    }
    // SAFETY: the program gave the places.
    unsafe {
        *handle = watches.list.insert(watch);
        set(count, 1);
    }
    answer(SUCCESS)
}

pub unsafe fn pvar_handle_free(session: usize, handle: *mut usize) -> c_int {
    // SAFETY: the program gave the place.
    unsafe {
        let code = with(session, *handle, |_| SUCCESS);
        if code == SUCCESS {
            watches().list.remove(*handle);
            *handle = 0;
        }
        code
    }
}

/// Does something with what a session watches.
fn with(session: usize, handle: usize, act: impl FnOnce(&mut Watch) -> c_int) -> c_int {
    let mut watches = watches();
    if watches.sessions.get(session).is_none() {
        return answer(INVALID_SESSION);
    }
    match watches.list.get_mut(handle).filter(|watch| watch.session == session) {
        None => answer(INVALID_HANDLE),
        Some(watch) => answer(act(watch)),
    }
}

/// They count all the time; so of all variables of a session, none is started or stopped, which is no error.
pub unsafe fn pvar_start_or_stop(session: usize, handle: usize) -> c_int {
    match handle {
        ALL_HANDLES if watches().sessions.get(session).is_some() => answer(SUCCESS),
        _ => with(session, handle, |_| NO_START_STOP),
    }
}

pub unsafe fn pvar_read(session: usize, handle: usize, to: *mut c_void) -> c_int {
    with(session, handle, |watch| {
        // SAFETY: the program gave the place of a number.
        unsafe { to.cast::<u64>().write_unaligned(watch.value()) };
        SUCCESS
    })
}

pub unsafe fn pvar_write(session: usize, handle: usize, _: *const c_void) -> c_int {
    with(session, handle, |_| NO_WRITE)
}

/// What a counter had, which begins again.
fn reset(watch: &mut Watch) -> Option<u64> {
    let value = watch.is_counter().then(|| watch.value())?;
    watch.base = watch.base.wrapping_add(value);
    Some(value)
}

pub unsafe fn pvar_reset(session: usize, handle: usize) -> c_int {
    if handle != ALL_HANDLES {
        return with(session, handle, |watch| reset(watch).map_or(NO_WRITE, |_| SUCCESS));
    }
    let mut watches = watches();
    if watches.sessions.get(session).is_none() {
        return answer(INVALID_SESSION);
    }
    watches.list.iter_mut().filter(|watch| watch.session == session).for_each(|watch| _ = reset(watch));
    answer(SUCCESS)
}

pub unsafe fn pvar_read_and_reset(session: usize, handle: usize, to: *mut c_void) -> c_int {
    with(session, handle, |watch| {
        let Some(value) = reset(watch) else { return NO_ATOMIC };
        // SAFETY: the program gave the place of a number.
        unsafe { to.cast::<u64>().write_unaligned(value) };
        SUCCESS
    })
}
