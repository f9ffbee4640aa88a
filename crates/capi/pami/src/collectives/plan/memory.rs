//! The memory of a plan: buffers of the program with their layouts, and those of the library.

use super::{NO_MEMORY, NO_TYPE, Planned};
use crate::collectives::Unpack;
use crate::typed::Buffer;
use crate::types::{complete, pack};
use crate::xfer::Vector;
use netloom_messaging::pami::collectives::{Area, Block, Blocks};
use netloom_messaging::pami::device::{self, Collective, GroupLimits};
use netloom_messaging::pami::types::Type;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::Arc;

/// A buffer and the layout of its data.
#[derive(Clone)]
pub struct Side {
    pub base: *mut u8,
    pub kind: Arc<Type>,
    pub handle: *mut c_void,
}

impl Side {
    /// # Safety
    /// The program gave the type.
    pub unsafe fn new(base: *mut u8, handle: *mut c_void) -> Planned<Self> {
        // SAFETY: the caller's promise.
        let kind = unsafe { complete(handle) }.ok_or(NO_TYPE)?;
        Ok(Side { base, kind, handle })
    }

    pub fn bytes(&self, count: usize) -> usize {
        count.saturating_mul(self.kind.data_bytes() as usize)
    }

    /// The address of a copy of the type.
    pub fn copy(&self, number: isize) -> *mut u8 {
        self.base.wrapping_offset(number.wrapping_mul(self.kind.extent() as isize))
    }

    /// Where the data starts if copies of the type make up one contiguous piece.
    pub fn dense(&self) -> Option<*mut u8> {
        let offset = self.kind.contiguous_part(0, self.kind.data_bytes().max(1) * 2)?;
        Some(self.base.wrapping_offset(offset as isize))
    }
}

/// The memory of a plan, as it grows.
pub struct Planner {
    pub areas: [*mut u8; 3],
    pub buffers: Vec<Buffer>,
    pub unpacks: Vec<Unpack>,
    /// The limits of the device's group for the geometry, if there is one; and what it is to do.
    pub limits: Option<GroupLimits>,
    pub by_device: Option<Collective>,
}

impl Planner {
    pub fn buffer(&mut self, bytes: usize) -> *mut u8 {
        let mut buffer = Buffer::uninitialised(bytes);
        let address = buffer.address();
        self.buffers.push(buffer);
        address
    }

    /// An area as a range of memory.
    pub fn range(&self, area: Area, bytes: usize) -> device::Range {
        device::Range { address: self.areas[area as usize] as u64, bytes: bytes as u64 }
    }

    pub fn scratch(&mut self, bytes: usize) {
        self.areas[Area::Scratch as usize] = self.buffer(bytes);
    }

    /// An area of this data; `is_copied` keeps it from changes to the program's memory.
    pub fn read(&mut self, area: Area, side: &Side, bytes: usize, is_copied: bool) -> Planned<()> {
        if side.base.is_null() && bytes > 0 {
            return Err(NO_MEMORY);
        }
        let direct = side.kind.contiguous_part(0, bytes as u64).filter(|_| !is_copied);
        self.areas[area as usize] = match direct {
            Some(offset) => side.base.wrapping_offset(offset as isize),
            None => {
                let buffer = self.buffer(bytes);
                // SAFETY: the program gave a buffer that the type describes; the new one is as long as the
                // data.
                unsafe { pack(&side.kind, side.base, buffer, bytes) };
                buffer
            }
        };
        Ok(())
    }

    /// Whether contiguous data lies in this memory, at least in part.
    pub fn covers(&self, side: &Side, bytes: usize, memory: &Range<usize>) -> bool {
        side.kind.contiguous_part(0, bytes as u64).is_some_and(|offset| {
            let address = side.base.wrapping_offset(offset as isize) as usize;
            overlap(&(address..address.wrapping_add(bytes)), memory)
        })
    }

