//! How operations end, and what is refused.

use std::fmt;

/// How an operation ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// As it should.
    #[default]
    Success,
    /// A key is not the virtual port's, or there is no such port.
    Key,
    /// The memory checker has no item for the address.
    Memory,
    /// The mini-packet queue had no room.
    QueueFull,
    /// The other side did not answer, however often it was asked.
    NoAnswer,
}

impl Status {
    pub(super) fn of(number: u8) -> Self {
        // What one side alone can tell is not said to the other.
        [Status::Success, Status::Key, Status::Memory, Status::QueueFull][usize::from(number & 3)]
    }
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No virtual port of that kind is left, or no item of the memory checker.
    Exhausted,
    /// The port's descriptor queue is full: ask again later.
    QueueFull,
    /// It is not the process' own, or has never been.
    NotOwned,
    /// A length, address or node that cannot be.
    Invalid,
    /// Nothing lies in the queue.
    Empty,
    /// The queue was full, and something was lost.
    Overflow,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Exhausted => "none is left",
            Refusal::QueueFull => "the descriptor queue is full",
            Refusal::NotOwned => "it is not the process' own",
            Refusal::Invalid => "that cannot be",
            Refusal::Empty => "nothing is there",
            Refusal::Overflow => "the queue overflowed",
        })
    }
}

impl std::error::Error for Refusal {}
