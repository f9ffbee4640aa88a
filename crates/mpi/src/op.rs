//! Predefined reductions (MPI 5.0, section 6.9.2), with the handles of the standard ABI.

use crate::datatype::{Kind, Predefined};
use crate::soft_float::{LongDouble, Real2, Real16, Soft};
use rustc_apfloat::Float;

/// A predefined reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)] // A byte beside others is stored alone and loaded with them, for which a processor waits.
#[allow(missing_docs)] // Their names are the standard's.
pub enum Op {
    Sum,
    Min,
    Max,
    Prod,
    Band,
    Bor,
    Bxor,
    Land,
    Lor,
    Lxor,
    Minloc,
    Maxloc,
    Replace,
    NoOp,
}

/// Handles and names.
pub const OPS: [(usize, &str, Op); 14] = [
    (0x21, "MPI_SUM", Op::Sum),
    (0x22, "MPI_MIN", Op::Min),
    (0x23, "MPI_MAX", Op::Max),
    (0x24, "MPI_PROD", Op::Prod),
    (0x28, "MPI_BAND", Op::Band),
    (0x29, "MPI_BOR", Op::Bor),
    (0x2a, "MPI_BXOR", Op::Bxor),
    (0x30, "MPI_LAND", Op::Land),
    (0x31, "MPI_LOR", Op::Lor),
    (0x32, "MPI_LXOR", Op::Lxor),
    (0x38, "MPI_MINLOC", Op::Minloc),
    (0x39, "MPI_MAXLOC", Op::Maxloc),
    (0x3c, "MPI_REPLACE", Op::Replace),
    (0x3d, "MPI_NO_OP", Op::NoOp),
];

/// The reduction of a handle.
pub fn predefined(handle: usize) -> Option<Op> {
    OPS.iter().find(|of| of.0 == handle).map(|of| of.2)
}

/// A number, as the processor has it.
trait Number: Copy + PartialOrd {
    const BYTES: usize;
    fn of(bytes: &[u8]) -> Self;
    fn put(self, bytes: &mut [u8]);
    /// Combines each element of `other` into the one of `own`. Compilers vectorise it.
    fn each(own: &mut [u8], other: &[u8], combine: impl Fn(Self, Self) -> Self);
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
}

/// A number of which bits have a meaning.
trait Bits: Number {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn truth(self) -> bool;
    fn of_truth(truth: bool) -> Self;
}

macro_rules! number {
    ($type:ty, $sum:ident, $product:ident) => {
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();
            #[inline]
            fn of(bytes: &[u8]) -> Self {
                <$type>::from_ne_bytes(bytes.try_into().expect("its size"))
            }
            #[inline]
            fn put(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
            #[inline]
            fn each(own: &mut [u8], other: &[u8], combine: impl Fn(Self, Self) -> Self) {
                let (own, other) = (own.as_chunks_mut().0, other.as_chunks().0);
                for (own, &other) in own.iter_mut().zip(other) {
                    *own = combine(<$type>::from_ne_bytes(*own), <$type>::from_ne_bytes(other)).to_ne_bytes();
                }
            }
            #[inline]
            fn sum(self, other: Self) -> Self {
                self.$sum(other)
            }
            #[inline]
            fn product(self, other: Self) -> Self {
                self.$product(other)
            }
        }
    };
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        number!($type, wrapping_add, wrapping_mul);
        impl Bits for $type {
            fn and(self, other: Self) -> Self { self & other }
            fn or(self, other: Self) -> Self { self | other }
            fn xor(self, other: Self) -> Self { self ^ other }
            fn truth(self) -> bool { self != 0 }
            fn of_truth(truth: bool) -> Self { truth.into() }
        }
    )*};
}

use std::ops::{Add as _, Mul as _};
number!(f32, add, mul);
number!(f64, add, mul);
integer!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);

impl<Format: Float, const N: usize> Number for Soft<Format, N> {
    const BYTES: usize = N;

    fn of(bytes: &[u8]) -> Self {
        Self::of_bytes(bytes.try_into().expect("its size"))
    }

    fn put(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.bytes());
    }

    fn each(own: &mut [u8], other: &[u8], combine: impl Fn(Self, Self) -> Self) {
        let (own, other) = (own.as_chunks_mut().0, other.as_chunks().0);
        for (own, &other) in own.iter_mut().zip(other) {
            *own = combine(Self::of_bytes(*own), Self::of_bytes(other)).bytes();
        }
    }

    fn sum(self, other: Self) -> Self {
        self + other
    }

    fn product(self, other: Self) -> Self {
        self * other
    }
}

