//! Active messages: immediate sends, and sends of any length.

use crate::abi::*;
use crate::check::enter;
use crate::client::fail;
use crate::context::{Callback, Context};
use crate::dispatch::IMMEDIATE_MAX;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::{Invalid, Send as CoreSend};
use netloom_messaging::pami::device::Range;
use std::ffi::c_void;

/// The bytes that an `iovec` describes; `None` if it has a length without an address.
///
/// # Safety
/// They are the program's, and stay as they are during the call.
#[inline]
unsafe fn bytes<'a>(part: &iovec) -> Option<&'a [u8]> {
    if part.iov_len == 0 {
        return Some(&[]);
    }
    // SAFETY: the caller's promise.
    (!part.iov_base.is_null())
        .then(|| unsafe { std::slice::from_raw_parts(part.iov_base.cast(), part.iov_len) })
}

/// What to do about an identifier that is not set.
const SET: &str = "call PAMI_Dispatch_set in this context and at the target";

fn invalid(call: &str, reason: Invalid) -> Result {
    fail(INVAL, format!("{call}: {reason}"))
}

/// The endpoint to which a message goes. On a simulated node the hint use_shmem chooses between shared memory
/// and the network; natively there is no network.
fn target(context: &Context, to: u32, hints: DispatchHints) -> Endpoint {
    let to = Endpoint(to).plain();
    if hints.use_shmem() != HINT_DISABLE {
        return to;
    }
    let job = context.client().job;
    let is_local = job.simulated.is_some() && job.locals().contains(&(to.task() as usize));
    if is_local { to.by_network() } else { to }
}

