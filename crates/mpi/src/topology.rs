//! Topologies of communicators (MPI 5.0, chapter 8): grids, and graphs.

/// Which ranks are neighbors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Places of a grid.
    Cartesian(Cartesian),
    /// A graph that all ranks know.
    Graph(Graph),
    /// A graph of which each rank knows its own edges.
    Distributed(Edges),
}

impl Topology {
    /// The neighbors to which a rank sends, in the order of its blocks; `None` beyond the end of a grid.
    pub fn destinations(&self, rank: u32) -> Vec<Option<u32>> {
        match self {
            Topology::Cartesian(grid) => grid.neighbors(rank),
            Topology::Graph(graph) => graph.neighbors(rank).iter().copied().map(Some).collect(),
            Topology::Distributed(edges) => edges.destinations.iter().copied().map(Some).collect(),
        }
    }

    /// The neighbors from which a rank receives, in the order of its blocks.
    pub fn sources(&self, rank: u32) -> Vec<Option<u32>> {
        match self {
            Topology::Distributed(edges) => edges.sources.iter().copied().map(Some).collect(),
            _ => self.destinations(rank),
        }
    }

    /// The order in which blocks are received: of those from one rank, the first is the first that it sent.
    /// What is sent down a dimension of a grid comes from above, also where both neighbors are the same rank
    /// (section 8.6).
    pub fn receive_order(&self, blocks: usize) -> Vec<usize> {
        match self {
            Topology::Cartesian(_) => (0..blocks).map(|block| block ^ 1).collect(),
            _ => (0..blocks).collect(),
        }
    }
}

/// A graph: of each node, the end of its neighbors in the list of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// For each node, the number of edges of the nodes up to it.
    pub ends: Vec<u32>,
    /// The neighbors of all nodes, one node after the other.
    pub edges: Vec<u32>,
}

impl Graph {
    /// The neighbors of a node.
    pub fn neighbors(&self, node: u32) -> &[u32] {
        let node = node as usize;
        let first = if node == 0 { 0 } else { self.ends[node - 1] };
        &self.edges[first as usize..self.ends[node] as usize]
    }
}

/// The edges of one rank of a distributed graph, and their weights, if it has such.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// Ranks that send to it.
    pub sources: Vec<u32>,
    /// Ranks to which it sends.
    pub destinations: Vec<u32>,
    /// The weights of both, if the graph has weights.
    pub weights: Option<[Vec<i32>; 2]>,
}

/// A grid of ranks, the last coordinate first (section 8.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cartesian {
    /// The length of each dimension, and whether it is a ring.
    pub dimensions: Vec<(u32, bool)>,
}

impl Cartesian {
    /// The coordinates of a rank.
    pub fn coordinates(&self, rank: u32) -> Vec<u32> {
        let mut rest = rank;
        let mut list: Vec<u32> = self
            .dimensions
            .iter()
            .rev()
            .map(|&(length, _)| {
                let at = rest % length;
                rest /= length;
                at
            })
            .collect();
        list.reverse();
        list
    }

    /// The rank at coordinates, which wrap around rings; `None` if they are outside.
    pub fn rank(&self, coordinates: &[i64]) -> Option<u32> {
        self.dimensions.iter().zip(coordinates).try_fold(0, |rank, (&(length, is_ring), &at)| {
            let at = if is_ring { at.rem_euclid(length.into()) } else { at };
            let at = u32::try_from(at).ok().filter(|&at| at < length)?;
            Some(rank * length + at)
        })
    }

    /// The rank so many steps from another along a dimension; `None` if it is outside.
    pub fn neighbor(&self, rank: u32, dimension: usize, steps: i64) -> Option<u32> {
        let mut coordinates: Vec<i64> = self.coordinates(rank).into_iter().map(i64::from).collect();
        coordinates[dimension] += steps;
        self.rank(&coordinates)
    }
}

impl Cartesian {
    /// The ranks below and above in each dimension.
    fn neighbors(&self, rank: u32) -> Vec<Option<u32>> {
        let both = |dimension| [-1, 1].map(|step| self.neighbor(rank, dimension, step));
        (0..self.dimensions.len()).flat_map(both).collect()
    }
}

