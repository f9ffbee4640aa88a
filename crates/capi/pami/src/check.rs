//! `NETLOOM_CHECK=1`: reports on stderr of misuse that the interface leaves undefined. A report says which
//! function, what is wrong and what to do. A call that could not be carried out safely returns `PAMI_INVAL`;
//! others are carried out as usual. While the checks are off, each costs a load and a branch.

use crate::client::{fail, task};
use crate::communication_thread;
use crate::context::{Context, context, live};
use std::collections::HashSet;
use std::ffi::c_void;
use std::io::Write as _;
use std::ops::Deref;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// How long a message may wait for its dispatch function before that is reported.
const POSTPONED: Duration = Duration::from_secs(3);

/// Whether checks are on.
#[inline]
pub fn is_on() -> bool {
    match MODE.load(Ordering::Relaxed) {
        OFF => false,
        ON => true,
        _ => read_mode(),
    }
}

#[cold]
fn read_mode() -> bool {
    let is_on = std::env::var("NETLOOM_CHECK").is_ok_and(|value| value == "1");
    MODE.store(if is_on { ON } else { OFF }, Ordering::Relaxed);
    is_on
}

/// Reports misuse.
#[cold]
pub fn report(text: impl std::fmt::Display) {
    let line = match task() {
        Some(task) => format!("PAMI check: task {task}: {text}\n"),
        None => format!("PAMI check: {text}\n"),
    };
    // One write, so that the lines of several tasks do not mix. There is nobody to tell that it failed.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// A number of the calling thread, not 0.
fn thread() -> usize {
    thread_local!(static THREAD: u8 = const { 0 });
    THREAD.with(|own| std::ptr::from_ref(own) as usize)
}

/// What the checks know of a context.
#[derive(Default)]
pub struct Watch {
    /// The thread in a function of the context, or 0.
    owner: AtomicUsize,
    is_advancing: AtomicU8,
    /// The thread that holds the lock, or 0.
    holder: AtomicUsize,
    /// Addresses of posted work that is not done.
    posted: Mutex<HashSet<usize>>,
    /// The dispatch identifier that a message waits for, and since when.
    postponed: Mutex<Option<(u16, Instant)>>,
}

/// A context in one of whose functions the calling thread is.
pub struct Entered<'a> {
    context: &'a Context,
    /// Whether this call set the owner: it is not one of a callback.
    is_outermost: bool,
}

impl Deref for Entered<'_> {
    type Target = Context;

    #[inline]
    fn deref(&self) -> &Context {
        self.context
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.is_outermost {
            self.context.watch.owner.store(0, Ordering::Release);
        }
    }
}

/// The context of a handle, for a function that one thread at a time may call.
///
/// # Safety
/// The handle is NULL, or of a context that has not been destroyed; if checks are on, it is anything.
#[inline]
pub unsafe fn enter<'a>(call: &str, handle: *mut c_void) -> Option<Entered<'a>> {
    if is_on() {
        return enter_checked(call, handle);
    }
    // SAFETY: the caller's promise.
    unsafe { context(handle) }.map(|context| Entered { context, is_outermost: false })
}

/// The context of a handle, for a function that any thread may call at any time.
///
/// # Safety
/// As [`enter`].
#[inline]
pub unsafe fn shared<'a>(call: &str, handle: *mut c_void) -> Option<&'a Context> {
    if is_on() && !is_live(call, handle) {
        return None;
    }
    // SAFETY: the caller's promise, or it is live.
    unsafe { context(handle) }
}

/// A process that was forked by a task: its calls are refused, since they would take the task's messages.
static IS_FORKED: AtomicBool = AtomicBool::new(false);

/// In a forked child: what is checked by each function is checked from now on.
pub extern "C" fn forked() {
    IS_FORKED.store(true, Ordering::Relaxed);
    MODE.store(ON, Ordering::Relaxed);
}

fn is_live(call: &str, handle: *mut c_void) -> bool {
    if IS_FORKED.load(Ordering::Relaxed) {
        report(format!("{call}: {}", crate::device::guest::FORKED));
        return false;
    }
    let is_live = live().contains(&(handle as usize));
    if !is_live && !handle.is_null() {
        report(format!(
            "{call}: {handle:p} is not a context, or one that is destroyed; use a handle of PAMI_Context_createv until \
             PAMI_Context_destroyv"
        ));
    }
    is_live
}

#[cold]
fn enter_checked<'a>(call: &str, handle: *mut c_void) -> Option<Entered<'a>> {
    if !is_live(call, handle) {
        return None;
    }
    // SAFETY: it is live.
    let context = unsafe { context(handle) }?;
    let own = thread();
    if communication_thread::is_enabled(context) && context.watch.holder.load(Ordering::Relaxed) != own {
        report(format!(
            "{call}: a communication thread may use this context; hold its lock (PAMI_Context_lock) around the call, or \
             post the work to that thread (PAMI_Context_post)"
        ));
        return None;
    }
    match context.watch.owner.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed) {
        Ok(_) => Some(Entered { context, is_outermost: true }),
        Err(owner) if owner == own => Some(Entered { context, is_outermost: false }),
        Err(_) => {
            report(format!(
                "{call}: another thread is in a function of this context; hold its lock (PAMI_Context_lock) around the \
                 calls of all threads, or post the work to the thread that advances it (PAMI_Context_post)"
            ));
            None
        }
    }
}

