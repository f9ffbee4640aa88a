//! `NETLOOM_flags`: flags in shared memory ([`netloom_shm::flags`]), by which a library above carries out short
//! collectives, and waits for what others write to them. An extension of this library, for MPI.

use super::Extension;
use crate::check::shared;
use crate::client::job;
use netloom_shm::flags::{Flag, Flags};
use netloom_shm::segment::State;
use std::ffi::c_void;

pub const EXTENSION: Extension = Extension {
    name: "NETLOOM_flags",
    refusal: |job| job.simulated.map(|_| "tasks of a simulated machine have messages only"),
    symbols: &["of_task", "written", "await_flag", "has_left"],
    symbol: |_, name| match name {
        "of_task" => of_task as *mut c_void,
        "written" => written as *mut c_void,
        "await_flag" => await_flag as *mut c_void,
        _ => has_left as *mut c_void,
    },
};

/// Symbol `of_task`: the flags of a task of the job, which are there as long as the process.
unsafe extern "C" fn of_task(task: u32) -> *const Flags {
    let job = job().ok().filter(|job| job.segment.has(task));
    job.map_or(std::ptr::null(), |job| std::ptr::from_ref(job.segment.flags(task)))
}

/// Symbol `written`: this task has written to a flag of its own for which that task may wait.
unsafe extern "C" fn written(task: u32) {
    if let Ok(job) = job() {
        job.segment.task(task).doorbell.ring_all();
    }
}

/// Symbol `await_flag`: from now on `PAMI_Context_advance` returns when this flag has that sequence number; with
/// NULL no longer.
unsafe extern "C" fn await_flag(context: *mut c_void, flag: *const Flag, sequence: u64) {
    // SAFETY: the caller's context.
    if let Some(found) = unsafe { shared("await_flag of NETLOOM_flags", context) } {
        // SAFETY: a flag of `of_task`.
        found.set_awaited(unsafe { flag.as_ref() }.map(|flag| (flag, sequence)));
    }
}

/// Symbol `has_left`: whether a task takes part in the job no more, so that it will not write to its flags.
unsafe extern "C" fn has_left(task: u32) -> bool {
    job().is_ok_and(|job| {
        let state = job.segment.task(task).state();
        state.is_over() || state == State::Finished
    })
}
