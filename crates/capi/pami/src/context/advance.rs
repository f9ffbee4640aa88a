//! Progress: what has arrived is handled, posted work runs, and a program that polls in vain lets others run.

use super::{Context, Posted};
use crate::abi::*;
use crate::check::{enter, shared};
use crate::client::fail;
use crate::device::{Payload, guest};
use netloom_messaging::pami::device::Next;
use netloom_messaging::pami::guest::LOOK;
use netloom_messaging::pami::packet::Head;
use netloom_shm::flags;
use std::ffi::{c_int, c_void};
use std::time::Duration;

/// Events that one advance handles at most per poll, so that it returns.
const BATCH: usize = 64;
/// Polls without an event after which a waiting thread tells its core so; after which it lets others run,
/// sooner if tasks share cores; after which it sleeps, at most this long, if they do. And polls after which
/// it looks whether a task has ended: see `count_poll`.
const PAUSE_AFTER: u32 = 1000;
pub(super) const YIELD_AFTER: [u32; 2] = [16, 100_000];
/// With a core of its own, a thread then lets others run once in so many polls; one that shares it and has other
/// things to do, once in so many: who computes there keeps the core for milliseconds.
const YIELD_EVERY: u32 = 16 << 10;
pub(super) const YIELD_EVERY_LOOK: u32 = 256;
pub(super) const SLEEP_AFTER: u32 = 400;
pub(super) const SLEEP: Duration = Duration::from_micros(200);
pub const LOOK_AFTER: u32 = 2048;

impl Context {
    /// Makes progress once, and waits a moment if there was nothing; returns whether something was processed.
    fn advance(&self) -> bool {
        self.advance_and(true)
    }

    /// The same for a program that has other things to do: without sleep.
    fn look(&self) -> bool {
        self.advance_and(false)
    }

    fn advance_and(&self, is_waiting: bool) -> bool {
        let is_busy = self.advance_once() || self.has_awaited();
        if is_busy {
            self.idle.set(0);
        } else {
            self.wait(is_waiting);
        }
        is_busy
    }

