//! Typed sends, and receives that are not plain copies.

use super::call;
use super::combine::{Buffer, Combine};
use crate::abi::*;
use crate::check::enter;
use crate::client::fail;
use crate::context::Callback;
use crate::rma::NOTHING;
use crate::symbols;
use crate::types::complete;
use netloom_messaging::pami::device::Range;
use netloom_messaging::pami::types::Type;
use std::ffi::c_void;
use std::sync::Arc;

/// A message or a get whose data goes to a buffer first.
pub(super) struct Arrival {
    pub(super) buffer: Buffer,
    pub(super) bytes: usize,
    pub(super) receive: Receive,
    /// `None` if the program gave no complete type, or a reduction that does not go with it.
    pub(super) layout: Option<(Arc<Type>, Combine)>,
}

/// Where the data of a message goes, as the protocols see it (0: nowhere), and what is called when it is
/// there.
#[inline]
pub fn target(mut receive: Receive, hints: DispatchHints, bytes: usize) -> (u64, Callback) {
    let callback =
        |cookie, local_fn| Callback { cookie, local_fn, remote_fn: None, reports: 1, fetched: NOTHING };
    if hints.recv_contiguous() == HINT_ENABLE {
        (receive.kind, receive.offset) = (symbols::byte(), 0);
    }
    if hints.recv_copy() == HINT_ENABLE {
        receive.data_fn = None;
    }
    if receive.addr.is_null() || bytes == 0 {
        return (0, callback(receive.cookie, receive.local_fn));
    }
    if symbols::is_copy(receive.data_fn) && symbols::element(receive.kind).is_some() {
        return (receive.addr as u64 + receive.offset as u64, callback(receive.cookie, receive.local_fn));
    }
    // SAFETY: the program gave the type.
    let layout = unsafe { complete(receive.kind) }.filter(|kind| kind.data_bytes() > 0);
    let combine = Combine::new(receive.data_fn, receive.data_cookie, [receive.kind; 2]);
    let direct = match (&layout, combine) {
        (Some(layout), Some(Combine::Copy)) => {
            let part = layout.contiguous_part(receive.offset as u64, bytes as u64);
            part.map(|offset| (receive.addr as u64).wrapping_add_signed(offset))
        }
        (_, Some(Combine::Noop)) => Some(0),
        _ => None,
    };
    if let Some(address) = direct {
        return (address, callback(receive.cookie, receive.local_fn));
    }
    let layout = layout.zip(combine);
    // Data that cannot be received is dropped; the callback reports the error.
    let mut arrival = Box::new(Arrival { buffer: Buffer::new(bytes), bytes, receive, layout });
    let address = if arrival.layout.is_some() { arrival.buffer.address() as u64 } else { 0 };
    (address, callback(Box::into_raw(arrival).cast(), Some(arrived)))
}

/// All data of a message is in its buffer.
pub(super) unsafe extern "C" fn arrived(context: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: made for this operation, and reported once.
    let mut arrival = unsafe { Box::from_raw(cookie.cast::<Arrival>()) };
    let Receive { cookie, local_fn, addr, offset, .. } = arrival.receive;
    let mut result = result;
    match arrival.layout.take() {
        None => {
            result =
                fail(INVAL, "a message cannot be received: no complete type, or not one of the data function")
        }
        Some((layout, combine)) if result == SUCCESS => {
            let mut source = arrival.buffer.address().cast_const();
            for piece in layout.pieces(offset as u64, arrival.bytes as u64) {
                // SAFETY: the program gave a buffer that the type describes; the source is as long as the
                // data.
                unsafe {
                    let target = addr.cast::<u8>().wrapping_offset(piece.offset as isize);
                    combine.run(target, source, piece.bytes as usize);
                    source = source.add(piece.bytes as usize);
                }
            }
        }
        Some(_) => {}
    }
    drop(arrival);
    call(local_fn, context, cookie, result);
}

