//! What the point-to-point protocols need of what is below them: the seam between messages and network interfaces.

use crate::program::Collective;
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use smallvec::SmallVec;

/// What a message of the protocols says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What it is.
    pub kind: Kind,
    /// Which of the messages to be matched between the two ranks it is, of those that are.
    pub sequence: u32,
    /// The tag to match; of a clear-to-send the receiver's request.
    pub tag: u32,
    /// Data of the message that it stands for, bytes.
    pub bytes: u64,
    /// The request that it belongs to: the sender's of a request to send and what answers it, the receiver's of data.
    pub request: u32,
}

/// Kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A message with its data.
    Eager,
    /// A request to send: the data follow when the receive has been posted.
    RequestToSend,
    /// That it has been posted.
    ClearToSend,
    /// The data.
    Data,
    /// That the receiver has fetched the data.
    Finished,
}

/// Kinds by number.
pub const KINDS: [Kind; 5] =
    [Kind::Eager, Kind::RequestToSend, Kind::ClearToSend, Kind::Data, Kind::Finished];

/// Bytes of an envelope in a message.
pub const ENVELOPE_B: usize = 24;

impl Envelope {
    /// Whether its data come with it.
    pub fn carries_data(&self) -> bool {
        matches!(self.kind, Kind::Eager | Kind::Data)
    }

    /// As two words, where a packet has no more: lengths below 2^40, requests below 2^24.
    pub fn to_words(self) -> [u64; 2] {
        debug_assert!(self.bytes < 1 << 40 && self.request < 1 << 24);
        let first = u64::from(self.sequence) << 32 | u64::from(self.tag);
        [first, self.bytes | u64::from(self.request) << 40]
    }

    /// The reverse of [`Self::to_words`].
    pub fn of_words(kind: u8, words: [u64; 2]) -> Self {
        Envelope {
            kind: KINDS[usize::from(kind) % KINDS.len()],
            sequence: (words[0] >> 32) as u32,
            tag: words[0] as u32,
            bytes: words[1] & ((1 << 40) - 1),
            request: (words[1] >> 40) as u32,
        }
    }

    /// As bytes.
    pub fn to_bytes(self) -> [u8; ENVELOPE_B] {
        let [first, second] = self.to_words();
        let mut bytes = [0; ENVELOPE_B];
        bytes[..8].copy_from_slice(&u64::from(self.kind as u8).to_le_bytes());
        bytes[8..16].copy_from_slice(&first.to_le_bytes());
        bytes[16..].copy_from_slice(&second.to_le_bytes());
        bytes
    }

    /// The reverse of [`Self::to_bytes`]; of too few bytes, what zeros behind them would mean.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let word = |n: usize| {
            let mut word = [0; 8];
            let from = bytes.get(8 * n..).unwrap_or_default();
            let count = from.len().min(8);
            word[..count].copy_from_slice(&from[..count]);
            u64::from_le_bytes(word)
        };
        Envelope::of_words(word(0) as u8, [word(1), word(2)])
    }
}

/// What has happened below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message has come whole.
    Arrived {
        /// From this rank.
        from: u32,
        /// What it says.
        envelope: Envelope,
    },
    /// All of a message with data has been handed to the network interface.
    Sent {
        /// Its request.
        request: u32,
    },
    /// What was fetched is there.
    Fetched {
        /// By this request.
        request: u32,
    },
    /// The collective operation that this rank takes part in has ended for it.
    Collected,
}

/// What carries the messages of a rank. Nothing here waits: what takes time is asked of the node, and done by the time that the rank is
/// resumed.
pub trait Transport: Send {
    /// Commands of its network interface.
    type Command: Send + 'static;
    /// What can be waited for there.
    type Watch: Copy + Send + 'static;

    /// The rank's hardware thread.
    fn thread(&self) -> &Thread<Self::Command, Self::Watch>;

    /// Sets up what is needed before the first message.
    fn start(&mut self) {}

    /// Data of the longest message that it carries eagerly, bytes.
    fn eager_max_bytes(&self) -> u64;

    /// Whether a receiver can fetch data from a sender's memory; otherwise the sender sends them after a clear to send.
    fn fetches(&self) -> bool;

    /// Whether data of eager messages are copied, or handed to the interface, when they are sent: otherwise a send has finished only when
    /// [`Event::Sent`] says so.
    fn copies(&self) -> bool {
        true
    }

    /// Sends a message to another rank, with its data if the envelope says so.
    fn send(&mut self, to: u32, envelope: Envelope);

    /// Fetches data of another rank, which it has announced with this request; its own request is for the event.
    fn fetch(&mut self, _from: u32, _remote: u32, _bytes: u64, _request: u32) {
        unreachable!("it does not fetch");
    }

    /// Data of the longest collective operation of all ranks that the machine's hardware does, bytes; none if it does not do it.
    fn collective_max_bytes(&self, _what: Collective) -> Option<u64> {
        None
    }

    /// Takes part in a collective operation by hardware, one at a time.
    fn collective(&mut self, _what: Collective, _bytes: u64) {
        unreachable!("it has none");
    }

    /// The wait has ended since this of its watches is there.
    fn found(&mut self, _place: usize) {}

    /// Makes progress by one step and returns what it found. The time of a step is asked of the node.
    fn advance(&mut self) -> Option<Event>;

    /// What ends a wait in which there is nothing to do, and the longest that such a wait should last.
    fn watches(&self) -> (SmallVec<[Self::Watch; 2]>, Option<Microticks>);

    /// Whether anything that was sent has not been handed to the network interface.
    fn is_idle(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn envelopes_survive(kind in 0usize..5, sequence: u32, tag: u32, bytes in 0u64..1 << 40, request in 0u32..1 << 24) {
            let envelope = Envelope { kind: KINDS[kind], sequence, tag, bytes, request };
            prop_assert_eq!(Envelope::of_bytes(&envelope.to_bytes()), envelope);
            prop_assert_eq!(Envelope::of_words(kind as u8, envelope.to_words()), envelope);
        }
    }
}
