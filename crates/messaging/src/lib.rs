//! Messaging libraries, between programs and a node's network interface.
//!
//! | contents | file |
//! |---|---|
//! | a rank's program: the operations that it issues, and their completion | `program.rs` |
//! | receives and messages matched by source and tag | `matching.rs` |
//! | a rank with its library: eager and rendezvous | `rank.rs` |
//! | the interface of the protocols to the layer below | `transport.rs` |
//! | network interfaces as libraries drive them, without waiting | `device.rs`; on simulated nodes `spi/device.rs`, `gni/device.rs`, `glex/device.rs` |
//! | how long messages are in flight, and why a rank waits | `transit.rs` |
//! | what a rank did when | `timeline.rs` |
//! | over packets, Message Units, Aries NICs, TH Express NICs | `transports/` |
//! | programming interface of Message Units: the system programming interface, user and kernel part | `spi/` |
//! | programming interface of TH Express NICs, modelled on libglex | `glex/` |
//! | programming interface of Aries NICs: uGNI; short messages over it; DMAPP, the library of SHMEM and compilers | `gni/`, `smsg.rs`, `dmapp/` |
//! | PAMI: protocols of contexts, the queue of posted work | `pami/` |
//! | the two links to a neighbour in E of Blue Gene/Q | `double_link.rs` |
//! | MPI over PAMI, for ranks that are `async fn` | `mpi/` |
//! | protocol cut-offs and the time of the library's instructions | `config.rs` |

#![allow(unexpected_cfgs)] // loom is set by hand.

pub mod config;
pub mod device;
pub mod dmapp;
mod double_link;
pub mod glex;
pub mod gni;
pub mod matching;
pub mod mpi;
pub mod pami;
pub mod program;
pub mod rank;
mod slab;
pub mod smsg;
pub mod spi;
pub mod timeline;
pub mod transit;
pub mod transport;
pub mod transports;