impl Context {
    /// A thread begins to advance the context; `None` if it must not.
    #[inline]
    pub fn begin_advance(&self, call: &str) -> Option<Advancing<'_>> {
        let is_watched = is_on();
        if is_watched && self.watch.is_advancing.swap(1, Ordering::Relaxed) != 0 {
            report(format!(
                "{call}: called from a callback, a dispatch function or posted work of this context; return to the \
                 program, which advances it"
            ));
            return None;
        }
        Some(Advancing { context: self, is_watched })
    }

    /// Whether the calling thread may take the lock: it would wait for itself.
    pub fn may_lock(&self) -> bool {
        let holds = is_on() && self.watch.holder.load(Ordering::Relaxed) == thread();
        if holds {
            report("PAMI_Context_lock: this thread holds the lock already; unlock the context first");
        }
        !holds
    }

    /// The calling thread has the lock.
    pub fn locked(&self) {
        if is_on() {
            self.watch.holder.store(thread(), Ordering::Relaxed);
        }
    }

    /// Whether the calling thread may release the lock; it is about to.
    pub fn may_unlock(&self) -> bool {
        if !is_on() {
            return true;
        }
        let holder = self.watch.holder.load(Ordering::Relaxed);
        if holder != 0 && holder != thread() {
            report(
                "PAMI_Context_unlock: another thread holds the lock; the thread that locks a context unlocks it",
            );
            return false;
        }
        self.watch.holder.store(0, Ordering::Relaxed);
        true
    }

    /// Whether work may be posted: it is not queued.
    pub fn may_post(&self, work: usize) -> bool {
        if !is_on() {
            return true;
        }
        let is_new = self.watch.posted.lock().unwrap_or_else(|e| e.into_inner()).insert(work);
        if !is_new {
            report(
                "PAMI_Context_post: this pami_work_t is queued; wait until its function has returned PAMI_SUCCESS, or \
                 use another",
            );
        }
        is_new
    }

    /// Posted work is about to run.
    pub fn work_begins(&self, work: usize) {
        if is_on() {
            self.watch.posted.lock().unwrap_or_else(|e| e.into_inner()).remove(&work);
        }
    }

    /// Posted work has returned this; it runs again if that is `PAMI_EAGAIN`.
    pub fn work_ended(&self, work: usize, result: crate::abi::Result) {
        if !is_on() {
            return;
        }
        match result {
            crate::abi::SUCCESS => {}
            crate::abi::EAGAIN => {
                self.watch.posted.lock().unwrap_or_else(|e| e.into_inner()).insert(work);
            }
            other => report(format!(
                "PAMI_Context_post: the function of posted work returned {other}; it returns PAMI_SUCCESS, or \
                 PAMI_EAGAIN to run again"
            )),
        }
    }

    /// A message waits for its dispatch function.
    pub fn watch_postponed(&self, dispatch: u16) {
        if is_on() {
            *self.watch.postponed.lock().unwrap_or_else(|e| e.into_inner()) =
                Some((dispatch, Instant::now()));
        }
    }

    /// Reports a message that has waited for its dispatch function for long, or, at the end, at all.
    pub fn report_postponed(&self, is_end: bool) {
        if !is_on() {
            return;
        }
        let mut postponed = self.watch.postponed.lock().unwrap_or_else(|e| e.into_inner());
        let Some((dispatch, since)) = *postponed else { return };
        if self.dispatch(dispatch).is_some() {
            *postponed = None;
        } else if is_end || since.elapsed() > POSTPONED {
            *postponed = None;
            report(format!(
                "a message came for dispatch identifier {dispatch}, which this context has not set; call \
                 PAMI_Dispatch_set at all tasks before one sends"
            ));
        }
    }

    /// Reports what is under way in a context that is about to be destroyed.
    pub fn report_unfinished(&self) {
        if !is_on() {
            return;
        }
        self.report_postponed(true);
        let posted = self.watch.posted.lock().unwrap_or_else(|e| e.into_inner()).len();
        let advance = "advance the context until all callbacks have run";
        let found = [
            (self.callbacks().pending(), "sends, receives or transfers are under way", advance),
            (self.collectives().pending(), "collectives are under way", advance),
            (posted, "posted works have not run", advance),
            (
                usize::from(self.watch.holder.load(Ordering::Relaxed) != 0),
                "locks are held",
                "unlock it before",
            ),
            (
                usize::from(self.watch.owner.load(Ordering::Relaxed) != 0),
                "threads are in a function of it",
                "wait until they have returned",
            ),
        ];
        for (count, what, remedy) in found.into_iter().filter(|&(count, ..)| count > 0) {
            report(format!("PAMI_Context_destroyv: {count} {what}; {remedy}"));
        }
    }
}

/// A context that the calling thread advances.
pub struct Advancing<'a> {
    context: &'a Context,
    is_watched: bool,
}

impl Drop for Advancing<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.is_watched {
            self.context.watch.is_advancing.store(0, Ordering::Relaxed);
        }
    }
}

/// Refuses a call with a geometry that is not one, or that is destroyed.
pub fn refuse_geometry(call: &str, geometry: *const c_void) -> crate::abi::Result {
    report(format!(
        "{call}: {geometry:p} is not a geometry of the client, or one that is destroyed; use an algorithm that \
         PAMI_Geometry_algorithms_query gives until PAMI_Geometry_destroy"
    ));
    fail(crate::abi::INVAL, format!("{call}: there is no such geometry"))
}
