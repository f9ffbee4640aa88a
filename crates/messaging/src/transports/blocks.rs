//! Registered memory through which eager messages go that are too long for a short message: a sender copies a
//! part of a message into an idle sending block and announces it; the receiver gets it into an idle receiving
//! block, and copies it from there. So do MPICH2-GLEX2's shared channel (Pang et al., section 4.2) and Cray
//! MPI's "pre-allocated system buffers" (Alverson et al., *Cray XC Network Software Stack*).

use crate::transport::Envelope;
use std::collections::{BTreeMap, VecDeque};

/// A part of a message that has been announced: by whom, of which message, its length in bytes, and the block
/// there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announced {
    pub from: u32,
    pub envelope: Envelope,
    pub part: u16,
    pub block: u32,
}

/// A rank's blocks.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Idle sending blocks, and ranks for which one is needed, in order.
    sending: Vec<u32>,
    pub needed_for: VecDeque<u32>,
    /// Idle receiving blocks, what the others receive, and announced parts that need one.
    receiving: Vec<u32>,
    coming: Vec<Option<Announced>>,
    announced: VecDeque<Announced>,
    count: u32,
}

impl Blocks {
    /// This number for sending, and as many for receiving.
    pub fn new(count: u32) -> Self {
        Blocks {
            sending: (0..count).rev().collect(),
            needed_for: VecDeque::new(),
            receiving: (0..count).rev().collect(),
            coming: vec![None; count as usize],
            announced: VecDeque::new(),
            count,
        }
    }

    /// Takes an idle sending block.
    pub fn take(&mut self) -> Option<u32> {
        self.sending.pop()
    }

    /// The receiver has read a sending block.
    pub fn was_read(&mut self, block: u32) {
        self.sending.push(block);
    }

    /// Idle sending blocks.
    pub fn idle(&self) -> usize {
        self.sending.len()
    }

    /// Whether all sending blocks have been read.
    pub fn are_read(&self) -> bool {
        self.sending.len() == self.count as usize
    }

    /// A part has been announced.
    pub fn announce(&mut self, announced: Announced) {
        self.announced.push_back(announced);
    }

    /// The next part to be got, and the receiving block for it.
    pub fn next(&mut self) -> Option<(Announced, u32)> {
        let announced = *self.announced.front()?;
        let block = self.receiving.pop()?;
        self.announced.pop_front();
        self.coming[block as usize] = Some(announced);
        Some((announced, block))
    }

    /// The part in a receiving block has arrived, and been copied.
    pub fn arrived(&mut self, block: u32) -> Option<Announced> {
        let announced = self.coming.get_mut(block as usize)?.take()?;
        self.receiving.push(block);
        Some(announced)
    }
}

/// Messages of another rank that come in parts: the data that is missing of each, by sequence, bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts(BTreeMap<u32, u64>);

impl Parts {
    /// A part of a message with this much data has arrived. Returns whether the message is complete.
    pub fn has_all(&mut self, sequence: u32, part: u64, bytes: u64) -> bool {
        if part == bytes {
            return true;
        }
        let missing = self.0.entry(sequence).or_insert(bytes);
        *missing = missing.saturating_sub(part);
        let has_all = *missing == 0;
        if has_all {
            self.0.remove(&sequence);
        }
        has_all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_by_message() {
        let mut parts = Parts::default();
        assert!(!parts.has_all(3, 60, 100));
        assert!(parts.has_all(4, 10, 10));
        assert!(!parts.has_all(5, 10, 100));
        assert!(parts.has_all(3, 40, 100));
        assert!(parts.has_all(5, 90, 100));
        assert!(parts.0.is_empty());
    }
}
