//! Random streams: one for each node, so that a node's draws do not depend on those of others.

use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::io;

/// A node's random number stream, in eight bytes.
#[derive(Clone)]
pub struct Stream(SplitMix64);

impl Stream {
    /// The stream `index` of a run with this `seed`; `purpose` separates streams that one node uses for
    /// different purposes.
    pub fn new(seed: u64, purpose: u64, index: u64) -> Self {
        // SplitMix64 is a counter followed by a mixing function: streams must start at positions that are
        // themselves mixed, or they would be shifted copies of one another.
        let mut mix = SplitMix64::seed_from_u64(seed);
        let a = mix.next_u64();
        let mut mix = SplitMix64::seed_from_u64(a ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
        let b = mix.next_u64();
        let mut mix = SplitMix64::seed_from_u64(b ^ index.wrapping_mul(0xa076_1d64_78bd_642f));
        Stream(SplitMix64::seed_from_u64(mix.next_u64()))
    }

    /// Uniform over all 64-bit values.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform over `0..n`; `n` from 1 to 2^32. The bias of the multiplication, below `n / 2^64`, is not
    /// removed.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform over `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with the probability that [`chance_threshold`] converted to `threshold`. Draws nothing if the
    /// outcome is certain.
    #[inline]
    pub fn chance(&mut self, threshold: u64) -> bool {
        match threshold {
            0 => false,
            u64::MAX => true,
            _ => self.draw() < threshold,
        }
    }

    /// Exponentially distributed with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

/// As the generator's own `serde` has it: its state has no other access.
impl BorshSerialize for Stream {
    fn serialize<W: io::Write>(&self, to: &mut W) -> io::Result<()> {
        postcard::to_allocvec(&self.0).map_err(io::Error::other)?.serialize(to)
    }
}

impl BorshDeserialize for Stream {
    fn deserialize_reader<R: io::Read>(from: &mut R) -> io::Result<Self> {
        let bytes = Vec::<u8>::deserialize_reader(from)?;
        postcard::from_bytes(&bytes).map(Stream).map_err(io::Error::other)
    }
}

/// A probability in the form that [`Stream::chance`] takes.
pub fn chance_threshold(probability: f64) -> u64 {
    if probability >= 1.0 { u64::MAX } else { (probability.max(0.0) * 2f64.powi(64)) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_are_repeatable() {
        let draw = |seed, purpose, index| {
            let mut s = Stream::new(seed, purpose, index);
            (0..4).map(|_| s.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 2, 3), draw(1, 2, 3));
        assert_ne!(draw(1, 2, 3), draw(1, 2, 4));
        assert_ne!(draw(1, 2, 3), draw(1, 3, 3));
        assert_ne!(draw(1, 2, 3), draw(2, 2, 3));
        // No stream is another one shifted by a few draws.
        let long: Vec<_> = {
            let mut s = Stream::new(1, 0, 0);
            (0..10_000).map(|_| s.draw()).collect()
        };
        assert!((1..100).all(|i| !long.contains(&Stream::new(1, 0, i).draw())));
    }

    #[test]
    fn chances_and_means() {
        let mut s = Stream::new(7, 0, 0);
        let quarter = chance_threshold(0.25);
        let hits = (0..100_000).filter(|_| s.chance(quarter)).count();
        assert!((24_000..26_000).contains(&hits), "{hits}");
        assert!((0..100).all(|_| s.chance(chance_threshold(1.0))));
        assert!((0..100).all(|_| !s.chance(chance_threshold(0.0))));
        let mean = (0..100_000).map(|_| s.exponential()).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((0..1000).all(|_| s.below(3) < 3));
    }
}
