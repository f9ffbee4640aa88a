//! Frames of a Blue Gene/Q link as bytes: data packets of 40 to 552 B and acknowledgements of 16 B (Chen et
//! al., sections II.A and II.F; header bits from the machine's public driver, MU_Pt2PtNetworkHeader.h and
//! MU_PacketCommon.h: "driver" below).
//!
//! | byte | data packet | from |
//! |---|---|---|
//! | 0 | kind, `0x55` | driver |
//! | 1 | *hint bits A- A+ B- B+ C- C+ D- D+, the first the highest* | driver |
//! | 2 | *hint bits E- E+*, then six of routing: to I/O, from I/O (2), dynamic, deposit, interrupt | driver |
//! | 3 | *VC (3 bits)*, zone (2), stay on the bubble VC, 2 of zero | driver |
//! | 4..8 | two bits of zero, then six for each of A to E of the destination | driver |
//! | 8 | type of message (2 bits), a zero, 32 B chunks of data: 0 to 16 | driver |
//! | 9..12 | *"used and modified by hardware": zero, the link's sequence number, the Hamming code of the 11 B before it* | **(ours)** |
//! | 12..32 | the message unit's | section II.A |
//! | 32.. | data | section II.A |
//! | last 8 | *4 bits: exception, then zeros*; 10 from end to end; *50 for the hop* | widths: section II.F |
//!
//! Fields in *italics* change in flight, and the end-to-end symbol treats them as zero. A node that forwards
//! a packet computes a new Hamming code and new hop symbols, and never touches the end-to-end symbol. The
//! choice of these bits is **(ours)**, except for the sequence number. The exception is that of section II.C:
//! "a flag bit that trails the packet".
//!
//! Both checks divide the packet into the same symbols, aligned to its end so that the check symbols are
//! whole ones. The hop's generator has the roots `alpha^0` to `alpha^4`, that of the end-to-end symbol
//! `alpha^5` **(ours)**: if it were one of the five, an error that the hop misses would always escape the
//! end-to-end symbol too. Thus six symbols in error are detected if they are in the part that does not
//! change.
//!
//! An acknowledgement has a first byte, `0xaa`, the sequence number expected next, the tokens returned on
//! each of six VCs modulo 256 (8 B in total, as in `machines/bgq.toml`), and a trailer of 8 B with hop
//! symbols and zeros. **(ours)**

use super::hamming::header_check;
use super::protocol::{Format, Incoming};
use super::reed_solomon::{ReedSolomon, symbols};

/// Buffers of a receiver: dynamic, deterministic, high priority, system, user collectives on all nodes
/// (shared with system collectives), user collectives on some nodes (section II.B).
pub const VCS: usize = 6;
/// Bytes of a chunk of data; each needs one token.
const CHUNK: usize = 32;
/// Network header and message-unit header.
const HEADER: usize = 32;
const NETWORK: usize = 12;
const TRAILER: usize = 8;
const ACK: usize = 16;
const DATA: u8 = 0x55;
const ACKNOWLEDGEMENT: u8 = 0xaa;
const HOP: ReedSolomon<5> = ReedSolomon::new(0);
const END_TO_END: ReedSolomon<1> = ReedSolomon::new(5);
const HOP_BITS: u32 = 50;
const SYMBOL: u64 = (1 << 10) - 1;
/// The used bits of the trailer's first four.
const EXCEPTION: u64 = 1 << 63;
const RESERVED: u64 = 7 << 60;

/// A data packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BgqPacket {
    /// The link's sequence number.
    pub sequence: u8,
    /// Directions in which it may be routed, 10 bits: A- the highest, E+ the lowest.
    pub hints: u16,
    /// The low six bits of the header's byte 2.
    pub routing: u8,
    /// Its virtual channel at the receiver, 0 to 6.
    pub vc: u8,
    /// Zone of its routing, 0 to 3.
    pub zone: u8,
    /// Whether it stays on the bubble VC after entering it.
    pub stay: bool,
    /// Coordinates A to E of its destination, below 64.
    pub destination: [u8; 5],
    /// Type of its message, 0 to 3.
    pub kind: u8,
    /// The message unit's header.
    pub unit: [u8; 20],
    /// Its data, whole chunks of 32 B up to 512 B.
    pub data: Vec<u8>,
    /// Set if a reduction raised an exception.
    pub exception: bool,
    /// The end-to-end symbol, computed once ([`BgqPacket::seal`]) and carried along unchanged.
    pub end_to_end: u16,
}

