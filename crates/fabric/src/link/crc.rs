//! The 24-bit CRC at the end of a packet, and the 8-bit check of its header.
//!
//! The paper gives only the width of BlueGene/L's CRC (section 2). The polynomial here is that of OpenPGP
//! (RFC 9580, section 6.1, as is the start value): `x^24 + x^23 + x^18 + x^17 + x^14 + x^11 + x^10 + x^7 +
//! x^6 + x^5 + x^4 + x^3 + x + 1`. It has `x + 1` as a factor, so it detects every odd number of errors, and
//! any two errors within the length of a packet; like every 24-bit CRC it detects all bursts of up to 24
//! bits.
//!
//! This module also has the 64-bit CRC of all packets that a link has carried (Chen et al., section II.F,
//! which says that BlueGene/L has one as well; Blue Gene/Q's registers for it have 64 bits: nd_rese_dcr.h).
//! Its polynomial is that of ECMA-182 **(ours)**.

/// OpenPGP's polynomial, less its highest term.
const POLYNOMIAL: u32 = 0x0086_4cfb;
/// Its start value.
const START: u32 = 0x00b7_04ce;
/// Polynomial of the header check: `x^8 + x^2 + x + 1`, as in ATM's cell header (ITU-T I.432.1).
const HEADER_POLYNOMIAL: u8 = 0x07;

/// ECMA-182's polynomial of degree 64, less its highest term.
const LINK_POLYNOMIAL: u64 = 0x42f0_e1eb_a9ea_3693;

const LINK_TABLE: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut word = (byte as u64) << 56;
        let mut bit = 0;
        while bit < 8 {
            word = word << 1 ^ if word >> 63 != 0 { LINK_POLYNOMIAL } else { 0 };
            bit += 1;
        }
        table[byte] = word;
        byte += 1;
    }
    table
};

/// The remainder of each byte value.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut word = (byte as u32) << 16;
        let mut bit = 0;
        while bit < 8 {
            word <<= 1;
            if word >> 24 != 0 {
                word ^= 1 << 24 | POLYNOMIAL;
            }
            bit += 1;
        }
        table[byte] = word;
        byte += 1;
    }
    table
};

const HEADER_TABLE: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut word = byte as u8;
        let mut bit = 0;
        while bit < 8 {
            word = word << 1 ^ if word & 0x80 != 0 { HEADER_POLYNOMIAL } else { 0 };
            bit += 1;
        }
        table[byte] = word;
        byte += 1;
    }
    table
};

/// The CRC of a packet's bytes, in the low 24 bits.
pub fn crc24(bytes: &[u8]) -> u32 {
    let step =
        |crc: u32, &byte: &u8| crc << 8 & 0x00ff_ffff ^ TABLE[(crc >> 16) as usize ^ usize::from(byte)];
    bytes.iter().fold(START, step)
}

/// The check of a header's first bytes.
pub fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |crc, byte| HEADER_TABLE[usize::from(crc ^ byte)])
}

/// Extends a CRC over all bytes so far (0 for none) by more bytes.
pub fn crc64(so_far: u64, bytes: &[u8]) -> u64 {
    let step = |crc: u64, &byte: &u8| crc << 8 ^ LINK_TABLE[(crc >> 56) as usize ^ usize::from(byte)];
    bytes.iter().fold(so_far, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full packet before its trailer.
    fn packet() -> Vec<u8> {
        (0..256u32).map(|i| ((i * 167) >> 3) as u8 ^ i as u8).collect()
    }

    /// The change in the difference between computed and received CRC that an error in each bit of packet and
    /// CRC causes.
    fn syndromes() -> Vec<u32> {
        let mut bytes = packet();
        let good = crc24(&bytes);
        let mut list = vec![];
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
            list.push(crc24(&bytes) ^ good);
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
        }
        list.extend((0..24).rev().map(|bit| 1 << bit));
        list
    }

    #[test]
    fn published_check_values() {
        // "123456789": CRC-24/OPENPGP and CRC-8/SMBUS of the catalogue of parametrised CRC algorithms.
        assert_eq!(crc24(b"123456789"), 0x0021_cf02);
        assert_eq!(crc8(b"123456789"), 0xf4);
        assert_eq!(crc24(b""), START);
        // CRC-64/ECMA-182 of the same catalogue.
        assert_eq!(crc64(0, b"123456789"), 0x6c40_df5f_0b49_7347);
        assert_eq!(crc64(crc64(0, b"1234"), b"56789"), crc64(0, b"123456789"));
    }

    #[test]
    fn errors_add_up() {
        let syndromes = syndromes();
        let (good, mut bytes) = (crc24(&packet()), packet());
        let (mut expected, mut bit) = (0, 7);
        for _ in 0..300 {
            bit = (bit * 1_103 + 911) % 2048;
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
            expected ^= syndromes[bit];
            assert_eq!(crc24(&bytes) ^ good, expected);
        }
    }

    #[test]
    fn all_single_double_and_odd_errors_are_seen() {
        // A single error is detected if it changes something, two if their changes differ.
        let mut syndromes = syndromes();
        assert_eq!(syndromes.len(), 8 * 259);
        // The factor x + 1: each error changes an odd number of bits, so any odd number of errors changes at
        // least one.
        assert!(syndromes.iter().all(|s| s.count_ones() % 2 == 1));
        syndromes.sort_unstable();
        assert!(syndromes[0] != 0 && syndromes.windows(2).all(|w| w[0] != w[1]));
    }

    #[test]
    fn all_bursts_of_up_to_24_bits_are_seen() {
        // Every error pattern within 24 consecutive bits is detected if the changes of the 24 bits are
        // linearly independent.
        for window in syndromes().windows(24) {
            let mut basis = [0u32; 24];
            for &syndrome in window {
                let mut rest = syndrome;
                while rest != 0 && basis[rest.ilog2() as usize] != 0 {
                    rest ^= basis[rest.ilog2() as usize];
                }
                assert!(rest != 0, "an undetected burst");
                basis[rest.ilog2() as usize] = rest;
            }
        }
    }

    #[test]
    fn a_header_check_sees_two_errors() {
        let header = [0x3c, 5, 200, 1, 2, 3, 0x1c];
        let mut seen = vec![];
        for bit in 0..56 {
            let mut bad = header;
            bad[bit / 8] ^= 1 << (bit % 8);
            seen.push(crc8(&bad) ^ crc8(&header));
        }
        seen.extend((0..8).map(|bit| 1u8 << bit));
        seen.sort_unstable();
        assert!(seen[0] != 0 && seen.windows(2).all(|w| w[0] != w[1]));
    }
}
