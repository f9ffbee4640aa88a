//! What the protocols need of a device: packets to other endpoints, and memory.

use super::Endpoint;
use super::packet::Head;
#[cfg(doc)]
use super::packet::Kind;
use std::fmt;

/// Error: no space at present.
pub use crate::device::Full;
/// An operation of the collective network.
pub use netloom_fabric::collective::Operation;

/// A range of the program's memory, by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
    /// It has no space for the operation at present.
    Full,
    /// The task has ended.
    Gone,
    /// It has no memory there.
    Fault,
}

/// Where the data of a remote operation moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Transfer {
    /// From the other task.
    Get,
    /// To the other task.
    Put,
}

/// A contiguous piece of data: a range of this task's memory, and its address in the other task's.
pub type Piece = (Range, u64);

/// The device's number of an operation that it has not finished.
pub type Ticket = u64;

/// How words are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[allow(non_snake_case)]
pub struct Combine {
    /// The operation.
    pub operation: Operation,
    /// Length of a word, bytes.
    pub word_B: u32,
}

/// A collective operation that a device does by itself, without messages of the protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Collective {
    /// All members wait for each other.
    Barrier,
    /// One member's data goes to all.
    Broadcast {
        /// That member's task.
        root: u32,
        /// Each member's buffer, of a multiple of 4 B.
        data: Range,
    },
    /// The same over all links at once, by edge-disjoint spanning trees.
    Rectangle {
        /// That member's task.
        root: u32,
        /// Each member's buffer.
        data: Range,
    },
    /// The data of all is combined word by word, and all get the result.
    Allreduce {
        /// What a member contributes.
        source: Range,
        /// Where the result goes; it may be the same.
        target: Range,
        /// How.
        combine: Combine,
    },
    /// The same, and one member gets the result. The others are done when their data has been taken, so they
    /// may begin their next operation before this one has ended: only for a group that shares no node with
    /// another, since packets of two trees could wait for each other.
    Reduce {
        /// That member's task.
        root: u32,
        /// What a member contributes.
        source: Range,
        /// Where the result goes; at the other members memory that the processes of a node use for their
        /// sums.
        target: Range,
        /// How.
        combine: Combine,
    },
}

/// Maximum data of the collective operations that a device does for a group. By default it does all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GroupLimits {
    /// Of a broadcast, bytes; 0 if it does none.
    pub broadcast_bytes: u64,
    /// Of an allreduce, bytes, where each word takes 8; 0 if it does none.
    pub allreduce_bytes: u64,
}

impl Default for GroupLimits {
    fn default() -> Self {
        GroupLimits { broadcast_bytes: u64::MAX, allreduce_bytes: u64::MAX }
    }
}

impl GroupLimits {
    /// Whether it does an operation.
    pub fn permit(self, operation: &Collective) -> bool {
        match *operation {
            Collective::Barrier => true,
            Collective::Broadcast { data, .. } => self.permit_broadcast(data.bytes),
            Collective::Allreduce { source, combine, .. } => self.permit_allreduce(combine, source.bytes),
            Collective::Rectangle { .. } | Collective::Reduce { .. } => self == GroupLimits::default(),
        }
    }

    /// Whether it does a broadcast of this length, in whole words of 4 B.
    pub fn permit_broadcast(self, bytes: u64) -> bool {
        bytes.next_multiple_of(4) <= self.broadcast_bytes
    }

    /// Whether it does an allreduce of this length.
    pub fn permit_allreduce(self, combine: Combine, bytes: u64) -> bool {
        bytes.div_ceil(u64::from(combine.word_B).max(1)).saturating_mul(8) <= self.allreduce_bytes
    }
}

/// How far an operation is when the call that begins it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is done.
    Done,
    /// [`Arrival::Finished`] will report its end.
    Later(Ticket),
}

/// What a device reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival<P> {
    /// A packet, which stays the next until it is released.
    Packet(Head, P),
    /// An operation has ended.
    Finished(Ticket),
}

