//! Combines the data of packets that meet, word by word.

use super::header::{CollectiveHeader, Flags};
use super::{float, integer};
use crate::packet::Data;

/// The result of combining packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combined {
    /// The header of the combined packet.
    pub header: CollectiveHeader,
    /// Its data; `None` stands for zeros.
    pub data: Option<Data>,
}

/// The order of the bytes of a word in the nodes' memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// The most significant byte first: that of the machine's own processors.
    #[default]
    Big,
    /// The least significant byte first.
    Little,
}

impl ByteOrder {
    /// That of this computer, in whose order the memory of real programs is.
    pub const HERE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
}

/// Combines packets in the order of a node's inputs. Missing data counts as zeros, and zeros combine to zeros
/// in every operation. The hardware's words are big-endian; those of nodes whose memory has another order are
/// taken in that order **(ours)**.
///
/// # Panics
/// If there is no packet.
pub fn combine(packets: &[(CollectiveHeader, Option<Data>)], order: ByteOrder) -> Combined {
    let (mut header, _) = packets[0];
    for (other, _) in &packets[1..] {
        let mismatch = !header.agrees(other);
        header.flags = header.flags.or(other.flags).or(Flags { mismatch, ..Flags::default() });
    }
    let Some(length) = packets.iter().filter_map(|(_, data)| Some(data.as_ref()?.len())).max() else {
        return Combined { header, data: None };
    };
    if let [(_, data)] = packets
        && !header.operation.is_double()
    {
        return Combined { header, data: data.clone() };
    }
    // If sizes differ, which the mismatch flag reports, the shorter packets are padded with zeros.
    let word = header.word_B as usize;
    let length = length.next_multiple_of(word);
    let whole = |data: &Option<Data>| {
        let mut bytes = data.as_deref().unwrap_or(&[]).to_vec();
        bytes.resize(length, 0);
        to_order(&mut bytes, word, order);
        bytes
    };
    let mut inputs: Vec<Vec<u8>> = packets.iter().map(|(_, data)| whole(data)).collect();
    if header.operation.is_double() {
        let mut result = vec![0; length];
        for (at, out) in result.chunks_exact_mut(8).enumerate() {
            let of = |input: &Vec<u8>| {
                f64::from_be_bytes(input[8 * at..8 * at + 8].try_into().expect("eight bytes"))
            };
            let (value, is_nan) = float::combine(header.operation, inputs.iter().map(of));
            header.flags.nan |= is_nan;
            out.copy_from_slice(&value.to_be_bytes());
        }
        to_order(&mut result, word, order);
        return Combined { header, data: Some(result.into()) };
    }
    let mut result = inputs.swap_remove(0);
    for input in &inputs {
        header.flags.overflow |= integer::combine(header.operation, word, &mut result, input);
    }
    to_order(&mut result, word, order);
    Combined { header, data: Some(result.into()) }
}

/// Converts words between big-endian and another order.
fn to_order(bytes: &mut [u8], word: usize, order: ByteOrder) {
    if order == ByteOrder::Little {
        bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Delivers, Operation, RouteKind};
    use super::*;

    fn combine(packets: &[(CollectiveHeader, Option<Data>)]) -> Combined {
        super::combine(packets, ByteOrder::Big)
    }

    #[test]
    fn words_have_the_byte_order_of_memory() {
        let sum = |of: fn(u32) -> [u8; 4], order| {
            let packets = [100_000, 70_000].map(|x| packet(Operation::AddUnsigned, 4, &of(x)));
            super::combine(&packets, order).data.unwrap().to_vec()
        };
        assert_eq!(sum(u32::to_be_bytes, ByteOrder::Big), 170_000u32.to_be_bytes());
        assert_eq!(sum(u32::to_le_bytes, ByteOrder::Little), 170_000u32.to_le_bytes());
        let packets = [1.5f64, -4.0].map(|x| packet(Operation::MinDouble, 8, &x.to_le_bytes()));
        let least = super::combine(&packets, ByteOrder::Little);
        assert_eq!(least.data.as_deref(), Some(&(-4.0f64).to_le_bytes()[..]));
    }

    fn packet(operation: Operation, word: u32, data: &[u8]) -> (CollectiveHeader, Option<Data>) {
        let header = CollectiveHeader {
            class: 3,
            kind: RouteKind::UserSubcomm,
            operation,
            word_B: word,
            delivers: Delivers::AllReduce,
            chunks: 2,
            flags: Flags::default(),
        };
        (header, (!data.is_empty()).then(|| data.into()))
    }

    fn doubles(list: &[f64]) -> Vec<u8> {
        list.iter().flat_map(|x| x.to_be_bytes()).collect()
    }

    #[test]
    fn words_are_combined_each_for_itself() {
        let op = Operation::AddDouble;
        let packets = [[1.0, 2.0], [10.0, 20.0], [100.0, -200.0]].map(|x| packet(op, 8, &doubles(&x)));
        let sum = combine(&packets);
        assert_eq!(sum.data.as_deref(), Some(&doubles(&[111.0, -178.0])[..]));
        assert!(!sum.header.flags.any());
    }

    #[test]
    fn what_is_not_there_is_zeros() {
        for op in Operation::ALL {
            let none = [packet(op, 8, &[]), packet(op, 8, &[])];
            assert_eq!(combine(&none).data, None);
            let zeros = [packet(op, 8, &[]), packet(op, 8, &[0; 16])];
            assert_eq!(combine(&zeros).data.as_deref(), Some(&[0; 16][..]));
        }
        let some = [packet(Operation::Or, 4, &[]), packet(Operation::Or, 4, &[1, 2, 3, 4])];
        assert_eq!(combine(&some).data.as_deref(), Some(&[1, 2, 3, 4][..]));
        let some = [packet(Operation::MinSigned, 4, &[]), packet(Operation::MinSigned, 4, &[0, 0, 0, 4])];
        assert_eq!(combine(&some).data.as_deref(), Some(&[0; 4][..]));
    }

    #[test]
    fn flags_are_raised_and_kept() {
        let add = Operation::AddUnsigned;
        let over = combine(&[packet(add, 4, &[0xff; 4]), packet(add, 4, &[0, 0, 0, 1])]);
        assert_eq!(over.header.flags, Flags { overflow: true, ..Flags::default() });
        // The parent receives the flags and adds its own.
        let mut other = packet(add, 8, &[0; 8]);
        other.0.flags.nan = true;
        let both = combine(&[(over.header, over.data), other]);
        assert_eq!(both.header.flags, Flags { overflow: true, nan: true, mismatch: true });
        let nan = combine(&[packet(Operation::MaxDouble, 8, &doubles(&[f64::NAN]))]);
        assert!(nan.header.flags.nan);
    }
}
