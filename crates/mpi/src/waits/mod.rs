//! What a process waits for, as values that another one reads: a library says it in words ([`words`]), and what
//! all processes of a job say is compared ([`compare`]), so that a deadlock is reported with its cause.

pub mod compare;
pub mod words;

use crate::matching::Pattern;
use crate::transport::Process;
use serde::{Deserialize, Serialize};

/// Contexts of a communicator: its own, which is a multiple of this, is the first.
pub const CONTEXTS: u32 = 4;

/// Partitioned messages have the communicator's context and this: collectives within its groups leave it free.
pub const PARTITIONED: u32 = 2;

/// Operations among some ranks of a communicator, of a group, or of two groups, have the communicator's context
/// with this bit: their numbers are not those of its collectives.
pub const WITHIN_GROUP: u32 = 1 << 31;

/// The communicator's context.
pub fn base(context: u32) -> u32 {
    context & !(CONTEXTS - 1) & !WITHIN_GROUP
}

/// What a process waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// The calls that its threads are in, and the number of threads in each.
    pub calls: Vec<(String, u32)>,
    /// What has not ended.
    pub pending: Vec<Pending>,
    /// Its communicators, windows and files.
    pub communicators: Vec<Communicator>,
    /// By window's context, processes that have this one's lock.
    pub locked_by: Vec<(u32, Process)>,
}

/// Something that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pending {
    /// A receive that no message has matched.
    Receive(Pattern),
    /// A message that the last probe looked for in vain.
    Probe(Pattern),
    /// A send.
    Send {
        /// Its message.
        sent: Sent,
        /// How far it is.
        stage: Stage,
    },
    /// A partitioned send that is started, and partitions of which are not ready.
    Partitions {
        /// The process that receives it.
        to: Process,
        /// Its context.
        context: u32,
        /// Its tag.
        tag: i32,
        /// How many are not ready.
        unready: u32,
        /// Of how many.
        partitions: u32,
    },
    /// A message that no receive has matched.
    Unexpected {
        /// The process that sent it.
        from: Process,
        /// Context, rank and tag of its sender.
        of: Pattern,
        /// Length of its data, bytes.
        bytes: u64,
    },
    /// A collective operation.
    Collective {
        /// Context of the communicator's messages, or of one of its groups.
        context: u32,
        /// Its number among those of the communicator.
        number: u32,
        /// The rank whose message it waits for, or `None` if the network carries it out.
        from: Option<i32>,
    },
    /// A communicator of this context is set up.
    Team(u32),
    /// Communicators that this process has freed stay until others free them.
    Freed,
    /// A window waits for this of another process.
    Window {
        /// The window's context.
        context: u32,
        /// For what.
        what: OfWindow,
        /// Of this process.
        process: Process,
    },
    /// Another thread of the process is in the middle of a call, so what waits is not known.
    OtherThread,
}

/// A message that a process sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The receiver.
    pub to: Process,
    /// The context.
    pub context: u32,
    /// The tag.
    pub tag: i32,
    /// Length of its data, bytes.
    pub bytes: u64,
}

/// How far a send is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Its data has not been read.
    Unread,
    /// It is synchronous, and no receive has matched it.
    Unmatched,
    /// It is synchronous and matched, but its data has not been read.
    Matched,
}

/// For what a window waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfWindow {
    /// The lock of the target.
    Lock,
    /// Results of operations.
    Results,
    /// `MPI_Win_post` of the target.
    Post,
    /// `MPI_Win_complete` of the origin.
    Complete,
}

/// Processes by rank: the first of a range, and how many follow each other.
pub type Ranges = Vec<(Process, u32)>;

/// A list as ranges.
pub fn ranges(list: impl IntoIterator<Item = Process>) -> Ranges {
    let mut ranges = Ranges::new();
    for process in list {
        match ranges.last_mut() {
            Some((first, count)) if first.checked_add(*count) == Some(process) => *count += 1,
            _ => ranges.push((process, 1)),
        }
    }
    ranges
}

/// The process of a rank.
fn process_of(ranges: &[(Process, u32)], mut rank: u32) -> Option<Process> {
    for &(first, count) in ranges {
        if rank < count {
            return first.checked_add(rank);
        }
        rank -= count;
    }
    None
}

fn rank_of(ranges: &[(Process, u32)], process: Process) -> Option<u32> {
    let mut before = 0u32;
    for &(first, count) in ranges {
        if let Some(within) = process.checked_sub(first).filter(|&within| within < count) {
            return before.checked_add(within);
        }
        before = before.checked_add(count)?;
    }
    None
}

