//! Begin and end of threads.

use super::real::{self, Start};
use super::{CURRENT, TOO_MANY, Thread, current, registry};
use crate::client;
use crate::device::guest::Guest;
use libc::{EAGAIN, pthread_attr_t, pthread_key_t, pthread_t};
use netloom_messaging::pami::guest::hub::Hub;
use netloom_shm::channel::Channels;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// What a new thread begins with.
struct Begin {
    thread: Arc<Thread>,
    start: Start,
    argument: *mut c_void,
}

/// The calling thread becomes a guest's: it waits for its begin on its node.
pub(super) fn enter(thread: Arc<Thread>, waits: bool) -> &'static Thread {
    // SAFETY: a system call without pointers.
    let kernel_number = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
    thread.kernel_number.store(kernel_number, Ordering::Relaxed);
    let raw = Arc::into_raw(thread);
    CURRENT.set(raw);
    // SAFETY: it lives until `leave` drops it.
    let thread = unsafe { &*raw };
    if waits {
        thread.hub().begin();
        super::futex::trap();
    }
    // SAFETY: library calls; the value only says how often its destructor ran.
    unsafe { libc::pthread_setspecific(key(), round(1)) };
    thread
}

/// The key whose destructor runs when a thread ends, whichever way.
fn key() -> pthread_key_t {
    static KEY: OnceLock<pthread_key_t> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place for the key, and a function that lives as long as the library, which is never
        // unloaded.
        unsafe { libc::pthread_key_create(&raw mut key, Some(ends)) };
        key
    })
}

/// Rounds of destructors that the C library runs: in the last, others' have run.
const ROUNDS: usize = 4;

/// What the key holds: the number of the next round.
fn round(number: usize) -> *const c_void {
    std::ptr::without_provenance(number)
}

unsafe extern "C" fn ends(round: *mut c_void) {
    if (round as usize) < ROUNDS {
        // SAFETY: as in `enter`.
        unsafe { libc::pthread_setspecific(key(), self::round(round as usize + 1)) };
        return;
    }
    let Some(thread) = current() else { return };
    let mut hub = thread.hub();
    // The last thread ends the process, which hands over for the last time then.
    if hub.threads() < 2 {
        return;
    }
    hub.settle(false);
    thread.has_ended.store(true, Ordering::Relaxed);
    let awaited_by = {
        let mut registry = registry();
        let own = registry.threads[thread.number as usize].take();
        if !thread.is_detached.load(Ordering::Relaxed) {
            registry.ended.extend(own);
        }
        registry.leaving.push(thread.kernel_number.load(Ordering::Relaxed));
        registry.take_waiting(key_of(thread), usize::MAX)
    };
    hub.end_thread(&awaited_by);
    drop(hub);
    // SAFETY: made by `enter`.
    drop(unsafe { Arc::from_raw(CURRENT.replace(std::ptr::null())) });
}

/// For what those wait that join a thread.
fn key_of(thread: &Thread) -> usize {
    std::ptr::from_ref(thread) as usize
}

/// What a new thread runs.
unsafe extern "C-unwind" fn run(begin: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` below. It is freed here, since the thread may end inside of its
    // function.
    let (start, argument) = unsafe { take_begin(begin.cast()) };
    // SAFETY: the program gave them.
    unsafe { start(argument) }
}

/// # Safety
/// A pointer of a box that nobody else has.
unsafe fn take_begin(begin: *mut Begin) -> (Start, *mut c_void) {
    // SAFETY: the caller's promise.
    let (thread, start, argument) =
        unsafe { (Arc::clone(&(*begin).thread), (*begin).start, (*begin).argument) };
    enter(thread, true);
    // Only now, in this thread's turn.
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(begin) });
    (start, argument)
}

/// The guest that this process is, if its calling thread takes part in it; it does from its first call on.
pub(super) fn guest() -> Option<(&'static Guest, &'static Thread)> {
    static IS_STARTED: OnceLock<bool> = OnceLock::new();
    let is_guest = *IS_STARTED.get_or_init(Channels::are_inherited);
    if !is_guest || Guest::is_forked() || client::is_joining() {
        return None;
    }
    let guest = client::job().ok()?.simulated?;
    Some((guest, current()?))
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_create(
    name: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let Some((guest, own)) = guest() else {
        // SAFETY: the program's arguments.
        return unsafe { real::pthread_create(name, attributes, start, argument) };
    };
    let thread = {
        let mut registry = registry();
        let Some(number) = registry.free() else {
            eprintln!("netloom: task {}: pthread_create: {TOO_MANY}", guest.task);
            return EAGAIN;
        };
        let thread = Thread::new(number, Hub::thread(guest.shared(), guest.link(number), number));
        registry.threads[number as usize] = Some(Arc::clone(&thread));
        thread
    };
    own.settle();
    super::futex::trap();
    let mut state = libc::PTHREAD_CREATE_JOINABLE;
    if !attributes.is_null() {
        // SAFETY: the program's attributes.
        unsafe { pthread_attr_getdetachstate(attributes, &raw mut state) };
    }
    thread.is_detached.store(state == libc::PTHREAD_CREATE_DETACHED, Ordering::Relaxed);
    let begin = Box::into_raw(Box::new(Begin { thread: Arc::clone(&thread), start, argument }));
    // SAFETY: the program's arguments, and a function with its own.
    let result = unsafe { real::pthread_create(name, attributes, run, begin.cast()) };
    if result != 0 {
        registry().threads[thread.number as usize] = None;
        thread.hub().discard();
        // SAFETY: no thread has it.
        drop(unsafe { Box::from_raw(begin) });
        return result;
    }
    // SAFETY: the C library has set it.
    thread.name.store(unsafe { *name } as usize, Ordering::Relaxed);
    own.hub().start(thread.number);
    0
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_join(name: pthread_t, result: *mut *mut c_void) -> c_int {
    wait_for(name);
    // SAFETY: the program's arguments.
    unsafe { real::pthread_join(name, result) }
}

/// Waits until a thread has ended on its node.
fn wait_for(name: pthread_t) {
    let Some(own) = current() else { return };
    let Some(thread) =
        registry().named(name).filter(|thread| thread.number != own.number || thread.has_ended())
    else {
        return;
    };
    own.settle();
    own.wait_until(key_of(&thread), None, || thread.has_ended());
    registry().ended.retain(|ended| !Arc::ptr_eq(ended, &thread));
}

impl Thread {
    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_detach(name: pthread_t) -> c_int {
    if current().is_some() {
        let mut registry = registry();
        if let Some(thread) = registry.named(name) {
            thread.is_detached.store(true, Ordering::Relaxed);
            registry.ended.retain(|ended| !Arc::ptr_eq(ended, &thread));
        }
    }
    // SAFETY: the program's arguments.
    unsafe { real::pthread_detach(name) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cancel(name: pthread_t) -> c_int {
    // SAFETY: the program's arguments.
    let result = unsafe { real::pthread_cancel(name) };
    if let Some(own) = current().filter(|_| result == 0) {
        let waiting = {
            let mut registry = registry();
            let number = registry.named(name).map(|thread| thread.number);
            let before = registry.waiting.len();
            registry.waiting.retain(|&(_, thread)| Some(thread) != number);
            number.filter(|_| registry.waiting.len() < before)
        };
        own.hub().unpark(waiting.as_slice());
    }
    result
}
