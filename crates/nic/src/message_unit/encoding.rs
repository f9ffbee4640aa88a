//! The encoding of descriptors in memory: 64 B, with the fields of the public driver's `MU_Descriptor.h`,
//! `MU_Pt2PtNetworkHeader.h`, `MU_CollectiveNetworkHeader.h` and `MU_MessageUnitHeader.h`. An RDMA read
//! carries them as its data.
//!
//! | bytes | meaning |
//! |---|---|
//! | 0..4 | last bit: prefetch only |
//! | 4..8 | last bit: interrupt at the arrival of the last packet |
//! | 8..16 | address of the data |
//! | 16..24 | length |
//! | 24..32 | injection FIFOs |
//! | 32..44 | network header |
//! | 44..64 | unit header |
//!
//! Where the driver's headers contradict each other (hints of E), the bits follow its macros.

use super::DESCRIPTOR_B;
use super::descriptor::{Atomic, Descriptor, HIGH_PRIORITY, IoLink, Kind, Network};
use netloom_fabric::collective::{Delivers, Operation, RouteKind};
use netloom_fabric::topology::torus::{Coordinates, Torus};

/// A descriptor in memory.
pub type Bytes = [u8; DESCRIPTOR_B as usize];

const POINT_TO_POINT: u8 = 0x55;
const COLLECTIVE: u8 = 0x5a;
/// In byte 34: dynamic; in byte 35: the VC in three bits, the zone in two.
const DYNAMIC: u8 = 0x04;
/// In byte 34: for the IO node; the link through which it leaves an IO node, counted from 1.
const TO_IO: u8 = 0x20;
const FROM_IO: u8 = 3;
const SYSTEM_VC: u8 = 3;
const ADDRESS: u64 = (1 << 37) - 1;
/// In an address: its low bits are an atomic operation.
const ATOMIC: u64 = 1 << 36;

/// Hint bits: A- first, then A+, and so on; in this simulator's port masks plus comes first.
fn hint_bytes(hints: u16) -> [u8; 2] {
    let bit = |port: usize| hints >> (port ^ 1) & 1 != 0;
    let byte = |ports: std::ops::Range<usize>| ports.fold(0, |byte, port| byte << 1 | u8::from(bit(port)));
    [byte(0..8), byte(8..10) << 6]
}

fn hints_of(bytes: [u8; 2]) -> u16 {
    let bit = |port: usize| bytes[port / 8] >> (7 - port % 8) & 1 != 0;
    (0..10).filter(|&port| bit(port)).fold(0, |hints, port| hints | 1 << (port ^ 1))
}

/// Destinations: six bits per dimension, in the low 30 bits of four bytes.
fn coordinates_word(at: Coordinates) -> u32 {
    at.iter().fold(0, |word, &x| word << 6 | u32::from(x & 63))
}

fn coordinates_of(word: u32) -> Coordinates {
    std::array::from_fn(|d| (word >> (6 * (4 - d)) & 63) as u8)
}

fn network_bytes(d: &Descriptor, torus: &Torus) -> [u8; 12] {
    let mut b = [0; 12];
    match d.network {
        Network::PointToPoint { destination, hints, deterministic, zone } => {
            let [first, second] = hint_bytes(hints.unwrap_or(0));
            let vc = match (d.map & HIGH_PRIORITY != 0, deterministic) {
                (true, _) => 2,
                (false, true) => 1,
                (false, false) => 0,
            };
            let dynamic = if deterministic { 0 } else { DYNAMIC };
            b[..4].copy_from_slice(&[POINT_TO_POINT, first, second | dynamic, vc << 5 | (zone & 3) << 3]);
            b[4..8].copy_from_slice(&coordinates_word(torus.coordinates(destination)).to_be_bytes());
        }
        Network::System { destination, io } => {
            let link = match io {
                IoLink::None => 0,
                IoLink::AtDestination => TO_IO,
                IoLink::AtSource(link) => (link + 1) << FROM_IO,
            };
            b[..4].copy_from_slice(&[POINT_TO_POINT, 0, link, SYSTEM_VC << 5]);
            b[4..8].copy_from_slice(&coordinates_word(torus.coordinates(destination)).to_be_bytes());
        }
        Network::Collective { class, kind, operation, word_B, delivers } => {
            let (how, to) = match delivers {
                Delivers::Broadcast => (0, Coordinates::default()),
                Delivers::AllReduce => (2, Coordinates::default()),
                Delivers::Reduce(to) => (3, to),
            };
            let vc = match kind {
                RouteKind::UserCommworld => 4,
                RouteKind::UserSubcomm => 5,
                RouteKind::System => 6,
            };
            let word = word_B.trailing_zeros() as u8 - 2;
            b[..4].copy_from_slice(&[
                COLLECTIVE,
                (operation as u8) << 4 | word,
                class << 4,
                vc << 5 | how << 3,
            ]);
            b[4..8].copy_from_slice(&coordinates_word(to).to_be_bytes());
        }
    }
    b[8] = match d.kind {
        Kind::MemoryFifo { .. } => 0x00,
        Kind::DirectPut { .. } | Kind::AtomicPut { .. } => 0x40,
        Kind::RemoteGet { .. } => 0x80,
    };
    b
}

