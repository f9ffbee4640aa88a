//! Operations on data that types lay out: typed sends, receives that are not plain copies, typed puts and
//! gets.
//!
//! Data that is not contiguous is sent from, and received into, a buffer of this library; data functions of
//! the program run while the buffer is packed or unpacked. Puts and gets do the same with short pieces if the
//! memory of the target is contiguous; otherwise they move many pieces per step.

use crate::abi::*;
use crate::check::enter;
use crate::client::fail;
use crate::context::{Callback, Context};
use crate::rma::{NOTHING, address};
use crate::symbols;
use crate::types::{complete, element};
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::device::{PamiDevice, Range, Transfer};
use netloom_messaging::pami::reduce::{Element, Operation, Reduction, reduction};
use netloom_messaging::pami::types::{Type, pairs};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// The operation of a data function on a contiguous piece.
#[derive(Clone, Copy)]
pub enum Combine {
    Copy,
    Noop,
    Reduce(Reduction, Element),
    Program(DataPointer, *mut c_void),
}

impl Combine {
    /// The operation of a data function; `None` if it is a reduction that the types do not allow. The elements are
    /// those of the first type that consists of elements other than bytes, or else of bytes; data of other types comes
    /// in whole elements.
    pub fn new(data_fn: DataFunction, cookie: *mut c_void, kinds: [*mut c_void; 2]) -> Option<Self> {
        let Some(function) = data_fn else { return Some(Combine::Copy) };
        match symbols::operation(function) {
            None => Some(Combine::Program(function, cookie)),
            Some(Operation::Copy) => Some(Combine::Copy),
            Some(Operation::Noop) => Some(Combine::Noop),
            Some(operation) => {
                // SAFETY: the program gave the types.
                let elements = kinds.map(|kind| unsafe { element(kind) });
                let known = || elements.into_iter().flatten();
                let element = known().find(|&element| element != Element::Byte).or_else(|| known().next())?;
                let is_whole = |(kind, own): (*mut c_void, Option<Element>)| {
                    // SAFETY: the same.
                    own.is_some()
                        || unsafe { complete(kind) }
                            .is_some_and(|kind| kind.atom_bytes().is_multiple_of(element.bytes() as u64))
                };
                let are_whole = kinds.into_iter().zip(elements).all(is_whole);
                let reduction = reduction(operation, element).filter(|_| are_whole)?;
                Some(Combine::Reduce(reduction, element))
            }
        }
    }

    /// The length that parts of data of these types must be multiples of, so that each can be combined by itself, bytes.
    /// It is the same at all members of a collective.
    pub fn unit_bytes(self, kinds: [&Type; 2]) -> usize {
        match self {
            Combine::Copy | Combine::Noop => 1,
            Combine::Reduce(_, element) => element.bytes(),
            Combine::Program(..) => kinds.map(Type::data_bytes).into_iter().fold(1, u64::max) as usize,
        }
    }

    /// Combines a piece of the source into the target.
    ///
    /// # Safety
    /// Both are valid for `bytes` and do not overlap, and no reference to them exists.
    pub unsafe fn run(self, target: *mut u8, source: *const u8, bytes: usize) {
        // SAFETY: the caller's promise. The program gave its function.
        unsafe {
            match self {
                Combine::Copy => target.copy_from_nonoverlapping(source, bytes),
                Combine::Noop => {}
                Combine::Reduce(reduction, _) => {
                    let target = std::slice::from_raw_parts_mut(target, bytes);
                    reduction(target, std::slice::from_raw_parts(source, bytes));
                }
                Combine::Program(function, cookie) => {
                    function(target.cast(), source.cast_mut().cast(), bytes, cookie);
                }
            }
        }
    }
}

/// A buffer that is aligned for any element.
pub struct Buffer(Box<[MaybeUninit<u128>]>);

impl Buffer {
    /// A buffer of zeros.
    pub fn new(bytes: usize) -> Self {
        Buffer(Box::new_zeroed_slice(bytes.div_ceil(size_of::<u128>())))
    }

    /// A buffer that is written before it is read.
    pub fn uninitialised(bytes: usize) -> Self {
        Buffer(Box::new_uninit_slice(bytes.div_ceil(size_of::<u128>())))
    }

