//! Blocks of the segment that tasks share by name: who asks for a name first creates the block, all zero, and
//! the last that leaves it frees it.
//!
//! # Invariant
//! Only the holder of the lock reads or writes the table. The lock names its holder, so that others take it
//! over from a task that has ended; the worst that such a task leaves is a block without a user.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};

/// Memory of all blocks, bytes.
pub const MEMORY_B: usize = 4 << 20;
/// Longest name of a block, bytes.
pub const NAME_MAX: usize = 100;
/// Greatest alignment, bytes: mappings begin at multiples of it.
pub const ALIGNMENT_MAX: usize = 4096;
/// Most blocks.
const COUNT: usize = 255;

/// Error: there is no such block for this task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// Its name is too long.
    #[error("the name has {0} B; at most {NAME_MAX} are possible")]
    Name(usize),
    /// Its alignment is no power of two, or too large.
    #[error("the alignment is {0} B; powers of two up to {ALIGNMENT_MAX} are possible")]
    Alignment(usize),
    /// Another task uses it with another length.
    #[error("another task has made it with {found} B; all tasks must ask for the same length")]
    Length {
        /// That length.
        found: u64,
    },
    /// There is no space for it.
    #[error("there is no space: all blocks together have {MEMORY_B} B, and there are {COUNT} at most")]
    Full,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Block {
    /// Tasks that use it; 0 if there is no such block.
    users: u32,
    scope: u32,
    offset: u64,
    bytes: u64,
    name_bytes: u32,
    name: [u8; NAME_MAX],
}

#[repr(C, align(4096))]
struct Memory(UnsafeCell<[u8; MEMORY_B]>);

/// The blocks of a job. All bytes zero is valid: there is none.
#[repr(C, align(4096))]
pub struct Blocks {
    /// 1 + the task that holds the lock; 0 if none does.
    lock: AtomicU32,
    table: UnsafeCell<[Block; COUNT]>,
    memory: Memory,
}

// SAFETY: the table is accessed as the invariant says; the memory by the programs that share it.
unsafe impl Sync for Blocks {}

/// The lock, held.
struct Locked<'a>(&'a Blocks);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.0.lock.store(0, Ordering::Release);
    }
}

impl Locked<'_> {
    fn table(&mut self) -> &mut [Block; COUNT] {
        // SAFETY: the invariant; all bytes are valid.
        unsafe { &mut *self.0.table.get() }
    }
}

impl Blocks {
    fn lock(&self, own: u32, is_over: impl Fn(u32) -> bool) -> Locked<'_> {
        let mut expected = 0;
        while let Err(holder) =
            self.lock.compare_exchange(expected, own + 1, Ordering::Acquire, Ordering::Relaxed)
        {
            expected = if holder != 0 && is_over(holder - 1) { holder } else { 0 };
            std::thread::yield_now();
        }
        Locked(self)
    }

    /// See [`crate::segment::Segment::share_block`]. `is_over` tells whether a task has ended.
    pub(crate) fn share(
        &self,
        own: u32,
        scope: u32,
        name: &[u8],
        bytes: usize,
        alignment: usize,
        is_over: impl Fn(u32) -> bool,
    ) -> Result<*mut u8, BlockError> {
        if name.len() > NAME_MAX {
            return Err(BlockError::Name(name.len()));
        }
        if !alignment.is_power_of_two() || alignment > ALIGNMENT_MAX {
            return Err(BlockError::Alignment(alignment));
        }
        let mut locked = self.lock(own, is_over);
        let table = locked.table();
        let is_it = |block: &&mut Block| {
            block.users > 0
                && block.scope == scope
                && block.name_bytes as usize == name.len()
                && block.name[..name.len()] == *name
        };
        if let Some(block) = table.iter_mut().find(is_it) {
            if block.bytes != bytes as u64 {
                return Err(BlockError::Length { found: block.bytes });
            }
            block.users += 1;
            return Ok(self.at(block.offset));
        }
        let offset = free_space(table, bytes, alignment).ok_or(BlockError::Full)?;
        let free = table.iter_mut().find(|block| block.users == 0).ok_or(BlockError::Full)?;
        let mut padded = [0; NAME_MAX];
        padded[..name.len()].copy_from_slice(name);
        let (offset, bytes) = (offset as u64, bytes as u64);
        let name_bytes = name.len() as u32;
        // SAFETY: no block that a task uses has this memory.
        unsafe { self.at(offset).write_bytes(0, bytes as usize) };
        *free = Block { users: 1, scope, offset, bytes, name_bytes, name: padded };
        Ok(self.at(offset))
    }

    /// See [`crate::segment::Segment::leave_block`].
    pub(crate) fn leave(&self, own: u32, address: *const u8, is_over: impl Fn(u32) -> bool) -> bool {
        let Some(offset) = (address as usize).checked_sub(self.at(0) as usize) else { return false };
        let mut locked = self.lock(own, is_over);
        let found = locked.table().iter_mut().find(|block| block.users > 0 && block.offset == offset as u64);
        found.map(|block| block.users -= 1).is_some()
    }

    fn at(&self, offset: u64) -> *mut u8 {
        assert!(offset <= MEMORY_B as u64);
        self.memory.0.get().cast::<u8>().wrapping_add(offset as usize)
    }
}

