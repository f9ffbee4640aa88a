//! The interface between the point-to-point protocols and network interfaces.

use crate::program::Collective;
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The envelope of a protocol message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Its kind.
    pub kind: Kind,
    /// Its sequence number among the messages to be matched between the two ranks, if it is one.
    pub sequence: u32,
    /// The tag to match; for a clear-to-send, the receiver's request.
    pub tag: u32,
    /// Length of the described message's data, bytes.
    pub bytes: u64,
    /// Its request: the sender's for a request to send and its answers, the receiver's for data.
    pub request: u32,
}

/// Kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Kind {
    /// A message with its data.
    Eager,
    /// A request to send: the data follows when the receive has been posted.
    RequestToSend,
    /// A clear to send: the receive has been posted.
    ClearToSend,
    /// The data.
    Data,
    /// The receiver has fetched the data.
    Finished,
}

/// Kinds by number.
pub const KINDS: [Kind; 5] =
    [Kind::Eager, Kind::RequestToSend, Kind::ClearToSend, Kind::Data, Kind::Finished];

/// Size of an envelope in a message, bytes.
pub const ENVELOPE_B: usize = 24;

impl Envelope {
    /// Whether it carries data.
    pub fn carries_data(&self) -> bool {
        matches!(self.kind, Kind::Eager | Kind::Data)
    }

    /// Length of the data that comes with it, bytes.
    pub fn data_bytes(&self) -> u64 {
        if self.carries_data() { self.bytes } else { 0 }
    }

    /// Encodes it as two words, for packets with no more space: lengths below 2^40, requests below 2^24.
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

    /// Encodes it as bytes.
    pub fn to_bytes(self) -> [u8; ENVELOPE_B] {
        let [first, second] = self.to_words();
        let mut bytes = [0; ENVELOPE_B];
        bytes[..8].copy_from_slice(&u64::from(self.kind as u8).to_le_bytes());
        bytes[8..16].copy_from_slice(&first.to_le_bytes());
        bytes[16..].copy_from_slice(&second.to_le_bytes());
        bytes
    }

    /// The reverse of [`Self::to_bytes`]; missing bytes count as zeros.
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

/// An event of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message has completely arrived.
    Arrived {
        /// The sending rank.
        from: u32,
        /// Its envelope.
        envelope: Envelope,
    },
    /// A message with data has been completely passed to the network interface.
    Sent {
        /// Its request.
        request: u32,
    },
    /// Another rank has read the data that this one announced: only if the interface notifies the rank.
    Read {
        /// The request of the announcement.
        request: u32,
    },
    /// A fetch is complete.
    Fetched {
        /// Its request.
        request: u32,
    },
    /// The current collective operation has ended for this rank.
    Collected,
}

/// The transport of a rank's messages. Nothing here waits: operations that take time are queued at the node,
/// and are complete when the rank is resumed.
pub trait Transport: Send {
    /// Commands of its network interface.
    type Command: Send + 'static;
    /// Conditions that can be waited for.
    type Watch: Copy + Send + 'static;

    /// The rank's hardware thread.
    fn thread(&self) -> &Thread<Self::Command, Self::Watch>;

    /// Performs the set-up before the first message.
    fn start(&mut self) {}

    /// From now on another hardware thread drives it, which is this process of its node.
    fn run_as(&mut self, _process: u8) {}

    /// Maximum data of an eager message, bytes.
    fn eager_max_bytes(&self) -> u64;

    /// Whether there is space now for an eager message of this length: otherwise it goes by rendezvous.
    fn has_space(&self, _bytes: u64) -> bool {
        true
    }

    /// Whether a receiver can fetch data from a sender's memory; otherwise the sender sends it after a clear
    /// to send.
    fn fetches(&self) -> bool;

    /// Whether the data of an eager message of this length is copied, or passed to the interface, when it is
    /// sent: otherwise a send finishes only with [`Event::Sent`].
    fn copies(&self, _bytes: u64) -> bool {
        true
    }

    /// Whether the transport copies the data of an eager message of this length part by part, and takes the
    /// time for it: at the sender, and at the receiver when a part arrives.
    fn copies_parts(&self, _bytes: u64) -> bool {
        false
    }

    /// The time of its own instructions, copies among them, that it has added since this was last called: the
    /// rest of what it adds is that of commands to the network interface.
    fn take_spent(&mut self) -> Microticks {
        Microticks::ZERO
    }

    /// Whether the rank that announced data is notified when it has been read, by [`Event::Read`].
    fn notifies_of_reads(&self) -> bool {
        false
    }

    /// Sends a message to another rank, with its data if the envelope requests it.
    fn send(&mut self, to: u32, envelope: Envelope);

    /// Fetches data of another rank, which announced it with the request `remote`; the event has this rank's
    /// own request.
    fn fetch(&mut self, _from: u32, _remote: u32, _bytes: u64, _request: u32) {
        unreachable!("this transport does not fetch");
    }

    /// Maximum data of a collective operation of all ranks by the machine's hardware, bytes; `None` if it is
    /// not supported.
    fn collective_max_bytes(&self, _what: Collective) -> Option<u64> {
        None
    }

    /// Whether the machine's library executes a collective operation by hardware, where that supports it,
    /// unless an algorithm is named.
    fn prefers_hardware(&self, _what: Collective) -> bool {
        false
    }

    /// The time of the library's instructions for a collective operation by hardware; `None`: those of a send
    /// when it begins, and of a receive when it has ended.
    fn collective_time(&self, _what: Collective) -> Option<Microticks> {
        None
    }

    /// Takes part in a collective operation by hardware, one at a time.
    fn collective(&mut self, _what: Collective, _bytes: u64) {
        unreachable!("this transport has no collective hardware");
    }

    /// The wait has ended since the watch with this index holds.
    fn found(&mut self, _place: usize) {}

    /// Makes one step of progress and returns any event. The time of the step is spent on the node.
    fn advance(&mut self) -> Option<Event>;

    /// The conditions that end an idle wait, and its time limit.
    fn watches(&self) -> (SmallVec<[Self::Watch; 2]>, Option<Microticks>);

    /// Whether all messages have been passed to the network interface.
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
