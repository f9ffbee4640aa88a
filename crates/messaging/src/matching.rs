//! A rank's receive side: posted receives and unexpected messages, matched by source and tag in FIFO order.
//!
//! The order is MPI's. A message takes the receive posted first among those that it fits; a receive takes the
//! message that arrived first among those that fit it. A driver must report the messages of one pair of ranks
//! in the order in which they were sent (MPI's messages do not overtake).
//!
//! Each posted receive is in one queue, selected by what it specifies: source and tag, source, tag, or
//! neither. An arriving message looks at the head of at most four queues and takes the oldest. An unexpected
//! message is in the queue of its exact source and tag and, once such a wildcard has had to search, in those
//! of its source, of its tag and of all messages. All queues are linked through the entries, so that an entry
//! can be removed from the middle: every operation takes constant time however long the queues are, except
//! for the one search that sets up a wildcard's queues.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// No entry.
const NONE: u32 = u32::MAX;

/// The first of the tags reserved for collective operations by messages, which MPI separates by a context: a
/// receive of any tag does not match them.
pub const COLLECTIVE_TAGS: u32 = 1 << 31;

/// Classes of receives, by which of source and tag they specify. The numbers index arrays.
const EXACT: usize = 0;
const BY_SOURCE: usize = 1;
const BY_TAG: usize = 2;
const ANY: usize = 3;
const CLASSES: usize = 4;

/// Hashes a key that is one integer. The keys are ranks and tags of a program under study, not of an
/// adversary, and results never depend on the order within a map.
#[derive(Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word) ^ (chunk.len() as u64) << 60);
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        // The high half of a 128-bit product depends on every bit; an odd constant near 2^64 / golden ratio.
        let product = u128::from(self.0 ^ value ^ 0x5851_f42d_4c95_7f2d) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A map by keys that are one integer.
pub type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

fn key(class: usize, source: u32, tag: u32) -> u64 {
    match class {
        EXACT => u64::from(source) << 32 | u64::from(tag),
        BY_SOURCE => u64::from(source),
        BY_TAG => u64::from(tag),
        _ => 0,
    }
}

fn class_of(source: Option<u32>, tag: Option<u32>) -> usize {
    match (source, tag) {
        (Some(_), Some(_)) => EXACT,
        (Some(_), None) => BY_SOURCE,
        (None, Some(_)) => BY_TAG,
        (None, None) => ANY,
    }
}

/// The ends of a queue that is linked through its entries. A queue in a map is never empty.
#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

type Queues = [KeyMap<u64, Ends>; CLASSES];

/// An entry's neighbours in a queue.
#[derive(Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

const UNLINKED: Link = Link { previous: NONE, next: NONE };

/// The receive side of one rank in two contexts: the program's messages, and those of its collective
/// operations ([`COLLECTIVE_TAGS`]).
pub struct Contexts<R, M>([Matching<R, M>; 2]);

impl<R, M> Default for Contexts<R, M> {
    fn default() -> Self {
        Contexts([Matching::new(), Matching::new()])
    }
}

impl<R, M> Contexts<R, M> {
    fn of(&mut self, tag: Option<u32>) -> &mut Matching<R, M> {
        &mut self.0[usize::from(tag.is_some_and(|tag| tag >= COLLECTIVE_TAGS))]
    }

    /// See [`Matching::post`].
    pub fn post(&mut self, source: Option<u32>, tag: Option<u32>, receive: R) -> Option<M> {
        self.of(tag).post(source, tag, receive)
    }

    /// See [`Matching::arrive`].
    pub fn arrive(&mut self, source: u32, tag: u32, message: M) -> Option<R> {
        self.of(Some(tag)).arrive(source, tag, message)
    }

    /// See [`Matching::posted`].
    pub fn posted(&self) -> impl Iterator<Item = (Option<u32>, Option<u32>, &R)> {
        self.0.iter().flat_map(Matching::posted)
    }

    /// See [`Matching::unexpected`].
    pub fn unexpected(&self) -> impl Iterator<Item = (u32, u32, &M)> {
        self.0.iter().flat_map(Matching::unexpected)
    }
}

struct Posted<R> {
    order: u64,
    source: Option<u32>,
    tag: Option<u32>,
    next: u32,
    /// `None`: the entry is free, and `next` is the next free one.
    receive: Option<R>,
}

