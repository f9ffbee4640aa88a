//! `NETLOOM_poll`: progress for a program that has other things to do, as one has that calls `MPI_Test`.
//! [`PAMI_Context_advance`](crate::context::PAMI_Context_advance) cannot know that: after many calls in vain
//! it sleeps where tasks share cores, and takes longer and longer on a simulated node. An extension of this library,
//! for MPI.

use super::{Extension, everywhere};
use crate::abi::Result;
use crate::context::{look, look_all};
use std::ffi::c_void;

const NAME: &str = "NETLOOM_poll";

pub const EXTENSION: Extension = Extension {
    name: NAME,
    refusal: everywhere,
    symbols: &["advance", "advancev"],
    symbol: |_, name| match name {
        "advance" => advance as *mut c_void,
        _ => advancev as *mut c_void,
    },
};

/// Symbol `advance`: makes progress of a context once.
unsafe extern "C" fn advance(context: *mut c_void) -> Result {
    // SAFETY: the caller's context.
    unsafe { look(NAME, context) }
}

/// Symbol `advancev`: of several.
unsafe extern "C" fn advancev(contexts: *mut *mut c_void, count: usize) -> Result {
    // SAFETY: the caller's contexts.
    unsafe { look_all(NAME, contexts, count) }
}
