//! `NETLOOM_mpi_steps`: MPI, which stands on PAMI, reports the steps of its own software, so that they take
//! time on a simulated machine. An extension of this library.

use super::Extension;
use crate::client::job;
use crate::device::guest;
use netloom_messaging::pami::device::Step;
use std::ffi::c_void;

pub const EXTENSION: Extension = Extension {
    name: "NETLOOM_mpi_steps",
    refusal: |job| {
        job.simulated
            .is_none()
            .then_some("steps take time here; a simulated machine (`netloom mpirun`) is told them")
    },
    symbols: &["spend", "acts"],
    symbol: |_, name| match name {
        "spend" => spend as *mut c_void,
        _ => acts as *mut c_void,
    },
};

/// Symbol `spend`: the calling thread takes a step, by its number.
unsafe extern "C" fn spend(number: u64) {
    if let Some(simulated) = job().ok().and_then(|job| job.simulated) {
        guest::lock(simulated).spend(Step::Mpi(number));
    }
}

/// Symbol `acts`: the library above has done something that involves no other task, so the calling thread does
/// not poll in vain.
unsafe extern "C" fn acts() {
    if let Some(simulated) = job().ok().and_then(|job| job.simulated) {
        guest::lock(simulated).acts();
    }
}
