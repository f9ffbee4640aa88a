//! Time, events, blocks, windows and random streams: a parallel discrete-event engine, independent of
//! networks.
//!
//! A model is divided into [`Block`]s. Time advances in *windows* no longer than the shortest delay between
//! two blocks (the lookahead), so that blocks do not affect each other within a window: the conservative
//! protocol YAWNS of Nicol, Micheal and Inouye that the BlueGene/L authors' simulator used (Blumrich et al.,
//! section 3). Blocks exchange messages at the windows' edges. If no event is due soon, the next window
//! starts at the next event.
//!
//! Results must not depend on threads or blocks. The engine guarantees that a block receives each message
//! before its time, in no particular order; the model guarantees that events at one time may be applied in
//! any order (`fabric` applies all of a tick's events to a node before the node acts, as a clocked circuit
//! does).

mod barrier;
mod calendar;
pub mod checkpoint;
mod gain;
mod grouped;
mod huge_pages;
mod peers;
mod prefetch;
mod progress;
mod random;
pub mod reference;
mod simulation;
mod stretches;
mod time;

pub use calendar::Calendar;
pub use grouped::Grouped;
pub use huge_pages::HugePages;
pub use peers::{Peers, SharedState, ThreadPeers, collect, decode, encode, gather, own_blocks};
pub use prefetch::{prefetch, prefetch_lines};
pub use progress::Progress;
pub use random::{Stream, chance_threshold};
pub use simulation::{Block, Outbox, Reached, Simulation};
pub use stretches::{Owned, STRETCH_TICKS_MAX, Stretches};
pub use time::Time;