/// What a device would report next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<P> {
    /// A packet that holds a whole message of the kind [`Kind::Immediate`].
    Immediate(Head, P),
    /// Nothing.
    Nothing,
    /// What [`PamiDevice::poll`] tells.
    Other,
}

/// Steps of the library's software.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Step {
    /// A send in one packet.
    Immediate,
    /// Any other send, a put or a get.
    Send,
    /// A packet is taken, and what it asks for is done.
    Packet,
    /// A message begins: its dispatch function is found and called.
    Dispatch,
    /// A processor copies this number of bytes.
    Copy(u64),
    /// A poll that finds nothing.
    Poll,
    /// The clock is read.
    Clock,
    /// A collective operation of the device begins.
    Collective,
    /// It combines data, so types and operation are looked up.
    Reduction,
    /// An atomic operation of the L2, or a load of what another core has just written.
    Atomic,
    /// A step of MPI, which stands on this library, by its
    /// [number](netloom_mpi::transport::Step::to_number).
    Mpi(u64),
}

/// A device that carries the packets of one context. Nothing here waits.
pub trait PamiDevice {
    /// The bytes of a packet in the device's buffer. They stay there until [`Self::release`].
    type Payload: Copy + fmt::Debug;

    /// Most bytes of a packet.
    fn packet_max(&self) -> usize;

    /// Most bytes of the next packet to an endpoint if it carries data: at least those of any packet.
    #[inline]
    fn data_max(&self, _to: Endpoint) -> usize {
        self.packet_max()
    }

    /// The context's own endpoint.
    fn endpoint(&self) -> Endpoint;

    /// Whether there is such an endpoint.
    fn has(&self, endpoint: Endpoint) -> bool;

    /// Sends a packet: the bytes of both parts.
    ///
    /// # Errors
    /// If there is no space; then nothing was sent.
    fn inject(&mut self, to: Endpoint, head: Head, parts: [&[u8]; 2]) -> Result<(), Full>;

    /// Sends a packet: these bytes, then those of memory, which are copied.
    ///
    /// # Errors
    /// If there is no space; then nothing was sent.
    fn inject_memory(&mut self, to: Endpoint, head: Head, bytes: &[u8], data: Range) -> Result<(), Full>;

    /// Sends the first bytes of memory, in one packet or several with the same head. Returns how many, and
    /// whether the device has read them yet.
    ///
    /// # Errors
    /// If there is no space; then nothing was sent.
    fn inject_data(&mut self, to: Endpoint, head: Head, data: Range) -> Result<(u64, Begun), Full> {
        let part = data.bytes.min(self.data_max(to) as u64);
        self.inject_memory(to, head, &[], data.part(0, part))?;
        Ok((part, Begun::Done))
    }

    /// The next packet, or the end of an operation.
    fn poll(&mut self) -> Option<Arrival<Self::Payload>>;

    /// What [`Self::poll`] would return, if that can be told without taking it.
    #[inline]
    fn peek(&mut self) -> Next<Self::Payload> {
        Next::Other
    }

    /// The same after a message, if a look at where it came from is enough: [`Next::Nothing`] if nothing more
    /// came from there.
    #[inline]
    fn peek_more(&mut self) -> Next<Self::Payload> {
        self.peek()
    }

    /// Frees the buffer of the packet that was polled, or peeked at.
    fn release(&mut self);

    /// The bytes of a payload that has not been released.
    fn bytes(&self, payload: Self::Payload) -> &[u8];

    /// Copies a part of the bytes of a payload into memory.
    fn store(&mut self, payload: Self::Payload, part: std::ops::Range<usize>, to: u64);

    /// Appends the bytes of memory, which are copied, to a packet that is being made.
    fn load(&mut self, data: Range, packet: &mut Vec<u8>);

    /// Whether the device reaches all memory of other tasks, by the addresses that their programs use;
    /// otherwise only what they have exposed.
    fn reaches_all(&self) -> bool {
        true
    }

