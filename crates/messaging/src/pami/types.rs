//! Types: layouts of data in memory. A type is a list of runs; a run is a block that repeats at a stride, and
//! a block is contiguous bytes or another type. Memory grows with the calls that build a type, not with
//! counts.
//!
//! Offsets in memory are signed and relative to the address of a buffer. Offsets of data count bytes of data
//! without gaps. In use, a type repeats without end at steps of its extent, so an offset of data has no
//! limit.

use std::collections::HashMap;
use std::iter::FusedIterator;
use std::sync::Arc;

/// Types within types, at most: dropping and serializing recurse.
const DEPTH_MAX: u32 = 512;
/// A type of at most this many runs is copied into the type that contains it once.
const INLINE_MAX: usize = 8;

/// First words of the serialized form: a mark, and the version of the format.
const MAGIC: u64 = u64::from_le_bytes(*b"NL-PTYPE");
const VERSION: u64 = 1;
/// Words of the serialized form: before the types, per type, per run.
const START_WORDS: usize = 4;
const TYPE_WORDS: usize = 4;
const RUN_WORDS: usize = 5;

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
        let mut pieces = Pieces { root: self, copy: 0, stack: vec![], skip: 0, left: bytes, next: None };
        if self.bytes == 0 {
            pieces.left = 0;
        } else if bytes > 0 {
            pieces.seek(from);
            pieces.next = pieces.block();
        }
        pieces
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

/// The position in one type of an iteration.
#[derive(Clone, Copy, Debug)]
struct Frame<'a> {
    runs: &'a [Run],
    /// Offset in memory of this copy.
    base: i64,
    run: usize,
    index: u64,
}

/// Iterator over contiguous pieces of a type.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    root: &'a Type,
    /// Copies of the type that have begun.
    copy: u64,
    stack: Vec<Frame<'a>>,
    /// Data of the next block that is not wanted, bytes.
    skip: u64,
    left: u64,
    /// The piece that may grow.
    next: Option<Piece>,
}

impl<'a> Pieces<'a> {
    fn begin_copy(&mut self) {
        let base = (self.copy as i64).wrapping_mul(self.root.extent);
        self.copy += 1;
        self.stack.push(Frame { runs: &self.root.runs, base, run: 0, index: 0 });
    }

    /// Moves to an offset of data.
    fn seek(&mut self, from: u64) {
        self.copy = from / self.root.bytes;
        let mut rest = from % self.root.bytes;
        self.begin_copy();
        while let Some(frame) = self.stack.last_mut() {
            frame.run = frame.runs.partition_point(|run| run.data_from <= rest) - 1;
            let run = &frame.runs[frame.run];
            rest -= run.data_from;
            frame.index = rest / run.block.bytes();
            rest %= run.block.bytes();
            match &run.block {
                Block::Bytes(_) => break,
                Block::Typed(subtype) => {
                    let base = frame.base.wrapping_add(run.offset(frame.index));
                    frame.index += 1;
                    self.stack.push(Frame { runs: &subtype.runs, base, run: 0, index: 0 });
                }
            }
        }
        self.skip = rest;
    }

    /// The next block of bytes.
    #[inline]
    fn block(&mut self) -> Option<Piece> {
        if self.left == 0 {
            return None;
        }
        // The whole type is contiguous: there is no need to step through its copies.
        if let [Run { start, block: Block::Bytes(bytes), count: 1, .. }] = &self.root.runs[..]
            && i64::try_from(*bytes) == Ok(self.root.extent)
        {
            let base = (self.copy as i64 - 1).wrapping_mul(self.root.extent);
            let offset = base.wrapping_add(*start).wrapping_add(self.skip as i64);
            return Some(Piece { offset, bytes: std::mem::take(&mut self.left) });
        }
        loop {
            let Some(frame) = self.stack.last_mut() else {
                self.begin_copy();
                continue;
            };
            let Some(run) = frame.runs.get(frame.run) else {
                self.stack.pop();
                continue;
            };
            if frame.index == run.count {
                (frame.run, frame.index) = (frame.run + 1, 0);
                continue;
            }
            let offset = frame.base.wrapping_add(run.offset(frame.index));
            frame.index += 1;
            match &run.block {
                Block::Typed(subtype) => {
                    self.stack.push(Frame { runs: &subtype.runs, base: offset, run: 0, index: 0 });
                }
                Block::Bytes(bytes) => {
                    let skip = std::mem::take(&mut self.skip);
                    let bytes = (bytes - skip).min(self.left);
                    self.left -= bytes;
                    return Some(Piece { offset: offset.wrapping_add(skip as i64), bytes });
                }
            }
        }
    }
}

