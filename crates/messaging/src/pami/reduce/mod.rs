//! Predefined reductions: `target = target OP source`, element by element, on bytes in the machine's order.

mod extended;
#[cfg(test)]
mod tests;

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
