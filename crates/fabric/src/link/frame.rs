//! Frames of a link as bytes: data packets of 36 to 260 B and token-acks of 8 B (Blumrich et al., section 2).
//!
//! The paper lists the fields in a packet's first eight bytes and the length of its trailer; their positions
//! are ours:
//!
//! | byte | data packet | token-ack |
//! |---|---|---|
//! | 0 | kind, `0x3c` | kind, `0xc3` |
//! | 1 | hint bits, one bit per port ("early in the header") | the sequence number expected next |
//! | 2 | sequence number | tokens returned so far on each of 4 VCs, |
//! | 3..6 | destination, one byte per dimension | modulo 64: 6 bits each (bytes 2..5) |
//! | 6 | VC (2 bits), chunks less one (3), static, high, deposit | CRC over bytes 0..5 (bytes 5..8) |
//! | 7 | check of bytes 0..7 | |
//! | 8.. | payload, to `32 c` bytes with the header | |
//! | last | CRC over all of it (3 bytes), valid indicator | |
//!
//! The header has its own check, so that a router may act on it before the tail has arrived; the CRC decides
//! in the end. The valid indicator follows the CRC, since a router that forwards a packet sets it after it
//! has checked the packet's tail; its two values differ in all eight bits.

use super::crc::{crc8, crc24};

/// Virtual channels that a frame can address.
pub const VCS: usize = 4;
/// Modulus of token counts.
pub const COUNTS: u8 = 64;
const CHUNK: usize = 32;
const HEADER: usize = 8;
const TRAILER: usize = 4;
const DATA: u8 = 0x3c;
const TOKEN_ACK: u8 = 0xc3;
const VALID: u8 = 0xa5;
const INVALID: u8 = 0x5a;

/// A data packet on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFrame {
    /// The link's sequence number.
    pub sequence: u8,
    /// Directions in which it may be routed: 6 bits.
    pub hints: u8,
    /// Coordinates of its destination.
    pub destination: [u8; 3],
    /// VC at the receiver: 0 to 3.
    pub vc: u8,
    /// Statically routed.
    pub fixed: bool,
    /// High priority.
    pub high: bool,
    /// Copied at every node on its line.
    pub deposit: bool,
    /// Whether all previous links delivered it intact.
    pub valid: bool,
    /// The payload after the header: 24 bytes, plus 32 for each further chunk, up to 248.
    pub payload: Vec<u8>,
}

/// Token-ack, or ack-only if it returns no new tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenAck {
    /// All packets before this one have been received.
    pub expected: u8,
    /// Tokens returned on each VC since the link started, modulo 64: a lost token-ack loses no tokens.
    pub tokens: [u8; VCS],
}

/// Any frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A packet.
    Data(DataFrame),
    /// An acknowledgement.
    TokenAck(TokenAck),
}

/// Why bytes are not a valid frame. After any of these errors no field is reliable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Unknown kind.
    #[error("first byte {0:#04x} is neither that of a packet nor that of a token-ack")]
    Kind(u8),
    /// The header check fails, or bits are set that no header has.
    #[error("the header is corrupted")]
    Header,
    /// Wrong length for the header.
    #[error("{found} bytes instead of {expected}")]
    Length {
        /// According to the header.
        expected: usize,
        /// Bytes received.
        found: usize,
    },
    /// The CRC fails.
    #[error("CRC {computed:#08x} computed, {found:#08x} received")]
    Crc {
        /// Of the bytes received.
        computed: u32,
        /// Received with them.
        found: u32,
    },
    /// The valid indicator has neither of its two values.
    #[error("valid indicator {0:#04x}")]
    Indicator(u8),
}

/// Why a packet cannot be sent on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsendable {
    /// Not 24 bytes plus a multiple of 32 up to 248.
    #[error("a payload of {0} B does not fill chunks")]
    Payload(usize),
    /// Not one of the four.
    #[error("no VC {0}")]
    Vc(u8),
    /// More than six directions.
    #[error("hint bits {0:#010b}")]
    Hints(u8),
}

impl DataFrame {
    /// Its size.
    pub fn chunks(&self) -> u8 {
        ((self.payload.len() + HEADER) / CHUNK) as u8
    }