    /// What a library above waits for, besides what it hears from here; see `NETLOOM_flags`.
    pub fn set_awaited(&self, awaited: Option<(&'static flags::Flag, u64)>) {
        self.awaited.set(awaited);
    }

    /// Whether it is there.
    #[inline]
    fn has_awaited(&self) -> bool {
        self.awaited.get().is_some_and(|(flag, sequence)| flag.has(sequence))
    }

    /// Makes progress once; returns whether something was processed.
    #[inline]
    pub fn advance_once(&self) -> bool {
        match self.core().peek() {
            Next::Nothing if !self.has_work() && !self.has_reports() => false,
            Next::Immediate(head, payload) if !self.has_work() => self.handle_immediate(head, payload),
            first => self.handle_all(first, false),
        }
    }

    /// Handles a message, and what is there besides. Mostly nothing is, and the program can answer without
    /// waiting for a look at all that there could be. Returns whether anything was handled.
    #[inline]
    fn handle_immediate(&self, head: Head, payload: Payload) -> bool {
        let _no_cancel = NoCancel::new();
        let is_done = self.dispatch_immediate(head, payload);
        if is_done && matches!(self.core().peek_more(), Next::Nothing) && !self.has_reports() {
            self.sharing.note_change();
            return true;
        }
        let next = self.core().peek();
        self.handle_all(next, is_done)
    }

    /// Handles what is there, of which `next` is the first; returns whether there was anything, now or
    /// before.
    #[inline(never)]
    fn handle_all(&self, mut next: Next<Payload>, mut is_busy: bool) -> bool {
        let _no_cancel = NoCancel::new();
        if self.has_work() {
            is_busy |= self.run_work();
            // It may have sent, and ended what waited.
            next = self.core().peek();
        }
        for n in 1..=BATCH {
            match next {
                Next::Nothing => break,
                Next::Immediate(head, payload) if self.dispatch_immediate(head, payload) => {}
                _ if self.handle_next() => {}
                _ => break,
            }
            is_busy = true;
            if n == BATCH {
                self.count_poll();
                break;
            }
            next = self.core().peek_more();
        }
        if self.has_reports() {
            is_busy |= self.report_collectives();
        }
        if is_busy {
            self.sharing.note_change();
        }
        is_busy
    }

    /// Handles the next event; returns whether there was one.
    #[inline(never)]
    fn handle_next(&self) -> bool {
        let event = self.core().poll();
        event.map(|event| self.handle_event(event)).is_some()
    }

    /// Whether posted work waits to run.
    #[inline]
    fn has_work(&self) -> bool {
        // SAFETY: one thread at a time; not held while the program runs.
        let has_again = unsafe { !(*self.again.get()).is_empty() };
        has_again || !self.work.is_empty()
    }

    /// Looks for tasks that have ended, once in a while. Each poll calls it that finds nothing, or posted
    /// work, or as many messages as it handles: one that finds messages alone has better things to do.
    #[cold]
    pub(super) fn count_poll(&self) {
        let polls = self.polls.get().wrapping_add(1);
        self.polls.set(polls);
        if polls.is_multiple_of(LOOK_AFTER) && self.client().job.simulated.is_none() {
            self.look_for_ended_tasks();
        }
    }

    /// Ends what waits for tasks that have ended.
    #[cold]
    pub fn look_for_ended_tasks(&self) {
        self.core().device_mut().skip_lost();
        self.core().report_gone();
        self.report_postponed(false);
        self.report_gone_members();
    }

    /// Runs posted work; returns whether there was any that ended.
    #[inline(never)]
    fn run_work(&self) -> bool {
        // SAFETY: one thread at a time; not held while the program runs.
        let mut list = unsafe { std::mem::take(&mut *self.again.get()) };
        self.work.take(&mut list);
        self.count_poll();
        let mut is_busy = false;
        for work in list {
            // SAFETY: `PAMI_Context_post` filled it in, and the program leaves it alone until it has ended.
            let Posted { function, cookie } = unsafe { *(work as *const Posted) };
            self.work_begins(work);
            // SAFETY: the program gave them.
            let result = function.map_or(SUCCESS, |function| unsafe { function(self.handle(), cookie) });
            self.work_ended(work, result);
            if result == EAGAIN {
                // SAFETY: as above.
                unsafe { (*self.again.get()).push(work) };
            } else {
                is_busy = true;
            }
        }
        is_busy
    }

    /// Nothing is there: lets others run if the program keeps asking, and sleeps if it `is_waiting`.
    #[cold]
    fn wait(&self, is_waiting: bool) {
        let idle = self.idle.get().wrapping_add(1);
        self.idle.set(idle);
        let job = self.client().job;
        // Time passes in `rounds`, for all contexts at once.
        if job.simulated.is_some() {
            return;
        }
        self.count_poll();
        let shared = job.is_oversubscribed();
        // What the kernel does for it delays those that copy to its memory by the kernel.
        if idle < YIELD_AFTER[usize::from(!shared)] || !shared && !idle.is_multiple_of(YIELD_EVERY) {
            // The hint takes as long as half a message.
            if is_waiting && idle > PAUSE_AFTER {
                std::hint::spin_loop();
            }
            return;
        }
        if !is_waiting && !idle.is_multiple_of(YIELD_EVERY_LOOK) {
            return;
        }
        self.report_if_asked();
        if shared && is_waiting && idle > SLEEP_AFTER && self.is_quiet() {
            let is_ready =
                || self.core().device().has_claimed() || !self.work.is_empty() || self.has_awaited();
            let doorbell = &job.segment.task(job.task).doorbell;
            doorbell.sleep(doorbell.bell_of(self.queue), SLEEP, is_ready);
        } else {
            std::thread::yield_now();
        }
    }

    /// If the launcher asks, reports what the call waits for, which has found nothing to do.
    pub(super) fn report_if_asked(&self) {
        let job = self.client().job;
        if job.segment.wants_reports() {
            crate::extensions::report(job.task, self.unfinished());
        }
    }
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}
/// `PTHREAD_CANCEL_DISABLE`.
const CANCEL_DISABLE: c_int = 1;

/// While it lives, the thread cannot be cancelled. Cancellation unwinds the stack, and callbacks have
/// cancellation points (`printf` is one): it must not unwind through this library.
struct NoCancel(c_int);

impl NoCancel {
    fn new() -> Self {
        let mut old = 0;
        // SAFETY: a library call with a place for the old state.
        unsafe { pthread_setcancelstate(CANCEL_DISABLE, &raw mut old) };
        NoCancel(old)
    }
}

impl Drop for NoCancel {
    fn drop(&mut self) {
        // SAFETY: the state that the thread had.
        unsafe { pthread_setcancelstate(self.0, std::ptr::null_mut()) };
    }
}

/// Advances all contexts in each of up to `maximum` rounds, until a round has processed something.
fn rounds(list: &[&Context], maximum: usize, advance: impl Fn(&Context) -> bool) -> Result {
    rounds_for(list, maximum, maximum as u64, advance)
}

/// The same; on a simulated node they take the time of so many polls.
fn rounds_for(list: &[&Context], maximum: usize, polls: u64, advance: impl Fn(&Context) -> bool) -> Result {
    let round = || list.iter().fold(false, |is_busy, context| advance(context) | is_busy);
    let simulated = list.first().and_then(|context| context.client().job.simulated);
    let Some(guest) = simulated.filter(|_| maximum > 0) else {
        return if (0..maximum).any(|_| round()) { SUCCESS } else { EAGAIN };
    };
    if round() {
        return SUCCESS;
    }
    // The polls in vain are one wait in the simulator. Work that is to run again needs each of them.
    // SAFETY: one thread at a time.
    let has_work = list.iter().any(|context| unsafe { !(*context.again.get()).is_empty() });
    let contexts = list.iter().filter_map(|context| context.number).collect();
    guest::lock(guest).wait(contexts, if has_work { polls.min(1) } else { polls });
    if round() { SUCCESS } else { EAGAIN }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_advance(handle: *mut c_void, maximum: usize) -> Result {
    // SAFETY: the program gave it.
    let Some(found) = (unsafe { enter("PAMI_Context_advance", handle) }) else {
        return fail(INVAL, "PAMI_Context_advance: there is no such context, or another thread uses it");
    };
    let Some(_advancing) = found.begin_advance("PAMI_Context_advance") else { return INVAL };
    rounds(&[&*found], maximum, Context::advance)
}

/// The handles of an array.
///
/// # Safety
/// The array has `count` handles.
unsafe fn contexts<'a>(call: &str, handles: *mut *mut c_void, count: usize) -> Option<Vec<&'a Context>> {
    // SAFETY: the caller's promise.
    let context = |at| unsafe { handles.add(at).as_ref().and_then(|&handle| shared(call, handle)) };
    (0..count).map(context).collect()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_advancev(
    handles: *mut *mut c_void,
    count: usize,
    maximum: usize,
) -> Result {
    // SAFETY: the program gave them.
    let Some(list) = (unsafe { contexts("PAMI_Context_advancev", handles, count) }) else {
        return fail(INVAL, "PAMI_Context_advancev: there is no such context");
    };
    let call = "PAMI_Context_advancev";
    let advance = |context: &Context| {
        // SAFETY: it is one of the program's contexts.
        let Some(entered) = (unsafe { enter(call, context.handle()) }) else { return false };
        entered.begin_advance(call).is_some_and(|_advancing| context.advance())
    };
    rounds(&list, maximum, advance)
}

/// Looks once whether there is something, for a program that has other things to do: see `NETLOOM_poll`.
///
/// # Safety
/// The program gave the context.
pub unsafe fn look(call: &str, handle: *mut c_void) -> Result {
    // SAFETY: the caller's promise.
    let Some(found) = (unsafe { enter(call, handle) }) else { return INVAL };
    let Some(_advancing) = found.begin_advance(call) else { return INVAL };
    rounds_for(&[&*found], 1, LOOK, Context::look)
}

/// The same of several.
///
/// # Safety
/// The program gave them.
pub unsafe fn look_all(call: &str, handles: *mut *mut c_void, count: usize) -> Result {
    // SAFETY: the caller's promise.
    let Some(list) = (unsafe { contexts(call, handles, count) }) else { return INVAL };
    let look = |context: &Context| {
        // SAFETY: it is one of the program's contexts.
        let Some(entered) = (unsafe { enter(call, context.handle()) }) else { return false };
        entered.begin_advance(call).is_some_and(|_advancing| context.look())
    };
    rounds_for(&list, 1, LOOK, look)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_trylock_advancev(
    handles: *mut *mut c_void,
    count: usize,
    maximum: usize,
) -> Result {
    // SAFETY: the program gave them.
    let Some(list) = (unsafe { contexts("PAMI_Context_trylock_advancev", handles, count) }) else {
        return fail(INVAL, "PAMI_Context_trylock_advancev: there is no such context");
    };
    let advance = |context: &Context| {
        context.try_lock() && {
            let call = "PAMI_Context_trylock_advancev";
            context.locked();
            // SAFETY: it is one of the program's contexts.
            let entered = unsafe { enter(call, context.handle()) };
            let is_busy = entered.is_some_and(|entered| {
                entered.begin_advance(call).is_some_and(|_advancing| context.advance())
            });
            context.may_unlock();
            // SAFETY: locked just now.
            unsafe { context.unlock_for_program(true) };
            is_busy
        }
    };
    rounds(&list, maximum, advance)
}
