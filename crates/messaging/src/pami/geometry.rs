//! Members of a geometry: an ordered set of endpoints (Kumar et al., section III.D). A topology takes as
//! little memory as its form permits: a range of tasks is two numbers, whatever its length.

use super::Endpoint;

/// The tasks of a topology, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tasks {
    /// Consecutive tasks from the first.
    Range { first: u32, count: u32 },
    /// Ranges, each with the index of its first task, and the number of all tasks.
    Ranges { list: Box<[Slice]>, count: usize },
    /// Any tasks.
    List(Box<[u32]>),
}

/// Consecutive tasks of a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    first: u32,
    count: u32,
    index: usize,
}

/// Which contexts of each task are members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// The context with this offset.
    One(u32),
    /// The contexts with offsets below this number.
    All(u32),
}

/// The members of a geometry and their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology(Members);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Members {
    Tasks(Tasks, Offsets),
    Endpoints(Box<[Endpoint]>),
}

impl Tasks {
    /// Ranges of tasks, both ends included; the simplest form of them.
    fn of_ranges(ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut list: Vec<Slice> = vec![];
        let mut index = 0;
        for (low, high) in ranges.into_iter().filter(|(low, high)| low <= high) {
            let count = high - low + 1;
            match list.last_mut() {
                Some(last) if last.first.checked_add(last.count) == Some(low) => last.count += count,
                _ => list.push(Slice { first: low, count, index }),
            }
            index += count as usize;
        }
        match list[..] {
            [] => Tasks::Range { first: 0, count: 0 },
            [Slice { first, count, .. }] => Tasks::Range { first, count },
            _ => Tasks::Ranges { list: list.into(), count: index },
        }
    }

    fn len(&self) -> usize {
        match self {
            Tasks::Range { count, .. } => *count as usize,
            Tasks::Ranges { count, .. } => *count,
            Tasks::List(list) => list.len(),
        }
    }

    fn get(&self, index: usize) -> Option<u32> {
        match self {
            Tasks::Range { first, count } => (index < *count as usize).then(|| first + index as u32),
            Tasks::Ranges { list, count } => {
                let slice = list[list.partition_point(|slice| slice.index <= index).checked_sub(1)?];
                (index < *count).then(|| slice.first + (index - slice.index) as u32)
            }
            Tasks::List(list) => list.get(index).copied(),
        }
    }

    fn index(&self, task: u32) -> Option<usize> {
        let within = |first: u32, count: u32| task.checked_sub(first).filter(|&n| n < count);
        match self {
            Tasks::Range { first, count } => within(*first, *count).map(|n| n as usize),
            Tasks::Ranges { list, .. } => list
                .iter()
                .find_map(|slice| within(slice.first, slice.count).map(|n| slice.index + n as usize)),
            Tasks::List(list) => list.iter().position(|&member| member == task),
        }
    }
}

impl Topology {
    /// Ranges of tasks, both ends included.
    pub fn of_ranges(ranges: impl IntoIterator<Item = (u32, u32)>, offsets: Offsets) -> Self {
        Topology(Members::Tasks(Tasks::of_ranges(ranges), offsets))
    }

    /// A list of tasks. It is kept as ranges where these are shorter.
    pub fn of_tasks(tasks: &[u32], offsets: Offsets) -> Self {
        let ranges = Tasks::of_ranges(tasks.iter().map(|&task| (task, task)));
        let slices = match &ranges {
            Tasks::Range { .. } => 1,
            Tasks::Ranges { list, .. } => list.len(),
            Tasks::List(_) => usize::MAX,
        };
        let is_shorter = slices * size_of::<Slice>() <= size_of_val(tasks).max(size_of::<Slice>());
        let tasks = if is_shorter { ranges } else { Tasks::List(tasks.into()) };
        Topology(Members::Tasks(tasks, offsets))
    }

