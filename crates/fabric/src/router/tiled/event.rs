//! Events at a router, twelve bytes each, and the messages between blocks.

use super::state::Cell;
use crate::packet::{Data, Meta};
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Owned;
use serde::{Deserialize, Serialize};

/// The kind of an event.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[repr(u8)]
pub(super) enum Kind {
    /// A packet's head has arrived in a tile's input queue, and its routes have been looked up.
    #[default]
    Arrived,
    /// A packet's head has arrived in a sub-switch, in its `queue`.
    Switched,
    /// A packet's head has arrived in a column buffer, in its `queue`.
    Buffered,
    /// `flits` of the VC `queue` leave the input queue at the other end of the tile's link, over `packet`
    /// ticks.
    Credit,
    /// Credits for `flits` of the VC `queue` are to leave over the tile's link from now on, over `packet`
    /// ticks.
    Credits,
    /// A tile's input acts again.
    WakeInput,
    /// A tile's sub-switch acts again.
    WakeSwitch,
    /// A tile's column buffer acts again.
    WakeOutput,
    /// The nodes of the share `tile` act again.
    WakeShare,
    /// A packet is complete at the node `tile` of the router.
    Delivered,
    /// A wake-up requested by the host of the node `tile`; `packet` is its token.
    Wake,
    /// The host of the node `tile` has, or may have, a packet for the injection FIFO `queue`.
    Fill,
}

/// An event at a router at some tick.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub(super) struct Event {
    pub router: u32,
    pub packet: u32,
    pub kind: Kind,
    pub tile: u8,
    pub queue: u8,
    pub flits: u8,
}

impl Owned for Event {
    #[inline]
    fn owner(&self) -> u32 {
        self.router
    }
}

impl Event {
    #[inline]
    pub fn of_packet(kind: Kind, router: u32, tile: usize, queue: usize, packet: u32) -> Self {
        Event { router, packet, kind, tile: tile as u8, queue: queue as u8, flits: 0 }
    }

    #[inline]
    pub fn at(kind: Kind, router: u32, tile: usize) -> Self {
        Self::of_packet(kind, router, tile, 0, 0)
    }
}

/// A message between blocks: a packet that arrives, or credits.
#[derive(Serialize, Deserialize)]
pub struct Message {
    pub(super) event: Event,
    pub(super) packet: Option<(Cell, Meta, Option<Data>)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_small() {
        assert_eq!(size_of::<Event>(), 12);
    }
}