/// A communicator, or the processes of a window or a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Communicator {
    /// The context of its messages.
    pub context: u32,
    /// Its name, or what it is.
    pub name: String,
    /// Its processes, by rank.
    pub processes: Ranges,
    /// The other group of an intercommunicator.
    pub remote: Option<Ranges>,
    /// The greatest number of the collective operations that the process has begun.
    pub begun: u32,
    /// The last ones.
    pub recent: Vec<Begun>,
}

impl Communicator {
    /// The process that messages to and from a rank go to and come from.
    pub fn process(&self, rank: u32) -> Option<Process> {
        process_of(self.remote.as_ref().unwrap_or(&self.processes), rank)
    }

    /// The reverse.
    pub fn rank(&self, process: Process) -> Option<u32> {
        rank_of(self.remote.as_ref().unwrap_or(&self.processes), process)
    }

    /// All processes, of the other group, too, in order.
    fn all(&self) -> Ranges {
        let mut list: Vec<Process> = self.processes.iter().chain(self.remote.iter().flatten()).fold(
            vec![],
            |mut list, &(first, count)| {
                list.extend((0..count).filter_map(|n| first.checked_add(n)));
                list
            },
        );
        list.sort_unstable();
        ranges(list)
    }
}

/// A collective operation that a process has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// Its number among those of the communicator.
    pub number: u32,
    /// The call.
    pub call: String,
    /// Its root, if it has one.
    pub root: Option<u32>,
    /// Length of its data, which must be the same at all ranks, bytes.
    pub bytes: Option<u64>,
}

impl Waits {
    /// The communicator of a context.
    pub fn communicator(&self, context: u32) -> Option<&Communicator> {
        self.communicators.iter().find(|of| of.context == base(context))
    }

    /// As bytes, of at most this length: communicators that nothing waits for are left out if there are too many.
    ///
    /// # Panics
    /// Never: all of it can be written.
    pub fn to_bytes(mut self, max_bytes: usize) -> Vec<u8> {
        let is_awaited = |pending: &[Pending], context: u32| {
            pending.iter().filter_map(Pending::context).any(|of| base(of) == context)
        };
        let pending = std::mem::take(&mut self.pending);
        self.communicators.sort_by_key(|of| !is_awaited(&pending, of.context));
        self.pending = pending;
        loop {
            let bytes = postcard::to_stdvec(&self).expect("it can be written");
            if bytes.len() <= max_bytes {
                return bytes;
            }
            let half = self.communicators.len() / 2;
            match half {
                0 if self.communicators.is_empty() => self.pending.truncate(self.pending.len() / 2),
                _ => self.communicators.truncate(half),
            }
        }
    }

    /// The reverse of [`Self::to_bytes`]; `None` if the bytes are something else.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

impl Pending {
    /// The context that it is of.
    pub fn context(&self) -> Option<u32> {
        match self {
            Pending::Receive(pattern) | Pending::Probe(pattern) | Pending::Unexpected { of: pattern, .. } => {
                Some(pattern.context)
            }
            Pending::Send { sent, .. } => Some(sent.context),
            Pending::Collective { context, .. }
            | Pending::Partitions { context, .. }
            | Pending::Team(context)
            | Pending::Window { context, .. } => Some(*context),
            Pending::Freed | Pending::OtherThread => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_are_the_list(list in prop::collection::vec(0u32..20, 0..30)) {
            let ranges = ranges(list.iter().copied());
            let back: Vec<u32> = ranges.iter().flat_map(|&(first, count)| first..first + count).collect();
            prop_assert_eq!(&back, &list);
            for process in 0..20 {
                let rank = list.iter().position(|&of| of == process).map(|rank| rank as u32);
                prop_assert_eq!(rank_of(&ranges, process), rank);
            }
            for rank in 0..list.len() as u32 + 2 {
                prop_assert_eq!(process_of(&ranges, rank), list.get(rank as usize).copied());
            }
        }
    }

    #[test]
    fn what_waits_survives_as_bytes_and_is_cut_where_it_is_long() {
        let communicator =
            |context| Communicator { context, name: "x".repeat(100), ..Communicator::default() };
        let waits = Waits {
            calls: vec![("MPI_Recv".into(), 1)],
            pending: vec![Pending::Receive(Pattern { context: 80, source: 1, tag: 2 })],
            communicators: (0..40).map(|n| communicator(4 * n)).collect(),
            locked_by: vec![],
        };
        let all = Waits::of_bytes(&waits.clone().to_bytes(1 << 20)).unwrap();
        assert_eq!((all.communicators.len(), &all.pending), (40, &waits.pending));
        let some = Waits::of_bytes(&waits.clone().to_bytes(1000)).unwrap();
        assert!(some.communicators.len() < 10 && some.communicator(80).is_some() && some.pending.len() == 1);
        assert_eq!(Waits::of_bytes(&[0xff; 5]), None);
    }
}
