//! The contiguous pieces of a type, and of two types side by side.

use super::{Block, Piece, Run, Type};
use std::iter::FusedIterator;

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
    pub(super) fn new(root: &'a Type, from: u64, bytes: u64) -> Self {
        let mut pieces = Pieces { root, copy: 0, stack: vec![], skip: 0, left: bytes, next: None };
        if root.bytes == 0 {
            pieces.left = 0;
        } else if bytes > 0 {
            pieces.seek(from);
            pieces.next = pieces.block();
        }
        pieces
    }

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
