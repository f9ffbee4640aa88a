//! What packets say, in the words that the fabric carries along with them: data with its address, keys and place in its transfer, and
//! what sender and receiver contexts tell each other (sections 2.4 and 2.6).

use super::node::PORTS;
use super::status::Status;
use netloom_engine::Time;
use netloom_fabric::packet::Meta;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Data for memory.
    Put,
    /// The same, as a get asked for it.
    Answer,
    /// A mini-packet.
    Mini,
    /// A request for data, which is described in its own data.
    Get,
    /// Asks for a connection.
    Setup,
    /// Grants it.
    Accept,
    /// Refuses it: there is no receiver context.
    Nack,
    /// All of a transfer has come.
    Done,
    /// A packet has not come whole.
    Resend,
    /// A connection was granted that nobody waits for.
    Release,
    /// A control packet, which may set off a sequence of descriptors.
    Control,
    /// The same, whose data is a mini-packet too.
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
    /// Whether it is an answer, which travels in VCs of its own and never waits for memory.
    pub fn is_answer(self) -> bool {
        matches!(self, Kind::Accept | Kind::Nack | Kind::Done | Kind::Resend | Kind::Release)
    }

    /// Whether it always has a mini-packet's length.
    pub fn is_mini(self) -> bool {
        matches!(self, Kind::Mini | Kind::Control | Kind::ControlMini)
    }
}

/// A transfer of a node: its number, which is its sender context's where there is a connection, and which use of that it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub number: u16,
    pub use_: u8,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub kind: Kind,
    /// The virtual port that it is for, and that it is from.
    pub vp: u8,
    pub from_vp: u8,
    /// The key of the port that it is for.
    pub key: u16,
    pub address: u64,
    pub bytes: u32,
    pub id: Id,
    /// Its place in its transfer; how many there are is known by the last.
    pub sequence: u32,
    pub is_last: bool,
    pub is_connected: bool,
    /// Its address needs no translation.
    pub is_physical: bool,
    /// The event at the end, if there is to be one.
    pub event: Option<u32>,
    /// Whether the end interrupts.
    pub interrupt: bool,
    pub status: Status,
}

/// Both ports of a packet, as a number of eleven bits.
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
            beyond: self.event.unwrap_or(0),
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
            event: (first >> 63 != 0).then_some(meta.beyond),
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
