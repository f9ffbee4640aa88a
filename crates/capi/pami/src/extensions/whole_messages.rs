//! `NETLOOM_whole_messages`: sends of more data than [`PAMI_Send_immediate`](crate::send::PAMI_Send_immediate)
//! takes, which are done when the call returns, where the path to the target carries them at once. Their
//! dispatch function gets all data at once too. And copies between the memory of two tasks, likewise done when
//! the call returns. An extension of this library, for MPI.

use super::Extension;
use crate::abi::{EAGAIN, MemoryRegion, Result, SUCCESS, SendImmediate};
use crate::check::enter;
use crate::client::job;
use crate::send::send_whole;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::device::{Begun, PamiDevice, Range, Transfer};
use std::ffi::c_void;

pub const EXTENSION: Extension = Extension {
    name: "NETLOOM_whole_messages",
    refusal: |job| job.simulated.map(|_| "a simulated network has packets of one length"),
    symbols: &["send", "copy", "has_own_core"],
    symbol: |_, name| match name {
        "send" => send as *mut c_void,
        "copy" => copy as *mut c_void,
        _ => has_own_core as *mut c_void,
    },
};

/// Symbol `has_own_core`: whether no other task runs on this one's cores, so that those it sends to take
/// messages at once.
unsafe extern "C" fn has_own_core() -> bool {
    job().is_ok_and(|job| !job.is_oversubscribed())
}

/// Symbol `send`: sends, or returns `PAMI_EAGAIN` if the path does not carry the message at once.
unsafe extern "C" fn send(context: *mut c_void, send: *mut SendImmediate) -> Result {
    // SAFETY: the caller gave them.
    unsafe { send_whole(context, send) }
}

/// Symbol `copy`: copies from this task's memory to exposed memory of another, or the other direction, or
/// returns `PAMI_EAGAIN` if it cannot.
unsafe extern "C" fn copy(
    context: *mut c_void,
    with: u32,
    local: *mut c_void,
    exposed: MemoryRegion,
    bytes: usize,
    is_put: bool,
) -> Result {
    // SAFETY: the caller gave it.
    let Some(context) = (unsafe { enter("NETLOOM_whole_messages", context) }) else { return EAGAIN };
    let way = if is_put { Transfer::Put } else { Transfer::Get };
    let local = Range { address: local as u64, bytes: bytes as u64 };
    match context.core().device_mut().transfer(way, Endpoint(with), local, exposed as u64) {
        Ok(Begun::Done) => SUCCESS,
        _ => EAGAIN,
    }
}
