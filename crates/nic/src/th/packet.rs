//! Packet formats, in the words that the fabric carries with a packet: data with its address, keys and
//! sequence number in its transfer, and messages between sender and receiver contexts (sections 2.4 and 2.6).

use super::node::PORTS;
use super::status::Status;
use netloom_engine::Time;
use netloom_fabric::packet::Meta;

/// The type of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Data for memory.
    Put,
    /// Data for memory, in response to a get.
    Answer,
    /// A mini-packet.
    Mini,
    /// A request for data, described by the packet's own data.
    Get,
    /// Requests a connection.
    Setup,
    /// Accepts a connection.
    Accept,
    /// Rejects a connection: there is no receiver context.
    Nack,
    /// All packets of a transfer have arrived.
    Done,
    /// A packet has arrived corrupted.
    Resend,
    /// A connection was accepted for a transfer that has ended.
    Release,
    /// A control packet, which may trigger a sequence of descriptors.
    Control,
    /// The same, whose data also forms a mini-packet.
    ControlMini,
}

const KINDS: [Kind; 12] = [
    Kind::Put,
    Kind::Answer,
    Kind::Mini,
    Kind::Get,
    Kind::Setup,
    Kind::Accept,
    Kind::Nack,
    Kind::Done,
    Kind::Resend,
    Kind::Release,
    Kind::Control,
    Kind::ControlMini,
];

impl Kind {
    /// Whether it is a response, which uses separate VCs and never waits for memory.
    pub fn is_answer(self) -> bool {
        matches!(self, Kind::Accept | Kind::Nack | Kind::Done | Kind::Resend | Kind::Release)
    }

    /// Whether it always has the length of a mini-packet.
    pub fn is_mini(self) -> bool {
        matches!(self, Kind::Mini | Kind::Control | Kind::ControlMini)
    }
}

/// Identifies a transfer of a node: its number, which is that of its sender context if there is a connection,
/// and the count of the number's uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub number: u16,
    pub use_: u8,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub kind: Kind,
    /// Destination and source virtual port.
    pub vp: u8,
    pub from_vp: u8,
    /// The key of the destination port.
    pub key: u16,
    pub address: u64,
    pub bytes: u32,
    pub id: Id,
    /// Its sequence number in its transfer; the last one determines the total.
    pub sequence: u32,
    pub is_last: bool,
    pub is_connected: bool,
    /// Whether its address needs no translation.
    pub is_physical: bool,
    /// The event on completion, if any.
    pub event: Option<u32>,
    /// Whether completion interrupts.
    pub interrupt: bool,
    pub status: Status,
}

/// Both ports of a packet, as an 11-bit number.
fn pair(vp: u8, from_vp: u8) -> u64 {
    u64::from(vp) * u64::from(PORTS) + u64::from(from_vp)
}

impl Packet {
    pub fn to_meta(self, source: u32, made: Time) -> Meta {
        debug_assert!(self.address < 1 << 48 && self.bytes < 512 && self.sequence < 1 << 24);
        debug_assert!(self.vp < PORTS && self.from_vp < PORTS);
        let pair = pair(self.vp, self.from_vp);
        let first = self.address
            | u64::from(self.bytes) << 48
            | (pair & 63) << 57
            | u64::from(self.event.is_some()) << 63;
        let second = u64::from(self.key)
            | u64::from(self.id.number) << 16
            | u64::from(self.sequence) << 32
            | (pair >> 6) << 56
            | u64::from(self.interrupt) << 61
            | u64::from(self.is_connected) << 62
            | u64::from(self.is_last) << 63;
        Meta {
            made,
            source,
            group: self.id.use_,
            kind: self.kind as u8 | (self.status as u8) << 4 | u8::from(self.is_physical) << 7,
            auxiliary: self.event.unwrap_or(0),
            message: [first, second],
            ..Meta::default()
        }
    }

    pub fn of(meta: &Meta) -> Self {
        let [first, second] = meta.message;
        let pair = (first >> 57 & 63) | (second >> 56 & 31) << 6;
        Packet {
            kind: KINDS[usize::from(meta.kind & 15) % KINDS.len()],
            vp: (pair / u64::from(PORTS)) as u8,
            from_vp: (pair % u64::from(PORTS)) as u8,
            key: second as u16,
            address: first & ((1 << 48) - 1),
            bytes: (first >> 48) as u32 & 511,
            id: Id { number: (second >> 16) as u16, use_: meta.group },
            sequence: (second >> 32) as u32 & 0xff_ffff,
            is_last: second >> 63 != 0,
            is_connected: second >> 62 & 1 != 0,
            is_physical: meta.kind >> 7 != 0,
            event: (first >> 63 != 0).then_some(meta.auxiliary),
            interrupt: second >> 61 & 1 != 0,
            status: Status::of(meta.kind >> 4 & 7),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap() {
        let full = Packet {
            kind: Kind::ControlMini,
            vp: 39,
            from_vp: 38,
            key: 0xffff,
            address: (1 << 48) - 1,
            bytes: 256,
            id: Id { number: 0xffff, use_: 255 },
            sequence: (1 << 24) - 1,
            is_last: true,
            is_connected: true,
            is_physical: true,
            event: Some(u32::MAX),
            interrupt: true,
            status: Status::QueueFull,
        };
        assert_eq!(Packet::of(&full.to_meta(1, Time::at(2))), full);
        let bare = Packet { address: 0, key: 0, event: None, is_last: false, is_physical: false, ..full };
        let bare = Packet { vp: 0, from_vp: 39, interrupt: false, ..bare };
        assert_eq!(Packet::of(&bare.to_meta(1, Time::at(2))), bare);
    }
}
