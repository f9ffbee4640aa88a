//! The mapping of ranks to nodes, and the resulting distances of messages.
//!
//! Nodes of a torus or mesh are numbered along x first: `node = x + dims[0] * (y + dims[1] * (z + ...))`.
//! Nodes of other machines, and of jobs, form a line.

mod config;

pub use config::MappingConfig;

use std::path::{Path, PathBuf};

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::LETTERS;
use crate::shape::{Coordinates, Shape};

/// Why ranks cannot be mapped to nodes.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// There are more ranks than nodes.
    #[error("{ranks} ranks do not fit on {nodes} nodes")]
    TooManyRanks {
        /// Number of ranks of the program.
        ranks: u32,
        /// Number of nodes of the machine.
        nodes: u32,
    },
    /// The letters do not name each dimension once.
    #[error("expected each letter of \"{expected}\" once, found \"{found}\"")]
    Dimensions {
        /// The letters of the machine's dimensions.
        expected: String,
        /// The given letters.
        found: String,
    },
    /// The file cannot be read.
    #[error("{}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        cause: std::io::Error,
    },
    /// An invalid line of the file.
    #[error("{}:{line}: {fault}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error.
        fault: LineFault,
    },
    /// The file ends before the last rank.
    #[error("{}: expected a node for each of {ranks} ranks, found {found}", path.display())]
    TooFew {
        /// The file.
        path: PathBuf,
        /// Number of ranks of the program.
        ranks: u32,
        /// Number of nodes in the file.
        found: u32,
    },
}

/// An error in a line of a mapping file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    /// It has something other than numbers.
    #[error("expected a number, found `{0}`")]
    Number(String),
    /// It has neither one number nor one for each dimension.
    #[error("expected a node's number or its {dimensions} coordinates, found {found} numbers")]
    Count {
        /// Number of dimensions of the machine.
        dimensions: usize,
        /// Number of numbers in the line.
        found: usize,
    },
    /// There is no such node.
    #[error("there is no node {node} among {nodes}, from 0")]
    NoNode {
        /// The node's number.
        node: u32,
        /// Number of nodes.
        nodes: u32,
    },
    /// There are no such coordinates.
    #[error("there is no node at {coordinates:?} in {dims:?}")]
    Outside {
        /// The coordinates.
        coordinates: Vec<u32>,
        /// Nodes along each dimension.
        dims: Vec<u32>,
    },
    /// The node already has a rank.
    #[error("node {node} already runs rank {rank}, of line {line}")]
    Taken {
        /// The node's number.
        node: u32,
        /// The rank that it runs.
        rank: u32,
        /// The line that assigned it.
        line: usize,
    },
    /// The program has fewer ranks.
    #[error("expected no more than {0} ranks")]
    TooMany(u32),
}

/// The node of each rank; at most one rank per node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    nodes: Vec<u32>,
}

impl Mapping {
    /// Maps `ranks` ranks to the nodes of a machine. Equal seeds give equal random mappings.
    ///
    /// # Errors
    /// If they do not fit, or the letters or the file are invalid.
    pub fn new(config: &MappingConfig, shape: &Shape, ranks: u32, seed: u64) -> Result<Self, MappingError> {
        if ranks > shape.nodes() {
            return Err(MappingError::TooManyRanks { ranks, nodes: shape.nodes() });
        }
        let nodes = match config {
            MappingConfig::InOrder => (0..ranks).collect(),
            MappingConfig::Dimensions(letters) => by_dimensions(letters, shape, ranks)?,
            MappingConfig::Random => {
                // All nodes are shuffled, so that even a few ranks are spread over the machine.
                let mut nodes: Vec<u32> = (0..shape.nodes()).collect();
                shuffle(&mut nodes, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
                nodes.truncate(ranks as usize);
                nodes
            }
            MappingConfig::File(file) => {
                let path = Path::new(file);
                let text = std::fs::read_to_string(path)
                    .map_err(|cause| MappingError::Read { path: path.into(), cause })?;
                by_lines(&text, path, shape, ranks)?
            }
        };
        Ok(Self { nodes })
    }

    /// The node of each rank.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The distances of messages. `traffic` is source rank, destination rank and bytes of each message.
    pub fn hop_statistics(
        &self,
        shape: &Shape,
        traffic: impl IntoIterator<Item = (u32, u32, u64)>,
    ) -> HopStatistics {
        let mut statistics = HopStatistics::default();
        for (from, to, bytes) in traffic {
            let (a, b) = (self.nodes[from as usize], self.nodes[to as usize]);
            let hops = shape.hops(a, b);
            statistics.messages += 1;
            statistics.bytes += u128::from(bytes);
            statistics.hops += u128::from(hops);
            statistics.byte_hops += u128::from(bytes) * u128::from(hops);
            statistics.hops_max = statistics.hops_max.max(hops);
        }
        statistics
    }
}

/// Distances of messages: sums over all of them, each on a minimal route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopStatistics {
    /// Number of messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u128,
    /// Their hops.
    pub hops: u128,
    /// Bytes times hops: the load of the links.
    pub byte_hops: u128,
    /// Maximum hops of a message.
    pub hops_max: u32,
}

