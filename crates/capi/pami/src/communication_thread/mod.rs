//! Communication threads (section III.C): threads of the library that advance contexts in the background.
//!
//! Each has some contexts of its own. It advances a context under the context's lock, which it only tries to
//! take: if a thread of the program has it, that thread rings the context's bell when it releases it. When
//! there was nothing to do for some rounds, it sleeps until a message arrives, work is posted, or a lock is
//! released with something left to do.
//!
//! # Invariants
//! 1. A communication thread uses a context only while [`Thread::current`] points to it. It sets that with
//!    the list of its contexts locked, after it has found the context there. So [`disable`] removes a context
//!    from the list, then waits until it is not the current one: from then on the thread does not use it.
//! 2. A thread that could not take a lock sets `wanted` of the context and tries once more; who releases the
//!    lock looks at `wanted` after that. With a full fence between the two steps on both sides, one of them
//!    sees the other.

mod background;

pub use background::Background;

use crate::abi::{ERROR, Result, SUCCESS};
use crate::client::{Job, fail, job};
use crate::context::{Context, LOOK_AFTER};
use crate::device::guest;
use crate::environment::number;
use background::{Found, Handlers};
use netloom_messaging::pami::guest::Contexts;
use netloom_shm::doorbell::{BELLS, Doorbell};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// `pamix_async_function`.
pub type Handler = Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>;

/// Rounds without an event after which a thread sleeps, unless `PAMI_COMMTHREAD_MAX_LOOPS` says otherwise.
const ROUNDS: u32 = 100;
/// The longest sleep; and that of a thread that must poll again, as when a queue of another task is full.
const SLEEP: Duration = Duration::from_millis(100);
const SHORT_SLEEP: Duration = Duration::from_micros(50);

/// On a simulated node: polls after which it looks again where something is left; and how long it waits at
/// most for a lock, which who has it rings for unless other contexts took its attention, ns.
const POLLS: u64 = 100;
const LOCKED_NS: f64 = 2e4;

/// A communication thread.
struct Thread {
    /// Where it sleeps.
    bell: usize,
    doorbell: &'static Doorbell,
    rounds: u32,
    contexts: Mutex<List>,
    current: AtomicPtr<Context>,
}

struct List {
    contexts: Vec<*const Context>,
    /// Whether the thread has ended, or is about to.
    is_over: bool,
}
// SAFETY: contexts are used as the invariants say.
unsafe impl Send for List {}

thread_local! {
    /// The communication thread that this thread is.
    static OWN: Cell<*const Thread> = const { Cell::new(std::ptr::null()) };
}

/// The communication threads of this process.
static THREADS: Mutex<Vec<Arc<Thread>>> = Mutex::new(vec![]);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hardware threads of a core of Blue Gene/Q.
const THREADS_PER_CORE: u32 = 4;

/// Most threads of a process: as many as it has cores, if all tasks get the same number.
fn threads_max(job: &Job) -> usize {
    let set = number("PAMI_MAX_COMMTHREADS", job.task).map(|count| count as usize);
    let cores = match job.simulated {
        Some(guest) => guest::lock(guest).facts().threads / THREADS_PER_CORE,
        None => {
            // SAFETY: a library call without pointers.
            let cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1);
            cores as u32 / job.tasks
        }
    };
    set.unwrap_or(cores.max(1) as usize).min(BELLS - 1)
}

/// Sets what runs instead of the library's advance.
pub fn register(context: &Context, progress: Handler, cookie: *mut c_void) {
    *locked(&context.background.progress) = Handlers(progress, cookie);
}

/// Whether a communication thread has the context.
pub fn is_enabled(context: &Context) -> bool {
    context.background.is_on.load(Ordering::Relaxed)
}

/// Gives a context to the communication thread that has the fewest.
pub fn enable(context: &Context) -> Result {
    let job = context.client().job;
    let mut threads = locked(&THREADS);
    if context.background.is_on.swap(true, Ordering::Relaxed) {
        return SUCCESS;
    }
    threads.retain(|thread| !locked(&thread.contexts).is_over);
    let most = threads_max(job);
    let doorbell = &job.segment.task(job.task).doorbell;
    let found = if threads.len() < most {
        start(&mut threads, doorbell, context)
    } else {
        let least = threads.iter().min_by_key(|thread| locked(&thread.contexts).contexts.len());
        if let Some(thread) = least {
            let mut list = locked(&thread.contexts);
            list.contexts.push(context);
            let known = list.contexts[0];
            drop(list);
            // On a simulated node it may sleep, and not yet for this context. SAFETY: a context is not
            // destroyed before it has been removed from the list, which takes THREADS.
            unsafe { &*known }.ring();
        }
        least.cloned().ok_or_else(|| "PAMI_MAX_COMMTHREADS is 0".to_string())
    };
    let thread = match found {
        Ok(thread) => thread,
        Err(reason) => {
            context.background.is_on.store(false, Ordering::Relaxed);
            return fail(ERROR, format!("enable: there is no communication thread: {reason}"));
        }
    };
    doorbell.set_bell(context.queue, thread.bell);
    context.ring();
    SUCCESS
}