fn arithmetic<T: Number>(op: Op, own: &mut [u8], other: &[u8]) -> bool {
    match op {
        Op::Sum => T::each(own, other, T::sum),
        Op::Prod => T::each(own, other, T::product),
        Op::Min => T::each(own, other, |a, b| if b < a { b } else { a }),
        Op::Max => T::each(own, other, |a, b| if b > a { b } else { a }),
        _ => return false,
    }
    true
}

fn bits<T: Bits>(op: Op, own: &mut [u8], other: &[u8]) -> bool {
    match op {
        Op::Band => T::each(own, other, T::and),
        Op::Bor => T::each(own, other, T::or),
        Op::Bxor => T::each(own, other, T::xor),
        _ => return false,
    }
    true
}

fn logic<T: Bits>(op: Op, own: &mut [u8], other: &[u8]) -> bool {
    let combine: fn(bool, bool) -> bool = match op {
        Op::Land => |a, b| a && b,
        Op::Lor => |a, b| a || b,
        Op::Lxor => |a, b| a != b,
        _ => return false,
    };
    T::each(own, other, |a, b| T::of_truth(combine(a.truth(), b.truth())));
    true
}

/// Of two pairs the one with the smaller, or greater, value; of equal ones that with the smaller index.
fn located<V: Number, I: Number>(
    op: Op,
    own: &mut [u8],
    other: &[u8],
    index_at: usize,
    extent: usize,
) -> bool {
    let is_better: fn(&V, &V) -> bool = match op {
        Op::Minloc => |a, b| a < b,
        Op::Maxloc => |a, b| a > b,
        _ => return false,
    };
    for (own, other) in own.chunks_exact_mut(extent).zip(other.chunks_exact(extent)) {
        let value = |of: &[u8]| V::of(&of[..V::BYTES]);
        let index = |of: &[u8]| I::of(&of[index_at..index_at + I::BYTES]);
        let (a, b) = (value(own), value(other));
        if is_better(&b, &a) || (!is_better(&a, &b) && index(other) < index(own)) {
            own.copy_from_slice(other);
        }
    }
    true
}

fn complex<T: Number + std::ops::Sub<Output = T>>(op: Op, own: &mut [u8], other: &[u8]) -> bool {
    match op {
        Op::Sum => T::each(own, other, T::sum),
        Op::Prod => {
            let size = T::BYTES;
            for (own, other) in own.chunks_exact_mut(2 * size).zip(other.chunks_exact(2 * size)) {
                let [a, b, c, d] = [&own[..size], &own[size..], &other[..size], &other[size..]].map(T::of);
                (a.product(c) - b.product(d)).put(&mut own[..size]);
                a.product(d).sum(b.product(c)).put(&mut own[size..]);
            }
        }
        _ => return false,
    }
    true
}

