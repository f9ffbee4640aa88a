//! Clients, endpoints, time and error text.

use crate::abi::*;
use crate::context::Context;
use crate::device::guest::{self, Guest};
use crate::device::{CLIENTS_MAX, CONTEXTS_MAX};
use crate::geometry::Geometry;
use crate::threads;
use netloom_messaging::pami::{Endpoint, Map};
use netloom_shm::launch::World;
use netloom_shm::segment::{Segment, State};
use netloom_shm::{doorbell, memory};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_ulonglong, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// The job that this process takes part in, from its first client to its end.
pub struct Job {
    pub segment: Segment,
    pub task: u32,
    /// The first of the tasks that were started with this one, and how many there are.
    pub first: u32,
    pub tasks: u32,
    /// Whether tasks share cores from the start.
    is_oversubscribed: bool,
    /// Whether data goes through queues only, as where the kernel does not permit access to the memory of
    /// other processes: the environment variable `NETLOOM_SINGLE_COPY` is 0.
    pub two_copies: bool,
    /// The way to the simulator, if this process runs on a simulated node.
    pub simulated: Option<&'static Guest>,
    /// Contexts of a client, and clients.
    pub contexts_max: usize,
    pub clients_max: usize,
    began: Instant,
    locals: Vec<usize>,
    processor_name: CString,
}

static JOB: OnceLock<std::result::Result<Job, String>> = OnceLock::new();
/// The clients, by number: which are in use, and which is to be tried next. Numbers are used in turn, because
/// another task may send to the next client of a number before this one has destroyed the last.
static CLIENTS: Mutex<([bool; CLIENTS_MAX], usize)> = Mutex::new(([false; CLIENTS_MAX], 0));

/// A client.
pub struct Client {
    pub job: &'static Job,
    pub number: usize,
    /// Its name.
    pub name: String,
    pub contexts: AtomicUsize,
    /// The contexts by offset; NULL where there is none.
    pub handles: [AtomicPtr<Context>; CONTEXTS_MAX],
    /// The geometries by identifier.
    pub geometries: Mutex<Map<u32, Arc<Geometry>>>,
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

impl Job {
    /// Whether tasks share cores, so that who waits must let others run.
    #[inline]
    pub fn is_oversubscribed(&self) -> bool {
        self.is_oversubscribed || self.segment.is_crowded()
    }

    /// Whether there is such a task, or was: of these, and of those that were started by others or have
    /// started these.
    #[inline]
    pub fn has(&self, task: u32) -> bool {
        self.segment.has(task)
    }

