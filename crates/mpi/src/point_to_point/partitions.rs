//! The tags of partitioned messages, for reports of what waits: each partition has another one on its way.

use super::PointToPoint;
use crate::transport::{Process, Transport};
use crate::waits::{CONTEXTS, PARTITIONED, Pending, WITHIN_GROUP};
use std::collections::BTreeMap;

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
    /// Partitions of a message from a rank, or to one, have the tags from `first` on in place of `tag`.
    pub fn note_partitions(&self, context: u32, source: Option<i32>, first: i32, partitions: u32, tag: i32) {
        self.tables
            .borrow_mut()
            .partitions
            .0
            .insert((context, source, first), Known { partitions, tag, unready: None });
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
