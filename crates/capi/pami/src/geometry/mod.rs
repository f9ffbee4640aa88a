//! Geometries: creation, destruction, attributes, lists of algorithms. The handle is the address of a
//! [`Geometry`].
//!
//! Creation ends with a barrier: over the parent, or else over the first member of each task. So the members
//! of a geometry that uses an identifier again have all left the one that used it before.

mod optimize;

use crate::abi::*;
use crate::check::{self, enter};
use crate::client::{Client, attributes, fail, query};
use crate::collectives::algorithms::{ALGORITHMS, Algorithm, Method, check, of_kind};
use crate::collectives::plan::barrier;
use crate::collectives::{Done, key};
use crate::context::{Context, context};
use crate::device::CONTEXTS_MAX;
use crate::xfer::{
    ALL_TYPES_AND_OPERATIONS, CHECK_REQUIRED, CheckFunction, FLOW_CONTROL, Metadata, OVERLAP, RANGE,
    TaskRange, kind,
};
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::device::{GroupLimits, PamiDevice};
use netloom_messaging::pami::geometry::{Offsets, Topology};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Most algorithms of a geometry; the alignment of [`Geometry`].
const ALGORITHMS_MAX: usize = 256;

/// A geometry. An algorithm's handle is its address plus the number of the algorithm.
#[repr(align(256))]
pub struct Geometry {
    pub id: u32,
    pub members: Arc<Topology>,
    /// The next operation of each context that is a member.
    sequences: [AtomicU32; CONTEXTS_MAX],
    /// The group of the member's device that does its collectives; [`NO_GROUP`] if there is none.
    group: AtomicUsize,
    /// Its limits, those of a broadcast and of an allreduce.
    limits: [AtomicU64; 2],
}

const NO_GROUP: usize = usize::MAX;

impl Geometry {
    fn new(id: u32, members: Topology) -> Self {
        // 0 is that of the creation.
        let sequences = std::array::from_fn(|_| AtomicU32::new(1));
        let (group, limits) = (AtomicUsize::new(NO_GROUP), [u64::MAX; 2].map(AtomicU64::new));
        Geometry { id, members: Arc::new(members), sequences, group, limits }
    }

    /// The geometry of all tasks.
    pub fn world(first: u32, tasks: u32) -> Self {
        let last = first + tasks.saturating_sub(1);
        Geometry::new(0, Topology::of_ranges([(first, last)], Offsets::One(0)))
    }

    /// The group of the member's device that does its collectives.
    pub fn group(&self) -> Option<usize> {
        Some(self.group.load(Ordering::Relaxed)).filter(|&group| group != NO_GROUP)
    }

    /// The same with its limits.
    pub fn limited_group(&self) -> Option<(usize, GroupLimits)> {
        let [broadcast_bytes, allreduce_bytes] =
            [0, 1].map(|n: usize| self.limits[n].load(Ordering::Relaxed));
        Some((self.group()?, GroupLimits { broadcast_bytes, allreduce_bytes }))
    }

    /// Sets the group.
    pub fn set_group(&self, group: Option<usize>) {
        self.group.store(group.unwrap_or(NO_GROUP), Ordering::Relaxed);
    }

    /// Sets the group's limits.
    pub fn limit_group(&self, limits: GroupLimits) {
        self.limits[0].store(limits.broadcast_bytes, Ordering::Relaxed);
        self.limits[1].store(limits.allreduce_bytes, Ordering::Relaxed);
    }

    pub fn handle(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// The index of a context, and the number of its next operation.
    pub fn next_operation(&self, context: &Context) -> Option<(usize, u32)> {
        let endpoint = context.core().device().endpoint();
        let me = self.members.member(endpoint)?;
        Some((me, self.sequences[endpoint.offset() as usize].fetch_add(1, Ordering::Relaxed)))
    }
}

/// The geometry of a handle.
///
/// # Safety
/// The handle is NULL, or of a geometry that has not been destroyed.
unsafe fn geometry<'a>(handle: *mut c_void) -> Option<&'a Geometry> {
    // SAFETY: the caller's promise.
    unsafe { handle.cast::<Geometry>().as_ref() }
}

/// The geometry and the algorithm of an algorithm's handle.
///
/// # Safety
/// The handle is 0, or of a geometry that has not been destroyed.
pub unsafe fn algorithm<'a>(handle: usize) -> Option<(&'a Geometry, &'static Algorithm)> {
    let number = handle % ALGORITHMS_MAX;
    // SAFETY: the caller's promise; `PAMI_Geometry_algorithms_query` gave the address.
    let geometry = unsafe { geometry(std::ptr::with_exposed_provenance_mut(handle - number)) }?;
    Some((geometry, ALGORITHMS.get(number)?))
}