/// Combines `other` into `own`, element by element: `own = own op other`, for operations in whose order it
/// does not matter. Returns whether the operation takes this type.
pub fn reduce(op: Op, of: &Predefined, own: &mut [u8], other: &[u8]) -> bool {
    macro_rules! by_size {
        ($function:ident: $($size:literal => $type:ty),*) => {
            match of.size {
                $($size => $function::<$type>(op, own, other),)*
                _ => false,
            }
        };
    }
    match op {
        Op::Replace => own.copy_from_slice(other),
        Op::NoOp => {}
        _ => {
            return match of.kind {
                Kind::Signed => {
                    by_size!(arithmetic: 1 => i8, 2 => i16, 4 => i32, 8 => i64, 16 => i128)
                        || by_size!(bits: 1 => u8, 2 => u16, 4 => u32, 8 => u64, 16 => u128)
                        || by_size!(logic: 1 => u8, 2 => u16, 4 => u32, 8 => u64, 16 => u128)
                }
                Kind::Unsigned => {
                    by_size!(arithmetic: 1 => u8, 2 => u16, 4 => u32, 8 => u64, 16 => u128)
                        || by_size!(bits: 1 => u8, 2 => u16, 4 => u32, 8 => u64, 16 => u128)
                        || by_size!(logic: 1 => u8, 2 => u16, 4 => u32, 8 => u64, 16 => u128)
                }
                Kind::Float if of.name == "REAL16" => arithmetic::<Real16>(op, own, other),
                Kind::Float => by_size!(arithmetic: 2 => Real2, 4 => f32, 8 => f64, 16 => LongDouble),
                Kind::Complex if of.name == "COMPLEX32" => complex::<Real16>(op, own, other),
                Kind::Complex => by_size!(complex: 4 => Real2, 8 => f32, 16 => f64, 32 => LongDouble),
                Kind::Logical => by_size!(logic: 1 => u8, 2 => u16, 4 => u32, 8 => u64, 16 => u128),
                Kind::Byte => by_size!(bits: 1 => u8),
                Kind::Character => false,
                Kind::PairFloat => match of.name {
                    "FLOAT_INT" => located::<f32, i32>(op, own, other, 4, of.extent),
                    "DOUBLE_INT" => located::<f64, i32>(op, own, other, 8, of.extent),
                    "LONG_DOUBLE_INT" => located::<LongDouble, i32>(op, own, other, 16, of.extent),
                    "2REAL" => located::<f32, f32>(op, own, other, 4, of.extent),
                    "2DOUBLE_PRECISION" => located::<f64, f64>(op, own, other, 8, of.extent),
                    _ => false,
                },
                Kind::PairSigned => match of.name {
                    "LONG_INT" => located::<i64, i32>(op, own, other, 8, of.extent),
                    "SHORT_INT" => located::<i16, i32>(op, own, other, 4, of.extent),
                    _ => located::<i32, i32>(op, own, other, 4, of.extent),
                },
            };
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{PREDEFINED, predefined as datatype};
    use proptest::prelude::*;

    fn named(name: &str) -> &'static Predefined {
        PREDEFINED.iter().find(|of| of.name == name).expect("it is there")
    }

    proptest! {
        #[test]
        fn integers_and_numbers_are_combined_as_the_processor_does(a: [i32; 5], b: [i32; 5]) {
            let bytes = |values: [i32; 5]| values.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
            type Expected = fn(i32, i32) -> i32;
            let cases: [(Op, Expected); 10] = [
                (Op::Sum, i32::wrapping_add), (Op::Prod, i32::wrapping_mul), (Op::Min, i32::min), (Op::Max, i32::max),
                (Op::Band, |a, b| a & b), (Op::Bor, |a, b| a | b), (Op::Bxor, |a, b| a ^ b),
                (Op::Land, |a, b| i32::from(a != 0 && b != 0)), (Op::Lor, |a, b| i32::from(a != 0 || b != 0)),
                (Op::Lxor, |a, b| i32::from((a != 0) != (b != 0))),
            ];
            for (op, expected) in cases {
                let mut own = bytes(a);
                prop_assert!(reduce(op, named("INT"), &mut own, &bytes(b)));
                prop_assert_eq!(own, bytes(std::array::from_fn(|n| expected(a[n], b[n]))));
            }
            let doubles = |values: [i32; 5]| values.iter().flat_map(|&v| f64::from(v).to_ne_bytes()).collect::<Vec<u8>>();
            let mut own = doubles(a);
            prop_assert!(reduce(Op::Sum, named("DOUBLE"), &mut own, &doubles(b)));
            let sums = (0..5).flat_map(|n| (f64::from(a[n]) + f64::from(b[n])).to_ne_bytes()).collect::<Vec<u8>>();
            prop_assert_eq!(own, sums);
        }
    }

    #[test]
    fn pairs_keep_the_index_of_the_best_and_the_first_of_equals() {
        let pair = |value: f64, index: i32| {
            let mut bytes = value.to_ne_bytes().to_vec();
            bytes.extend(index.to_ne_bytes());
            bytes.resize(16, 0);
            bytes
        };
        for (op, a, b, expected) in [
            (Op::Minloc, (1.0, 3), (0.5, 7), (0.5, 7)),
            (Op::Minloc, (1.0, 3), (1.0, 2), (1.0, 2)),
            (Op::Maxloc, (1.0, 3), (1.0, 5), (1.0, 3)),
            (Op::Maxloc, (1.0, 3), (2.0, 5), (2.0, 5)),
        ] {
            let mut own = pair(a.0, a.1);
            assert!(reduce(op, named("DOUBLE_INT"), &mut own, &pair(b.0, b.1)));
            assert_eq!(own, pair(expected.0, expected.1));
        }
    }

    #[test]
    fn types_that_an_operation_does_not_take_are_refused() {
        for (op, name) in
            [(Op::Band, "DOUBLE"), (Op::Sum, "WCHAR"), (Op::Min, "C_DOUBLE_COMPLEX"), (Op::Minloc, "INT")]
        {
            let of = named(name);
            assert!(!reduce(op, of, &mut vec![0; of.extent], &vec![0; of.extent]), "{op:?} of {name}");
        }
        assert_eq!(datatype(0x247).map(|of| of.name), Some("BYTE"));
        assert_eq!(predefined(0x21), Some(Op::Sum));
    }
}
