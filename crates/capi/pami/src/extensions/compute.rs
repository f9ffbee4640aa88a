//! `NETLOOM_compute`: how long a program computes on the simulated machine, where the program knows that
//! better than a measurement on this computer. An extension of this library.

use super::Extension;
use crate::abi::{INVAL, Result, SUCCESS};
use crate::client::{fail, job};
use crate::device::guest;

pub const EXTENSION: Extension = Extension {
    name: "NETLOOM_compute",
    refusal: |job| {
        let why = "here a program computes for as long as it does; on a simulated machine (`netloom mpirun`) it may say so";
        job.simulated.is_none().then_some(why)
    },
    symbols: &["seconds"],
    symbol: |_, _| seconds as *mut std::ffi::c_void,
};

/// Longest time of a call, s.
const MAX_S: f64 = 400.0;

/// Symbol `seconds`: the calling thread computes for this long.
unsafe extern "C" fn seconds(seconds: f64) -> Result {
    if !(0.0..=MAX_S).contains(&seconds) {
        return fail(INVAL, format!("seconds: {seconds} is not a time from 0 to {MAX_S} s"));
    }
    if let Some(simulated) = job().ok().and_then(|job| job.simulated) {
        guest::lock(simulated).compute(seconds * 1e9);
    }
    SUCCESS
}
