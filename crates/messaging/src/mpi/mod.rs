//! MPI over PAMI on simulated Blue Gene/Q nodes, as Kumar et al. build it (section IV): ranks written as
//! `async fn`, over the same requests and the same matching as those of programs in C (`netloom_mpi`).
//!
//! | what | file |
//! |---|---|
//! | which library: its locks, its communication threads | `library.rs` |
//! | how long its steps take | `costs.rs` |
//! | PAMI's contexts as the transport; the hash that chooses them | `contexts.rs` |
//! | what the hardware threads of a rank share; locks | `process.rs`, `mutex.rs` |
//! | progress: events of contexts become messages | `progress.rs` |
//! | communication threads | `communication_thread.rs` |
//! | calls of a rank; the ranks of a job | `rank.rs`; `ranks.rs` |

mod communication_thread;
mod contexts;
mod costs;
mod library;
mod mutex;
mod process;
mod progress;
mod rank;
mod ranks;

pub use costs::Costs;
pub use library::{Library, Locking, Threads};
pub use rank::{ANY, Rank, Request};
pub use ranks::Ranks;
