//! What PAMI reports of messages and transfers, from a thread that advances a context.

use super::{Listener, SUCCESS};
use crate::pami_interface::abi::{EventFunction, Receive};
use crate::threads;
use netloom_mpi::matching::Envelope;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Whom arrivals are told to.
pub static LISTENER: AtomicPtr<Listener> = AtomicPtr::new(null_mut());

/// Whom arrivals are told to, between start and end.
pub fn listener<'a>() -> Option<&'a Listener> {
    // SAFETY: PAMI calls functions only from the context's advance, and the listener lives as long as the
    // context.
    unsafe { LISTENER.load(Ordering::Acquire).as_ref() }
}

/// The dispatch function of messages.
pub unsafe extern "C" fn arrived(
    _: *mut c_void,
    _: *mut c_void,
    header: *const c_void,
    header_bytes: usize,
    data: *const c_void,
    bytes: usize,
    origin: u32,
    receive: *mut Receive,
) {
    // SAFETY: PAMI gives the bytes and their lengths, and a record to be filled in where the data is not
    // there yet.
    let (header, receive) = unsafe {
        let header = std::slice::from_raw_parts(header.cast::<u8>(), header_bytes);
        (header, receive.as_mut())
    };
    let Some((envelope, listener)) = Envelope::of_bytes(header).zip(listener()) else { return };
    let Some(receive) = receive else {
        // SAFETY: as above; no data may be NULL.
        let data = match bytes {
            0 => &[],
            _ => unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) },
        };
        threads::in_dispatch(|| listener.arrived(listener.transport().process(origin), envelope, data));
        return;
    };
    let place = threads::in_dispatch(|| listener.announced(listener.transport().process(origin), envelope));
    receive.addr = place.address as *mut c_void;
    receive.cookie = place.number as *mut c_void;
    receive.local_fn = RECEIVED;
}

const RECEIVED: EventFunction = Some(received);

unsafe extern "C" fn received(_: *mut c_void, number: *mut c_void, result: c_int) {
    if let Some(listener) = listener() {
        threads::in_dispatch(|| listener.received(number as u64, result != SUCCESS));
    }
}

pub unsafe extern "C" fn sent(_: *mut c_void, number: *mut c_void, result: c_int) {
    if let Some(listener) = listener() {
        threads::in_dispatch(|| listener.sent(number as u64, result != SUCCESS));
    }
}

/// All data of a message whose time is noted has arrived at its receiver.
pub unsafe extern "C" fn trial_arrived(_: *mut c_void, _: *mut c_void, result: c_int) {
    if let Some(listener) = listener() {
        listener.transport().fetched.end(result != SUCCESS);
    }
}

/// The receiver of such a message has fetched its data.
pub unsafe extern "C" fn trial_fetched(context: *mut c_void, number: *mut c_void, result: c_int) {
    // SAFETY: PAMI's own arguments.
    unsafe {
        trial_arrived(context, number, result);
        sent(context, number, result);
    }
}

pub unsafe extern "C" fn transferred(_: *mut c_void, number: *mut c_void, result: c_int) {
    if let Some(listener) = listener() {
        threads::in_dispatch(|| listener.transferred(number as u64, result != SUCCESS));
    }
}
