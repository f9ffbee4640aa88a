//! An optical link: four data fibres and a spare one that carries their parity (Chen et al., section II.G).
//!
//! The paper: "The parity of several data lanes is also encoded and sent over a spare fiber. If a single bit
//! error occurs on a fiber an invalid symbol is detected upon reception. If one and only one single bit error
//! occurs over the parallel 8 bit words, the parity can be used to correct it. Error counters on the link
//! chip can detect when fibers are going bad; the bad fiber can be replaced by a spare."
//!
//! - The link chip counts the errors of five lanes per link (the machine's public driver, bql_tdr.h:
//!   `SBE_CNT_SW0_LANE0` to `LANE4`), so four carry data and one parity (inferred); the network also sends
//!   four bytes per cycle (section II.A).
//! - **(ours)** Byte `i` is sent over lane `i % 4`; the parity is the exclusive or of the four bytes.
//! - **(ours)** A byte with an invalid symbol that cannot be corrected is passed on as 0: a burst of up to 8
//!   bits, which the packet's check symbols must detect. They must also detect two errors that turn one
//!   symbol into another valid one: the parity shows that one of the four bytes is wrong, but not which.
//! - **(ours)** A symbol of the wrong disparity is counted and its byte accepted: an earlier symbol may be
//!   the wrong one.
//! - The spare that carries parity is also the one that replaces a bad fibre; from then on there is no
//!   parity. (The link chip's registers suggest two more spares for two links, bql_tdr.h: `SPARE_CNTL`,
//!   fibres 10 and 11 of 12. They are not modelled.)
//! - **(ours)** Software replaces a fibre, at both ends and between two words. Word boundaries are assumed to
//!   be known, and so are frame boundaries.

use super::eight_ten::{COMMA, Character, Disparity, SymbolError, with_parity};

/// Fibres that carry data.
pub const LANES: usize = 4;
/// All fibres, including the spare, which is the last.
pub const FIBRES: usize = LANES + 1;
/// The spare fibre.
pub const SPARE: usize = LANES;

/// One symbol of ten bits on each fibre at the same time.
pub type Word = [u16; FIBRES];

/// Why a fibre cannot be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSpare {
    /// The spare already replaces another fibre.
    #[error("the spare already replaces fibre {0}")]
    Used(usize),
    /// It is the spare, or not a fibre of the link.
    #[error("fibre {0} carries no data")]
    NotData(usize),
}

/// Replaces a lane's fibre with the spare.
fn replace(replaced: &mut Option<usize>, fibre: usize) -> Result<(), NoSpare> {
    match *replaced {
        _ if fibre >= LANES => Err(NoSpare::NotData(fibre)),
        Some(other) => Err(NoSpare::Used(other)),
        None => {
            *replaced = Some(fibre);
            Ok(())
        }
    }
}

/// The sending end.
#[derive(Clone, Debug, Default)]
pub struct Transmitter {
    disparity: [Disparity; FIBRES],
    replaced: Option<usize>,
}

impl Transmitter {
    /// Encodes bytes as words for the fibres.
    ///
    /// # Panics
    /// If the number of bytes is not a multiple of four, as that of all packets is.
    pub fn send(&mut self, bytes: &[u8]) -> Vec<Word> {
        let (words, []) = bytes.as_chunks::<LANES>() else {
            panic!("{} B are not a whole number of words", bytes.len())
        };
        words.iter().map(|word| self.word(*word)).collect()
    }

    fn word(&mut self, bytes: [u8; LANES]) -> Word {
        let parity = bytes.iter().fold(0, |sum, byte| sum ^ byte);
        let mut characters = [Character::Data(parity); FIBRES];
        for (character, byte) in characters.iter_mut().zip(bytes) {
            *character = Character::Data(byte);
        }
        if let Some(bad) = self.replaced {
            // The bad fibre may carry anything.
            (characters[SPARE], characters[bad]) = (characters[bad], COMMA);
        }
        let mut fibres = characters.into_iter().zip(&mut self.disparity);
        std::array::from_fn(|_| {
            fibres.next().map(|(c, d)| with_parity().encode(c, d)).expect("one per fibre")
        })
    }

    /// Lets the spare carry this fibre's data from now on.
    ///
    /// # Errors
    /// If no spare is available.
    pub fn replace(&mut self, fibre: usize) -> Result<(), NoSpare> {
        replace(&mut self.replaced, fibre)
    }
}

/// Error counters of a receiving end, in symbols or words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Invalid symbols on each fibre.
    pub invalid: [u64; FIBRES],
    /// Symbols of the wrong disparity on each fibre.
    pub disparity: [u64; FIBRES],
    /// Bytes corrected on each fibre; on the spare always 0.
    pub corrected: [u64; FIBRES],
    /// Words with invalid symbols that could not be corrected: two fibres failed, or there was no parity.
    pub uncorrectable: u64,
    /// Words with valid symbols but wrong parity.
    pub mismatched: u64,
}

