//! Operations on data that types lay out: typed sends, receives that are not plain copies, typed puts and
//! gets.
//!
//! Data that is not contiguous is sent from, and received into, a buffer of this library; data functions of
//! the program run while the buffer is packed or unpacked. Puts and gets do the same with short pieces if the
//! memory of the target is contiguous; otherwise they move many pieces per step.

mod combine;
mod messages;
mod transfers;

use crate::abi::*;
pub use combine::{Buffer, Combine};
pub use messages::target;
use std::ffi::c_void;

fn call(function: EventFunction, context: *mut c_void, cookie: *mut c_void, result: Result) {
    if let Some(function) = function {
        // SAFETY: the program gave both.
        unsafe { function(context, cookie, result) };
    }
}
