//! The fibres of an optical link in a run (section II.G of Blue Gene/Q's paper): their bit errors, the
//! corrections by the spare's parity, and the replacement of a bad fibre by the spare.
//! [`crate::link::optical`] has the codes byte by byte.
//!
//! A word is one symbol of ten bits on each fibre. One wrong bit in a word gives one invalid symbol, which
//! the parity corrects; two are left to the packet's own checks, and so is any error once the spare carries
//! data and there is no parity **(ours: two wrong bits in one symbol always count as two, though a few such
//! pairs give an invalid symbol that could be corrected)**.

use crate::link::optical::{FIBRES, LANES, SPARE};
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Stream;

/// Bits of a symbol.
const SYMBOL: u64 = 10;

/// The errors of one transmission over the fibres.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Carried {
    /// Wrong bits of each fibre.
    pub errors: [u64; FIBRES],
    /// Words that the parity corrected.
    pub corrected: u64,
    /// The first word left with errors.
    pub wrong: Option<u64>,
    /// Whether a fibre was replaced after it.
    pub replaces: bool,
}

/// The fibres of one link.
#[derive(BorshSerialize, BorshDeserialize)]
pub(super) struct Fibres {
    /// The link's own draws.
    stream: Stream,
    rates: [f64; FIBRES],
    /// Correct bits on each fibre before the next wrong one.
    right: [u64; FIBRES],
    /// Wrong bits of each so far, and the number that software tolerates.
    errors: [u64; FIBRES],
    most: u64,
    /// The fibre that the spare replaces.
    replaced: Option<usize>,
    /// Wrong bits of a transmission, by word; kept to reuse its memory.
    found: Vec<(u64, usize)>,
}

impl Fibres {
    pub fn new(stream: Stream, rates: [f64; FIBRES], most: Option<u64>) -> Self {
        let most = most.unwrap_or(u64::MAX);
        let mut fibres = Fibres {
            stream,
            rates,
            right: [0; FIBRES],
            errors: [0; FIBRES],
            most,
            replaced: None,
            found: vec![],
        };
        (0..FIBRES).for_each(|fibre| fibres.right[fibre] = fibres.draw(fibre));
        fibres
    }

    /// Draws the number of bits up to the next wrong one on a fibre.
    fn draw(&mut self, fibre: usize) -> u64 {
        let rate = self.rates[fibre];
        if rate == 0.0 {
            return u64::MAX;
        }
        // Geometrically distributed.
        ((1.0 - self.stream.unit()).ln() / (-rate).ln_1p()) as u64
    }

    /// Sends `bytes` bytes over the link.
    pub fn carry(&mut self, bytes: u32) -> Carried {
        let bits = u64::from(bytes).div_ceil(LANES as u64) * SYMBOL;
        let mut carried = Carried::default();
        let mut found = std::mem::take(&mut self.found);
        let replaced = self.replaced;
        for fibre in (0..FIBRES).filter(|&fibre| Some(fibre) != replaced) {
            let mut at = self.right[fibre];
            while at < bits {
                found.push((at / SYMBOL, fibre));
                carried.errors[fibre] += 1;
                at = at.saturating_add(1).saturating_add(self.draw(fibre));
            }
            self.right[fibre] = if at == u64::MAX { at } else { at - bits };
        }
        found.sort_unstable();
        for word in found.chunk_by(|a, b| a.0 == b.0) {
            if word.len() == 1 && self.replaced.is_none() {
                carried.corrected += 1;
            } else {
                carried.wrong = carried.wrong.or(Some(word[0].0));
            }
        }
        found.clear();
        self.found = found;
        self.errors.iter_mut().zip(carried.errors).for_each(|(sum, errors)| *sum += errors);
        if self.replaced.is_none()
            && let Some(bad) = (0..SPARE).find(|&fibre| self.errors[fibre] > self.most)
        {
            self.replaced = Some(bad);
            carried.replaces = true;
        }
        carried
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_errors_are_corrected_until_the_spare_is_used() {
        let mut fibres = Fibres::new(Stream::new(1, 2, 3), [0.0, 0.0, 0.0, 1e-4, 0.0], Some(100));
        let (mut corrected, mut errors, mut sent) = (0, 0, 0u64);
        loop {
            let carried = fibres.carry(552);
            assert_eq!(carried.errors.iter().sum::<u64>(), carried.errors[3]);
            (corrected, errors, sent) = (corrected + carried.corrected, errors + carried.errors[3], sent + 1);
            if carried.replaces {
                break;
            }
        }
        // 101 errors occur in this number of bits of the fibre, and nearly all of them alone in their word.
        let expected = 101.0 / 1e-4 / (138.0 * 10.0);
        assert!((sent as f64 / expected - 1.0).abs() < 0.4, "{sent} {expected}");
        assert!(errors > 100 && corrected + 4 >= errors, "{corrected} of {errors}");
        // The spare has no errors, and the bad fibre no longer matters.
        assert!((0..10_000).all(|_| fibres.carry(552) == Carried::default()));
    }

    #[test]
    fn two_errors_of_a_word_are_left_wrong() {
        // Two fibres with an error in a word with probability s each.
        let rate = 0.01;
        let mut fibres = Fibres::new(Stream::new(4, 5, 6), [rate, 0.0, rate, 0.0, 0.0], None);
        let (words, n) = (138.0, 20_000);
        let wrong = (0..n).filter(|_| fibres.carry(552).wrong.is_some()).count() as f64;
        // At most one of twenty bits is wrong.
        let right = (1.0 - rate).powi(20) + 20.0 * rate * (1.0 - rate).powi(19);
        let expected = f64::from(n) * (1.0 - right.powf(words));
        assert!((wrong / expected - 1.0).abs() < 0.05, "{wrong} {expected}");
    }

    #[test]
    fn without_parity_each_error_is_left_wrong() {
        let mut fibres = Fibres::new(Stream::new(7, 8, 9), [0.02, 0.0, 0.0, 0.0, 1e-3], Some(0));
        while !fibres.carry(16).replaces {}
        let n = 100_000;
        let wrong = (0..n).filter(|_| fibres.carry(16).wrong == Some(0)).count() as f64;
        // Ten bits of the spare in the first word.
        assert!((wrong / f64::from(n) / 0.01 - 1.0).abs() < 0.1, "{wrong}");
    }
}
