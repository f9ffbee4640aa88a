//! A permutation of `0..n` that is computed, not stored: an all-to-all of 32,768 nodes in which each node
//! takes its destinations in an order of its own needs no list of 10^9 of them.

use netloom_engine::Stream;

/// Rounds of the Feistel network. With four it is hard to distinguish from a random permutation.
const ROUNDS: usize = 4;

/// A permutation of `0..n` that a key selects: a Feistel network over the next larger power of four, iterated
/// until the value is in range (Black and Rogaway, "Ciphers with arbitrary finite domains").
#[derive(Clone, Debug)]
pub struct Order {
    n: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Order {
    /// A permutation of `0..n`, by the study's seed and a node's number.
    pub fn new(n: u64, seed: u64, node: u64) -> Self {
        let mut stream = Stream::new(seed, 3, node);
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        Order { n, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| stream.draw()) }
    }

    /// The image of `i`.
    #[inline]
    pub fn at(&self, i: u64) -> u64 {
        debug_assert!(i < self.n);
        let mask = (1u64 << self.half_bits) - 1;
        let mut x = i;
        loop {
            let (mut left, mut right) = (x >> self.half_bits, x & mask);
            for key in self.keys {
                let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (left, right) = (right, left ^ (mixed >> 40 & mask));
            }
            x = left << self.half_bits | right;
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_once(n in 1u64..3000, seed: u64, node: u64) {
            let p = Order::new(n, seed, node);
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                let to = p.at(i) as usize;
                prop_assert!(!seen[to]);
                seen[to] = true;
            }
        }
    }

    #[test]
    fn nodes_take_different_orders() {
        let n = 32_767;
        let orders: Vec<_> = (0..50).map(|node| Order::new(n, 1, node)).collect();
        // At any step the nodes' choices are spread like random ones.
        for i in [0, 1, 77, 32_766] {
            let mut first: Vec<u64> = orders.iter().map(|p| p.at(i)).collect();
            first.sort_unstable();
            first.dedup();
            assert!(first.len() >= 48);
            assert!(first[0] < n / 8 && first[first.len() - 1] > n * 7 / 8);
        }
        // And a node's successive choices are not close to each other.
        let steps: f64 =
            (0..1000).map(|i| orders[0].at(i).abs_diff(orders[0].at(i + 1)) as f64).sum::<f64>() / 1e3;
        assert!((steps / n as f64 - 1.0 / 3.0).abs() < 0.03, "mean step {steps}");
    }
}
