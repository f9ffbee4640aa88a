//! Double-precision arithmetic (section II.C). A first unit finds the largest exponent of all inputs; the
//! ALUs add mantissas as integers, shifted to that exponent; a last unit converts the sum to an IEEE number.
//! A sum of any number of inputs therefore takes one pass, and does not depend on the order in which they
//! arrive.
//!
//! The paper does not give the width of these mantissas. Here they have the 64 bits of a word **(ours)**: a
//! sign, four bits for the carries of twelve inputs, the number's 53 bits, and six bits below. Bits shifted
//! out below are dropped **(ours)**; the last unit rounds to nearest, ties to even **(ours)**.

use super::header::Operation;

/// Bits below the mantissa's own.
const BELOW: u32 = 6;
/// Bits of a mantissa, including the hidden one.
const MANTISSA: u32 = 53;
/// The largest exponent of the IEEE format, which marks infinities and NaNs.
const EXPONENT_MAX: i32 = 0x7ff;
/// The result that stands for any NaN.
const NAN: u64 = 0x7ff8 << 48;

/// Combines one word of all inputs; returns it, and whether the result is a NaN.
pub(super) fn combine(operation: Operation, inputs: impl Iterator<Item = f64> + Clone) -> (f64, bool) {
    if inputs.clone().any(f64::is_nan) {
        return (f64::from_bits(NAN), true);
    }
    let result = match operation {
        Operation::MinDouble => inputs.min_by(f64::total_cmp).unwrap_or(0.0),
        Operation::MaxDouble => inputs.max_by(f64::total_cmp).unwrap_or(0.0),
        _ => sum(inputs),
    };
    (result, result.is_nan())
}

fn sum(inputs: impl Iterator<Item = f64> + Clone) -> f64 {
    let has = |what: f64| inputs.clone().any(|x| x == what);
    match (has(f64::INFINITY), has(f64::NEG_INFINITY)) {
        (true, true) => return f64::from_bits(NAN),
        (true, false) => return f64::INFINITY,
        (false, true) => return f64::NEG_INFINITY,
        (false, false) => {}
    }
    if inputs.clone().all(|x| x == 0.0 && x.is_sign_negative()) {
        return -0.0;
    }
    let exponent = inputs.clone().map(exponent).max().unwrap_or(1);
    let total = inputs.map(|x| aligned(x, exponent)).sum();
    format(total, exponent)
}

/// A number's biased exponent; subnormal numbers have that of the smallest normal one.
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> (MANTISSA - 1)) as i32 & EXPONENT_MAX).max(1)
}

/// A number's mantissa with [`BELOW`] bits below it, shifted to the larger exponent `greatest`.
fn aligned(x: f64, greatest: i32) -> i64 {
    let bits = x.to_bits();
    let hidden = u64::from(bits >> (MANTISSA - 1) & EXPONENT_MAX as u64 != 0) << (MANTISSA - 1);
    let mantissa = (bits & ((1 << (MANTISSA - 1)) - 1) | hidden) << BELOW;
    let shift = (greatest - exponent(x)) as u32;
    let shifted = mantissa.checked_shr(shift).unwrap_or(0) as i64;
    if x.is_sign_negative() { -shifted } else { shifted }
}

/// The IEEE number nearest to a sum of mantissas at an exponent.
fn format(total: i64, exponent: i32) -> f64 {
    if total == 0 {
        return 0.0;
    }
    let magnitude = total.unsigned_abs();
    // The position of the sum's leading bit in a number of its own exponent.
    let length = 64 - magnitude.leading_zeros() as i32;
    let mut own = exponent + length - (MANTISSA + BELOW) as i32;
    // Subnormal numbers keep the smallest exponent, and have fewer bits.
    own = own.max(1);
    let right = own - exponent + BELOW as i32;
    let mut mantissa = if right <= 0 { magnitude << -right } else { round(magnitude, right as u32) };
    if mantissa >> MANTISSA != 0 {
        mantissa >>= 1;
        own += 1;
    }
    let sign = u64::from(total < 0) << 63;
    if own >= EXPONENT_MAX {
        return f64::from_bits(sign | (EXPONENT_MAX as u64) << (MANTISSA - 1));
    }
    let has_hidden = mantissa >> (MANTISSA - 1) != 0;
    let biased = if has_hidden { own as u64 } else { 0 };
    f64::from_bits(sign | biased << (MANTISSA - 1) | mantissa & ((1 << (MANTISSA - 1)) - 1))
}

