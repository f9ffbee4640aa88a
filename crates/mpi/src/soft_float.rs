//! Numbers that Rust has no types for: C's `long double` (of x86-64 the extended format of its x87 unit,
//! elsewhere IEEE's of 128 bits), and Fortran's reals of two and sixteen bytes.

use rustc_apfloat::Float;
use rustc_apfloat::ieee;
use std::ops::{Add, Mul, Sub};

/// A number of `BYTES` bytes in memory, rounded to the nearest, as C's arithmetic does.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Soft<Format, const BYTES: usize>(Format);

#[cfg(not(target_arch = "x86_64"))]
pub type LongDouble = Soft<ieee::Quad, 16>;
/// Six of its bytes are unused.
#[cfg(target_arch = "x86_64")]
pub type LongDouble = Soft<ieee::X87DoubleExtended, 16>;
pub type Real16 = Soft<ieee::Quad, 16>;
pub type Real2 = Soft<ieee::Half, 2>;

impl<Format: Float, const BYTES: usize> Soft<Format, BYTES> {
    /// A number in memory, with the processor's order of bytes.
    pub fn of_bytes(bytes: [u8; BYTES]) -> Self {
        let mut all = [0; 16];
        // Where high bytes are first, the unused ones are, too.
        let at = if cfg!(target_endian = "big") { 16 - BYTES } else { 0 };
        all[at..at + BYTES].copy_from_slice(&bytes);
        let used = u128::MAX >> (128 - Format::BITS);
        Soft(Format::from_bits(u128::from_ne_bytes(all) & used))
    }

    /// The same bytes, with zeros for those that are unused.
    pub fn bytes(self) -> [u8; BYTES] {
        let all = self.0.to_bits().to_ne_bytes();
        let at = if cfg!(target_endian = "big") { 16 - BYTES } else { 0 };
        all[at..at + BYTES].try_into().expect("as many")
    }
}

impl<Format: Float, const BYTES: usize> Add for Soft<Format, BYTES> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Soft((self.0 + other.0).value)
    }
}

impl<Format: Float, const BYTES: usize> Sub for Soft<Format, BYTES> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Soft((self.0 - other.0).value)
    }
}

impl<Format: Float, const BYTES: usize> Mul for Soft<Format, BYTES> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Soft((self.0 * other.0).value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustc_apfloat::FloatConvert;
    use rustc_apfloat::ieee::Double;

    /// Of a double, exactly.
    fn of(value: f64) -> LongDouble {
        let mut loses = false;
        Soft(Double::from_bits(value.to_bits().into()).convert(&mut loses).value)
    }

    proptest! {
        #[test]
        fn whole_numbers_are_exact_beyond_those_of_doubles(
            a in -(1i64 << 31)..1 << 31,
            b in -(1i64 << 31)..1 << 31,
        ) {
            let whole = |value: i64| of(value as f64);
            prop_assert_eq!(whole(a) + whole(b), whole(a + b));
            prop_assert_eq!(whole(a) - whole(b), whole(a - b));
            // Its fraction has 64 bits or more: a product is exact.
            let high = ((a * b) >> 32) << 32;
            prop_assert_eq!(whole(a) * whole(b) - whole(high), whole(a * b - high));
            prop_assert_eq!(a < b, whole(a) < whole(b));
            prop_assert_eq!(LongDouble::of_bytes(whole(a).bytes()), whole(a));
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn one_has_the_bytes_of_the_x87_unit() {
        let one = [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f, 0, 0, 0, 0, 0, 0];
        assert_eq!(of(1.0).bytes(), one);
        // What C leaves in the unused bytes does not count.
        let dirty = [&one[..10], &[7; 6]].concat().try_into().expect("sixteen");
        assert_eq!(LongDouble::of_bytes(dirty), of(1.0));
    }

    #[test]
    fn three_halves_squared_in_two_bytes() {
        let number = Real2::of_bytes(0x3e00_u16.to_ne_bytes());
        assert_eq!((number * number).bytes(), 0x4080_u16.to_ne_bytes());
    }
}