    /// Checks that it can be sent on a link.
    ///
    /// # Errors
    /// The field that is invalid.
    pub fn check(&self) -> Result<(), Unsendable> {
        let bytes = self.payload.len() + HEADER;
        if !bytes.is_multiple_of(CHUNK) || !(1..=8).contains(&(bytes / CHUNK)) {
            return Err(Unsendable::Payload(self.payload.len()));
        }
        if usize::from(self.vc) >= VCS {
            return Err(Unsendable::Vc(self.vc));
        }
        if self.hints >= 1 << 6 { Err(Unsendable::Hints(self.hints)) } else { Ok(()) }
    }

    /// Its bytes on the wire.
    ///
    /// # Errors
    /// If it cannot be sent on a link.
    pub fn encode(&self) -> Result<Vec<u8>, Unsendable> {
        self.check()?;
        let [x, y, z] = self.destination;
        let flags = u8::from(self.fixed) << 5 | u8::from(self.high) << 6 | u8::from(self.deposit) << 7;
        let shape = self.vc | (self.chunks() - 1) << 2 | flags;
        let mut bytes = vec![DATA, self.hints, self.sequence, x, y, z, shape];
        bytes.push(crc8(&bytes));
        bytes.extend_from_slice(&self.payload);
        let crc = crc24(&bytes);
        bytes.extend_from_slice(&crc.to_be_bytes()[1..]);
        bytes.push(if self.valid { VALID } else { INVALID });
        Ok(bytes)
    }
}

impl TokenAck {
    /// Its bytes on the wire.
    pub fn encode(&self) -> [u8; 8] {
        let word = self.tokens.iter().fold(0u32, |word, &n| word << 6 | u32::from(n % COUNTS));
        let [_, a, b, c] = word.to_be_bytes();
        let [_, d, e, f] = crc24(&[TOKEN_ACK, self.expected, a, b, c]).to_be_bytes();
        [TOKEN_ACK, self.expected, a, b, c, d, e, f]
    }
}

