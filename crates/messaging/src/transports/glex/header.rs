//! What a mini-packet, or a buffer of an exclusive channel, begins with: the protocols' envelope, and in the
//! bytes that this leaves free what the channels tell each other.

use crate::transport::{ENVELOPE_B, Envelope};
use smallvec::SmallVec;

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packet {
    /// A message, or a part of one, with its data.
    Message,
    /// A part of a message in this block of the sender.
    Block(u32),
    /// Only credits.
    Credit,
    /// A request for an exclusive channel. This is the sender's ring.
    Connect(u32),
    /// The answer: the other side's ring.
    Accept(u32),
    /// The answer if there is no ring left.
    Refuse,
}

impl Packet {
    fn to_words(self) -> (u8, Option<u32>) {
        match self {
            Packet::Message => (0, None),
            Packet::Block(block) => (1, Some(block)),
            Packet::Credit => (2, None),
            Packet::Connect(ring) => (3, Some(ring)),
            Packet::Accept(ring) => (4, Some(ring)),
            Packet::Refuse => (5, None),
        }
    }
}

/// Such a beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub envelope: Envelope,
    pub packet: Packet,
    /// The length of this part of the message, bytes.
    pub part: u16,
    /// Mini-packets that the sender has taken since it last said so, and buffers of the exclusive channel.
    pub credits: u16,
    pub buffers: u16,
    /// How many mini-packets that only returned credits it has taken: credits for mini-packets, and for
    /// buffers.
    pub taken: [u8; 2],
    /// Whether the sender needs more credits.
    pub wants_more: bool,
}

/// The flag of `wants_more`; the bits of `taken`, and their distance.
const WANTS_MORE: u8 = 0x80;
const TAKEN: u8 = 3;
const TAKEN_AT: [u32; 2] = [3, 5];

impl Header {
    pub fn to_bytes(self) -> SmallVec<[u8; 28]> {
        let (packet, argument) = self.packet.to_words();
        let mut bytes = SmallVec::from_slice(&self.envelope.to_bytes());
        let [mini_packets, buffers] = [0, 1].map(|n| self.taken[n] << TAKEN_AT[n]);
        bytes[1] = packet | mini_packets | buffers | if self.wants_more { WANTS_MORE } else { 0 };
        bytes[2..4].copy_from_slice(&self.part.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.credits.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.buffers.to_le_bytes());
        bytes.extend(argument.into_iter().flat_map(u32::to_le_bytes));
        bytes
    }

    /// The reverse; `None` if it is none.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let argument = || Some(u32::from_le_bytes(bytes.get(ENVELOPE_B..ENVELOPE_B + 4)?.try_into().ok()?));
        let first = *bytes.get(1)?;
        let packet = match first & 7 {
            0 => Packet::Message,
            1 => Packet::Block(argument()?),
            2 => Packet::Credit,
            3 => Packet::Connect(argument()?),
            4 => Packet::Accept(argument()?),
            5 => Packet::Refuse,
            _ => return None,
        };
        Some(Header {
            envelope: Envelope::of_bytes(bytes),
            packet,
            part: number(2)?,
            credits: number(4)?,
            buffers: number(6)?,
            taken: TAKEN_AT.map(|at| first >> at & TAKEN),
            wants_more: first & WANTS_MORE != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::KINDS;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn headers_survive(
            kind in 0usize..5, sequence: u32, tag: u32, bytes in 0u64..1 << 40, request in 0u32..1 << 24,
            which in 0u8..6, argument: u32, part: u16, credits: u16, buffers: u16, wants_more: bool,
            taken in prop::array::uniform2(0u8..4),
        ) {
            let envelope = Envelope { kind: KINDS[kind], sequence, tag, bytes, request };
            let packet = [
                Packet::Message, Packet::Block(argument), Packet::Credit, Packet::Connect(argument),
                Packet::Accept(argument), Packet::Refuse,
            ][usize::from(which)];
            let header = Header { envelope, packet, part, credits, buffers, taken, wants_more };
            prop_assert_eq!(Header::of_bytes(&header.to_bytes()), Some(header));
            // One that is cut off is none.
            prop_assert_eq!(Header::of_bytes(&header.to_bytes()[..7]), None);
        }
    }
}