struct Unexpected<M> {
    order: u64,
    source: u32,
    tag: u32,
    links: [Link; CLASSES],
    /// `None`: the entry is free, and the first link's `next` is the next free one.
    message: Option<M>,
}

/// The receive side of one rank. `R` identifies a posted receive for its owner, `M` an unexpected message.
///
/// ```
/// use netloom_messaging::matching::Matching;
/// let mut side: Matching<&str, &str> = Matching::new();
/// assert_eq!(side.post(Some(3), None, "receive"), None); // from rank 3, any tag: waits
/// assert_eq!(side.arrive(4, 7, "early"), None); // from rank 4: no receive matches it yet
/// assert_eq!(side.arrive(3, 7, "message"), Some("receive"));
/// assert_eq!(side.post(None, Some(7), "late"), Some("early"));
/// ```
pub struct Matching<R, M> {
    /// Receives and messages so far, which gives the age of an entry.
    order: u64,
    posted: Vec<Posted<R>>,
    posted_free: u32,
    posted_len: usize,
    posted_queues: Queues,
    unexpected: Vec<Unexpected<M>>,
    unexpected_free: u32,
    unexpected_len: usize,
    unexpected_queues: Queues,
    /// The classes of `unexpected_queues` that are maintained.
    indexed: [bool; CLASSES],
}

impl<R, M> Default for Matching<R, M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R, M> Matching<R, M> {
    /// With no posted receives and no messages. Allocates nothing.
    pub fn new() -> Self {
        Self {
            order: 0,
            posted: Vec::new(),
            posted_free: NONE,
            posted_len: 0,
            posted_queues: Default::default(),
            unexpected: Vec::new(),
            unexpected_free: NONE,
            unexpected_len: 0,
            unexpected_queues: Default::default(),
            indexed: [true, false, false, false],
        }
    }

    /// Posts a receive. Returns the unexpected message that it matches, or stores it until one arrives.
    pub fn post(&mut self, source: Option<u32>, tag: Option<u32>, receive: R) -> Option<M> {
        let class = class_of(source, tag);
        if self.unexpected_len > 0 {
            self.index(class);
            let key = key(class, source.unwrap_or(0), tag.unwrap_or(0));
            if let Some(ends) = self.unexpected_queues[class].get(&key) {
                return Some(self.take_unexpected(ends.first));
            }
        }
        self.keep_posted(class, source, tag, receive);
        None
    }

    /// A message has arrived. Returns the posted receive that it matches, or stores it until one is posted.
    pub fn arrive(&mut self, source: u32, tag: u32, message: M) -> Option<R> {
        let mut oldest = (u64::MAX, EXACT, NONE);
        if self.posted_len > 0 {
            for class in 0..CLASSES {
                // Most programs post no receives of some class: an empty map returns without hashing.
                if let Some(ends) = self.posted_queues[class].get(&key(class, source, tag)) {
                    let order = self.posted[ends.first as usize].order;
                    if order < oldest.0 {
                        oldest = (order, class, ends.first);
                    }
                }
            }
        }
        if oldest.2 != NONE {
            return Some(self.take_posted(oldest.1, key(oldest.1, source, tag), oldest.2));
        }
        self.keep_unexpected(source, tag, message);
        None
    }

    /// Receives that wait for a message.
    pub fn posted_len(&self) -> usize {
        self.posted_len
    }

    /// Messages that wait for a receive.
    pub fn unexpected_len(&self) -> usize {
        self.unexpected_len
    }

    /// The waiting receives, with their source and tag, in no particular order: for reports.
    pub fn posted(&self) -> impl Iterator<Item = (Option<u32>, Option<u32>, &R)> {
        self.posted.iter().filter_map(|e| e.receive.as_ref().map(|r| (e.source, e.tag, r)))
    }

    /// The waiting messages, with their source and tag, in no particular order: for reports.
    pub fn unexpected(&self) -> impl Iterator<Item = (u32, u32, &M)> {
        self.unexpected.iter().filter_map(|e| e.message.as_ref().map(|m| (e.source, e.tag, m)))
    }