/// Shifts right and rounds to the nearest, ties to even.
fn round(magnitude: u64, right: u32) -> u64 {
    if right >= 64 {
        return 0;
    }
    let (kept, rest, half) = (magnitude >> right, magnitude & ((1 << right) - 1), 1u64 << (right - 1));
    kept + u64::from(rest > half || rest == half && kept & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn add(inputs: &[f64]) -> f64 {
        combine(Operation::AddDouble, inputs.iter().copied()).0
    }

    /// The exact sum of numbers in units of the last bit of exponent `unit`. Their exponents must be close to
    /// it.
    fn exact(inputs: &[f64], unit: i32) -> i128 {
        let of = |x: f64| {
            let bits = x.to_bits();
            let hidden = u64::from(bits >> 52 & 0x7ff != 0) << 52;
            let mantissa = i128::from(bits & ((1 << 52) - 1) | hidden) << (exponent(x) - unit);
            if x < 0.0 { -mantissa } else { mantissa }
        };
        inputs.iter().copied().map(of).sum()
    }

    #[test]
    fn what_is_no_finite_number() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert_eq!(add(&[1.0, inf, 2.0]), inf);
        assert_eq!(add(&[-inf, -1.0]), -inf);
        assert!(add(&[inf, -inf]).is_nan() && add(&[nan, 1.0]).is_nan());
        assert_eq!(add(&[f64::MAX, f64::MAX]), inf);
        assert_eq!(add(&[f64::MIN, f64::MIN]), -inf);
        assert!(combine(Operation::MaxDouble, [1.0, nan].into_iter()).1);
        assert_eq!(combine(Operation::MinDouble, [1.0, -inf, 0.0].into_iter()), (-inf, false));
        assert_eq!(
            combine(Operation::MaxDouble, [-3.0, -0.0, -1.0].into_iter()).0.to_bits(),
            (-0.0f64).to_bits()
        );
    }

    #[test]
    fn what_is_far_below_is_dropped() {
        for far in [58, 59, 63, 64, 65, 200, 1000] {
            let (large, small) = (2f64.powi(500), 2f64.powi(500 - far));
            assert_eq!(add(&[large, small]), large, "{far}");
            assert_eq!(add(&[small, -large, large]), if far < 59 { small } else { 0.0 }, "{far}");
        }
    }

    #[test]
    fn small_numbers() {
        let least = f64::from_bits(1);
        assert_eq!(add(&[least, least]), f64::from_bits(2));
        assert_eq!(add(&[f64::MIN_POSITIVE, -least]), f64::from_bits((1 << 52) - 1));
        assert_eq!(add(&[f64::MIN_POSITIVE, -f64::MIN_POSITIVE]).to_bits(), 0);
        assert_eq!(add(&[-0.0, -0.0]).to_bits(), (-0.0f64).to_bits());
        assert_eq!(add(&[-0.0, 0.0]).to_bits(), 0);
    }

    proptest! {
        /// A single input is returned unchanged, whatever it is.
        #[test]
        fn one_input_passes(bits: u64) {
            let x = f64::from_bits(bits);
            prop_assert_eq!(add(&[x]).to_bits(), if x.is_nan() { NAN } else { bits });
        }

        /// The result does not depend on the order, bit for bit.
        #[test]
        fn any_order_gives_the_same(bits in proptest::collection::vec(any::<u64>(), 1..13), seed: u64) {
            let inputs: Vec<f64> = bits.iter().map(|&b| f64::from_bits(b)).collect();
            let mut other = inputs.clone();
            let n = other.len();
            (0..n).for_each(|i| other.swap(i, (seed >> i) as usize % n));
            prop_assert_eq!(add(&inputs).to_bits(), add(&other).to_bits());
        }

        /// Sums of small multiples of one unit are exact, as long as 2^53 suffices.
        #[test]
        fn sums_of_integers_are_exact(list in proptest::collection::vec(-(1i64 << 49)..1 << 49, 1..13), scale in -900i32..900) {
            let unit = 2f64.powi(scale);
            let inputs: Vec<f64> = list.iter().map(|&x| x as f64 * unit).collect();
            prop_assert_eq!(add(&inputs), list.iter().sum::<i64>() as f64 * unit);
        }

        /// Each input loses less than one unit of the sixth bit below the last bit of the largest number;
        /// rounding adds half a unit in the last place of the result.
        #[test]
        fn other_sums_are_near_the_exact_one(list in proptest::collection::vec((any::<u64>(), 1000u64..1008), 1..13)) {
            let of = |&(bits, e): &(u64, u64)| f64::from_bits(bits & !(0x7ff << 52) | e << 52);
            let inputs: Vec<f64> = list.iter().map(of).collect();
            let (unit, greatest) = (940, inputs.iter().map(|&x| exponent(x)).max().expect("some"));
            let error = (exact(&[add(&inputs)], unit) - exact(&inputs, unit)).unsigned_abs();
            let dropped = inputs.len() as u128 * (1u128 << (greatest - unit) >> BELOW);
            let rounded = (1u128 << (exponent(add(&inputs)).max(unit) - unit)) / 2;
            prop_assert!(error <= dropped + rounded, "{error} of {dropped} + {rounded}");
        }

        /// Two numbers with the same exponent are added as the processor adds them.
        #[test]
        fn two_of_a_kind_are_added_as_usual(a: u64, b: u64, e in 1u64..2046) {
            let of = |bits: u64| f64::from_bits(bits & !(0x7ff << 52) | e << 52);
            prop_assert_eq!(add(&[of(a), of(b)]).to_bits(), (of(a) + of(b)).to_bits());
        }
    }
}
