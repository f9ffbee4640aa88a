//! A buffer whose words are "covered by single bit correct, double bit detect ECC" (Chen et al., section
//! II.F: VCs, injection, reception and retransmission FIFOs), and which stops rather than let an error
//! propagate (section III.G: "upon detecting an uncorrectable bit error, each submodule will stop operating
//! to prevent the bit error from propagating").
//!
//! A word has 64 bits with 8 check bits, the width that the machine's public register descriptions suggest
//! (the back doors to the arrays have 16 bits of ECC for two words of 64: nd_x2_dcr.h). A soft error stays
//! until the word is read, and a second one may join it; words are not scrubbed before they are read
//! **(ours)**.

use super::hamming::{Read, read_word, word_check};
use std::collections::VecDeque;

/// Bits of a word with its check, any of which a soft error may flip.
pub const WORD_BITS: u32 = 72;

/// Why the buffer no longer accepts or returns words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped by an uncorrectable error in word {word} since the start")]
pub struct Stopped {
    /// Index of the word among all words ever written.
    pub word: u64,
}

/// A FIFO of 64-bit words.
#[derive(Clone, Debug, Default)]
pub struct ProtectedFifo {
    words: VecDeque<(u64, u8)>,
    read: u64,
    corrected: u64,
    uncorrectable: u64,
    stopped: Option<Stopped>,
}

impl ProtectedFifo {
    /// Writes a word.
    ///
    /// # Errors
    /// If the buffer is stopped.
    pub fn push(&mut self, word: u64) -> Result<(), Stopped> {
        self.stopped.map_or(Ok(()), Err)?;
        self.words.push_back((word, word_check(word)));
        Ok(())
    }

    /// Reads the oldest word, with one error corrected; `None` if the buffer is empty.
    ///
    /// # Errors
    /// If more than one bit of it is wrong: neither this word nor any later one is returned.
    pub fn pop(&mut self) -> Result<Option<u64>, Stopped> {
        self.stopped.map_or(Ok(()), Err)?;
        let Some(&(word, check)) = self.words.front() else { return Ok(None) };
        let word = match read_word(word, check) {
            Read::Intact(word) => word,
            Read::Corrected(word) => {
                self.corrected += 1;
                word
            }
            Read::Uncorrectable => {
                self.uncorrectable += 1;
                let stopped = Stopped { word: self.read };
                self.stopped = Some(stopped);
                return Err(stopped);
            }
        };
        self.words.pop_front();
        self.read += 1;
        Ok(Some(word))
    }

    /// Injects a soft error: flips a bit (below [`WORD_BITS`]; 64 and up are check bits) of the word that is
    /// `place` after the oldest.
    ///
    /// # Panics
    /// If there is no such bit.
    pub fn upset(&mut self, place: usize, bit: u32) {
        assert!(bit < WORD_BITS, "a word has {WORD_BITS} bits, so no bit {bit}");
        let (word, check) = &mut self.words[place];
        if bit < 64 { *word ^= 1 << bit } else { *check ^= 1 << (bit - 64) }
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Words that needed a corrected bit when they were read.
    pub fn corrected(&self) -> u64 {
        self.corrected
    }

    /// Uncorrectable words: none, or the one that stopped the buffer.
    pub fn uncorrectable(&self) -> u64 {
        self.uncorrectable
    }

    /// The error that stopped it, if any.
    pub fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(words: u64) -> ProtectedFifo {
        let mut fifo = ProtectedFifo::default();
        for i in 0..words {
            assert_eq!(fifo.push(content(i)), Ok(()));
        }
        fifo
    }

    fn content(i: u64) -> u64 {
        i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn every_single_upset_is_corrected_and_counted() {
        let mut fifo = full(WORD_BITS.into());
        for bit in 0..WORD_BITS {
            fifo.upset(bit as usize, bit);
        }
        for i in 0..WORD_BITS.into() {
            assert_eq!(fifo.pop(), Ok(Some(content(i))));
            assert_eq!(fifo.corrected(), i + 1);
        }
        assert_eq!((fifo.pop(), fifo.uncorrectable(), fifo.stopped()), (Ok(None), 0, None));
    }

    #[test]
    fn every_double_upset_stops_it_before_the_word_leaves() {
        for (a, b) in (0..WORD_BITS).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let mut fifo = full(4);
            // The second error comes later, to a word that was not read in between.
            fifo.upset(2, a);
            assert_eq!(fifo.pop(), Ok(Some(content(0))));
            fifo.upset(1, b);
            assert_eq!(fifo.pop(), Ok(Some(content(1))));
            let stopped = Stopped { word: 2 };
            for _ in 0..3 {
                // No word leaves any more: neither that word nor the good one behind it.
                assert_eq!(fifo.pop(), Err(stopped));
            }
            assert_eq!(fifo.push(7), Err(stopped));
            assert_eq!((fifo.corrected(), fifo.uncorrectable(), fifo.len()), (0, 1, 2));
            assert_eq!(fifo.stopped(), Some(stopped));
        }
    }
}