    fn keep_posted(&mut self, class: usize, source: Option<u32>, tag: Option<u32>, receive: R) {
        self.order += 1;
        let entry = Posted { order: self.order, source, tag, next: NONE, receive: Some(receive) };
        let index = self.posted_free;
        let index = if index == NONE {
            self.posted.push(entry);
            // 2^32 receives would first need some 200 GB.
            (self.posted.len() - 1) as u32
        } else {
            self.posted_free = self.posted[index as usize].next;
            self.posted[index as usize] = entry;
            index
        };
        self.posted_len += 1;
        let ends = self.posted_queues[class]
            .entry(key(class, source.unwrap_or(0), tag.unwrap_or(0)))
            .or_insert(Ends { first: index, last: index });
        if ends.last != index {
            self.posted[ends.last as usize].next = index;
            ends.last = index;
        }
    }

    /// Takes the first receive of a queue.
    fn take_posted(&mut self, class: usize, key: u64, index: u32) -> R {
        let entry = &mut self.posted[index as usize];
        let receive = entry.receive.take().expect("a queue holds no free entry");
        let next = entry.next;
        entry.next = self.posted_free;
        self.posted_free = index;
        self.posted_len -= 1;
        if next == NONE {
            self.posted_queues[class].remove(&key);
        } else {
            self.posted_queues[class].get_mut(&key).expect("the queue that was just found").first = next;
        }
        receive
    }

    fn keep_unexpected(&mut self, source: u32, tag: u32, message: M) {
        self.order += 1;
        let entry =
            Unexpected { order: self.order, source, tag, links: [UNLINKED; CLASSES], message: Some(message) };
        let index = self.unexpected_free;
        let index = if index == NONE {
            self.unexpected.push(entry);
            (self.unexpected.len() - 1) as u32
        } else {
            self.unexpected_free = self.unexpected[index as usize].links[EXACT].next;
            self.unexpected[index as usize] = entry;
            index
        };
        self.unexpected_len += 1;
        for class in 0..CLASSES {
            if self.indexed[class] {
                self.link(class, index);
            }
        }
    }

    /// Appends an unexpected message to its queue of a class.
    fn link(&mut self, class: usize, index: u32) {
        let entry = &self.unexpected[index as usize];
        let key = key(class, entry.source, entry.tag);
        let ends = self.unexpected_queues[class].entry(key).or_insert(Ends { first: index, last: index });
        if ends.last != index {
            let previous = std::mem::replace(&mut ends.last, index);
            self.unexpected[previous as usize].links[class].next = index;
            self.unexpected[index as usize].links[class].previous = previous;
        }
    }

    fn take_unexpected(&mut self, index: u32) -> M {
        let entry = &mut self.unexpected[index as usize];
        let (source, tag, links) = (entry.source, entry.tag, entry.links);
        let message = entry.message.take().expect("a queue holds no free entry");
        entry.links[EXACT].next = self.unexpected_free;
        self.unexpected_free = index;
        self.unexpected_len -= 1;
        for class in (0..CLASSES).filter(|&class| self.indexed[class]) {
            let Link { previous, next } = links[class];
            let key = key(class, source, tag);
            if previous == NONE && next == NONE {
                self.unexpected_queues[class].remove(&key);
                continue;
            }
            if previous == NONE {
                self.unexpected_queues[class].get_mut(&key).expect("an entry's queue").first = next;
            } else {
                self.unexpected[previous as usize].links[class].next = next;
            }
            if next == NONE {
                self.unexpected_queues[class].get_mut(&key).expect("an entry's queue").last = previous;
            } else {
                self.unexpected[next as usize].links[class].previous = previous;
            }
        }
        message
    }

