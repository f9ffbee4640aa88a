//! Short collectives through cells that processes share (section IV of the PAMI paper has such of the processes
//! of a node), where the transport has them. Only those take part that end when all have begun, since a cell is
//! written again two turns later, and for which the program waits, so that turns do not overlap.

use super::{Operation, cut};
use crate::error::Error;
use crate::transport::{CellAt, Transport};
use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

/// Collectives of a communicator that could go through cells, and after which it gets a slot: those of a few
/// calls do without.
const OFTEN: u32 = 4;

/// Most bytes that go through cells, also if they take more.
pub(super) const SHORT_BYTES: usize = 128;

/// No slot, as number.
const NONE: u32 = u32::MAX;

/// What a communicator has of cells.
#[derive(Debug, Default)]
pub struct Cells {
    slot: Cell<Slot>,
    turns: Cell<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    /// So many collectives have asked for one.
    Asked(u32),
    Is(u32),
    None,
}

impl Default for Slot {
    fn default() -> Self {
        Slot::Asked(0)
    }
}

/// A collective that goes through cells.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    slot: u32,
    turn: u64,
}

impl<T: Transport> Operation<T> {
    /// The turn of this collective, which needs cells of so many bytes, if it goes through cells.
    #[inline(always)]
    pub(super) fn turn(&self, bytes: usize) -> Option<Turn> {
        let cells = self.cells.as_ref()?;
        let Slot::Is(slot) = cells.slot.get() else { return None };
        if !self.can_use_cells(bytes) {
            return None;
        }
        cells.turns.set(cells.turns.get() + 1);
        Some(Turn { slot, turn: cells.turns.get() })
    }

    #[inline]
    fn can_use_cells(&self, bytes: usize) -> bool {
        let space = || self.point_to_point.transport().cell_space();
        bytes <= SHORT_BYTES
            && self.point_to_point.is_blocking()
            && space().is_some_and(|space| bytes <= space.bytes)
    }

    /// A collective that could go through cells is done without: if this is often so, its ranks agree on a slot.
    ///
    /// # Errors
    /// If a process has ended.
    #[inline]
    pub(super) async fn end_without_cells(&self, bytes: usize) -> Result<(), Error> {
        let Some(cells) = &self.cells else { return Ok(()) };
        let Slot::Asked(before) = cells.slot.get() else { return Ok(()) };
        if !self.can_use_cells(bytes) {
            return Ok(());
        }
        cells.slot.set(Slot::Asked(before + 1));
        if before + 1 == OFTEN {
            cells.slot.set(Box::pin(self.agree_on_slot()).await?);
        }
        Ok(())
    }

    /// The first slot that nobody of the communicator has given to another one.
    async fn agree_on_slot(&self) -> Result<Slot, Error> {
        let point_to_point = &self.point_to_point;
        let space = point_to_point.transport().cell_space();
        let can = |space| (point_to_point.next_slot.get() < space).then(|| point_to_point.next_slot.get());
        let steps = 2 + self.size().next_power_of_two().ilog2();
        let own = space.filter(|space| steps <= space.steps).and_then(|space| can(space.slots));
        let mut agreed = own.unwrap_or(NONE).to_ne_bytes();
        let number = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
        let greatest = |first: &mut [u8], second: &[u8]| {
            first.copy_from_slice(&number(first).max(number(second)).to_ne_bytes());
            Ok(())
        };
        super::reduction::all_reduce_by_messages(self, &mut agreed, &greatest).await?;
        let agreed = number(&agreed);
        // What the others have left of theirs counts, too: all have said what they may take.
        if agreed == NONE || space.is_none_or(|space| agreed >= space.slots) {
            return Ok(Slot::None);
        }
        point_to_point.next_slot.set(agreed + 1);
        Ok(Slot::Is(agreed))
    }

    fn write_cell(&self, turn: Turn, step: u32, to: u32, data: &[u8]) {
        let at = CellAt { slot: turn.slot, turn: turn.turn, step };
        self.point_to_point.transport().write_cell(at, data, self.process(to));
    }

    #[inline]
    async fn read_cell(&self, turn: Turn, step: u32, from: u32, space: &mut [u8]) -> Result<(), Error> {
        let at = CellAt { slot: turn.slot, turn: turn.turn, step };
        let (of, transport) = (self.process(from), self.point_to_point.transport());
        let mut is_awaited = false;
        let length = poll_fn(|_| {
            let mut read = transport.read_cell(at, of, space);
            if read.is_none() && transport.has_left(of) {
                // It may have written before.
                read = transport.read_cell(at, of, space);
                if read.is_none() {
                    return Poll::Ready(None);
                }
            }
            if read.is_none() || is_awaited {
                is_awaited = read.is_none();
                transport.await_cell(is_awaited.then_some((at, of)));
            }
            read.map_or(Poll::Pending, |length| Poll::Ready(Some(length)))
        });
        let length = length.await.ok_or_else(cut)?;
        if length != space.len() {
            self.lengths_differ.set(true);
        }
        Ok(())
    }
}

/// How the steps of a collective go: by messages, or through cells.
pub(super) trait Steps {
    async fn send(&self, step: u32, to: u32, data: &[u8]) -> Result<(), Error>;
    async fn receive(&self, step: u32, from: u32, space: &mut [u8]) -> Result<(), Error>;
    /// Sends and receives at the same time.
    async fn exchange(
        &self,
        step: u32,
        to: u32,
        data: &[u8],
        from: u32,
        space: &mut [u8],
    ) -> Result<(), Error>;
}

pub(super) struct Messages<'a, T>(pub &'a Operation<T>);

impl<T: Transport> Steps for Messages<'_, T> {
    async fn send(&self, _: u32, to: u32, data: &[u8]) -> Result<(), Error> {
        self.0.send(to, data).await
    }

    async fn receive(&self, _: u32, from: u32, space: &mut [u8]) -> Result<(), Error> {
        self.0.receive(from, space).await
    }

    #[inline(always)]
    async fn exchange(&self, _: u32, to: u32, data: &[u8], from: u32, space: &mut [u8]) -> Result<(), Error> {
        self.0.exchange(to, data, from, space).await
    }
}

pub(super) struct InTurn<'a, T>(pub &'a Operation<T>, pub Turn);

impl<T: Transport> Steps for InTurn<'_, T> {
    async fn send(&self, step: u32, to: u32, data: &[u8]) -> Result<(), Error> {
        self.0.write_cell(self.1, step, to, data);
        Ok(())
    }

    async fn receive(&self, step: u32, from: u32, space: &mut [u8]) -> Result<(), Error> {
        self.0.read_cell(self.1, step, from, space).await
    }

    #[inline(always)]
    async fn exchange(
        &self,
        step: u32,
        to: u32,
        data: &[u8],
        from: u32,
        space: &mut [u8],
    ) -> Result<(), Error> {
        self.0.write_cell(self.1, step, to, data);
        self.0.read_cell(self.1, step, from, space).await
    }
}
