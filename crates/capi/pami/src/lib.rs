//! `libpami.so`: PAMI's C interface between the processes of one computer. The protocols are those of
//! `netloom_messaging::pami`, which know nothing of C; the shared memory is `netloom_shm`'s.
//!
//! | functions | file |
//! |---|---|
//! | clients, endpoints, time, error text | `client.rs` |
//! | contexts: creation, progress, posted work, locks | `context/` |
//! | dispatch identifiers | `dispatch.rs` |
//! | sends | `send.rs` |
//! | put, get, atomic operations, memory regions, fences | `rma.rs` |
//! | types | `types.rs` |
//! | typed sends, receives, puts and gets | `typed/` |
//! | geometries | `geometry/` |
//! | collectives | `collectives/` |
//! | predefined types and data functions | `symbols.rs` |
//! | extensions | `extensions/` |
//! | progress in the background | `communication_thread/` |
//! | threads on a simulated node | `threads/` |
//! | reports of misuse with `NETLOOM_CHECK=1` | `check.rs` |
//! | structures of `pami.h` | `abi.rs`, `xfer.rs` |
//! | a context's device | `device/` |
//!
//! Names and meanings are those of `crates/capi/include/pami.h`, which documents each function.
#![allow(unsafe_code)] // Each function takes pointers from C.
#![allow(non_snake_case, missing_docs, clippy::missing_safety_doc)] // Functions are documented in the header.

pub mod abi;
mod check;
pub mod client;
mod collectives;
mod communication_thread;
pub mod context;
mod device;
pub mod dispatch;
mod environment;
mod extensions;
mod geometry;
mod rma;
pub mod send;
mod symbols;
mod threads;
mod typed;
mod types;
mod xfer;
