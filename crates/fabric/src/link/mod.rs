//! A link between two nodes, byte by byte: the error detection and recovery of BlueGene/L (Blumrich et al.,
//! section 2) and Blue Gene/Q (Chen et al., sections II.F and II.G) with real bytes and real arithmetic.
//!
//! Large runs do not use it: their routers draw which transmissions are corrupted and model the same
//! protocol's timing (`docs/torus-router.md`, "Links with errors"). This module shows that the protocol does
//! what that model assumes: errors are detected, and packets are neither lost nor duplicated nor reordered.
//! `docs/link-protection.md` describes Blue Gene/Q's part.

pub mod crc;
pub mod eight_ten;
pub mod frame;
pub mod frame_bgq;
pub mod hamming;
pub mod optical;
pub mod protected_fifo;
pub mod protocol;
pub mod reed_solomon;
