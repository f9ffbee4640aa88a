//! Dispatch functions of active-message collectives, and what they fill in.

use crate::abi::*;
use crate::context::Context;
use crate::symbols;
use crate::typed::{Buffer, Combine};
use crate::types::complete;
use crate::xfer::kind;
use std::ffi::c_void;

/// `pami_dispatch_ambroadcast_function`, `pami_dispatch_amscatter_function`.
type ReceiveFunction = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const c_void,
    usize,
    *const c_void,
    usize,
    u32,
    *mut c_void,
    *mut Receive,
);
/// `pami_dispatch_amgather_function`.
type GatherFunction = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const c_void,
    usize,
    usize,
    u32,
    *mut c_void,
    *mut Receive,
);
/// `pami_dispatch_amreduce_function`.
type ReduceFunction = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const c_void,
    usize,
    usize,
    u32,
    *mut c_void,
    *mut DataFunction,
    *mut Receive,
);

/// `pami_dispatch_callback_function` of these collectives.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Function {
    pub receive: ReceiveFunction,
    pub gather: GatherFunction,
    pub reduce: ReduceFunction,
    pub any: Option<ReceiveFunction>,
}

/// What is registered for an identifier of an algorithm.
#[derive(Clone, Copy)]
pub struct Registered {
    pub function: Function,
    pub cookie: *mut c_void,
}

/// A call of a dispatch function.
pub struct Invocation {
    pub algorithm: u32,
    pub registered: Registered,
    pub geometry: *mut c_void,
    pub header: Vec<u8>,
    pub origin: u32,
    pub cookie: *mut c_void,
}

fn no_receive() -> Receive {
    Receive {
        cookie: std::ptr::null_mut(),
        local_fn: None,
        addr: std::ptr::null_mut(),
        kind: symbols::byte(),
        offset: 0,
        data_fn: symbols::copy_function(),
        data_cookie: std::ptr::null_mut(),
    }
}

impl Invocation {
    /// Calls the dispatch function for `bytes` of data; returns what it filled in, and the operation of a
    /// reduce.
    pub fn call(&self, context: &Context, bytes: usize) -> (Receive, DataFunction) {
        let mut receive = no_receive();
        let mut operation = None;
        let header = self.header.as_ptr().cast();
        let (length, origin, geometry) = (self.header.len(), self.origin, self.geometry);
        let Registered { function, cookie } = self.registered;
        let handle = context.handle();
        // SAFETY: the program registered the function for this collective.
        unsafe {
            match self.algorithm {
                kind::AMGATHER => {
                    (function.gather)(
                        handle,
                        cookie,
                        header,
                        length,
                        bytes,
                        origin,
                        geometry,
                        &raw mut receive,
                    );
                }
                kind::AMREDUCE => {
                    let operation = &raw mut operation;
                    let receive = &raw mut receive;
                    (function.reduce)(
                        handle, cookie, header, length, bytes, origin, geometry, operation, receive,
                    );
                }
                _ => {
                    let (receive, data) = (&raw mut receive, std::ptr::null());
                    (function.receive)(
                        handle, cookie, header, length, data, bytes, origin, geometry, receive,
                    );
                }
            }
        }
        (receive, operation)
    }
}

/// The data that a dispatch function named, packed; zeros where it named none.
pub fn answer(send: &Receive, bytes: usize) -> Buffer {
    let mut buffer = Buffer::new(bytes);
    // SAFETY: the program gave the type.
    let layout = unsafe { complete(send.kind) };
    let combine = Combine::new(send.data_fn, send.data_cookie, [send.kind; 2]);
    if let (Some(layout), Some(combine), false) = (layout, combine, send.addr.is_null()) {
        let mut to = buffer.address();
        for piece in layout.pieces(send.offset as u64, bytes as u64) {
            // SAFETY: the program gave memory that the type describes; the buffer is as long as the data.
            unsafe {
                let from = send.addr.cast::<u8>().wrapping_offset(piece.offset as isize);
                combine.run(to, from, piece.bytes as usize);
                to = to.add(piece.bytes as usize);
            }
        }
    }
    buffer
}
