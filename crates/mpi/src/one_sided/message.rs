//! Messages of windows: what they are, and what an operation tells its target.

use super::operation::Accumulate;
use crate::datatype::Layout;
use crate::matching::Envelope;
use crate::op::Op;

/// The context of messages of windows.
pub const CONTEXT: u32 = u32::MAX - 1;

/// What a message is: its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // What they are about is the standard's.
pub enum Kind {
    // From an origin to a target. Operations, with a `Header`.
    Put,
    Accumulate,
    Get,
    GetAccumulate,
    CompareAndSwap,
    // Synchronization, without data.
    LockShared,
    LockExclusive,
    Unlock,
    Flush,
    Complete,
    /// Asks where the window's memory is at the target.
    Locate,
    // From a target to an origin.
    Post,
    Granted,
    /// The answer: the address for the transport.
    Located,
    /// What a token waits for, perhaps with data.
    Result,
}

const KINDS: [Kind; 15] = [
    Kind::Put,
    Kind::Accumulate,
    Kind::Get,
    Kind::GetAccumulate,
    Kind::CompareAndSwap,
    Kind::LockShared,
    Kind::LockExclusive,
    Kind::Unlock,
    Kind::Flush,
    Kind::Complete,
    Kind::Locate,
    Kind::Post,
    Kind::Granted,
    Kind::Located,
    Kind::Result,
];

/// What an origin waits for, by number.
pub type Token = u32;
/// Of operations that are not answered.
pub const NO_TOKEN: Token = Token::MAX;

/// A message of a window without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// What it is.
    pub kind: Kind,
    /// The window; of a result, whether the access was out of range.
    pub window: u32,
    /// The token to which the result belongs, if there is to be one.
    pub token: Token,
}

/// In place of a result's window: nothing is wrong.
pub const DONE: u32 = 0;
/// In place of a result's window: the target memory is not part of the window.
pub const OUT_OF_RANGE: u32 = 1;

impl Label {
    /// The envelope of such a message.
    pub fn envelope(self, bytes: usize) -> Envelope {
        Envelope {
            context: CONTEXT,
            source: self.token as i32,
            tag: self.kind as i32,
            bytes: bytes as u64,
            acknowledge: self.window,
        }
    }

    /// The reverse; `None` if there is no such kind.
    pub fn of(envelope: &Envelope) -> Option<Self> {
        let kind = *KINDS.get(usize::try_from(envelope.tag).ok()?)?;
        Some(Label { kind, window: envelope.acknowledge, token: envelope.source as Token })
    }
}

/// What an operation does at its target, before its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// From the window's base, or in a dynamic window the address, bytes.
    pub offset: i64,
    /// The reduction of an accumulate.
    pub op: Op,
    /// The handle of the predefined type of an accumulate.
    pub element: u32,
    /// Where the target's data is, from the offset on.
    pub layout: Layout,
}

/// A part of fixed length: offset, reduction and type, and the length of one run. With it, eight bytes of data
/// and the envelope lie in the first cache line of a slot of shared memory.
pub(super) const FIXED: usize = 16;
/// In place of the run's length: the lengths of run and layout follow, and the layout if it is not one run.
const LONG: u32 = u32::MAX;

impl Header {
    /// Of an operation on data that is laid out so, from this offset on.
    pub fn new(offset: i64, how: Accumulate, layout: Layout) -> Self {
        Header { offset, op: how.op, element: how.element.map_or(0, |of| of.handle as u32), layout }
    }

    /// As bytes.
    pub fn encode(&self, to: &mut Vec<u8>) {
        let op = crate::op::OPS.iter().find(|of| of.2 == self.op).map_or(0, |of| of.0 as u16);
        let run = self.layout.as_run();
        let length = u32::try_from(self.layout.bytes()).unwrap_or(LONG);
        let short = if run.is_some() { length } else { LONG };
        let mut fixed = [0; FIXED];
        fixed[..8].copy_from_slice(&self.offset.wrapping_add(run.unwrap_or(0) as i64).to_le_bytes());
        fixed[8..10].copy_from_slice(&op.to_le_bytes());
        fixed[10..12].copy_from_slice(&(self.element as u16).to_le_bytes());
        fixed[12..].copy_from_slice(&short.to_le_bytes());
        to.extend(fixed);
        if short == LONG {
            to.extend((self.layout.bytes() as u64).to_le_bytes());
            let at = to.len();
            to.extend([0; 8]);
            if run.is_none() {
                self.layout.encode(to);
                let bytes = (to.len() - at - 8) as u64;
                to[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
            }
        }
    }

    /// The reverse, and the data behind it; `None` if it is no header.
    pub fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (fixed, rest) = bytes.split_first_chunk::<FIXED>()?;
        let short = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
        let offset = i64::from_le_bytes(fixed[..8].try_into().ok()?);
        let length = u32::from_le_bytes(fixed[12..].try_into().ok()?);
        let (layout, data) =
            if length == LONG { long(rest)? } else { (Layout::run(0, length as usize), rest) };
        let op = crate::op::predefined(short(8).into())?;
        Some((Header { offset, op, element: short(10).into(), layout }, data))
    }
}

/// A layout whose lengths come first, and what is behind it.
fn long(bytes: &[u8]) -> Option<(Layout, &[u8])> {
    let (lengths, rest) = bytes.split_first_chunk::<16>()?;
    let length = |at: usize| {
        let word = lengths[at..at + 8].try_into().map(u64::from_le_bytes).ok()?;
        usize::try_from(word).ok()
    };
    let (run, other) = (length(0)?, length(8)?);
    let (layout, data) = rest.split_at_checked(other)?;
    Some((if other == 0 { Layout::run(0, run) } else { Layout::decode(layout)? }, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_at_their_tags_and_headers_survive() {
        assert!(KINDS.iter().enumerate().all(|(at, &kind)| kind as usize == at));
        let label = Label { kind: Kind::Unlock, window: 8, token: 77 };
        assert_eq!(Label::of(&label.envelope(3)), Some(label));
        let huge = Layout::run(0, 1 << 40);
        for layout in [Layout::default(), Layout::run(0, 12), huge, Layout::run(0, 3).repeated(4, 10)] {
            let header = Header { offset: -7, op: Op::Band, element: 0x209, layout };
            let mut bytes = vec![];
            header.encode(&mut bytes);
            bytes.extend([1, 2, 3]);
            assert_eq!(Header::decode(&bytes), Some((header, &[1, 2, 3][..])));
            assert_eq!(Header::decode(&bytes[..FIXED - 1]), None);
        }
    }
}