/// The first free space of this length. A block of 0 bytes takes one, so that addresses differ.
fn free_space(table: &[Block], bytes: usize, alignment: usize) -> Option<usize> {
    let mut used: Vec<(usize, usize)> = (table.iter().filter(|block| block.users > 0))
        .map(|block| (block.offset as usize, block.bytes.max(1) as usize))
        .collect();
    used.sort_unstable();
    let mut at = 0usize;
    for (offset, length) in used {
        if at.checked_add(bytes.max(1))? <= offset {
            break;
        }
        at = at.max(offset + length).next_multiple_of(alignment);
    }
    (at.checked_add(bytes.max(1))? <= MEMORY_B).then_some(at)
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::segment::{Segment, State};

    #[test]
    fn tasks_share_a_block_by_name_until_the_last_has_left() {
        let segment = Segment::create(3).unwrap();
        let first = segment.share_block(0, 0, b"counter", 64, 64).unwrap();
        // SAFETY: a block of this length.
        unsafe { first.write(7) };
        assert_eq!(segment.share_block(1, 0, b"counter", 64, 64), Ok(first));
        let others = [(1, &b"counter"[..]), (0, &b"other"[..])].map(|(scope, name)| {
            let block = segment.share_block(2, scope, name, 1, 4096).unwrap();
            assert!((block as usize).is_multiple_of(4096));
            block
        });
        assert!(others[0] != others[1] && !others.contains(&first));
        assert_eq!(segment.share_block(1, 0, b"counter", 8, 8), Err(BlockError::Length { found: 64 }));
        assert!(segment.leave_block(0, first) && segment.leave_block(1, first));
        assert!(!segment.leave_block(1, first) && !segment.leave_block(1, std::ptr::null()));
        let again = segment.share_block(1, 0, b"new", 64, 64).unwrap();
        // SAFETY: the same; new blocks are zero.
        assert_eq!((again, unsafe { again.read() }), (first, 0));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let segment = Segment::create(1).unwrap();
        assert_eq!(segment.share_block(0, 0, b"all", MEMORY_B + 1, 8), Err(BlockError::Full));
        assert_eq!(segment.share_block(0, 0, b"all", usize::MAX, 8), Err(BlockError::Full));
        assert_eq!(segment.share_block(0, 0, &[b'x'; 101], 8, 8), Err(BlockError::Name(101)));
        assert_eq!(segment.share_block(0, 0, b"odd", 8, 24), Err(BlockError::Alignment(24)));
        let all = segment.share_block(0, 0, b"all", MEMORY_B, 8).unwrap();
        assert_eq!(segment.share_block(0, 0, b"more", 1, 8), Err(BlockError::Full));
        assert!(segment.leave_block(0, all));
        assert!((0..COUNT).all(|n| segment.share_block(0, n as u32, b"n", 0, 1).is_ok()));
        assert_eq!(segment.share_block(0, 9999, b"n", 0, 1), Err(BlockError::Full));
    }

    #[test]
    fn the_lock_of_a_task_that_has_ended_is_taken_over() {
        let segment = Segment::create(2).unwrap();
        segment.task(1).set_state(State::Dead);
        segment.blocks().hold(1);
        assert!(segment.share_block(0, 0, b"x", 8, 8).is_ok());
    }
}

#[cfg(test)]
impl Blocks {
    /// Takes the lock and keeps it.
    pub(crate) fn hold(&self, task: u32) {
        std::mem::forget(self.lock(task, |_| false));
    }
}
