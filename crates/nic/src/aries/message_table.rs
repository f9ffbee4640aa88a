//! The receive message table (RMT, "Ordering and Completion"): tracks how much of each sequence has arrived,
//! so that its event needs no round trip, and the posted receive of each message.

use super::node::Receive;
use super::status::Status;
use std::collections::BTreeMap;

/// A sequence of packets that is being received.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequence {
    pub come: u32,
    /// The receive that its first packet matched.
    pub receive: Option<Receive>,
    pub status: Status,
    /// End of its data, bytes.
    pub bytes: u64,
}

/// The table, by source and SSID.
#[derive(Default)]
pub struct MessageTable {
    sequences: BTreeMap<(u32, u16), Sequence>,
}

/// The state of a sequence after one of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The packet was the last.
    Complete,
    /// More packets are expected.
    Counting,
    /// There was no entry to track it.
    Missed,
}

impl MessageTable {
    /// Counts a packet of a sequence of `packets`.
    pub fn follow(&mut self, key: (u32, u16), packets: u32, room: usize) -> Followed {
        if packets <= 1 {
            return Followed::Complete;
        }
        if !self.sequences.contains_key(&key) && self.sequences.len() >= room {
            return Followed::Missed;
        }
        let sequence = self.sequences.entry(key).or_default();
        sequence.come += 1;
        if sequence.come < packets {
            return Followed::Counting;
        }
        self.sequences.remove(&key);
        Followed::Complete
    }

    /// Counts a packet of a message, whose first is matched by `find`; returns the entry, and whether the
    /// packet was the last.
    pub fn message(
        &mut self,
        key: (u32, u16),
        packets: u32,
        end: u64,
        find: impl FnOnce() -> Option<Receive>,
    ) -> (Sequence, bool) {
        let sequence = self.sequences.entry(key).or_insert_with(|| {
            let receive = find();
            let status = if receive.is_some() { Status::Success } else { Status::NoReceive };
            Sequence { receive, status, ..Sequence::default() }
        });
        sequence.come += 1;
        sequence.bytes = sequence.bytes.max(end);
        if sequence.receive.is_some_and(|r| end > r.bytes) {
            sequence.status = Status::ReceiveTooShort;
        }
        let (now, is_last) = (*sequence, sequence.come == packets);
        if is_last {
            self.sequences.remove(&key);
        }
        (now, is_last)
    }

    /// Removes a sequence.
    pub fn forget(&mut self, key: (u32, u16)) {
        self.sequences.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_followed_as_long_as_there_is_room() {
        let mut table = MessageTable::default();
        assert_eq!(table.follow((1, 1), 1, 0), Followed::Complete);
        assert_eq!(table.follow((1, 1), 3, 2), Followed::Counting);
        assert_eq!(table.follow((2, 1), 2, 2), Followed::Counting);
        assert_eq!(table.follow((3, 1), 2, 2), Followed::Missed);
        assert_eq!(table.follow((1, 1), 3, 2), Followed::Counting);
        assert_eq!(table.follow((2, 1), 2, 2), Followed::Complete);
        assert_eq!(table.follow((3, 1), 2, 2), Followed::Counting);
        assert_eq!(table.follow((1, 1), 3, 2), Followed::Complete);
    }

    #[test]
    fn a_message_without_a_receiver_is_rejected_as_a_whole() {
        let mut table = MessageTable::default();
        let (first, is_last) = table.message((1, 1), 2, 64, || None);
        assert_eq!((first.status, is_last), (Status::NoReceive, false));
        let receive = Receive { address: 0, bytes: 100, queue: None, user: 0 };
        let (second, is_last) = table.message((1, 1), 2, 128, || Some(receive));
        assert_eq!((second.status, is_last), (Status::NoReceive, true));
        assert_eq!(table.message((1, 1), 2, 64, || Some(receive)).0.status, Status::Success);
        assert_eq!(table.message((1, 1), 2, 128, || None).0.status, Status::ReceiveTooShort);
    }
}