/// Why bytes are not a valid frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HopError {
    /// Unknown kind.
    #[error("first byte {0:#04x} is neither that of a packet nor that of an acknowledgement")]
    Kind(u8),
    /// The Hamming code fails.
    #[error("the header is corrupted")]
    Header,
    /// The Hamming code matches, but the header is invalid.
    #[error("invalid header: {0}")]
    Inconsistent(#[from] Unsendable),
    /// Wrong length for the header.
    #[error("{found} bytes instead of {expected}")]
    Length {
        /// According to the header.
        expected: usize,
        /// Bytes received.
        found: usize,
    },
    /// The five symbols of the hop fail.
    #[error("the check symbols of the hop do not match")]
    Symbols,
    /// Bits that are always zero are set, although the check symbols match.
    #[error("a bit is set that never is")]
    Reserved,
}

/// Why a packet cannot be sent on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsendable {
    /// Not a whole number of chunks up to 16.
    #[error("{0} B of data")]
    Data(usize),
    /// The value exceeds its field's width, or is undefined.
    #[error("{field} {value}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u16,
    },
    /// Both directions of a dimension have their hint bits set.
    #[error("hint bits {0:#012b}")]
    Hints(u16),
    /// The end-to-end symbol does not match: the packet was damaged in the node (a sender checks it:
    /// nd_rese_dcr.h, "sender input packet end-to-end crc error").
    #[error("the end-to-end symbol does not match")]
    EndToEnd,
}

/// Writes the hop's symbols to the last 50 bits, which are zero.
fn close(bytes: &mut [u8]) {
    let checks = HOP.remainder(symbols(bytes));
    let word = checks.into_iter().fold(0, |word, symbol| word << 10 | u64::from(symbol));
    let place = bytes.len() - TRAILER;
    for (byte, check) in bytes[place..].iter_mut().zip(word.to_be_bytes()) {
        *byte |= check;
    }
}