/// Packs data from an offset, of a length.
///
/// # Safety
/// The source is memory that the layout describes; the target has room for the data.
pub(super) unsafe fn pack(
    layout: &Type,
    [from, bytes]: [u64; 2],
    combine: Combine,
    source: *const u8,
    mut target: *mut u8,
) {
    for piece in layout.pieces(from, bytes) {
        // SAFETY: the caller's promise.
        unsafe {
            combine.run(target, source.wrapping_offset(piece.offset as isize), piece.bytes as usize);
            target = target.add(piece.bytes as usize);
        }
    }
}

/// A put or a send from a buffer of this library.
pub(super) struct Departure {
    pub(super) buffer: Buffer,
    pub(super) events: SendEvents,
    /// Reports that are still to come.
    pub(super) reports: u8,
}

/// One of the reports of a departure has come.
unsafe fn departure(cookie: *mut c_void) -> SendEvents {
    // SAFETY: made for this operation; it exists until its last report, and no other reference does.
    unsafe {
        let departure = cookie.cast::<Departure>();
        let events = (*departure).events;
        (*departure).reports -= 1;
        if (*departure).reports == 0 {
            drop(Box::from_raw(departure));
        }
        events
    }
}

pub(super) unsafe extern "C" fn departed(context: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: the cookie of a departure.
    let events = unsafe { departure(cookie) };
    call(events.local_fn, context, events.cookie, result);
}

pub(super) unsafe extern "C" fn delivered(context: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: the cookie of a departure.
    let events = unsafe { departure(cookie) };
    call(events.remote_fn, context, events.cookie, result);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Send_typed(handle: *mut c_void, parameters: *mut SendTyped) -> Result {
    // SAFETY: the program gave them.
    let Some((context, typed)) = (unsafe { enter("PAMI_Send_typed", handle).zip(parameters.as_ref()) })
    else {
        return fail(INVAL, "PAMI_Send_typed: context or parameters are NULL");
    };
    let SendTyped { send, events, kind, offset, data_fn, data_cookie } = typed;
    // SAFETY: the program gave it.
    let Some(layout) = (unsafe { complete(*kind) }) else {
        return fail(INVAL, "PAMI_Send_typed: the type is not complete");
    };
    let (base, bytes) = (send.data.iov_base.cast::<u8>(), send.data.iov_len);
    if bytes > 0 && (base.is_null() || layout.data_bytes() == 0) {
        return fail(INVAL, "PAMI_Send_typed: the data is at NULL, or its type has none");
    }
    let Some(combine) = Combine::new(*data_fn, *data_cookie, [*kind; 2]) else {
        return fail(INVAL, "PAMI_Send_typed: the data function does not take this type");
    };
    let direct = match combine {
        Combine::Copy => layout.contiguous_part(*offset as u64, bytes as u64),
        _ => None,
    };
    if let Some(part) = direct {
        let data = Range { address: base.wrapping_offset(part as isize) as u64, bytes: bytes as u64 };
        return crate::send::start("PAMI_Send_typed", &context, send, data, *events);
    }
    let mut buffer = Buffer::new(bytes);
    // SAFETY: the program gave a buffer that the type describes; the target is as long as the data.
    unsafe { pack(&layout, [*offset as u64, bytes as u64], combine, base, buffer.address()) };
    let reports = 1 + u8::from(events.remote_fn.is_some());
    let mut departure = Box::new(Departure { buffer, events: *events, reports });
    let data = Range { address: departure.buffer.address() as u64, bytes: bytes as u64 };
    let departure = Box::into_raw(departure);
    let remote_fn: EventFunction = if events.remote_fn.is_some() { Some(delivered) } else { None };
    let events = SendEvents { cookie: departure.cast(), local_fn: Some(departed), remote_fn };
    let result = crate::send::start("PAMI_Send_typed", &context, send, data, events);
    if result != SUCCESS {
        // SAFETY: nothing will be reported.
        drop(unsafe { Box::from_raw(departure) });
    }
    result
}
