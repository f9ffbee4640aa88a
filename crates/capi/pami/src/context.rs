//! Contexts: creation, progress, posted work, locks.
//!
//! The program calls a context's functions from one thread at a time, also from callbacks that the context's
//! advance calls. So each access to the protocols' state is short and none is held while the program runs.

use crate::abi::*;
use crate::check::{Watch, enter, shared};
use crate::client::{Client, Job, attributes, fail, update};
use crate::collectives::{self, Collectives};
use crate::device::guest;
use crate::device::{Device, Payload};
use crate::dispatch::{DISPATCH_MAX, Dispatch};
use crate::geometry::Geometry;
use crate::threads;
use netloom_messaging::pami::context::{self, Event, Limits, Message, Outcome};
use netloom_messaging::pami::device::PamiDevice;
use netloom_messaging::pami::work::WorkQueue;
use parking_lot::RawMutex;
use parking_lot::lock_api::RawMutex as _;
use std::cell::{Cell, UnsafeCell};
use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The protocols of a context.
pub type Core = context::Context<Device>;

/// Events that one advance handles at most per poll, so that it returns.
const BATCH: usize = 64;
/// Polls without an event after which a waiting thread tells its core so; after which it lets others run, sooner
/// if tasks share cores; after which it sleeps, at most this long, if they do; and after which it looks whether a
/// task has ended.
const PAUSE_AFTER: u32 = 1000;
const YIELD_AFTER: [u32; 2] = [16, 100_000];
const SLEEP_AFTER: u32 = 400;
const SLEEP: Duration = Duration::from_micros(200);
const LOOK_AFTER: u32 = 2048;

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
    number: Option<u32>,
    client: *const Client,
    /// Whether a fence region is open.
    pub is_fenced: Cell<bool>,
    /// Polls in a row without an event.
    idle: Cell<u32>,
    /// What checks of misuse know of it.
    pub watch: Watch,
}

/// What a completed operation calls.
#[derive(Clone, Copy)]
pub struct Callback {
    pub cookie: *mut c_void,
    /// Called when buffers may be reused, or data has arrived.
    pub local_fn: EventFunction,
    /// Called when the target has all data.
    pub remote_fn: EventFunction,
    /// Reports that are still to come.
    pub reports: u8,
    /// Where the old value of an atomic operation goes, and its length.
    pub fetched: (*mut u8, u8),
}

/// Callbacks by number.
#[derive(Default)]
pub struct Callbacks {
    list: Vec<Callback>,
    free: Vec<u32>,
}

impl Callbacks {
    pub fn insert(&mut self, callback: Callback) -> u64 {
        match self.free.pop() {
            Some(at) => {
                self.list[at as usize] = callback;
                u64::from(at)
            }
            None => {
                self.list.push(callback);
                self.list.len() as u64 - 1
            }
        }
    }

    /// The operation was refused: nothing will be reported.
    pub fn withdraw(&mut self, at: u64) {
        self.free.push(at as u32);
    }

    /// Operations that are not complete.
    pub fn pending(&self) -> usize {
        self.list.len() - self.free.len()
    }

    /// One of its reports has come.
    fn report(&mut self, at: u64) -> Callback {
        let callback = &mut self.list[at as usize];
        callback.reports -= 1;
        let callback = *callback;
        if callback.reports == 0 {
            self.free.push(at as u32);
        }
        callback
    }
}

/// Handles of the contexts that there are. Only creation and destruction ask: a program that destroys what is not a
/// context, as some do, gets an error.
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