/// Encodes a descriptor.
pub fn to_bytes(d: &Descriptor, torus: &Torus) -> Bytes {
    let mut b = [0; DESCRIPTOR_B as usize];
    b[3] = u8::from(d.prefetch_only);
    b[7] = u8::from(matches!(d.kind, Kind::MemoryFifo { interrupt: true, .. }));
    b[8..16].copy_from_slice(&(d.payload & ADDRESS).to_be_bytes());
    b[16..24].copy_from_slice(&d.length.to_be_bytes());
    b[24..32].copy_from_slice(&u64::from(d.map).to_be_bytes());
    b[32..44].copy_from_slice(&network_bytes(d, torus));
    let unit = &mut b[44..64];
    // An entry of a table in the first ten bits, and an offset in the last 37, of eight bytes.
    let place = |entry: u16, offset: u64| (u64::from(entry) << 54 | offset).to_be_bytes();
    match d.kind {
        Kind::DirectPut { base, offset, counter_base, counter_offset } => {
            unit[..8].copy_from_slice(&place(base, offset));
            unit[8..16].copy_from_slice(&place(counter_base, counter_offset));
        }
        Kind::AtomicPut { atomic, base, offset, counter_base, counter_offset } => {
            unit[..8].copy_from_slice(&place(base, offset | ATOMIC | atomic as u64));
            unit[8..16].copy_from_slice(&place(counter_base, counter_offset));
        }
        Kind::MemoryFifo { fifo, software, .. } => {
            unit[..6].copy_from_slice(&place(fifo, 0)[..6]);
            unit[6..].copy_from_slice(&software.to_be_bytes()[2..]);
        }
        Kind::RemoteGet { fifo } => unit[..8].copy_from_slice(&place(fifo, 0)),
    }
    b
}

/// Decodes a descriptor; `None` if the bytes are not a valid one.
pub fn of_bytes(b: &Bytes, torus: &Torus) -> Option<Descriptor> {
    let to = coordinates_of(u32::from_be_bytes(b[36..40].try_into().expect("four bytes")));
    let network = match b[32] {
        POINT_TO_POINT => {
            if (0..to.len()).any(|d| u32::from(to[d]) >= torus.length(d)) {
                return None;
            }
            let hints = hints_of([b[33], b[34] & 0xc0]);
            let destination = torus.node(to);
            if b[35] >> 5 == SYSTEM_VC {
                let io = match (b[34] & TO_IO != 0, b[34] >> FROM_IO & 3) {
                    (false, 0) => IoLink::None,
                    (true, 0) => IoLink::AtDestination,
                    (_, link) => IoLink::AtSource(link - 1),
                };
                return of_parts(b, Network::System { destination, io });
            }
            Network::PointToPoint {
                destination,
                hints: (hints != 0).then_some(hints),
                deterministic: b[34] & DYNAMIC == 0,
                zone: b[35] >> 3 & 3,
            }
        }
        COLLECTIVE => Network::Collective {
            class: b[34] >> 4,
            kind: match b[35] >> 5 {
                4 => RouteKind::UserCommworld,
                5 => RouteKind::UserSubcomm,
                6 => RouteKind::System,
                _ => return None,
            },
            operation: Operation::ALL.into_iter().find(|&op| op as u8 == b[33] >> 4)?,
            word_B: 4u32.checked_shl(u32::from(b[33] & 15)).filter(|&w| w <= 512)?,
            delivers: match b[35] >> 3 & 3 {
                0 => Delivers::Broadcast,
                2 => Delivers::AllReduce,
                3 => Delivers::Reduce(to),
                _ => return None,
            },
        },
        _ => return None,
    };
    of_parts(b, network)
}

