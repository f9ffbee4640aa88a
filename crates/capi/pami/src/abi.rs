//! The structures and constants of `pami.h` that the functions use. The layout is checked against the header
//! by `tests/pami/layout.c`.

use std::ffi::{c_char, c_int, c_void};

pub use libc::iovec;

/// `pami_result_t`.
pub type Result = c_int;
pub const SUCCESS: Result = 0;
pub const ERROR: Result = 1;
pub const INVAL: Result = 2;
pub const UNIMPL: Result = 3;
pub const EAGAIN: Result = 4;
pub const ENOMEM: Result = 5;
pub const SHUTDOWN: Result = 6;

/// `pami_event_function`.
pub type EventFunction = Option<unsafe extern "C" fn(*mut c_void, *mut c_void, Result)>;
/// `pami_work_function`.
pub type WorkFunction = Option<unsafe extern "C" fn(*mut c_void, *mut c_void) -> Result>;
/// `pami_data_function`, not NULL.
pub type DataPointer = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut c_void);
/// `pami_data_function`.
pub type DataFunction = Option<DataPointer>;
/// `pami_dispatch_p2p_function`.
pub type DispatchFunction = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const c_void,
    usize,
    *const c_void,
    usize,
    u32,
    *mut Receive,
);

/// `pami_attribute_value_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union AttributeValue {
    pub intval: usize,
    pub doubleval: f64,
    pub chararray: *const c_char,
    pub intarray: *const usize,
}

/// `pami_configuration_t`.
#[repr(C)]
pub struct Configuration {
    pub name: c_int,
    pub value: AttributeValue,
}

/// The attributes of `pami_attribute_name_t`.
pub mod attribute {
    pub const CLIENT_CLOCK_MHZ: i32 = 100;
    pub const CLIENT_CONST_CONTEXTS: i32 = 101;
    pub const CLIENT_HWTHREADS_AVAILABLE: i32 = 102;
    pub const CLIENT_MEMREGION_SIZE: i32 = 103;
    pub const CLIENT_MEM_SIZE: i32 = 104;
    pub const CLIENT_NUM_TASKS: i32 = 105;
    pub const CLIENT_NUM_LOCAL_TASKS: i32 = 106;
    pub const CLIENT_LOCAL_TASKS: i32 = 107;
    pub const CLIENT_NUM_CONTEXTS: i32 = 108;
    pub const CLIENT_PROCESSOR_NAME: i32 = 109;
    pub const CLIENT_TASK_ID: i32 = 110;
    pub const CLIENT_WTIMEBASE_MHZ: i32 = 111;
    pub const CLIENT_WTICK: i32 = 112;
    pub const CLIENT_NONCONTIG: i32 = 113;
    pub const CLIENT_MEMORY_OPTIMIZE: i32 = 114;
    pub const CONTEXT_DISPATCH_ID_MAX: i32 = 200;
    pub const DISPATCH_RECV_IMMEDIATE_MAX: i32 = 300;
    pub const DISPATCH_SEND_IMMEDIATE_MAX: i32 = 301;
    pub const DISPATCH_ATOM_SIZE_MAX: i32 = 302;
    pub const GEOMETRY_OPTIMIZE: i32 = 400;
    pub const GEOMETRY_NONCONTIG: i32 = 401;
    pub const GEOMETRY_MEMORY_OPTIMIZE: i32 = 402;
    pub const TYPE_DATA_SIZE: i32 = 500;
    pub const TYPE_DATA_EXTENT: i32 = 501;
    pub const TYPE_ATOM_SIZE: i32 = 502;
    /// Of `EXT_async_progress`.
    pub const CLIENT_ASYNC_GUARANTEE: i32 = 1016;
}

/// `pami_dispatch_hint_t`: eleven fields of two bits.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct DispatchHints(pub u32);

/// Values of a field of hints.
pub const HINT_ENABLE: u32 = 1;
pub const HINT_DISABLE: u32 = 2;

impl DispatchHints {
    pub fn long_header(self) -> u32 {
        self.field(1)
    }
    pub fn recv_contiguous(self) -> u32 {
        self.field(2)
    }
    pub fn recv_copy(self) -> u32 {
        self.field(3)
    }
    pub fn recv_immediate(self) -> u32 {
        self.field(4)
    }
    pub fn buffer_registered(self) -> u32 {
        self.field(6)
    }
    pub fn use_rdma(self) -> u32 {
        self.field(8)
    }
    pub fn use_shmem(self) -> u32 {
        self.field(9)
    }
    pub fn remote_async_progress(self) -> u32 {
        self.field(7)
    }
    pub fn queue_immediate(self) -> u32 {
        self.field(10)
    }
    fn field(self, n: u32) -> u32 {
        self.0 >> (2 * n) & 3
    }
    /// Whether a field has the value that is never valid.
    pub fn is_invalid(self) -> bool {
        (0..11).any(|n| self.field(n) == 3)
    }
}