/// Why the hint use_shmem forbids a send: its target is on another node.
#[cold]
fn off_node(call: &str, context: &Context, to: u32) -> Option<Result> {
    let task = Endpoint(to).task();
    let job = context.client().job;
    // Natively there is one node.
    let is_local = job.simulated.is_none() || job.locals().contains(&(task as usize));
    let reason =
        || format!("{call}: task {task} is on another node, and the hint use_shmem demands this one");
    (!is_local).then(|| fail(INVAL, reason()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Send_immediate(handle: *mut c_void, send: *mut SendImmediate) -> Result {
    // SAFETY: the program gave them.
    let Some((context, send)) = (unsafe { enter("PAMI_Send_immediate", handle).zip(send.as_ref()) }) else {
        return fail(INVAL, "PAMI_Send_immediate: context or parameters are NULL");
    };
    // SAFETY: the program gave them.
    let Some((header, data)) = (unsafe { bytes(&send.header).zip(bytes(&send.data)) }) else {
        return fail(INVAL, "PAMI_Send_immediate: a buffer with a length is NULL");
    };
    let Some(dispatch) = context.dispatches().get(send.dispatch).copied().flatten() else {
        return fail(
            INVAL,
            format!("PAMI_Send_immediate: identifier {} is not set here; {SET}", send.dispatch),
        );
    };
    if header.len() + data.len() > IMMEDIATE_MAX {
        let bytes = header.len() + data.len();
        return fail(INVAL, format!("PAMI_Send_immediate: {bytes} B are more than {IMMEDIATE_MAX} B"));
    }
    if dispatch.hints.use_shmem() == HINT_ENABLE
        && let Some(result) = off_node("PAMI_Send_immediate", &context, send.dest)
    {
        return result;
    }
    let may_wait = dispatch.hints.queue_immediate() != HINT_DISABLE;
    let to = target(&context, send.dest, dispatch.hints);
    match context.core().send_immediate(to, send.dispatch as u16, [header, data], may_wait) {
        Ok(true) => SUCCESS,
        Ok(false) => EAGAIN,
        Err(reason) => invalid("PAMI_Send_immediate", reason),
    }
}

/// As an immediate send, of as much as the path to the target carries at once; otherwise the result is
/// `EAGAIN`, and nothing is sent.
///
/// # Safety
/// As for `PAMI_Send_immediate`.
pub unsafe fn send_whole(handle: *mut c_void, send: *mut SendImmediate) -> Result {
    const CALL: &str = "NETLOOM_whole_messages";
    // SAFETY: the caller's promise.
    let Some((context, send)) = (unsafe { enter(CALL, handle).zip(send.as_ref()) }) else {
        return fail(INVAL, format!("{CALL}: context or parameters are NULL"));
    };
    // SAFETY: the caller's promise.
    let Some((header, data)) = (unsafe { bytes(&send.header).zip(bytes(&send.data)) }) else {
        return fail(INVAL, format!("{CALL}: a buffer with a length is NULL"));
    };
    match context.core().send_whole(Endpoint(send.dest), send.dispatch as u16, [header, data]) {
        Ok(true) => SUCCESS,
        Ok(false) => EAGAIN,
        Err(reason) => invalid(CALL, reason),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Send(handle: *mut c_void, parameters: *mut Send) -> Result {
    // SAFETY: the program gave them.
    let Some((context, Send { send, events })) =
        (unsafe { enter("PAMI_Send", handle).zip(parameters.as_ref()) })
    else {
        return fail(INVAL, "PAMI_Send: context or parameters are NULL");
    };
    // SAFETY: the program gave it.
    let Some(data) = (unsafe { bytes(&send.data) }) else {
        return fail(INVAL, "PAMI_Send: the data is NULL and has a length");
    };
    let data = Range { address: data.as_ptr() as u64, bytes: data.len() as u64 };
    start("PAMI_Send", &context, send, data, *events)
}

/// Sends a header, and data that stays as it is until the event that frees it.
pub fn start(call: &str, context: &Context, send: &SendImmediate, data: Range, events: SendEvents) -> Result {
    // SAFETY: the program gave it.
    let Some(header) = (unsafe { bytes(&send.header) }) else {
        return fail(INVAL, format!("{call}: the header is NULL and has a length"));
    };
    let Some(dispatch) = context.dispatches().get(send.dispatch).copied().flatten() else {
        return fail(INVAL, format!("{call}: identifier {} is not set here; {SET}", send.dispatch));
    };
    let total = header.len() as u64 + data.bytes;
    if dispatch.hints.recv_immediate() == HINT_ENABLE && total > IMMEDIATE_MAX as u64 {
        let reason = format!("{total} B cannot be received at once, as the hint recv_immediate promises");
        return fail(INVAL, format!("{call}: {reason}"));
    }
    if dispatch.hints.use_shmem() == HINT_ENABLE
        && let Some(result) = off_node(call, context, send.dest)
    {
        return result;
    }
    if dispatch.hints.long_header() == HINT_DISABLE && header.len() > IMMEDIATE_MAX {
        let reason = format!("a header of {} B is long, which the hint long_header disables", header.len());
        return fail(INVAL, format!("{call}: {reason}"));
    }
    let SendEvents { cookie, local_fn, remote_fn } = events;
    let is_acknowledged = remote_fn.is_some();
    let reports = 1 + u8::from(is_acknowledged);
    let fetched = (std::ptr::null_mut(), 0);
    let at = context.callbacks().insert(Callback { cookie, local_fn, remote_fn, reports, fetched });
    // RDMA is how the receiver of a rendezvous fetches data.
    let is_fetched = match dispatch.hints.use_rdma() {
        HINT_ENABLE => Some(true),
        HINT_DISABLE => Some(false),
        _ => None,
    };
    let send = CoreSend {
        to: target(context, send.dest, dispatch.hints),
        dispatch: send.dispatch as u16,
        header,
        data,
        cookie: at,
        is_acknowledged,
    };
    let sent = context.core().send_by(send, is_fetched);
    match sent {
        Ok(()) => SUCCESS,
        Err(reason) => {
            context.callbacks().withdraw(at);
            invalid(call, reason)
        }
    }
}
