//! Remote memory access: put, get, their forms over memory regions, atomic operations, fences, connections.

use crate::abi::*;
use crate::check::{self, enter};
use crate::client::fail;
use crate::context::{Callback, Context};
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::Rma as Operation;
use netloom_messaging::pami::device::{PamiDevice, Range, Transfer};
use netloom_messaging::pami::rmw::{MODIFICATIONS, Modify, Rmw as Modification};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// No value is fetched.
pub const NOTHING: (*mut u8, u8) = (std::ptr::null_mut(), 0);

/// Where the data of a put or get is, here and at the target.
#[derive(Clone, Copy)]
pub struct Places {
    pub local: *mut c_void,
    pub remote: *mut c_void,
    /// Whether the remote address is one of a memory region.
    pub is_exposed: bool,
}

impl Places {
    /// Those of a put or get by the program's addresses.
    pub fn of_addresses([local, remote]: [*mut c_void; 2]) -> Self {
        Places { local, remote, is_exposed: false }
    }

    /// Those in memory regions; NULL where there is no such region.
    ///
    /// # Safety
    /// The program gave the handles.
    pub unsafe fn of_regions(context: &Context, [local, remote]: [&RegionPart; 2]) -> Self {
        // SAFETY: the caller's promise.
        let [near, far] = [local, remote].map(|part| unsafe { part.region.as_ref() }.copied().unwrap_or(0));
        let near = if near == 0 { 0 } else { context.core().device().own_address(near as u64) as usize };
        let at =
            |base: usize, part: &RegionPart| if base == 0 { 0 } else { base + part.offset } as *mut c_void;
        Places { local: at(near, local), remote: at(far, remote), is_exposed: true }
    }
}

