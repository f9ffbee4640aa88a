//! The serialized form of a type: words with a version and a checksum. Types that are shared stand there
//! once.

use super::{Block, DEPTH_MAX, Run, Type};
use crate::pami::Map;
use std::sync::Arc;

/// First words of the serialized form: a mark, and the version of the format.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"NL-PTYPE");
pub(super) const VERSION: u64 = 1;
/// Words of the serialized form: before the types, per type, per run.
const START_WORDS: usize = 4;
const TYPE_WORDS: usize = 4;
const RUN_WORDS: usize = 5;

/// Types in the order of their serialized form: each follows those that it contains.
#[derive(Default)]
pub(super) struct Table {
    pub(super) words: Vec<u64>,
    pub(super) types: u64,
    indices: Map<*const Type, u64>,
}

impl Table {
    /// Adds a type unless it is there; returns its index.
    pub(super) fn add(&mut self, kind: &Type) -> u64 {
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

pub(super) fn checksum(words: &[u64]) -> u64 {
    let step = |sum: u64, word: &u64| (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    words.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The last type of a serialized form.
pub(super) fn read(bytes: &[u8]) -> Option<Type> {
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
