//! The structures of `pami.h` for geometries and collectives. `tests/pami/layout.c` checks the header.

use super::abi::{DataFunction, EventFunction};
use std::ffi::{c_char, c_int, c_void};

/// `pami_xfer_type_t`.
pub mod kind {
    pub const BROADCAST: u32 = 0;
    pub const ALLREDUCE: u32 = 1;
    pub const REDUCE: u32 = 2;
    pub const ALLGATHER: u32 = 3;
    pub const ALLGATHERV: u32 = 4;
    pub const ALLGATHERV_INT: u32 = 5;
    pub const SCATTER: u32 = 6;
    pub const SCATTERV: u32 = 7;
    pub const SCATTERV_INT: u32 = 8;
    pub const GATHER: u32 = 9;
    pub const GATHERV: u32 = 10;
    pub const GATHERV_INT: u32 = 11;
    pub const BARRIER: u32 = 12;
    pub const ALLTOALL: u32 = 13;
    pub const ALLTOALLV: u32 = 14;
    pub const ALLTOALLV_INT: u32 = 15;
    pub const SCAN: u32 = 16;
    pub const REDUCE_SCATTER: u32 = 17;
    pub const AMBROADCAST: u32 = 18;
    pub const AMSCATTER: u32 = 19;
    pub const AMGATHER: u32 = 20;
    pub const AMREDUCE: u32 = 21;
    pub const COUNT: u32 = 22;
}

/// `pami_geometry_range_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TaskRange {
    pub low: u32,
    pub high: u32,
}

/// A buffer that a type and a count describe.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Data {
    pub buffer: *mut u8,
    pub kind: *mut c_void,
    pub count: usize,
}

/// A buffer of blocks, with an array of counts and one of displacements: of `size_t` or of `int`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Vector {
    pub buffer: *mut u8,
    pub kind: *mut c_void,
    pub counts: *const c_void,
    pub displacements: *const c_void,
}

/// `pami_broadcast_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Broadcast {
    pub root: u32,
    pub data: Data,
}

/// `pami_allgather_t`, `pami_alltoall_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Exchange {
    pub send: Data,
    pub receive: Data,
}

/// `pami_gather_t`, `pami_scatter_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Rooted {
    pub root: u32,
    pub send: Data,
    pub receive: Data,
}

/// `pami_allgatherv_t` and its variant with `int`, whose count has 32 bits.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Allgatherv {
    pub send: Data,
    pub receive: Vector,
}

/// `pami_gatherv_t` and its variant with `int`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Gatherv {
    pub root: u32,
    pub send: Data,
    pub receive: Vector,
}

/// `pami_scatterv_t` and its variant with `int`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Scatterv {
    pub root: u32,
    pub send: Vector,
    pub receive: Data,
}

/// `pami_alltoallv_t` and its variant with `int`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Alltoallv {
    pub send: Vector,
    pub receive: Vector,
}

/// `pami_allreduce_t`; `pami_scan_t`, where the flag says `exclusive`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Allreduce {
    pub send: Data,
    pub receive: Data,
    pub op: DataFunction,
    pub cookie: *mut c_void,
    pub flag: c_int,
}

/// `pami_reduce_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Reduce {
    pub root: u32,
    pub all: Allreduce,
}

/// `pami_reduce_scatter_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ReduceScatter {
    pub send: Data,
    pub buffer: *mut u8,
    pub kind: *mut c_void,
    pub counts: *const usize,
    pub op: DataFunction,
    pub cookie: *mut c_void,
    pub commutative: c_int,
}

/// `pami_ambroadcast_t`, `pami_amscatter_t`, `pami_amgather_t`; and `pami_amreduce_t` up to its `rtypecount`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Active {
    pub dispatch: usize,
    pub headers: *const u8,
    pub header_bytes: usize,
    pub data: Data,
}

/// `pami_amreduce_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ActiveReduce {
    pub active: Active,
    pub cookie: *mut c_void,
    pub commutative: c_int,
}

/// `pami_collective_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Command {
    pub broadcast: Broadcast,
    pub exchange: Exchange,
    pub rooted: Rooted,
    pub allgatherv: Allgatherv,
    pub gatherv: Gatherv,
    pub scatterv: Scatterv,
    pub alltoallv: Alltoallv,
    pub allreduce: Allreduce,
    pub reduce: Reduce,
    pub reduce_scatter: ReduceScatter,
    pub active: Active,
    pub active_reduce: ActiveReduce,
}

/// `pami_xfer_t`.
#[repr(C)]
pub struct Xfer {
    pub done_fn: EventFunction,
    pub cookie: *mut c_void,
    pub algorithm: usize,
    pub options: u32,
    pub command: Command,
}

/// `pami_metadata_function`; `metadata_result_t` is a word.
pub type CheckFunction = unsafe extern "C" fn(*mut Xfer) -> u32;

/// `pami_metadata_t`.
#[repr(C)]
pub struct Metadata {
    pub name: *const c_char,
    pub version: u32,
    pub check_fn: Option<CheckFunction>,
    pub range_low: usize,
    pub range_high: usize,
    pub send_min_align: u32,
    pub receive_min_align: u32,
    pub correct: u32,
    pub perf: u32,
    pub range_low_perf: usize,
    pub range_high_perf: usize,
    pub min_align_perf: u32,
}

/// Flags of `check_correct`: `check_fn` is to be called before each use.
pub const CHECK_REQUIRED: u32 = 1 << 0;
/// The same: the range applies.
pub const RANGE: u32 = 1 << 2;
/// The same: all types and operations.
pub const ALL_TYPES_AND_OPERATIONS: u32 = 1 << 5;
/// The same: send and receive buffers may overlap.
pub const OVERLAP: u32 = 1 << 11;
/// The same: active messages may need barriers that bound unexpected data.
pub const FLOW_CONTROL: u32 = 1 << 12;