    /// An area whose data is the result; `is_copied` keeps the program's memory as it is until the end.
    pub fn write(&mut self, area: Area, side: &Side, bytes: usize, is_copied: bool) -> Planned<()> {
        if side.base.is_null() && bytes > 0 {
            return Err(NO_MEMORY);
        }
        let direct = side.kind.contiguous_part(0, bytes as u64).filter(|_| !is_copied);
        self.areas[area as usize] = match direct {
            Some(offset) => side.base.wrapping_offset(offset as isize),
            None => {
                let from = self.buffer(bytes);
                self.unpacks.push(Unpack { from, to: side.base, kind: Arc::clone(&side.kind), bytes });
                from
            }
        };
        Ok(())
    }

    /// As [`Self::read`] or [`Self::write`] for blocks: the number of the first copy of each, and how many
    /// copies.
    pub fn blocks(
        &mut self,
        area: Area,
        side: &Side,
        list: &[(isize, usize)],
        is_read: bool,
        is_copied: bool,
    ) -> Planned<Blocks> {
        let total: usize = list.iter().map(|&(_, count)| side.bytes(count)).sum();
        if side.base.is_null() && total > 0 {
            return Err(NO_MEMORY);
        }
        if let Some(base) = side.dense().filter(|_| !is_copied) {
            self.areas[area as usize] = base;
            let extent = side.kind.extent() as isize;
            let block =
                |&(first, count): &(isize, usize)| (first.wrapping_mul(extent) as usize, side.bytes(count));
            return Ok(Blocks::Each(list.iter().map(block).collect()));
        }
        let buffer = self.buffer(total);
        self.areas[area as usize] = buffer;
        let mut at = 0;
        let mut blocks = vec![];
        for &(first, count) in list {
            let (bytes, packed, copy) = (side.bytes(count), buffer.wrapping_add(at), side.copy(first));
            if is_read {
                // SAFETY: the program gave blocks that the type describes; the buffer holds all of them.
                unsafe { pack(&side.kind, copy, packed, bytes) };
            } else {
                self.unpacks.push(Unpack { from: packed, to: copy, kind: Arc::clone(&side.kind), bytes });
            }
            blocks.push((at, bytes));
            at += bytes;
        }
        Ok(Blocks::Each(blocks))
    }
}

/// The addresses of the blocks of an area that starts here, from the lowest to the end of the highest.
pub fn addresses(base: *mut u8, blocks: &Blocks, count: usize) -> Range<usize> {
    let block = |member| {
        let Block { at, bytes, .. } = blocks.of(Area::Target, member);
        (bytes > 0).then(|| base.wrapping_add(at) as usize..base.wrapping_add(at) as usize + bytes)
    };
    let join = |all: Range<usize>, one: Range<usize>| all.start.min(one.start)..all.end.max(one.end);
    (0..count).filter_map(block).reduce(join).unwrap_or(0..0)
}

pub fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

/// The blocks of a vector operation: first copy and number of copies of each.
///
/// # Safety
/// The arrays have `count` elements, of `int` if `is_int`.
pub unsafe fn vector(vector: &Vector, count: usize, is_int: bool) -> Planned<Vec<(isize, usize)>> {
    if vector.counts.is_null() || vector.displacements.is_null() {
        return Err(NO_MEMORY);
    }
    let element = |array: *const c_void, at: usize| match is_int {
        // SAFETY: the caller's promise.
        true => unsafe { *array.cast::<c_int>().add(at) as isize },
        // SAFETY: the same.
        false => unsafe { *array.cast::<usize>().add(at) as isize },
    };
    let block = |at| (element(vector.displacements, at), element(vector.counts, at).max(0) as usize);
    Ok((0..count).map(block).collect())
}

/// The blocks of an operation with equal ones.
pub fn equal(copies: usize, count: usize) -> Vec<(isize, usize)> {
    (0..count).map(|member| ((member * copies) as isize, copies)).collect()
}
