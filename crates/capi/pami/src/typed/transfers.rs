//! Typed puts and gets.

use super::call;
use super::combine::{Buffer, Combine};
use super::messages::{Arrival, Departure, arrived, delivered, departed, pack};
use crate::abi::*;
use crate::check::enter;
use crate::client::fail;
use crate::context::{Callback, Context};
use crate::rma::{NOTHING, Places};
use crate::symbols;
use crate::types::complete;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::Rma as Operation;
use netloom_messaging::pami::device::{PamiDevice, Piece, Range, Step, Transfer};
use netloom_messaging::pami::types::{Type, pairs};
use std::ffi::c_void;
use std::sync::Arc;

/// A put or a get of several pieces.
struct Pieces {
    cookie: *mut c_void,
    done_fn: EventFunction,
    rdone_fn: EventFunction,
    /// Reports that are still to come: of the local side, and of the target.
    reports: [usize; 2],
    /// The first error, if there was one.
    result: Result,
}

/// A report of a batch of pieces has come: of the local side, or of the target.
unsafe fn pieces_done(context: *mut c_void, cookie: *mut c_void, result: Result, side: usize) {
    // SAFETY: made by `start`; it exists until its last report, and no other reference does while this one is
    // in use.
    let pieces = unsafe { &mut *cookie.cast::<Pieces>() };
    pieces.reports[side] -= 1;
    if pieces.result == SUCCESS {
        pieces.result = result;
    }
    let is_last = pieces.reports[side] == 0;
    let (function, cookie_given, result) =
        ([pieces.done_fn, pieces.rdone_fn][side], pieces.cookie, pieces.result);
    if pieces.reports == [0, 0] {
        // SAFETY: this was the last report.
        drop(unsafe { Box::from_raw(cookie.cast::<Pieces>()) });
    }
    if is_last {
        call(function, context, cookie_given, result);
    }
}

unsafe extern "C" fn pieces_local(context: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: the cookie of pieces.
    unsafe { pieces_done(context, cookie, result, 0) };
}

unsafe extern "C" fn pieces_remote(context: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: the cookie of pieces.
    unsafe { pieces_done(context, cookie, result, 1) };
}

/// Pieces that move in one step, if the device can.
const BATCH: usize = 1024;
/// Puts and gets whose first local piece is shorter go through a buffer: a copy of the piece takes less time
/// than a transfer of its own.
const STAGED_BELOW_BYTES: u64 = 4096;

/// Starts a put or a get through a buffer of this library, with a layout on the local side.
///
/// # Safety
/// The program gave all parameters.
unsafe fn start_staged(
    call: &str,
    context: &Context,
    transfer: Transfer,
    rma: &Rma,
    places: Places,
    layout: Arc<Type>,
    rdone_fn: EventFunction,
) -> Result {
    let Rma { dest, hints, bytes, cookie, done_fn } = *rma;
    // To pack the data of a put, or unpack that of a get.
    context.core().device_mut().spend(Step::Copy(bytes as u64));
    let mut buffer = Buffer::new(bytes);
    let local = places.local;
    let staging = buffer.address().cast::<c_void>();
    let places = Places { local: staging, ..places };
    if transfer == Transfer::Put {
        // SAFETY: the caller's promise; the buffer is as long as the data.
        unsafe { pack(&layout, [0, bytes as u64], Combine::Copy, local.cast(), staging.cast()) };
        let events = SendEvents { cookie, local_fn: done_fn, remote_fn: rdone_fn };
        let reports = 1 + u8::from(rdone_fn.is_some());
        let departure = Box::into_raw(Box::new(Departure { buffer, events, reports }));
        let rma = Rma { dest, hints, bytes, cookie: departure.cast(), done_fn: Some(departed) };
        let delivered: EventFunction = rdone_fn.and(Some(delivered));
        let result = crate::rma::start(call, context, transfer, &rma, places, delivered);
        if result != SUCCESS {
            // SAFETY: nothing will be reported.
            drop(unsafe { Box::from_raw(departure) });
        }
        return result;
    }
    let receive = Receive {
        cookie,
        local_fn: done_fn,
        addr: local,
        kind: symbols::byte(),
        offset: 0,
        data_fn: None,
        data_cookie: std::ptr::null_mut(),
    };
    let layout = Some((layout, Combine::Copy));
    let arrival = Box::into_raw(Box::new(Arrival { buffer, bytes, receive, layout }));
    let rma = Rma { dest, hints, bytes, cookie: arrival.cast(), done_fn: Some(arrived) };
    let result = crate::rma::start(call, context, transfer, &rma, places, None);
    if result != SUCCESS {
        // SAFETY: nothing will be reported.
        drop(unsafe { Box::from_raw(arrival) });
    }
    result
}

