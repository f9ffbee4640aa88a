//! What carries messages between processes: the narrow interface between MPI and a machine's messaging library.

use crate::matching::Envelope;

/// A process of the job, by its number in `MPI_COMM_WORLD`.
pub type Process = u32;

/// Memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Its address.
    pub address: u64,
    /// Its length, bytes.
    pub bytes: u64,
}

/// Error: a message cannot be sent, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// A transport. Nothing here waits.
///
/// Messages between two processes arrive in the order of their sends. What arrives and what ends is reported from within
/// [`Self::advance`] only, to [`PointToPoint`](crate::point_to_point::PointToPoint).
pub trait Transport {
    /// The number of processes of the job.
    fn processes(&self) -> u32;

    /// This process.
    fn own(&self) -> Process;

    /// Most bytes of data that [`Self::send_short`] takes.
    fn short_max_bytes(&self) -> usize;

    /// Sends a message whose data may be reused when the call returns.
    ///
    /// # Errors
    /// If it cannot be sent.
    fn send_short(&self, to: Process, envelope: Envelope, data: Memory) -> Result<(), Refused>;

    /// Starts to send a message whose data stays as it is until the end is reported, with this number.
    ///
    /// # Errors
    /// If it cannot be sent.
    fn send(&self, to: Process, envelope: Envelope, data: Memory, number: u64) -> Result<(), Refused>;

    /// Makes progress, and waits for some if there is none at once; it may return without any.
    fn advance(&self);

    /// Makes progress without waiting.
    fn poll(&self);

    /// Lets others [put](Self::put) to memory and [get](Self::get) from it without this process; under which address.
    /// `None` if the transport cannot.
    fn expose(&self, _memory: Memory) -> Option<u64> {
        None
    }

    /// Puts and gets that are shorter are messages.
    fn transfer_min_bytes(&self) -> usize {
        0
    }

    /// Starts to write to exposed memory of another process. The data stays as it is until the end is reported, with this
    /// number: then all is there.
    ///
    /// # Errors
    /// If it cannot be done.
    fn put(&self, _to: Process, _data: Memory, _exposed: u64, _number: u64) -> Result<(), Refused> {
        Err(Refused("this transport does not reach memory of others".into()))
    }

    /// Starts to read exposed memory of another process. The end is reported with this number.
    ///
    /// # Errors
    /// If it cannot be done.
    fn get(&self, _from: Process, _exposed: u64, _space: Memory, _number: u64) -> Result<(), Refused> {
        Err(Refused("this transport does not reach memory of others".into()))
    }

    /// Copies the bytes into memory of this process.
    fn store(&self, bytes: &[u8], to: u64);
}
