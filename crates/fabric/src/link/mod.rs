//! A link between two nodes, byte by byte: what BlueGene/L's (Blumrich et al., section 2) and Blue Gene/Q's (Chen et al., sections
//! II.F and II.G) error detection and recovery is made of, with real bytes and real arithmetic.
//!
//! Large runs do not use it: there the router draws which transmissions are corrupted, and follows the same protocol by
//! its times alone (`docs/torus-router.md`, "Links with errors"). Here it is shown that the protocol does what the
//! model takes for granted: that errors are detected, and packets neither lost nor doubled nor reordered. Blue Gene/Q's part is told in
//! `docs/link-protection.md`.

pub mod crc;
pub mod eight_ten;
pub mod frame;
pub mod frame_bgq;
pub mod hamming;
pub mod optical;
pub mod protected_fifo;
pub mod protocol;
pub mod reed_solomon;
