//! Types: layouts of data in memory. A type is a list of runs; a run is a block that repeats at a stride, and
//! a block is contiguous bytes or another type. Memory grows with the calls that build a type, not with
//! counts.
//!
//! Offsets in memory are signed and relative to the address of a buffer. Offsets of data count bytes of data
//! without gaps. In use, a type repeats without end at steps of its extent, so an offset of data has no
//! limit.

mod pieces;
mod serialized;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serialized::{MAGIC, Table, VERSION, checksum, read};

pub use pieces::{Pair, Pairs, Pieces, pairs};

/// Types within types, at most: dropping and serializing recurse.
const DEPTH_MAX: u32 = 512;
/// A type of at most this many runs is copied into the type that contains it once.
const INLINE_MAX: usize = 8;

/// Error: a type cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// An offset or a size has more than 64 bits.
    #[error("an offset or a size has more than 64 bits")]
    Overflow,
    /// The atom size is 0 or does not divide the size of each block.
    #[error("atom size {0} is 0 or does not divide the size of each block")]
    Atom(u64),
    /// Too many types within types.
    #[error("types are nested more than {DEPTH_MAX} deep")]
    Depth,
    /// The bytes are not a serialized type of this version.
    #[error("the bytes are not a serialized type of version {VERSION}")]
    Serialized,
}

/// The unit that a run repeats.
#[derive(Clone, Debug)]
enum Block {
    /// Contiguous bytes.
    Bytes(u64),
    /// One copy of a type.
    Typed(Arc<Type>),
}

impl Block {
    fn bytes(&self) -> u64 {
        match self {
            Block::Bytes(bytes) => *bytes,
            Block::Typed(subtype) => subtype.bytes,
        }
    }

