//! Integers of any word length, as the network's ALUs process them: big-endian, four bytes at a time (section
//! II.C: "the ALUs operate at link speed, 4 B per network cycle").

use super::header::Operation;

/// Combines the words of `data` with those of `other`, in place; returns whether a sum overflowed.
pub(super) fn combine(operation: Operation, word: usize, data: &mut [u8], other: &[u8]) -> bool {
    let pairs = data.chunks_exact_mut(word).zip(other.chunks_exact(word));
    match operation {
        Operation::And => bitwise(data, other, |a, b| a & b),
        Operation::Or => bitwise(data, other, |a, b| a | b),
        Operation::Xor => bitwise(data, other, |a, b| a ^ b),
        Operation::AddUnsigned => return pairs.fold(false, |any, (a, b)| add(a, b).carry | any),
        Operation::AddSigned => return pairs.fold(false, |any, (a, b)| add(a, b).overflow | any),
        Operation::MinUnsigned => pairs.for_each(|(a, b)| keep(a, b, |a, b| b < a)),
        Operation::MaxUnsigned => pairs.for_each(|(a, b)| keep(a, b, |a, b| b > a)),
        Operation::MinSigned => pairs.for_each(|(a, b)| keep(a, b, |a, b| signed(b) < signed(a))),
        Operation::MaxSigned => pairs.for_each(|(a, b)| keep(a, b, |a, b| signed(b) > signed(a))),
        Operation::AddDouble | Operation::MinDouble | Operation::MaxDouble => {
            unreachable!("the floating-point unit handles these")
        }
    }
    false
}

fn bitwise(data: &mut [u8], other: &[u8], f: impl Fn(u8, u8) -> u8) {
    data.iter_mut().zip(other).for_each(|(a, b)| *a = f(*a, *b));
}

/// Unsigned big-endian integers compare as their bytes do.
fn keep(a: &mut [u8], b: &[u8], is_better: impl Fn(&[u8], &[u8]) -> bool) {
    if is_better(a, b) {
        a.copy_from_slice(b);
    }
}

/// With the sign bit inverted, two's complement integers compare as bytes too.
fn signed(word: &[u8]) -> (u8, &[u8]) {
    (word[0] ^ 0x80, &word[1..])
}

struct Sum {
    carry: bool,
    overflow: bool,
}

/// Adds a word to another, starting with the last four bytes.
fn add(a: &mut [u8], b: &[u8]) -> Sum {
    let (sign_a, sign_b) = (a[0] >> 7, b[0] >> 7);
    let mut carry = 0;
    for (a, b) in a.chunks_exact_mut(4).zip(b.chunks_exact(4)).rev() {
        let value = |four: &[u8]| u64::from(u32::from_be_bytes(four.try_into().expect("four bytes")));
        let sum = value(a) + value(b) + carry;
        a.copy_from_slice(&(sum as u32).to_be_bytes());
        carry = sum >> 32;
    }
    // If both terms have the same sign, a sum with the other sign has overflowed.
    Sum { carry: carry != 0, overflow: sign_a == sign_b && a[0] >> 7 != sign_a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of<const N: usize>(operation: Operation, a: [u8; N], b: [u8; N]) -> ([u8; N], bool) {
        let mut data = a;
        let flag = combine(operation, N, &mut data, &b);
        (data, flag)
    }

    proptest! {
        /// Equal to the processor's own 8 B and 16 B integers.
        #[test]
        fn words_are_integers(a: i64, b: i64, c: u128, d: u128) {
            let (sum, flag) = of(Operation::AddSigned, a.to_be_bytes(), b.to_be_bytes());
            prop_assert_eq!((i64::from_be_bytes(sum), flag), a.overflowing_add(b));
            let (sum, flag) = of(Operation::AddUnsigned, c.to_be_bytes(), d.to_be_bytes());
            prop_assert_eq!((u128::from_be_bytes(sum), flag), c.overflowing_add(d));
            let of8 = |op| i64::from_be_bytes(of(op, a.to_be_bytes(), b.to_be_bytes()).0);
            prop_assert_eq!((of8(Operation::MinSigned), of8(Operation::MaxSigned)), (a.min(b), a.max(b)));
            prop_assert_eq!([of8(Operation::And), of8(Operation::Or), of8(Operation::Xor)], [a & b, a | b, a ^ b]);
            let of16 = |op| u128::from_be_bytes(of(op, c.to_be_bytes(), d.to_be_bytes()).0);
            prop_assert_eq!((of16(Operation::MinUnsigned), of16(Operation::MaxUnsigned)), (c.min(d), c.max(d)));
        }
    }

    /// A carry propagates through a word, but not into the next.
    #[test]
    fn a_word_of_512_bytes_is_one_integer() {
        let mut one = [0u8; 512];
        one[511] = 1;
        let (sum, flag) = of(Operation::AddUnsigned, [0xff; 512], one);
        assert_eq!((sum, flag), ([0; 512], true));
        let mut data = [0xff; 512];
        assert!(combine(Operation::AddUnsigned, 4, &mut data, &one));
        assert_eq!((&data[..508], &data[508..]), (&[0xff; 508][..], &[0; 4][..]));
    }
}
