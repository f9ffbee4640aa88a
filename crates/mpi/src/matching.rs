//! Matching: posted receives and unexpected messages, each in order (MPI 5.0, section 3.5).

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// `MPI_ANY_SOURCE`.
pub const ANY_SOURCE: i32 = -1;
/// `MPI_ANY_TAG`.
pub const ANY_TAG: i32 = -2;

/// What a message is matched by, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The context of its communicator.
    pub context: u32,
    /// The sender's rank there.
    pub source: i32,
    /// Its tag.
    pub tag: i32,
    /// Length of its data, bytes.
    pub bytes: u64,
    /// 1 + the sender's request, if it is to hear that a receive has taken the message; else 0.
    pub acknowledge: u32,
}

impl Envelope {
    /// Its length as bytes.
    pub const BYTES: usize = 24;

    /// As bytes. They are stored as whole words, as a queue reads them: words that are read from parts which
    /// were stored one by one make the processor wait until these stores are done, and all before them.
    #[inline]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let words =
            [self.bytes, pair(self.context, self.source as u32), pair(self.tag as u32, self.acknowledge)];
        let mut bytes = [0; Self::BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The reverse of [`Self::to_bytes`]; `None` if the bytes are of another length.
    #[inline]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| bytes[at..at + 4].try_into().expect("four bytes");
        Some(Envelope {
            bytes: u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")),
            context: u32::from_le_bytes(word(8)),
            source: i32::from_le_bytes(word(12)),
            tag: i32::from_le_bytes(word(16)),
            acknowledge: u32::from_le_bytes(word(20)),
        })
    }
}

/// What a receive wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// The context of its communicator.
    pub context: u32,
    /// The sender's rank there, or [`ANY_SOURCE`].
    pub source: i32,
    /// The tag, or [`ANY_TAG`].
    pub tag: i32,
}

impl Pattern {
    /// Whether a message is wanted.
    #[inline]
    pub fn matches(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && (self.source == ANY_SOURCE || self.source == envelope.source)
            && (self.tag == ANY_TAG || self.tag == envelope.tag)
    }
}

/// Posted receives, and unexpected messages, that wait for each other, with a number for each.
#[derive(Debug, Default)]
pub struct Matching {
    posted: VecDeque<(Pattern, u64)>,
    unexpected: VecDeque<(Envelope, u64)>,
    searched: u32,
}

impl Matching {
    /// A message has arrived: the first receive that wants it.
    #[inline(always)]
    pub fn arrived(&mut self, envelope: &Envelope) -> Option<u64> {
        // Most messages are for the first.
        if let Some(&(pattern, receive)) = self.posted.front()
            && pattern.matches(envelope)
        {
            self.searched = 1;
            self.posted.pop_front();
            return Some(receive);
        }
        self.arrived_for_other(*envelope)
    }

    #[inline(never)]
    fn arrived_for_other(&mut self, envelope: Envelope) -> Option<u64> {
        let found = self.posted.iter().position(|(pattern, _)| pattern.matches(&envelope));
        self.searched = found.map_or(self.posted.len(), |at| at + 1) as u32;
        self.posted.remove(found?).map(|(_, receive)| receive)
    }

    /// Elements that the last search looked at.
    #[inline]
    pub fn searched(&self) -> u32 {
        self.searched
    }

    /// Nobody wants a message yet.
    #[inline]
    pub fn add_unexpected(&mut self, envelope: Envelope, message: u64) {
        self.unexpected.push_back((envelope, message));
    }

    /// A receive begins: the first message that it wants.
    #[inline(always)]
    pub fn take_unexpected(&mut self, pattern: &Pattern) -> Option<(Envelope, u64)> {
        if self.unexpected.is_empty() {
            self.searched = 0;
            return None;
        }
        self.take_one_of_many(*pattern)
    }

    #[inline(never)]
    fn take_one_of_many(&mut self, pattern: Pattern) -> Option<(Envelope, u64)> {
        let found = self.unexpected.iter().position(|(envelope, _)| pattern.matches(envelope));
        self.searched = found.map_or(self.unexpected.len(), |at| at + 1) as u32;
        self.unexpected.remove(found?)
    }

