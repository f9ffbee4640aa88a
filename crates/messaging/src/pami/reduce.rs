//! Predefined reductions: `target = target OP source`, element by element, on bytes in the machine's order.

/// Predefined operations, in the order of PAMI's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The source.
    Copy,
    /// The target.
    Noop,
    /// The greater value.
    Max,
    /// The lower value.
    Min,
    /// The sum; integers wrap.
    Sum,
    /// The product; integers wrap.
    Prod,
    /// Logical and: 1 or 0.
    Land,
    /// Logical or.
    Lor,
    /// Logical exclusive or.
    Lxor,
    /// Bitwise and.
    Band,
    /// Bitwise or.
    Bor,
    /// Bitwise exclusive or.
    Bxor,
    /// The pair with the greater value; of equal ones, that with the lower location.
    Maxloc,
    /// The pair with the lower value; of equal ones, that with the lower location.
    Minloc,
}

/// All operations.
pub const OPERATIONS: [Operation; 14] = [
    Operation::Copy,
    Operation::Noop,
    Operation::Max,
    Operation::Min,
    Operation::Sum,
    Operation::Prod,
    Operation::Land,
    Operation::Lor,
    Operation::Lxor,
    Operation::Band,
    Operation::Bor,
    Operation::Bxor,
    Operation::Maxloc,
    Operation::Minloc,
];

/// Elements of the predefined types, in the order of PAMI's interface. Lengths are those of 64-bit Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names are the documentation.
pub enum Element {
    Byte,
    SignedChar,
    UnsignedChar,
    SignedShort,
    UnsignedShort,
    SignedInt,
    UnsignedInt,
    SignedLong,
    UnsignedLong,
    SignedLongLong,
    UnsignedLongLong,
    Float,
    Double,
    LongDouble,
    Logical1,
    Logical2,
    Logical4,
    Logical8,
    SingleComplex,
    DoubleComplex,
    Loc2Int,
    Loc2Float,
    Loc2Double,
    LocShortInt,
    LocFloatInt,
    LocDoubleInt,
    LocLongInt,
    LocLongDoubleInt,
}

/// All elements.
pub const ELEMENTS: [Element; 28] = [
    Element::Byte,
    Element::SignedChar,
    Element::UnsignedChar,
    Element::SignedShort,
    Element::UnsignedShort,
    Element::SignedInt,
    Element::UnsignedInt,
    Element::SignedLong,
    Element::UnsignedLong,
    Element::SignedLongLong,
    Element::UnsignedLongLong,
    Element::Float,
    Element::Double,
    Element::LongDouble,
    Element::Logical1,
    Element::Logical2,
    Element::Logical4,
    Element::Logical8,
    Element::SingleComplex,
    Element::DoubleComplex,
    Element::Loc2Int,
    Element::Loc2Float,
    Element::Loc2Double,
    Element::LocShortInt,
    Element::LocFloatInt,
    Element::LocDoubleInt,
    Element::LocLongInt,
    Element::LocLongDoubleInt,
];

impl Element {
    /// Its length, bytes.
    pub fn bytes(self) -> usize {
        use Element::*;
        match self {
            Byte | SignedChar | UnsignedChar | Logical1 => 1,
            SignedShort | UnsignedShort | Logical2 => 2,
            SignedInt | UnsignedInt | Float | Logical4 => 4,
            SignedLong | UnsignedLong | SignedLongLong | UnsignedLongLong | Double | Logical8 => 8,
            SingleComplex | Loc2Int | Loc2Float | LocShortInt | LocFloatInt => 8,
            LongDouble | DoubleComplex | Loc2Double | LocDoubleInt | LocLongInt => 16,
            LocLongDoubleInt => 32,
        }
    }
}

/// Combines the elements of the second slice (the source) into those of the first (the target). Only whole
/// elements that both slices have are changed.
pub type Reduction = fn(&mut [u8], &[u8]);