/// `pami_send_immediate_t`.
#[repr(C)]
pub struct SendImmediate {
    pub header: iovec,
    pub data: iovec,
    pub dispatch: usize,
    pub hints: u32,
    pub dest: u32,
}

/// `pami_send_event_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SendEvents {
    pub cookie: *mut c_void,
    pub local_fn: EventFunction,
    pub remote_fn: EventFunction,
}

/// `pami_send_t`.
#[repr(C)]
pub struct Send {
    pub send: SendImmediate,
    pub events: SendEvents,
}

/// `pami_send_typed_t`.
#[repr(C)]
pub struct SendTyped {
    pub send: SendImmediate,
    pub events: SendEvents,
    pub kind: *mut c_void,
    pub offset: usize,
    pub data_fn: DataFunction,
    pub data_cookie: *mut c_void,
}

/// `pami_recv_t`.
#[repr(C)]
pub struct Receive {
    pub cookie: *mut c_void,
    pub local_fn: EventFunction,
    pub addr: *mut c_void,
    pub kind: *mut c_void,
    pub offset: usize,
    pub data_fn: DataFunction,
    pub data_cookie: *mut c_void,
}

/// `pami_rma_t`.
#[repr(C)]
pub struct Rma {
    pub dest: u32,
    pub hints: u32,
    pub bytes: usize,
    pub cookie: *mut c_void,
    pub done_fn: EventFunction,
}

/// `pami_put_simple_t`; the `rdone_fn` at its end is not part of `pami_get_simple_t`.
#[repr(C)]
pub struct Put {
    pub rma: Rma,
    pub local: *mut c_void,
    pub remote: *mut c_void,
    pub rdone_fn: EventFunction,
}

/// `pami_get_simple_t`.
#[repr(C)]
pub struct Get {
    pub rma: Rma,
    pub local: *mut c_void,
    pub remote: *mut c_void,
}

/// `pami_rma_typed_t`.
#[repr(C)]
pub struct RmaTyped {
    pub local: *mut c_void,
    pub remote: *mut c_void,
}

/// `pami_put_typed_t`.
#[repr(C)]
pub struct PutTyped {
    pub rma: Rma,
    pub local: *mut c_void,
    pub remote: *mut c_void,
    pub kinds: RmaTyped,
    pub rdone_fn: EventFunction,
}

/// `pami_get_typed_t`.
#[repr(C)]
pub struct GetTyped {
    pub rma: Rma,
    pub local: *mut c_void,
    pub remote: *mut c_void,
    pub kinds: RmaTyped,
}

/// `pami_memregion_t`: the address of the region for other tasks, as it was exposed; 0 after its end.
pub type MemoryRegion = usize;

/// `pami_rma_mr_t`.
#[repr(C)]
pub struct RegionPart {
    pub region: *mut MemoryRegion,
    pub offset: usize,
}

/// `pami_rput_simple_t`.
#[repr(C)]
pub struct Rput {
    pub rma: Rma,
    pub local: RegionPart,
    pub remote: RegionPart,
    pub rdone_fn: EventFunction,
}

/// `pami_rget_simple_t`.
#[repr(C)]
pub struct Rget {
    pub rma: Rma,
    pub local: RegionPart,
    pub remote: RegionPart,
}

/// `pami_rput_typed_t`.
#[repr(C)]
pub struct RputTyped {
    pub rma: Rma,
    pub local: RegionPart,
    pub remote: RegionPart,
    pub kinds: RmaTyped,
    pub rdone_fn: EventFunction,
}

/// `pami_rget_typed_t`.
#[repr(C)]
pub struct RgetTyped {
    pub rma: Rma,
    pub local: RegionPart,
    pub remote: RegionPart,
    pub kinds: RmaTyped,
}

/// `pami_rmw_t`.
#[repr(C)]
pub struct Rmw {
    pub dest: u32,
    pub hints: u32,
    pub cookie: *mut c_void,
    pub done_fn: EventFunction,
    pub local: *mut c_void,
    pub remote: *mut c_void,
    pub value: *mut c_void,
    pub test: *mut c_void,
    pub operation: c_int,
    pub kind: *mut c_void,
}
