//! Which library a rank has (Kumar et al., section IV.A and V).

use crate::pami::message_unit::resources::{Resources, THREADS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a library protects what its threads share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Locking {
    /// One lock for all calls, which waits release between two looks at the network.
    #[default]
    Classic,
    /// A lock for the receive queue and one for each context; requests from pools of each thread; memory
    /// synchronization that keeps the threads' views of requests the same.
    ThreadOptimised,
}

/// Threads of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Threads {
    /// One: `MPI_THREAD_SINGLE`.
    #[default]
    Single,
    /// Several of the program may call MPI at once: `MPI_THREAD_MULTIPLE`.
    Multiple,
    /// The same, and communication threads advance the contexts.
    Communication,
}

/// A library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Library {
    /// How it protects what its threads share.
    pub locking: Locking,
    /// What these are.
    pub threads: Threads,
}

impl Library {
    /// Whether it has communication threads.
    pub fn has_communication_threads(&self) -> bool {
        self.threads == Threads::Communication
    }

    /// Whether calls take locks.
    pub fn locks(&self) -> bool {
        self.threads != Threads::Single
    }

    /// Contexts of a rank, where a node has this number of ranks. The classic library has one: its lock lets
    /// one thread at a time advance them. Without communication threads nobody would advance others than the
    /// thread that waits, so there is one too **(ours)**.
    pub fn contexts(&self, ranks: u8) -> u16 {
        if self.locking == Locking::Classic || !self.has_communication_threads() {
            return 1;
        }
        let most = Resources::new(ranks).contexts;
        1 << most.ilog2()
    }

    /// Communication threads of a rank: one a context, as far as the node has hardware threads.
    pub fn communication_threads(&self, ranks: u8) -> u16 {
        match self.has_communication_threads() {
            true => self.contexts(ranks).min(THREADS / u16::from(ranks).max(1) - 1),
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_and_threads_are_shared_out_among_the_ranks_of_a_node() {
        let optimised = Library { locking: Locking::ThreadOptimised, threads: Threads::Communication };
        let of = |library: Library, ranks| (library.contexts(ranks), library.communication_threads(ranks));
        let counts = [1, 2, 4, 16, 32, 64].map(|ranks| of(optimised, ranks));
        assert_eq!(counts, [(16, 16), (16, 16), (16, 15), (4, 3), (2, 1), (1, 0)]);
        let classic = Library { locking: Locking::Classic, ..optimised };
        assert_eq!([1, 16].map(|ranks| of(classic, ranks)), [(1, 1), (1, 1)]);
        assert_eq!(of(Library { threads: Threads::Multiple, ..optimised }, 1), (1, 0));
    }
}
