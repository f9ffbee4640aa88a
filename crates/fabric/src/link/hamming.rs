//! Codes with eight check bits and a minimum distance of four: the check of Blue Gene/Q's network header,
//! which detects any three errors, and the "single bit correct, double bit detect" of its buffers (Chen et
//! al., section II.F). Distance four allows either use.
//!
//! **(ours)**: the matrices, which the paper does not give. Both use Hsiao's columns ("A class of optimal
//! minimum odd-weight-column SEC-DED codes", IBM J. Res. Dev. 14, 1970): the change in the check that a bit
//! error causes has an odd number of ones. Two different columns have a nonzero sum, and the sum of three odd
//! ones is odd, so one, two and three errors are all detected. The columns are ordered by weight (3, 5, 7),
//! then by value.

/// The change in the check that each data bit causes. All bytes with an odd number of ones, except those with
/// a single one, which belong to the check bits.
const COLUMNS: [u8; 120] = {
    let mut table = [0; 120];
    let (mut n, mut weight) = (0, 3);
    while weight < 8 {
        let mut byte = 0;
        while byte < 256 {
            if (byte as u8).count_ones() == weight {
                table[n] = byte as u8;
                n += 1;
            }
            byte += 1;
        }
        weight += 2;
    }
    table
};

/// Bytes that one check can cover: a header of 12 B, with or without the check itself.
pub const HEADER_MAX: usize = COLUMNS.len() / 8;

/// The check of a header's bytes. Any three errors in bytes and check together are detected.
///
/// # Panics
/// If there are more than [`HEADER_MAX`] bytes.
pub fn header_check(bytes: &[u8]) -> u8 {
    assert!(bytes.len() <= HEADER_MAX, "{} B are more than eight check bits can cover", bytes.len());
    let set = |i: &usize| bytes[i / 8] & 0x80 >> (i % 8) != 0;
    (0..8 * bytes.len()).filter(set).fold(0, |check, i| check ^ COLUMNS[i])
}

/// The check of a word of 64 bits in a buffer.
pub fn word_check(word: u64) -> u8 {
    let (mut rest, mut check) = (word, 0);
    while rest != 0 {
        check ^= COLUMNS[rest.trailing_zeros() as usize];
        rest &= rest - 1;
    }
    check
}

/// The result of reading a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The word as written.
    Intact(u64),
    /// One bit of word or check was wrong; this is the word as written.
    Corrected(u64),
    /// At least two bits were wrong. The word as written is lost.
    Uncorrectable,
}

/// Reads a word with its check: corrects one error and detects two. (Three errors look like one, as far as
/// Hsiao's columns in use allow.)
pub fn read_word(word: u64, check: u8) -> Read {
    let syndrome = word_check(word) ^ check;
    match syndrome.count_ones() {
        0 => Read::Intact(word),
        1 => Read::Corrected(word),
        n if n % 2 == 1 => match COLUMNS[..64].iter().position(|&column| column == syndrome) {
            Some(bit) => Read::Corrected(word ^ 1 << bit),
            None => Read::Uncorrectable,
        },
        _ => Read::Uncorrectable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Syndromes of all single errors of bytes and their check.
    fn singles(bytes: &[u8]) -> Vec<u8> {
        let good = header_check(bytes);
        let mut bytes = bytes.to_vec();
        let mut list = vec![];
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
            list.push(header_check(&bytes) ^ good);
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
        }
        list.extend((0..8).map(|bit| 1 << bit));
        list
    }

    #[test]
    fn one_two_and_three_errors_of_a_header_are_all_seen() {
        let header = [0x02, 0x10, 0x84, 0x13, 0, 0x20, 0x40, 0x81, 0x50, 0, 77, 0xff];
        let list = singles(&header);
        assert_eq!(list.len(), 104);
        let mut counts = [0; 3];
        for (i, a) in list.iter().enumerate() {
            counts[0] += u32::from(*a != 0);
            for (j, b) in list[..i].iter().enumerate() {
                counts[1] += u32::from(a ^ b != 0);
                counts[2] += list[..j].iter().filter(|&c| a ^ b ^ c != 0).count() as u32;
            }
        }
        assert_eq!(counts, [104, 5_356, 182_104]);
    }

    #[test]
    fn errors_of_a_header_add_up() {
        // Assumptions of the test above.
        let header = [0x5a; 12];
        let list = singles(&header);
        let mut bad = header;
        let mut expected = 0;
        for bit in (0..96).map(|i| i * 35 % 96) {
            bad[bit / 8] ^= 0x80 >> (bit % 8);
            expected ^= list[bit];
            assert_eq!(header_check(&bad) ^ header_check(&header), expected);
        }
    }

    #[test]
    fn four_errors_of_a_header_can_escape() {
        let list = singles(&[0; 12]);
        let pairs = |list: &[u8]| {
            let n = list.len();
            (0..n).any(|i| (0..i).any(|j| (0..j).any(|k| list[..k].contains(&(list[i] ^ list[j] ^ list[k])))))
        };
        assert!(pairs(&list));
    }

    #[test]
    fn one_error_of_a_word_is_corrected_and_two_are_seen() {
        for word in [0, u64::MAX, 0x0123_4567_89ab_cdef] {
            let check = word_check(word);
            let flip = |bits: &[u32]| {
                let (mut w, mut c) = (word, check);
                for &bit in bits {
                    if bit < 64 { w ^= 1 << bit } else { c ^= 1 << (bit - 64) }
                }
                read_word(w, c)
            };
            assert_eq!(flip(&[]), Read::Intact(word));
            for a in 0..72 {
                assert_eq!(flip(&[a]), Read::Corrected(word), "bit {a}");
                for b in 0..a {
                    assert_eq!(flip(&[a, b]), Read::Uncorrectable, "bits {a} and {b}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn words_come_back(word in any::<u64>(), other in any::<u64>()) {
            prop_assert_eq!(read_word(word, word_check(word)), Read::Intact(word));
            prop_assert_eq!(word_check(word) ^ word_check(other), word_check(word ^ other));
        }
    }
}
