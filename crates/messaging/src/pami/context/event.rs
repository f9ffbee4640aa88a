//! What a context and its program tell each other.

use crate::pami::Endpoint;
use crate::pami::device::{Piece, Range, Remote, Transfer};
use crate::pami::packet::Head;
use crate::pami::rmw::Rmw;

/// Result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Done,
    /// The other task has ended.
    Gone,
    /// The other task has no such memory.
    Fault,
}

impl Outcome {
    pub(super) fn of(moved: Result<(), Remote>) -> Self {
        match moved {
            Ok(()) => Outcome::Done,
            Err(Remote::Gone) => Outcome::Gone,
            Err(Remote::Fault | Remote::Unsupported | Remote::Full) => Outcome::Fault,
        }
    }
}

/// What the program must be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<P> {
    /// A message begins: its dispatch function must be called, then
    /// [`Context::accept`](super::Context::accept) or [`Context::consumed`](super::Context::consumed).
    Message(Message<P>),
    /// The buffers of a send may be reused.
    Sent(u64, Outcome),
    /// The target of a send has all data, or a put, get or atomic operation is done.
    Completed(u64, Outcome),
    /// All data of a message has arrived.
    Received(u64, Outcome),
    /// Nothing: a packet or a piece of data was processed.
    Progress,
    /// A collective operation of the device is done.
    Collected(u64),
    /// An atomic operation is done and fetched this value.
    Fetched(u64, u64),
    /// An atomic operation on this task's memory: the program's memory is changed by its owner, who then
    /// calls [`Context::answer_rmw`](super::Context::answer_rmw).
    Rmw {
        /// Who asks.
        origin: Endpoint,
        /// Its request.
        request: u64,
        /// The operation.
        rmw: Rmw,
    },
}

/// The begin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<P> {
    /// Identifier of its dispatch function.
    pub dispatch: u16,
    /// The sender.
    pub origin: Endpoint,
    /// The packet; the header starts at `header_from`, unless it is long.
    pub payload: P,
    /// Whether the header came before, in packets of its own: see
    /// [`Context::long_header`](super::Context::long_header).
    pub has_long_header: bool,
    /// Where the header starts in the packet.
    pub header_from: usize,
    /// Length of the header, bytes.
    pub header_bytes: usize,
    /// Length of all data, bytes.
    pub data_bytes: u64,
    /// Whether all data is in this packet, after the header.
    pub is_whole: bool,
}

/// Where the data of a message goes.
#[derive(Clone, Copy, Debug)]
pub struct Receive {
    /// Memory for at least the message's data; 0 if the data is not wanted.
    pub address: u64,
    /// The program's number for it, reported by [`Event::Received`].
    pub cookie: u64,
}

/// A send.
#[derive(Clone, Copy, Debug)]
pub struct Send<'a> {
    /// The target.
    pub to: Endpoint,
    /// Identifier of its dispatch function.
    pub dispatch: u16,
    /// The header.
    pub header: &'a [u8],
    /// The data, which stays as it is until [`Event::Sent`].
    pub data: Range,
    /// The program's number for it, reported by [`Event::Sent`].
    pub cookie: u64,
    /// Whether [`Event::Completed`] is to report that the target has all data.
    pub is_acknowledged: bool,
}

/// A put or a get.
#[derive(Clone, Copy, Debug)]
pub struct Rma<'a> {
    /// Which of the two.
    pub way: Transfer,
    /// The target.
    pub with: Endpoint,
    /// Memory here, which stays as it is until [`Event::Sent`] of a put, and where it is at the target.
    pub pieces: &'a [Piece],
    /// Whether the target has exposed its memory, and the addresses are those that it exposed.
    pub is_exposed: bool,
    /// Whether the data should go through packets, which the target takes when it advances, although the
    /// device reaches its memory.
    pub prefers_packets: bool,
    /// The program's number for it, reported by [`Event::Sent`] of a put and by [`Event::Received`] of a get.
    pub cookie: u64,
    /// Whether [`Event::Completed`] is to report that the target has all data of a put.
    pub is_acknowledged: bool,
}

/// Error: a send is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// There is no such endpoint.
    #[error("there is no such endpoint")]
    Endpoint,
    /// Header and data are too long.
    #[error("{bytes} B are more than {max} B")]
    Length {
        /// Their length.
        bytes: usize,
        /// The maximum.
        max: usize,
    },
    /// The identifier is too great.
    #[error("dispatch identifiers end at {}", Head::DISPATCHES - 1)]
    Dispatch,
}
