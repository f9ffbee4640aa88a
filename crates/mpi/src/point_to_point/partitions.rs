//! Partitioned messages: each partition is a message with a tag of its own. Those of a send, the header that
//! tells of them, and what is known of them for reports of what waits.

use super::PointToPoint;
use crate::error::{Class, Error};
use crate::transport::{Process, Transport};
use crate::waits::{CONTEXTS, PARTITIONED, Pending, WITHIN_GROUP};
use std::collections::BTreeMap;

/// The lowest tag of a partition: programs have those from 0 on, and wildcards are -1 and -2.
const FIRST_TAG: i32 = i32::MIN;
const TAGS: u32 = FIRST_TAG.unsigned_abs() - 2;

/// The tags of the partitions of all sends of a communicator.
#[derive(Debug, Default)]
pub struct Tags {
    taken: u32,
}

impl Tags {
    /// Takes those of so many partitions, which follow each other: the first one.
    ///
    /// # Errors
    /// If so many are not left.
    pub fn take(&mut self, partitions: u32) -> Result<i32, Error> {
        let left = TAGS - self.taken;
        if partitions > left {
            let text = format!(
                "partitions is {partitions}, and only {left} are left of the {TAGS} that all sends of a communicator may have"
            );
            return Err(Error::new(Class::Arg, text));
        }
        let first = FIRST_TAG.wrapping_add_unsigned(self.taken);
        self.taken += partitions;
        Ok(first)
    }
}

/// What a send tells when it is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The tag of the first partition.
    pub first: i32,
    /// How many there are.
    pub partitions: u32,
    /// Data of each, bytes.
    pub bytes: u64,
}

impl Header {
    /// Its length, bytes.
    pub const BYTES: usize = 16;

    /// As it is sent.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let low = u64::from(self.first as u32) | u64::from(self.partitions) << 32;
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&low.to_le_bytes());
        bytes[8..].copy_from_slice(&self.bytes.to_le_bytes());
        bytes
    }

    /// As it has come.
    pub fn of_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Header { first: word(0) as i32, partitions: (word(0) >> 32) as u32, bytes: word(8) }
    }
}

#[derive(Debug)]
struct Known {
    /// How many partitions it has.
    partitions: u32,
    /// The tag that the program gave.
    tag: i32,
    /// The process that a started send goes to, and how many of its partitions are not ready.
    unready: Option<(Process, u32)>,
}

/// By context, source (none if this process sends) and first tag.
#[derive(Debug, Default)]
pub struct Partitions(BTreeMap<(u32, Option<i32>, i32), Known>);

impl Partitions {
    /// The tag that the program gave to a message with this tag. `None` of a partition that nothing is known of.
    pub fn tag(&self, context: u32, source: Option<i32>, tag: i32) -> Option<i32> {
        if !is_partitioned(context) || tag >= 0 {
            return Some(tag);
        }
        let before = self.0.range((context, source, i32::MIN)..=(context, source, tag));
        let (&(_, _, first), known) = before.last()?;
        (tag.abs_diff(first) < known.partitions).then_some(known.tag)
    }

    /// Started sends with partitions that are not ready.
    pub fn unready(&self) -> impl Iterator<Item = Pending> {
        self.0.iter().filter_map(|(&(context, ..), known)| {
            let (to, unready) = known.unready.filter(|&(_, unready)| unready > 0)?;
            let &Known { partitions, tag, .. } = known;
            Some(Pending::Partitions { to, context, tag, unready, partitions })
        })
    }
}

/// Whether messages of this context are partitioned, or tell of such.
pub fn is_partitioned(context: u32) -> bool {
    context % CONTEXTS == PARTITIONED && context & WITHIN_GROUP == 0
}

impl<T: Transport> PointToPoint<T> {
    /// The partitions of a message from a rank (or that this process sends) have their tags in place of `tag`.
    pub fn note_partitions(&self, context: u32, source: Option<i32>, header: Header, tag: i32) {
        let Header { first, partitions, .. } = header;
        if partitions > 0 {
            let known = Known { partitions, tag, unready: None };
            self.tables.borrow_mut().partitions.0.insert((context, source, first), known);
        }
    }

    /// So many partitions of a started send to a process are not ready.
    pub fn note_unready(&self, context: u32, first: i32, to: Process, unready: u32) {
        if let Some(known) = self.tables.borrow_mut().partitions.0.get_mut(&(context, None, first)) {
            known.unready = Some((to, unready));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::{ANY_SOURCE, ANY_TAG};

    #[test]
    fn headers_are_bytes() {
        let header = Header { first: FIRST_TAG + 5, partitions: u32::MAX, bytes: 1 << 40 };
        assert_eq!(Header::of_bytes(header.to_bytes()), header);
    }

    /// No two sends share tags, and none of a program's is used.
    #[test]
    fn tags_follow_each_other() {
        let mut tags = Tags::default();
        assert_eq!(
            [6, 0, TAGS - 6].map(|n| tags.take(n).unwrap()),
            [FIRST_TAG, FIRST_TAG + 6, FIRST_TAG + 6]
        );
        assert!(tags.take(1).is_err());
        assert!(FIRST_TAG.wrapping_add_unsigned(TAGS - 1) < ANY_TAG.min(ANY_SOURCE));
    }

    #[test]
    fn partitions_have_the_tag_of_their_message() {
        let mut partitions = Partitions::default();
        let known = |partitions, tag| Known { partitions, tag, unready: None };
        partitions.0.insert((6, Some(1), -100), known(3, 7));
        partitions.0.insert((6, Some(1), -50), known(1, 8));
        partitions.0.insert((6, None, -100), known(9, 5));
        let from_one = |tag| partitions.tag(6, Some(1), tag);
        assert_eq!(
            [-101, -100, -98, -97, -50, -49].map(from_one),
            [None, Some(7), Some(7), None, Some(8), None]
        );
        assert_eq!(partitions.tag(6, None, -97), Some(5));
        assert_eq!(partitions.tag(10, Some(1), -100), None);
        // Headers have the program's tag, and other contexts have no partitions.
        assert_eq!([from_one(3), partitions.tag(4, Some(1), -2)], [Some(3), Some(-2)]);
    }
}
