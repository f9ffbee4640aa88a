//! `PAMI_GEOMETRY_OPTIMIZE` (Kumar et al., section III.D: "optimize" and "deoptimize"): a geometry takes a
//! class of the collective network, of which there are few, or gives it back.
//!
//! Members agree on a class that is free at all of them by an allreduce over messages, each sets up its part,
//! and a barrier over messages follows, because nobody may use the class before all have. It is given back
//! after such a barrier too, when no packet of an operation is under way at any member; and another barrier
//! follows, so that the class is free at all members for what they do next.

use super::Geometry;
use crate::abi::*;
use crate::collectives::plan::{agreement, barrier};
use crate::collectives::{Done, Plan};
use crate::context::{Context, context};
use netloom_messaging::pami::device::PamiDevice;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An agreement of this process is in progress: what it has offered there, another must not offer too.
static IS_OFFERED: AtomicBool = AtomicBool::new(false);

/// A geometry that takes a class or gives it back.
struct Change {
    geometry: Arc<Geometry>,
    /// Ranges of its tasks.
    tasks: Vec<(u32, u32)>,
    /// The classes that are free at this member, and at all of them.
    free: u64,
    agreed: u64,
    has_offered: bool,
    /// The device's group, when this member has joined it.
    group: Option<usize>,
    done: Done,
}

/// Takes a class, if there is one that is free at all members; then calls the function. The context is the
/// member's.
pub fn optimize(context: &Context, geometry: Arc<Geometry>, done: Done) {
    agree(context, geometry, done, true);
}

/// Takes part in the agreement of others, and offers no class; so none of them gets one.
pub fn decline(context: &Context, geometry: Arc<Geometry>, done: Done) {
    agree(context, geometry, done, false);
}

fn agree(context: &Context, geometry: Arc<Geometry>, done: Done, is_wanted: bool) {
    let tasks = geometry.members.task_ranges();
    let Some(tasks) = tasks.filter(|_| context.core().device().has_groups() && geometry.group().is_none())
    else {
        return context.report_later(done, SUCCESS);
    };
    let has_offered = is_wanted && !IS_OFFERED.swap(true, Ordering::Acquire);
    let free = if has_offered { context.core().device_mut().free_classes(&tasks) } else { 0 };
    let mut change = Box::new(Change { geometry, tasks, free, agreed: 0, has_offered, group: None, done });
    let areas = [&raw mut change.free, &raw mut change.agreed].map(<*mut u64>::cast);
    change.run(context, move |count, me| agreement(count, me, areas), agreed);
}

/// Gives the class back, if there is one; then calls the function. The context is the member's.
pub fn deoptimize(context: &Context, geometry: Arc<Geometry>, done: Done) {
    if geometry.group().is_none() {
        return context.report_later(done, SUCCESS);
    }
    let change =
        Change { geometry, tasks: vec![], free: 0, agreed: 0, has_offered: false, group: None, done };
    Box::new(change).run(context, barrier, all_idle);
}

impl Change {
    /// Runs a collective of the geometry over messages; then calls the function with this.
    fn run(
        self: Box<Self>,
        context: &Context,
        plan: impl FnOnce(usize, usize) -> Plan,
        then: unsafe extern "C" fn(*mut c_void, *mut c_void, Result),
    ) {
        let geometry = Arc::clone(&self.geometry);
        let (me, sequence) = geometry.next_operation(context).expect("the context is the member's");
        let plan = plan(geometry.members.len(), me);
        let done = Done { function: Some(then), cookie: Box::into_raw(self).cast() };
        let key = crate::collectives::key(geometry.id, sequence);
        context.start_collective(key, &geometry.members, me, plan, done);
    }
}

/// The context and the change of a callback.
///
/// # Safety
/// The callback is one of [`Change::run`], and this is called once.
unsafe fn of_callback<'a>(handle: *mut c_void, cookie: *mut c_void) -> (&'a Context, Box<Change>) {
    // SAFETY: the context calls its own callbacks; the cookie was made by `Change::run`.
    unsafe { (context(handle).expect("it calls itself"), Box::from_raw(cookie.cast())) }
}

/// All members know which classes are free at all of them.
unsafe extern "C" fn agreed(handle: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: called once, by the context.
    let (context, mut change) = unsafe { of_callback(handle, cookie) };
    let class = (result == SUCCESS && change.agreed != 0).then(|| change.agreed.trailing_zeros() as u8);
    if let Some(class) = class {
        change.group = Some(context.core().device_mut().join(&change.tasks, class));
    }
    if change.has_offered {
        IS_OFFERED.store(false, Ordering::Release);
    }
    if class.is_none() {
        return context.report_later(change.done, result);
    }
    change.run(context, barrier, all_joined);
}

/// All members have set up the class.
unsafe extern "C" fn all_joined(handle: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: called once, by the context.
    let (context, change) = unsafe { of_callback(handle, cookie) };
    change.geometry.set_group(change.group);
    context.report_later(change.done, result);
}

/// No member has an operation in progress.
unsafe extern "C" fn all_idle(handle: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: called once, by the context.
    let (context, change) = unsafe { of_callback(handle, cookie) };
    if let Some(group) = change.geometry.group() {
        change.geometry.set_group(None);
        context.core().device_mut().leave(group);
    }
    if result != SUCCESS {
        return context.report_later(change.done, result);
    }
    change.run(context, barrier, all_left);
}

/// All members have given the class back.
unsafe extern "C" fn all_left(handle: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: called once, by the context.
    let (context, change) = unsafe { of_callback(handle, cookie) };
    context.report_later(change.done, result);
}

/// Runs a change in the context of this task that is a member of the geometry; the function is called by
/// `context`, also if that is another. Returns whether there is such a context.
pub fn in_member(
    context: &Context,
    geometry: &Arc<Geometry>,
    done: Done,
    change: fn(&Context, Arc<Geometry>, Done),
) -> bool {
    let client = context.client();
    let own = (0..geometry.members.len()).filter_map(|member| geometry.members.endpoint(member));
    let own = own.filter(|endpoint| endpoint.task() == client.job.task).map(|endpoint| endpoint.offset());
    let of_offset = |offset: u32| client.handles[offset as usize].load(Ordering::Acquire);
    let member = own.map(of_offset).find(|handle| !handle.is_null()).unwrap_or(null_mut());
    let geometry = Arc::clone(geometry);
    super::run_in(context, member, done, move |member, done| change(member, geometry, done))
}
