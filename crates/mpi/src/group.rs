//! The processes of a communicator, and its contexts.

use crate::transport::Process;
use std::rc::Rc;

/// Which process is which rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// Rank r is process r: `MPI_COMM_WORLD`, without a list.
    World,
    /// A list.
    List(Rc<[Process]>),
}

/// A communicator's group, and the contexts that keep its messages apart from those of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The process of each rank.
    pub members: Members,
    /// This process's rank.
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    /// The context of its point-to-point messages; that of its collectives is the next.
    pub context: u32,
}

impl Group {
    /// The process of a rank.
    #[inline]
    pub fn process(&self, rank: u32) -> Process {
        match &self.members {
            Members::World => rank,
            Members::List(list) => list[rank as usize],
        }
    }
}
