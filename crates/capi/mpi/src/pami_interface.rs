//! PAMI's structures, of which few are used here.
#![allow(dead_code)]

#[path = "../../pami/src/abi.rs"]
pub mod abi;
#[path = "../../pami/src/xfer.rs"]
pub mod xfer;
