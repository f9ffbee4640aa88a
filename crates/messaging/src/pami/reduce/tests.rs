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
