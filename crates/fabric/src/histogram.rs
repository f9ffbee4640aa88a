//! Histograms of times. They are updated for every packet, so adding a value costs one shift and one
//! addition.

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

/// Bits below a value's leading one that select its bin. Bins are 1/8 of a power of two wide, so the middle
/// of a bin is within 6% of any value in it.
const PRECISION: u32 = 3;
const BINS: usize = 64 << PRECISION;

/// Number of values in each bin; bins widen with the values. Means are exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct Histogram {
    #[serde(with = "bins")]
    bins: Box<[u64; BINS]>,
    count: u64,
    sum: u64,
    smallest: u64,
    largest: u64,
}

/// Bins as those that are not empty, with their numbers.
mod bins {
    use super::BINS;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(bins: &[u64; BINS], to: S) -> Result<S::Ok, S::Error> {
        let filled: Vec<(usize, u64)> = bins.iter().copied().enumerate().filter(|bin| bin.1 > 0).collect();
        filled.serialize(to)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Box<[u64; BINS]>, D::Error> {
        let mut bins = Box::new([0; BINS]);
        for (bin, count) in Vec::<(usize, u64)>::deserialize(from)? {
            *bins.get_mut(bin).ok_or_else(|| serde::de::Error::custom("no such bin"))? = count;
        }
        Ok(bins)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { bins: Box::new([0; BINS]), count: 0, sum: 0, smallest: u64::MAX, largest: 0 }
    }
}

/// The bin of a value: exact below 2^PRECISION, then selected by the PRECISION bits after the leading one.
#[inline]
fn bin(value: u64) -> usize {
    let exponent = 63 - (value | (1 << PRECISION)).leading_zeros();
    let shift = exponent - PRECISION;
    // Always below BINS; the remainder lets the compiler drop the bounds check.
    (((shift as usize) << PRECISION) + (value >> shift) as usize) % BINS
}

/// The lowest value of a bin.
fn low(bin: usize) -> u64 {
    let (shift, rest) = (bin >> PRECISION, bin as u64 & ((1 << PRECISION) - 1));
    if shift == 0 { rest } else { ((1 << PRECISION) + rest) << (shift - 1) }
}

impl Histogram {
    /// One that was counted elsewhere, by the same bins: their counts, the sum of all values, the smallest and
    /// the largest.
    pub fn counted(bins: &[u64], sum: u64, (smallest, largest): (u64, u64)) -> Self {
        let mut of = Histogram { sum, smallest, largest, ..Histogram::default() };
        of.bins.iter_mut().zip(bins).for_each(|(own, &count)| *own = count);
        of.count = bins.iter().sum();
        of
    }

    /// Adds a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.bins[bin(value)] += 1;
        self.count += 1;
        self.sum += value;
        // Rarely taken, so a branch is cheaper than selecting and storing.
        if value < self.smallest {
            self.smallest = value;
        }
        if value > self.largest {
            self.largest = value;
        }
    }

    /// Adds another histogram's counts.
    pub fn add(&mut self, other: &Self) {
        self.bins.iter_mut().zip(other.bins.iter()).for_each(|(a, b)| *a += b);
        self.count += other.count;
        self.sum += other.sum;
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact mean; 0 without values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The maximum.
    pub fn max(&self) -> u64 {
        self.largest
    }

    /// The `q` quantile: the middle of the bin below which a fraction `q` of all values lie.
    pub fn quantile(&self, q: f64) -> u64 {
        let wanted = (q * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (from, to, count) in self.bins() {
            seen += count;
            if seen >= wanted {
                return ((from + to) / 2).clamp(self.smallest, self.largest);
            }
        }
        self.largest
    }

    /// Bins that are not empty: lowest value, lowest value of the next bin, count.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let next = |b: usize| if b + 1 < BINS { low(b + 1) } else { u64::MAX };
        self.bins.iter().enumerate().filter(|b| *b.1 > 0).map(move |(b, &n)| (low(b), next(b), n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_elsewhere() {
        let mut own = Histogram::default();
        let mut bins = vec![0; 256];
        for value in [3, 8, 70_000, 70_000, 12_345] {
            own.record(value);
            bins[bin(value)] += 1;
        }
        assert_eq!(Histogram::counted(&bins, 3 + 8 + 140_000 + 12_345, (3, 70_000)), own);
    }

    #[test]
    fn bins_hold_their_values() {
        for value in (0..5000).chain([1 << 20, (1 << 40) + 12345, u64::from(u32::MAX)]) {
            let b = bin(value);
            assert!(
                low(b) <= value && value < low(b + 1),
                "{value} in bin {b}: {} to {}",
                low(b),
                low(b + 1)
            );
            assert!((low(b + 1) - low(b)) as f64 <= (value as f64 / 8.0).max(1.0));
        }
        assert!(bin(u64::MAX) < BINS);
    }

    #[test]
    fn means_and_quantiles() {
        let mut h = Histogram::default();
        (1..=1000).for_each(|v| h.record(v));
        assert_eq!((h.count(), h.mean(), h.max()), (1000, 500.5, 1000));
        for q in [0.1, 0.5, 0.99] {
            assert!((h.quantile(q) as f64 / (q * 1000.0) - 1.0).abs() < 0.08, "{q}: {}", h.quantile(q));
        }
        let mut twice = h.clone();
        twice.add(&h);
        assert_eq!((twice.count(), twice.mean(), twice.quantile(0.5)), (2000, 500.5, h.quantile(0.5)));
    }
}