/// Whether an algorithm's handle is of a geometry that the context's client has.
pub fn is_live(context: &Context, handle: usize) -> bool {
    let geometries = context.client().geometries.lock().unwrap_or_else(|e| e.into_inner());
    let is_same = |found: &Arc<Geometry>| Arc::as_ptr(found) as usize == handle - handle % ALGORITHMS_MAX;
    geometries.values().any(is_same)
}

/// What the functions that create have in common.
struct Creation {
    call: &'static str,
    client: *mut c_void,
    geometry: *mut *mut c_void,
    parent: *mut c_void,
    id: u32,
    context: *mut c_void,
    done: Done,
}

impl Creation {
    /// # Safety
    /// The program gave the handles.
    unsafe fn start(
        self,
        members: impl FnOnce(&Client) -> Option<Topology>,
        configuration: &[Configuration],
    ) -> Result {
        let Creation { call, client, geometry: made, parent, id, context: handle, done } = self;
        // SAFETY: the caller's promise.
        let (client, context, parent) =
            unsafe { (client.cast::<Client>().as_ref(), enter(call, handle), geometry(parent)) };
        let Some((client, context)) = client.as_ref().zip(context.as_deref()) else {
            return fail(INVAL, format!("{call}: client or context is NULL"));
        };
        let is_known = |attribute: &Configuration| {
            (attribute::GEOMETRY_OPTIMIZE..=attribute::GEOMETRY_MEMORY_OPTIMIZE).contains(&attribute.name)
        };
        if let Some(other) = configuration.iter().find(|attribute| !is_known(attribute)) {
            return fail(INVAL, format!("{call}: attribute {} is not a geometry's", other.name));
        }
        let Some(members) = members(client).filter(|members| !members.is_empty()) else {
            return fail(INVAL, format!("{call}: there are no members, or they are NULL"));
        };
        let leaders = Arc::new(members.leaders());
        let optimize = configuration.iter().rfind(|c| c.name == attribute::GEOMETRY_OPTIMIZE);
        // SAFETY: the attribute's value is a number.
        let is_wanted = optimize.map(|attribute| unsafe { attribute.value.intval } != 0);
        let mut done = done;
        if made.is_null() && parent.is_none() {
            return fail(INVAL, format!("{call}: without a parent, only members create a geometry"));
        }
        if !made.is_null() {
            let created = Arc::new(Geometry::new(id, members));
            let created_handle = created.handle();
            let mut geometries = client.geometries.lock().unwrap_or_else(|e| e.into_inner());
            if id == 0 || geometries.contains_key(&id) {
                return fail(INVAL, format!("{call}: identifier {id} is in use"));
            }
            if let Some(is_wanted) = is_wanted {
                let next = Next { geometry: Arc::clone(&created), done, is_wanted };
                done = Done { function: Some(optimize_next), cookie: Box::into_raw(Box::new(next)).cast() };
            }
            geometries.insert(id, created);
            // SAFETY: the program gave it.
            unsafe { *made = created_handle };
        }
        let result = match parent.map(|parent| (parent, parent.next_operation(context))) {
            Some((parent, Some((member, sequence)))) => {
                let plan = barrier(parent.members.len(), member);
                context.start_collective(key(parent.id, sequence), &parent.members, member, plan, done);
                SUCCESS
            }
            Some((_, None)) => fail(INVAL, format!("{call}: the context is not a member of the parent")),
            None => synchronise_leaders(call, client, context, leaders, id, done),
        };
        if result != SUCCESS && !made.is_null() {
            client.geometries.lock().unwrap_or_else(|e| e.into_inner()).remove(&id);
            // SAFETY: the program gave it.
            unsafe { *made = std::ptr::null_mut() };
        }
        result
    }
}

/// A barrier over the first members of all tasks, which may be other contexts than the caller's.
fn synchronise_leaders(
    call: &str,
    client: &Client,
    context: &Context,
    leaders: Arc<Topology>,
    id: u32,
    done: Done,
) -> Result {
    let own = (0..leaders.len()).find_map(|member| {
        let endpoint = leaders.endpoint(member)?;
        (endpoint.task() == client.job.task).then_some((member, endpoint))
    });
    let Some((me, endpoint)) = own else {
        return fail(INVAL, format!("{call}: this task is not a member"));
    };
    let plan = barrier(leaders.len(), me);
    let leader = client.handles[endpoint.offset() as usize].load(Ordering::Acquire);
    let start = move |leader: &Context, done| {
        leader.start_collective(key(id, 0), &leaders, me, plan, done);
    };
    match run_in(context, leader, done, start) {
        true => SUCCESS,
        false => fail(INVAL, format!("{call}: there is no {endpoint} here")),
    }
}

