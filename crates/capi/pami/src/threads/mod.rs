//! Threads of a guest: each is a hardware thread of its simulated node. One of them runs at a time, in the
//! order of their simulated times, so what they do to each other does not depend on this computer. Therefore
//! this library has the functions of the C library by which threads are created and wait for each other:
//! programs that are linked with it call these. On a thread that is not a guest's, they call the C library's.
//!
//! A call that releases others hands over, so that they go on at its simulated time; one that must wait hands
//! over until it is released. What a thread did before a call has taken its time when the call is made
//! ([`Thread::settle`]).
//!
//! - [`clock`] – clocks, which may tell the node's time.
//! - [`create`] – begin and end of threads.
//! - [`futex`] – waits without the C library's functions.
//! - [`locks`] – mutexes, conditions, barriers, semaphores.
//! - [`sleep`] – giving way, and sleeping.
//! - [`real`] – the C library's functions.

pub mod clock;
pub mod create;
pub mod futex;
pub mod locks;
pub mod real;
pub mod sleep;

use crate::device::guest::{ChannelLink, FORKED, Guest, give_up};
use netloom_messaging::pami::guest::ThreadNumber;
use netloom_messaging::pami::guest::hub::Hub;
use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// A thread of a guest.
pub struct Thread {
    pub number: ThreadNumber,
    hub: RefCell<Hub<ChannelLink>>,
    /// The C library's name of it, and the kernel's.
    name: AtomicUsize,
    kernel_number: AtomicI32,
    has_ended: AtomicBool,
    is_detached: AtomicBool,
}

// SAFETY: only the thread itself uses its hub.
unsafe impl Sync for Thread {}
// SAFETY: the same.
unsafe impl Send for Thread {}

thread_local! {
    /// The calling thread, if it is a guest's. Nothing is to be done at its end: see `create`.
    static CURRENT: Cell<*const Thread> = const { Cell::new(std::ptr::null()) };
}

/// The calling thread, if it is a guest's.
#[inline]
pub fn current() -> Option<&'static Thread> {
    // SAFETY: it lives until it sets this to NULL, at its end.
    unsafe { CURRENT.get().as_ref() }
}

/// The same, unless it is the only one of the guest.
#[inline]
fn current_of_several() -> Option<&'static Thread> {
    current().filter(|thread| thread.hub.try_borrow().is_ok_and(|hub| hub.threads() > 1))
}

/// What the threads of a guest know of each other.
#[derive(Default)]
pub struct Registry {
    /// By number.
    threads: Vec<Option<Arc<Thread>>>,
    /// Threads that have ended and are not joined yet.
    ended: Vec<Arc<Thread>>,
    /// Threads that wait for something, by its address, in order.
    waiting: VecDeque<(usize, ThreadNumber)>,
    /// Threads that have handed over for the last time, and may still run.
    leaving: Vec<i32>,
}

impl Registry {
    /// For a guest that may have this number of threads.
    pub fn new(threads: u32) -> Self {
        Registry { threads: vec![None; threads as usize], ..Registry::default() }
    }

    /// A free number.
    fn free(&self) -> Option<ThreadNumber> {
        self.threads.iter().position(Option::is_none).map(|number| number as ThreadNumber)
    }

    fn named(&self, name: libc::pthread_t) -> Option<Arc<Thread>> {
        let mut all = self.threads.iter().flatten().chain(&self.ended);
        all.find(|thread| thread.name.load(Ordering::Relaxed) == name as usize).cloned()
    }

    /// Takes out up to `count` threads that wait for something.
    fn take_waiting(&mut self, key: usize, count: usize) -> Vec<ThreadNumber> {
        let mut taken = vec![];
        self.waiting.retain(|&(of, thread)| {
            let is_taken = of == key && taken.len() < count;
            if is_taken {
                taken.push(thread);
            }
            !is_taken
        });
        taken
    }

    /// Takes one of them out; returns whether it still waited.
    fn withdraw(&mut self, key: usize, thread: ThreadNumber) -> bool {
        let place = self.waiting.iter().position(|&waiting| waiting == (key, thread));
        place.map(|place| self.waiting.remove(place)).is_some()
    }
}