fn of_parts(b: &Bytes, network: Network) -> Option<Descriptor> {
    let long = |from: usize| u64::from_be_bytes(b[from..from + 8].try_into().expect("eight bytes"));
    let place = |from: usize| ((long(from) >> 54) as u16, long(from) & ADDRESS);
    let ((base, offset), (counter_base, counter_offset)) = (place(44), place(52));
    let kind = match b[40] & 0xc0 {
        0x00 => {
            let software = b[50..64].iter().fold(0, |all, &byte| all << 8 | u128::from(byte));
            Kind::MemoryFifo { fifo: base, software, interrupt: b[7] & 1 != 0 }
        }
        0x40 if offset & ATOMIC != 0 => Kind::AtomicPut {
            atomic: Atomic::of(offset as u8 & 7)?,
            base,
            offset: offset & !ATOMIC & !7,
            counter_base,
            counter_offset,
        },
        0x40 => Kind::DirectPut { base, offset, counter_base, counter_offset },
        0x80 => Kind::RemoteGet { fifo: base },
        _ => return None,
    };
    Some(Descriptor {
        payload: long(8) & ADDRESS,
        length: long(16),
        map: long(24) as u16,
        network,
        kind,
        prefetch_only: b[3] & 1 != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_fabric::config::Topology;
    use proptest::prelude::*;

    fn torus() -> Torus {
        Torus::new(&Topology { dims: vec![4, 4, 8, 3, 2], ..Topology::default() })
    }

    fn network() -> impl Strategy<Value = Network> {
        let point = (0u32..768, proptest::option::of(1u16..1024), any::<bool>(), 0u8..4).prop_map(
            |(destination, hints, deterministic, zone)| Network::PointToPoint {
                destination,
                hints,
                deterministic,
                zone,
            },
        );
        let kinds = [RouteKind::UserCommworld, RouteKind::System, RouteKind::UserSubcomm];
        let collective = (0u8..16, 0usize..3, 0usize..12, 0u32..8, 0u8..3, 0u32..768).prop_map(
            move |(class, kind, operation, word, how, to)| Network::Collective {
                class,
                kind: kinds[kind],
                operation: Operation::ALL[operation],
                word_B: 4 << word,
                delivers: match how {
                    0 => Delivers::Broadcast,
                    1 => Delivers::AllReduce,
                    _ => Delivers::Reduce(torus().coordinates(to)),
                },
            },
        );
        let links = [IoLink::None, IoLink::AtDestination, IoLink::AtSource(0), IoLink::AtSource(2)];
        let system = (0u32..768, 0usize..4)
            .prop_map(move |(destination, io)| Network::System { destination, io: links[io] });
        prop_oneof![point, system, collective]
    }

    fn kind() -> impl Strategy<Value = Kind> {
        let put = (0u16..544, 0u64..1 << 36, 0u16..544, 0u64..1 << 36).prop_map(
            |(base, offset, counter_base, counter_offset)| Kind::DirectPut {
                base,
                offset,
                counter_base,
                counter_offset,
            },
        );
        let atomic = (0u16..544, 0u64..1 << 33, 0u16..544, 0u64..1 << 36).prop_map(
            |(base, word, counter_base, counter_offset)| Kind::AtomicPut {
                atomic: Atomic::Xor,
                base,
                offset: 8 * word,
                counter_base,
                counter_offset,
            },
        );
        let fifo = (0u16..272, 0u128..1 << 112, any::<bool>())
            .prop_map(|(fifo, software, interrupt)| Kind::MemoryFifo { fifo, software, interrupt });
        prop_oneof![put, atomic, fifo, (0u16..544).prop_map(|fifo| Kind::RemoteGet { fifo })]
    }

    proptest! {
        #[test]
        fn a_descriptor_survives_memory(
            payload in 0u64..1 << 37,
            length: u64,
            map: u16,
            network in network(),
            kind in kind(),
            prefetch_only: bool,
        ) {
            let d = Descriptor { payload, length, map, network, kind, prefetch_only };
            prop_assert_eq!(of_bytes(&to_bytes(&d, &torus()), &torus()), Some(d));
        }

        /// Decoding any bytes as a descriptor terminates without a panic.
        #[test]
        fn anything_may_be_read(bytes in proptest::collection::vec(any::<u8>(), 64), start: bool) {
            let mut b: Bytes = bytes.try_into().expect("64");
            b[32] = if start { POINT_TO_POINT } else { COLLECTIVE };
            if let Some(d) = of_bytes(&b, &torus()) {
                d.problem(&torus(), 0);
            }
        }
    }

    #[test]
    fn hints_are_where_the_driver_has_them() {
        // A- is the first bit, A+ the next; port masks begin with plus.
        assert_eq!(hint_bytes(1 << 1), [0x80, 0]);
        assert_eq!(hint_bytes(1 << 0), [0x40, 0]);
        assert_eq!(hint_bytes(1 << 8 | 1 << 7), [0x02, 0x40]);
    }
}
