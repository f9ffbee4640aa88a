//! The status of operations, and errors of calls.

use std::fmt;

/// How an operation ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Success.
    #[default]
    Success,
    /// The key does not match the virtual port, or there is no such port.
    Key,
    /// The memory checker has no item for the address.
    Memory,
    /// The mini-packet queue was full.
    QueueFull,
    /// The other side did not respond to any attempt.
    NoAnswer,
}

impl Status {
    pub(super) fn of(number: u8) -> Self {
        // A status that only one side can determine is not sent to the other.
        [Status::Success, Status::Key, Status::Memory, Status::QueueFull][usize::from(number & 3)]
    }
}

/// Why a call was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No virtual port of that kind, or no item of the memory checker, is free.
    Exhausted,
    /// The port's descriptor queue is full: try again later.
    QueueFull,
    /// It does not belong to the process, or does not exist.
    NotOwned,
    /// An invalid length, address or node.
    Invalid,
    /// The queue is empty.
    Empty,
    /// The queue was full, and entries were lost.
    Overflow,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Exhausted => "no free resources",
            Refusal::QueueFull => "the descriptor queue is full",
            Refusal::NotOwned => "it does not belong to the process",
            Refusal::Invalid => "invalid parameter",
            Refusal::Empty => "the queue is empty",
            Refusal::Overflow => "the queue overflowed",
        })
    }
}

impl std::error::Error for Refusal {}
