//! Contexts: progress, posted work, locks.
//!
//! - `advance` – progress.
//! - `lifetime` – creation, destruction, queries.
//! - `events` – dispatch functions and callbacks are called.
//! - `callbacks` – callbacks by number.
//! - `sharing` – threads that share a context under its lock.
//!
//! The program calls a context's functions from one thread at a time, also from callbacks that the context's
//! advance calls. So each access to the protocols' state is short and none is held while the program runs.

mod advance;
mod callbacks;
mod events;
mod lifetime;
mod sharing;

pub use advance::*;
pub use callbacks::{Callback, Callbacks};
pub use lifetime::*;
pub use sharing::*;

use crate::abi::*;
use crate::check::{Watch, shared};
use crate::client::{Client, fail};
use crate::collectives::Collectives;
use crate::communication_thread::Background;
use crate::device::Device;
use crate::device::guest;
use crate::dispatch::Dispatch;
use crate::geometry::Geometry;
use crate::threads;
use netloom_messaging::pami::context;
use netloom_messaging::pami::device::PamiDevice;
use netloom_messaging::pami::work::WorkQueue;
use netloom_shm::flags;
use parking_lot::RawMutex;
use parking_lot::lock_api::RawMutex as _;
use std::cell::{Cell, UnsafeCell};
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The protocols of a context.
pub type Core = context::Context<Device>;

/// A context, as its handle points to it.
pub struct Context {
    core: UnsafeCell<Core>,
    dispatches: UnsafeCell<Vec<Option<Dispatch>>>,
    callbacks: UnsafeCell<Callbacks>,
    collectives: UnsafeCell<Collectives>,
    work: WorkQueue,
    /// Work that is to run again.
    again: UnsafeCell<Vec<usize>>,
    lock: RawMutex,
    /// Its number among those of its task on a simulated node.
    pub number: Option<u32>,
    client: *const Client,
    /// The number of its queue among those of the task.
    pub queue: usize,
    /// Whether a fence region is open.
    pub is_fenced: Cell<bool>,
    /// Polls that count before it looks for tasks that have ended; polls in a row without an event.
    polls: Cell<u32>,
    idle: Cell<u32>,
    /// The flag for which a library above waits, and its sequence number.
    awaited: Cell<Option<(&'static flags::Flag, u64)>>,
    /// Of threads that share it.
    sharing: Sharing,
    /// Of communication threads.
    pub background: Background,
    /// What checks of misuse know of it.
    pub watch: Watch,
}

/// Handles of the contexts that there are. Only creation and destruction ask: a program that destroys what is
/// not a context, as some do, gets an error.
pub fn live() -> MutexGuard<'static, BTreeSet<usize>> {
    static LIVE: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The context of a handle.
///
/// # Safety
/// The handle is NULL, or of a context that has not been destroyed.
#[inline]
pub unsafe fn context<'a>(handle: *mut c_void) -> Option<&'a Context> {
    // SAFETY: the caller's promise.
    unsafe { handle.cast::<Context>().as_ref() }
}

#[allow(clippy::mut_from_ref)] // See the top of this file.
impl Context {
    /// The protocols. The reference must not be held while the program runs.
    #[inline]
    pub fn core(&self) -> &mut Core {
        // SAFETY: one thread at a time, and no other reference is held: see the top of this file.
        unsafe { &mut *self.core.get() }
    }

    pub fn dispatches(&self) -> &mut Vec<Option<Dispatch>> {
        // SAFETY: the same.
        unsafe { &mut *self.dispatches.get() }
    }

    pub fn callbacks(&self) -> &mut Callbacks {
        // SAFETY: the same.
        unsafe { &mut *self.callbacks.get() }
    }

    pub fn collectives(&self) -> &mut Collectives {
        // SAFETY: the same.
        unsafe { &mut *self.collectives.get() }
    }

    pub fn client(&self) -> &Client {
        // SAFETY: a client lives longer than its contexts: `PAMI_Client_destroy` sees to it.
        unsafe { &*self.client }
    }

