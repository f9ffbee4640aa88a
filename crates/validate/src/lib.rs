//! `netloom validate`: the published figures beside the simulated ones, and verdicts; and `netloom bench`:
//! the simulator's speed beside its budgets.
//!
//! The [`judges`] run the studies behind each published figure, [`run`] compares what they find with it, and
//! [`verdicts`] keeps what came out so that none gets worse unseen.

pub mod bench;
mod comparison;
mod fitted;
pub mod judges;
pub mod published;
pub mod records;
pub mod tally;
pub mod verdicts;

pub use comparison::{Observer, apply, in_full, meant, run, table};
