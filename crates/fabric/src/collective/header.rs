//! The header of a collective packet: its class route, the operation on its words, and the nodes that receive
//! the result. Fields, operation numbers and word lengths are those of the machine's public driver
//! (`MU_CollectiveNetworkHeader.h`).

use super::route::RouteKind;
use crate::packet::Header;
use crate::topology::torus::Coordinates;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

/// The operation on the words of packets that meet (section II.C).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[repr(u8)]
#[borsh(use_discriminant = true)]
pub enum Operation {
    /// Bitwise and.
    And = 0,
    /// Bitwise or.
    Or = 1,
    /// Bitwise exclusive or.
    Xor = 2,
    /// Sum of unsigned integers.
    AddUnsigned = 4,
    /// Minimum of unsigned integers.
    MinUnsigned = 5,
    /// Maximum of unsigned integers.
    MaxUnsigned = 6,
    /// Sum of signed integers.
    AddSigned = 8,
    /// Minimum of signed integers.
    MinSigned = 9,
    /// Maximum of signed integers.
    MaxSigned = 10,
    /// Sum of double-precision numbers.
    AddDouble = 12,
    /// Minimum of double-precision numbers.
    MinDouble = 13,
    /// Maximum of double-precision numbers.
    MaxDouble = 14,
}

impl Operation {
    /// All operations.
    pub const ALL: [Operation; 12] = [
        Operation::And,
        Operation::Or,
        Operation::Xor,
        Operation::AddUnsigned,
        Operation::MinUnsigned,
        Operation::MaxUnsigned,
        Operation::AddSigned,
        Operation::MinSigned,
        Operation::MaxSigned,
        Operation::AddDouble,
        Operation::MinDouble,
        Operation::MaxDouble,
    ];

    /// Whether words are double-precision numbers, which have 8 B.
    pub fn is_double(self) -> bool {
        self as u8 >= Operation::AddDouble as u8
    }

    fn of(number: u64) -> Self {
        Self::ALL.into_iter().find(|&op| op as u64 == number).expect("only valid operations are packed")
    }
}

/// The nodes that receive the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub enum Delivers {
    /// One node's packet goes to all nodes; nothing is combined.
    Broadcast,
    /// The packets of all nodes are combined; all receive the result.
    AllReduce,
    /// The packets of all nodes are combined; this node receives the result.
    Reduce(Coordinates),
}

/// Errors in the words of a packet at any node on its route (section II.C: a flag that trails the packet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Flags {
    /// An integer sum overflowed its word.
    pub overflow: bool,
    /// A result is not a number.
    pub nan: bool,
    /// Packets that met have different operations, word lengths or destinations.
    pub mismatch: bool,
}

impl Flags {
    /// Whether any flag is set.
    pub fn any(self) -> bool {
        self.overflow || self.nan || self.mismatch
    }

    /// The flags set in either.
    pub fn or(self, other: Self) -> Self {
        Flags {
            overflow: self.overflow || other.overflow,
            nan: self.nan || other.nan,
            mismatch: self.mismatch || other.mismatch,
        }
    }
}

/// The network part of a collective packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
#[allow(non_snake_case)]
pub struct CollectiveHeader {
    /// Its class route, 0 to 15.
    pub class: u8,
    /// The required kind of its class route, which determines the packet's VC.
    pub kind: RouteKind,
    /// The operation on its words.
    pub operation: Operation,
    /// Word length: 4 B to 512 B, a power of two that divides the data. Doubles have 8 B.
    pub word_B: u32,
    /// The nodes that receive the result.
    pub delivers: Delivers,
    /// Size of the packet, chunks.
    pub chunks: u32,
    /// Errors so far.
    pub flags: Flags,
}

/// Valid word lengths, bytes.
pub const WORDS: std::ops::RangeInclusive<u32> = 4..=512;

