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

/// An ordered set of processes: a group of the program.
#[derive(Clone, Debug)]
pub struct Processes {
    members: Members,
    size: u32,
    /// See [`Processes::in_session`].
    session: Option<usize>,
}

impl From<&Group> for Processes {
    fn from(group: &Group) -> Self {
        Processes { members: group.members.clone(), size: group.size, session: None }
    }
}

impl Processes {
    /// Those of a list, in which none is twice.
    pub fn of(list: impl IntoIterator<Item = Process>) -> Self {
        let list: Rc<[Process]> = list.into_iter().collect();
        Processes { size: list.len() as u32, members: Members::List(list), session: None }
    }

    /// The same as a group of a session, by the session's handle: those that are made of it are, too.
    pub fn in_session(self, session: Option<usize>) -> Self {
        Processes { session, ..self }
    }

    /// The session that it comes of.
    pub fn session(&self) -> Option<usize> {
        self.session
    }

    fn derived(&self, list: impl IntoIterator<Item = Process>) -> Self {
        Self::of(list).in_session(self.session)
    }

    /// How many.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The members, which a communicator of this group has.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// The process of a rank.
    pub fn process(&self, rank: u32) -> Process {
        match &self.members {
            Members::World => rank,
            Members::List(list) => list[rank as usize],
        }
    }

    /// All, by rank.
    pub fn iter(&self) -> impl Iterator<Item = Process> {
        (0..self.size).map(|rank| self.process(rank))
    }

    /// The rank of a process.
    pub fn rank_of(&self, process: Process) -> Option<u32> {
        match &self.members {
            Members::World => (process < self.size).then_some(process),
            Members::List(list) => list.iter().position(|&member| member == process).map(|rank| rank as u32),
        }
    }

    /// Those of the first, and then those of the other that are not there.
    pub fn union(&self, other: &Processes) -> Self {
        self.derived(self.iter().chain(other.iter().filter(|&of| self.rank_of(of).is_none())))
    }

    /// Those that are in both, in the order of the first.
    pub fn intersection(&self, other: &Processes) -> Self {
        self.derived(self.iter().filter(|&of| other.rank_of(of).is_some()))
    }

    /// Those that are not in the other.
    pub fn difference(&self, other: &Processes) -> Self {
        self.derived(self.iter().filter(|&of| other.rank_of(of).is_none()))
    }

    /// Those of these ranks, in their order.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn including(&self, ranks: &[u32]) -> Self {
        let list: Vec<Process> = self.iter().collect();
        self.derived(ranks.iter().map(|&rank| list[rank as usize]))
    }

    /// All but those of these ranks.
    pub fn excluding(&self, ranks: &[u32]) -> Self {
        self.derived((0..).zip(self.iter()).filter(|(rank, _)| !ranks.contains(rank)).map(|(_, of)| of))
    }

    /// Whether both have the same processes in the same order.
    pub fn is_same(&self, other: &Processes) -> bool {
        self.size == other.size && self.iter().eq(other.iter())
    }

    /// Whether both have the same processes.
    pub fn is_similar(&self, other: &Processes) -> bool {
        self.size == other.size && self.difference(other).size == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_keep_the_order_of_the_first() {
        let world = Processes { members: Members::World, size: 6, session: Some(9) };
        let (a, b) = (world.including(&[5, 0, 3]), world.excluding(&[5, 1, 2]));
        let list = |of: &Processes| of.iter().collect::<Vec<_>>();
        assert_eq!((list(&a), list(&b)), (vec![5, 0, 3], vec![0, 3, 4]));
        assert_eq!(list(&a.union(&b)), [5, 0, 3, 4]);
        assert_eq!(list(&b.union(&a)), [0, 3, 4, 5]);
        assert_eq!(list(&a.intersection(&b)), [0, 3]);
        assert_eq!(list(&a.difference(&b)), [5]);
        assert_eq!(
            (a.rank_of(3), a.rank_of(4), world.rank_of(4), world.rank_of(6)),
            (Some(2), None, Some(4), None)
        );
        assert!(world.is_same(&world.including(&[0, 1, 2, 3, 4, 5])) && !a.is_same(&b) && !a.is_similar(&b));
        let made = [a.union(&b), a.intersection(&b), b.difference(&a), a.including(&[1])];
        assert!(made.iter().all(|of| of.session() == Some(9)));
        assert!(a.is_similar(&Processes::of([0, 3, 5])) && !a.is_same(&Processes::of([0, 3, 5])));
    }
}
