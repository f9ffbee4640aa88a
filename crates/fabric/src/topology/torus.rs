//! Tori and meshes of one to five dimensions.

use super::partitions::Partition;
use crate::config::{DIMENSIONS_MAX, IoNodes, Topology, parse_direction};

/// Coordinates of a node, one byte per dimension; zero in dimensions that the machine does not have.
pub type Coordinates = [u8; DIMENSIONS_MAX];

/// A torus, or a mesh in some of its dimensions. Nodes are numbered with the first dimension varying fastest;
/// port `2 d` leads in the plus direction of dimension `d`, port `2 d + 1` in the minus direction.
#[derive(Clone, Debug)]
pub struct Torus {
    lengths: [u32; DIMENSIONS_MAX],
    wraps: [bool; DIMENSIONS_MAX],
    loopback: bool,
    dimensions: usize,
    nodes: u32,
    partitions: Vec<Partition>,
    io: Option<IoNodes>,
    dead_nodes: Vec<u32>,
    /// Both ends of each dead link, as (node, port).
    dead_links: Vec<(u32, usize)>,
}

impl Torus {
    /// Builds the topology of a checked configuration.
    pub fn new(topology: &Topology) -> Self {
        let mut torus = Torus {
            lengths: [1; DIMENSIONS_MAX],
            wraps: [true; DIMENSIONS_MAX],
            loopback: topology.loopback,
            dimensions: topology.dims.len(),
            nodes: topology.dims.iter().fold(1, |n: u32, &k| n.saturating_mul(k)),
            partitions: topology.partitions.clone(),
            io: topology.io.clone(),
            dead_nodes: vec![],
            dead_links: vec![],
        };
        for (d, &k) in topology.dims.iter().enumerate() {
            torus.lengths[d] = k;
            torus.wraps[d] = topology.wraps(d);
        }
        let coordinates = |given: &[u32]| {
            let mut c = Coordinates::default();
            given.iter().enumerate().for_each(|(d, &x)| c[d] = x as u8);
            c
        };
        for link in &topology.dead_links {
            let node = torus.node(coordinates(&link.node));
            let port = parse_direction(&link.direction, torus.dimensions).expect("a checked direction");
            if let Some(other) = torus.neighbour(node, port) {
                torus.dead_links.extend([(node, port), (other, port ^ 1)]);
            }
        }
        torus.dead_nodes = topology.dead_nodes.iter().map(|c| torus.node(coordinates(c))).collect();
        torus.dead_nodes.sort_unstable();
        torus
    }

    /// Number of dimensions.
    #[inline]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Number of ports of a node: two per dimension.
    pub fn ports(&self) -> usize {
        2 * self.dimensions
    }

    /// Length of dimension `d`; 1 for dimensions that the machine does not have.
    pub fn length(&self, d: usize) -> u32 {
        self.lengths[d]
    }

    /// Whether dimension `d` closes into a ring.
    pub fn wraps(&self, d: usize) -> bool {
        self.wraps[d]
    }

    /// Its IO nodes, if any.
    pub fn io(&self) -> Option<&IoNodes> {
        self.io.as_ref()
    }

    /// Number of torus nodes, which are the compute nodes.
    #[inline]
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// A node's coordinates.
    pub fn coordinates(&self, mut node: u32) -> Coordinates {
        let mut c = Coordinates::default();
        for (x, &k) in c.iter_mut().zip(&self.lengths) {
            *x = (node % k) as u8;
            node /= k;
        }
        c
    }

    /// The node at these coordinates.
    pub fn node(&self, c: Coordinates) -> u32 {
        c.iter().zip(&self.lengths).rev().fold(0, |node, (&x, &k)| node * k + u32::from(x))
    }

    /// The coordinate next to `x` through `port`; `None` at a mesh's edge.
    pub fn step(&self, x: u8, port: usize) -> Option<u8> {
        let k = self.lengths[port / 2];
        let x = u32::from(x);
        let stepped = if port.is_multiple_of(2) { x + 1 } else { x + k - 1 };
        let inside = if port.is_multiple_of(2) { x + 1 < k } else { x > 0 };
        (inside || self.wraps[port / 2]).then_some((stepped % k) as u8)
    }

    /// The node at the other end of a port's link; `None` at a mesh's edge, and in a dimension of length one
    /// without loopback. Dead nodes and links are included: see [`Torus::is_dead`].
    pub fn neighbour(&self, node: u32, port: usize) -> Option<u32> {
        if self.lengths[port / 2] == 1 {
            return (self.loopback && port < self.ports()).then_some(node);
        }
        let mut c = self.coordinates(node);
        let d = port / 2;
        c[d] = if self.partitions.is_empty() {
            self.step(c[d], port)?
        } else {
            self.partition(c)?.step(d, c[d], !port.is_multiple_of(2), self.lengths[d])?
        };
        Some(self.node(c))
    }

    /// The partition of a node; `None` if it is in no partition.
    pub fn partition(&self, at: Coordinates) -> Option<&Partition> {
        self.partitions.iter().find(|p| p.contains(&at))
    }

    /// The ring or line of dimension `d` through a node: its first coordinate, its length, and whether it is
    /// closed.
    pub fn line(&self, at: Coordinates, d: usize) -> (u32, u32, bool) {
        match self.partition(at) {
            Some(p) => (p.at[d], p.lengths[d], super::partitions::closes(p.lengths[d], self.lengths[d])),
            None => (0, self.lengths[d], self.wraps[d]),
        }
    }

    /// Whether a link, or a node at one of its ends, has failed.
    pub fn is_dead(&self, node: u32, port: usize) -> bool {
        let is_dead_node = |n: u32| self.dead_nodes.binary_search(&n).is_ok();
        is_dead_node(node)
            || self.neighbour(node, port).is_none_or(is_dead_node)
            || self.dead_links.contains(&(node, port))
    }

    /// Failed nodes, ascending.
    pub fn dead_nodes(&self) -> &[u32] {
        &self.dead_nodes
    }

    /// Hops from `a` to `b` in the shorter direction of each dimension.
    pub fn distance(&self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.coordinates(a), self.coordinates(b));
        (0..self.dimensions)
            .map(|d| {
                let direct = u32::from(a[d].abs_diff(b[d]));
                if self.wraps[d] { direct.min(self.lengths[d] - direct) } else { direct }
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn shapes() -> impl Strategy<Value = Topology> {
        proptest::collection::vec((1u32..7, any::<bool>()), 1..=5).prop_map(|d| Topology {
            dims: d.iter().map(|x| x.0).collect(),
            wrap: d.iter().map(|x| x.1).collect(),
            loopback: false,
            dead_nodes: vec![],
            dead_links: vec![],
            ..Topology::default()
        })
    }

    proptest! {
        #[test]
        fn numbering_and_neighbours(topology in shapes()) {
            let torus = Torus::new(&topology);
            for node in 0..torus.nodes() {
                prop_assert_eq!(torus.node(torus.coordinates(node)), node);
                for port in 0..torus.ports() {
                    if let Some(other) = torus.neighbour(node, port) {
                        prop_assert_eq!(torus.neighbour(other, port ^ 1), Some(node));
                        prop_assert_eq!(torus.distance(node, other), 1);
                    } else {
                        let k = torus.length(port / 2);
                        prop_assert!(k == 1 || !torus.wraps(port / 2));
                    }
                }
            }
        }
    }
}