/// Runs something in a context of this task, whose end is reported in the caller's. Returns whether there is
/// the context.
fn run_in(
    caller: &Context,
    context: *mut Context,
    done: Done,
    run: impl FnOnce(&Context, Done) + 'static,
) -> bool {
    if context == caller.handle().cast() {
        run(caller, done);
        return true;
    }
    // SAFETY: a client's contexts are destroyed only when nothing uses them.
    let Some(context) = (unsafe { context.as_ref() }) else { return false };
    let remote = Box::into_raw(Box::new((caller.handle(), done)));
    let done = Done { function: Some(ended_elsewhere), cookie: remote.cast() };
    context.post_internal(move |context| run(context, done));
    true
}

/// What follows the creation of a geometry with the attribute `GEOMETRY_OPTIMIZE`.
struct Next {
    geometry: Arc<Geometry>,
    done: Done,
    is_wanted: bool,
}

/// The geometry has been created: its members agree on a class. Those whose attribute is 0 take part, since
/// programs of others leave the value unset, so it may be 0 at some members only.
unsafe extern "C" fn optimize_next(handle: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: made by `Creation::start`, and reported once, by the context itself.
    let (found, next) = unsafe { (context(handle), *Box::from_raw(cookie.cast::<Next>())) };
    let Some(context) = found else { return };
    let Next { geometry, done, is_wanted } = next;
    let change = if is_wanted { optimize::optimize } else { optimize::decline };
    if result != SUCCESS || !optimize::in_member(context, &geometry, done, change) {
        context.report_later(done, result);
    }
}

/// What another context did is done: reports it in the caller's.
unsafe extern "C" fn ended_elsewhere(_: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: made by `run_in`, and reported once.
    let (handle, done) = *unsafe { Box::from_raw(cookie.cast::<(*mut c_void, Done)>()) };
    // SAFETY: the program keeps the context until the geometry is ready.
    if let Some(caller) = unsafe { context(handle) } {
        caller.post_internal(move |caller| caller.report_later(done, result));
    }
}

/// The contexts of each task that an offset names.
fn offsets(client: &Client, offset: usize) -> Offsets {
    match offset {
        usize::MAX => Offsets::All(client.contexts.load(Ordering::Relaxed) as u32),
        offset => Offsets::One(u32::try_from(offset).unwrap_or(u32::MAX)),
    }
}

