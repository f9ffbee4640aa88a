//! Errors of calls, and the status of operations.

use std::fmt;

/// Why a call was rejected, corresponding to `gni_return_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not complete yet.
    NotDone,
    /// An invalid parameter.
    InvalidParam,
    /// The hardware has no free resources.
    ErrorResource,
    /// Not attached, or not permitted.
    Permission,
    /// An address or a length that is not a multiple of the required size.
    Alignment,
    /// The call is not valid in this state.
    InvalidState,
    /// An operation that the hardware does not implement.
    IllegalOp,
    /// The size exceeds the maximum.
    Size,
    /// The result does not match the request.
    NoMatch,
    /// Events were lost, since their queue was full.
    Overrun,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Refusal::NotDone => "not complete yet (GNI_RC_NOT_DONE)",
            Refusal::InvalidParam => "invalid parameter (GNI_RC_INVALID_PARAM)",
            Refusal::ErrorResource => "out of hardware resources (GNI_RC_ERROR_RESOURCE)",
            Refusal::Permission => "not attached, or not permitted (GNI_RC_PERMISSION_ERROR)",
            Refusal::Alignment => "an address or a length is not aligned (GNI_RC_ALIGNMENT_ERROR)",
            Refusal::InvalidState => "not valid in this state (GNI_RC_INVALID_STATE)",
            Refusal::IllegalOp => "an operation that the hardware does not implement (GNI_RC_ILLEGAL_OP)",
            Refusal::Size => "the size exceeds the maximum (GNI_RC_SIZE_ERROR)",
            Refusal::NoMatch => "the result does not match the request (GNI_RC_NO_MATCH)",
            Refusal::Overrun => "events were lost, since their queue was full",
        })
    }
}

/// How an operation ended: the status word of its completion event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Status {
    /// Success.
    #[default]
    Success,
    /// A request had no response in time: it was lost, or its node is dead.
    Timeout,
    /// The memory belongs to another communication domain, or is read-only.
    Permission,
    /// The node has no such memory.
    NoSuchMemory,
    /// The access exceeds the memory.
    OutOfBounds,
    /// No such virtual node.
    NoSuchNode,
    /// No receive was posted.
    NoReceive,
    /// The posted receive is shorter than the message.
    ReceiveTooShort,
    /// The operation or operand is invalid.
    IllegalOp,
    /// A packet arrived corrupted, as its CRC showed: nothing of it was written.
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

    /// Whether the same operation may succeed if it is repeated (`GNI_CqErrorRecoverable`).
    pub fn is_recoverable(self) -> bool {
        matches!(self, Status::Timeout | Status::Corrupt | Status::NoReceive)
    }

    /// The first of two statuses that is not success.
    #[must_use]
    pub fn and(self, other: Status) -> Self {
        if self == Status::Success { other } else { self }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Success => "success",
            Status::Timeout => "no response in time",
            Status::Permission => "the memory belongs to another job, or is read-only",
            Status::NoSuchMemory => "no such memory",
            Status::OutOfBounds => "the access exceeds the memory",
            Status::NoSuchNode => "no such node",
            Status::NoReceive => "no receive was posted",
            Status::ReceiveTooShort => "the receive is too short",
            Status::IllegalOp => "invalid operation",
            Status::Corrupt => "a packet arrived corrupted",
        })
    }
}
