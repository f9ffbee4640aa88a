//! Aries NICs: their data transfers and limits.

mod atomics;
mod blocks;
mod clocks;
mod collectives;
mod crowd;
mod dmapp;
mod domains;
mod errors;
mod letters;
mod limits;
mod machine;
mod messages;
mod queues;
mod thin;
mod windows;