/// Combines elements of `N` bytes. Compilers vectorise it for arithmetic on numbers.
#[inline(always)]
fn each<const N: usize>(target: &mut [u8], source: &[u8], combine: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    let (target, source) = (target.as_chunks_mut::<N>().0, source.as_chunks::<N>().0);
    for (target, source) in target.iter_mut().zip(source) {
        *target = combine(*target, *source);
    }
}

/// A reduction by an expression of two numbers.
macro_rules! numbers {
    ($type:ty, |$a:ident, $b:ident| $result:expr) => {
        |target, source| {
            each(target, source, |a, b| {
                let ($a, $b) = (<$type>::from_ne_bytes(a), <$type>::from_ne_bytes(b));
                <$type>::to_ne_bytes($result)
            })
        }
    };
}

fn copy(target: &mut [u8], source: &[u8]) {
    let bytes = target.len().min(source.len());
    target[..bytes].copy_from_slice(&source[..bytes]);
}

macro_rules! integer {
    ($type:ty, $operation:expr) => {{
        let reduction: Reduction = match $operation {
            Operation::Max => numbers!($type, |a, b| a.max(b)),
            Operation::Min => numbers!($type, |a, b| a.min(b)),
            Operation::Sum => numbers!($type, |a, b| a.wrapping_add(b)),
            Operation::Prod => numbers!($type, |a, b| a.wrapping_mul(b)),
            Operation::Band => numbers!($type, |a, b| a & b),
            Operation::Bor => numbers!($type, |a, b| a | b),
            Operation::Bxor => numbers!($type, |a, b| a ^ b),
            other => return logical!($type, other),
        };
        Some(reduction)
    }};
}

macro_rules! logical {
    ($type:ty, $operation:expr) => {{
        let reduction: Reduction = match $operation {
            Operation::Land => numbers!($type, |a, b| <$type>::from(a != 0 && b != 0)),
            Operation::Lor => numbers!($type, |a, b| <$type>::from(a != 0 || b != 0)),
            Operation::Lxor => numbers!($type, |a, b| <$type>::from((a != 0) != (b != 0))),
            _ => return None,
        };
        Some(reduction)
    }};
}

macro_rules! float {
    ($type:ty, $operation:expr) => {{
        let reduction: Reduction = match $operation {
            // As `a > b ? a : b` of C.
            Operation::Max => numbers!($type, |a, b| if b > a { b } else { a }),
            Operation::Min => numbers!($type, |a, b| if b < a { b } else { a }),
            Operation::Sum => numbers!($type, |a, b| a + b),
            Operation::Prod => numbers!($type, |a, b| a * b),
            _ => return None,
        };
        Some(reduction)
    }};
}