impl Run {
    #[inline]
    fn offset(&self, index: u64) -> i64 {
        self.start.wrapping_add((index as i64).wrapping_mul(self.stride))
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    #[inline]
    fn next(&mut self) -> Option<Piece> {
        let mut piece = self.next.take()?;
        while let Some(block) = self.block() {
            if piece.offset.wrapping_add(piece.bytes as i64) != block.offset {
                self.next = Some(block);
                break;
            }
            piece.bytes += block.bytes;
        }
        Some(piece)
    }
}

impl FusedIterator for Pieces<'_> {}

/// Contiguous data in two layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Its offset in the memory of the source.
    pub source: i64,
    /// Its offset in the memory of the target.
    pub target: i64,
    /// Its length, bytes.
    pub bytes: u64,
}

/// Iterator over the pieces that are contiguous in two layouts.
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    pieces: [Pieces<'a>; 2],
    current: [Piece; 2],
}

/// The copies that move data from one layout to another, in the order of the data. They end with the shorter
/// of the two.
pub fn pairs<'a>(source: Pieces<'a>, target: Pieces<'a>) -> Pairs<'a> {
    Pairs { pieces: [source, target], current: [Piece { offset: 0, bytes: 0 }; 2] }
}

impl Iterator for Pairs<'_> {
    type Item = Pair;

    #[inline]
    fn next(&mut self) -> Option<Pair> {
        for (current, pieces) in self.current.iter_mut().zip(&mut self.pieces) {
            if current.bytes == 0 {
                *current = pieces.next()?;
            }
        }
        let bytes = self.current[0].bytes.min(self.current[1].bytes);
        let pair = Pair { source: self.current[0].offset, target: self.current[1].offset, bytes };
        for current in &mut self.current {
            current.offset = current.offset.wrapping_add(bytes as i64);
            current.bytes -= bytes;
        }
        Some(pair)
    }
}

impl FusedIterator for Pairs<'_> {}

/// Types in the order of their serialized form: each follows those that it contains.
#[derive(Default)]
struct Table {
    words: Vec<u64>,
    types: u64,
    indices: HashMap<*const Type, u64>,
}

impl Table {
    /// Adds a type unless it is there; returns its index.
    fn add(&mut self, kind: &Type) -> u64 {
        if let Some(&index) = self.indices.get(&std::ptr::from_ref(kind)) {
            return index;
        }
        let mut words = vec![kind.extent as u64, kind.atom, kind.divisor, kind.runs.len() as u64];
        for run in &kind.runs {
            let block = match &run.block {
                Block::Bytes(bytes) => [0, *bytes],
                Block::Typed(subtype) => [1, self.add(subtype)],
            };
            words.extend(block.into_iter().chain([run.start as u64, run.count, run.stride as u64]));
        }
        self.words.extend(words);
        self.types += 1;
        self.indices.insert(kind, self.types - 1);
        self.types - 1
    }
}