/// Starts a put or a get.
pub fn start(
    call: &str,
    context: &Context,
    way: Transfer,
    rma: &Rma,
    places: Places,
    rdone_fn: EventFunction,
) -> Result {
    let Places { local, remote, is_exposed } = places;
    if rma.bytes == 0 || local.is_null() || remote.is_null() {
        return fail(INVAL, format!("{call}: no bytes, or an address is NULL"));
    }
    let piece = (Range { address: local as u64, bytes: rma.bytes as u64 }, remote as u64);
    let is_acknowledged = rdone_fn.is_some();
    let callback = Callback {
        cookie: rma.cookie,
        local_fn: rma.done_fn,
        remote_fn: rdone_fn,
        reports: 1 + u8::from(is_acknowledged),
        fetched: NOTHING,
    };
    let cookie = context.callbacks().insert(callback);
    let with = Endpoint(rma.dest);
    let prefers_packets = DispatchHints(rma.hints).use_rdma() == HINT_DISABLE;
    let pieces = &[piece];
    let operation = Operation { way, with, pieces, is_exposed, prefers_packets, cookie, is_acknowledged };
    match context.core().rma(operation) {
        Ok(()) => SUCCESS,
        Err(reason) => {
            context.callbacks().withdraw(cookie);
            fail(INVAL, format!("{call}: {reason}"))
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Put(handle: *mut c_void, put: *mut Put) -> Result {
    // SAFETY: the program gave them.
    let Some((context, put)) = (unsafe { enter("PAMI_Put", handle).zip(put.as_ref()) }) else {
        return fail(INVAL, "PAMI_Put: context or parameters are NULL");
    };
    let places = Places::of_addresses([put.local, put.remote]);
    start("PAMI_Put", &context, Transfer::Put, &put.rma, places, put.rdone_fn)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Get(handle: *mut c_void, get: *mut Get) -> Result {
    // SAFETY: the program gave them.
    let Some((context, get)) = (unsafe { enter("PAMI_Get", handle).zip(get.as_ref()) }) else {
        return fail(INVAL, "PAMI_Get: context or parameters are NULL");
    };
    let places = Places::of_addresses([get.local, get.remote]);
    start("PAMI_Get", &context, Transfer::Get, &get.rma, places, None)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Rput(handle: *mut c_void, put: *mut Rput) -> Result {
    // SAFETY: the program gave them.
    unsafe {
        let Some((context, put)) = enter("PAMI_Rput", handle).zip(put.as_ref()) else {
            return fail(INVAL, "PAMI_Rput: context or parameters are NULL");
        };
        let places = Places::of_regions(&context, [&put.local, &put.remote]);
        start("PAMI_Rput", &context, Transfer::Put, &put.rma, places, put.rdone_fn)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Rget(handle: *mut c_void, get: *mut Rget) -> Result {
    // SAFETY: the program gave them.
    unsafe {
        let Some((context, get)) = enter("PAMI_Rget", handle).zip(get.as_ref()) else {
            return fail(INVAL, "PAMI_Rget: context or parameters are NULL");
        };
        let places = Places::of_regions(&context, [&get.local, &get.remote]);
        start("PAMI_Rget", &context, Transfer::Get, &get.rma, places, None)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Memregion_create(
    handle: *mut c_void,
    address: *mut c_void,
    bytes: usize,
    registered: *mut usize,
    region: *mut MemoryRegion,
) -> Result {
    // SAFETY: the program gave them.
    let given = unsafe { (enter("PAMI_Memregion_create", handle), registered.as_mut(), region.as_mut()) };
    let (Some(context), Some(registered), Some(region)) = given else {
        return fail(INVAL, "PAMI_Memregion_create: context, bytes_out or memregion is NULL");
    };
    if address.is_null() || bytes == 0 {
        return fail(INVAL, "PAMI_Memregion_create: no memory to register");
    }
    let memory = Range { address: address as u64, bytes: bytes as u64 };
    (*registered, *region) = (bytes, context.core().device_mut().expose(memory) as usize);
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Memregion_destroy(_context: *mut c_void, region: *mut MemoryRegion) -> Result {
    // SAFETY: the program gave it.
    match unsafe { region.as_mut() } {
        Some(region) => *region = 0,
        None => return fail(INVAL, "PAMI_Memregion_destroy: memregion is NULL"),
    }
    SUCCESS
}

/// Executes an operation on this process's memory; returns the old value.
pub fn execute(rmw: &Modification) -> u64 {
    // SAFETY: the program at the other end gave the address of an integer, which tasks access atomically.
    unsafe {
        if rmw.bytes == 4 {
            let at = &*(rmw.address as *const AtomicU32);
            let change = |old: u32| rmw.apply(old.into()).map(|new| new as u32);
            u64::from(at.fetch_update(Ordering::AcqRel, Ordering::Acquire, change).unwrap_or_else(|old| old))
        } else {
            let at = &*(rmw.address as *const AtomicU64);
            at.fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| rmw.apply(old))
                .unwrap_or_else(|old| old)
        }
    }
}

/// An operand of the program's.
///
/// # Safety
/// It is a valid integer of this length, if it is not NULL.
unsafe fn operand(at: *mut c_void, bytes: u64) -> Option<u64> {
    // SAFETY: the caller's promise.
    (!at.is_null()).then(|| unsafe {
        if bytes == 4 {
            u64::from(at.cast::<u32>().read_unaligned())
        } else {
            at.cast::<u64>().read_unaligned()
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Rmw(handle: *mut c_void, parameters: *mut Rmw) -> Result {
    // SAFETY: the program gave them.
    let Some((context, rmw)) = (unsafe { enter("PAMI_Rmw", handle).zip(parameters.as_ref()) }) else {
        return fail(INVAL, "PAMI_Rmw: context or parameters are NULL");
    };
    let Some(bytes) = crate::symbols::integer_bytes(rmw.kind) else {
        return fail(INVAL, "PAMI_Rmw: the type is not an integer of 4 or 8 bytes");
    };
    let (fetches, compares) = (rmw.operation & 1 != 0, rmw.operation & 2 != 0);
    let Some(&modify) = MODIFICATIONS.get((rmw.operation >> 2) as usize) else {
        return fail(INVAL, format!("PAMI_Rmw: there is no operation {}", rmw.operation));
    };
    if rmw.operation <= 0 || compares && modify == Modify::Keep {
        return fail(INVAL, format!("PAMI_Rmw: there is no operation {}", rmw.operation));
    }
    // SAFETY: the program gave them.
    let (value, test) = unsafe { (operand(rmw.value, bytes), operand(rmw.test, bytes)) };
    let is_missing = modify != Modify::Keep && value.is_none()
        || compares && test.is_none()
        || fetches && rmw.local.is_null()
        || rmw.remote.is_null();
    if is_missing || !(rmw.remote as u64).is_multiple_of(bytes) {
        return fail(INVAL, "PAMI_Rmw: an operand is NULL, or the remote address is not aligned");
    }
    let fetched = if fetches { (rmw.local.cast(), bytes as u8) } else { NOTHING };
    let callback =
        Callback { cookie: rmw.cookie, local_fn: rmw.done_fn, remote_fn: None, reports: 1, fetched };
    let at = context.callbacks().insert(callback);
    let operation = Modification {
        address: rmw.remote as u64,
        bytes,
        modify,
        value: value.unwrap_or(0),
        test: test.filter(|_| compares),
    };
    match context.core().rmw(Endpoint(rmw.dest), operation, at) {
        Ok(()) => SUCCESS,
        Err(reason) => {
            context.callbacks().withdraw(at);
            fail(INVAL, format!("PAMI_Rmw: {reason}"))
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Fence_begin(handle: *mut c_void) -> Result {
    // SAFETY: the program gave it.
    match unsafe { enter("PAMI_Fence_begin", handle) } {
        Some(context) if !context.is_fenced.replace(true) => SUCCESS,
        _ => fail(INVAL, "PAMI_Fence_begin: no such context, or a fence region is open"),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Fence_end(handle: *mut c_void) -> Result {
    // SAFETY: the program gave it.
    match unsafe { enter("PAMI_Fence_end", handle) } {
        Some(context) if context.is_fenced.replace(false) => SUCCESS,
        _ => fail(INVAL, "PAMI_Fence_end: no such context, or no fence region is open"),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Fence_all(
    handle: *mut c_void,
    done_fn: EventFunction,
    cookie: *mut c_void,
) -> Result {
    // SAFETY: the program gave it.
    match unsafe { enter("PAMI_Fence_all", handle) } {
        Some(context) => {
            // The reference's regions change nothing, and programs fence without one.
            if check::is_on() && !context.is_fenced.get() {
                check::report(
                    "PAMI_Fence_all: no fence region is open; call PAMI_Fence_begin before the transfers",
                );
            }
            let fetched = NOTHING;
            let callback = Callback { cookie, local_fn: done_fn, remote_fn: None, reports: 1, fetched };
            let at = context.callbacks().insert(callback);
            context.core().fence(at);
            SUCCESS
        }
        None => fail(INVAL, "PAMI_Fence_all: there is no such context"),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Fence_endpoint(
    handle: *mut c_void,
    done_fn: EventFunction,
    cookie: *mut c_void,
    _target: u32,
) -> Result {
    // Waits for more than it must.
    // SAFETY: the program gave them.
    unsafe { PAMI_Fence_all(handle, done_fn, cookie) }
}

/// Nothing is held for endpoints, so there is nothing to free and to set up again.
fn connections(call: &str, handle: *mut c_void, endpoints: *mut u32, count: usize) -> Result {
    // SAFETY: the program gave it.
    if unsafe { enter(call, handle) }.is_none() || endpoints.is_null() && count > 0 {
        return fail(INVAL, format!("{call}: no such context, or the endpoints are NULL"));
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Purge(handle: *mut c_void, endpoints: *mut u32, count: usize) -> Result {
    connections("PAMI_Purge", handle, endpoints, count)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Resume(handle: *mut c_void, endpoints: *mut u32, count: usize) -> Result {
    connections("PAMI_Resume", handle, endpoints, count)
}
