//! Checkpoints: the state of a simulation between two runs, from which another process continues, with the
//! same result to the bit.
//!
//! A checkpoint has what a run changes. What is built from a study is built again, so a block is made first
//! and then [loaded](Simulation::load). Neither the number of threads nor that of processes is part of it: a
//! block's state is stored by the block's number.

use crate::simulation::{Block, Simulation};
use crate::{Time, encode};
use borsh::{BorshDeserialize, BorshSerialize};
use std::io;

/// What has state that a run changes, beside what is built.
pub trait State {
    /// Writes that state.
    ///
    /// # Errors
    /// If it cannot be written.
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()>;

    /// Reads it; this has been built alike.
    ///
    /// # Errors
    /// If it is not that of such a thing.
    fn load(&mut self, from: &mut &[u8]) -> io::Result<()>;
}

/// The state of the blocks of a process.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Checkpoint {
    /// All events before it have been applied.
    pub now: Time,
    /// The blocks that it has, by number: from the first one on.
    pub first: u32,
    /// Their state, and the messages that they have not received.
    pub blocks: Vec<BlockState>,
}

/// A block's state, as bytes.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct BlockState {
    state: Vec<u8>,
    messages: Vec<u8>,
}

impl<B: Block> Simulation<B> {
    /// The state of the blocks of this process, each of which a function writes.
    ///
    /// # Errors
    /// That of the function.
    pub fn store(
        &mut self,
        mut store: impl FnMut(&B, &mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<Checkpoint> {
        let (now, first) = (self.now(), self.numbers().start as u32);
        let blocks = self.with_waiting(|block, messages| {
            let mut state = vec![];
            store(block, &mut state)?;
            Ok(BlockState { state, messages: encode(messages) })
        });
        Ok(Checkpoint { now, first, blocks: blocks.into_iter().collect::<io::Result<_>>()? })
    }

    /// Continues from a checkpoint, or from those of several processes: the blocks of this one, which have
    /// just been built, are read by a function.
    ///
    /// # Errors
    /// If a block is missing, or its state is not that of such a block.
    pub fn load<'a>(
        &mut self,
        checkpoints: impl IntoIterator<Item = &'a Checkpoint>,
        mut load: impl FnMut(&mut B, &mut &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let checkpoints: Vec<&Checkpoint> = checkpoints.into_iter().collect();
        let Some(first) = checkpoints.first() else { return Err(io::Error::other("it has no blocks")) };
        let numbers = self.numbers();
        let mut own = numbers.map(|number| {
            let of = checkpoints.iter().find_map(|part| {
                number.checked_sub(part.first as usize).and_then(|place| part.blocks.get(place))
            });
            of.ok_or_else(|| io::Error::other(format!("block {number} is missing")))
        });
        let loaded = self.with_waiting(|block, messages| {
            let BlockState { state, messages: waiting } = own.next().expect("one for each block")?;
            let mut rest = &state[..];
            load(block, &mut rest)?;
            if !rest.is_empty() {
                return Err(io::Error::other(format!("{} B of a block are left over", rest.len())));
            }
            *messages = postcard::from_bytes(waiting).map_err(io::Error::other)?;
            Ok(())
        });
        loaded.into_iter().collect::<io::Result<Vec<()>>>()?;
        self.resume_at(first.now);
        Ok(())
    }
}

/// Reads the state of each element of a list whose length is built.
///
/// # Errors
/// If the bytes end before.
pub fn load_each<T: BorshDeserialize>(list: &mut [T], from: &mut &[u8]) -> io::Result<()> {
    list.iter_mut().try_for_each(|of| {
        *of = T::deserialize(from)?;
        Ok(())
    })
}

/// Writes the state of each element of such a list.
///
/// # Errors
/// That of the writer.
pub fn store_each<T: BorshSerialize>(list: &[T], to: &mut Vec<u8>) -> io::Result<()> {
    list.iter().try_for_each(|of| of.serialize(to))
}
