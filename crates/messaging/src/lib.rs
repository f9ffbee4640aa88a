//! Messaging libraries: what stands between a program's messages and a node's network interface.
//!
//! | what | file |
//! |---|---|
//! | what a rank does: operations that it issues and that finish | `program.rs` |
//! | receives and messages matched by source and tag | `matching.rs` |
//! | a rank with its library: eager and rendezvous | `rank.rs` |
//! | what the protocols need of what is below them | `transport.rs` |
//! | network interfaces as libraries drive them, without waiting | `device.rs`; on simulated nodes `spi/device.rs`, `gni/device.rs`, `glex/device.rs` |
//! | how long messages are under way, and why a rank waits | `transit.rs` |
//! | what a rank did when | `timeline.rs` |
//! | over packets, Message Units, Aries NICs, TH Express NICs | `transports/` |
//! | what programs on Message Units call: the system programming interface, user's and kernel's side | `spi/` |
//! | what programs on TH Express NICs call, after libglex | `glex/` |
//! | what programs on Aries NICs call: uGNI; short messages over it; DMAPP, the library of SHMEM and compilers | `gni/`, `smsg.rs`, `dmapp/` |
//! | protocol cut-offs and the time of the library's instructions | `config.rs` |

pub mod config;
pub mod device;
pub mod dmapp;
pub mod glex;
pub mod gni;
pub mod matching;
pub mod program;
pub mod rank;
pub mod smsg;
pub mod spi;
pub mod timeline;
pub mod transit;
pub mod transport;
pub mod transports;
