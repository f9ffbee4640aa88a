//! What a checkpoint has of a block. All fields are named, so that none is forgotten.

use super::QueuedFamily;
use super::block::{QueuedBlock, Shared};
use crate::host::Host;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::checkpoint::{State, load_each, store_each};
use std::io;

impl<H: Host<QueuedFamily>> State for QueuedBlock<H> {
    /// Between two ticks.
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        // Lists of one tick are made anew in the next.
        let QueuedBlock { nodes, shared, carried, numbers: _, taken: _, together: _, callees: _ } = self;
        let Shared { tables: _, common, cells, injecting, counters, byte_order: _, soft } = shared;
        store_each(nodes, to)?;
        store_each(injecting, to)?;
        common.store(to)?;
        counters.iter().try_for_each(|of| of.store(to))?;
        soft.iter().try_for_each(|of| of.store(to))?;
        (cells, carried).serialize(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        let QueuedBlock { nodes, shared, carried, numbers: _, taken: _, together: _, callees: _ } = self;
        let Shared { tables: _, common, cells, injecting, counters, byte_order: _, soft } = shared;
        load_each(nodes, from)?;
        load_each(injecting, from)?;
        common.load(from)?;
        counters.iter_mut().try_for_each(|of| of.load(from))?;
        soft.iter_mut().try_for_each(|of| of.load(from))?;
        (*cells, *carried) = BorshDeserialize::deserialize(from)?;
        Ok(())
    }
}
