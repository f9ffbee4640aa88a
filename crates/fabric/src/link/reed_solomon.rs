//! Reed-Solomon codes over symbols of 10 bits, which Blue Gene/Q uses at the end of a packet instead of a CRC
//! (Chen et al., section II.F).
//!
//! An error on an optical link is a burst (a whole byte, see `eight_ten.rs`), and most CRCs do not guarantee
//! to detect two bursts in a packet. A code over symbols counts a burst as the few symbols that it touches.
//! The paper gives the widths: five symbols per hop over the whole packet, which detect any five symbols in
//! error and miss `2^-50` of all other errors, and one end-to-end symbol over the part that does not change.
//!
//! **(ours)**: the field's polynomial, `x^10 + x^3 + 1`, and the root `alpha = x`; the generators' roots are
//! consecutive powers, `alpha^0` first. The paper names neither; these are those of Ethernet's RS(528, 514)
//! (IEEE 802.3, clause 91).
//!
//! Why it detects these errors: a packet is a polynomial over the field, with its last symbol as the
//! coefficient of `x^0`; with valid check symbols it is a multiple of the generator, whose roots are `n`
//! consecutive powers of `alpha`. An error of weight `w` goes undetected if it is itself a multiple, that is
//! if `w` columns of a Vandermonde matrix with `n` rows are dependent: impossible for `w <= n` as long as the
//! powers of `alpha` do not repeat, which 1,023 symbols allow. Whatever the other symbols are, exactly one
//! value of the last `n` gives a multiple: one in `2^(10 n)` random packets goes undetected.

/// Bits of a symbol.
pub const SYMBOL_BITS: usize = 10;
/// Symbols of the longest packet for which this guarantee holds.
pub const LONGEST: usize = ORDER;
/// Nonzero elements of the field.
const ORDER: usize = 1023;
/// The field's polynomial.
const POLYNOMIAL: u16 = 1 << 10 | 1 << 3 | 1;

/// Powers of `alpha`, stored twice so that a sum of two logarithms needs no reduction.
const POWERS: [u16; 2 * ORDER] = {
    let mut table = [0; 2 * ORDER];
    let (mut i, mut power) = (0, 1);
    while i < 2 * ORDER {
        table[i] = power;
        power <<= 1;
        if power >> SYMBOL_BITS != 0 {
            power ^= POLYNOMIAL;
        }
        i += 1;
    }
    table
};

/// Logarithms to the base `alpha`; that of zero is never read.
const LOGARITHMS: [u16; ORDER + 1] = {
    let mut table = [0; ORDER + 1];
    let mut i = 0;
    while i < ORDER {
        table[POWERS[i] as usize] = i as u16;
        i += 1;
    }
    table
};

/// Product in the field of `2^10` elements. Both below 1,024.
pub const fn multiply(a: u16, b: u16) -> u16 {
    if a == 0 || b == 0 {
        return 0;
    }
    POWERS[LOGARITHMS[a as usize] as usize + LOGARITHMS[b as usize] as usize]
}

/// `alpha` to a power below 2,046.
pub const fn power(exponent: usize) -> u16 {
    POWERS[exponent]
}

/// A code with `CHECKS` check symbols.
#[derive(Clone, Copy, Debug)]
pub struct ReedSolomon<const CHECKS: usize> {
    /// The generator's coefficients from high to low, without the leading 1.
    generator: [u16; CHECKS],
}

impl<const CHECKS: usize> ReedSolomon<CHECKS> {
    /// The code whose generator has the roots `alpha^first` to `alpha^(first + CHECKS - 1)`.
    pub const fn new(first: usize) -> Self {
        let mut generator = [0; CHECKS];
        let mut degree = 0;
        while degree < CHECKS {
            // Multiplied by (x + root). The coefficients so far are the last `degree` of the array, after a
            // leading 1.
            let root = POWERS[first + degree];
            let mut i = CHECKS - degree - 1;
            let mut above = 1;
            while i < CHECKS {
                let next = if i + 1 < CHECKS { generator[i + 1] } else { 0 };
                generator[i] = next ^ multiply(root, above);
                above = next;
                i += 1;
            }
            degree += 1;
        }
        ReedSolomon { generator }
    }

    /// The generator's coefficients from high to low, without the leading 1.
    pub fn generator(&self) -> [u16; CHECKS] {
        self.generator
    }

