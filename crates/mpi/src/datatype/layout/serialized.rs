//! Layouts as bytes, which one process sends to another: the tree of loops, in words of eight bytes.

use super::{Layout, Loop, Node};
use std::sync::Arc;

/// The first word of a run; that of a loop is 1 + the number of nodes of its body.
const RUN: u64 = 0;

fn put(words: &[u64], to: &mut Vec<u8>) {
    words.iter().for_each(|word| to.extend(word.to_le_bytes()));
}

fn encode(nodes: &[Node], to: &mut Vec<u8>) {
    for node in nodes {
        match node {
            Node::Run { at, bytes } => put(&[RUN, *at as u64, *bytes as u64], to),
            Node::Repeat { at, of } => {
                let words = [1 + of.body.len() as u64, *at as u64, of.count as u64, of.stride as u64];
                put(&words, to);
                encode(&of.body, to);
            }
        }
    }
}

/// Takes the next word.
fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}

/// Loops within one another that are decoded: the stack holds a call for each.
const DEPTH_MAX: u32 = 1000;

/// Offsets and lengths that are decoded: longer than memory, and the sum of those of all loops does not
/// overflow.
const OFFSET_MAX: usize = 1 << 50;

fn offset(of: isize) -> Option<isize> {
    (of.unsigned_abs() <= OFFSET_MAX).then_some(of)
}

/// Takes the next node; with the bytes of its data. None is empty, so no loop runs in vain.
fn decode(bytes: &mut &[u8], depth: u32) -> Option<(Node, usize)> {
    let (kind, at) = (word(bytes)?, offset(word(bytes)? as isize)?);
    if kind == RUN {
        let run = usize::try_from(word(bytes)?).ok().filter(|run| (1..=OFFSET_MAX).contains(run))?;
        return Some((Node::Run { at, bytes: run }, run));
    }
    let count = usize::try_from(word(bytes)?).ok().filter(|&count| count > 0 && depth < DEPTH_MAX)?;
    let stride = offset(word(bytes)? as isize)?;
    offset(stride.checked_mul(isize::try_from(count).ok()?)?)?;
    let (mut body, mut data) = (vec![], 0usize);
    for _ in 1..kind {
        let (node, more) = decode(bytes, depth + 1)?;
        body.push(node);
        data = data.checked_add(more)?;
    }
    let data = data.checked_mul(count).filter(|&data| data > 0)?;
    let of = Arc::new(Loop { count, stride, body: Arc::new(body) });
    Some((Node::Repeat { at, of }, data))
}

impl Layout {
    /// Adds it to bytes.
    pub fn encode(&self, to: &mut Vec<u8>) {
        self.with_nodes(|nodes| encode(nodes, to));
    }

    /// The reverse of [`Self::encode`]; `None` if the bytes are no layout.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let (mut nodes, mut data) = (vec![], 0usize);
        while !bytes.is_empty() {
            let (node, more) = decode(&mut bytes, 0)?;
            nodes.push(node);
            data = data.checked_add(more)?;
        }
        // Memory has no more.
        isize::try_from(data).ok()?;
        Some(Layout::of_nodes(nodes, data))
    }
}