/// The receiving end.
#[derive(Clone, Debug)]
pub struct Receiver {
    disparity: [Option<Disparity>; FIBRES],
    replaced: Option<usize>,
    threshold: u64,
    counters: Counters,
}

impl Receiver {
    /// An end that considers a fibre bad after this number of invalid symbols.
    pub fn new(threshold: u64) -> Self {
        Receiver {
            disparity: [Some(Disparity::default()); FIBRES],
            replaced: None,
            threshold,
            counters: Counters::default(),
        }
    }

    /// Decodes words to bytes, with errors corrected where possible.
    pub fn receive(&mut self, words: &[Word]) -> Vec<u8> {
        words.iter().flat_map(|word| self.word(word)).collect()
    }

    /// A fibre's byte; `None` if its symbol is invalid.
    fn byte(&mut self, fibre: usize, symbol: u16) -> Option<u8> {
        match with_parity().decode(symbol, &mut self.disparity[fibre]) {
            Ok(Character::Data(byte)) => Some(byte),
            Err(SymbolError::Disparity { character: Character::Data(byte), .. }) => {
                self.counters.disparity[fibre] += 1;
                Some(byte)
            }
            // Only data is sent here.
            Ok(Character::Control(_)) | Err(_) => {
                self.counters.invalid[fibre] += 1;
                None
            }
        }
    }

    fn word(&mut self, word: &Word) -> [u8; LANES] {
        // The fibre of each lane, then the one with the parity, if any.
        let carrier = |lane| if Some(lane) == self.replaced { SPARE } else { lane };
        let carriers: [usize; LANES] = std::array::from_fn(carrier);
        let found = carriers.map(|fibre| self.byte(fibre, word[fibre]));
        let parity = if self.replaced.is_none() { self.byte(SPARE, word[SPARE]) } else { None };
        let sum = found.iter().flatten().fold(0, |sum, byte| sum ^ byte);
        let mut bytes = found.map(Option::unwrap_or_default);
        let mut lost = (0..LANES).filter(|&lane| found[lane].is_none());
        match (lost.next(), lost.next(), parity) {
            (None, _, Some(parity)) => self.counters.mismatched += u64::from(parity != sum),
            (None, _, None) => {}
            (Some(lane), None, Some(parity)) => {
                bytes[lane] = parity ^ sum;
                self.counters.corrected[lane] += 1;
            }
            _ => self.counters.uncorrectable += 1,
        }
        bytes
    }

    /// The error counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The fibre in use with the most invalid symbols, if they exceed the threshold.
    pub fn bad_fibre(&self) -> Option<usize> {
        let used = (0..FIBRES).filter(|&fibre| Some(fibre) != self.replaced);
        let worst = used.max_by_key(|&fibre| self.counters.invalid[fibre])?;
        (self.counters.invalid[worst] > self.threshold).then_some(worst)
    }

    /// Reads this fibre's data from the spare from now on.
    ///
    /// # Errors
    /// If no spare is available.
    pub fn replace(&mut self, fibre: usize) -> Result<(), NoSpare> {
        replace(&mut self.replaced, fibre)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::reed_solomon::{ReedSolomon, symbols};
    use proptest::prelude::*;

    const WORDS: usize = 138;

    fn packet(seed: u64) -> Vec<u8> {
        let mut word = seed | 1;
        let step = |_| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (word >> 40) as u8
        };
        (0..WORDS * LANES).map(step).collect()
    }

    /// Bursts, and whether a packet's five symbols are certain to detect them, which they are if these touch
    /// at most five.
    fn seen_by_symbols(sent: &[u8], received: &[u8]) -> (usize, bool) {
        let error: Vec<u8> = sent.iter().zip(received).map(|(a, b)| a ^ b).collect();
        (symbols(&error).filter(|&s| s != 0).count(), !ReedSolomon::<5>::new(0).intact(symbols(&error)))
    }

    #[test]
    fn every_single_error_is_corrected_and_counted_where_it_was() {
        let bytes = packet(3);
        for fibre in 0..FIBRES {
            for bit in 0..10 {
                let (mut out, mut into) = (Transmitter::default(), Receiver::new(10));
                let mut words = out.send(&bytes);
                words[57][fibre] ^= 1 << bit;
                assert_eq!(into.receive(&words), bytes);
                let mut expected = Counters::default();
                expected.invalid[fibre] = 1;
                expected.corrected[fibre] = u64::from(fibre != SPARE);
                assert_eq!(into.counters(), expected);
            }
        }
    }