/// Big-endian integer of three bytes.
fn word(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

fn same_crc(bytes: &[u8], found: &[u8]) -> Result<(), FrameError> {
    let (computed, found) = (crc24(bytes), word(found));
    if computed == found { Ok(()) } else { Err(FrameError::Crc { computed, found }) }
}

fn length(bytes: &[u8], expected: usize) -> Result<(), FrameError> {
    if bytes.len() == expected { Ok(()) } else { Err(FrameError::Length { expected, found: bytes.len() }) }
}

/// Decodes the bytes received from one start of a frame to the next.
///
/// # Errors
/// Why they are not a valid frame.
pub fn decode(bytes: &[u8]) -> Result<Frame, FrameError> {
    match *bytes {
        [TOKEN_ACK, expected, ..] => {
            length(bytes, 8)?;
            same_crc(&bytes[..5], &bytes[5..])?;
            let counts = word(&bytes[2..5]);
            let tokens = std::array::from_fn(|vc| (counts >> (6 * (VCS - 1 - vc))) as u8 % COUNTS);
            Ok(Frame::TokenAck(TokenAck { expected, tokens }))
        }
        [DATA, hints, sequence, x, y, z, shape, check, ..] => {
            if crc8(&bytes[..HEADER - 1]) != check || hints >= 1 << 6 {
                return Err(FrameError::Header);
            }
            let body = (usize::from(shape >> 2) % 8 + 1) * CHUNK;
            length(bytes, body + TRAILER)?;
            same_crc(&bytes[..body], &bytes[body..body + 3])?;
            let valid = match bytes[body + 3] {
                VALID => true,
                INVALID => false,
                other => return Err(FrameError::Indicator(other)),
            };
            Ok(Frame::Data(DataFrame {
                sequence,
                hints,
                destination: [x, y, z],
                vc: shape % 4,
                fixed: shape >> 5 & 1 != 0,
                high: shape >> 6 & 1 != 0,
                deposit: shape >> 7 != 0,
                valid,
                payload: bytes[HEADER..body].to_vec(),
            }))
        }
        [DATA, ..] => Err(FrameError::Header),
        [kind, ..] => Err(FrameError::Kind(kind)),
        [] => Err(FrameError::Length { expected: HEADER, found: 0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_data() -> impl Strategy<Value = DataFrame> {
        let flags = any::<[bool; 4]>();
        (any::<[u8; 5]>(), 0u8..64, 0u8..4, flags, 1usize..=8, any::<u64>()).prop_map(
            |([sequence, x, y, z, fill], hints, vc, [fixed, high, deposit, valid], chunks, seed)| DataFrame {
                sequence,
                hints,
                destination: [x, y, z],
                vc,
                fixed,
                high,
                deposit,
                valid,
                payload: (0..chunks * CHUNK - HEADER)
                    .map(|i| fill ^ (seed.rotate_left(i as u32 * 11) >> 7) as u8)
                    .collect(),
            },
        )
    }

    proptest! {
        #[test]
        fn packets_come_back(data in any_data()) {
            let bytes = data.encode().expect("sendable");
            prop_assert_eq!(bytes.len(), 32 * usize::from(data.chunks()) + 4);
            prop_assert_eq!(decode(&bytes), Ok(Frame::Data(data)));
        }

        #[test]
        fn token_acks_come_back(expected in any::<u8>(), tokens in any::<[u8; 4]>()) {
            let ack = TokenAck { expected, tokens: tokens.map(|n| n % COUNTS) };
            prop_assert_eq!(decode(&ack.encode()), Ok(Frame::TokenAck(ack)));
        }

        #[test]
        fn a_few_flipped_bits_are_seen(data in any_data(), ack in any::<bool>(), flips in 1usize..=3, seed in any::<u64>()) {
            let mut bytes = if ack {
                TokenAck { expected: data.sequence, tokens: [data.hints; 4] }.encode().to_vec()
            } else {
                data.encode().expect("sendable")
            };
            let bits = bytes.len() * 8;
            // Up to three distinct ones.
            let first = seed as usize % bits;
            for i in 0..flips {
                let bit = (first + i * (1 + (seed >> 32) as usize % (bits / 3))) % bits;
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            prop_assert!(decode(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), kind in 0..3) {
            let mut bytes = bytes;
            if let (Some(first), 0..2) = (bytes.first_mut(), kind) {
                *first = [DATA, TOKEN_ACK][kind as usize];
            }
            if let Ok(Frame::Data(data)) = decode(&bytes) {
                prop_assert_eq!(data.encode(), Ok(bytes));
            }
        }
    }

    #[test]
    fn every_single_error_of_a_full_packet_and_of_a_token_ack_is_seen() {
        let data = DataFrame {
            sequence: 200,
            hints: 0b01_0001,
            destination: [1, 2, 63],
            vc: 2,
            fixed: true,
            high: false,
            deposit: false,
            valid: true,
            payload: (0..248).collect(),
        };
        let ack = TokenAck { expected: 7, tokens: [1, 63, 0, 32] };
        for good in [data.encode().expect("sendable"), ack.encode().to_vec()] {
            for bit in 0..8 * good.len() {
                let mut bad = good.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(decode(&bad).is_err(), "bit {bit}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let good = DataFrame {
            sequence: 0,
            hints: 1,
            destination: [0; 3],
            vc: 0,
            fixed: false,
            high: false,
            deposit: false,
            valid: true,
            payload: vec![0; 24],
        };
        assert_eq!(good.check(), Ok(()));
        for bytes in [0, 23, 25, 32, 280] {
            let bad = DataFrame { payload: vec![0; bytes], ..good.clone() };
            assert_eq!(bad.encode(), Err(Unsendable::Payload(bytes)));
        }
        assert_eq!(DataFrame { vc: 4, ..good.clone() }.encode(), Err(Unsendable::Vc(4)));
        assert_eq!(DataFrame { hints: 64, ..good.clone() }.encode(), Err(Unsendable::Hints(64)));
        let bytes = good.encode().expect("sendable");
        assert_eq!(decode(&bytes[..35]), Err(FrameError::Length { expected: 36, found: 35 }));
        assert_eq!(decode(&bytes[..5]), Err(FrameError::Header));
        assert_eq!(decode(&[]), Err(FrameError::Length { expected: 8, found: 0 }));
        assert_eq!(decode(&[0x3d, 0]), Err(FrameError::Kind(0x3d)));
    }
}
