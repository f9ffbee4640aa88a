//! A node, the same on every machine: its processes, their memory, and what is due at it. A network interface is plugged into it.
//!
//! | what | file |
//! |---|---|
//! | a process: it is resumed, and answers with what it asks for next | `process.rs` |
//! | its hardware thread: what it asks its node for | `thread.rs` |
//! | cores, and the threads that share one | `cores.rs` |
//! | processes written as an `async fn` | `program.rs` |
//! | what is due at a node, in time finer than ticks | `agenda.rs` |
//! | that time: microticks, which are no ticks | `time.rs` |
//! | which process waits for what, and resumes once | `schedule.rs` |
//! | how long after something has come a process that polls knows | `polling.rs` |
//! | memory | `memory.rs` |
//! | the nodes of a block, as the fabric sees them | `nodes.rs` |

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