fn checksum(words: &[u64]) -> u64 {
    let step = |sum: u64, word: &u64| (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    words.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The last type of a serialized form.
fn read(bytes: &[u8]) -> Option<Type> {
    let (words, []) = bytes.as_chunks::<8>() else { return None };
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (&[magic, version, sum, types], mut rest) = words.split_first_chunk::<START_WORDS>()?;
    if [magic, version, sum] != [MAGIC, VERSION, checksum(rest)] {
        return None;
    }
    let mut table: Vec<Arc<Type>> = vec![];
    for _ in 0..types {
        let (&[extent, atom, divisor, count], after) = rest.split_first_chunk::<TYPE_WORDS>()?;
        let count = usize::try_from(count).ok()?;
        let (runs, after) = after.split_at_checked(count.checked_mul(RUN_WORDS)?)?;
        rest = after;
        let mut kind = Type { runs: vec![], bytes: 0, extent: extent as i64, atom, divisor, depth: 0 };
        for run in runs.as_chunks::<RUN_WORDS>().0 {
            kind.runs.push(read_run(*run, &table, &mut kind.bytes, &mut kind.depth)?);
        }
        if atom == 0 || !divisor.is_multiple_of(atom) || !kind.bytes.is_multiple_of(divisor.max(1)) {
            return None;
        }
        table.push(Arc::new(kind));
    }
    let last = table.pop().filter(|_| rest.is_empty())?;
    Some(Arc::unwrap_or_clone(last))
}

fn read_run(words: [u64; RUN_WORDS], table: &[Arc<Type>], bytes: &mut u64, depth: &mut u32) -> Option<Run> {
    let [tag, value, start, count, stride] = words;
    let block = match tag {
        0 => Block::Bytes(value),
        1 => Block::Typed(Arc::clone(table.get(usize::try_from(value).ok()?)?)),
        _ => return None,
    };
    if let Block::Typed(subtype) = &block {
        *depth = (*depth).max(subtype.depth + 1);
    }
    let data_from = *bytes;
    let data = block.bytes().checked_mul(count).filter(|&data| data > 0 && *depth < DEPTH_MAX)?;
    *bytes = bytes.checked_add(data)?;
    Some(Run { start: start as i64, block, count, stride: stride as i64, data_from })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A plain description of a type, and its expansion into the offset of each byte.
    #[derive(Clone, Debug)]
    struct Plan(Vec<(Part, i64, u64, i64)>);

    #[derive(Clone, Debug)]
    enum Part {
        Bytes(u64),
        Typed(Plan),
    }

    impl Plan {
        fn build(&self, atom: u64) -> Type {
            let mut builder = TypeBuilder::default();
            for (part, offset, count, stride) in &self.0 {
                match part {
                    Part::Bytes(bytes) => builder.add_simple(*bytes, *offset, *count, *stride),
                    Part::Typed(plan) => {
                        builder.add_typed(&Arc::new(plan.build(1)), *offset, *count, *stride)
                    }
                }
                .unwrap();
            }
            builder.complete(atom).unwrap()
        }

        /// Offsets of all bytes of data, and the extent.
        fn expand(&self) -> (Vec<i64>, i64) {
            let (mut offsets, mut cursor) = (vec![], 0);
            for (part, offset, count, stride) in &self.0 {
                cursor += offset;
                let inner = match part {
                    Part::Bytes(bytes) => (0..*bytes as i64).collect(),
                    Part::Typed(plan) => plan.expand().0,
                };
                for _ in 0..*count {
                    offsets.extend(inner.iter().map(|at| cursor + at));
                    cursor += stride;
                }
            }
            (offsets, cursor)
        }
    }

    fn plans() -> impl Strategy<Value = Plan> {
        let part = (0u64..9).prop_map(Part::Bytes);
        let item = |part| (part, -20i64..20, 0u64..4, -12i64..30);
        let leaf = prop::collection::vec(item(part.boxed()), 0..4).prop_map(Plan);
        leaf.prop_recursive(3, 12, 4, move |inner| {
            let part = prop_oneof![(0u64..9).prop_map(Part::Bytes), inner.prop_map(Part::Typed)];
            prop::collection::vec(item(part.boxed()), 0..4).prop_map(Plan)
        })
    }

    fn bytes_of(pieces: impl Iterator<Item = Piece>) -> Vec<i64> {
        pieces.flat_map(|piece| (0..piece.bytes as i64).map(move |n| piece.offset + n)).collect()
    }

    /// Offsets of bytes of data, from the expansion.
    fn naive((offsets, extent): &(Vec<i64>, i64), from: u64, bytes: u64) -> Vec<i64> {
        let one = offsets.len() as u64;
        let at = |n: u64| offsets[(n % one) as usize] + (n / one) as i64 * extent;
        (from..from + bytes).map(at).collect()
    }

    proptest! {
        #[test]
        fn pieces_are_those_of_the_expansion(plan in plans(), from in 0u64..400, bytes in 0u64..400) {
            let (kind, expanded) = (plan.build(1), plan.expand());
            prop_assert_eq!(kind.data_bytes(), expanded.0.len() as u64);
            prop_assert_eq!(kind.extent(), expanded.1);
            let pieces: Vec<Piece> = kind.pieces(from, bytes).collect();
            prop_assert!(pieces.iter().all(|piece| piece.bytes > 0));
            prop_assert!(pieces.windows(2).all(|two| two[0].offset + two[0].bytes as i64 != two[1].offset));
            if kind.data_bytes() > 0 {
                prop_assert_eq!(bytes_of(pieces.into_iter()), naive(&expanded, from, bytes));
            } else {
                prop_assert_eq!(pieces, vec![]);
            }
        }

        #[test]
        fn pairs_move_each_byte(a in plans(), b in plans(), from in [0u64..100, 0u64..100], bytes in 0u64..300) {
            let [source, target] = [a.build(1), b.build(1)];
            prop_assume!(source.data_bytes() > 0 && target.data_bytes() > 0);
            let [a, b] = [naive(&a.expand(), from[0], bytes), naive(&b.expand(), from[1], bytes)];
            let moved: Vec<(i64, i64)> = pairs(source.pieces(from[0], bytes), target.pieces(from[1], bytes))
                .flat_map(|p| (0..p.bytes as i64).map(move |n| (p.source + n, p.target + n)))
                .collect();
            prop_assert_eq!(moved, a.into_iter().zip(b).collect::<Vec<_>>());
        }

        #[test]
        fn types_survive_serialization(plan in plans(), from in 0u64..100, bytes in 0u64..300) {
            let kind = plan.build(1);
            let read = Type::deserialize(&kind.serialize()).unwrap();
            prop_assert_eq!([read.bytes, read.extent as u64, read.atom], [kind.bytes, kind.extent as u64, 1]);
            prop_assert!(read.pieces(from, bytes).eq(kind.pieces(from, bytes)));
            prop_assert_eq!(read.serialize(), kind.serialize());
        }

        #[test]
        fn damaged_bytes_are_refused(plan in plans(), at: prop::sample::Index, bit in 0u8..8, cut: prop::sample::Index) {
            let mut bytes = plan.build(1).serialize();
            prop_assert!(Type::deserialize(&bytes[..cut.index(bytes.len())]).is_err());
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(Type::deserialize(&bytes).is_err());
        }

        #[test]
        fn garbage_with_a_valid_checksum_does_not_panic(types in 0u64..4, words in prop::collection::vec(0u64..4, 0..40)) {
            let start = [MAGIC, VERSION, checksum(&words), types];
            let bytes: Vec<u8> = start.into_iter().chain(words).flat_map(u64::to_le_bytes).collect();
            if let Ok(kind) = Type::deserialize(&bytes) {
                kind.pieces(3, 50).for_each(drop);
            }
        }
    }

    fn built(add: impl FnOnce(&mut TypeBuilder)) -> Arc<Type> {
        let mut builder = TypeBuilder::default();
        add(&mut builder);
        Arc::new(builder.complete(1).unwrap())
    }

    #[test]
    fn memory_does_not_grow_with_counts() {
        let columns = built(|t| t.add_simple(8, 0, 1 << 40, 64).unwrap());
        let planes = built(|t| t.add_typed(&columns, 0, 1 << 10, 16).unwrap());
        assert_eq!(planes.data_bytes(), 1 << 53);
        assert_eq!([columns.runs.len(), planes.runs.len()], [1, 1]);
        let far = (1 << 53) + (1 << 43) + 8 + 3;
        let first = planes.pieces(far, 100).next().unwrap();
        assert_eq!(first, Piece { offset: 16 * 1024 + 16 + 64 + 3, bytes: 5 });
        // Blocks that are added one by one, at equal distances.
        let steps = built(|t| (0..1000).for_each(|_| t.add_simple(8, 0, 1, 64).unwrap()));
        assert_eq!(steps.runs.len(), 1);
        assert_eq!(steps.pieces(8 * 999, 16).last(), Some(Piece { offset: 64_000, bytes: 8 }));
    }

    #[test]
    fn contiguous_data_is_one_piece() {
        let many = built(|t| t.add_simple(4, 0, 1 << 20, 4).unwrap());
        assert_eq!(many.contiguous_part(6, 1 << 40), Some(6));
        assert_eq!(Type::contiguous(8).contiguous_part(1 << 33, 1 << 33), Some(1 << 33));
        let padded = built(|t| t.add_simple(12, 4, 1, 16).unwrap());
        assert_eq!(padded.contiguous_part(20 + 14, 8), None);
        assert_eq!(padded.contiguous_part(14, 8), Some(26));
        assert_eq!(padded.contiguous_part(3, 0), Some(0));
        // Four times as a subtype, its copies adjoining.
        let wrapped = built(|t| t.add_typed(&many, 0, 4, 4 << 20).unwrap());
        assert_eq!((wrapped.runs.len(), wrapped.contiguous_part(0, 1 << 50)), (1, Some(0)));
    }

    #[test]
    fn an_atom_divides_all_blocks() {
        let mut builder = TypeBuilder::default();
        assert_eq!(builder.complete(0).unwrap_err(), TypeError::Atom(0));
        assert!(builder.complete(16).is_ok());
        // Adjoining blocks count one by one.
        builder.add_simple(12, 0, 1, 12).unwrap();
        builder.add_simple(20, 0, 1, 20).unwrap();
        assert_eq!(builder.complete(8).unwrap_err(), TypeError::Atom(8));
        assert_eq!(builder.complete(4).unwrap().atom_bytes(), 4);
        // Blocks without data do not count.
        builder.add_simple(3, 0, 0, 0).unwrap();
        assert!(builder.complete(4).is_ok());
    }

    #[test]
    fn sizes_do_not_overflow() {
        let mut builder = TypeBuilder::default();
        assert_eq!(builder.add_simple(1 << 40, 0, 1 << 40, 0), Err(TypeError::Overflow));
        assert_eq!(builder.add_simple(1, i64::MAX, 2, 1), Err(TypeError::Overflow));
        assert_eq!(builder.complete(1).unwrap().data_bytes(), 0);
    }

    #[test]
    fn types_are_nested_up_to_a_limit_and_shared() {
        // Each contains the one before twice, at distances that do not make it one loop.
        let mut kind = built(|t| t.add_simple(1, 0, 2, 3).unwrap());
        let mut error = None;
        for n in 0..2 * DEPTH_MAX {
            let mut builder = TypeBuilder::default();
            if n < 40 {
                builder.add_typed(&kind, 0, 2, 5).unwrap();
            } else if let Err(reason) = builder.add_typed(&kind, 0, 1, 5).and_then(|()| {
                builder.add_simple(1, 1, 3, 7)?;
                (0..INLINE_MAX).try_for_each(|n| builder.add_simple(1 + n as u64, 11, 2, 100))
            }) {
                error = Some(reason);
                break;
            }
            kind = Arc::new(builder.complete(1).unwrap());
        }
        assert_eq!(error, Some(TypeError::Depth));
        let bytes = kind.serialize();
        assert!(bytes.len() < 1 << 20, "{}", bytes.len());
        assert_eq!(Type::deserialize(&bytes).unwrap().data_bytes(), kind.data_bytes());
    }
}
