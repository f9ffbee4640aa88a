//! Time, events, blocks, windows and random streams: a parallel discrete-event engine that knows nothing of networks.
//!
//! A model is cut into [`Block`]s. Time advances in *windows* no longer than the shortest delay between two blocks (the
//! lookahead), so that within a window no block needs to hear from another: the conservative protocol YAWNS of Nicol,
//! Micheal and Inouye that the BlueGene/L authors' simulator used (Blumrich et al., section 3). Blocks exchange messages
//! at the windows' edges. With nothing due soon, the next window starts at the next event.
//!
//! The outcome must not depend on threads or blocks. The engine promises that a block sees each message before its time,
//! in no particular order; the model promises that events of one time may be applied in any order (`fabric`
//! applies all of a tick's events to a node before the node acts, as a clocked circuit does).

mod barrier;
mod calendar;
mod huge_pages;
mod prefetch;
mod progress;
mod random;
mod simulation;
mod stretches;
mod time;

pub use calendar::Calendar;
pub use huge_pages::HugePages;
pub use prefetch::prefetch;
pub use progress::Progress;
pub use random::{Stream, chance_threshold};
pub use simulation::{Block, Outbox, Reached, Simulation};
pub use stretches::{Owned, Stretches};
pub use time::Time;
