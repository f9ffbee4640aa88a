//! The clocks of the C library, which tell the node's time where the user wants that: see [`ENVIRONMENT`].

use super::sleep::NS_PER_S;
use super::{Thread, create, current, real};
use libc::{clockid_t, time_t, timespec, timeval};
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// The environment variable that says whose time clocks tell: `simulated` is the node's.
pub const ENVIRONMENT: &str = "NETLOOM_CLOCK";

/// The time of day at the start of a simulation, s: the start of the year 2000. The same on every run, as all
/// that a program may print.
const EPOCH_S: i64 = 946_684_800;

/// Whether clocks tell the node's time, and sleeping takes it.
pub fn is_simulated() -> bool {
    static IS_SIMULATED: OnceLock<bool> = OnceLock::new();
    *IS_SIMULATED.get_or_init(|| std::env::var_os(ENVIRONMENT).is_some_and(|value| value == "simulated"))
}

/// The calling thread if its clocks tell the node's time. The first call makes this process a guest.
fn on_node() -> Option<&'static Thread> {
    if !is_simulated() {
        return None;
    }
    current()
        .or_else(|| create::guest().map(|(_, thread)| thread))
        .filter(|thread| thread.hub.try_borrow_mut().is_ok())
}

/// The node's time by a clock, s and ns.
fn now(thread: &Thread, clock: clockid_t) -> (i64, i64) {
    let ns = thread.hub().now_ns() as i64;
    let epoch_s =
        if clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_REALTIME_COARSE { EPOCH_S } else { 0 };
    (epoch_s + ns / NS_PER_S, ns % NS_PER_S)
}

/// Whether a clock tells time, and not what a process or a thread has used.
fn tells_time(clock: clockid_t) -> bool {
    !matches!(clock, libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID) && clock >= 0
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    match on_node().filter(|_| tells_time(clock) && !time.is_null()) {
        // SAFETY: the program's arguments.
        None => unsafe { real::clock_gettime(clock, time) },
        Some(thread) => {
            let (tv_sec, tv_nsec) = now(thread, clock);
            // SAFETY: the program's place for the time.
            unsafe { *time = timespec { tv_sec, tv_nsec } };
            0
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
    match on_node().filter(|_| !time.is_null()) {
        // SAFETY: the program's arguments.
        None => unsafe { real::gettimeofday(time, zone) },
        Some(thread) => {
            let (tv_sec, ns) = now(thread, libc::CLOCK_REALTIME);
            // SAFETY: the program's place for the time.
            unsafe { *time = timeval { tv_sec, tv_usec: ns / 1000 } };
            0
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn time(place: *mut time_t) -> time_t {
    let Some(thread) = on_node() else {
        // SAFETY: the program's argument.
        return unsafe { real::time(place) };
    };
    let (seconds, _) = now(thread, libc::CLOCK_REALTIME);
    // SAFETY: NULL, or the program's place for the time.
    if let Some(place) = unsafe { place.as_mut() } {
        *place = seconds;
    }
    seconds
}
