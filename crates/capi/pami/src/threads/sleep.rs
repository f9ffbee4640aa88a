//! Giving way to other threads, and sleeping.

use super::create::guest;
use super::{current, real};
use libc::{clockid_t, timespec};
use std::ffi::{c_int, c_uint};

pub(super) const NS_PER_S: i64 = 1_000_000_000;

/// A time, ns.
///
/// # Safety
/// NULL, or a time.
pub(super) unsafe fn ns(time: *const timespec) -> Option<i64> {
    // SAFETY: the caller's promise.
    let time = unsafe { time.as_ref() }?;
    let is_valid = time.tv_sec >= 0 && (0..NS_PER_S).contains(&time.tv_nsec);
    is_valid.then(|| time.tv_sec.saturating_mul(NS_PER_S).saturating_add(time.tv_nsec))
}

/// From now until a time of a clock, ns.
///
/// # Safety
/// NULL, or a time.
pub(super) unsafe fn ns_until(clock: clockid_t, until: *const timespec) -> Option<i64> {
    // SAFETY: the caller's promise.
    let until = unsafe { ns(until) }?;
    let now = |clock| {
        let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a library call with a place for the time, which it sets.
        unsafe { super::clock::clock_gettime(clock, &raw mut now) };
        // SAFETY: a time.
        unsafe { ns(&raw const now) }.unwrap_or(0)
    };
    // A condition may have another clock than the usual one, and does not say so. Its times are those since
    // the start of this computer, or of the simulation.
    let is_other = clock == libc::CLOCK_REALTIME && until < now(clock) / 2;
    Some((until - now(if is_other { libc::CLOCK_MONOTONIC } else { clock })).max(0))
}

/// Sleeps in simulated time if the calling thread is a guest's; returns whether it has. The first call makes
/// this process a guest.
fn sleep_ns(ns: i64) -> bool {
    let thread = current().or_else(|| guest().map(|(_, thread)| thread));
    let Some(thread) = thread.filter(|thread| thread.hub.try_borrow_mut().is_ok()) else { return false };
    thread.hub().sleep(ns as f64);
    true
}

unsafe extern "C-unwind" {
    /// Sleeping is a cancellation point.
    pub(super) fn pthread_testcancel();
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sched_yield() -> c_int {
    // Also without other threads, the program may wait for what comes from another node.
    let Some(thread) = current().filter(|thread| thread.hub.try_borrow_mut().is_ok()) else {
        // SAFETY: without arguments.
        return unsafe { real::sched_yield() };
    };
    thread.hub().give_way();
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    if !sleep_ns(i64::from(seconds) * NS_PER_S) {
        // SAFETY: the program's argument.
        return unsafe { real::sleep(seconds) };
    }
    // SAFETY: no value of this library is on the stack.
    unsafe { pthread_testcancel() };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn usleep(microseconds: c_uint) -> c_int {
    if !sleep_ns(i64::from(microseconds) * 1000) {
        // SAFETY: the program's argument.
        return unsafe { real::usleep(microseconds) };
    }
    // SAFETY: no value of this library is on the stack.
    unsafe { pthread_testcancel() };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the program's argument.
    if !unsafe { ns(time) }.is_some_and(sleep_ns) {
        // SAFETY: the program's arguments.
        return unsafe { real::nanosleep(time, left) };
    }
    // SAFETY: no value of this library is on the stack.
    unsafe { pthread_testcancel() };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    // SAFETY: the program's arguments.
    let ns = match flags {
        libc::TIMER_ABSTIME => unsafe { ns_until(clock, time) },
        // SAFETY: the same.
        _ => unsafe { ns(time) },
    };
    if !ns.is_some_and(sleep_ns) {
        // SAFETY: the program's arguments.
        return unsafe { real::clock_nanosleep(clock, flags, time, left) };
    }
    // SAFETY: no value of this library is on the stack.
    unsafe { pthread_testcancel() };
    0
}