impl HopStatistics {
    /// Mean hops of a byte; 0 without any.
    pub fn mean_of_bytes(&self) -> f64 {
        if self.bytes == 0 { 0.0 } else { self.byte_hops as f64 / self.bytes as f64 }
    }

    /// Mean hops of a message; 0 without any.
    pub fn mean_of_messages(&self) -> f64 {
        if self.messages == 0 { 0.0 } else { self.hops as f64 / self.messages as f64 }
    }
}

/// The Fisher-Yates shuffle. Written out, so that a seed gives the same mapping whatever a library does.
fn shuffle(nodes: &mut [u32], random: &mut Xoshiro256PlusPlus) {
    for i in (1..nodes.len()).rev() {
        let scaled = u128::from(random.next_u64()) * (i as u128 + 1);
        nodes.swap(i, (scaled >> 64) as usize);
    }
}

fn by_dimensions(letters: &str, shape: &Shape, ranks: u32) -> Result<Vec<u32>, MappingError> {
    let lengths = shape.lengths();
    let n = lengths.len();
    let refuse = || MappingError::Dimensions { expected: LETTERS[..n].into(), found: letters.into() };
    let order = config::order(letters, n).ok_or_else(refuse)?;
    let stride = |d: usize| lengths[..d].iter().product::<u32>();
    Ok((0..ranks)
        .map(|rank| {
            let mut rest = rank;
            let part = |&d: &usize| {
                let c = rest % lengths[d];
                rest /= lengths[d];
                c * stride(d)
            };
            order.iter().map(part).sum()
        })
        .collect())
}

fn by_lines(text: &str, path: &Path, shape: &Shape, ranks: u32) -> Result<Vec<u32>, MappingError> {
    let mut nodes = Vec::with_capacity(ranks as usize);
    // The rank and line of each node; line 0 for none yet.
    let mut taken = vec![(0, 0); shape.nodes() as usize];
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default();
        if content.trim().is_empty() {
            continue;
        }
        let rank = nodes.len() as u32;
        let node = if rank == ranks { Err(LineFault::TooMany(ranks)) } else { one_line(content, shape) };
        let node = node.and_then(|node| match taken[node as usize] {
            (_, 0) => Ok(node),
            (rank, line) => Err(LineFault::Taken { node, rank, line }),
        });
        let node = node.map_err(|fault| MappingError::Line { path: path.into(), line, fault })?;
        taken[node as usize] = (rank, line);
        nodes.push(node);
    }
    let found = nodes.len() as u32;
    if found < ranks {
        return Err(MappingError::TooFew { path: path.into(), ranks, found });
    }
    Ok(nodes)
}

