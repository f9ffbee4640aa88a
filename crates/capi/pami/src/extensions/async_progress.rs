//! `EXT_async_progress`: communication threads advance contexts in the background.

use super::{Extension, everywhere};
use crate::abi::{INVAL, Result, SUCCESS, UNIMPL};
use crate::check::shared;
use crate::client::fail;
use crate::communication_thread::{self as threads, Handler};
use std::ffi::{c_int, c_void};

pub const EXTENSION: Extension = Extension {
    name: "EXT_async_progress",
    refusal: everywhere,
    symbols: &["register", "enable", "disable"],
    symbol: |_, name| match name {
        "register" => register as *mut c_void,
        "enable" => enable as *mut c_void,
        _ => disable as *mut c_void,
    },
};

/// `PAMIX_ASYNC_ALL`.
const ALL: c_int = 0;

/// The handlers of suspension and resumption are never called: progress is not suspended.
unsafe extern "C" fn register(
    handle: *mut c_void,
    progress: Handler,
    _suspend: Handler,
    _resume: Handler,
    cookie: *mut c_void,
) -> Result {
    // SAFETY: the program gave it.
    let Some(context) = (unsafe { shared("register", handle) }) else {
        return fail(INVAL, "register: there is no such context");
    };
    threads::register(context, progress, cookie);
    SUCCESS
}

unsafe extern "C" fn enable(handle: *mut c_void, events: c_int) -> Result {
    // SAFETY: the program gave it.
    let Some(context) = (unsafe { shared("enable", handle) }) else {
        return fail(INVAL, "enable: there is no such context");
    };
    if events != ALL {
        return fail(UNIMPL, format!("enable: events {events} alone are not supported; use PAMIX_ASYNC_ALL"));
    }
    threads::enable(context)
}

unsafe extern "C" fn disable(handle: *mut c_void, events: c_int) -> Result {
    // SAFETY: the program gave it.
    let Some(context) = (unsafe { shared("disable", handle) }) else {
        return fail(INVAL, "disable: there is no such context");
    };
    if events != ALL {
        return fail(
            UNIMPL,
            format!("disable: events {events} alone are not supported; use PAMIX_ASYNC_ALL"),
        );
    }
    threads::disable(context);
    threads::register(context, None, std::ptr::null_mut());
    SUCCESS
}