/// The elements of an array; `None` if it is NULL and has a length.
///
/// # Safety
/// The program gave it.
unsafe fn array<'a, T>(address: *const T, count: usize) -> Option<&'a [T]> {
    match (address.is_null(), count) {
        (_, 0) => Some(&[]),
        (true, _) => None,
        // SAFETY: the caller's promise.
        (false, _) => Some(unsafe { std::slice::from_raw_parts(address, count) }),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_create_taskrange(
    client: *mut c_void,
    offset: usize,
    configuration: *mut Configuration,
    configurations: usize,
    geometry: *mut *mut c_void,
    parent: *mut c_void,
    id: u32,
    ranges: *const TaskRange,
    count: usize,
    context: *mut c_void,
    function: EventFunction,
    cookie: *mut c_void,
) -> Result {
    let call = "PAMI_Geometry_create_taskrange";
    let creation = Creation { call, client, geometry, parent, id, context, done: Done { function, cookie } };
    // SAFETY: the program gave them.
    unsafe {
        let members = |client: &Client| {
            let ranges = array(ranges, count)?.iter().map(|range| (range.low, range.high));
            Some(Topology::of_ranges(ranges, offsets(client, offset)))
        };
        creation.start(members, attributes(configuration, configurations))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_create_tasklist(
    client: *mut c_void,
    offset: usize,
    configuration: *mut Configuration,
    configurations: usize,
    geometry: *mut *mut c_void,
    parent: *mut c_void,
    id: u32,
    tasks: *const u32,
    count: usize,
    context: *mut c_void,
    function: EventFunction,
    cookie: *mut c_void,
) -> Result {
    let call = "PAMI_Geometry_create_tasklist";
    let creation = Creation { call, client, geometry, parent, id, context, done: Done { function, cookie } };
    // SAFETY: the program gave them.
    unsafe {
        let members =
            |client: &Client| Some(Topology::of_tasks(array(tasks, count)?, offsets(client, offset)));
        creation.start(members, attributes(configuration, configurations))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_create_endpointlist(
    client: *mut c_void,
    configuration: *mut Configuration,
    configurations: usize,
    geometry: *mut *mut c_void,
    id: u32,
    endpoints: *const u32,
    count: usize,
    context: *mut c_void,
    function: EventFunction,
    cookie: *mut c_void,
) -> Result {
    let call = "PAMI_Geometry_create_endpointlist";
    let parent = std::ptr::null_mut();
    let creation = Creation { call, client, geometry, parent, id, context, done: Done { function, cookie } };
    // SAFETY: the program gave them.
    unsafe {
        let members = |_: &Client| {
            let list: Vec<Endpoint> = array(endpoints, count)?.iter().copied().map(Endpoint).collect();
            Some(Topology::of_endpoints(&list))
        };
        creation.start(members, attributes(configuration, configurations))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_world(client: *mut c_void, made: *mut *mut c_void) -> Result {
    // SAFETY: the program gave them.
    let Some((client, made)) = (unsafe { client.cast::<Client>().as_ref().zip(made.as_mut()) }) else {
        return fail(INVAL, "PAMI_Geometry_world: client or geometry is NULL");
    };
    let geometries = client.geometries.lock().unwrap_or_else(|e| e.into_inner());
    *made = geometries[&0].handle();
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_destroy(
    client: *mut c_void,
    handle: *mut *mut c_void,
    on: *mut c_void,
    function: EventFunction,
    cookie: *mut c_void,
) -> Result {
    // SAFETY: the program gave them.
    let found = unsafe {
        if check::is_on()
            && let Some((&handle, context)) = handle.as_ref().zip(context(on))
            && !handle.is_null()
            && !is_live(context, handle as usize)
        {
            return check::refuse_geometry("PAMI_Geometry_destroy", handle);
        }
        let found = handle.as_ref().and_then(|&handle| geometry(handle));
        client.cast::<Client>().as_ref().zip(enter("PAMI_Geometry_destroy", on)).zip(found)
    };
    let Some(((client, context), found)) = found else {
        return fail(INVAL, "PAMI_Geometry_destroy: client, geometry or context is NULL");
    };
    if found.id == 0 {
        return fail(INVAL, "PAMI_Geometry_destroy: the world geometry cannot be destroyed");
    }
    let id = found.id;
    let pending = if check::is_on() { context.collectives().pending_of(id) } else { 0 };
    if pending > 0 {
        check::report(format!(
            "PAMI_Geometry_destroy: {pending} collectives of geometry {id} are under way; advance the context until they \
             are complete"
        ));
    }
    // SAFETY: the program gave it.
    unsafe { *handle = std::ptr::null_mut() };
    let removed = client.geometries.lock().unwrap_or_else(|e| e.into_inner()).remove(&id);
    let done = Done { function, cookie };
    let optimized = removed.filter(|geometry| geometry.group().is_some());
    if !optimized.is_some_and(|geometry| optimize::in_member(&context, &geometry, done, optimize::deoptimize))
    {
        context.report_later(done, SUCCESS);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_query(
    handle: *mut c_void,
    configuration: *mut Configuration,
    count: usize,
) -> Result {
    // SAFETY: the program gave them.
    let (found, attributes) = unsafe { (geometry(handle), attributes(configuration, count)) };
    if found.is_none() {
        return fail(INVAL, "PAMI_Geometry_query: there is no such geometry");
    }
    query("PAMI_Geometry_query", "a geometry", attributes, |attribute| {
        attribute.value.intval = match attribute.name {
            attribute::GEOMETRY_OPTIMIZE => usize::from(found.is_some_and(|found| found.group().is_some())),
            attribute::GEOMETRY_MEMORY_OPTIMIZE => 0,
            attribute::GEOMETRY_NONCONTIG => 1,
            _ => return false,
        };
        true
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_update(
    handle: *mut c_void,
    configuration: *mut Configuration,
    count: usize,
    on: *mut c_void,
    function: EventFunction,
    cookie: *mut c_void,
) -> Result {
    // SAFETY: the program gave them.
    let (found, attributes) = unsafe {
        (geometry(handle).zip(enter("PAMI_Geometry_update", on)), attributes(configuration, count))
    };
    let Some((found, context)) = found else {
        return fail(INVAL, "PAMI_Geometry_update: geometry or context is NULL");
    };
    if let Some(other) = attributes.iter().find(|found| found.name != attribute::GEOMETRY_OPTIMIZE) {
        return fail(INVAL, format!("PAMI_Geometry_update: attribute {} cannot be changed", other.name));
    }
    // A geometry keeps working where there is no collective hardware, says the reference, and a query shows
    // 0.
    let done = Done { function, cookie };
    let geometries = context.client().geometries.lock().unwrap_or_else(|e| e.into_inner());
    let shared = geometries.get(&found.id).cloned();
    drop(geometries);
    // SAFETY: the program set the attribute, whose value is a number.
    let change = attributes.last().map(|attribute| match unsafe { attribute.value.intval } {
        0 => optimize::deoptimize,
        _ => optimize::optimize,
    });
    if !shared
        .zip(change)
        .is_some_and(|(shared, change)| optimize::in_member(&context, &shared, done, change))
    {
        context.report_later(done, SUCCESS);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_algorithms_num(
    handle: *mut c_void,
    kind: u32,
    lengths: *mut usize,
) -> Result {
    // SAFETY: the program gave it.
    let found = unsafe { geometry(handle) }.filter(|_| !lengths.is_null() && kind < kind::COUNT);
    let Some(found) = found else {
        return fail(
            INVAL,
            format!("PAMI_Geometry_algorithms_num: invalid geometry, collective {kind} or lengths"),
        );
    };
    let lists = of_kind(kind, found.limited_group());
    // SAFETY: the program gave space for two.
    unsafe { lengths.cast::<[usize; 2]>().write(lists.map(|list| list.len())) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Geometry_algorithms_query(
    handle: *mut c_void,
    kind: u32,
    always: *mut usize,
    always_metadata: *mut Metadata,
    always_count: usize,
    checked: *mut usize,
    checked_metadata: *mut Metadata,
    checked_count: usize,
) -> Result {
    // SAFETY: the program gave it.
    let Some(found) = (unsafe { geometry(handle) }).filter(|_| kind < kind::COUNT) else {
        return fail(INVAL, format!("PAMI_Geometry_algorithms_query: invalid geometry or collective {kind}"));
    };
    let listed = of_kind(kind, found.limited_group());
    if always_count > listed[0].len() || checked_count > listed[1].len() {
        let [always, checked] = listed.map(|list| list.len());
        return fail(
            INVAL,
            format!("PAMI_Geometry_algorithms_query: the lists have {always} and {checked} algorithms"),
        );
    }
    let lists = [
        (always, always_metadata, always_count, &listed[0], false),
        (checked, checked_metadata, checked_count, &listed[1], true),
    ];
    for (handles, metadata, count, numbers, is_checked) in lists {
        for (n, &number) in numbers[..count].iter().enumerate() {
            // SAFETY: the program gave space for as many, or NULL.
            unsafe {
                if !handles.is_null() {
                    *handles.add(n) = found.handle().expose_provenance() + number;
                }
                if !metadata.is_null() {
                    metadata.add(n).write(metadata_of(&ALGORITHMS[number], is_checked));
                }
            }
        }
    }
    SUCCESS
}

/// What the program is told about an algorithm. A need that depends on the command, not only on the geometry,
/// must be checked before each use. All members come to the same result.
fn metadata_of(algorithm: &Algorithm, is_checked: bool) -> Metadata {
    let needs = algorithm.needs;
    let has_range = needs.bytes_max < usize::MAX;
    let flags = [
        (CHECK_REQUIRED, needs.commutative || needs.words),
        (RANGE, has_range),
        (ALL_TYPES_AND_OPERATIONS, !needs.commutative && !needs.words),
        (OVERLAP, algorithm.method != Method::ActiveMessage),
        (FLOW_CONTROL, algorithm.method == Method::ActiveMessage),
    ];
    let check_fn = is_checked.then_some(check as CheckFunction);
    Metadata {
        name: algorithm.name.as_ptr(),
        version: 1,
        check_fn,
        range_low: 0,
        range_high: needs.bytes_max,
        send_min_align: 1,
        receive_min_align: 1,
        correct: flags.into_iter().filter(|&(_, is_set)| is_set).fold(0, |all, (flag, _)| all | flag),
        perf: 0,
        range_low_perf: algorithm.range[0],
        range_high_perf: algorithm.range[1],
        min_align_perf: 1,
    }
}