    /// Whether it moves data by itself: otherwise, and where it [cannot](Remote::Unsupported), the data goes
    /// through packets.
    fn moves(&self, _way: Transfer) -> bool {
        true
    }

    /// Hops to an endpoint's node, and the number of dimensions in which it lies elsewhere, if the network is
    /// a torus: see [`distance`](super::context::distance).
    fn distance(&self, _with: Endpoint) -> Option<(u32, u32)> {
        None
    }

    /// Lets other tasks transfer this memory. Returns the address that they use.
    fn expose(&mut self, memory: Range) -> u64 {
        memory.address
    }

    /// The reverse of [`Self::expose`].
    fn own_address(&self, exposed: u64) -> u64 {
        exposed
    }

    /// Moves data between this task's memory and another's. A get ends when the data is in this task's
    /// memory. A put ends when this task may reuse its own; if that is later, [`Self::flush`] tells when the
    /// data is at its target.
    ///
    /// # Errors
    /// If it cannot.
    fn transfer(&mut self, way: Transfer, with: Endpoint, local: Range, remote: u64)
    -> Result<Begun, Remote>;

    /// Whether another task may take part in a transfer of this length.
    fn shares(&self, _bytes: u64) -> bool {
        false
    }

    /// As [`Self::transfer`], by this task alone: the other one has data of its own to fetch.
    ///
    /// # Errors
    /// If it cannot.
    fn transfer_alone(
        &mut self,
        way: Transfer,
        with: Endpoint,
        local: Range,
        remote: u64,
    ) -> Result<Begun, Remote> {
        self.transfer(way, with, local, remote)
    }

    /// Moves the first of several pieces, as many as it has space for, as one operation. Returns their
    /// number, which is not 0. After an error, some may have moved.
    ///
    /// # Errors
    /// If it cannot.
    fn transfer_pieces(
        &mut self,
        _way: Transfer,
        _with: Endpoint,
        _pieces: &[Piece],
    ) -> Result<(usize, Begun), Remote> {
        Err(Remote::Unsupported)
    }

    /// Begins an operation that ends when the data of all earlier puts to an endpoint is in its task's
    /// memory.
    ///
    /// # Errors
    /// If it cannot.
    fn flush(&mut self, _with: Endpoint) -> Result<Begun, Remote> {
        Ok(Begun::Done)
    }

    /// The software takes a step: on a simulated node its time passes; natively the step itself takes it.
    #[inline]
    fn spend(&mut self, _: Step) {}

    /// Whether tasks can form groups, for which the device does collective operations.
    fn has_groups(&self) -> bool {
        false
    }

    /// The group of all tasks, if it is there from the start.
    fn world_group(&self) -> Option<usize> {
        None
    }

    /// The limits of its groups.
    fn group_limits(&self) -> GroupLimits {
        GroupLimits::default()
    }

    /// The classes that a group of tasks may take, one bit each, as far as this task knows: ranges of tasks,
    /// both ends included, of which it is one. None if the device has no collective network for them.
    fn free_classes(&mut self, _tasks: &[(u32, u32)]) -> u64 {
        0
    }

    /// Sets up a group of tasks, with a class that is free at all of them. Returns its number. Nobody may use
    /// it before all have set it up.
    ///
    /// # Panics
    /// If the device has no collective network.
    fn join(&mut self, tasks: &[(u32, u32)], class: u8) -> usize {
        unreachable!("{tasks:?} with class {class} on a device without groups")
    }

    /// Frees the class of a group, of which no operation is in progress anywhere.
    fn leave(&mut self, _group: usize) {}

    /// Begins a collective operation of a group that was set up for this context; [`Arrival::Finished`]
    /// reports its end.
    ///
    /// # Panics
    /// If the device has none.
    fn collective(&mut self, group: usize, operation: Collective) -> Ticket {
        unreachable!("{operation:?} of group {group} on a device without groups")
    }

    /// Whether a task has ended before it left the job.
    fn is_gone(&self, task: u32) -> bool;
}