/// The registry of the guest that this process is.
pub fn registry() -> MutexGuard<'static, Registry> {
    static REGISTRY: Mutex<Registry> =
        Mutex::new(Registry { threads: vec![], ended: vec![], waiting: VecDeque::new(), leaving: vec![] });
    // Held for moments only. Not by waiting in the kernel: that would be a wait of a guest's thread, which
    // needs the registry.
    loop {
        match REGISTRY.try_lock() {
            Ok(registry) => return registry,
            Err(TryLockError::Poisoned(error)) => return error.into_inner(),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
}

impl Thread {
    fn new(number: ThreadNumber, hub: Hub<ChannelLink>) -> Arc<Self> {
        Arc::new(Thread {
            number,
            hub: RefCell::new(hub),
            name: AtomicUsize::new(0),
            kernel_number: AtomicI32::new(0),
            has_ended: AtomicBool::new(false),
            is_detached: AtomicBool::new(false),
        })
    }

    /// Its state.
    pub fn hub(&self) -> RefMut<'_, Hub<ChannelLink>> {
        self.hub.borrow_mut()
    }

    /// Call it before what other threads see: see [`Hub::settle`].
    fn settle(&self) {
        self.hub().settle(true);
    }

    /// Waits until something is so, which other threads cause and [`Self::wake`] for this address. With a
    /// time limit it returns whether it is.
    pub fn wait_until(&self, key: usize, at_most_ns: Option<i64>, mut is_so: impl FnMut() -> bool) -> bool {
        let ends_ns = at_most_ns.map(|most| self.hub().last_ns() + most as f64);
        loop {
            if is_so() {
                return true;
            }
            registry().waiting.push_back((key, self.number));
            if !self.block(key, ends_ns) {
                return is_so();
            }
        }
    }

    /// Waits until another thread has taken this one out of those that wait; returns whether one has before
    /// this time.
    fn block(&self, key: usize, ends_ns: Option<f64>) -> bool {
        loop {
            let left_ns = ends_ns.map(|ends| ends - self.hub().last_ns());
            if left_ns.is_some_and(|left| left <= 0.0) {
                return !registry().withdraw(key, self.number);
            }
            self.hub().block(left_ns);
            if !registry().waiting.contains(&(key, self.number)) {
                return true;
            }
        }
    }

    /// Threads that wait for this address go on, at most this number.
    pub fn wake(&self, key: usize, count: usize) {
        let woken = registry().take_waiting(key, count);
        self.hub().unpark(&woken);
    }
}

/// Waits until threads that have handed over for the last time have ended in the kernel as well: what they
/// still do, such as freeing their stacks, must come before what the calling thread does.
pub fn wait_for_leaving() {
    let leaving = std::mem::take(&mut registry().leaving);
    // The first one stays until all have ended.
    for thread in leaving.into_iter().filter(|&thread| thread != std::process::id() as i32) {
        // SAFETY: a system call that only asks.
        while unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, 0) } == 0 {
            std::thread::yield_now();
        }
    }
}

/// Makes the calling thread one of a guest's, which the guest's threads did not create by `pthread_create`.
/// The first one is that for which the simulator waits.
pub fn adopt(guest: &'static Guest) -> &'static Thread {
    // Before the simulator is told of a thread that it would wait for.
    if Guest::is_forked() {
        give_up(FORKED);
    }
    let Some(number) = registry().free() else { give_up(TOO_MANY) };
    let link = guest.link(number);
    let hub = if number == 0 { Hub::new(link) } else { Hub::thread(guest.shared(), link, number) };
    let thread = Thread::new(number, hub);
    // SAFETY: a library call without pointers.
    thread.name.store(unsafe { libc::pthread_self() } as usize, Ordering::Relaxed);
    registry().threads[number as usize] = Some(Arc::clone(&thread));
    if number > 0 {
        guest.add_foreign(number);
        if !HAS_WARNED.swap(true, Ordering::Relaxed) {
            eprintln!(
                "netloom: warning: a thread of task {} that the program created before its first call of PAMI, or not by \
                 pthread_create, calls PAMI: simulated times can vary from run to run",
                guest.task
            );
        }
    }
    create::enter(thread, number > 0)
}

static HAS_WARNED: AtomicBool = AtomicBool::new(false);

/// In a forked child, which is no guest.
pub fn forked() {
    CURRENT.set(std::ptr::null());
}

/// Why a thread is refused.
const TOO_MANY: &str = "no hardware thread of the node is free for another thread (all its tasks share them: 64 on Blue \
                        Gene/Q); use fewer threads, or fewer tasks on a node (--ppn)";
