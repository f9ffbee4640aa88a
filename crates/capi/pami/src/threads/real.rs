//! The C library's own functions, behind those of this library with the same names.
#![allow(non_upper_case_globals)]

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function that is found when it is called first.
pub struct Symbol {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Symbol {
    pub const fn new(name: &'static CStr) -> Self {
        Symbol { name, address: AtomicUsize::new(0) }
    }

    /// Its address.
    #[inline]
    pub fn address(&self) -> *const c_void {
        match self.address.load(Ordering::Relaxed) {
            0 => self.find(),
            known => known as *const c_void,
        }
    }

    #[cold]
    fn find(&self) -> *const c_void {
        // SAFETY: library calls with constant strings.
        let mut found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            // Where another library needs this one, the C library may stand before it.
            let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
            // SAFETY: the same.
            found = unsafe { libc::dlsym(libc::dlopen(c"libc.so.6".as_ptr(), flags), self.name.as_ptr()) };
        }
        if found.is_null() {
            eprintln!("netloom: the C library has no {}", self.name.to_string_lossy());
            std::process::abort();
        }
        self.address.store(found as usize, Ordering::Relaxed);
        found
    }
}

/// Declares functions of the C library, by their types.
macro_rules! real {
    ($($name:ident: fn($($argument:ident: $type:ty),*) -> $result:ty;)*) => { $(
        /// That of the C library.
        ///
        /// # Safety
        /// As there.
        #[inline]
        pub unsafe fn $name($($argument: $type),*) -> $result {
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name"),
            };
            static SYMBOL: Symbol = Symbol::new(NAME);
            type Function = unsafe extern "C-unwind" fn($($type),*) -> $result;
            // SAFETY: the function of this name has this type.
            let function = unsafe { std::mem::transmute::<*const c_void, Function>(SYMBOL.address()) };
            // SAFETY: the caller's promise.
            unsafe { function($($argument),*) }
        }
    )* };
}

use libc::{
    clockid_t, pthread_attr_t, pthread_barrier_t, pthread_barrierattr_t, pthread_cond_t, pthread_mutex_t,
    pthread_rwlock_t, pthread_spinlock_t, pthread_t, sem_t, time_t, timespec, timeval,
};
use std::ffi::{c_int, c_long, c_uint};

/// `syscall` of the C library, whose arguments after the first are registers' contents.
static SYSCALL: Symbol = Symbol::new(c"syscall");

/// Its address.
pub fn syscall_address() -> *const c_void {
    SYSCALL.address()
}

/// That of the C library.
///
/// # Safety
/// As there.
pub unsafe fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    type Function = unsafe extern "C" fn(c_long, ...) -> c_long;
    // SAFETY: the function of this name has this type.
    let function = unsafe { std::mem::transmute::<*const c_void, Function>(SYSCALL.address()) };
    // SAFETY: the caller's promise.
    unsafe { function(number, a, b, c, d, e, f) }
}

/// What a thread runs.
pub type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

real! {
    pthread_create: fn(thread: *mut pthread_t, attributes: *const pthread_attr_t, start: Start, argument: *mut c_void) -> c_int;
    pthread_join: fn(thread: pthread_t, result: *mut *mut c_void) -> c_int;
    pthread_detach: fn(thread: pthread_t) -> c_int;
    pthread_cancel: fn(thread: pthread_t) -> c_int;
    pthread_mutex_lock: fn(mutex: *mut pthread_mutex_t) -> c_int;
    pthread_mutex_trylock: fn(mutex: *mut pthread_mutex_t) -> c_int;
    pthread_mutex_timedlock: fn(mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int;
    pthread_mutex_clocklock: fn(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int;
    pthread_mutex_unlock: fn(mutex: *mut pthread_mutex_t) -> c_int;
    pthread_cond_wait: fn(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int;
    pthread_cond_timedwait: fn(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int;
    pthread_cond_clockwait: fn(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int;
    pthread_cond_signal: fn(condition: *mut pthread_cond_t) -> c_int;
    pthread_cond_broadcast: fn(condition: *mut pthread_cond_t) -> c_int;
    pthread_barrier_init: fn(barrier: *mut pthread_barrier_t, attributes: *const pthread_barrierattr_t, count: c_uint) -> c_int;
    pthread_barrier_destroy: fn(barrier: *mut pthread_barrier_t) -> c_int;
    pthread_barrier_wait: fn(barrier: *mut pthread_barrier_t) -> c_int;
    pthread_rwlock_rdlock: fn(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_tryrdlock: fn(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_wrlock: fn(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_trywrlock: fn(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_rwlock_unlock: fn(lock: *mut pthread_rwlock_t) -> c_int;
    pthread_spin_lock: fn(lock: *mut pthread_spinlock_t) -> c_int;
    pthread_spin_trylock: fn(lock: *mut pthread_spinlock_t) -> c_int;
    sem_wait: fn(semaphore: *mut sem_t) -> c_int;
    sem_trywait: fn(semaphore: *mut sem_t) -> c_int;
    sem_timedwait: fn(semaphore: *mut sem_t, until: *const timespec) -> c_int;
    sem_clockwait: fn(semaphore: *mut sem_t, clock: clockid_t, until: *const timespec) -> c_int;
    sem_post: fn(semaphore: *mut sem_t) -> c_int;
    sched_yield: fn() -> c_int;
    sleep: fn(seconds: c_uint) -> c_uint;
    usleep: fn(microseconds: c_uint) -> c_int;
    nanosleep: fn(time: *const timespec, left: *mut timespec) -> c_int;
    clock_gettime: fn(clock: clockid_t, time: *mut timespec) -> c_int;
    gettimeofday: fn(time: *mut timeval, zone: *mut c_void) -> c_int;
    time: fn(place: *mut time_t) -> time_t;
    clock_nanosleep: fn(clock: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec) -> c_int;
}
