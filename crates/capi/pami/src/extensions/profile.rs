//! `NETLOOM_profile`: a library that stands on PAMI, such as MPI, marks the calls of its program and their
//! messages, for a profile of a run on a simulated machine. An extension of this library.

use super::Extension;
use crate::client::job;
use crate::device::guest::{self, Guest};
use netloom_messaging::pami::guest::profile::{Mark, Matched};
use std::ffi::{c_char, c_int, c_void};

pub const EXTENSION: Extension = Extension {
    name: "NETLOOM_profile",
    refusal: |job| {
        let is_profiled = job.simulated.is_some_and(|guest| guest::lock(guest).facts().is_profiled);
        (!is_profiled)
            .then_some("only runs on a simulated machine (`netloom mpirun`) have a profile, on request")
    },
    symbols: &["call_begins", "call_ends", "sent", "taken", "received"],
    symbol: |_, name| match name {
        "call_begins" => call_begins as *mut c_void,
        "call_ends" => call_ends as *mut c_void,
        "sent" => sent as *mut c_void,
        "taken" => taken as *mut c_void,
        _ => received as *mut c_void,
    },
};

fn guest() -> Option<&'static Guest> {
    job().ok().and_then(|job| job.simulated).filter(|_| !Guest::is_forked())
}

fn mark(mark: Mark) {
    if let Some(guest) = guest() {
        guest::lock(guest).mark(mark);
    }
}

/// Symbol `call_begins`: the calling thread makes a call with this name, which must stay. `is_first` is not
/// 0 for the call that has started the library: it began with the thread.
unsafe extern "C" fn call_begins(name: *const c_char, length: usize, is_first: c_int) {
    // SAFETY: the library gave it, and keeps it.
    let name = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), length) };
    if let (Some(guest), Ok(name)) = (guest(), std::str::from_utf8(name)) {
        guest::lock(guest).call_begins(name, is_first != 0);
    }
}

/// Symbol `call_ends`: the call ends.
unsafe extern "C" fn call_ends() {
    if let Some(guest) = guest() {
        guest::lock(guest).call_ends();
    }
}

/// Symbol `sent`: a message is sent to a task.
unsafe extern "C" fn sent(peer: u32, context: u32, tag: c_int, bytes: u64) {
    mark(Mark::Sent(Matched { peer, context, tag, bytes }));
}

/// Symbol `taken`: a receive takes a message. Its data is there if `number` is 0; else that is the number by
/// which its end is reported.
unsafe extern "C" fn taken(peer: u32, context: u32, tag: c_int, bytes: u64, number: u64) {
    let number = (number > 0).then_some(number);
    mark(Mark::Taken { message: Matched { peer, context, tag, bytes }, number });
}

/// Symbol `received`: the data of a message is there.
unsafe extern "C" fn received(number: u64) {
    mark(Mark::Received(number));
}