    pub fn address(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

fn call(function: EventFunction, context: *mut c_void, cookie: *mut c_void, result: Result) {
    if let Some(function) = function {
        // SAFETY: the program gave both.
        unsafe { function(context, cookie, result) };
    }
}

/// A message or a get whose data goes to a buffer first.
struct Arrival {
    buffer: Buffer,
    bytes: usize,
    receive: Receive,
    /// `None` if the program gave no complete type, or a reduction that does not go with it.
    layout: Option<(Arc<Type>, Combine)>,
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
unsafe extern "C" fn arrived(context: *mut c_void, cookie: *mut c_void, result: Result) {
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
unsafe fn pack(
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
struct Departure {
    buffer: Buffer,
    events: SendEvents,
    /// Reports that are still to come.
    reports: u8,
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

unsafe extern "C" fn departed(context: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: the cookie of a departure.
    let events = unsafe { departure(cookie) };
    call(events.local_fn, context, events.cookie, result);
}

unsafe extern "C" fn delivered(context: *mut c_void, cookie: *mut c_void, result: Result) {
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
    [local, remote]: [*mut c_void; 2],
    layout: Arc<Type>,
    rdone_fn: EventFunction,
) -> Result {
    let Rma { dest, hints, bytes, cookie, done_fn } = *rma;
    let mut buffer = Buffer::new(bytes);
    let staging = buffer.address().cast::<c_void>();
    if transfer == Transfer::Put {
        // SAFETY: the caller's promise; the buffer is as long as the data.
        unsafe { pack(&layout, [0, bytes as u64], Combine::Copy, local.cast(), staging.cast()) };
        let events = SendEvents { cookie, local_fn: done_fn, remote_fn: rdone_fn };
        let departure = Box::into_raw(Box::new(Departure { buffer, events, reports: 2 }));
        let rma = Rma { dest, hints, bytes, cookie: departure.cast(), done_fn: Some(departed) };
        let result = crate::rma::start(call, context, transfer, &rma, [staging, remote], Some(delivered));
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
    let result = crate::rma::start(call, context, transfer, &rma, [staging, remote], None);
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
    [local, remote]: [*mut c_void; 2],
    kinds: &RmaTyped,
    rdone_fn: EventFunction,
) -> Result {
    // SAFETY: the caller's promise.
    let Some((ours, theirs)) = (unsafe { complete(kinds.local).zip(complete(kinds.remote)) }) else {
        return fail(INVAL, format!("{call}: a type is not complete"));
    };
    let bytes = rma.bytes as u64;
    if bytes == 0 || local.is_null() || remote.is_null() || ours.data_bytes() == 0 || theirs.data_bytes() == 0
    {
        return fail(INVAL, format!("{call}: no bytes, an address is NULL, or a type has no data"));
    }
    if let Some(offsets) = ours.contiguous_part(0, bytes).zip(theirs.contiguous_part(0, bytes)) {
        let addresses =
            [local.wrapping_byte_offset(offsets.0 as isize), remote.wrapping_byte_offset(offsets.1 as isize)];
        return crate::rma::start(call, context, transfer, rma, addresses, rdone_fn);
    }
    let is_short = ours.pieces(0, bytes).next().is_some_and(|piece| piece.bytes < STAGED_BELOW_BYTES);
    if let Some(offset) = theirs.contiguous_part(0, bytes).filter(|_| is_short) {
        let remote = remote.wrapping_byte_offset(offset as isize);
        // SAFETY: the caller's promise.
        return unsafe { start_staged(call, context, transfer, rma, [local, remote], ours, rdone_fn) };
    }
    let to = Endpoint(rma.dest);
    if !context.core().device().has(to) {
        return fail(INVAL, format!("{call}: there is no {to}"));
    }
    let is_put = transfer == Transfer::Put;
    let (cookie, done_fn) = (rma.cookie, rma.done_fn);
    let pieces =
        Box::into_raw(Box::new(Pieces { cookie, done_fn, rdone_fn, reports: [0, 0], result: SUCCESS }));
    let callback = Callback {
        cookie: pieces.cast(),
        local_fn: Some(pieces_local),
        remote_fn: Some(pieces_remote),
        reports: 1 + u8::from(is_put),
        fetched: NOTHING,
    };
    let mut left = pairs(ours.pieces(0, bytes), theirs.pieces(0, bytes)).map(|pair| {
        let range = Range { address: (local as u64).wrapping_add_signed(pair.source), bytes: pair.bytes };
        (range, (remote as u64).wrapping_add_signed(pair.target))
    });
    // Callbacks run when the context is advanced, so the number of reports may be set at the end.
    let mut reports = 0;
    loop {
        let batch: Vec<(Range, u64)> = left.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        reports += start_pieces(context, transfer, to, &batch, callback);
    }
    // SAFETY: it has reports to come, and nothing else refers to it now.
    unsafe { (*pieces).reports = [reports, if is_put { reports } else { 0 }] };
    SUCCESS
}

/// Starts puts or gets of several pieces with an endpoint that exists; returns how many operations will
/// report.
fn start_pieces(
    context: &Context,
    transfer: Transfer,
    to: Endpoint,
    pieces: &[(Range, u64)],
    callback: Callback,
) -> usize {
    let at = context.callbacks().insert(callback);
    if context.core().transfer_pieces(transfer, to, pieces, at) == Ok(true) {
        return 1;
    }
    context.callbacks().withdraw(at);
    let start = |&&(range, remote): &&(Range, u64)| {
        let at = context.callbacks().insert(callback);
        let started = match transfer {
            Transfer::Put => context.core().put(to, range, remote, at),
            Transfer::Get => context.core().get(to, range, remote, at),
        };
        if started.is_err() {
            context.callbacks().withdraw(at);
        }
        started.is_ok()
    };
    pieces.iter().filter(start).count()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Put_typed(handle: *mut c_void, parameters: *mut PutTyped) -> Result {
    // SAFETY: the program gave them.
    unsafe {
        let Some((context, put)) = enter("PAMI_Put_typed", handle).zip(parameters.as_ref()) else {
            return fail(INVAL, "PAMI_Put_typed: context or parameters are NULL");
        };
        let PutTyped { rma, local, remote, kinds, rdone_fn } = put;
        start("PAMI_Put_typed", &context, Transfer::Put, rma, [*local, *remote], kinds, *rdone_fn)
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
        start("PAMI_Get_typed", &context, Transfer::Get, rma, [*local, *remote], kinds, None)
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
        let addresses = [address(local), address(remote)];
        start("PAMI_Rput_typed", &context, Transfer::Put, rma, addresses, kinds, *rdone_fn)
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
        let addresses = [address(local), address(remote)];
        start("PAMI_Rget_typed", &context, Transfer::Get, rma, addresses, kinds, None)
    }
}
