//! What happens at a router, in twelve bytes, and what blocks tell one another of it.

use super::state::Cell;
use crate::packet::{Data, Meta};
use netloom_engine::Owned;

/// What happens.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    /// A packet's head has come to a tile's input queue, and its routes have been looked up.
    #[default]
    Arrived,
    /// A packet's head has come to a sub-switch, for `queue` there.
    Switched,
    /// A packet's head has come to a column buffer, for `queue` there.
    Buffered,
    /// `flits` of the VC `queue` leave the input queue at the other end of the tile's link, for which they take `packet` ticks.
    Credit,
    /// Credits of `flits` of the VC `queue` are to leave by the tile's link from now on, for `packet` ticks.
    Credits,
    /// A tile's input is to be looked at again.
    WakeInput,
    /// The same of its sub-switch.
    WakeSwitch,
    /// The same of its column buffer.
    WakeOutput,
    /// The same of the nodes of the share `tile`.
    WakeShare,
    /// A packet is whole at the node `tile` of the router.
    Delivered,
    /// The host of the node `tile` asked for this time; `packet` is its token.
    Wake,
    /// The host of the node `tile` has, or may have, a packet for the injection FIFO `queue`.
    Fill,
}

/// What happens at a router at some tick.
#[derive(Clone, Copy, Default, Debug)]
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

/// What one block tells another: a packet that arrives, or credits.
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
