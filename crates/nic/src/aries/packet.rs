//! Packet formats, in the words that the fabric carries with a packet: requests with the network address,
//! their sequence (SSID) and their entry in the output request buffer, and responses.

use super::status::Status;
use netloom_engine::Time;
use netloom_fabric::packet::Meta;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Op {
    Put,
    Get,
    Amo,
    /// A part of a message for a posted receive: its handle is the process, its offset that in the message.
    Send,
    /// An event for the memory's queue, after all puts of a sequence.
    Event,
    /// A partial result for the engine with this number, from the child whose index is the offset.
    Join,
    /// The result, from the engine's parent.
    Result,
    /// Not a request.
    Response,
}

const OPS: [Op; 8] = [Op::Put, Op::Get, Op::Amo, Op::Send, Op::Event, Op::Join, Op::Result, Op::Response];

/// An entry of the output request buffer, and the count of its uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    pub entry: u16,
    pub use_: u8,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub op: Op,
    /// The AMO or the collective operation.
    pub command: u8,
    pub ptag: u8,
    pub mdh: u16,
    pub is_virtual: bool,
    pub offset: u64,
    /// Bytes of data that it carries, or requests.
    pub bytes: u32,
    pub tag: Tag,
    pub ssid: u16,
    /// Whether the destination is to generate an event once all packets of the sequence have arrived, and
    /// their number.
    pub event: bool,
    pub packets: u32,
    /// The data of the event.
    pub user: u32,
}

/// SSIDs per NIC **(ours)**: 12 bits.
pub(super) const SSIDS: usize = 1 << 12;

impl Request {
    pub fn to_meta(self, source: u32, made: Time) -> Meta {
        debug_assert!(self.offset < 1 << 40 && self.mdh < 1 << 12 && self.bytes <= 64);
        let first = self.offset
            | u64::from(self.mdh) << 40
            | u64::from(self.bytes) << 52
            | u64::from(self.event) << 59
            | u64::from(self.is_virtual) << 60;
        let second = u64::from(self.tag.entry)
            | u64::from(self.tag.use_) << 10
            | u64::from(self.ptag) << 18
            | u64::from(self.ssid) << 26
            | u64::from(self.packets.max(1) - 1) << 38;
        Meta {
            made,
            source,
            group: self.command,
            kind: self.op as u8,
            auxiliary: self.user,
            message: [first, second],
            ..Meta::default()
        }
    }

    pub fn of(meta: &Meta) -> Self {
        let [first, second] = meta.message;
        Request {
            op: OPS[usize::from(meta.kind) % OPS.len()],
            command: meta.group,
            ptag: (second >> 18) as u8,
            mdh: (first >> 40) as u16 & 0xfff,
            is_virtual: first >> 60 & 1 != 0,
            offset: first & ((1 << 40) - 1),
            bytes: (first >> 52) as u32 & 127,
            tag: Tag { entry: second as u16 & 1023, use_: (second >> 10) as u8 },
            ssid: (second >> 26) as u16 & 0xfff,
            event: first >> 59 & 1 != 0,
            packets: (second >> 38) as u32 + 1,
            user: meta.auxiliary,
        }
    }
}

/// A response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    pub tag: Tag,
    pub status: Status,
    /// The receive message table had no entry to track the sequence: its event must be requested on
    /// completion.
    pub event_missed: bool,
    /// Bytes of data that it carries.
    pub bytes: u32,
}

impl Response {
    pub fn to_meta(self, source: u32, made: Time) -> Meta {
        let word = u64::from(self.tag.entry)
            | u64::from(self.tag.use_) << 10
            | (self.status as u64) << 18
            | u64::from(self.event_missed) << 26
            | u64::from(self.bytes) << 27;
        Meta { made, source, kind: Op::Response as u8, message: [word, 0], ..Meta::default() }
    }

    pub fn of(meta: &Meta) -> Self {
        let word = meta.message[0];
        Response {
            tag: Tag { entry: word as u16 & 1023, use_: (word >> 10) as u8 },
            status: Status::of((word >> 18) as u8),
            event_missed: word >> 26 & 1 != 0,
            bytes: (word >> 27) as u32 & 127,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap() {
        let full = Request {
            op: Op::Result,
            command: 0x7f,
            ptag: 255,
            mdh: 0xfff,
            is_virtual: true,
            offset: (1 << 40) - 1,
            bytes: 64,
            tag: Tag { entry: 1023, use_: 255 },
            ssid: 0xfff,
            event: true,
            packets: 1 << 26,
            user: u32::MAX,
        };
        assert_eq!(Request::of(&full.to_meta(1, Time::at(2))), full);
        let bare = Request { ptag: 0, mdh: 0, offset: 0, bytes: 0, ssid: 0, packets: 1, ..full };
        assert_eq!(Request::of(&bare.to_meta(1, Time::at(2))), bare);
        let tag = Tag { entry: 1023, use_: 255 };
        for (status, event_missed, bytes) in [(Status::IllegalOp, false, 64), (Status::Success, true, 0)] {
            let response = Response { tag, status, event_missed, bytes };
            assert_eq!(Response::of(&response.to_meta(1, Time::at(2))), response);
        }
    }
}