    /// A list of endpoints.
    pub fn of_endpoints(endpoints: &[Endpoint]) -> Self {
        Topology(Members::Endpoints(endpoints.into()))
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        match &self.0 {
            Members::Tasks(tasks, Offsets::One(_)) => tasks.len(),
            Members::Tasks(tasks, Offsets::All(count)) => tasks.len() * *count as usize,
            Members::Endpoints(list) => list.len(),
        }
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The endpoint of a member, by its index.
    pub fn endpoint(&self, member: usize) -> Option<Endpoint> {
        match &self.0 {
            Members::Tasks(tasks, Offsets::One(offset)) => Endpoint::new(tasks.get(member)?, *offset),
            Members::Tasks(tasks, Offsets::All(count)) => {
                let count = *count as usize;
                Endpoint::new(tasks.get(member.checked_div(count)?)?, (member % count) as u32)
            }
            Members::Endpoints(list) => list.get(member).copied(),
        }
    }

    /// The index of an endpoint; `None` if it is no member.
    pub fn member(&self, endpoint: Endpoint) -> Option<usize> {
        match &self.0 {
            Members::Tasks(tasks, Offsets::One(offset)) => {
                tasks.index(endpoint.task()).filter(|_| endpoint.offset() == *offset)
            }
            Members::Tasks(tasks, Offsets::All(count)) => {
                let index = tasks.index(endpoint.task()).filter(|_| endpoint.offset() < *count)?;
                Some(index * *count as usize + endpoint.offset() as usize)
            }
            Members::Endpoints(list) => list.iter().position(|&member| member == endpoint),
        }
    }

    /// The offset of all members, if it is the same, and each task has one.
    pub fn offset(&self) -> Option<u32> {
        match &self.0 {
            Members::Tasks(_, Offsets::One(offset)) => Some(*offset),
            _ => None,
        }
    }

    /// The tasks as ranges, both ends included, if they all have one member, with the same offset.
    pub fn task_ranges(&self) -> Option<Vec<(u32, u32)>> {
        let Members::Tasks(tasks, Offsets::One(_)) = &self.0 else { return None };
        Some(match tasks {
            Tasks::Range { count: 0, .. } => vec![],
            Tasks::Range { first, count } => vec![(*first, first + count - 1)],
            Tasks::Ranges { list, .. } => list.iter().map(|s| (s.first, s.first + s.count - 1)).collect(),
            Tasks::List(list) => list.iter().map(|&task| (task, task)).collect(),
        })
    }

    /// The first member of each task, in order. Collectives that involve each task once are among these.
    pub fn leaders(&self) -> Topology {
        match &self.0 {
            Members::Tasks(tasks, Offsets::All(_)) => {
                Topology(Members::Tasks(tasks.clone(), Offsets::One(0)))
            }
            Members::Tasks(_, Offsets::One(_)) => self.clone(),
            Members::Endpoints(list) => {
                let mut seen = std::collections::HashSet::new();
                let first = list.iter().filter(|endpoint| seen.insert(endpoint.task()));
                Topology(Members::Endpoints(first.copied().collect()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(topology: &Topology, expected: &[Endpoint]) {
        assert_eq!(topology.len(), expected.len());
        for (n, &endpoint) in expected.iter().enumerate() {
            assert_eq!(topology.endpoint(n), Some(endpoint));
            assert_eq!(topology.member(endpoint), Some(n));
        }
        assert_eq!(topology.endpoint(expected.len()), None);
        assert_eq!(topology.member(Endpoint::new(5000, 0).unwrap()), None);
    }

    proptest! {
        #[test]
        fn members_and_endpoints_correspond(
            tasks in proptest::sample::subsequence((0u32..40).collect::<Vec<_>>(), 0..40),
            reversed: bool,
            contexts in 1u32..4,
        ) {
            let mut tasks = tasks;
            if reversed {
                tasks.reverse();
            }
            let one: Vec<_> = tasks.iter().map(|&task| Endpoint::new(task, contexts).unwrap()).collect();
            check(&Topology::of_tasks(&tasks, Offsets::One(contexts)), &one);
            check(&Topology::of_ranges(tasks.iter().map(|&t| (t, t)), Offsets::One(contexts)), &one);
            let all: Vec<_> = tasks
                .iter()
                .flat_map(|&task| (0..contexts).map(move |offset| Endpoint::new(task, offset).unwrap()))
                .collect();
            check(&Topology::of_tasks(&tasks, Offsets::All(contexts)), &all);
            check(&Topology::of_endpoints(&all), &all);
            let first: Vec<_> = tasks.iter().map(|&task| Endpoint::new(task, 0).unwrap()).collect();
            check(&Topology::of_endpoints(&all).leaders(), &first);
            check(&Topology::of_tasks(&tasks, Offsets::All(contexts)).leaders(), &first);
        }
    }

    #[test]
    fn adjoining_ranges_are_one() {
        let joined = Topology::of_ranges([(3, 9), (10, 11)], Offsets::One(0));
        assert_eq!(joined, Topology::of_ranges([(3, 11)], Offsets::One(0)));
        assert!(Topology::of_ranges([(5, 4)], Offsets::One(0)).is_empty());
    }
}
