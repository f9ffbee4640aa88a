//! Operations on bit masks.

use netloom_engine::Stream;
use wide::u64x4;

/// The words that have any bit of a mask, one bit each: four are compared at once.
#[inline]
pub(in crate::router) fn with_any(words: &[u64; 12], mask: u64) -> u16 {
    let mask = u64x4::splat(mask);
    let without = |first: usize| {
        let four = u64x4::new(std::array::from_fn(|n| words[first + n]));
        (four & mask).simd_eq(u64x4::ZERO).to_bitmask() as u16
    };
    !(without(0) | without(4) << 4 | without(8) << 8) & 0xfff
}

/// The bits of a mask, lowest first.
#[inline]
pub(in crate::router) fn bits(mask: impl Into<u64>) -> impl Iterator<Item = usize> {
    let mut mask: u64 = mask.into();
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            bit
        })
    })
}

/// The bits of `mask` with the highest `rank`.
#[inline]
pub(in crate::router) fn best_of(mask: u64, rank: impl Fn(usize) -> u8) -> u64 {
    debug_assert!(mask != 0);
    let (mut best, mut ties) = (0, 0u64);
    let mut left = mask;
    while left != 0 {
        let bit = left.trailing_zeros() as usize;
        left &= left - 1;
        let r = rank(bit);
        if r > best {
            (best, ties) = (r, 0);
        }
        if r == best {
            ties |= 1 << bit;
        }
    }
    ties
}

/// A random bit of a mask. Draws only if there are several.
#[inline]
pub(in crate::router) fn one_of(ties: u64, random: &mut Stream) -> usize {
    if ties.is_power_of_two() { ties.trailing_zeros() as usize } else { any(ties, random) }
}

/// A random bit of a mask.
#[inline]
fn any(mask: u64, random: &mut Stream) -> usize {
    let n = random.below(mask.count_ones().into());
    nth(mask, n)
}

/// The bit of a mask above `n` others of it.
#[inline]
pub(in crate::router) fn nth(mut mask: u64, n: u64) -> usize {
    // The first few steps are branch-free: their number is unpredictable.
    for step in 0..3 {
        mask = if step < n { mask & (mask - 1) } else { mask };
    }
    for _ in 3..n {
        mask &= mask - 1;
    }
    mask.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_are_compared_like_one_by_one(words: [u64; 12], others: [u64; 12], mask: u64) {
            // Few bits, so that some words have none of them.
            let words: [u64; 12] = std::array::from_fn(|n| words[n] & others[n] & others[(n + 5) % 12]);
            for mask in [mask, mask & mask.rotate_left(7), 0, u64::MAX] {
                let expected = (0..12).filter(|&n| words[n] & mask != 0).fold(0, |all, n| all | 1 << n);
                prop_assert_eq!(with_any(&words, mask), expected);
            }
        }
    }
}