/// Lengths of `free` dimensions whose product is `nodes`, the longest first and as close to each other as can
/// be: with the smallest difference of the longest and the shortest, and of such with the longest shortest.
pub fn balanced(nodes: u32, free: usize) -> Vec<u32> {
    /// Lengths within bounds, the first as short as can be.
    fn search(nodes: u32, free: usize, [least, most]: [u32; 2], divisors: &[u32]) -> Option<Vec<u32>> {
        if free == 0 {
            return (nodes == 1).then(Vec::new);
        }
        // The first is no shorter than the others, so the rest must fit under it; and none is too short.
        let power = |of: u32, times: usize| u64::from(of).saturating_pow(times as u32);
        let fits = |&&first: &&u32| {
            let least_of_rest = power(least, free - 1).saturating_mul(first.into());
            nodes.is_multiple_of(first)
                && power(first, free) >= u64::from(nodes)
                && least_of_rest <= u64::from(nodes)
        };
        let within = divisors.iter().filter(|&&first| (least..=most).contains(&first));
        within.filter(fits).find_map(|&first| {
            let mut rest = search(nodes / first, free - 1, [least, first], divisors)?;
            rest.insert(0, first);
            Some(rest)
        })
    }
    if free < 2 {
        return vec![nodes; free];
    }
    let small = (1..).take_while(|&by: &u32| u64::from(by) * u64::from(by) <= u64::from(nodes));
    let mut divisors: Vec<u32> =
        small.filter(|&by| nodes.is_multiple_of(by)).flat_map(|by| [by, nodes / by]).collect();
    divisors.sort_unstable();
    divisors.dedup();
    let reaches = |length: u32| u64::from(length).saturating_pow(free as u32);
    let shortest = divisors.iter().filter(|&&of| reaches(of) <= nodes.into());
    let mut ends: Vec<[u32; 2]> = shortest
        .flat_map(|&short| divisors.iter().map(move |&long| [short, long]))
        .filter(|&[short, long]| long >= short && reaches(long) >= nodes.into())
        .filter(|&[short, long]| u64::from(nodes).is_multiple_of(u64::from(short) * u64::from(long)))
        .collect();
    ends.sort_unstable_by_key(|&[short, long]| (long - short, u32::MAX - short));
    let found = ends.into_iter().find_map(|[short, long]| {
        let between = search(nodes / short / long, free - 2, [short, long], &divisors)?;
        Some([&[long], &*between, &[short]].concat())
    });
    found.expect("one long and others of length 1 are a solution")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_coordinates_are_each_others_reverse() {
        let grid = Cartesian { dimensions: vec![(3, true), (4, false), (2, true)] };
        for rank in 0..24 {
            let coordinates: Vec<i64> = grid.coordinates(rank).into_iter().map(i64::from).collect();
            assert_eq!(grid.rank(&coordinates), Some(rank));
            assert_eq!(i64::from(rank), (coordinates[0] * 4 + coordinates[1]) * 2 + coordinates[2]);
            assert_eq!(grid.neighbor(rank, 0, 3), Some(rank));
            assert_eq!(grid.neighbor(rank, 2, -1), grid.neighbor(rank, 2, 1));
            let is_last = coordinates[1] == 3;
            assert_eq!(grid.neighbor(rank, 1, 1), (!is_last).then_some(rank + 2));
        }
    }

    #[test]
    fn dimensions_are_as_equal_as_can_be() {
        for (nodes, free, expected) in [
            (6, 2, vec![3, 2]),
            (7, 3, vec![7, 1, 1]),
            (16, 3, vec![4, 2, 2]),
            (96, 3, vec![6, 4, 4]),
            (1, 2, vec![1, 1]),
            (1 << 20, 4, vec![32; 4]),
            (720, 4, vec![6, 6, 5, 4]),
            (7488, 3, vec![26, 18, 16]),
            (5040, 3, vec![21, 16, 15]),
            (720_720, 6, vec![13, 11, 10, 9, 8, 7]),
            (1 << 16, 20, [[2; 16].as_slice(), &[1; 4]].concat()),
            (0x7fff_ffff, 3, vec![0x7fff_ffff, 1, 1]),
        ] {
            assert_eq!(balanced(nodes, free), expected, "{nodes} in {free}");
        }
        for nodes in 1..500 {
            for free in 1..5 {
                let list = balanced(nodes, free);
                assert_eq!((list.len(), list.iter().product::<u32>()), (free, nodes));
                assert!(list.is_sorted_by(|a, b| a >= b));
            }
        }
    }
}