    fn is_same(&self, other: &Block) -> bool {
        match (self, other) {
            (Block::Bytes(a), Block::Bytes(b)) => a == b,
            (Block::Typed(a), Block::Typed(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// A block that repeats at a stride. It has data: count and block are not 0.
#[derive(Clone, Debug)]
struct Run {
    /// Offset in memory of the first block.
    start: i64,
    block: Block,
    count: u64,
    stride: i64,
    /// Offset of data of the first block.
    data_from: u64,
}

/// A type under construction: a cursor, and the blocks placed so far.
#[derive(Clone, Debug, Default)]
pub struct TypeBuilder {
    runs: Vec<Run>,
    bytes: u64,
    cursor: i64,
    /// Greatest common divisor of the sizes of all blocks; 0 without blocks.
    divisor: u64,
    depth: u32,
}

/// A complete type.
#[derive(Clone, Debug)]
pub struct Type {
    runs: Vec<Run>,
    bytes: u64,
    extent: i64,
    atom: u64,
    divisor: u64,
    depth: u32,
}

/// Contiguous data in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its offset in memory.
    pub offset: i64,
    /// Its length, bytes.
    pub bytes: u64,
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `start + count * stride`.
fn advanced(start: i64, count: u64, stride: i64) -> Result<i64, TypeError> {
    i64::try_from(i128::from(start) + i128::from(count) * i128::from(stride)).map_err(|_| TypeError::Overflow)
}

impl TypeBuilder {
    /// Moves the cursor by `offset`, then `count` times: places a block of `bytes` and moves the cursor by
    /// `stride`.
    ///
    /// # Errors
    /// If a size or an offset overflows; then nothing is added.
    pub fn add_simple(&mut self, bytes: u64, offset: i64, count: u64, stride: i64) -> Result<(), TypeError> {
        self.add(Block::Bytes(bytes), [offset, stride], count, bytes)
    }

    /// As [`Self::add_simple`], placing copies of a type.
    ///
    /// # Errors
    /// If a size or an offset overflows or types are nested too deep; then nothing is added.
    pub fn add_typed(
        &mut self,
        subtype: &Arc<Type>,
        offset: i64,
        count: u64,
        stride: i64,
    ) -> Result<(), TypeError> {
        if subtype.depth + 1 >= DEPTH_MAX {
            return Err(TypeError::Depth);
        }
        self.add(Block::Typed(Arc::clone(subtype)), [offset, stride], count, subtype.divisor)
    }

    fn add(
        &mut self,
        block: Block,
        [offset, stride]: [i64; 2],
        count: u64,
        divisor: u64,
    ) -> Result<(), TypeError> {
        let start = self.cursor.checked_add(offset).ok_or(TypeError::Overflow)?;
        let cursor = advanced(start, count, stride)?;
        let data = block.bytes().checked_mul(count).ok_or(TypeError::Overflow)?;
        let bytes = self.bytes.checked_add(data).ok_or(TypeError::Overflow)?;
        if data > 0 {
            self.push(start, block, count, stride);
            self.divisor = gcd(self.divisor, divisor);
        }
        (self.cursor, self.bytes) = (cursor, bytes);
        Ok(())
    }

    /// Adds a run in its simplest form.
    fn push(&mut self, start: i64, block: Block, count: u64, stride: i64) {
        if let Block::Typed(subtype) = &block {
            if let [inner] = &subtype.runs[..] {
                // Two loops are one if one of them has a single step, or their steps follow each other.
                let at = start.wrapping_add(inner.start);
                if count == 1 {
                    return self.push(at, inner.block.clone(), inner.count, inner.stride);
                }
                if inner.count == 1 {
                    return self.push(at, inner.block.clone(), count, stride);
                }
                if advanced(0, inner.count, inner.stride) == Ok(stride) {
                    return self.push(at, inner.block.clone(), count * inner.count, inner.stride);
                }
            } else if count == 1 && subtype.runs.len() <= INLINE_MAX {
                for inner in &subtype.runs {
                    let at = start.wrapping_add(inner.start);
                    self.push(at, inner.block.clone(), inner.count, inner.stride);
                }
                return;
            }
        }
        let (block, count) = match block {
            Block::Bytes(bytes) if i64::try_from(bytes) == Ok(stride) => (Block::Bytes(bytes * count), 1),
            block => (block, count),
        };
        let stride = if count == 1 { 0 } else { stride };
        if !self.runs.last_mut().is_some_and(|last| last.append(start, &block, count, stride)) {
            if let Block::Typed(subtype) = &block {
                self.depth = self.depth.max(subtype.depth + 1);
            }
            let data_from =
                self.runs.last().map_or(0, |last| last.data_from + last.count * last.block.bytes());
            self.runs.push(Run { start, block, count, stride, data_from });
        }
    }

    /// The complete type.
    ///
    /// # Errors
    /// If the atom size does not divide the size of each block.
    pub fn complete(&self, atom: u64) -> Result<Type, TypeError> {
        if atom == 0 || !self.divisor.is_multiple_of(atom) {
            return Err(TypeError::Atom(atom));
        }
        Ok(Type {
            runs: self.runs.clone(),
            bytes: self.bytes,
            extent: self.cursor,
            atom,
            divisor: self.divisor,
            depth: self.depth,
        })
    }
}

impl Run {
    /// Makes another run part of this one if it continues it; returns whether it does.
    fn append(&mut self, start: i64, block: &Block, count: u64, stride: i64) -> bool {
        if let (Block::Bytes(own), Block::Bytes(more), 1, 1) = (&mut self.block, block, self.count, count)
            && i128::from(self.start) + i128::from(*own) == i128::from(start)
        {
            *own += more;
            return true;
        }
        let Some(step) = start.checked_sub(self.start).filter(|_| self.block.is_same(block)) else {
            return false;
        };
        let joint = match (self.count, count) {
            (1, 1) => step,
            (1, _) => stride,
            _ => self.stride,
        };
        let continues = advanced(0, self.count, joint) == Ok(step) && (count == 1 || stride == joint);
        if continues {
            (self.count, self.stride) = (self.count + count, joint);
        }
        continues
    }
}

impl Type {
    /// A type of contiguous bytes, which are its atom.
    ///
    /// # Panics
    /// If there are none.
    pub fn contiguous(bytes: u32) -> Self {
        let mut builder = TypeBuilder::default();
        builder.add_simple(bytes.into(), 0, 1, bytes.into()).expect("32 bits do not overflow");
        builder.complete(bytes.into()).expect("not empty")
    }

    /// Data in one copy, bytes.
    pub fn data_bytes(&self) -> u64 {
        self.bytes
    }

    /// Distance between copies, bytes; may be negative.
    pub fn extent(&self) -> i64 {
        self.extent
    }

    /// Atom size, bytes: the sizes of all blocks are multiples of it.
    pub fn atom_bytes(&self) -> u64 {
        self.atom
    }

    /// The contiguous pieces of `bytes` of data from an offset of data, in the order of the data. Adjoining
    /// pieces are one. A type without data has none.
    pub fn pieces(&self, from: u64, bytes: u64) -> Pieces<'_> {
        Pieces::new(self, from, bytes)
    }

    /// The offset in memory of `bytes` of data from an offset of data; `None` if they are not contiguous.
    pub fn contiguous_part(&self, from: u64, bytes: u64) -> Option<i64> {
        if bytes == 0 {
            return Some(0);
        }
        self.pieces(from, bytes).next().filter(|piece| piece.bytes == bytes).map(|piece| piece.offset)
    }

    /// As bytes without pointers, for [`Self::deserialize`].
    pub fn serialize(&self) -> Vec<u8> {
        let mut table = Table::default();
        table.add(self);
        let mut words = vec![MAGIC, VERSION, checksum(&table.words), table.types];
        words.extend(table.words);
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// The reverse of [`Self::serialize`].
    ///
    /// # Errors
    /// If the bytes are not a serialized type.
    pub fn deserialize(bytes: &[u8]) -> Result<Self, TypeError> {
        read(bytes).ok_or(TypeError::Serialized)
    }
}
