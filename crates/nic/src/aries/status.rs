//! What a call refuses, and how an operation ended.

use std::fmt;

/// Why a call was refused at once, in the words of `gni_return_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing yet.
    NotDone,
    /// A value that cannot be.
    InvalidParam,
    /// The hardware has no more of it.
    ErrorResource,
    /// Not signed on, or not allowed to.
    Permission,
    /// An address or a length that is not a multiple of what it must be.
    Alignment,
    /// Not in this order.
    InvalidState,
    /// An operation that the hardware has not.
    IllegalOp,
    /// Longer than it can be.
    Size,
    /// What is there is not what was asked for.
    NoMatch,
    /// Events were lost, since their queue was full.
    Overrun,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Refusal::NotDone => "nothing yet (GNI_RC_NOT_DONE)",
            Refusal::InvalidParam => "a value that cannot be (GNI_RC_INVALID_PARAM)",
            Refusal::ErrorResource => "the hardware has no more of it (GNI_RC_ERROR_RESOURCE)",
            Refusal::Permission => "not signed on, or not allowed to (GNI_RC_PERMISSION_ERROR)",
            Refusal::Alignment => {
                "an address or a length that is no multiple of what it must be (GNI_RC_ALIGNMENT_ERROR)"
            }
            Refusal::InvalidState => "not in this order (GNI_RC_INVALID_STATE)",
            Refusal::IllegalOp => "an operation that the hardware has not (GNI_RC_ILLEGAL_OP)",
            Refusal::Size => "longer than it can be (GNI_RC_SIZE_ERROR)",
            Refusal::NoMatch => "what is there is not what was asked for (GNI_RC_NO_MATCH)",
            Refusal::Overrun => "events were lost, since their queue was full",
        })
    }
}

/// How an operation ended: the status word of its completion event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Status {
    /// Well.
    #[default]
    Success,
    /// A request had no response in time: it was lost, or its node is dead.
    Timeout,
    /// The memory belongs to another communication domain, or may only be read.
    Permission,
    /// There is no such memory at that node.
    NoSuchMemory,
    /// It goes beyond the end of its memory.
    OutOfBounds,
    /// No such virtual node.
    NoSuchNode,
    /// Nobody had posted a receive.
    NoReceive,
    /// The receive that was posted is shorter than the message.
    ReceiveTooShort,
    /// The operation or operand is impossible.
    IllegalOp,
    /// A packet came damaged, as its CRC showed: nothing of it was written.
    Corrupt,
}

impl Status {
    const ALL: [Status; 10] = [
        Status::Success,
        Status::Timeout,
        Status::Permission,
        Status::NoSuchMemory,
        Status::OutOfBounds,
        Status::NoSuchNode,
        Status::NoReceive,
        Status::ReceiveTooShort,
        Status::IllegalOp,
        Status::Corrupt,
    ];

    pub(super) fn of(number: u8) -> Self {
        Self::ALL[usize::from(number) % Self::ALL.len()]
    }

    /// Whether the same operation may succeed when it is asked for again (`GNI_CqErrorRecoverable`).
    pub fn is_recoverable(self) -> bool {
        matches!(self, Status::Timeout | Status::Corrupt | Status::NoReceive)
    }

    /// The first of two that is not a success.
    #[must_use]
    pub fn and(self, other: Status) -> Self {
        if self == Status::Success { other } else { self }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Success => "it went well",
            Status::Timeout => "there was no response in time",
            Status::Permission => "the memory is another job's, or may only be read",
            Status::NoSuchMemory => "there is no such memory",
            Status::OutOfBounds => "it goes beyond the end of its memory",
            Status::NoSuchNode => "there is no such node",
            Status::NoReceive => "nobody had posted a receive",
            Status::ReceiveTooShort => "the receive is too short",
            Status::IllegalOp => "there is no such operation",
            Status::Corrupt => "a packet came damaged",
        })
    }
}