    pub fn handle(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// Calls a callback, if there is one.
    ///
    /// # Safety
    /// The program gave the function and its cookie.
    pub unsafe fn call(&self, function: EventFunction, cookie: *mut c_void, result: Result) {
        if let Some(function) = function {
            // SAFETY: the caller's promise.
            unsafe { function(self.handle(), cookie, result) };
        }
    }

    /// Whether nothing is left to do until something arrives or is posted.
    pub fn is_quiet(&self) -> bool {
        // SAFETY: one thread at a time.
        let has_work = unsafe { !(*self.again.get()).is_empty() };
        !has_work && self.core().is_idle() && !self.has_reports()
    }

    /// Whether an advance would find something.
    pub fn has_something(&self) -> bool {
        !self.is_quiet() || self.core().device().has_claimed() || !self.work.is_empty()
    }

    /// Wakes who sleeps for this context.
    pub fn ring(&self) {
        let job = self.client().job;
        match job.simulated {
            None => job.segment.task(job.task).doorbell.ring(self.queue),
            Some(guest) => {
                self.note_ring();
                if let Some(number) = self.number {
                    guest::lock(guest).posted(number);
                }
            }
        }
    }

    /// What is known of threads that share it.
    pub fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> bool {
        if let Some(thread) = threads::current() {
            thread.hub().settle(true);
        }
        self.lock.try_lock()
    }

    /// Takes the lock, on a simulated node in the order of its time.
    pub fn take_lock(&self) {
        let Some(thread) = threads::current() else { return self.lock.lock() };
        thread.hub().settle(true);
        thread.wait_until(self.key(), None, || self.lock.try_lock());
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds it.
    pub unsafe fn unlock(&self) {
        let thread = threads::current();
        if let Some(thread) = thread {
            thread.hub().settle(true);
        }
        // SAFETY: the caller's promise.
        unsafe { self.lock.unlock() };
        if let Some(thread) = thread {
            thread.wake(self.key(), 1);
        }
    }
}

/// Posted work, in the program's `pami_work_t`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Posted {
    function: WorkFunction,
    cookie: *mut c_void,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_post(
    handle: *mut c_void,
    work: *mut c_void,
    function: WorkFunction,
    cookie: *mut c_void,
) -> Result {
    // SAFETY: the program gave it.
    let Some(found) = (unsafe { shared("PAMI_Context_post", handle) }) else {
        return fail(INVAL, "PAMI_Context_post: there is no such context");
    };
    if work.is_null() || function.is_none() {
        return fail(INVAL, "PAMI_Context_post: work or function is NULL");
    }
    if !found.may_post(work as usize) {
        return INVAL;
    }
    if let Some(thread) = threads::current() {
        thread.hub().settle(true);
    }
    // SAFETY: a `pami_work_t` has six words.
    unsafe { work.cast::<Posted>().write(Posted { function, cookie }) };
    found.work.post(work as usize);
    found.ring();
    SUCCESS
}

/// Work of this library.
#[repr(C)]
struct InternalWork {
    /// As the program's; it comes first, so that its address is that of the whole.
    posted: Posted,
    run: Box<dyn FnOnce(&Context)>,
}

unsafe extern "C" fn run_internal_work(handle: *mut c_void, cookie: *mut c_void) -> Result {
    // SAFETY: made by `post_internal`, and run once by the context itself.
    let (work, context) = unsafe { (Box::from_raw(cookie.cast::<InternalWork>()), context(handle)) };
    if let Some(context) = context {
        (work.run)(context);
    }
    SUCCESS
}

impl Context {
    /// Its device's groups end with it: geometries of which it is the member have none any more.
    fn forget_groups(&self, offset: usize) {
        let geometries = self.client().geometries.lock().unwrap_or_else(|e| e.into_inner());
        let own = |found: &&Arc<Geometry>| found.members.offset().is_some_and(|own| own as usize == offset);
        geometries.values().filter(own).for_each(|found| found.set_group(None));
    }

    /// Runs a function in the thread that advances this context. Any thread may call it.
    pub fn post_internal(&self, run: impl FnOnce(&Context) + 'static) {
        let posted = Posted { function: Some(run_internal_work), cookie: std::ptr::null_mut() };
        let work = Box::into_raw(Box::new(InternalWork { posted, run: Box::new(run) }));
        // SAFETY: made just now.
        unsafe { (*work).posted.cookie = work.cast() };
        self.work.post(work as usize);
        self.ring();
    }

    /// Operations that are not complete, and why. No thread may be in a function of the context but to wait.
    pub fn unfinished(&self) -> Vec<String> {
        let mut list = self.collectives().unfinished();
        // A message of a collective is told with it.
        list.extend(self.core().unfinished());
        if !self.work.is_empty() {
            list.push("posted work that has not run".into());
        }
        if let offset @ 1.. = self.core().device().endpoint().offset() {
            list.iter_mut().for_each(|line| line.push_str(&format!(" in context {offset}")));
        }
        list
    }

    /// For what threads wait that wait for the lock.
    fn key(&self) -> usize {
        std::ptr::from_ref(&self.lock) as usize
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_lock(handle: *mut c_void) -> Result {
    // SAFETY: the program gave it.
    let Some(found) = (unsafe { shared("PAMI_Context_lock", handle) }) else {
        return fail(INVAL, "PAMI_Context_lock: there is no such context");
    };
    if !found.may_lock() {
        return INVAL;
    }
    found.lock_for_program();
    found.locked();
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_trylock(handle: *mut c_void) -> Result {
    // SAFETY: the program gave it.
    let Some(found) = (unsafe { shared("PAMI_Context_trylock", handle) }) else {
        return fail(INVAL, "PAMI_Context_trylock: there is no such context");
    };
    if !found.try_lock() {
        found.lock_is_seen();
        return EAGAIN;
    }
    found.locked();
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_unlock(handle: *mut c_void) -> Result {
    // SAFETY: the program gave it.
    let Some(found) = (unsafe { shared("PAMI_Context_unlock", handle) }) else {
        return fail(INVAL, "PAMI_Context_unlock: there is no such context");
    };
    if !found.lock.is_locked() {
        return fail(INVAL, "PAMI_Context_unlock: the context is not locked");
    }
    if !found.may_unlock() {
        return INVAL;
    }
    // SAFETY: the program holds the lock, as the call demands.
    unsafe { found.unlock_for_program(false) };
    SUCCESS
}