/// Starts a put or a get with a layout on each side.
///
/// # Safety
/// The program gave all parameters.
unsafe fn start(
    call: &str,
    context: &Context,
    transfer: Transfer,
    rma: &Rma,
    places: Places,
    kinds: &RmaTyped,
    rdone_fn: EventFunction,
) -> Result {
    // SAFETY: the caller's promise.
    let Some((ours, theirs)) = (unsafe { complete(kinds.local).zip(complete(kinds.remote)) }) else {
        return fail(INVAL, format!("{call}: a type is not complete"));
    };
    let (Places { local, remote, is_exposed }, bytes) = (places, rma.bytes as u64);
    if bytes == 0 || local.is_null() || remote.is_null() || ours.data_bytes() == 0 || theirs.data_bytes() == 0
    {
        return fail(INVAL, format!("{call}: no bytes, an address is NULL, or a type has no data"));
    }
    if let Some(offsets) = ours.contiguous_part(0, bytes).zip(theirs.contiguous_part(0, bytes)) {
        let [local, remote] =
            [local.wrapping_byte_offset(offsets.0 as isize), remote.wrapping_byte_offset(offsets.1 as isize)];
        let places = Places { local, remote, is_exposed };
        return crate::rma::start(call, context, transfer, rma, places, rdone_fn);
    }
    let is_short = ours.pieces(0, bytes).next().is_some_and(|piece| piece.bytes < STAGED_BELOW_BYTES);
    // A Message Unit moves each piece by a descriptor of its own, as on the machine.
    let is_rdma = is_exposed && !context.core().device().reaches_all();
    if let Some(offset) = theirs.contiguous_part(0, bytes).filter(|_| is_short && !is_rdma) {
        let places = Places { remote: remote.wrapping_byte_offset(offset as isize), ..places };
        // SAFETY: the caller's promise.
        return unsafe { start_staged(call, context, transfer, rma, places, ours, rdone_fn) };
    }
    let to = Endpoint(rma.dest);
    if !context.core().device().has(to) {
        return fail(INVAL, format!("{call}: there is no {to}"));
    }
    let is_acknowledged = transfer == Transfer::Put && rdone_fn.is_some();
    let (cookie, done_fn) = (rma.cookie, rma.done_fn);
    let pieces =
        Box::into_raw(Box::new(Pieces { cookie, done_fn, rdone_fn, reports: [0, 0], result: SUCCESS }));
    let callback = Callback {
        cookie: pieces.cast(),
        local_fn: Some(pieces_local),
        remote_fn: Some(pieces_remote),
        reports: 1 + u8::from(is_acknowledged),
        fetched: NOTHING,
    };
    let mut left = pairs(ours.pieces(0, bytes), theirs.pieces(0, bytes)).map(|pair| {
        let range = Range { address: (local as u64).wrapping_add_signed(pair.source), bytes: pair.bytes };
        (range, (remote as u64).wrapping_add_signed(pair.target))
    });
    // Callbacks run when the context is advanced, so the number of reports may be set at the end.
    let mut reports = 0;
    loop {
        let batch: Vec<Piece> = left.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        let cookie = context.callbacks().insert(callback);
        let operation = Operation {
            way: transfer,
            with: to,
            pieces: &batch,
            is_exposed,
            prefers_packets: false,
            cookie,
            is_acknowledged,
        };
        context.core().rma(operation).expect("there is such an endpoint");
        reports += 1;
    }
    // SAFETY: it has reports to come, and nothing else refers to it now.
    unsafe { (*pieces).reports = [reports, if is_acknowledged { reports } else { 0 }] };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Put_typed(handle: *mut c_void, parameters: *mut PutTyped) -> Result {
    // SAFETY: the program gave them.
    unsafe {
        let Some((context, put)) = enter("PAMI_Put_typed", handle).zip(parameters.as_ref()) else {
            return fail(INVAL, "PAMI_Put_typed: context or parameters are NULL");
        };
        let PutTyped { rma, local, remote, kinds, rdone_fn } = put;
        let places = Places::of_addresses([*local, *remote]);
        start("PAMI_Put_typed", &context, Transfer::Put, rma, places, kinds, *rdone_fn)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Get_typed(handle: *mut c_void, parameters: *mut GetTyped) -> Result {
    // SAFETY: the program gave them.
    unsafe {
        let Some((context, get)) = enter("PAMI_Get_typed", handle).zip(parameters.as_ref()) else {
            return fail(INVAL, "PAMI_Get_typed: context or parameters are NULL");
        };
        let GetTyped { rma, local, remote, kinds } = get;
        let places = Places::of_addresses([*local, *remote]);
        start("PAMI_Get_typed", &context, Transfer::Get, rma, places, kinds, None)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Rput_typed(handle: *mut c_void, parameters: *mut RputTyped) -> Result {
    // SAFETY: the program gave them.
    unsafe {
        let Some((context, put)) = enter("PAMI_Rput_typed", handle).zip(parameters.as_ref()) else {
            return fail(INVAL, "PAMI_Rput_typed: context or parameters are NULL");
        };
        let RputTyped { rma, local, remote, kinds, rdone_fn } = put;
        let places = Places::of_regions(&context, [local, remote]);
        start("PAMI_Rput_typed", &context, Transfer::Put, rma, places, kinds, *rdone_fn)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Rget_typed(handle: *mut c_void, parameters: *mut RgetTyped) -> Result {
    // SAFETY: the program gave them.
    unsafe {
        let Some((context, get)) = enter("PAMI_Rget_typed", handle).zip(parameters.as_ref()) else {
            return fail(INVAL, "PAMI_Rget_typed: context or parameters are NULL");
        };
        let RgetTyped { rma, local, remote, kinds } = get;
        let places = Places::of_regions(&context, [local, remote]);
        start("PAMI_Rget_typed", &context, Transfer::Get, rma, places, kinds, None)
    }
}
