//! What a checkpoint has of a block. All fields are named, so that none is forgotten.

use super::TorusFamily;
use super::block::TorusBlock;
use super::shared::Shared;
use crate::host::Host;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::checkpoint::{State, load_each, store_each};
use std::io;

impl<H: Host<TorusFamily>, const P: usize> State for TorusBlock<H, P> {
    /// Between two ticks.
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        #[rustfmt::skip]
        let TorusBlock {
            nodes, shared, carried, next_tick, numbers: _, fetches: _, burst: _,
            // Lists of one tick.
            taken: _, together: _, arrivals: _, deliveries: _, mends: _, dirty: _, retried: _,
        } = self;
        let Shared { tables: _, rings, injection, injecting, common, standing, retries } = shared;
        store_each(nodes, to)?;
        store_each(rings, to)?;
        store_each(injection, to)?;
        store_each(injecting, to)?;
        store_each(standing, to)?;
        common.store(to)?;
        (retries, carried, next_tick).serialize(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        let TorusBlock { nodes, shared, carried, next_tick, .. } = self;
        let Shared { tables: _, rings, injection, injecting, common, standing, retries } = shared;
        load_each(nodes, from)?;
        load_each(rings, from)?;
        load_each(injection, from)?;
        load_each(injecting, from)?;
        load_each(standing, from)?;
        common.load(from)?;
        (*retries, *carried, *next_tick) = BorshDeserialize::deserialize(from)?;
        Ok(())
    }
}
