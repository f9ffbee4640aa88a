//! Types and constants of the standard ABI (MPI 5.0, chapter 20 and Annex A).

use std::ffi::c_int;

/// `MPI_Status`. The last integers are this library's: the length in two, and whether it was cancelled.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status {
    pub source: c_int,
    pub tag: c_int,
    pub error: c_int,
    pub internal: [c_int; 5],
}
const _: () = assert!(size_of::<Status>() == 32);

impl Status {
    /// Length of the data, bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.internal[0] as u32) | u64::from(self.internal[1] as u32) << 32
    }

    /// Whether the operation was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.internal[2] != 0
    }

    pub fn set_cancelled(&mut self, is_cancelled: bool) {
        self.internal[2] = is_cancelled.into();
    }

    pub fn set_bytes(&mut self, bytes: u64) {
        (self.internal[0], self.internal[1]) = (bytes as u32 as c_int, (bytes >> 32) as u32 as c_int);
    }
}

pub const SUCCESS: c_int = 0;

pub const COMM_NULL: usize = 0x100;
pub const COMM_WORLD: usize = 0x101;
pub const COMM_SELF: usize = 0x102;
pub const REQUEST_NULL: usize = 0x180;
pub const ERRORS_ARE_FATAL: usize = 0x141;
pub const ERRORS_ABORT: usize = 0x142;
pub const ERRORS_RETURN: usize = 0x143;

pub const ANY_SOURCE: c_int = netloom_mpi::matching::ANY_SOURCE;
pub const ANY_TAG: c_int = netloom_mpi::matching::ANY_TAG;
pub const PROC_NULL: c_int = -3;
pub const UNDEFINED: c_int = -32766;
/// `MPI_IN_PLACE`.
pub const IN_PLACE: usize = 1;

pub const THREAD_SINGLE: c_int = 0;
pub const THREAD_FUNNELED: c_int = 1024;
pub const THREAD_SERIALIZED: c_int = 2048;
pub const THREAD_MULTIPLE: c_int = 4096;
pub const MAX_OBJECT_NAME: usize = 128;
pub const MAX_ERROR_STRING: usize = 512;
pub const MAX_PROCESSOR_NAME: usize = 256;
