//! Dispatch identifiers of a context.

use crate::abi::*;
use crate::check::enter;
use crate::client::{attributes, fail, query, update};
use crate::communication_thread;
use crate::context::{Context, context};
use netloom_messaging::pami::packet::Head;
use std::ffi::c_void;

/// What is registered for an identifier.
#[derive(Clone, Copy)]
pub struct Dispatch {
    pub function: DispatchFunction,
    pub cookie: *mut c_void,
    pub hints: DispatchHints,
}

/// Most bytes of header and data of an immediate send, and of a message that is received at once: as on Blue
/// Gene/Q, where programs rely on it. A packet holds it with all that `PAMI_Send` adds.
pub const IMMEDIATE_MAX: usize = 512;
const _: () = assert!(IMMEDIATE_MAX + 16 <= netloom_shm::queue::PAYLOAD_MAX);

/// The greatest identifier of a program; the library keeps the one above.
pub const DISPATCH_MAX: usize = Head::DISPATCHES - 2;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Dispatch_set(
    handle: *mut c_void,
    dispatch: usize,
    function: Option<DispatchFunction>,
    cookie: *mut c_void,
    hints: DispatchHints,
) -> Result {
    // SAFETY: the program gave it.
    let Some(context) = (unsafe { enter("PAMI_Dispatch_set", handle) }) else {
        return fail(INVAL, "PAMI_Dispatch_set: there is no such context");
    };
    let Some(function) = function else {
        return fail(INVAL, "PAMI_Dispatch_set: the dispatch function is NULL");
    };
    if dispatch > DISPATCH_MAX {
        return fail(INVAL, format!("PAMI_Dispatch_set: {dispatch} is more than {DISPATCH_MAX}"));
    }
    if hints.is_invalid() {
        return fail(INVAL, "PAMI_Dispatch_set: a hint has an invalid value");
    }
    // The segment stands for the network and for the shared memory of a node, so both hints about them are
    // honoured by the same queues.
    if hints.remote_async_progress() == HINT_ENABLE && !communication_thread::is_enabled(&context) {
        let remedy = "enable EXT_async_progress for the context before, at all tasks";
        return fail(
            ERROR,
            format!("PAMI_Dispatch_set: remote_async_progress: targets must advance; {remedy}"),
        );
    }
    if hints.buffer_registered() == HINT_ENABLE && hints.use_rdma() == HINT_DISABLE {
        return fail(ERROR, "PAMI_Dispatch_set: registered buffers are for RDMA, which a hint disables");
    }
    if hints.recv_immediate() == HINT_ENABLE && hints.use_rdma() == HINT_ENABLE {
        return fail(
            ERROR,
            "PAMI_Dispatch_set: what is received at once is in a packet, not fetched by RDMA",
        );
    }
    let list = context.dispatches();
    if list.len() <= dispatch {
        list.resize(dispatch + 1, None);
    }
    context.core().resume();
    list[dispatch] = Some(Dispatch { function, cookie, hints });
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Dispatch_query(
    handle: *mut c_void,
    dispatch: usize,
    configuration: *mut Configuration,
    count: usize,
) -> Result {
    // SAFETY: the program gave them.
    let (found, attributes) = unsafe { (context(handle), attributes(configuration, count)) };
    if found.as_ref().and_then(|context| context.dispatches().get(dispatch).copied().flatten()).is_none() {
        return fail(INVAL, format!("PAMI_Dispatch_query: identifier {dispatch} is not set in this context"));
    }
    // The packets of some simulated machines are shorter.
    let immediate_max = found.map_or(0, |context| context.core().immediate_max()).min(IMMEDIATE_MAX);
    query("PAMI_Dispatch_query", "a dispatch", attributes, |attribute| {
        attribute.value.intval = match attribute.name {
            attribute::DISPATCH_RECV_IMMEDIATE_MAX | attribute::DISPATCH_SEND_IMMEDIATE_MAX => immediate_max,
            // Data is laid out as a whole, so no atom is too large; the value is that of an `int`.
            attribute::DISPATCH_ATOM_SIZE_MAX => i32::MAX as usize,
            _ => return false,
        };
        true
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Dispatch_update(
    _context: *mut c_void,
    _dispatch: usize,
    configuration: *mut Configuration,
    count: usize,
) -> Result {
    // SAFETY: the program gave them.
    unsafe { update(configuration, count) }
}

impl Context {
    /// What is registered for an identifier.
    pub fn dispatch(&self, dispatch: u16) -> Option<Dispatch> {
        self.dispatches().get(usize::from(dispatch)).copied().flatten()
    }
}