/// A frame's last 8 bytes.
fn trailer(bytes: &[u8]) -> u64 {
    bytes[bytes.len() - TRAILER..].iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn length(bytes: &[u8], expected: usize) -> Result<(), HopError> {
    if bytes.len() == expected { Ok(()) } else { Err(HopError::Length { expected, found: bytes.len() }) }
}

impl BgqPacket {
    /// Its first 12 bytes.
    fn header(&self) -> [u8; NETWORK] {
        let [low, high] = self.hints.to_le_bytes();
        // Ten bits, eight of them in the first byte.
        let hints = [high << 6 | low >> 2, low << 6];
        let place = self.destination.iter().fold(0, |word, &at| word << 6 | u32::from(at));
        let mut bytes = [0; NETWORK];
        bytes[..4].copy_from_slice(&[
            DATA,
            hints[0],
            hints[1] | self.routing,
            self.vc << 5 | self.zone << 3 | u8::from(self.stay) << 2,
        ]);
        bytes[4..8].copy_from_slice(&place.to_be_bytes());
        bytes[8] = self.kind << 6 | (self.data.len() / CHUNK) as u8;
        bytes[10] = self.sequence;
        bytes[11] = header_check(&bytes[..11]);
        bytes
    }

    /// The expected end-to-end symbol, computed over all fields that do not change in flight.
    fn unchanging(&self) -> u16 {
        let mut bytes = self.header().to_vec();
        bytes[1] = 0;
        bytes[2] &= 0x3f;
        bytes[3] &= 0x1f;
        bytes[9..].fill(0);
        bytes.extend_from_slice(&self.unit);
        bytes.extend_from_slice(&self.data);
        // The symbols before the hop's, as aligned in the packet: cut from 50 bits before its end.
        bytes.extend_from_slice(&[0; TRAILER]);
        let all = symbols(&bytes).count();
        END_TO_END.remainder(symbols(&bytes).take(all - 5))[0]
    }

    /// Computes the end-to-end symbol, where the packet is injected.
    pub fn seal(&mut self) {
        self.end_to_end = self.unchanging();
    }

    /// Whether the end-to-end symbol matches: no protected field has changed, on links or in nodes.
    pub fn sealed(&self) -> bool {
        self.end_to_end == self.unchanging()
    }

    /// The "consistency checks on the packet's network header" of section II.F, as far as its fields allow
    /// **(ours: the selection)**.
    fn consistent(&self) -> Result<(), Unsendable> {
        let fields = [
            ("hints", self.hints, 1 << 10),
            ("routing", self.routing.into(), 1 << 6),
            ("VC", self.vc.into(), 7),
            ("zone", self.zone.into(), 4),
            ("type", self.kind.into(), 4),
            ("end-to-end symbol", self.end_to_end, 1 << 10),
            ("destination", self.destination.into_iter().max().map_or(0, u16::from), 1 << 6),
        ];
        if let Some(&(field, value, _)) = fields.iter().find(|(_, value, limit)| value >= limit) {
            return Err(Unsendable::Field { field, value });
        }
        if self.hints & self.hints >> 1 & 0b01_0101_0101 != 0 {
            Err(Unsendable::Hints(self.hints))
        } else {
            Ok(())
        }
    }

    /// Its bytes on the wire.
    ///
    /// # Errors
    /// If it cannot be sent on a link.
    pub fn encode(&self) -> Result<Vec<u8>, Unsendable> {
        self.check()?;
        let mut bytes = self.header().to_vec();
        bytes.extend_from_slice(&self.unit);
        bytes.extend_from_slice(&self.data);
        let flags = if self.exception { EXCEPTION } else { 0 };
        bytes.extend_from_slice(&(flags | u64::from(self.end_to_end) << HOP_BITS).to_be_bytes());
        close(&mut bytes);
        Ok(bytes)
    }
}

/// Decodes a data packet from its complete bytes.
fn data(bytes: &[u8]) -> Result<BgqPacket, HopError> {
    let Some(header) = bytes.first_chunk::<NETWORK>() else { return Err(HopError::Header) };
    if header_check(&header[..11]) != header[11] {
        return Err(HopError::Header);
    }
    let chunks = usize::from(header[8] & 0x1f);
    if chunks > 16 {
        return Err(Unsendable::Data(chunks * CHUNK).into());
    }
    let body = HEADER + chunks * CHUNK;
    length(bytes, body + TRAILER)?;
    if !HOP.intact(symbols(bytes)) {
        return Err(HopError::Symbols);
    }
    let place = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let end = trailer(bytes);
    let reserved = [header[3] & 3, (place >> 30) as u8, header[8] & 0x20, header[9]];
    if end & RESERVED != 0 || reserved != [0; 4] {
        return Err(HopError::Reserved);
    }
    let packet = BgqPacket {
        sequence: header[10],
        hints: u16::from(header[1]) << 2 | u16::from(header[2] >> 6),
        routing: header[2] & 0x3f,
        vc: header[3] >> 5,
        zone: header[3] >> 3 & 3,
        stay: header[3] >> 2 & 1 != 0,
        destination: std::array::from_fn(|i| (place >> (6 * (4 - i))) as u8 & 0x3f),
        kind: header[8] >> 6,
        unit: std::array::from_fn(|i| bytes[NETWORK + i]),
        data: bytes[HEADER..body].to_vec(),
        exception: end & EXCEPTION != 0,
        end_to_end: (end >> HOP_BITS & SYMBOL) as u16,
    };
    packet.consistent()?;
    Ok(packet)
}

impl Format<VCS> for BgqPacket {
    const COUNTS: u16 = 256;
    type Corrupt = HopError;
    type Unsendable = Unsendable;

    /// Whether it can be sent on a link. A packet that was damaged in the node cannot.
    fn check(&self) -> Result<(), Unsendable> {
        self.consistent()?;
        if !self.data.len().is_multiple_of(CHUNK) || self.data.len() > 16 * CHUNK {
            return Err(Unsendable::Data(self.data.len()));
        }
        if self.sealed() { Ok(()) } else { Err(Unsendable::EndToEnd) }
    }

    /// The buffer that it needs: system collectives share one with the user's.
    fn vc(&self) -> u8 {
        if self.vc == 6 { 4 } else { self.vc }
    }

    /// In units of 32 B, including the header.
    fn chunks(&self) -> u8 {
        (1 + self.data.len() / CHUNK) as u8
    }

    fn sequence(&self) -> u8 {
        self.sequence
    }

    fn number(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    fn encode(&self) -> Result<Vec<u8>, Unsendable> {
        self.encode()
    }

    fn acknowledgement(expected: u8, tokens: [u8; VCS]) -> Vec<u8> {
        let mut bytes = vec![ACKNOWLEDGEMENT, expected];
        bytes.extend_from_slice(&tokens);
        bytes.resize(ACK, 0);
        close(&mut bytes);
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Incoming<Self, VCS>, HopError> {
        match bytes {
            [DATA, ..] => data(bytes).map(Incoming::Packet),
            &[ACKNOWLEDGEMENT, expected, ref rest @ ..] => {
                length(bytes, ACK)?;
                if !HOP.intact(symbols(bytes)) {
                    return Err(HopError::Symbols);
                }
                if trailer(bytes) >> HOP_BITS != 0 {
                    return Err(HopError::Reserved);
                }
                Ok(Incoming::Acknowledgement { expected, tokens: std::array::from_fn(|vc| rest[vc]) })
            }
            &[kind, ..] => Err(HopError::Kind(kind)),
            [] => Err(HopError::Length { expected: HEADER + TRAILER, found: 0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::reed_solomon::multiply;
    use proptest::prelude::*;

    fn packet(chunks: usize, seed: u64) -> BgqPacket {
        let byte = |i: usize| (seed.rotate_left(i as u32 * 11) >> 7) as u8 ^ i as u8;
        let mut packet = BgqPacket {
            sequence: byte(0),
            // In each dimension: none, plus or minus.
            hints: (0..5).fold(0, |hints, d| hints << 2 | u16::from(byte(d) % 3)),
            routing: byte(1) % 64,
            vc: byte(2) % 7,
            zone: byte(3) % 4,
            stay: byte(4) % 2 != 0,
            destination: std::array::from_fn(|i| byte(5 + i) % 64),
            kind: byte(10) % 4,
            unit: std::array::from_fn(byte),
            data: (0..chunks * CHUNK).map(byte).collect(),
            exception: byte(11) % 2 != 0,
            end_to_end: 0,
        };
        packet.seal();
        packet
    }

    fn decode(bytes: &[u8]) -> Result<Incoming<BgqPacket, VCS>, HopError> {
        <BgqPacket as Format<VCS>>::decode(bytes)
    }

    /// The bits of a packet, except the trailer's, that must not change in flight.
    fn unchanging_bits(bytes: &[u8]) -> Vec<usize> {
        let changing =
            |&bit: &usize| matches!(bit, 8..18 | 24..27 | 72..96) || bit >= 8 * (bytes.len() - TRAILER);
        (0..8 * bytes.len()).filter(|bit| !changing(bit)).collect()
    }

    /// An error of about six symbols, a multiple of the polynomial with this number of roots from alpha^0, in
    /// the data.
    fn multiple(length: usize, roots: &[u16], factor: u16) -> Vec<u8> {
        let polynomial = roots.iter().fold(vec![1u16], |p, &root| {
            let mut next = p.clone();
            next.push(0);
            for (i, &c) in p.iter().enumerate() {
                next[i + 1] ^= multiply(c, root);
            }
            next
        });
        // It ends 100 bits before the end of the packet.
        let mut bits = vec![false; 8 * length];
        for (i, &c) in polynomial.iter().rev().enumerate() {
            for bit in 0..10 {
                bits[8 * length - 101 - 10 * i - bit] = multiply(c, factor) >> bit & 1 != 0;
            }
        }
        bits.chunks(8).map(|byte| byte.iter().fold(0, |byte, &bit| byte << 1 | u8::from(bit))).collect()
    }

    fn add(bytes: &[u8], error: &[u8]) -> Vec<u8> {
        bytes.iter().zip(error).map(|(a, b)| a ^ b).collect()
    }

    proptest! {
        #[test]
        fn packets_come_back(chunks in 0usize..=16, seed in any::<u64>()) {
            let packet = packet(chunks, seed);
            let bytes = packet.encode().expect("sendable");
            prop_assert_eq!(bytes.len(), 40 + 32 * chunks);
            prop_assert_eq!(decode(&bytes), Ok(Incoming::Packet(packet)));
        }

        #[test]
        fn acknowledgements_come_back(expected in any::<u8>(), tokens in any::<[u8; VCS]>()) {
            let bytes = BgqPacket::acknowledgement(expected, tokens);
            prop_assert_eq!(bytes.len(), 16);
            prop_assert_eq!(decode(&bytes), Ok(Incoming::Acknowledgement { expected, tokens }));
        }

        #[test]
        fn any_five_symbols_in_error_are_seen(
            chunks in 0usize..=16, seed in any::<u64>(), bursts in proptest::collection::vec((any::<u16>(), 1u16..1024), 1..=5),
        ) {
            let bytes = packet(chunks, seed).encode().expect("sendable");
            let all = symbols(&bytes).count();
            let mut places: Vec<usize> = bursts.iter().map(|b| usize::from(b.0) % (all - 1)).collect();
            places.sort_unstable();
            places.dedup();
            let mut bad = bytes.clone();
            for (&place, &(_, error)) in places.iter().zip(&bursts) {
                for bit in (0..10).filter(|bit| error >> bit & 1 != 0) {
                    let at = 8 * bytes.len() - 1 - 10 * place - bit;
                    bad[at / 8] ^= 0x80 >> (at % 8);
                }
            }
            prop_assert!(decode(&bad).is_err());
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..560), kind in 0..3) {
            let mut bytes = bytes;
            if let (Some(first), 0..2) = (bytes.first_mut(), kind) {
                *first = [DATA, ACKNOWLEDGEMENT][kind as usize];
            }
            prop_assert!(decode(&bytes).is_err());
        }

        #[test]
        fn hop_after_hop_the_end_to_end_symbol_stays(chunks in 0usize..=16, seed in any::<u64>(), hops in 1usize..8) {
            let first = packet(chunks, seed);
            let mut now = first.clone();
            for hop in 0..hops {
                let Ok(Incoming::Packet(mut there)) = decode(&now.encode().expect("sendable")) else { panic!("refused") };
                // A hint bit is cleared, VC and sequence number change, a reduction raised an exception.
                there.hints &= !(3 << (2 * (hop % 5)));
                there.vc = (there.vc + 1) % 7;
                there.exception = true;
                there.number(hop as u8 * 3);
                now = there;
            }
            prop_assert_eq!(now.end_to_end, first.end_to_end);
            prop_assert!(now.sealed());
        }
    }

    #[test]
    fn every_single_error_of_a_full_packet_and_of_an_acknowledgement_is_seen() {
        for good in [
            packet(16, 77).encode().expect("sendable"),
            BgqPacket::acknowledgement(7, [1, 255, 0, 32, 9, 64]),
        ] {
            for bit in 0..8 * good.len() {
                let mut bad = good.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(decode(&bad).is_err(), "bit {bit}");
            }
        }
    }

    #[test]
    fn up_to_three_errors_of_the_header_are_seen_before_the_data_have_come() {
        // All errors in a packet of which only the header has arrived.
        let good: [u8; NETWORK] = *packet(3, 5).encode().expect("sendable").first_chunk().expect("12 B");
        let flip = |header: &mut [u8; NETWORK], bit: usize| header[bit / 8] ^= 0x80 >> (bit % 8);
        let mut errors = 0;
        // The kind is checked first.
        for i in 8..96 {
            for j in 8..=i {
                for k in 8..=j {
                    // Equal ones cancel, so single errors are included.
                    if i != j && j == k {
                        continue;
                    }
                    let mut bad = good;
                    [i, j, k].into_iter().for_each(|bit| flip(&mut bad, bit));
                    assert_eq!(decode(&bad), Err(HopError::Header), "bits {i}, {j}, {k}");
                    errors += 1;
                }
            }
        }
        assert_eq!(errors, 88 * 87 * 86 / 6 + 88 * 87 / 2 + 88);
    }

    #[test]
    fn damage_in_a_node_is_seen_by_the_next_sender_and_at_the_end() {
        let good = packet(2, 9);
        let bytes = good.encode().expect("sendable");
        for bit in unchanging_bits(&bytes).into_iter().filter(|&bit| bit >= 8 * NETWORK) {
            let mut bad = good.clone();
            let place = bit / 8 - NETWORK;
            let byte = if place < 20 { &mut bad.unit[place] } else { &mut bad.data[place - 20] };
            *byte ^= 0x80 >> (bit % 8);
            assert!(!bad.sealed());
            assert_eq!(bad.encode(), Err(Unsendable::EndToEnd), "bit {bit}");
        }
        for dimension in 0..5 {
            let mut bad = good.clone();
            bad.destination[dimension] ^= 1;
            assert_eq!(bad.check(), Err(Unsendable::EndToEnd));
        }
    }

    #[test]
    fn both_checks_together_see_what_the_hops_alone_do_not() {
        let bytes = packet(16, 13).encode().expect("sendable");
        let five: Vec<u16> = (0..5).map(crate::link::reed_solomon::power).collect();
        let six: Vec<u16> = (0..6).map(crate::link::reed_solomon::power).collect();
        for factor in [1, 2, 77, 1023] {
            // A code word of the hop's code added to the data: the hop misses it, the end-to-end symbol does
            // not.
            let forged = add(&bytes, &multiple(bytes.len(), &five, factor));
            let Ok(Incoming::Packet(found)) = decode(&forged) else { panic!("the hop detected it") };
            assert!(!found.sealed());
            assert_eq!(found.encode(), Err(Unsendable::EndToEnd));
            // A code word of both codes: the packet's checks all pass. The link's CRCs detect it, see
            // tests/link_protocol_bgq.rs.
            let forged = add(&bytes, &multiple(bytes.len(), &six, factor));
            let Ok(Incoming::Packet(found)) = decode(&forged) else { panic!("the hop detected it") };
            assert!(found.sealed() && found != packet(16, 13));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let good = packet(2, 21);
        assert_eq!(good.check(), Ok(()));
        for bytes in [1, 31, 544] {
            assert_eq!(
                BgqPacket { data: vec![0; bytes], ..good.clone() }.check(),
                Err(Unsendable::Data(bytes))
            );
        }
        let field = |field, value| Err(Unsendable::Field { field, value });
        assert_eq!(BgqPacket { vc: 7, ..good.clone() }.check(), field("VC", 7));
        assert_eq!(
            BgqPacket { destination: [0, 1, 64, 3, 4], ..good.clone() }.check(),
            field("destination", 64)
        );
        assert_eq!(BgqPacket { hints: 0b00_0000_0011, ..good.clone() }.check(), Err(Unsendable::Hints(3)));
        assert_eq!(BgqPacket { hints: 0b00_0000_0110, ..good.clone() }.check(), Ok(()));
        assert_eq!(decode(&[0x54, 0]), Err(HopError::Kind(0x54)));
        assert_eq!(decode(&[]), Err(HopError::Length { expected: 40, found: 0 }));
        let bytes = good.encode().expect("sendable");
        assert_eq!(decode(&bytes[..103]), Err(HopError::Length { expected: 104, found: 103 }));
        assert_eq!(decode(&bytes[..11]), Err(HopError::Header));
        // All checks match, but the packet is invalid: both directions of E; 17 chunks; a nonzero reserved
        // bit.
        let spoil = |change: &dyn Fn(&mut [u8])| {
            let mut bad = bytes.clone();
            change(&mut bad);
            bad[11] = header_check(&bad[..11]);
            let (place, end) = (bad.len() - TRAILER, trailer(&bad) & !((1 << HOP_BITS) - 1));
            bad[place..].copy_from_slice(&end.to_be_bytes());
            close(&mut bad);
            decode(&bad)
        };
        assert!(matches!(spoil(&|b| b[2] |= 0xc0), Err(HopError::Inconsistent(Unsendable::Hints(_)))));
        assert_eq!(spoil(&|b| b[8] |= 0x1f), Err(HopError::Inconsistent(Unsendable::Data(31 * 32))));
        assert_eq!(spoil(&|b| b[9] = 1), Err(HopError::Reserved));
        assert_eq!(spoil(&|b| b[96] |= 0x10), Err(HopError::Reserved));
    }
}
