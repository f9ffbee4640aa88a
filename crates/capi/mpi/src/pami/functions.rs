//! The functions of PAMI that MPI calls.
#![allow(non_snake_case)] // Their names are PAMI's.

use crate::pami_interface::abi::{
    Configuration, DispatchFunction, DispatchHints, MemoryRegion, Rget, Rput, Send, SendImmediate,
    WorkFunction,
};
use std::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    pub fn PAMI_Client_create(
        name: *const c_char,
        client: *mut *mut c_void,
        list: *mut Configuration,
        count: usize,
    ) -> c_int;
    pub fn PAMI_Client_destroy(client: *mut *mut c_void) -> c_int;
    pub fn PAMI_Client_query(client: *mut c_void, list: *mut Configuration, count: usize) -> c_int;
    pub fn PAMI_Context_createv(
        client: *mut c_void,
        list: *mut Configuration,
        count: usize,
        contexts: *mut *mut c_void,
        number: usize,
    ) -> c_int;
    pub fn PAMI_Context_destroyv(contexts: *mut *mut c_void, count: usize) -> c_int;
    pub fn PAMI_Context_advance(context: *mut c_void, maximum: usize) -> c_int;
    pub fn PAMI_Context_advancev(contexts: *mut *mut c_void, count: usize, maximum: usize) -> c_int;
    pub fn PAMI_Context_post(
        context: *mut c_void,
        work: *mut c_void,
        function: WorkFunction,
        cookie: *mut c_void,
    ) -> c_int;
    pub fn PAMI_Dispatch_set(
        context: *mut c_void,
        dispatch: usize,
        function: Option<DispatchFunction>,
        cookie: *mut c_void,
        hints: DispatchHints,
    ) -> c_int;
    pub fn PAMI_Dispatch_query(
        context: *mut c_void,
        dispatch: usize,
        list: *mut Configuration,
        count: usize,
    ) -> c_int;
    pub fn PAMI_Endpoint_create(client: *mut c_void, task: u32, offset: usize, endpoint: *mut u32) -> c_int;
    pub fn PAMI_Endpoint_query(endpoint: u32, task: *mut u32, offset: *mut usize) -> c_int;
    pub fn PAMI_Send_immediate(context: *mut c_void, send: *mut SendImmediate) -> c_int;
    pub fn PAMI_Send(context: *mut c_void, send: *mut Send) -> c_int;
    pub fn PAMI_Rput(context: *mut c_void, put: *mut Rput) -> c_int;
    pub fn PAMI_Rget(context: *mut c_void, get: *mut Rget) -> c_int;
    pub fn PAMI_Memregion_create(
        context: *mut c_void,
        address: *mut c_void,
        bytes: usize,
        registered: *mut usize,
        region: *mut MemoryRegion,
    ) -> c_int;
    pub fn PAMI_Wtime(client: *mut c_void) -> f64;
    pub fn PAMI_Extension_open(
        client: *mut c_void,
        name: *const c_char,
        extension: *mut *mut c_void,
    ) -> c_int;
    pub fn PAMI_Extension_symbol(extension: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn PAMI_Error_text(text: *mut c_char, length: usize) -> usize;
}
