//! `long double` of x86-64: a sign, 15 bits of exponent, 64 bits of significand with its integer bit. Rust
//! has no such type, so sums and products are computed on integers, rounded to the nearest value, ties to
//! even.

use super::{Operation, Reduction, each};
use std::cmp::Ordering;

const EXPONENT_MAX: i32 = 0x7fff;
const BIAS: i32 = 16383;

/// A value: `significand * 2^(exponent - BIAS - 63)`. Exponent 0 counts as 1.
#[derive(Clone, Copy, Debug)]
pub struct Extended {
    is_negative: bool,
    exponent: i32,
    significand: u64,
}

const NAN: Extended = Extended { is_negative: true, exponent: EXPONENT_MAX, significand: 3 << 62 };

impl Extended {
    /// From its ten bytes.
    pub fn from_ne_bytes(bytes: [u8; 10]) -> Self {
        let significand = u64::from_le_bytes(*bytes.first_chunk().expect("ten bytes"));
        let upper = u16::from_le_bytes([bytes[8], bytes[9]]);
        Extended { is_negative: upper >> 15 == 1, exponent: i32::from(upper & 0x7fff), significand }
    }

    fn to_ne_bytes(self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&self.significand.to_le_bytes());
        let upper = self.exponent as u16 | u16::from(self.is_negative) << 15;
        bytes[8..].copy_from_slice(&upper.to_le_bytes());
        bytes
    }

    fn is_infinite(self) -> bool {
        self.exponent == EXPONENT_MAX && self.significand << 1 == 0
    }

    fn is_nan(self) -> bool {
        self.exponent == EXPONENT_MAX && self.significand << 1 != 0
    }

    /// Orders values as integers do.
    fn key(self) -> i128 {
        let magnitude = i128::from(self.exponent) << 64 | i128::from(self.significand);
        if self.is_negative { -magnitude } else { magnitude }
    }

    /// `wide * 2^(exponent - BIAS - 127)`, rounded. The lowest bit may stand for what is below it.
    fn rounded(is_negative: bool, exponent: i32, wide: u128) -> Self {
        if wide == 0 {
            return Extended { is_negative, exponent: 0, significand: 0 };
        }
        let zeros = wide.leading_zeros();
        let (mut wide, mut exponent) = (wide << zeros, exponent - zeros as i32);
        if exponent < 1 {
            (wide, exponent) = (shifted(wide, (1 - exponent) as u32), 1);
        }
        let (mut significand, below) = ((wide >> 64) as u64, wide as u64);
        if below > 1 << 63 || below == 1 << 63 && significand & 1 == 1 {
            significand = significand.wrapping_add(1);
            if significand == 0 {
                (significand, exponent) = (1 << 63, exponent + 1);
            }
        }
        if exponent >= EXPONENT_MAX {
            return Extended { is_negative, exponent: EXPONENT_MAX, significand: 1 << 63 };
        }
        Extended { is_negative, exponent: if significand >> 63 == 0 { 0 } else { exponent }, significand }
    }

    fn sum(self, other: Self) -> Self {
        if self.is_nan() || other.is_nan() {
            return if self.is_nan() { self.quiet() } else { other.quiet() };
        }
        if self.is_infinite() || other.is_infinite() {
            let is_difference = self.is_negative != other.is_negative;
            let is_nan = is_difference && self.is_infinite() && other.is_infinite();
            return if is_nan {
                NAN
            } else if self.is_infinite() {
                self
            } else {
                other
            };
        }
        let (great, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let [e, f] = [great, small].map(|x| x.exponent.max(1));
        // One bit is left for the carry.
        let a = u128::from(great.significand) << 63;
        let b = shifted(u128::from(small.significand) << 63, (e - f) as u32);
        if great.is_negative == small.is_negative {
            return Self::rounded(great.is_negative, e + 1, a + b);
        }
        match a.cmp(&b) {
            Ordering::Greater => Self::rounded(great.is_negative, e + 1, a - b),
            Ordering::Less => Self::rounded(small.is_negative, e + 1, b - a),
            Ordering::Equal => Extended { is_negative: false, exponent: 0, significand: 0 },
        }
    }

    fn product(self, other: Self) -> Self {
        if self.is_nan() || other.is_nan() {
            return if self.is_nan() { self.quiet() } else { other.quiet() };
        }
        let is_negative = self.is_negative != other.is_negative;
        if self.is_infinite() || other.is_infinite() {
            let is_nan = self.significand == 0 || other.significand == 0;
            return if is_nan {
                NAN
            } else {
                Extended { is_negative, exponent: EXPONENT_MAX, significand: 1 << 63 }
            };
        }
        let exponent = self.exponent.max(1) + other.exponent.max(1) - BIAS + 1;
        let wide = u128::from(self.significand) * u128::from(other.significand);
        Self::rounded(is_negative, exponent, wide)
    }

    fn quiet(self) -> Self {
        Extended { significand: self.significand | 3 << 62, ..self }
    }
}

/// Shifts right; what is lost sets the lowest bit.
fn shifted(wide: u128, by: u32) -> u128 {
    if by > 127 {
        return u128::from(wide != 0);
    }
    let kept = wide >> by;
    kept | u128::from(kept << by != wide)
}

impl PartialEq for Extended {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Extended {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (!self.is_nan() && !other.is_nan()).then(|| self.key().cmp(&other.key()))
    }
}

/// Combines values; the six bytes behind each stay as they are.
fn combine(target: &mut [u8], source: &[u8], operation: fn(Extended, Extended) -> Extended) {
    each::<16>(target, source, |mut a, b| {
        let [x, y] = [&a, &b].map(|x| Extended::from_ne_bytes(*x.first_chunk().expect("16 bytes")));
        a[..10].copy_from_slice(&operation(x, y).to_ne_bytes());
        a
    });
}

pub fn reduction(operation: Operation) -> Option<Reduction> {
    Some(match operation {
        Operation::Max => |t, s| combine(t, s, |a, b| if b > a { b } else { a }),
        Operation::Min => |t, s| combine(t, s, |a, b| if b < a { b } else { a }),
        Operation::Sum => |t, s| combine(t, s, Extended::sum),
        Operation::Prod => |t, s| combine(t, s, Extended::product),
        _ => return None,
    })
}
