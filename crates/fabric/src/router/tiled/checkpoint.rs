//! What a checkpoint has of a block. All fields are named, so that none is forgotten.

use super::TiledFamily;
use super::block::TiledBlock;
use crate::host::Host;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::checkpoint::{State, load_each, store_each};
use std::io;

impl<H: Host<TiledFamily>> State for TiledBlock<H> {
    /// Between two ticks.
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        #[rustfmt::skip]
        let TiledBlock {
            inputs, switches, outputs, buses, row_buffers, column_buffers, shares, entries, load, injecting, closed,
            arena, cells, calendar, recorder, round_trips, faults,
            // As built; and those of all blocks, see `store_shared`.
            tables: _, k: _, first: _, first_node: _, links: _, fifos: _, host: _, numbers: _,
            router_loads: _, link_loads: _,
            // Empty between two ticks.
            due: _, due_later: _, signals: _, credits: _, taken: _, for_hosts: _,
        } = self;
        store_each(inputs, to)?;
        store_each(switches, to)?;
        store_each(outputs, to)?;
        store_each(buses, to)?;
        store_each(row_buffers, to)?;
        store_each(column_buffers, to)?;
        store_each(shares, to)?;
        store_each(entries, to)?;
        store_each(load, to)?;
        store_each(injecting, to)?;
        store_each(closed, to)?;
        calendar.store(to)?;
        faults.iter().try_for_each(|faults| faults.store(to))?;
        (arena, cells, recorder, round_trips).serialize(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        load_each(&mut self.inputs, from)?;
        load_each(&mut self.switches, from)?;
        load_each(&mut self.outputs, from)?;
        load_each(&mut self.buses, from)?;
        load_each(&mut self.row_buffers, from)?;
        load_each(&mut self.column_buffers, from)?;
        load_each(&mut self.shares, from)?;
        load_each(&mut self.entries, from)?;
        load_each(&mut self.load, from)?;
        load_each(&mut self.injecting, from)?;
        load_each(&mut self.closed, from)?;
        self.calendar.load(from)?;
        self.faults.iter_mut().try_for_each(|faults| faults.load(from))?;
        (self.arena, self.cells, self.recorder, self.round_trips) = BorshDeserialize::deserialize(from)?;
        Ok(())
    }
}