/// The node on a line.
fn one_line(content: &str, shape: &Shape) -> Result<u32, LineFault> {
    let numbers: Vec<u32> = content
        .split_whitespace()
        .map(|word| word.parse().map_err(|_| LineFault::Number(word.chars().take(40).collect())))
        .collect::<Result<_, _>>()?;
    let dimensions = shape.dimensions();
    if numbers.len() == 1 {
        let (node, nodes) = (numbers[0], shape.nodes());
        return if node < nodes { Ok(node) } else { Err(LineFault::NoNode { node, nodes }) };
    }
    if numbers.len() != dimensions {
        return Err(LineFault::Count { dimensions, found: numbers.len() });
    }
    if numbers.iter().zip(shape.lengths()).any(|(c, length)| c >= length) {
        return Err(LineFault::Outside { coordinates: numbers, dims: shape.lengths().to_vec() });
    }
    let mut at = Coordinates::default();
    at[..dimensions].copy_from_slice(&numbers);
    Ok(shape.node_at(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_fabric::config::Topology;
    use netloom_fabric::topology::torus::Torus;

    fn torus(dims: &[u32]) -> Shape {
        Shape::of_torus(&Torus::new(&Topology { dims: dims.to_vec(), ..Topology::default() }))
    }

    fn shape() -> Shape {
        torus(&[4, 3, 2])
    }

    fn map(config: MappingConfig, ranks: u32) -> Result<Vec<u32>, String> {
        Mapping::new(&config, &shape(), ranks, 5).map(|m| m.nodes).map_err(|e| e.to_string())
    }

    fn file(text: &str, ranks: u32) -> Result<Vec<u32>, String> {
        by_lines(text, Path::new("map.txt"), &shape(), ranks).map_err(|e| e.to_string())
    }

    #[test]
    fn letters_run_first_to_last() {
        let by = |letters: &str, ranks| map(MappingConfig::Dimensions(letters.into()), ranks);
        assert_eq!(by("xyz", 24).unwrap(), (0..24).collect::<Vec<_>>());
        assert_eq!(map(MappingConfig::InOrder, 24), by("xyz", 24));
        // z, then y, then x.
        assert_eq!(by("zyx", 8).unwrap(), [0, 12, 4, 16, 8, 20, 1, 13]);
        assert_eq!(by("yxz", 5).unwrap(), [0, 4, 8, 1, 5]);
        for wrong in ["", "xy", "xyy", "xyzz", "xyu", "XYZ"] {
            let message = format!("expected each letter of \"xyz\" once, found \"{wrong}\"");
            assert_eq!(by(wrong, 4).unwrap_err(), message);
        }
        assert_eq!(by("xyz", 25).unwrap_err(), "25 ranks do not fit on 24 nodes");
    }

    #[test]
    fn random_gives_every_node_once_and_the_same_for_a_seed() {
        let random = |seed, ranks| Mapping::new(&MappingConfig::Random, &shape(), ranks, seed).unwrap().nodes;
        let mut nodes = random(5, 24);
        assert_eq!(random(5, 7), nodes[..7]);
        assert_ne!(random(6, 24), nodes);
        nodes.sort_unstable();
        assert_eq!(nodes, (0..24).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_names_nodes_by_number_or_coordinates() {
        assert_eq!(file("# x y z\n 3\n\n1 2 1 # far\n0 0 0\n", 3).unwrap(), [3, 21, 0]);
        for (text, message) in [
            ("0\n24", "map.txt:2: there is no node 24 among 24, from 0"),
            ("0\n\n4 0 0", "map.txt:3: there is no node at [4, 0, 0] in [4, 3, 2]"),
            ("0 1", "map.txt:1: expected a node's number or its 3 coordinates, found 2 numbers"),
            ("0\n-1", "map.txt:2: expected a number, found `-1`"),
            ("21\n#\n1 2 1", "map.txt:3: node 21 already runs rank 0, of line 1"),
            ("0\n1\n2\n3", "map.txt:4: expected no more than 3 ranks"),
            ("0\n1\n", "map.txt: expected a node for each of 3 ranks, found 2"),
        ] {
            assert_eq!(file(text, 3).unwrap_err(), message, "{text}");
        }
        let error = map(MappingConfig::File("/nonexistent.map".into()), 3).unwrap_err();
        assert!(error.starts_with("/nonexistent.map: "), "{error}");
    }

    #[test]
    fn statistics_weigh_by_bytes() {
        let shape = shape();
        let mapping = Mapping::new(&MappingConfig::InOrder, &shape, 24, 1).unwrap();
        let statistics = mapping.hop_statistics(&shape, [(0, 1, 100), (0, 2, 50), (0, 22, 10), (3, 3, 40)]);
        assert_eq!((statistics.messages, statistics.bytes, statistics.hops_max), (4, 200, 4));
        assert_eq!(statistics.mean_of_bytes(), (100.0 + 100.0 + 40.0) / 200.0);
        assert_eq!(statistics.mean_of_messages(), 7.0 / 4.0);
        assert_eq!(mapping.hop_statistics(&shape, []).mean_of_bytes(), 0.0);
    }

    #[test]
    fn all_to_all_has_the_mean_distance_of_the_torus() {
        // A ring of even length n has n/4 mean hops, including the node itself.
        let shape = torus(&[8, 4, 2]);
        for config in [MappingConfig::InOrder, MappingConfig::Random] {
            let mapping = Mapping::new(&config, &shape, 64, 1).unwrap();
            let pairs = (0..64 * 64).map(|i| (i / 64, i % 64, 8));
            assert_eq!(mapping.hop_statistics(&shape, pairs).mean_of_bytes(), 2.0 + 1.0 + 0.5);
        }
    }
}