/// The product of two complex numbers, each of two floats of `HALF` bytes.
macro_rules! complex {
    ($type:ty, $half:literal, $operation:expr) => {{
        let reduction: Reduction = match $operation {
            Operation::Sum => numbers!($type, |a, b| a + b),
            Operation::Prod => |target, source| {
                each::<{ 2 * $half }>(target, source, |a, b| {
                    let part = |bytes: &[u8; 2 * $half], n: usize| {
                        <$type>::from_ne_bytes(bytes.as_chunks::<$half>().0[n])
                    };
                    let [a, b] = [a, b].map(|x| [part(&x, 0), part(&x, 1)]);
                    let product = [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
                    let mut bytes = [0; 2 * $half];
                    let halves = bytes.as_chunks_mut::<$half>().0;
                    (halves[0], halves[1]) = (product[0].to_ne_bytes(), product[1].to_ne_bytes());
                    bytes
                })
            },
            _ => return None,
        };
        Some(reduction)
    }};
}

/// Pairs of `N` bytes with the value at 0 and the location at `AT`.
macro_rules! located {
    ($value:ty, $location:ty, $at:literal, $bytes:literal, $operation:expr) => {{
        fn parts(pair: &[u8; $bytes]) -> ($value, $location) {
            let value = *pair.first_chunk().expect("the pair has a value");
            let location = *pair[$at..].first_chunk().expect("the pair has a location");
            (<$value>::from_ne_bytes(value), <$location>::from_ne_bytes(location))
        }
        let reduction: Reduction = match $operation {
            Operation::Maxloc => |target, source| {
                each::<$bytes>(target, source, |a, b| {
                    let ((x, at), (y, other)) = (parts(&a), parts(&b));
                    if y > x || y == x && other < at { b } else { a }
                })
            },
            Operation::Minloc => |target, source| {
                each::<$bytes>(target, source, |a, b| {
                    let ((x, at), (y, other)) = (parts(&a), parts(&b));
                    if y < x || y == x && other < at { b } else { a }
                })
            },
            _ => return None,
        };
        Some(reduction)
    }};
}

/// The reduction of an operation and an element; `None` if they do not go together. Arithmetic on `long
/// double` is that of x86-64 only.
pub fn reduction(operation: Operation, element: Element) -> Option<Reduction> {
    use Element::*;
    match operation {
        Operation::Copy => return Some(copy),
        Operation::Noop => return Some(|_, _| {}),
        _ => {}
    }
    match element {
        Byte | UnsignedChar => integer!(u8, operation),
        SignedChar => integer!(i8, operation),
        SignedShort => integer!(i16, operation),
        UnsignedShort => integer!(u16, operation),
        SignedInt => integer!(i32, operation),
        UnsignedInt => integer!(u32, operation),
        SignedLong | SignedLongLong => integer!(i64, operation),
        UnsignedLong | UnsignedLongLong => integer!(u64, operation),
        Float => float!(f32, operation),
        Double => float!(f64, operation),
        Logical1 => logical!(u8, operation),
        Logical2 => logical!(u16, operation),
        Logical4 => logical!(u32, operation),
        Logical8 => logical!(u64, operation),
        SingleComplex => complex!(f32, 4, operation),
        DoubleComplex => complex!(f64, 8, operation),
        Loc2Int => located!(i32, i32, 4, 8, operation),
        Loc2Float => located!(f32, f32, 4, 8, operation),
        Loc2Double => located!(f64, f64, 8, 16, operation),
        LocShortInt => located!(i16, i32, 4, 8, operation),
        LocFloatInt => located!(f32, i32, 4, 8, operation),
        LocDoubleInt => located!(f64, i32, 8, 16, operation),
        LocLongInt => located!(i64, i32, 8, 16, operation),
        LongDouble | LocLongDoubleInt if !cfg!(target_arch = "x86_64") => None,
        LongDouble => extended::reduction(operation),
        LocLongDoubleInt => {
            use extended::Extended;
            located!(Extended, i32, 16, 32, operation)
        }
    }
}

/// `long double` of x86-64: a sign, 15 bits of exponent, 64 bits of significand with its integer bit. Rust
/// has no such type, so sums and products are computed on integers, rounded to the nearest value, ties to
/// even.
mod extended {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reduced(operation: Operation, element: Element, target: &[u8], source: &[u8]) -> Vec<u8> {
        let mut target = target.to_vec();
        reduction(operation, element).unwrap()(&mut target, source);
        target
    }

    /// Compares a reduction of an array with an expression for each element.
    macro_rules! check {
        ($type:ty, [$($element:ident)*], $operation:ident, $a:expr, $b:expr, $naive:expr) => {{
            let naive: fn($type, $type) -> $type = $naive;
            let wanted: Vec<u8> = $a.iter().zip($b).flat_map(|(a, b)| naive(*a, *b).to_ne_bytes()).collect();
            let [a, b]: [Vec<u8>; 2] =
                [$a, $b].map(|list| list.iter().flat_map(|x| x.to_ne_bytes()).collect());
            $(prop_assert_eq!(&reduced(Operation::$operation, Element::$element, &a, &b), &wanted);)*
        }};
    }

    macro_rules! check_integers {
        ($type:ty, $elements:tt, $logical:tt, $a:expr, $b:expr) => {{
            // Zeros among them.
            let a: Vec<$type> = $a.iter().map(|x: &u64| if x % 3 == 0 { 0 } else { *x as $type }).collect();
            let b: Vec<$type> = $b.iter().map(|x: &u64| if x % 5 == 0 { 0 } else { *x as $type }).collect();
            let (a, b) = (&a, &b);
            check!($type, $elements, Max, a, b, |a, b| if a > b { a } else { b });
            check!($type, $elements, Min, a, b, |a, b| if a < b { a } else { b });
            check!($type, $elements, Sum, a, b, |a, b| (i128::from(a) + i128::from(b)) as $type);
            check!($type, $elements, Prod, a, b, |a, b| i128::from(a).wrapping_mul(i128::from(b)) as $type);
            check!($type, $elements, Band, a, b, |a, b| !(!a | !b));
            check!($type, $elements, Bor, a, b, |a, b| !(!a & !b));
            check!($type, $elements, Bxor, a, b, |a, b| (a | b) & !(a & b));
            check_logical!($type, $elements, a, b);
            check_logical!($type, $logical, a, b);
            check!($type, $elements, Copy, a, b, |_, b| b);
            check!($type, $elements, Noop, a, b, |a, _| a);
        }};
    }

    macro_rules! check_logical {
        ($type:ty, $elements:tt, $a:expr, $b:expr) => {{
            check!($type, $elements, Land, $a, $b, |a, b| if a == 0 || b == 0 { 0 } else { 1 });
            check!($type, $elements, Lor, $a, $b, |a, b| if a == 0 && b == 0 { 0 } else { 1 });
            check!($type, $elements, Lxor, $a, $b, |a, b| match (a, b) {
                (0, 0) => 0,
                (0, _) | (_, 0) => 1,
                _ => 0,
            });
        }};
    }

    macro_rules! check_floats {
        ($type:ty, $element:ident, $complex:ident, $a:expr, $b:expr) => {{
            let a: Vec<$type> = $a.iter().map(|x: &u64| *x as i64 as $type / 1e6).collect();
            let b: Vec<$type> = $b.iter().map(|x: &u64| *x as i64 as $type / 1e7).collect();
            let (a, b) = (&a, &b);
            check!($type, [$element], Max, a, b, |a, b| a.max(b));
            check!($type, [$element], Min, a, b, |a, b| a.min(b));
            check!($type, [$element], Sum, a, b, |a, b| a + b);
            check!($type, [$complex], Sum, &a[..a.len() / 2 * 2], b, |a, b| a + b);
            check!($type, [$element], Prod, a, b, |a, b| a * b);
            let [x, y]: [Vec<u8>; 2] = [a, b].map(|list| list.iter().flat_map(|x| x.to_ne_bytes()).collect());
            let product = reduced(Operation::Prod, Element::$complex, &x, &y);
            for (n, (a, b)) in a.chunks_exact(2).zip(b.chunks_exact(2)).enumerate() {
                let wanted = [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
                let bytes: Vec<u8> = wanted.iter().flat_map(|x| x.to_ne_bytes()).collect();
                prop_assert_eq!(&product[n * bytes.len()..][..bytes.len()], &bytes[..]);
            }
        }};
    }

    macro_rules! check_located {
        ($value:ty, $location:ty, $element:ident, $at:expr, $a:expr, $b:expr) => {{
            let bytes = Element::$element.bytes();
            let pack = |list: &[(i16, u8)]| {
                let mut all = vec![0xaa; list.len() * bytes];
                for (pair, (value, location)) in all.chunks_exact_mut(bytes).zip(list) {
                    let value = (*value as $value).to_ne_bytes();
                    let location = (*location as $location).to_ne_bytes();
                    pair[..value.len()].copy_from_slice(&value);
                    pair[$at..$at + location.len()].copy_from_slice(&location);
                }
                all
            };
            for (operation, sign) in [(Operation::Maxloc, 1), (Operation::Minloc, -1)] {
                let wanted: Vec<(i16, u8)> = $a
                    .iter()
                    .zip($b.iter())
                    .map(|(a, b)| *[a, b].into_iter().min_by_key(|x| (-sign * i32::from(x.0), x.1)).unwrap())
                    .collect();
                let got = reduced(operation, Element::$element, &pack(&$a), &pack(&$b));
                prop_assert_eq!(got, pack(&wanted), "{:?}", Element::$element);
            }
        }};
    }

    proptest! {
        #[test]
        fn integers_and_logical_values(lists in prop::collection::vec((any::<u64>(), any::<u64>()), 0..70)) {
            let (a, b): (Vec<u64>, Vec<u64>) = lists.into_iter().unzip();
            check_integers!(u8, [Byte UnsignedChar], [Logical1], a, b);
            check_integers!(i8, [SignedChar], [Logical1], a, b);
            check_integers!(u16, [UnsignedShort], [Logical2], a, b);
            check_integers!(i16, [SignedShort], [Logical2], a, b);
            check_integers!(u32, [UnsignedInt], [Logical4], a, b);
            check_integers!(i32, [SignedInt], [Logical4], a, b);
            check_integers!(u64, [UnsignedLong UnsignedLongLong], [Logical8], a, b);
            check_integers!(i64, [SignedLong SignedLongLong], [Logical8], a, b);
        }

        #[test]
        fn floats_and_complex_numbers(lists in prop::collection::vec((any::<u64>(), any::<u64>()), 0..70)) {
            let (a, b): (Vec<u64>, Vec<u64>) = lists.into_iter().unzip();
            check_floats!(f32, Float, SingleComplex, a, b);
            check_floats!(f64, Double, DoubleComplex, a, b);
        }

        #[test]
        fn of_equal_values_the_lower_location_counts(
            lists in prop::collection::vec(((-3i16..3, any::<u8>()), (-3i16..3, any::<u8>())), 0..40),
        ) {
            let (a, b): (Vec<_>, Vec<_>) = lists.into_iter().unzip();
            check_located!(i32, i32, Loc2Int, 4, a, b);
            check_located!(f32, f32, Loc2Float, 4, a, b);
            check_located!(f64, f64, Loc2Double, 8, a, b);
            check_located!(i16, i32, LocShortInt, 4, a, b);
            check_located!(f32, i32, LocFloatInt, 4, a, b);
            check_located!(f64, i32, LocDoubleInt, 8, a, b);
            check_located!(i64, i32, LocLongInt, 8, a, b);
        }

        /// Sums and products of doubles that `long double` holds exactly.
        #[test]
        fn long_doubles(lists in prop::collection::vec((any::<i32>(), any::<i32>(), -40i32..40), 1..20)) {
            if cfg!(target_arch = "x86_64") {
                for (a, b, scale) in lists {
                    let scale = f64::from(scale).exp2();
                    let (a, b) = (f64::from(a) * scale, f64::from(b) * scale);
                    let [x, y] = [a, b].map(|x| extended(x, 0));
                    for (operation, wanted) in [
                        (Operation::Sum, a + b),
                        (Operation::Max, a.max(b)),
                        (Operation::Min, a.min(b)),
                    ] {
                        prop_assert_eq!(reduced(operation, Element::LongDouble, &x, &y), extended(wanted, 0));
                    }
                    // 62 bits: more than a double has.
                    let product = i128::from((a / scale) as i64) * i128::from((b / scale) as i64);
                    let got = reduced(Operation::Prod, Element::LongDouble, &x, &y);
                    let significand = u64::from_le_bytes(*got.first_chunk().unwrap());
                    let zeros = product.unsigned_abs().leading_zeros();
                    let wanted = if product == 0 { 0 } else { (product.unsigned_abs() << zeros >> 64) as u64 };
                    prop_assert_eq!(significand, wanted);
                    prop_assert_eq!(got[9] >> 7 == 1, a.is_sign_negative() != b.is_sign_negative());
                    let located = |value: f64, at: i32| {
                        let mut pair = [extended(value, 0), vec![0; 16]].concat();
                        pair[16..20].copy_from_slice(&at.to_ne_bytes());
                        pair
                    };
                    for (operation, best) in [(Operation::Maxloc, a.max(b)), (Operation::Minloc, a.min(b))] {
                        let at = if a == b { 3 } else if best == a { 7 } else { 3 };
                        let got = reduced(operation, Element::LocLongDoubleInt, &located(a, 7), &located(b, 3));
                        prop_assert_eq!(got, located(best, at));
                    }
                }
            }
        }
    }

    /// A double as a `long double`, with this added to its exponent.
    fn extended(value: f64, scale: i32) -> Vec<u8> {
        let bits = value.to_bits();
        let (sign, exponent, fraction) = ((bits >> 63) as u16, (bits >> 52 & 0x7ff) as i32, bits << 12 >> 1);
        let (exponent, significand) = match exponent {
            0 => (0, 0),
            0x7ff => (0x7fff, fraction | 1 << 63),
            normal => (normal - 1023 + 16383 + scale, fraction | 1 << 63),
        };
        let mut bytes = vec![0; 16];
        bytes[..8].copy_from_slice(&significand.to_le_bytes());
        bytes[8..10].copy_from_slice(&(exponent as u16 | sign << 15).to_le_bytes());
        bytes
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn long_doubles_round_and_overflow() {
        let sum = |a: &[u8], b: &[u8]| reduced(Operation::Sum, Element::LongDouble, a, b);
        let product = |a: &[u8], b: &[u8]| reduced(Operation::Prod, Element::LongDouble, a, b);
        let one = extended(1.0, 0);
        // Half of the last bit: to even, which is 1; more than half: up.
        assert_eq!(sum(&one, &extended(1.0, -64)), one);
        assert_ne!(sum(&one, &extended(1.5, -64)), one);
        assert_eq!(sum(&one, &extended(-1.0, -200)), one);
        assert_eq!(sum(&one, &extended(-1.0, 0)), extended(0.0, 0));
        let infinite = extended(f64::INFINITY, 0);
        assert_eq!(product(&extended(2.0, 16000), &extended(2.0, 16000)), infinite);
        assert_eq!(sum(&infinite, &one), infinite);
        let is_nan = |x: Vec<u8>| x[8..10] == [0xff, 0xff] && x[7] == 0xc0;
        assert!(is_nan(sum(&infinite, &extended(f64::NEG_INFINITY, 0))));
        assert!(is_nan(product(&infinite, &extended(0.0, 0))));
        // The lowest value, half of it, and 0.75 of it.
        let least = product(&extended(1.0, -16382), &extended(1.0, -63));
        assert_eq!(least[..10], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(product(&least, &extended(0.5, 0)), extended(0.0, 0));
        assert_eq!(product(&least, &extended(0.75, 0)), least);
        assert_eq!(sum(&least, &least)[..10], [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        // NaN is neither greater nor lower.
        let nan = extended(f64::NAN, 0);
        assert_eq!(reduced(Operation::Max, Element::LongDouble, &one, &nan), one);
    }

    #[test]
    fn pairs_that_the_interface_does_not_allow_have_no_reduction() {
        use Operation::*;
        let allowed = |element: Element| -> &[Operation] {
            match element as usize {
                0..=10 => &[Copy, Noop, Max, Min, Sum, Prod, Land, Lor, Lxor, Band, Bor, Bxor],
                11..=13 => &[Copy, Noop, Max, Min, Sum, Prod],
                14..=17 => &[Copy, Noop, Land, Lor, Lxor],
                18..=19 => &[Copy, Noop, Sum, Prod],
                _ => &[Copy, Noop, Maxloc, Minloc],
            }
        };
        for (n, element) in ELEMENTS.into_iter().enumerate() {
            assert_eq!(element as usize, n);
            for (n, operation) in OPERATIONS.into_iter().enumerate() {
                assert_eq!(operation as usize, n);
                let exists = reduction(operation, element).is_some();
                assert_eq!(exists, allowed(element).contains(&operation), "{operation:?} {element:?}");
            }
        }
    }

    #[test]
    fn what_is_not_a_whole_element_stays() {
        let mut target = [1u8; 11];
        reduction(Operation::Sum, Element::SignedInt).unwrap()(&mut target, &[1; 9]);
        assert_eq!(target, [2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1]);
    }
}