fn result(outcome: Outcome) -> Result {
    match outcome {
        Outcome::Done => SUCCESS,
        Outcome::Gone => SHUTDOWN,
        Outcome::Fault => ERROR,
    }
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

    /// Makes progress once; returns whether something was processed.
    fn advance(&self) -> bool {
        let mut is_busy = self.run_work();
        for _ in 0..BATCH {
            let Some(event) = self.core().poll() else { break };
            is_busy = true;
            self.handle_event(event);
        }
        if self.has_reports() {
            is_busy |= self.report_collectives();
        }
        if is_busy {
            self.idle.set(0);
        } else {
            self.wait();
        }
        is_busy
    }

    #[inline]
    fn handle_event(&self, event: Event<Payload>) {
        match event {
            Event::Message(message) => self.dispatch_message(&message),
            Event::Sent(at, outcome) | Event::Received(at, outcome) => {
                let callback = self.callbacks().report(at);
                // SAFETY: the program gave them.
                unsafe { self.call(callback.local_fn, callback.cookie, result(outcome)) };
            }
            Event::Completed(at, outcome) => {
                let callback = self.callbacks().report(at);
                // SAFETY: the program gave them.
                unsafe { self.call(callback.remote_fn, callback.cookie, result(outcome)) };
            }
            Event::Fetched(at, value) => {
                let callback = self.callbacks().report(at);
                let (to, bytes) = callback.fetched;
                // SAFETY: the program gave them; the operation's type says how long the value is.
                unsafe {
                    if !to.is_null() {
                        to.copy_from_nonoverlapping(value.to_ne_bytes().as_ptr(), bytes.into());
                    }
                    self.call(callback.local_fn, callback.cookie, SUCCESS);
                }
            }
            Event::Progress => {}
            Event::Collected(key) => self.one_done(key, SUCCESS),
            Event::Rmw { origin, request, rmw } => {
                let old = crate::rma::execute(&rmw);
                self.core().answer_rmw(origin, request, old);
            }
        }
    }

    /// Calls the dispatch function of a message.
    #[inline]
    fn dispatch_message(&self, message: &Message<Payload>) {
        let Some(Dispatch { function, cookie, hints }) = self.dispatch(message.dispatch) else {
            if message.dispatch == collectives::DISPATCH {
                return self.collective_message(message);
            }
            // Programs register functions when others send already.
            self.watch_postponed(message.dispatch);
            return self.core().postpone();
        };
        let (header, header_bytes) = match message.has_long_header {
            true => (self.core().long_header().as_ptr(), self.core().long_header().len()),
            false if message.header_bytes == 0 => (std::ptr::null(), 0),
            false => (message.payload.at(message.header_from), message.header_bytes),
        };
        let data = message.payload.at(message.header_from + message.header_bytes);
        let size = message.data_bytes as usize;
        let is_short = header_bytes + size <= crate::dispatch::IMMEDIATE_MAX;
        if message.is_whole && is_short && hints.recv_immediate() != HINT_DISABLE {
            // SAFETY: the program gave the function; header and data stay in their slot until `consumed`.
            unsafe {
                let (header, data) = (header.cast(), data.cast());
                let no_receive = std::ptr::null_mut();
                function(
                    self.handle(),
                    cookie,
                    header,
                    header_bytes,
                    data,
                    size,
                    message.origin.0,
                    no_receive,
                );
            }
            return self.core().consumed();
        }
        let mut receive = Receive {
            cookie: std::ptr::null_mut(),
            local_fn: None,
            addr: std::ptr::null_mut(),
            kind: crate::symbols::byte(),
            offset: 0,
            data_fn: crate::symbols::copy_function(),
            data_cookie: std::ptr::null_mut(),
        };
        // SAFETY: as above.
        unsafe {
            let (header, data) = (header.cast(), std::ptr::null());
            function(
                self.handle(),
                cookie,
                header,
                header_bytes,
                data,
                size,
                message.origin.0,
                &raw mut receive,
            );
        }
        let (address, callback) = crate::typed::target(receive, hints, size);
        let cookie = self.callbacks().insert(callback);
        self.core().accept(context::Receive { address, cookie });
    }

    /// Runs posted work; returns whether there was any that ended.
    #[inline]
    fn run_work(&self) -> bool {
        // SAFETY: one thread at a time; not held while the program runs.
        let again = unsafe { &mut *self.again.get() };
        if again.is_empty() && self.work.is_empty() {
            return false;
        }
        let mut list = std::mem::take(again);
        self.work.take(&mut list);
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

    /// Nothing is there: lets others run if the program keeps asking.
    #[cold]
    fn wait(&self) {
        let idle = self.idle.get().wrapping_add(1);
        self.idle.set(idle);
        let job = self.client().job;
        // Time passes in `rounds`, for all contexts at once.
        if job.simulated.is_some() {
            return;
        }
        if idle.is_multiple_of(LOOK_AFTER) {
            self.core().device_mut().skip_lost();
            self.core().report_gone();
            self.report_postponed(false);
            self.report_gone_members();
        }
        let shared = job.is_oversubscribed;
        if idle < YIELD_AFTER[usize::from(!shared)] {
            // The hint takes as long as half a message.
            if idle > PAUSE_AFTER {
                std::hint::spin_loop();
            }
            return;
        }
        // SAFETY: one thread at a time.
        let has_work = unsafe { !(*self.again.get()).is_empty() };
        if shared && idle > SLEEP_AFTER && !has_work && self.core().is_idle() {
            let is_ready = || self.core().device().has_claimed() || !self.work.is_empty();
            job.segment.task(job.task).doorbell.sleep(SLEEP, is_ready);
        } else {
            std::thread::yield_now();
        }
    }
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}
/// `PTHREAD_CANCEL_DISABLE`.
const CANCEL_DISABLE: c_int = 1;

/// While it lives, the thread cannot be cancelled. Cancellation unwinds the stack, and callbacks have cancellation
/// points (`printf` is one): it must not unwind through this library.
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

/// Posted work, in the program's `pami_work_t`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Posted {
    function: WorkFunction,
    cookie: *mut c_void,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_createv(
    handle: *mut c_void,
    configuration: *mut Configuration,
    configurations: usize,
    made: *mut *mut c_void,
    count: usize,
) -> Result {
    // SAFETY: the program gave them.
    let found = unsafe { handle.cast::<Client>().as_ref() };
    let Some(client) = found.filter(|_| !made.is_null()) else {
        return fail(INVAL, "PAMI_Context_createv: there is no such client, or no space for contexts");
    };
    // SAFETY: the program gave them.
    for attribute in unsafe { attributes(configuration, configurations) } {
        // A promise that all tasks create as many, of which nothing follows here.
        if attribute.name != attribute::CLIENT_CONST_CONTEXTS {
            let reason = format!("attribute {} cannot be set", attribute.name);
            return fail(INVAL, format!("PAMI_Context_createv: {reason}"));
        }
    }
    let most = client.job.contexts_max;
    if count == 0 || count > most {
        return fail(INVAL, format!("PAMI_Context_createv: {count} contexts; 1 to {most} can be created"));
    }
    if client.contexts.compare_exchange(0, count, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return fail(INVAL, "PAMI_Context_createv: the client has contexts already");
    }
    for offset in 0..count {
        // SAFETY: the only one, since the client had none.
        let device = unsafe { Device::new(client.job, client.number, offset) };
        let number = device.number();
        let context = Box::new(Context {
            core: UnsafeCell::new(Core::new(device, limits(client.job))),
            dispatches: UnsafeCell::default(),
            callbacks: UnsafeCell::default(),
            collectives: UnsafeCell::default(),
            work: WorkQueue::default(),
            again: UnsafeCell::default(),
            lock: RawMutex::INIT,
            number,
            client,
            is_fenced: Cell::new(false),
            idle: Cell::new(0),
            watch: Watch::default(),
        });
        if let Some(group) = context.core().device().world_group() {
            let geometries = client.geometries.lock().unwrap_or_else(|e| e.into_inner());
            geometries[&0].set_group(Some(group));
        }
        let context = Box::into_raw(context);
        client.handles[offset].store(context, Ordering::Release);
        live().insert(context as usize);
        // SAFETY: the program gave space for `count` handles.
        unsafe { *made.add(offset) = context.cast() };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_destroyv(handles: *mut *mut c_void, count: usize) -> Result {
    for at in 0..count {
        // SAFETY: the program gave `count` handles.
        let handle = unsafe { handles.add(at).as_ref() }.filter(|handle| live().remove(&(**handle as usize)));
        // SAFETY: it is live.
        let Some(found) = handle.and_then(|&handle| unsafe { context(handle) }) else {
            return fail(INVAL, format!("PAMI_Context_destroyv: there is no context at index {at}"));
        };
        found.report_unfinished();
        let offset = found.core().device().endpoint().offset() as usize;
        found.client().handles[offset].store(std::ptr::null_mut(), Ordering::Release);
        found.client().contexts.fetch_sub(1, Ordering::Relaxed);
        found.forget_groups(offset);
        // SAFETY: made by `PAMI_Context_createv`, and now forgotten.
        unsafe {
            drop(Box::from_raw((*handles.add(at)).cast::<Context>()));
            *handles.add(at) = std::ptr::null_mut();
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_query(
    handle: *mut c_void,
    configuration: *mut Configuration,
    count: usize,
) -> Result {
    // SAFETY: the program gave them.
    let (found, attributes) = unsafe { (context(handle), attributes(configuration, count)) };
    if found.is_none() {
        return fail(INVAL, "PAMI_Context_query: there is no such context");
    }
    for attribute in attributes {
        match attribute.name {
            attribute::CONTEXT_DISPATCH_ID_MAX => attribute.value.intval = DISPATCH_MAX,
            other => return fail(INVAL, format!("PAMI_Context_query: attribute {other} is not a context's")),
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_update(
    _context: *mut c_void,
    configuration: *mut Configuration,
    count: usize,
) -> Result {
    // SAFETY: the program gave them.
    unsafe { update(configuration, count) }
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

    /// Wakes the thread that waits in this context: there is work.
    fn ring(&self) {
        let job = self.client().job;
        match job.simulated {
            None => job.segment.task(job.task).doorbell.ring(),
            Some(guest) => {
                if let Some(number) = self.number {
                    guest::lock(guest).posted(number);
                }
            }
        }
    }

    /// Takes the lock, on a simulated node in the order of its time.
    fn take_lock(&self) {
        let Some(thread) = threads::current() else { return self.lock.lock() };
        thread.hub().settle(true);
        thread.wait_until(self.key(), None, || self.lock.try_lock());
    }

    fn try_lock(&self) -> bool {
        if let Some(thread) = threads::current() {
            thread.hub().settle(true);
        }
        self.lock.try_lock()
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds it.
    unsafe fn unlock(&self) {
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

/// The limits of the protocols.
fn limits(job: &Job) -> Limits {
    let simulated = job.simulated.map(|guest| guest::lock(guest).facts().rendezvous_from_bytes);
    let usual = Limits::default();
    Limits { rendezvous_from_bytes: simulated.unwrap_or(usual.rendezvous_from_bytes), ..usual }
}

/// Advances all contexts in each of up to `maximum` rounds, until a round has processed something.
fn rounds(list: &[&Context], maximum: usize, advance: impl Fn(&Context) -> bool) -> Result {
    let _no_cancel = NoCancel::new();
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
    guest::lock(guest).wait(contexts, if has_work { 1 } else { maximum as u64 });
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
            unsafe { context.unlock() };
            is_busy
        }
    };
    rounds(&list, maximum, advance)
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
    found.take_lock();
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
    unsafe { found.unlock() };
    SUCCESS
}
