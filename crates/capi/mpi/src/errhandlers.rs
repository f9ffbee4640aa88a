//! Error handlers, and error codes of the program (MPI 5.0, sections 9.3 to 9.5).

use crate::abi::*;
use crate::entry::{outside, tell};
use crate::environment::write;
use crate::library::{CommId, Library, Raised, library};
use crate::windows::WinId;
use netloom_mpi::error::{self, Class, Error};
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// See [`crate::handles`].
const USER_ERRHANDLER: usize = 0x0700_0000;
const ERRHANDLER_NULL: usize = 0x140;

/// The environment variable with the name of the error handler that a process begins with.
pub const INITIAL: &str = "NETLOOM_INITIAL_ERRHANDLER";
/// The names that it may have (MPI 5.0, section 11.8.4).
pub const NAMES: &str = "mpi_errors_are_fatal, mpi_errors_abort and mpi_errors_return";

/// A predefined error handler by its name, in any case.
pub fn predefined(name: &str) -> Option<usize> {
    Some(match &*name.to_ascii_lowercase() {
        "mpi_errors_are_fatal" => ERRORS_ARE_FATAL,
        "mpi_errors_abort" => ERRORS_ABORT,
        "mpi_errors_return" => ERRORS_RETURN,
        _ => return None,
    })
}

/// The error handler before `MPI_Init`, and after it of `MPI_COMM_WORLD`, `MPI_COMM_SELF` and the communicator
/// with the parents.
pub fn initial() -> usize {
    static HANDLER: LazyLock<usize> = LazyLock::new(|| {
        let Ok(name) = std::env::var(INITIAL) else { return ERRORS_ARE_FATAL };
        predefined(&name).unwrap_or_else(|| {
            tell(&format!("{INITIAL} is `{name}`, which is none of {NAMES}"));
            std::process::exit(1);
        })
    });
    *HANDLER
}

/// `MPI_Comm_errhandler_function`.
type Function = unsafe extern "C" fn(*mut usize, *mut c_int, ...);

/// Does what is to be done with an error, and returns its code.
///
/// # Safety
/// The program gave the handler, and the library is not borrowed: handlers may make calls.
pub unsafe fn handle(raised: Raised) -> c_int {
    match raised {
        Raised::Code(code) => code,
        Raised::Handler { function, mut comm, code } => {
            // SAFETY: the caller's promise.
            unsafe { std::mem::transmute::<usize, Function>(function)(&mut comm, &mut { code }) };
            code
        }
    }
}

thread_local! {
    /// Code and text of the last error of this thread that its program was told of: `MPI_Error_string` of the
    /// code says more than what a class means.
    static LAST_RETURNED: RefCell<(c_int, String)> = const { RefCell::new((0, String::new())) };
}

/// The program is told of an error of a call.
pub fn note(name: &str, error: &Error) {
    LAST_RETURNED.with_borrow_mut(|last| *last = (error.code(), format!("{name}: {error}")));
}

/// The program's handlers: function, and how often it has to be freed. They may be made before there is a
/// library, and outlive it.
static MADE: Mutex<Vec<(usize, u32)>> = Mutex::new(vec![]);

fn made() -> MutexGuard<'static, Vec<(usize, u32)>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program's function of a handler.
pub fn user_handler(handle: usize) -> Option<usize> {
    made().get(handle.wrapping_sub(USER_ERRHANDLER)).map(|handler| handler.0)
}

/// Makes a handler of communicators, windows or files.
pub unsafe fn create(_: &mut Library, function: usize, errhandler: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { create_early(function, errhandler) }
}

/// Makes one of sessions: there may be no library.
pub unsafe fn create_early(function: usize, errhandler: *mut usize) -> Result<(), Error> {
    if function == 0 {
        return Err(Error::new(Class::Arg, "the function of the error handler is NULL"));
    }
    let mut made = made();
    made.push((function, 1));
    // SAFETY: the program gave the place.
    unsafe { *errhandler = USER_ERRHANDLER | (made.len() - 1) };
    Ok(())
}

/// A handler that the program may name.
pub fn check(handle: usize) -> Result<(), Error> {
    check_in(&made(), handle)
}

fn check_in(made: &[(usize, u32)], handle: usize) -> Result<(), Error> {
    let made = made.get(handle.wrapping_sub(USER_ERRHANDLER));
    match handle {
        ERRORS_ARE_FATAL | ERRORS_ABORT | ERRORS_RETURN => Ok(()),
        _ if made.is_some_and(|handler| handler.1 > 0) => Ok(()),
        _ => Err(Error::new(
            Class::Errhandler,
            format!("errhandler is {handle:#x}, which is no error handler"),
        )),
    }
}

