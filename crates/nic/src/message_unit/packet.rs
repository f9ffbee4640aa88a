//! The part of a descriptor that a packet carries in the 20 B of the unit's header (`MU_MessageUnitHeader.h`
//! of the public driver).

use super::atomic::Atomic;
use netloom_fabric::packet::Meta;

/// The unit's part of a packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitHeader {
    Put(Put),
    MemoryFifo(Queued),
    /// Descriptors for an injection FIFO, with their length in bytes.
    RemoteGet {
        fifo: u16,
        bytes: u32,
    },
}

/// Header fields of an RDMA write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Put {
    pub base: u16,
    pub offset: u64,
    pub counter_base: u16,
    pub counter_offset: u64,
    /// Bytes of data; the rest of the last chunk is zeros.
    pub valid: u32,
    pub atomic: Option<Atomic>,
}

/// Header fields of a packet for a reception FIFO in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queued {
    pub fifo: u16,
    /// Offset of its data in the message, bytes.
    pub offset: u64,
    /// Software's fourteen bytes, as a number.
    pub software: u128,
    /// Whether its arrival raises an interrupt.
    pub interrupt: bool,
}

/// Offsets have 37 bits, entries of the tables ten.
pub(super) const OFFSET: u32 = 37;
const ENTRY: u32 = 10;
/// Bits of software's part in a memory FIFO header.
pub(super) const SOFTWARE: u32 = 112;

/// In [`Meta::kind`]: the type; for a put, the atomic operation in the higher bits; whether a packet
/// interrupts.
const PUT: u8 = 0;
const FIFO: u8 = 1;
const GET: u8 = 2;
const INTERRUPT: u8 = 1 << 7;

fn word(high: u32, entry: u16, offset: u64) -> u64 {
    u64::from(high) << (OFFSET + ENTRY) | u64::from(entry) << OFFSET | offset & ((1 << OFFSET) - 1)
}

fn parts(word: u64) -> (u32, u16, u64) {
    ((word >> (OFFSET + ENTRY)) as u32, (word >> OFFSET) as u16 % (1 << ENTRY), word & ((1 << OFFSET) - 1))
}

impl UnitHeader {
    /// Encodes the header.
    pub fn meta(self) -> Meta {
        let (kind, message) = match self {
            UnitHeader::Put(put) => (
                PUT | put.atomic.map_or(0, |atomic| (atomic as u8) << 2),
                [word(put.valid, put.base, put.offset), word(0, put.counter_base, put.counter_offset)],
            ),
            UnitHeader::MemoryFifo(q) => {
                let kind = FIFO | if q.interrupt { INTERRUPT } else { 0 };
                let message = [word((q.software >> 96) as u32, q.fifo, q.offset), q.software as u64];
                // Units use no relays, so this field is free.
                return Meta { kind, message, auxiliary: (q.software >> 64) as u32, ..Meta::default() };
            }
            UnitHeader::RemoteGet { fifo, bytes } => (GET, [word(bytes, fifo, 0), 0]),
        };
        Meta { kind, message, ..Meta::default() }
    }

    /// Decodes the header.
    pub fn of(meta: &Meta) -> Self {
        let (high, entry, offset) = parts(meta.message[0]);
        match meta.kind & 3 {
            PUT => {
                let (_, counter_base, counter_offset) = parts(meta.message[1]);
                let atomic = Atomic::of(meta.kind >> 2);
                UnitHeader::Put(Put {
                    base: entry,
                    offset,
                    counter_base,
                    counter_offset,
                    valid: high,
                    atomic,
                })
            }
            FIFO => UnitHeader::MemoryFifo(Queued {
                fifo: entry,
                offset,
                software: u128::from(high) << 96
                    | u128::from(meta.auxiliary) << 64
                    | u128::from(meta.message[1]),
                interrupt: meta.kind & INTERRUPT != 0,
            }),
            _ => UnitHeader::RemoteGet { fifo: entry, bytes: high },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_packet() {
        for (base, offset, valid) in [(0, 0, 1), (543, (1 << 37) - 1, 512), (7, 12_345, 33)] {
            for atomic in [None, Some(Atomic::Add), Some(Atomic::MaxUnsigned)] {
                let put = UnitHeader::Put(Put {
                    base,
                    offset,
                    counter_base: 543 - base,
                    counter_offset: (1 << 37) - 1 - offset,
                    valid,
                    atomic,
                });
                assert_eq!(UnitHeader::of(&put.meta()), put);
            }
            for interrupt in [false, true] {
                let queued = UnitHeader::MemoryFifo(Queued {
                    fifo: base / 2,
                    offset,
                    software: 0x0123_4567_89ab_cdef_0123_4567_89ab - u128::from(offset),
                    interrupt,
                });
                assert_eq!(UnitHeader::of(&queued.meta()), queued);
            }
            let get = UnitHeader::RemoteGet { fifo: base, bytes: valid };
            assert_eq!(UnitHeader::of(&get.meta()), get);
        }
    }
}