    /// The first message that a receive would take.
    pub fn probe(&self, pattern: &Pattern) -> Option<Envelope> {
        self.unexpected.iter().find(|(envelope, _)| pattern.matches(envelope)).map(|found| found.0)
    }

    /// A receive waits.
    #[inline(always)]
    pub fn post(&mut self, pattern: Pattern, receive: u64) {
        // A constant is moved there first, and then the parts are stored one by one: they would be loaded as
        // larger words at once if they were moved, for which the processor waits.
        const PLACE: (Pattern, u64) = (Pattern { context: 0, source: 0, tag: 0 }, 0);
        self.posted.push_back(PLACE);
        if let Some(last) = self.posted.back_mut() {
            *last = (pattern, receive);
        }
    }

    /// A receive does not wait any more; whether it did.
    pub fn cancel(&mut self, receive: u64) -> bool {
        let at = self.posted.iter().position(|posted| posted.1 == receive);
        at.and_then(|at| self.posted.remove(at)).is_some()
    }

    /// Messages that nobody wants yet.
    pub fn unexpected(&self) -> impl Iterator<Item = (&Envelope, u64)> {
        self.unexpected.iter().map(|(envelope, message)| (envelope, *message))
    }

    /// The patterns of the receives that wait.
    pub fn posted(&self) -> impl Iterator<Item = (&Pattern, u64)> {
        self.posted.iter().map(|(pattern, receive)| (pattern, *receive))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The standard's rule, written plainly: of what matches, the oldest receive and the oldest message.
    #[derive(Default)]
    struct Model {
        receives: Vec<(Pattern, u64)>,
        messages: Vec<(Envelope, u64)>,
    }

    proptest! {
        #[test]
        fn matches_are_those_of_the_plain_model(
            steps in prop::collection::vec((any::<bool>(), 0u32..2, -1i32..3, prop_oneof![Just(-2i32), 0i32..3]), 0..60)
        ) {
            let (mut ours, mut model) = (Matching::default(), Model::default());
            for (n, (is_receive, context, source, tag)) in steps.into_iter().enumerate() {
                let n = n as u64;
                if is_receive {
                    let pattern = Pattern { context, source, tag };
                    let wants = |message: &Envelope| {
                        message.context == context && [source, -1].contains(&if source == -1 { -1 } else { message.source })
                            && (tag == -2 || message.tag == tag)
                    };
                    let at = model.messages.iter().position(|(envelope, _)| wants(envelope));
                    let expected = at.map(|at| model.messages.remove(at));
                    let found = ours.take_unexpected(&pattern);
                    prop_assert_eq!(found, expected);
                    if found.is_none() {
                        ours.post(pattern, n);
                        model.receives.push((pattern, n));
                    }
                } else {
                    let (source, tag) = (source.max(0), tag.max(0));
                    let envelope = Envelope { context, source, tag, bytes: n, acknowledge: 0 };
                    let wanted = |(pattern, _): &(Pattern, u64)| {
                        pattern.context == context
                            && (pattern.source < 0 || pattern.source == envelope.source)
                            && (pattern.tag < 0 || pattern.tag == envelope.tag)
                    };
                    let at = model.receives.iter().position(wanted);
                    let expected = at.map(|at| model.receives.remove(at).1);
                    let found = ours.arrived(&envelope);
                    prop_assert_eq!(found, expected);
                    if found.is_none() {
                        ours.add_unexpected(envelope, n);
                        model.messages.push((envelope, n));
                    }
                }
                prop_assert_eq!(ours.posted().count(), model.receives.len());
            }
        }

        #[test]
        fn envelopes_survive(context: u32, source: i32, tag: i32, bytes: u64, acknowledge: u32) {
            let envelope = Envelope { context, source, tag, bytes, acknowledge };
            prop_assert_eq!(Envelope::of_bytes(&envelope.to_bytes()), Some(envelope));
            prop_assert_eq!(Envelope::of_bytes(&envelope.to_bytes()[1..]), None);
        }
    }
}