pub unsafe fn set(library: &mut Library, comm: CommId, errhandler: usize) -> Result<(), Error> {
    check(errhandler)?;
    library.of(comm).errhandler = errhandler;
    Ok(())
}

pub unsafe fn set_of_win(library: &mut Library, win: WinId, errhandler: usize) -> Result<(), Error> {
    check(errhandler)?;
    library.of_win(win).errhandler = errhandler;
    Ok(())
}

/// That of `MPI_FILE_NULL` is that of files which are opened later.
pub unsafe fn set_of_file(library: &mut Library, file: usize, errhandler: usize) -> Result<(), Error> {
    check(errhandler)?;
    *library.errhandler_place("file", file)? = errhandler;
    Ok(())
}

pub unsafe fn get(library: &mut Library, comm: CommId, errhandler: *mut usize) -> Result<(), Error> {
    let handle = library.of(comm).errhandler;
    // SAFETY: the program gave the place.
    unsafe { hand_out(handle, errhandler) }
}

pub unsafe fn get_of_win(library: &mut Library, win: WinId, errhandler: *mut usize) -> Result<(), Error> {
    let handle = library.of_win(win).errhandler;
    // SAFETY: the program gave the place.
    unsafe { hand_out(handle, errhandler) }
}

pub unsafe fn get_of_file(library: &mut Library, file: usize, errhandler: *mut usize) -> Result<(), Error> {
    let handle = *library.errhandler_place("file", file)?;
    // SAFETY: the program gave the place.
    unsafe { hand_out(handle, errhandler) }
}

/// # Safety
/// The program gave the place.
pub unsafe fn hand_out(handle: usize, errhandler: *mut usize) -> Result<(), Error> {
    // It is as if it were made again: the program frees it once more.
    if let Some(handler) = made().get_mut(handle.wrapping_sub(USER_ERRHANDLER)) {
        handler.1 += 1;
    }
    // SAFETY: the caller's promise.
    unsafe { *errhandler = handle };
    Ok(())
}

/// What has it keeps it.
pub unsafe fn free(errhandler: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave it.
    let handle = unsafe { &mut *errhandler };
    let mut made = made();
    check_in(&made, *handle)?;
    if let Some(handler) = made.get_mut(handle.wrapping_sub(USER_ERRHANDLER)) {
        handler.1 -= 1;
    }
    *handle = ERRHANDLER_NULL;
    Ok(())
}

/// Calls the handler of a communicator.
pub unsafe fn call(comm: usize, errorcode: c_int) -> c_int {
    // SAFETY: the program makes one call at a time.
    unsafe {
        call_of("MPI_Comm_call_errhandler", comm, errorcode, |library| library.comm("comm", comm).map(|_| ()))
    }
}

/// Calls the handler of a window.
pub unsafe fn call_of_win(win: usize, errorcode: c_int) -> c_int {
    // SAFETY: the program makes one call at a time.
    unsafe {
        call_of("MPI_Win_call_errhandler", win, errorcode, |library| library.win("win", win).map(|_| ()))
    }
}

/// Calls the handler of a file.
pub unsafe fn call_of_file(file: usize, errorcode: c_int) -> c_int {
    // SAFETY: the program makes one call at a time.
    unsafe {
        call_of("MPI_File_call_errhandler", file, errorcode, |library| {
            library.errhandler_of_file(file).map(|_| ()).ok_or_else(|| crate::files::no_file("fh", file))
        })
    }
}

/// # Safety
/// The program makes one call at a time.
pub unsafe fn call_of(
    name: &str,
    handle: usize,
    errorcode: c_int,
    check: impl FnOnce(&Library) -> Result<(), Error>,
) -> c_int {
    let function = {
        // SAFETY: the program makes one call at a time.
        let Some(library) = (unsafe { library() }) else { return outside(name) };
        if let Err(error) = check(&library) {
            let raised = library.raise(name, 0, &error);
            drop(library);
            // SAFETY: the library is not used any more.
            return unsafe { self::handle(raised) };
        }
        let handler = library.errhandler_of(handle).expect("it was found");
        match user_handler(handler) {
            Some(function) => function,
            None if handler == ERRORS_RETURN => return SUCCESS,
            None => {
                let own = library.name_of_own();
                tell(&format!("{own}: {name}: the program reports the error code {errorcode}"));
                std::process::exit(class_number(errorcode).unwrap_or(Class::Other as c_int));
            }
        }
    };
    // SAFETY: the program gave the handler; the library is not borrowed.
    unsafe { self::handle(Raised::Handler { function, comm: handle, code: errorcode }) };
    SUCCESS
}

/// A code that the program has made: its class, which may be itself, and its text.
struct UserCode {
    class: c_int,
    text: String,
}

