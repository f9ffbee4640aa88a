//! What MPI reads of what other processes send: envelopes, layouts, operations on windows, data in
//! `external32`. The first byte says which; any bytes are refused, or stay within the memory that they may
//! access.
#![no_main]

#[path = "../../crates/mpi/tests/received/mod.rs"]
mod received;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| received::check(bytes));
