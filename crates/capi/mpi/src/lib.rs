//! `libmpi_abi.so.1`: MPI with the standard ABI. What it does is in `netloom_mpi`; here are handles, checks
//! of arguments, and PAMI as its transport.
//!
//! | what | file |
//! |---|---|
//! | all functions of MPI: declarations, names, who carries them out | `functions.txt`, `table.rs`, `build.rs` |
//! | types and constants | `abi.rs` |
//! | the library of a process; handles; errors; threads | `library.rs`; `handles.rs`; `entry.rs`; `threads.rs` |
//! | counts of both lengths; buffers | `numbers.rs`, `buffer.rs` |
//! | processes that are spawned or connected; ports and names | `dynamic/` |
//! | start and end; sessions | `start.rs`; `sessions.rs` |
//! | communicators; their contexts; between two groups; their attributes; groups; topologies | `communicators.rs`; `contexts.rs`; `intercommunicators.rs`; `attributes.rs`; `groups.rs`; `grids.rs`, `graphs.rs` |
//! | sends, receives, probes; sends without the lock; buffered, persistent, partitioned, matched ones | `sends.rs`; `handoff.rs`; `buffered.rs`, `persistent.rs`, `partitioned.rs`, `matched.rs` |
//! | requests; generalized ones; statuses | `requests.rs`; `generalized.rs`; `status.rs` |
//! | collectives; between two groups; of neighborhoods; reduction operations | `collectives.rs`; `intercollectives.rs`; `neighborhood.rs`; `operations.rs` |
//! | datatypes: handles; how they are made, and how they were; found by what they hold; explicit packing | `types.rs`; `constructors.rs`, `darray.rs`, `envelope.rs`; `selection.rs`; `packing.rs` |
//! | files: opened and closed, views, accesses, file pointers | `files/` |
//! | memory that several processes have | `memory.rs` |
//! | windows: made and freed, shared memory, operations, synchronization | `windows/` |
//! | info objects; what is known of Fortran; variables that tell what the library does | `info.rs`; `fortran.rs`; `tools/` |
//! | time, names, versions; error handlers and codes | `environment.rs`; `errhandlers.rs` |
//! | the transport; what it reports; its contexts; its collectives | `pami.rs`, `pami_interface.rs`; `pami/arrivals.rs`; `pami/contexts.rs`; `pami/geometries.rs`, `pami/algorithms.rs` |
//! | for what a call waits, in words; what is not freed | `waiting.rs`; `unfreed.rs` |
//!
//! # One thread at a time
//! One thread at a time uses what the library has: below `MPI_THREAD_MULTIPLE` because the program makes one
//! call at a time, with it by a lock: see `threads.rs`.
#![allow(unsafe_code)] // Each function takes pointers from C.
#![allow(non_snake_case, missing_docs, clippy::missing_safety_doc)] // Functions are documented in the standard.
#![allow(clippy::too_many_arguments)] // They are the standard's.

mod abi;
mod attributes;
mod buffer;
mod buffered;
mod collectives;
mod comm;
mod communicators;
mod constructors;
mod darray;
mod dynamic;
mod entry;
mod envelope;
mod environment;
mod errhandlers;
mod files;
mod fortran;
mod generalized;
mod graphs;
mod grids;
mod groups;
mod handoff;
mod info;
mod intercollectives;
mod intercommunicators;
mod library;
mod matched;
mod memory;
mod neighborhood;
mod numbers;
mod operations;
mod packing;
mod pami;
mod pami_interface;
mod partitioned;
mod persistent;
mod profile;
mod requests;
mod selection;
mod sends;
mod sessions;
mod start;
mod status;
mod threads;
mod tools;
mod types;
mod unfreed;
mod waiting;
mod windows;

/// The exported functions, generated from functions.txt.
mod exports {
    use crate::abi::Status;
    use crate::buffer::{Buffer, Counted, Pieces};
    use crate::entry::{at_any_time, place, run, run_alone, send_without_lock};
    use crate::library::Library;
    use crate::numbers::{Count, CountPlace};
    use crate::windows::Remote;
    use std::arch::global_asm;
    use std::ffi::{c_char, c_int, c_void};

    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}