const CLASS: u32 = 0;
const OPERATION: u32 = 4;
const WORD: u32 = 8;
const DELIVERS: u32 = 11;
const FLAGS: u32 = 19;
const KIND: u32 = 22;

impl CollectiveHeader {
    /// Encodes a packet's header. The bits for hints and flags of a point-to-point packet hold:
    ///
    /// | bits | meaning |
    /// |---|---|
    /// | 0..4 | class route |
    /// | 4..8 | operation |
    /// | 8..11 | word length: 4 B shifted left by this |
    /// | 11..13 | broadcast, allreduce, reduce |
    /// | 14..19 | chunks, less one |
    /// | 19..22 | overflow, NaN, mismatch |
    /// | 22..24 | kind of the class route |
    pub fn pack(self) -> Header {
        debug_assert!(WORDS.contains(&self.word_B) && self.word_B.is_power_of_two());
        let (delivers, to) = match self.delivers {
            Delivers::Broadcast => (0, Coordinates::default()),
            Delivers::AllReduce => (1, Coordinates::default()),
            Delivers::Reduce(to) => (2, to),
        };
        let Flags { overflow, nan, mismatch } = self.flags;
        let flags = u64::from(overflow) | u64::from(nan) << 1 | u64::from(mismatch) << 2;
        let word = self.word_B.trailing_zeros() - 2;
        Header::collective(
            to,
            self.chunks,
            u64::from(self.class % 16) << CLASS
                | (self.operation as u64) << OPERATION
                | u64::from(word) << WORD
                | delivers << DELIVERS
                | flags << FLAGS
                | (self.kind as u64) << KIND,
        )
    }

    /// Decodes a packet's header; `None` if it is not a collective packet's.
    pub fn unpack(header: Header) -> Option<Self> {
        if !header.is_collective() {
            return None;
        }
        let field = |from: u32, bits: u32| header.0 >> from & ((1 << bits) - 1);
        let flags = field(FLAGS, 3);
        Some(CollectiveHeader {
            class: field(CLASS, 4) as u8,
            kind: RouteKind::of(field(KIND, 2)),
            operation: Operation::of(field(OPERATION, 4)),
            word_B: 4 << field(WORD, 3),
            delivers: match field(DELIVERS, 2) {
                0 => Delivers::Broadcast,
                1 => Delivers::AllReduce,
                _ => Delivers::Reduce(std::array::from_fn(|d| header.destination(d))),
            },
            chunks: header.chunks(),
            flags: Flags { overflow: flags & 1 != 0, nan: flags & 2 != 0, mismatch: flags & 4 != 0 },
        })
    }

    /// Whether another packet may be combined with this one.
    pub fn agrees(&self, other: &Self) -> bool {
        CollectiveHeader { flags: Flags::default(), ..*self }
            == CollectiveHeader { flags: Flags::default(), ..*other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_packet() {
        let kinds = [RouteKind::UserCommworld, RouteKind::System, RouteKind::UserSubcomm];
        for (i, operation) in Operation::ALL.into_iter().enumerate() {
            for delivers in [Delivers::Broadcast, Delivers::AllReduce, Delivers::Reduce([1, 127, 0, 9, 1])] {
                for flags in 0..8 {
                    let header = CollectiveHeader {
                        class: 15 - i as u8,
                        kind: kinds[i % 3],
                        operation,
                        word_B: 4 << (i % 8),
                        delivers,
                        chunks: 1 + i as u32,
                        flags: Flags {
                            overflow: flags & 1 != 0,
                            nan: flags & 2 != 0,
                            mismatch: flags & 4 != 0,
                        },
                    };
                    let packed = header.pack();
                    assert_eq!(CollectiveHeader::unpack(packed), Some(header));
                    assert!(!packed.is_system() && packed.chunks() == header.chunks);
                }
            }
        }
        assert_eq!(CollectiveHeader::unpack(Header::new([1; 5], 1, 3, Header::STATIC)), None);
    }
}
