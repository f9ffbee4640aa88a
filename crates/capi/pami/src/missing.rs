//! Functions that are not implemented yet. Each returns `PAMI_UNIMPL`, and `PAMI_Error_text` says which.

use crate::abi::{Result, UNIMPL};
use crate::client::fail;
use std::ffi::c_void;

macro_rules! missing {
    ($($name:ident),* $(,)?) => {
        $(#[unsafe(no_mangle)]
        pub extern "C" fn $name() -> Result {
            fail(UNIMPL, concat!(stringify!($name), " is not implemented yet"))
        })*
    };
}

missing! {
    PAMI_Extension_open,
    PAMI_Extension_close,
}

#[unsafe(no_mangle)]
pub extern "C" fn PAMI_Extension_symbol() -> *mut c_void {
    fail(UNIMPL, "PAMI_Extension_symbol is not implemented yet");
    std::ptr::null_mut()
}
