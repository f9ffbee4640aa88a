//! `EXT_bgq_l2atomic`: memory for atomic operations. On Blue Gene/Q the L2 cache performs them, in memory
//! that the kernel has prepared; here the processor does, in any memory, also for guests, whose memory is
//! this computer's.

use super::{Extension, everywhere};
use crate::abi::*;
use crate::client::{fail, job};
use crate::device::guest;
use netloom_shm::blocks::BlockError;
use std::ffi::{CStr, c_char, c_void};

pub const EXTENSION: Extension = Extension {
    name: "EXT_bgq_l2atomic",
    refusal: everywhere,
    symbols: &["node_memalign", "node_free", "proc_memalign", "proc_free"],
    symbol: |_, name| match name {
        "node_memalign" => node_memalign as *mut c_void,
        "node_free" => node_free as *mut c_void,
        "proc_memalign" => process_memalign as *mut c_void,
        _ => process_free as *mut c_void,
    },
};

/// Memory of the tasks of a node that give the same key: a block of the segment.
unsafe extern "C" fn node_memalign(
    memory: *mut *mut c_void,
    alignment: usize,
    bytes: usize,
    key: *const c_char,
) -> Result {
    if memory.is_null() || key.is_null() {
        return fail(
            INVAL,
            "node_memalign: memory or key is NULL; tasks of a node share what has the same key",
        );
    }
    let job = match job() {
        Ok(job) => job,
        Err(reason) => return fail(ERROR, format!("node_memalign: {reason}")),
    };
    let tasks_per_node = job.simulated.as_ref().map(|hub| guest::lock(hub).facts().tasks_per_node);
    let node = tasks_per_node.map_or(0, |per_node| job.task / per_node);
    // SAFETY: the program gave it.
    let key = unsafe { CStr::from_ptr(key) }.to_bytes();
    match job.segment.share_block(job.task, node, key, bytes, alignment.max(8)) {
        Ok(block) => {
            // SAFETY: the program gave it.
            unsafe { *memory = block.cast() };
            SUCCESS
        }
        Err(reason) => {
            let result = if reason == BlockError::Full { ENOMEM } else { INVAL };
            fail(result, format!("node_memalign: {}: {reason}", String::from_utf8_lossy(key)))
        }
    }
}

unsafe extern "C" fn node_free(memory: *mut c_void) {
    if let Ok(job) = job()
        && !job.segment.leave_block(job.task, memory.cast())
    {
        fail(INVAL, format!("node_free: {memory:p} is not of node_memalign"));
    }
}

unsafe extern "C" fn process_memalign(
    memory: *mut *mut c_void,
    alignment: usize,
    bytes: usize,
    _key: *const c_char,
) -> Result {
    if memory.is_null() {
        return fail(INVAL, "proc_memalign: memory is NULL");
    }
    let mut made = std::ptr::null_mut();
    // SAFETY: a library call with a place for the address.
    match unsafe { libc::posix_memalign(&raw mut made, alignment.max(size_of::<usize>()), bytes.max(1)) } {
        0 => {}
        libc::EINVAL => {
            return fail(INVAL, format!("proc_memalign: the alignment {alignment} is no power of two"));
        }
        _ => return fail(ENOMEM, format!("proc_memalign: there are no {bytes} B")),
    }
    // SAFETY: memory of this length was made just now, and the program gave the place of its address.
    unsafe {
        made.write_bytes(0, bytes);
        *memory = made;
    }
    SUCCESS
}

unsafe extern "C" fn process_free(memory: *mut c_void) {
    // SAFETY: the program has it from `process_memalign`.
    unsafe { libc::free(memory) };
}
