//! Mutexes, conditions, barriers, semaphores: threads of a guest try, and hand over until it may succeed.

use super::sleep::{ns_until, pthread_testcancel};
use super::{Thread, current_of_several as several, real, registry};
use libc::{
    CLOCK_REALTIME, EAGAIN, EBUSY, ETIMEDOUT, PTHREAD_BARRIER_SERIAL_THREAD, clockid_t, pthread_barrier_t,
    pthread_barrierattr_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t, sem_t,
    timespec,
};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tries until the result is another than `busy`; with a time limit, `late` at its end.
fn acquire<T>(
    thread: &Thread,
    object: *mut T,
    (busy, late): (c_int, c_int),
    at_most_ns: Option<i64>,
    attempt: impl Fn(*mut T) -> c_int,
) -> c_int {
    thread.settle();
    let mut result = busy;
    let is_done = thread.wait_until(object as usize, at_most_ns, || {
        result = attempt(object);
        result != busy
    });
    if is_done { result } else { late }
}

/// Releases, and lets threads go on that wait for it, at most this number.
fn release<T>(thread: &Thread, object: *mut T, count: usize, release: impl Fn(*mut T) -> c_int) -> c_int {
    thread.settle();
    let result = release(object);
    if result == 0 {
        thread.wake(object as usize, count);
    }
    result
}

/// Functions of a lock: as the C library's, or for a guest's thread, `acquire` by trying or `release`.
macro_rules! locks {
    ($($name:ident($type:ty) tries $attempt:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(lock: *mut $type) -> c_int {
            match several() {
                // SAFETY: the program's lock.
                None => unsafe { real::$name(lock) },
                // SAFETY: the same.
                Some(thread) => acquire(thread, lock, (EBUSY, EBUSY), None, |lock| unsafe { real::$attempt(lock) }),
            }
        }
    )* };
    ($($name:ident($type:ty) wakes $count:expr;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(lock: *mut $type) -> c_int {
            match several() {
                // SAFETY: the program's lock.
                None => unsafe { real::$name(lock) },
                // SAFETY: the same.
                Some(thread) => release(thread, lock, $count, |lock| unsafe { real::$name(lock) }),
            }
        }
    )* };
}

locks! {
    pthread_rwlock_rdlock(pthread_rwlock_t) tries pthread_rwlock_tryrdlock;
    pthread_rwlock_wrlock(pthread_rwlock_t) tries pthread_rwlock_trywrlock;
}

locks! {
    pthread_mutex_unlock(pthread_mutex_t) wakes 1;
    pthread_rwlock_unlock(pthread_rwlock_t) wakes usize::MAX;
    sem_post(sem_t) wakes 1;
    pthread_cond_signal(pthread_cond_t) wakes 1;
    pthread_cond_broadcast(pthread_cond_t) wakes usize::MAX;
}

/// Whether the calling thread holds a mutex that reports that, so the C library's function does not wait.
///
/// # Safety
/// A mutex.
unsafe fn reports_own(mutex: *mut pthread_mutex_t) -> bool {
    // As the C library has it: a lock, a count, the owner's number, a count of users, and the kind.
    const ERRORCHECK: c_int = 2;
    // SAFETY: the caller's promise; a mutex has at least five such words.
    let words = unsafe { std::slice::from_raw_parts(mutex.cast::<c_int>(), 5) };
    // SAFETY: a system call without pointers.
    words[4] & 3 == ERRORCHECK && words[2] == unsafe { libc::syscall(libc::SYS_gettid) } as c_int
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    match several() {
        // SAFETY: the program's mutex.
        Some(thread) if !unsafe { reports_own(mutex) } => lock_mutex(thread, mutex, None),
        // SAFETY: the same.
        _ => unsafe { real::pthread_mutex_lock(mutex) },
    }
}