fn user_codes() -> MutexGuard<'static, Vec<Option<UserCode>>> {
    static CODES: Mutex<Vec<Option<UserCode>>> = Mutex::new(vec![]);
    CODES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first code of the program: after `MPI_ERR_LASTCODE`.
const FIRST: c_int = 0x4000;
static LAST: AtomicI32 = AtomicI32::new(FIRST - 1);

/// The attribute `MPI_LASTUSEDCODE`.
pub fn last_code() -> *const c_int {
    LAST.as_ptr()
}

fn add(class: impl FnOnce(c_int) -> c_int) -> c_int {
    let mut codes = user_codes();
    let code = FIRST + codes.len() as c_int;
    codes.push(Some(UserCode { class: class(code), text: String::new() }));
    LAST.store(code, Ordering::Relaxed);
    code
}

/// The class of a code, if there is such a code.
fn class_number(code: c_int) -> Option<c_int> {
    match code {
        0..FIRST => error::class(code).map(|of| of.0),
        _ => user_codes().get(usize::try_from(code - FIRST).ok()?)?.as_ref().map(|of| of.class),
    }
}

pub unsafe fn add_class(class: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *class = add(|own| own) };
    Ok(())
}

pub unsafe fn add_code(class: c_int, code: *mut c_int) -> Result<(), Error> {
    let Some(class) = class_number(class).filter(|&of| of == class) else {
        return Err(Error::new(Class::Arg, format!("errorclass is {class}, which is no error class")));
    };
    // SAFETY: the program gave the place.
    unsafe { *code = add(|_| class) };
    Ok(())
}

pub unsafe fn add_string(code: c_int, text: *const c_char) -> Result<(), Error> {
    // SAFETY: the program gave a string.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let mut codes = user_codes();
    let place = usize::try_from(code - FIRST).ok().and_then(|at| codes.get_mut(at)?.as_mut());
    place.ok_or_else(|| no_code(code))?.text = text;
    Ok(())
}

fn no_code(code: c_int) -> Error {
    Error::new(Class::Arg, format!("errorcode is {code}, which the program has not made"))
}

/// Removes a class or a code of the program.
fn remove(code: c_int, is_class: bool) -> Result<(), Error> {
    let mut codes = user_codes();
    let has_codes = codes.iter().flatten().filter(|of| of.class == code).count() > 1;
    let place = usize::try_from(code - FIRST).ok().and_then(|at| codes.get_mut(at));
    let found = place.filter(|of| of.as_ref().is_some_and(|of| (of.class == code) == is_class));
    let found = found.ok_or_else(|| no_code(code))?;
    if is_class && has_codes {
        return Err(Error::new(
            Class::Arg,
            format!("errorclass is {code}, and there are codes of this class"),
        ));
    }
    if found.as_ref().is_some_and(|of| !of.text.is_empty()) {
        return Err(Error::new(Class::Arg, format!("errorcode is {code}, and it still has a string")));
    }
    *found = None;
    // The last ones are there again for others.
    while codes.last().is_some_and(Option::is_none) {
        codes.pop();
    }
    LAST.store(FIRST + codes.len() as c_int - 1, Ordering::Relaxed);
    Ok(())
}

pub unsafe fn remove_class(class: c_int) -> Result<(), Error> {
    remove(class, true)
}

pub unsafe fn remove_code(code: c_int) -> Result<(), Error> {
    remove(code, false)
}

pub unsafe fn remove_string(code: c_int) -> Result<(), Error> {
    let mut codes = user_codes();
    let place = usize::try_from(code - FIRST).ok().and_then(|at| codes.get_mut(at)?.as_mut());
    place.ok_or_else(|| no_code(code))?.text.clear();
    Ok(())
}

pub unsafe fn class_of(code: c_int, class: *mut c_int) -> c_int {
    match class_number(code) {
        // SAFETY: the program gave the place.
        Some(found) => unsafe { *class = found },
        None => return Class::Arg as c_int,
    }
    SUCCESS
}

pub unsafe fn string_of(code: c_int, text: *mut c_char, length: *mut c_int) -> c_int {
    let words = match error::class(code) {
        Some((_, name, meaning)) => LAST_RETURNED.with_borrow(|(last, words)| {
            let why = if *last == code { format!("; {words}") } else { String::new() };
            format!("{name}: {meaning}{why}")
        }),
        None => match usize::try_from(code - FIRST)
            .ok()
            .and_then(|at| user_codes().get(at)?.as_ref().map(|of| of.text.clone()))
        {
            Some(text) => text,
            None => return Class::Arg as c_int,
        },
    };
    // SAFETY: the program gave the places.
    unsafe { write(&words, MAX_ERROR_STRING, text, length) };
    SUCCESS
}