    #[test]
    fn two_fibres_in_a_word_make_a_burst_that_the_symbols_see() {
        let bytes = packet(4);
        let mut bursts = 0;
        for (a, b) in (0..LANES).flat_map(|a| (0..a).map(move |b| (a, b))) {
            for word in 0..WORDS {
                let (mut out, mut into) = (Transmitter::default(), Receiver::new(10));
                let mut words = out.send(&bytes);
                words[word][a] ^= 1 << (word % 10);
                words[word][b] ^= 1 << (word % 7);
                let received = into.receive(&words);
                let counters = into.counters();
                assert_eq!((counters.uncorrectable, counters.corrected), (1, [0; FIBRES]));
                let wrong: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i] != received[i]).collect();
                assert!(wrong.iter().all(|&i| i / LANES == word && (i % LANES == a || i % LANES == b)));
                let (touched, seen) = seen_by_symbols(&bytes, &received);
                assert!(touched <= 4);
                assert!(seen || wrong.is_empty());
                bursts += usize::from(!wrong.is_empty());
            }
        }
        // Passing on a byte that was 0 as 0 does no harm.
        assert!(bursts > 6 * WORDS * 9 / 10);
    }

    #[test]
    fn two_errors_in_a_symbol_are_seen_by_the_parity_and_by_the_symbols() {
        let bytes = packet(5);
        let (mut mismatched, mut invalid) = (0, 0);
        for pair in (0..10).flat_map(|i| (0..i).map(move |j| 1u16 << i | 1 << j)) {
            for word in 0..WORDS {
                let (mut out, mut into) = (Transmitter::default(), Receiver::new(10));
                let mut words = out.send(&bytes);
                words[word][word % LANES] ^= pair;
                let received = into.receive(&words);
                let counters = into.counters();
                mismatched += counters.mismatched;
                invalid += counters.invalid.iter().sum::<u64>();
                // Either the symbol is invalid and corrected, or it is valid and a byte is wrong.
                assert_eq!(counters.mismatched == 1, received != bytes);
                assert_eq!(counters.mismatched + counters.invalid.iter().sum::<u64>(), 1);
                assert_eq!(seen_by_symbols(&bytes, &received).1, received != bytes);
            }
        }
        assert!(mismatched > 100 && invalid > 100, "{mismatched} and {invalid}");
    }

    #[test]
    fn a_whole_word_of_errors_touches_no_more_than_five_symbols() {
        let bytes = packet(6);
        for word in 0..WORDS {
            let (mut out, mut into) = (Transmitter::default(), Receiver::new(10));
            let mut words = out.send(&bytes);
            for symbol in &mut words[word] {
                *symbol ^= 1 << (word % 10);
            }
            let received = into.receive(&words);
            let (touched, seen) = seen_by_symbols(&bytes, &received);
            assert!((1..=5).contains(&touched) && seen);
        }
    }

    #[test]
    fn a_bad_fibre_is_replaced_by_the_spare() {
        for bad in 0..LANES {
            let (mut out, mut into) = (Transmitter::default(), Receiver::new(20));
            let mut sent = 0;
            // From here on every symbol of the fibre is wrong; all are corrected while the counter rises.
            while into.bad_fibre().is_none() {
                let bytes = &packet(sent)[..LANES];
                let mut words = out.send(bytes);
                words[0][bad] ^= 1 << (sent % 10);
                assert_eq!(into.receive(&words), bytes);
                sent += 1;
            }
            assert_eq!((sent, into.bad_fibre()), (21, Some(bad)));
            assert_eq!((out.replace(bad), into.replace(bad)), (Ok(()), Ok(())));
            // A dark fibre has no effect.
            let bytes = packet(99);
            let mut words = out.send(&bytes);
            words.iter_mut().for_each(|word| word[bad] = 0);
            assert_eq!(into.receive(&words), bytes);
            assert_eq!((into.bad_fibre(), into.counters().uncorrectable), (None, 0));
            assert_eq!(into.counters().invalid.iter().sum::<u64>(), 21);
            // There is no parity any more.
            let other = (bad + 1) % LANES;
            let mut words = out.send(&bytes);
            words[3][other] ^= 1;
            words[9][SPARE] ^= 1;
            let received = into.receive(&words);
            assert_eq!((received[12 + other], received[36 + bad]), (0, 0));
            assert_eq!(into.counters().uncorrectable, 2);
            assert!(seen_by_symbols(&bytes, &received).1);
            assert_eq!(out.replace(other), Err(NoSpare::Used(bad)));
            assert_eq!(into.replace(SPARE), Err(NoSpare::NotData(SPARE)));
        }
    }

    proptest! {
        #[test]
        fn one_error_in_each_word_does_no_harm(seed in any::<u64>(), which in any::<u64>()) {
            let (mut out, mut into) = (Transmitter::default(), Receiver::new(u64::MAX));
            let bytes = packet(seed);
            let mut words = out.send(&bytes);
            let mut expected = [0; FIBRES];
            for (i, word) in words.iter_mut().enumerate() {
                let draw = which.rotate_left(i as u32) % 50;
                let fibre = draw as usize % FIBRES;
                word[fibre] ^= 1 << (draw / 5);
                expected[fibre] += 1;
            }
            prop_assert_eq!(into.receive(&words), bytes);
            prop_assert_eq!(into.counters().invalid, expected);
            prop_assert_eq!(into.counters().disparity, [0; FIBRES]);
        }
    }
}
