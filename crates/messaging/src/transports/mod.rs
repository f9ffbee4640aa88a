//! The transports of ranks' messages over each network interface.
//!
//! | over | file |
//! |---|---|
//! | packets injected one by one by software | `packets.rs` |
//! | Blue Gene/Q's Message Unit, by [SPI](crate::spi) | `spi.rs` |
//! | the same, PAMI's collective operations | `collectives.rs` |
//! | Cray XC's Aries NIC, by [uGNI](crate::gni) | `gni.rs` |
//! | the TH Express NIC, by [libglex](crate::glex) | `glex/` |
//! | eager messages through registered memory, of both of the last | `blocks.rs` |

mod blocks;
pub mod collectives;
pub mod glex;
pub mod gni;
pub mod packets;
pub mod spi;
