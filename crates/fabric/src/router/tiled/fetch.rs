//! Prefetching of the state that events will touch. A router prefetches the next router's state when it
//! forwards a packet.

use super::event::{Event, Kind};
use super::state::{Buffer, Bus, Cell, Input, Output, SubSwitch, VCS};
use super::tables::Constants;
use netloom_engine::prefetch;

/// The arrays of a block.
pub(super) struct Fetch<'a> {
    pub k: &'a Constants,
    pub inputs: &'a [Input],
    pub outputs: &'a [Output],
    pub switches: &'a [SubSwitch],
    pub buses: &'a [Bus],
    pub row_buffers: &'a [Buffer],
    pub column_buffers: &'a [Buffer],
    pub cells: &'a [Cell],
}

impl Fetch<'_> {
    /// Prefetches the state that an event will touch.
    #[inline]
    pub fn fetch(&self, event: &Event) {
        let (t, queue) = (self.k, usize::from(event.queue));
        let at = event.router as usize * t.tiles + usize::from(event.tile);
        match event.kind {
            Kind::Arrived => self.inputs.get(at).into_iter().for_each(prefetch),
            Kind::Switched => {
                self.row_buffers.get(at * t.columns * VCS + queue).into_iter().for_each(prefetch);
                self.switches.get(at).into_iter().for_each(prefetch);
                self.buses.get(at * t.rows).into_iter().for_each(prefetch);
            }
            Kind::Buffered => {
                self.column_buffers.get(at * t.rows * VCS + queue).into_iter().for_each(prefetch);
                self.outputs.get(at).into_iter().for_each(prefetch);
            }
            Kind::Credit => self.outputs.get(at).into_iter().for_each(prefetch),
            _ => {}
        }
        self.cells.get(event.packet as usize).into_iter().for_each(prefetch);
    }
}