    /// The remainder of a packet, first symbol first, divided by the generator.
    ///
    /// With zeros in place of the check symbols, the remainder is the check symbols; with the check symbols,
    /// it is zero unless there is a detectable error. Symbols are below 1,024, and at most [`LONGEST`] of
    /// them.
    pub fn remainder(&self, symbols: impl IntoIterator<Item = u16>) -> [u16; CHECKS] {
        symbols.into_iter().fold([0; CHECKS], |mut rest, symbol| {
            let over = rest[0];
            rest.rotate_left(1);
            rest[CHECKS - 1] = symbol;
            for (r, &g) in rest.iter_mut().zip(&self.generator) {
                *r ^= multiply(over, g);
            }
            rest
        })
    }

    /// Whether a packet with its check symbols has no detectable error.
    pub fn intact(&self, symbols: impl IntoIterator<Item = u16>) -> bool {
        self.remainder(symbols) == [0; CHECKS]
    }
}

/// Bytes as symbols, high bits first, aligned to the end of the bytes: if the bits do not fill it, the first
/// symbol is padded with leading zeros (a shortened code is one whose first symbols are zero and not sent).
pub fn symbols(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    let bits = 8 * bytes.len();
    let first = bits % SYMBOL_BITS;
    let ends = (first..=bits).step_by(SYMBOL_BITS).filter(|&end| end > 0);
    ends.map(move |end| {
        // A symbol spans at most three bytes.
        let last = (end - 1) / 8;
        let word = (last.saturating_sub(2)..=last).fold(0u32, |word, i| word << 8 | u32::from(bytes[i]));
        let begin = end.saturating_sub(SYMBOL_BITS);
        ((word >> (8 * (last + 1) - end)) & ((1 << (end - begin)) - 1)) as u16
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOP: ReedSolomon<5> = ReedSolomon::new(0);
    /// Symbols of the longest packet: 552 B.
    const PACKET: usize = 442;

    /// Product by shift and add, without tables.
    fn product(a: u16, b: u16) -> u16 {
        let mut sum = 0u32;
        for bit in 0..10 {
            sum ^= if b >> bit & 1 != 0 { u32::from(a) << bit } else { 0 };
        }
        for bit in (10..20).rev() {
            sum ^= if sum >> bit & 1 != 0 { u32::from(POLYNOMIAL) << (bit - 10) } else { 0 };
        }
        sum as u16
    }

    /// A packet's value at a power of alpha: zero at all of the generator's roots if and only if it is a
    /// multiple.
    fn value(symbols: &[u16], exponent: usize) -> u16 {
        symbols.iter().fold(0, |sum, &s| product(sum, power(exponent)) ^ s)
    }

    fn protected<const N: usize>(code: ReedSolomon<N>, mut packet: Vec<u16>) -> Vec<u16> {
        let n = packet.len() - N;
        packet[n..].fill(0);
        let checks = code.remainder(packet.iter().copied());
        packet[n..].copy_from_slice(&checks);
        packet
    }

    #[test]
    fn the_polynomial_is_primitive_and_tables_multiply() {
        let mut seen: Vec<u16> = POWERS[..ORDER].to_vec();
        seen.sort_unstable();
        assert!(seen.iter().enumerate().all(|(i, &s)| usize::from(s) == i + 1), "a power comes twice");
        for a in 0..1024 {
            for b in (0..1024).step_by(7) {
                assert_eq!(multiply(a, b), product(a, b));
            }
        }
    }

    #[test]
    fn the_generator_has_its_roots_and_no_others() {
        for (first, polynomial) in [(0, HOP.generator()), (3, ReedSolomon::<5>::new(3).generator())] {
            let whole: Vec<u16> = [1].into_iter().chain(polynomial).collect();
            let roots: Vec<usize> = (0..ORDER).filter(|&e| value(&whole, e) == 0).collect();
            assert_eq!(roots, (first..first + 5).collect::<Vec<_>>());
        }
        // One check symbol with root alpha^5.
        assert_eq!(ReedSolomon::<1>::new(5).generator(), [32]);
    }

    #[test]
    fn the_last_five_symbols_take_each_value_once() {
        // The remainder of a value in the last five symbols is that value. So for any other symbols one of
        // the 2^50 values passes, and 2^-50 is the fraction of random packets that do.
        for (place, value) in [(0, 1), (1, 513), (2, 1023), (3, 2), (4, 700)] {
            let mut packet = vec![0; PACKET];
            packet[PACKET - 5 + place] = value;
            let mut expected = [0; 5];
            expected[place] = value;
            assert_eq!(HOP.remainder(packet), expected);
        }
    }

    #[test]
    fn every_error_of_one_symbol_is_seen_in_the_longest_packet() {
        for place in 0..PACKET {
            for error in 1..1024 {
                // The code is linear: detection does not depend on the packet.
                let error = [error].into_iter().chain(std::iter::repeat_n(0, PACKET - 1 - place));
                assert!(!HOP.intact(error));
            }
        }
    }

    #[test]
    fn six_symbols_can_escape() {
        // The generator itself: a code of distance 6 has words of weight 6; with distance 7 this test would
        // fail.
        let mut packet = protected(HOP, (0..PACKET as u16).map(|i| i * 37 % 1024).collect());
        let places = [1].into_iter().chain(HOP.generator());
        for (i, error) in places.enumerate() {
            assert_ne!(error, 0);
            packet[100 + i] ^= multiply(error, 345);
        }
        assert!(HOP.intact(packet.iter().copied()));
        packet[100] ^= 1;
        assert!(!HOP.intact(packet));
    }

    #[test]
    fn bytes_are_cut_from_the_end() {
        assert_eq!(symbols(&[]).count(), 0);
        // 40 bits: 4 symbols. 0000000100 1000110100 0101011001 1110001001
        assert_eq!(symbols(&[0x01, 0x23, 0x45, 0x67, 0x89]).collect::<Vec<_>>(), [4, 564, 345, 905]);
        // 24 bits: 4 and twice 10. 1111 0000000011 1111111111
        assert_eq!(symbols(&[0xf0, 0x0f, 0xff]).collect::<Vec<_>>(), [15, 3, 1023]);
        assert_eq!(symbols(&[0xab]).collect::<Vec<_>>(), [0xab]);
        assert_eq!(symbols(&[0; 552]).count(), PACKET);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn check_symbols_make_roots(seed in any::<u64>(), length in 6usize..PACKET) {
            let packet = (0..length).map(|i| (seed.rotate_left(i as u32 * 7) >> (i % 50)) as u16 % 1024).collect();
            let packet = protected(HOP, packet);
            prop_assert!(HOP.intact(packet.iter().copied()));
            for exponent in 0..5 {
                prop_assert_eq!(value(&packet, exponent), 0);
            }
        }

        #[test]
        fn any_five_symbols_in_error_are_seen(
            errors in proptest::collection::btree_map(0..PACKET, 1u16..1024, 1..=5),
            seed in any::<u16>(),
        ) {
            let mut packet = protected(HOP, (0..PACKET as u16).map(|i| i.wrapping_mul(seed | 1) % 1024).collect());
            for (place, error) in errors {
                packet[place] ^= error;
            }
            prop_assert!(!HOP.intact(packet));
        }

        #[test]
        fn a_burst_of_41_bits_touches_five_symbols_and_is_seen(
            start in 0usize..8 * 552 - 41, burst in 1u64..1 << 41,
        ) {
            let mut error = vec![0u8; 552];
            for bit in 0..41 {
                if burst >> bit & 1 != 0 {
                    error[(start + bit) / 8] |= 0x80 >> ((start + bit) % 8);
                }
            }
            prop_assert!(symbols(&error).filter(|&s| s != 0).count() <= 5);
            prop_assert!(!HOP.intact(symbols(&error)));
        }

        #[test]
        fn garbage_does_not_pass(bytes in proptest::collection::vec(any::<u8>(), 40..=552)) {
            prop_assert!(!HOP.intact(symbols(&bytes)));
        }

        #[test]
        fn what_escapes_is_a_multiple_of_the_generator(
            factor in proptest::collection::vec(0u16..1024, 1..30), shift in 0usize..400,
        ) {
            // The code is linear: a packet with an error passes if and only if the error by itself would.
            let mut error = vec![0; factor.len() + 5];
            for (i, &f) in factor.iter().enumerate() {
                error[i] ^= f;
                for (j, g) in HOP.generator().into_iter().enumerate() {
                    error[i + 1 + j] ^= product(f, g);
                }
            }
            error.resize(error.len() + shift, 0);
            let mut packet = protected(HOP, (0..error.len() as u16).map(|i| i * 5 % 1024).collect());
            for (symbol, error) in packet.iter_mut().zip(&error) {
                *symbol ^= error;
            }
            prop_assert!(HOP.intact(packet.iter().copied()));
            packet[error.len() / 2] ^= 1;
            prop_assert!(!HOP.intact(packet));
        }
    }
}