/// Starts a thread for a context, at a bell that no other has.
fn start(
    threads: &mut Vec<Arc<Thread>>,
    doorbell: &'static Doorbell,
    context: &Context,
) -> std::result::Result<Arc<Thread>, String> {
    let is_free = |bell: &usize| threads.iter().all(|thread| thread.bell != *bell);
    let task = job().map_or(0, |job| job.task);
    let rounds = number("PAMI_COMMTHREAD_MAX_LOOPS", task).and_then(|rounds| u32::try_from(rounds).ok());
    let bell = (1..BELLS).find(is_free).ok_or("there are too many")?;
    let thread = Arc::new(Thread {
        bell,
        doorbell,
        rounds: rounds.unwrap_or(ROUNDS).max(1),
        contexts: Mutex::new(List { contexts: vec![context], is_over: false }),
        current: AtomicPtr::default(),
    });
    let own = Arc::clone(&thread);
    let builder = std::thread::Builder::new().name(format!("pami-comm-{bell}"));
    let _blocked = NoSignals::new();
    builder.spawn(move || own.run()).map_err(|error| error.to_string())?;
    threads.push(Arc::clone(&thread));
    Ok(thread)
}

/// Takes a context from its communication thread. It does not use the context any more when this returns,
/// unless it is the caller.
pub fn disable(context: &Context) {
    let threads = locked(&THREADS);
    if !context.background.is_on.load(Ordering::Relaxed) {
        return;
    }
    let own: *const Context = context;
    for thread in threads.iter() {
        let mut list = locked(&thread.contexts);
        let count = list.contexts.len();
        list.contexts.retain(|&other| other != own);
        if list.contexts.len() == count {
            continue;
        }
        list.is_over = list.contexts.is_empty();
        drop(list);
        context.ring();
        thread.doorbell.set_bell(context.queue, 0);
        context.background.is_on.store(false, Ordering::Relaxed);
        let thread = Arc::clone(thread);
        drop(threads);
        let is_caller = OWN.get() == Arc::as_ptr(&thread);
        while !is_caller && std::ptr::eq(thread.current.load(Ordering::Acquire), own) {
            std::thread::yield_now();
        }
        return;
    }
}

/// While it lives, the calling thread gets no signal, and threads that it starts get none for ever: signals
/// are for the threads of the program.
struct NoSignals(libc::sigset_t);

impl NoSignals {
    fn new() -> Self {
        // SAFETY: library calls with places for sets of signals, of which all bytes zero is one.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            // But those that an instruction of the thread itself raises: a blocked one would end the process.
            for own in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS]
            {
                libc::sigdelset(&raw mut all, own);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            NoSignals(before)
        }
    }
}

impl Drop for NoSignals {
    fn drop(&mut self) {
        // SAFETY: a library call with the set that the thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

impl Thread {
    fn run(&self) {
        OWN.set(self);
        if crate::threads::current().is_some() {
            return self.run_on_node();
        }
        let (mut vain, mut rounds) = (0, 0u32);
        loop {
            rounds = rounds.wrapping_add(1);
            let Some(found) = self.round(rounds.is_multiple_of(LOOK_AFTER)) else { return };
            vain = if found == Found::Progress { 0 } else { vain + 1 };
            if vain < self.rounds {
                std::hint::spin_loop();
                continue;
            }
            vain = 0;
            // Before it sleeps, it also looks for tasks that have ended.
            let Some(found) = self.round(true) else { return };
            let at_most = match found {
                Found::Progress => continue,
                Found::Left => SHORT_SLEEP,
                Found::Nothing | Found::Locked => SLEEP,
            };
            self.doorbell.sleep(self.bell, at_most, || self.round(false).is_none_or(|now| now > found));
        }
    }

    /// The same on a simulated node: when there is nothing to do, the thread waits until the wake-up unit
    /// sees a message, posted work, or a lock that is released with something left to do, and does not poll
    /// meanwhile.
    fn run_on_node(&self) {
        let own = crate::threads::current().expect("it is a guest's");
        loop {
            let Some(found) = self.round(false) else { return };
            if found == Found::Progress {
                continue;
            }
            let list = locked(&self.contexts);
            // SAFETY: a context is not destroyed before it has been removed from the list.
            let numbers = list.contexts.iter().filter_map(|&context| unsafe { (*context).number });
            let contexts = numbers.fold(Contexts::default(), Contexts::with);
            let is_rung = |&context: &*const Context| {
                // SAFETY: the same.
                unsafe { (*context).background.is_rung.load(Ordering::Relaxed) }
            };
            let is_rung = list.contexts.iter().any(is_rung);
            drop(list);
            // Nobody else runs from here on until this thread sleeps.
            if is_rung {
                continue;
            }
            match found {
                Found::Left => own.hub().wait(contexts, POLLS),
                Found::Locked => own.hub().sleep_until_rung(contexts, LOCKED_NS),
                _ => own.hub().sleep_until_woken(contexts),
            }
        }
    }

    /// Advances each context once, and perhaps looks for tasks that have ended. Returns the best that was
    /// found, or `None` if the thread has no context any more.
    fn round(&self, looks: bool) -> Option<Found> {
        let mut best = Found::Nothing;
        for at in 0.. {
            let list = locked(&self.contexts);
            if list.is_over {
                return None;
            }
            let Some(&context) = list.contexts.get(at) else { break };
            self.current.store(context.cast_mut(), Ordering::Relaxed);
            drop(list);
            // SAFETY: invariant 1: the context is not destroyed before it has been removed from the list.
            best = best.max(unsafe { &*context }.advance_in_background(looks));
            self.current.store(std::ptr::null_mut(), Ordering::Release);
        }
        Some(best)
    }
}
