//! Contexts are created, destroyed and queried.

use super::{Context, Core, Sharing, context, live};
use crate::abi::*;
use crate::check::Watch;
use crate::client::{Client, attributes, fail, query, update};
use crate::communication_thread::{self, Background};
use crate::device::{CONTEXTS_MAX, Device};
use crate::dispatch::DISPATCH_MAX;
use crate::environment::limits;
use netloom_messaging::pami::device::PamiDevice;
use netloom_messaging::pami::work::WorkQueue;
use parking_lot::RawMutex;
use parking_lot::lock_api::RawMutex as _;
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::sync::atomic::Ordering;

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
            core: UnsafeCell::new(Core::new(device, limits(client.job, &client.name))),
            dispatches: UnsafeCell::default(),
            callbacks: UnsafeCell::default(),
            collectives: UnsafeCell::default(),
            work: WorkQueue::default(),
            again: UnsafeCell::default(),
            lock: RawMutex::INIT,
            number,
            client,
            queue: client.number * CONTEXTS_MAX + offset,
            is_fenced: Cell::new(false),
            polls: Cell::new(0),
            idle: Cell::new(0),
            awaited: Cell::new(None),
            sharing: Sharing::default(),
            background: Background::default(),
            watch: Watch::default(),
        });
        if let Some(group) = context.core().device().world_group() {
            let geometries = client.geometries.lock().unwrap_or_else(|e| e.into_inner());
            geometries[&0].limit_group(context.core().device().group_limits());
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
        let handle =
            unsafe { handles.add(at).as_ref() }.filter(|handle| live().contains(&(**handle as usize)));
        // SAFETY: it is live.
        let Some(found) = handle.and_then(|&handle| unsafe { context(handle) }) else {
            return fail(INVAL, format!("PAMI_Context_destroyv: there is no context at index {at}"));
        };
        communication_thread::disable(found);
        live().remove(&(found.handle() as usize));
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
    query("PAMI_Context_query", "a context", attributes, |attribute| {
        let is_known = attribute.name == attribute::CONTEXT_DISPATCH_ID_MAX;
        if is_known {
            attribute.value.intval = DISPATCH_MAX;
        }
        is_known
    })
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
