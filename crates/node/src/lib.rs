//! A node, the same on every machine: its processes, their memory, and its pending actions. Network
//! interfaces plug into it.
//!
//! | contents | file |
//! |---|---|
//! | a process: when resumed, it returns its next operations | `process.rs` |
//! | its hardware thread, which queues its operations | `thread.rs` |
//! | cores, and the threads that share one | `cores.rs` |
//! | processes written as an `async fn` | `program.rs` |
//! | pending actions of a node, in time finer than ticks | `agenda.rs` |
//! | that time: microticks | `time.rs` |
//! | waiting processes, each resumed once per operation | `schedule.rs` |
//! | delays of polling and interrupts | `polling.rs` |
//! | memory | `memory.rs` |
//! | the nodes of a block, as hosts of the fabric | `nodes.rs` |

pub mod agenda;
pub mod cores;
pub mod memory;
pub mod nodes;
pub mod polling;
pub mod process;
pub mod program;
pub mod schedule;
pub mod thread;
pub mod time;
