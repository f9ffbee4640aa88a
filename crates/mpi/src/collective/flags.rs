//! Short collectives through flags in memory that processes share (section IV of the PAMI paper has such of the
//! processes of a node), where the transport has them. Only those take part that end when all have begun, since
//! a flag is written again two collectives later, and for which the program waits, so that they do not overlap.

use super::{Operation, cut};
use crate::error::Error;
use crate::transport::{FlagAt, Transport};
use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

/// Collectives of a communicator that could go through flags, and after which it gets a set of them: those of a
/// few calls do without.
const OFTEN: u32 = 4;

/// Most bytes that go through flags, also if they take more.
pub(super) const SHORT_BYTES: usize = 128;

/// No set, as number.
const NONE: u32 = u32::MAX;

/// What a communicator has of flags.
#[derive(Debug, Default)]
pub struct Flags {
    set: Cell<Set>,
    /// Collectives that have gone through them.
    sequence: Cell<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Set {
    /// So many collectives have asked for one.
    Asked(u32),
    Is(u32),
    None,
}

impl Default for Set {
    fn default() -> Self {
        Set::Asked(0)
    }
}

/// A collective that goes through flags.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    set: u32,
    sequence: u64,
}

impl Place {
    fn at(self, round: u32) -> FlagAt {
        FlagAt { set: self.set, sequence: self.sequence, round }
    }
}

impl<T: Transport> Operation<T> {
    /// The flags of this collective, which needs so many bytes in each, if it goes through flags.
    #[inline(always)]
    pub(super) fn take_flags(&self, bytes: usize) -> Option<Place> {
        let flags = self.flags.as_ref()?;
        let Set::Is(set) = flags.set.get() else { return None };
        if !self.can_use_flags(bytes) {
            return None;
        }
        flags.sequence.set(flags.sequence.get() + 1);
        Some(Place { set, sequence: flags.sequence.get() })
    }

    #[inline]
    fn can_use_flags(&self, bytes: usize) -> bool {
        let space = || self.point_to_point.transport().flag_space();
        bytes <= SHORT_BYTES
            && self.point_to_point.is_blocking()
            && space().is_some_and(|space| bytes <= space.bytes)
    }

    /// A collective has been done without flags that could go through them: if this is often so, its ranks agree on
    /// a set.
    ///
    /// # Errors
    /// If a process has ended.
    #[inline]
    pub(super) async fn end_without_flags(&self, bytes: usize) -> Result<(), Error> {
        let Some(flags) = &self.flags else { return Ok(()) };
        let Set::Asked(before) = flags.set.get() else { return Ok(()) };
        if !self.can_use_flags(bytes) {
            return Ok(());
        }
        flags.set.set(Set::Asked(before + 1));
        if before + 1 == OFTEN {
            flags.set.set(Box::pin(self.agree_on_set()).await?);
        }
        Ok(())
    }

    /// The first set that nobody of the communicator has given to another one.
    async fn agree_on_set(&self) -> Result<Set, Error> {
        let point_to_point = &self.point_to_point;
        let next = point_to_point.next_set.get();
        let rounds = 2 + self.size().next_power_of_two().ilog2();
        let space = point_to_point.transport().flag_space();
        let has_one = space.is_some_and(|space| rounds <= space.rounds && next < space.sets);
        let mut agreed = if has_one { next } else { NONE }.to_ne_bytes();
        let number = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
        let greatest = |first: &mut [u8], second: &[u8]| {
            first.copy_from_slice(&number(first).max(number(second)).to_ne_bytes());
            Ok(())
        };
        super::reduction::all_reduce_by_messages(self, &mut agreed, &greatest).await?;
        let agreed = number(&agreed);
        if agreed == NONE {
            return Ok(Set::None);
        }
        point_to_point.next_set.set(agreed + 1);
        Ok(Set::Is(agreed))
    }
}

/// How the rounds of a collective go: by messages, or through flags.
pub(super) trait Rounds {
    async fn send(&self, round: u32, to: u32, data: &[u8]) -> Result<(), Error>;
    async fn receive(&self, round: u32, from: u32, space: &mut [u8]) -> Result<(), Error>;

    /// Sends and receives at the same time.
    #[inline(always)]
    async fn exchange(
        &self,
        round: u32,
        (to, data): (u32, &[u8]),
        (from, space): (u32, &mut [u8]),
    ) -> Result<(), Error> {
        self.send(round, to, data).await?;
        self.receive(round, from, space).await
    }
}

pub(super) struct ByMessages<'a, T>(pub &'a Operation<T>);

impl<T: Transport> Rounds for ByMessages<'_, T> {
    async fn send(&self, _: u32, to: u32, data: &[u8]) -> Result<(), Error> {
        self.0.send(to, data).await
    }

    async fn receive(&self, _: u32, from: u32, space: &mut [u8]) -> Result<(), Error> {
        self.0.receive(from, space).await
    }

    #[inline(always)]
    async fn exchange(
        &self,
        _: u32,
        (to, data): (u32, &[u8]),
        (from, space): (u32, &mut [u8]),
    ) -> Result<(), Error> {
        self.0.exchange(to, data, from, space).await
    }
}

pub(super) struct ThroughFlags<'a, T>(pub &'a Operation<T>, pub Place);

impl<T: Transport> Rounds for ThroughFlags<'_, T> {
    #[inline(always)]
    async fn send(&self, round: u32, to: u32, data: &[u8]) -> Result<(), Error> {
        let ThroughFlags(operation, place) = self;
        let transport = operation.point_to_point.transport();
        transport.write_flag(place.at(round), data, operation.process(to));
        Ok(())
    }

    #[inline(always)]
    async fn receive(&self, round: u32, from: u32, space: &mut [u8]) -> Result<(), Error> {
        let ThroughFlags(operation, place) = self;
        let (at, of) = (place.at(round), operation.process(from));
        let transport = operation.point_to_point.transport();
        let mut is_awaited = false;
        let length = poll_fn(|_| {
            let mut read = transport.read_flag(at, of, space);
            if read.is_none() && transport.has_left(of) {
                // It may have written before.
                read = transport.read_flag(at, of, space);
                if read.is_none() {
                    return Poll::Ready(None);
                }
            }
            if read.is_none() || is_awaited {
                is_awaited = read.is_none();
                transport.await_flag(is_awaited.then_some((at, of)));
            }
            read.map_or(Poll::Pending, |length| Poll::Ready(Some(length)))
        });
        let length = length.await.ok_or_else(cut)?;
        if length != space.len() {
            operation.note_wrong_length(Some(from), Some(length as u64), space.len());
        }
        Ok(())
    }
}
