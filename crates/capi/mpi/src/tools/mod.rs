//! The tool information interface (MPI 5.0, chapter 15): variables that tell what the library does. There are
//! [performance variables](performance), and no control variables, categories, enumerations or events: what
//! would name one gets an error. Functions return errors, and call no handler.

mod performance;

pub use performance::*;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

const SUCCESS: c_int = 0;
const NOT_INITIALIZED: c_int = 1003;
const INVALID: c_int = 1006;
const INVALID_INDEX: c_int = 1007;
const INVALID_SESSION: c_int = 1009;
const INVALID_HANDLE: c_int = 1010;
const INVALID_NAME: c_int = 1011;

/// How often it was initialised and not finalised.
static USERS: AtomicU32 = AtomicU32::new(0);

/// What a function has to say, or that the interface is not initialised.
fn answer(code: c_int) -> c_int {
    if USERS.load(Ordering::Relaxed) == 0 { NOT_INITIALIZED } else { code }
}

pub unsafe fn init(required: c_int, provided: *mut c_int) -> c_int {
    USERS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the program gave the place.
    unsafe { *provided = required.min(crate::abi::THREAD_MULTIPLE) };
    SUCCESS
}

pub unsafe fn finalize() -> c_int {
    let fewer = |users: u32| users.checked_sub(1);
    match USERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer) {
        Ok(_) => SUCCESS,
        Err(_) => NOT_INITIALIZED,
    }
}

/// Writes a string, as far as the buffer holds it, and the length of the buffer that holds all.
///
/// # Safety
/// The program gave the places, or NULL: that of the string has as many bytes as the length says.
unsafe fn write(text: &CStr, to: *mut c_char, length: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(length) = length.as_mut() else { return };
        if !to.is_null() && *length > 0 {
            crate::environment::write(&text.to_string_lossy(), *length as usize, to, &mut 0);
        }
        *length = text.to_bytes_with_nul().len() as c_int;
    }
}

/// Functions that tell how many there are: none.
macro_rules! none {
    ($($name:ident)*) => {$(
        pub unsafe fn $name(count: *mut c_int) -> c_int {
            // SAFETY: the program gave the place.
            unsafe { *count = 0 };
            answer(SUCCESS)
        }
    )*};
}
none!(category_changed category_get_num cvar_get_num event_get_num source_get_num);

/// Functions that name something that is not there.
macro_rules! absent {
    ($($name:ident($($of:ty),*) = $code:ident;)*) => {$(
        pub unsafe fn $name($(_: $of),*) -> c_int {
            answer($code)
        }
    )*};
}
absent! {
    category_list(c_int, c_int, *mut c_int) = INVALID_INDEX;
    category_get_index(*const c_char, *mut c_int) = INVALID_NAME;
    category_get_info(
        c_int, *mut c_char, *mut c_int, *mut c_char, *mut c_int, *mut c_int, *mut c_int, *mut c_int
    ) = INVALID_INDEX;
    category_get_num_events(c_int, *mut c_int) = INVALID_INDEX;
    cvar_get_index(*const c_char, *mut c_int) = INVALID_NAME;
    cvar_get_info(
        c_int, *mut c_char, *mut c_int, *mut c_int, *mut usize, *mut usize, *mut c_char, *mut c_int, *mut c_int,
        *mut c_int
    ) = INVALID_INDEX;
    cvar_handle_alloc(c_int, *mut c_void, *mut usize, *mut c_int) = INVALID_INDEX;
    cvar_handle_free(*mut usize) = INVALID_HANDLE;
    cvar_read(usize, *mut c_void) = INVALID_HANDLE;
    cvar_write(usize, *const c_void) = INVALID_HANDLE;
    enum_get_info(usize, *mut c_int, *mut c_char, *mut c_int) = INVALID_HANDLE;
    enum_get_item(usize, c_int, *mut c_int, *mut c_char, *mut c_int) = INVALID_HANDLE;
    event_callback_get_info(usize, c_int, *mut usize) = INVALID_HANDLE;
    event_callback_set_info(usize, c_int, usize) = INVALID_HANDLE;
    event_copy(usize, *mut c_void) = INVALID_HANDLE;
    event_get_index(*const c_char, *mut c_int) = INVALID_NAME;
    event_get_info(
        c_int, *mut c_char, *mut c_int, *mut c_int, *mut usize, *mut isize, *mut c_int, *mut usize, *mut usize,
        *mut c_char, *mut c_int, *mut c_int
    ) = INVALID_INDEX;
    event_get_source(usize, *mut c_int) = INVALID_HANDLE;
    event_get_timestamp(usize, *mut i64) = INVALID_HANDLE;
    event_handle_alloc(c_int, *mut c_void, usize, *mut usize) = INVALID_INDEX;
    event_handle_free(usize, *mut c_void, usize) = INVALID_HANDLE;
    event_handle_get_info(usize, *mut usize) = INVALID_HANDLE;
    event_handle_set_info(usize, usize) = INVALID_HANDLE;
    event_read(usize, c_int, *mut c_void) = INVALID_HANDLE;
    event_register_callback(usize, c_int, usize, *mut c_void, usize) = INVALID_HANDLE;
    event_set_dropped_handler(usize, usize) = INVALID_HANDLE;
    source_get_info(
        c_int, *mut c_char, *mut c_int, *mut c_char, *mut c_int, *mut c_int, *mut i64, *mut i64, *mut usize
    ) = INVALID_INDEX;
    source_get_timestamp(c_int, *mut i64) = INVALID_INDEX;
}
