//! `NETLOOM_cells`: cells of shared memory ([`netloom_shm::cells`]), by which a library above carries out short
//! collectives, and waits for what others write to them. An extension of this library, for MPI.

use super::Extension;
use crate::check::shared;
use crate::client::job;
use netloom_shm::cells::{Cell, Cells};
use netloom_shm::segment::State;
use std::ffi::c_void;

pub const EXTENSION: Extension = Extension {
    name: "NETLOOM_cells",
    refusal: |job| job.simulated.map(|_| "tasks of a simulated machine have messages only"),
    symbols: &["of_task", "written", "await_cell", "has_left"],
    symbol: |_, name| match name {
        "of_task" => of_task as *mut c_void,
        "written" => written as *mut c_void,
        "await_cell" => await_cell as *mut c_void,
        _ => has_left as *mut c_void,
    },
};

/// Symbol `of_task`: the cells of a task of the job, which are there as long as the process.
unsafe extern "C" fn of_task(task: u32) -> *const Cells {
    let job = job().ok().filter(|job| job.segment.has(task));
    job.map_or(std::ptr::null(), |job| std::ptr::from_ref(job.segment.cells(task)))
}

/// Symbol `written`: this task has written to a cell of its own for which that task may wait.
unsafe extern "C" fn written(task: u32) {
    if let Ok(job) = job() {
        job.segment.task(task).doorbell.ring_all();
    }
}

/// Symbol `await_cell`: from now on `PAMI_Context_advance` returns when this cell has what was written in the turn;
/// with NULL no longer.
unsafe extern "C" fn await_cell(context: *mut c_void, cell: *const Cell, turn: u64) {
    // SAFETY: the caller's context.
    if let Some(found) = unsafe { shared("await_cell of NETLOOM_cells", context) } {
        // SAFETY: a cell of `of_task`.
        found.set_awaited(unsafe { cell.as_ref() }.map(|cell| (cell, turn)));
    }
}

/// Symbol `has_left`: whether a task takes part in the job no more, so that it will not write to its cells.
unsafe extern "C" fn has_left(task: u32) -> bool {
    job().is_ok_and(|job| {
        let state = job.segment.task(task).state();
        state.is_over() || state == State::Finished
    })
}