    /// Builds the queues of a class from the existing messages, once.
    fn index(&mut self, class: usize) {
        if self.indexed[class] {
            return;
        }
        self.indexed[class] = true;
        let mut waiting: Vec<(u64, u32)> = (0..)
            .zip(&self.unexpected)
            .filter(|(_, entry)| entry.message.is_some())
            .map(|(index, entry)| (entry.order, index))
            .collect();
        waiting.sort_unstable();
        for (_, index) in waiting {
            self.link(class, index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference implementation by linear search.
    #[derive(Default)]
    struct Naive {
        posted: Vec<(Option<u32>, Option<u32>, u32)>,
        unexpected: Vec<(u32, u32, u32)>,
    }

    fn fits(source: Option<u32>, tag: Option<u32>, message: (u32, u32)) -> bool {
        source.is_none_or(|s| s == message.0) && tag.is_none_or(|t| t == message.1)
    }

    impl Naive {
        fn post(&mut self, source: Option<u32>, tag: Option<u32>, receive: u32) -> Option<u32> {
            match self.unexpected.iter().position(|m| fits(source, tag, (m.0, m.1))) {
                Some(at) => Some(self.unexpected.remove(at).2),
                None => {
                    self.posted.push((source, tag, receive));
                    None
                }
            }
        }
        fn arrive(&mut self, source: u32, tag: u32, message: u32) -> Option<u32> {
            match self.posted.iter().position(|r| fits(r.0, r.1, (source, tag))) {
                Some(at) => Some(self.posted.remove(at).2),
                None => {
                    self.unexpected.push((source, tag, message));
                    None
                }
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Post(Option<u32>, Option<u32>),
        Arrive(u32, u32),
    }

    /// Few sources and tags make long queues; extreme values test the hash and the keys of the classes.
    fn step() -> impl Strategy<Value = Step> {
        let value = || prop_oneof![4 => 0..3u32, 1 => Just(u32::MAX)];
        prop_oneof![
            (proptest::option::of(value()), proptest::option::of(value()))
                .prop_map(|(s, t)| Step::Post(s, t)),
            (value(), value()).prop_map(|(s, t)| Step::Arrive(s, t)),
        ]
    }

    fn agrees(steps: &[Step]) {
        let mut naive = Naive::default();
        let mut matching = Matching::new();
        for (id, step) in (0..).zip(steps) {
            match *step {
                Step::Post(s, t) => assert_eq!(matching.post(s, t, id), naive.post(s, t, id), "{id}"),
                Step::Arrive(s, t) => assert_eq!(matching.arrive(s, t, id), naive.arrive(s, t, id), "{id}"),
            }
            assert_eq!(matching.posted_len(), naive.posted.len());
            assert_eq!(matching.unexpected_len(), naive.unexpected.len());
        }
        let mut posted: Vec<_> = matching.posted().map(|(s, t, r)| (s, t, *r)).collect();
        posted.sort_unstable_by_key(|r| r.2);
        assert_eq!(posted, naive.posted);
        let mut unexpected: Vec<_> = matching.unexpected().map(|(s, t, m)| (s, t, *m)).collect();
        unexpected.sort_unstable_by_key(|m| m.2);
        assert_eq!(unexpected, naive.unexpected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn agrees_with_linear_search(steps in proptest::collection::vec(step(), 0..200)) {
            agrees(&steps);
        }
        #[test]
        fn agrees_when_messages_come_first(
            early in proptest::collection::vec((0..3u32, 0..3u32).prop_map(|(s, t)| Step::Arrive(s, t)), 0..100),
            late in proptest::collection::vec(step(), 0..200),
        ) {
            agrees(&[early, late].concat());
        }
    }

    #[test]
    fn the_older_of_an_exact_and_a_wildcard_receive_wins() {
        let mut side: Matching<u32, ()> = Matching::new();
        side.post(None, Some(5), 0);
        side.post(Some(1), Some(5), 1);
        side.post(None, None, 2);
        side.post(Some(1), None, 3);
        let taken: Vec<_> = (0..4).map(|_| side.arrive(1, 5, ())).collect();
        assert_eq!(taken, [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(side.arrive(1, 5, ()), None);
    }

    #[test]
    fn long_queues_cost_no_more() {
        // Quadratic time would take minutes here.
        let mut side: Matching<u32, u32> = Matching::new();
        let many = 400_000;
        for i in 0..many {
            assert_eq!(side.arrive(i % 7, i, i), None);
        }
        for i in (0..many).rev().step_by(2) {
            assert_eq!(side.post(None, Some(i), i), Some(i));
        }
        for i in (0..many).step_by(2) {
            assert_eq!(side.post(None, None, i), Some(i));
        }
        assert_eq!((side.posted_len(), side.unexpected_len()), (0, 0));
        assert_eq!(side.unexpected.len(), many as usize);
    }
}
