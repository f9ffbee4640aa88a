//! What a checkpoint has of a network: its blocks, its overseer, and what blocks have in common.

use super::network::{Network, Overseer, RouterBlock};
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use netloom_engine::checkpoint::Checkpoint;
use std::io;

/// The state of a network, as far as one process has it.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct NetworkState {
    /// That of the overseer, the same in all processes; and what blocks of all have in common.
    overseer: Vec<u8>,
    shared: Vec<u8>,
    blocks: Checkpoint,
}

impl NetworkState {
    /// Until when the network has been simulated.
    pub fn now(&self) -> Time {
        self.blocks.now
    }
}

impl<B: RouterBlock> Network<B> {
    /// The state of the network between two runs, for a checkpoint: that of the blocks of this process. A
    /// function writes that of their hosts.
    ///
    /// # Errors
    /// That of the function.
    pub fn store(
        &mut self,
        host: impl Fn(&B::Host, &mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<NetworkState> {
        let (mut overseer, mut shared) = (vec![], vec![]);
        self.overseer.store(&mut overseer)?;
        self.simulation.blocks().next().map_or(Ok(()), |block| block.store_shared(&mut shared))?;
        let blocks = self.simulation.store(|block, to| {
            block.store(to)?;
            host(block.host(), to)
        })?;
        Ok(NetworkState { overseer, shared, blocks })
    }

    /// Continues from the states of all processes of an earlier run of this network, which was built with as
    /// many blocks. A function reads that of hosts.
    ///
    /// # Errors
    /// If they are not states of this network.
    pub fn load(
        &mut self,
        states: &[NetworkState],
        host: impl Fn(&mut B::Host, &mut &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(first) = states.first() else { return Err(io::Error::other("it has no state")) };
        self.simulation.load(states.iter().map(|of| &of.blocks), |block, from| {
            block.load(from)?;
            host(block.host_mut(), from)
        })?;
        // A process without blocks has none.
        let shared = states.iter().map(|of| &of.shared[..]).find(|shared| !shared.is_empty());
        if let Some((block, mut shared)) = self.simulation.blocks().next().zip(shared) {
            block.load_shared(&mut shared)?;
        }
        self.overseer.load(&mut &first.overseer[..], &mut self.simulation)
    }
}
