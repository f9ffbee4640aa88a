//! What the protocols need of a device: packets to other endpoints, and memory.

use super::{Endpoint, packet::Head};
use std::fmt;

/// Error: no space at present.
pub use crate::device::Full;

/// A range of the program's memory, by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its address.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
}

impl Range {
    /// A part of it.
    ///
    /// # Panics
    /// If the part is not within it.
    pub fn part(self, from: u64, bytes: u64) -> Self {
        assert!(from.checked_add(bytes).is_some_and(|end| end <= self.bytes), "{from}+{bytes} of {self:?}");
        Range { address: self.address + from, bytes }
    }
}

/// Error: another task's memory cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remote {
    /// The device cannot do it: the data must go through packets.
    Unsupported,
    /// The task has ended.
    Gone,
    /// It has no memory there.
    Fault,
}

/// Where the data of a remote operation moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// From the other task.
    Get,
    /// To the other task.
    Put,
}

/// A device that carries the packets of one context. Nothing here waits.
pub trait PamiDevice {
    /// The bytes of a packet in the device's buffer. They stay there until [`Self::release`].
    type Payload: Copy + fmt::Debug;

    /// Most bytes of a packet.
    const PACKET_MAX: usize;

    /// The context's own endpoint.
    fn endpoint(&self) -> Endpoint;

    /// Whether there is such an endpoint.
    fn has(&self, endpoint: Endpoint) -> bool;

    /// Sends a packet: the bytes of both parts.
    ///
    /// # Errors
    /// If there is no space; then nothing was sent.
    fn inject(&mut self, to: Endpoint, head: Head, parts: [&[u8]; 2]) -> Result<(), Full>;

    /// Sends a packet: these bytes, then those of memory.
    ///
    /// # Errors
    /// If there is no space; then nothing was sent.
    fn inject_memory(&mut self, to: Endpoint, head: Head, bytes: &[u8], data: Range) -> Result<(), Full>;

    /// The next packet, which stays the next until it is released.
    fn poll(&mut self) -> Option<(Head, Self::Payload)>;

    /// Frees the buffer of the packet that was polled.
    fn release(&mut self);

    /// The bytes of a payload that has not been released.
    fn bytes(&self, payload: Self::Payload) -> &[u8];

    /// Copies the bytes of a payload, without the first `skip`, into memory.
    fn store(&mut self, payload: Self::Payload, skip: usize, to: u64);

    /// Moves data between this task's memory and another's.
    ///
    /// # Errors
    /// If it cannot.
    fn transfer(&mut self, way: Transfer, with: Endpoint, local: Range, remote: u64) -> Result<(), Remote>;

    /// Moves several pieces: ranges of this task's memory, and their addresses in the other's. After an
    /// error, some may have moved.
    ///
    /// # Errors
    /// If it cannot move all.
    fn transfer_pieces(
        &mut self,
        way: Transfer,
        with: Endpoint,
        pieces: &[(Range, u64)],
    ) -> Result<(), Remote> {
        pieces.iter().try_for_each(|&(local, remote)| self.transfer(way, with, local, remote))
    }

    /// Whether a task has ended before it left the job.
    fn is_gone(&self, task: u32) -> bool;
}
