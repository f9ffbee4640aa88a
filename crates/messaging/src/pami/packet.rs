//! Packets of the protocols: what a device carries besides bytes.

use super::Endpoint;

/// Kinds of packets, and what their bytes are. Integers are 8 bytes, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A whole message: header, data.
    Immediate,
    /// The start of an eager message: length of all its data, the sender's request to acknowledge or
    /// [`NO_REQUEST`], header, first data.
    First,
    /// More data of the eager message that its sender started last.
    More,
    /// A part of the header of the message that its sender starts next, if one packet cannot hold it.
    Header,
    /// A rendezvous: length of the data, the sender's request, address of the data, header.
    Announcement,
    /// All data of a request is there: the sender's request, 0 or 1 if it failed.
    Acknowledgement,
    /// The receiver cannot read the sender's memory: the sender's request, the receiver's.
    StreamRequest,
    /// Data of a request: the receiver's request, data.
    Stream,
    /// Data of a put, where the sender cannot write the target's memory: in the last packet the sender's
    /// request, else [`NO_REQUEST`]; then pieces, each with address, length, data.
    Store,
    /// A get, where the sender cannot read the target's memory: the sender's request for the stream; then
    /// address and length of each piece.
    Load,
    /// An integer operation on the receiver's memory; see [`super::rmw`].
    Rmw,
    /// The old value: the requester's request, value.
    RmwResult,
}

const KINDS: [Kind; 12] = [
    Kind::Immediate,
    Kind::First,
    Kind::More,
    Kind::Header,
    Kind::Announcement,
    Kind::Acknowledgement,
    Kind::StreamRequest,
    Kind::Stream,
    Kind::Store,
    Kind::Load,
    Kind::Rmw,
    Kind::RmwResult,
];

/// No request, where one may stand.
pub const NO_REQUEST: u64 = u64::MAX;

/// The head of a packet: one word of 64 bits, so that it travels in a register. Fields that are stored one by
/// one and loaded as one make the processor wait until all stores before them are done, also those to lines
/// that another core has.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Head(u64);

impl Head {
    /// Number of dispatch identifiers.
    pub const DISPATCHES: usize = 1 << 12;

    /// The head of a packet of this kind, with the identifier of a dispatch function, below
    /// [`Head::DISPATCHES`], and the length of the program's header, from this sender.
    #[inline]
    pub fn new(kind: Kind, dispatch: u16, header_bytes: u16, origin: Endpoint) -> Self {
        debug_assert!(usize::from(dispatch) < Self::DISPATCHES);
        Head(
            u64::from(origin.0)
                | u64::from(header_bytes) << 32
                | u64::from(dispatch) << 48
                | (kind as u64) << 60,
        )
    }

    /// Its kind.
    #[inline]
    pub fn kind(self) -> Kind {
        KINDS[(self.0 >> 60) as usize]
    }

    /// Identifier of the dispatch function.
    #[inline]
    pub fn dispatch(self) -> u16 {
        (self.0 >> 48) as u16 & 0xfff
    }

    /// Length of the program's header, bytes.
    #[inline]
    pub fn header_bytes(self) -> u16 {
        (self.0 >> 32) as u16
    }

    /// The sender.
    #[inline]
    pub fn origin(self) -> Endpoint {
        Endpoint(self.0 as u32)
    }

    /// The same from another sender.
    #[inline]
    pub fn from(self, origin: Endpoint) -> Self {
        Head(self.0 >> 32 << 32 | u64::from(origin.0))
    }

    /// As a word.
    #[inline]
    pub fn to_word(self) -> u64 {
        self.0
    }

    /// The reverse of [`Self::to_word`]; `None` if there is no such kind.
    #[inline]
    pub fn of_word(word: u64) -> Option<Self> {
        (((word >> 60) as usize) < KINDS.len()).then_some(Head(word))
    }
}

impl std::fmt::Debug for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Head")
            .field("kind", &self.kind())
            .field("dispatch", &self.dispatch())
            .field("header_bytes", &self.header_bytes())
            .field("origin", &self.origin())
            .finish()
    }
}

/// The integer at an index of a packet's bytes; 0 behind their end.
#[inline]
pub fn integer(bytes: &[u8], index: usize) -> u64 {
    let bytes = bytes.get(8 * index..8 * index + 8);
    bytes.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
}

/// Integers as a packet's bytes.
pub fn integers<const N: usize>(values: [u64; N]) -> Vec<u8> {
    values.into_iter().flat_map(u64::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn heads_survive(kind in 0usize..12, dispatch in 0u16..1 << 12, header_bytes: u16, origin: u32) {
            let head = Head::new(KINDS[kind], dispatch, header_bytes, Endpoint(origin));
            prop_assert_eq!(Head::of_word(head.to_word()), Some(head));
            prop_assert_eq!((head.kind(), head.dispatch()), (KINDS[kind], dispatch));
            prop_assert_eq!((head.header_bytes(), head.origin()), (header_bytes, Endpoint(origin)));
            let other = head.from(Endpoint(!origin));
            prop_assert_eq!(other, Head::new(KINDS[kind], dispatch, header_bytes, Endpoint(!origin)));
            prop_assert_eq!(Head::of_word(head.to_word() | 12 << 60), None);
            prop_assert_eq!(KINDS[kind] as usize, kind);
        }

        #[test]
        fn integers_survive(values: [u64; 3]) {
            let bytes = integers(values);
            prop_assert_eq!([0, 1, 2].map(|n| integer(&bytes, n)), values);
            prop_assert_eq!(integer(&bytes, 3), 0);
        }
    }
}