    /// The tasks of this node.
    pub fn locals(&self) -> &[usize] {
        &self.locals
    }
}

/// The number of this task; `None` before the first client.
pub fn task() -> Option<u32> {
    JOB.get()?.as_ref().ok().map(|job| job.task)
}

/// Returns a result, and keeps its description for `PAMI_Error_text`.
pub fn fail(result: Result, reason: impl std::fmt::Display) -> Result {
    if result == INVAL && crate::check::is_on() {
        crate::check::report(&reason);
    }
    LAST.with(|last| *last.borrow_mut() = reason.to_string());
    result
}

fn start() -> std::result::Result<Job, String> {
    let (segment, task) = Segment::attach().map_err(|e| e.to_string())?;
    memory::permit_all();
    let simulated = Guest::attach(task).map_err(|e| e.to_string())?;
    match simulated {
        // SAFETY: a function that may run when the process ends.
        Some(_) => unsafe { on_exit(leave, std::ptr::null_mut()) },
        // SAFETY: a function that may run in a forked child.
        None => unsafe { libc::pthread_atfork(None, None, Some(crate::check::forked)) },
    };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let world = World::of_environment().filter(|of| (of.first..of.first + of.count).contains(&task));
    let (first, tasks) = world.map_or((0, segment.tasks()), |world| (world.first, world.count));
    // The launcher pins a task to a core where there are enough: then this process sees one.
    let is_oversubscribed = tasks as usize > cores && cores > 1 || is_shared(tasks);
    // Where tasks share cores they sleep at almost every wait. A fence of others by the kernel takes up to
    // 100 us then, and tasks queue for it; one's own takes 20 ns for each message.
    // All tasks of a job must do the same.
    if segment.spares_fences(!is_oversubscribed) {
        doorbell::spare_fences();
    }
    let facts = simulated.map(|guest| guest::lock(guest).facts().clone());
    let (contexts_max, clients_max) =
        facts.as_ref().map_or((CONTEXTS_MAX, CLIENTS_MAX), |f| guest::contexts_and_clients(f.contexts));
    let locals = match &facts {
        None => (first as usize..(first + tasks) as usize).collect(),
        Some(facts) => {
            let first = task / facts.tasks_per_node * facts.tasks_per_node;
            (first as usize..(first + facts.tasks_per_node).min(tasks) as usize).collect()
        }
    };
    let name = match &facts {
        None => format!("netloom task {task}"),
        Some(facts) => format!("netloom task {task} on {}", facts.machine.replace('\0', " ")),
    };
    Ok(Job {
        task,
        first,
        tasks,
        contexts_max,
        clients_max,
        simulated,
        is_oversubscribed,
        two_copies: std::env::var("NETLOOM_SINGLE_COPY").is_ok_and(|value| value == "0"),
        began: Instant::now(),
        locals,
        processor_name: CString::new(name).expect("no zeros"),
        segment,
    })
}

/// The job, which this process joins by the first call.
///
/// # Errors
/// Why it cannot.
pub fn job() -> std::result::Result<&'static Job, &'static str> {
    let init = || {
        IS_JOINING.store(true, Ordering::Relaxed);
        let job = start();
        IS_JOINING.store(false, Ordering::Relaxed);
        job
    };
    JOB.get_or_init(init).as_ref().map_err(String::as_str)
}

static IS_JOINING: AtomicBool = AtomicBool::new(false);

/// Whether this process is about to join it.
pub fn is_joining() -> bool {
    IS_JOINING.load(Ordering::Relaxed)
}

unsafe extern "C" {
    /// As `atexit`, with the exit status; an extension of glibc.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The process ends: its node's time goes on without it. Not after a failure while it has clients, which the
/// launcher reports: others that wait for it would report a deadlock before.
extern "C" fn leave(status: c_int, _: *mut c_void) {
    let has_clients = || CLIENTS.lock().unwrap_or_else(|e| e.into_inner()).0.contains(&true);
    if status != 0 && has_clients() {
        return;
    }
    if let Some(thread) = threads::current() {
        thread.hub().leave();
    }
}

/// Whether there are more tasks than cores in the computer.
fn is_shared(tasks: u32) -> bool {
    // SAFETY: a library call without pointers.
    let cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    i64::from(tasks) > cores
}

/// # Safety
/// `client` is a client that has not been destroyed.
unsafe fn client<'a>(client: *mut c_void) -> Option<&'a Client> {
    // SAFETY: the caller's promise.
    unsafe { client.cast::<Client>().as_ref() }
}

/// The attributes to be queried or set.
///
/// # Safety
/// `configuration` points to `count` of them.
pub unsafe fn attributes<'a>(configuration: *mut Configuration, count: usize) -> &'a mut [Configuration] {
    if configuration.is_null() || count == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(configuration, count) }
}

/// Fills in attributes by `fill`, which returns whether it knows one. Those that it does not know make the
/// result INVAL, but do not hinder the others.
pub fn query(
    call: &str,
    whose: &str,
    attributes: &mut [Configuration],
    fill: impl Fn(&mut Configuration) -> bool,
) -> Result {
    let mut result = SUCCESS;
    for attribute in attributes {
        if !fill(attribute) {
            result = fail(INVAL, format!("{call}: attribute {} is not {whose}'s", attribute.name));
        }
    }
    result
}

/// Attributes that cannot be changed, all of them.
///
/// # Safety
/// As [`attributes`].
pub unsafe fn update(configuration: *mut Configuration, count: usize) -> Result {
    // SAFETY: the caller's promise.
    match unsafe { attributes(configuration, count) } {
        [] => SUCCESS,
        [first, ..] => fail(INVAL, format!("attribute {} cannot be changed", first.name)),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Client_create(
    name: *const c_char,
    made: *mut *mut c_void,
    configuration: *mut Configuration,
    count: usize,
) -> Result {
    if name.is_null() || made.is_null() {
        return fail(INVAL, "PAMI_Client_create: name or client is NULL");
    }
    // Any name is valid, as on Blue Gene/Q, also an empty one: clients are distinguished by the order of
    // their creation.
    // SAFETY: the program gave them.
    let attributes = unsafe { attributes(configuration, count) };
    for attribute in attributes {
        if !matches!(attribute.name, attribute::CLIENT_NONCONTIG | attribute::CLIENT_MEMORY_OPTIMIZE) {
            return fail(INVAL, format!("PAMI_Client_create: attribute {} cannot be set", attribute.name));
        }
    }
    let job = match job() {
        Ok(job) => job,
        Err(reason) => return fail(ERROR, format!("PAMI_Client_create: {reason}")),
    };
    let mut clients = CLIENTS.lock().unwrap_or_else(|e| e.into_inner());
    let (in_use, next) = &mut *clients;
    let most = job.clients_max;
    let Some(number) = (*next..*next + most).map(|n| n % most).find(|&n| !in_use[n]) else {
        return fail(ENOMEM, format!("PAMI_Client_create: there are {most} clients already"));
    };
    in_use[number] = true;
    *next = number + 1;
    job.segment.task(job.task).set_state(State::Running);
    let world = Geometry::world(job.first, job.tasks);
    // SAFETY: the program gave it.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let client = Box::new(Client {
        job,
        number,
        name,
        contexts: AtomicUsize::new(0),
        handles: Default::default(),
        geometries: Mutex::new(Map::from_iter([(0, Arc::new(world))])),
    });
    // SAFETY: the program gave it.
    unsafe { *made = Box::into_raw(client).cast() };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Client_destroy(handle: *mut *mut c_void) -> Result {
    // SAFETY: the program gave it.
    let Some(found) = (unsafe { handle.as_ref().and_then(|&handle| client(handle)) }) else {
        return fail(INVAL, "PAMI_Client_destroy: there is no such client");
    };
    let left = found.contexts.load(Ordering::Relaxed);
    if left > 0 {
        return fail(INVAL, format!("PAMI_Client_destroy: {left} contexts of the client are not destroyed"));
    }
    let mut clients = CLIENTS.lock().unwrap_or_else(|e| e.into_inner());
    let (in_use, _) = &mut *clients;
    in_use[found.number] = false;
    if in_use.iter().all(|in_use| !in_use) {
        found.job.segment.task(found.job.task).set_state(State::Finished);
    }
    // SAFETY: made by `PAMI_Client_create`, and now forgotten.
    unsafe {
        drop(Box::from_raw((*handle).cast::<Client>()));
        *handle = std::ptr::null_mut();
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Client_query(
    handle: *mut c_void,
    configuration: *mut Configuration,
    count: usize,
) -> Result {
    // SAFETY: the program gave them.
    let (found, attributes) = unsafe { (client(handle), attributes(configuration, count)) };
    let Some(Client { job, .. }) = found else {
        return fail(INVAL, "PAMI_Client_query: there is no such client");
    };
    query("PAMI_Client_query", "a client", attributes, |attribute| {
        let value = &mut attribute.value;
        match attribute.name {
            attribute::CLIENT_CLOCK_MHZ => {
                value.intval = job
                    .simulated
                    .map_or_else(clock_mhz, |guest| guest::lock(guest).facts().core_mhz.round() as usize)
            }
            attribute::CLIENT_CONST_CONTEXTS => value.intval = 1,
            attribute::CLIENT_HWTHREADS_AVAILABLE => {
                let here = || std::thread::available_parallelism().map_or(1, |n| n.get());
                value.intval =
                    job.simulated.map_or_else(here, |guest| guest::lock(guest).facts().threads as usize);
            }
            attribute::CLIENT_MEMREGION_SIZE => value.intval = size_of::<MemoryRegion>(),
            attribute::CLIENT_MEM_SIZE => value.intval = memory_mib(),
            attribute::CLIENT_NUM_TASKS => value.intval = job.tasks as usize,
            attribute::CLIENT_NUM_LOCAL_TASKS => value.intval = job.locals.len(),
            attribute::CLIENT_LOCAL_TASKS => value.intarray = job.locals.as_ptr(),
            attribute::CLIENT_NUM_CONTEXTS => value.intval = job.contexts_max,
            attribute::CLIENT_PROCESSOR_NAME => value.chararray = job.processor_name.as_ptr(),
            attribute::CLIENT_TASK_ID => value.intval = job.task as usize,
            attribute::CLIENT_WTIMEBASE_MHZ => value.intval = 1000,
            attribute::CLIENT_WTICK => value.doubleval = 1e-9,
            attribute::CLIENT_NONCONTIG => value.intval = 1,
            attribute::CLIENT_MEMORY_OPTIMIZE => value.intval = 0,
            attribute::CLIENT_ASYNC_GUARANTEE => value.intval = 1,
            _ => return false,
        }
        true
    })
}

/// Rate of the first core's clock, MHz; 1000 where the system does not say.
fn clock_mhz() -> usize {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("cpu MHz")?.split(':').nth(1));
    line.and_then(|mhz| mhz.trim().parse::<f64>().ok()).map_or(1000, |mhz| mhz.round() as usize)
}

/// Main memory, MiB.
fn memory_mib() -> usize {
    // SAFETY: library calls without pointers.
    let [pages, bytes] =
        [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    ((pages.max(0) * bytes.max(0)) >> 20) as usize
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Client_update(
    _client: *mut c_void,
    configuration: *mut Configuration,
    count: usize,
) -> Result {
    // SAFETY: the program gave them.
    unsafe { update(configuration, count) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Endpoint_create(
    handle: *mut c_void,
    task: u32,
    offset: usize,
    endpoint: *mut u32,
) -> Result {
    // SAFETY: the program gave them.
    let Some((client, endpoint)) = (unsafe { client(handle).zip(endpoint.as_mut()) }) else {
        return fail(INVAL, "PAMI_Endpoint_create: client or endpoint is NULL");
    };
    match Endpoint::new(task, u32::try_from(offset).unwrap_or(u32::MAX)) {
        Some(made) if client.job.has(task) => *endpoint = made.0,
        _ => {
            let tasks = client.job.segment.tasks_ever();
            let reason =
                format!("PAMI_Endpoint_create: no context {offset} of task {task} among {tasks} tasks");
            return fail(INVAL, reason);
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Endpoint_query(endpoint: u32, task: *mut u32, offset: *mut usize) -> Result {
    // SAFETY: the program gave them.
    let Some((task, offset)) = (unsafe { task.as_mut().zip(offset.as_mut()) }) else {
        return fail(INVAL, "PAMI_Endpoint_query: task or offset is NULL");
    };
    (*task, *offset) = (Endpoint(endpoint).task(), Endpoint(endpoint).offset() as usize);
    SUCCESS
}

/// The time, ns.
fn elapsed_ns(handle: *mut c_void) -> f64 {
    // SAFETY: the program gave it.
    let Some(client) = (unsafe { client(handle) }) else { return 0.0 };
    match client.job.simulated {
        None => client.job.began.elapsed().as_nanos() as f64,
        Some(guest) => guest::lock(guest).now_ns(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Wtime(client: *mut c_void) -> f64 {
    elapsed_ns(client) / 1e9
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Wtimebase(client: *mut c_void) -> c_ulonglong {
    elapsed_ns(client) as c_ulonglong
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Error_text(text: *mut c_char, length: usize) -> usize {
    if text.is_null() || length == 0 {
        return 0;
    }
    LAST.with(|last| {
        let last = last.borrow();
        let bytes = last.as_bytes();
        let count = bytes.len().min(length - 1);
        // SAFETY: the program gave space for `length` characters.
        unsafe {
            text.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), count);
            *text.add(count) = 0;
        }
        count
    })
}