fn lock_mutex(thread: &Thread, mutex: *mut pthread_mutex_t, at_most_ns: Option<i64>) -> c_int {
    // SAFETY: the program's mutex.
    acquire(thread, mutex, (EBUSY, ETIMEDOUT), at_most_ns, |mutex| unsafe {
        real::pthread_mutex_trylock(mutex)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    if let Some(thread) = several() {
        thread.settle();
    }
    // SAFETY: the program's mutex.
    unsafe { real::pthread_mutex_trylock(mutex) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_timedlock(
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's arguments.
    match several().zip(unsafe { ns_until(CLOCK_REALTIME, until) }) {
        // SAFETY: the same.
        Some((thread, ns)) if !unsafe { reports_own(mutex) } => lock_mutex(thread, mutex, Some(ns)),
        // SAFETY: the same.
        _ => unsafe { real::pthread_mutex_timedlock(mutex, until) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's arguments.
    match several().zip(unsafe { ns_until(clock, until) }) {
        // SAFETY: the same.
        Some((thread, ns)) if !unsafe { reports_own(mutex) } => lock_mutex(thread, mutex, Some(ns)),
        // SAFETY: the same.
        _ => unsafe { real::pthread_mutex_clocklock(mutex, clock, until) },
    }
}

/// Waits for a signal; returns whether there was one in time.
fn wait_for_signal(
    thread: &Thread,
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    at_most_ns: Option<i64>,
) -> c_int {
    thread.settle();
    let key = condition as usize;
    let ends_ns = at_most_ns.map(|most| thread.hub().last_ns() + most as f64);
    registry().waiting.push_back((key, thread.number));
    // SAFETY: the program's mutex.
    let result = unsafe { real::pthread_mutex_unlock(mutex) };
    if result != 0 {
        registry().withdraw(key, thread.number);
        return result;
    }
    thread.wake(mutex as usize, 1);
    let is_signalled = thread.block(key, ends_ns);
    match lock_mutex(thread, mutex, None) {
        0 if !is_signalled => ETIMEDOUT,
        result => result,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    let Some(thread) = several() else {
        // SAFETY: the program's arguments.
        return unsafe { real::pthread_cond_wait(condition, mutex) };
    };
    let result = wait_for_signal(thread, condition, mutex, None);
    // SAFETY: no value of this library is on the stack.
    unsafe { pthread_testcancel() };
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's arguments.
    match several().zip(unsafe { ns_until(CLOCK_REALTIME, until) }) {
        Some((thread, ns)) => wait_for_signal(thread, condition, mutex, Some(ns)),
        // SAFETY: the same.
        None => unsafe { real::pthread_cond_timedwait(condition, mutex, until) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's arguments.
    match several().zip(unsafe { ns_until(clock, until) }) {
        Some((thread, ns)) => wait_for_signal(thread, condition, mutex, Some(ns)),
        // SAFETY: the same.
        None => unsafe { real::pthread_cond_clockwait(condition, mutex, clock, until) },
    }
}

/// A barrier: its number of threads, those that wait at it, and how often all were there.
#[derive(Clone, Copy, Default)]
struct Barrier {
    count: c_uint,
    arrived: c_uint,
    turn: u64,
}

/// The barriers of the program, by address: the C library does not say how many threads they have.
fn barriers() -> MutexGuard<'static, BTreeMap<usize, Barrier>> {
    static BARRIERS: Mutex<BTreeMap<usize, Barrier>> = Mutex::new(BTreeMap::new());
    BARRIERS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_init(
    barrier: *mut pthread_barrier_t,
    attributes: *const pthread_barrierattr_t,
    count: c_uint,
) -> c_int {
    // SAFETY: the program's arguments.
    let result = unsafe { real::pthread_barrier_init(barrier, attributes, count) };
    if result == 0 {
        barriers().insert(barrier as usize, Barrier { count, ..Barrier::default() });
    }
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int {
    barriers().remove(&(barrier as usize));
    // SAFETY: the program's barrier.
    unsafe { real::pthread_barrier_destroy(barrier) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
    let key = barrier as usize;
    let Some(thread) = several().filter(|_| barriers().contains_key(&key)) else {
        // SAFETY: the program's barrier.
        return unsafe { real::pthread_barrier_wait(barrier) };
    };
    thread.settle();
    let turn = {
        let mut barriers = barriers();
        let own = barriers.entry(key).or_default();
        own.arrived += 1;
        let turn = own.turn;
        if own.arrived >= own.count {
            (own.arrived, own.turn) = (0, turn + 1);
        }
        (own.turn == turn).then_some(turn)
    };
    let Some(turn) = turn else {
        thread.wake(key, usize::MAX);
        return PTHREAD_BARRIER_SERIAL_THREAD;
    };
    thread.wait_until(key, None, || barriers().get(&key).is_none_or(|own| own.turn != turn));
    0
}

fn take_semaphore(thread: &Thread, semaphore: *mut sem_t, at_most_ns: Option<i64>) -> c_int {
    let attempt = |semaphore| {
        // SAFETY: the program's semaphore.
        match unsafe { real::sem_trywait(semaphore) } {
            0 => 0,
            _ => errno(),
        }
    };
    match acquire(thread, semaphore, (EAGAIN, ETIMEDOUT), at_most_ns, attempt) {
        0 => 0,
        error => {
            // SAFETY: the calling thread's own.
            unsafe { *libc::__errno_location() = error };
            -1
        }
    }
}

fn errno() -> c_int {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_wait(semaphore: *mut sem_t) -> c_int {
    let Some(thread) = several() else {
        // SAFETY: the program's semaphore.
        return unsafe { real::sem_wait(semaphore) };
    };
    let result = take_semaphore(thread, semaphore, None);
    // SAFETY: no value of this library is on the stack.
    unsafe { pthread_testcancel() };
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_timedwait(semaphore: *mut sem_t, until: *const timespec) -> c_int {
    // SAFETY: the program's arguments.
    match several().zip(unsafe { ns_until(CLOCK_REALTIME, until) }) {
        Some((thread, ns)) => take_semaphore(thread, semaphore, Some(ns)),
        // SAFETY: the same.
        None => unsafe { real::sem_timedwait(semaphore, until) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_clockwait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's arguments.
    match several().zip(unsafe { ns_until(clock, until) }) {
        Some((thread, ns)) => take_semaphore(thread, semaphore, Some(ns)),
        // SAFETY: the same.
        None => unsafe { real::sem_clockwait(semaphore, clock, until) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int {
    let Some(thread) = several() else {
        // SAFETY: the program's lock.
        return unsafe { real::pthread_spin_lock(lock) };
    };
    thread.settle();
    loop {
        // SAFETY: the program's lock.
        match unsafe { real::pthread_spin_trylock(lock) } {
            EBUSY => thread.hub().give_way(),
            result => return result,
        }
    }
}
