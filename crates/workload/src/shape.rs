//! A machine as patterns, placements and mappings see it: the number of its nodes, their coordinates,
//! neighbours and groups.

use netloom_fabric::config::DIMENSIONS_MAX;
use netloom_fabric::topology::torus::Torus;
use netloom_fabric::topology::wiring::Wiring;
use std::ops::Range;
use std::sync::Arc;

/// Coordinates of a node; 0 in dimensions that the machine does not have.
pub type Coordinates = [u32; DIMENSIONS_MAX];

/// The nodes of a machine, or of a job on it. Without dimensions, nodes form a ring in the order of their
/// numbers.
#[derive(Clone, Debug)]
pub struct Shape {
    nodes: u32,
    /// Nodes along each dimension, 1 in dimensions that the machine does not have.
    lengths: Coordinates,
    dimensions: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Torus(Torus),
    Switches(Arc<Wiring>),
    /// The nodes of a job, wherever they are.
    Job,
}

impl Shape {
    /// A torus or mesh. A group is a plane of the last dimension that is longer than 1; each node has a
    /// router of its own.
    pub fn of_torus(torus: &Torus) -> Self {
        let lengths = std::array::from_fn(|d| torus.length(d));
        let dimensions = torus.dimensions();
        Shape { nodes: torus.nodes(), lengths, dimensions, kind: Kind::Torus(torus.clone()) }
    }

    /// A switched network, with the groups of its wiring.
    pub fn of_switches(wiring: &Arc<Wiring>) -> Self {
        Shape { kind: Kind::Switches(Arc::clone(wiring)), ..Self::of_job(wiring.nodes()) }
    }

    /// A job on `nodes` nodes, numbered in the order of their allocation: no dimensions, no groups.
    pub fn of_job(nodes: u32) -> Self {
        let mut lengths = [1; DIMENSIONS_MAX];
        lengths[0] = nodes;
        Shape { nodes, lengths, dimensions: 1, kind: Kind::Job }
    }

    /// Number of nodes.
    #[inline]
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The torus, if it is one.
    pub fn torus(&self) -> Option<&Torus> {
        match &self.kind {
            Kind::Torus(torus) => Some(torus),
            _ => None,
        }
    }

    /// Number of dimensions; 1 for a machine without any.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Nodes along each dimension; the number of nodes without dimensions.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths[..self.dimensions]
    }

    /// Whether dimension `d` closes into a ring.
    pub fn wraps(&self, d: usize) -> bool {
        self.torus().is_none_or(|torus| torus.wraps(d))
    }

    /// The coordinates of a node; its number without dimensions.
    pub fn coordinates(&self, mut node: u32) -> Coordinates {
        self.lengths.map(|length| {
            let c = node % length;
            node /= length;
            c
        })
    }

    /// The node at these coordinates.
    pub fn node_at(&self, at: Coordinates) -> u32 {
        at.iter().zip(&self.lengths).rev().fold(0, |node, (c, length)| node * length + c)
    }

    /// Minimum hops between two nodes in dimension `d`.
    pub fn distance(&self, from: u32, to: u32, d: usize) -> u32 {
        let (a, b) = (self.coordinates(from)[d], self.coordinates(to)[d]);
        let direct = a.abs_diff(b);
        if self.wraps(d) { direct.min(self.lengths[d] - direct) } else { direct }
    }

    /// Minimum hops between two nodes.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        (0..self.dimensions()).map(|d| self.distance(from, to, d)).sum()
    }

    /// Neighbours of a node: over each link of a torus, or the nodes with the next higher and the next lower
    /// number. On a torus ring of two both links lead to the same neighbour, which is listed twice; without
    /// dimensions it is listed once.
    pub fn neighbours(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let ports = match &self.kind {
            Kind::Torus(torus) => torus.ports(),
            _ => self.nodes.saturating_sub(1).min(2) as usize,
        };
        (0..ports).filter_map(move |port| match &self.kind {
            Kind::Torus(torus) => torus.neighbour(node, port),
            _ => Some((node + [1, self.nodes - 1][port]) % self.nodes),
        })
    }

    /// Number of groups; 0 for a job.
    pub fn groups(&self) -> u32 {
        match &self.kind {
            Kind::Torus(_) => self.nodes / self.plane(),
            Kind::Switches(wiring) => wiring.groups(),
            Kind::Job => 0,
        }
    }

    /// The nodes of a group; their numbers are consecutive.
    pub fn nodes_of_group(&self, group: u32) -> Range<u32> {
        match &self.kind {
            Kind::Switches(wiring) => {
                let routers = wiring.routers_of(group);
                wiring.nodes_at(routers.start).start..wiring.nodes_at(routers.end - 1).end
            }
            _ => group * self.plane()..(group + 1) * self.plane(),
        }
    }

    /// Nodes of a plane of the last dimension that is longer than 1.
    fn plane(&self) -> u32 {
        let longest = self.lengths.iter().rev().find(|&&length| length > 1);
        self.nodes / longest.copied().unwrap_or(1)
    }

    /// Number of routers.
    pub fn routers(&self) -> u32 {
        match &self.kind {
            Kind::Switches(wiring) => wiring.routers(),
            _ => self.nodes,
        }
    }

    /// The nodes of a router; their numbers are consecutive.
    pub fn nodes_of_router(&self, router: u32) -> Range<u32> {
        match &self.kind {
            Kind::Switches(wiring) => wiring.nodes_at(router),
            _ => router..router + 1,
        }
    }

    /// The router of a node.
    pub fn router(&self, node: u32) -> u32 {
        match &self.kind {
            Kind::Switches(wiring) => wiring.home(node).0,
            _ => node,
        }
    }

    /// The group of a node; 0 for a job.
    pub fn group(&self, node: u32) -> u32 {
        match &self.kind {
            Kind::Torus(_) => node / self.plane(),
            Kind::Switches(wiring) => wiring.group(wiring.home(node).0),
            Kind::Job => 0,
        }
    }

    /// The machine for display: `"8x8x8 machine"`, `"machine of 1056 nodes"`.
    pub fn words(&self) -> String {
        let dims: Vec<String> = self.lengths().iter().map(u32::to_string).collect();
        match &self.kind {
            Kind::Torus(_) => format!("{} machine", dims.join("x")),
            Kind::Switches(_) => format!("machine of {} nodes", self.nodes),
            Kind::Job => format!("job of {} nodes", self.nodes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_fabric::config::{DragonflyConfig, FatTreeConfig, SwitchedTopology, Topology, TorusConfig};

    #[test]
    fn groups_of_a_torus_are_planes() {
        let shape = Shape::of_torus(&Torus::new(&TorusConfig::bluegene_l(&[4, 3, 1]).topology));
        assert_eq!((shape.groups(), shape.nodes_of_group(1), shape.group(7)), (3, 4..8, 1));
        let node = Shape::of_torus(&Torus::new(&TorusConfig::bluegene_l(&[1]).topology));
        assert_eq!((node.groups(), node.nodes_of_group(0)), (1, 0..1));
    }

    #[test]
    fn groups_of_switches_are_those_of_the_wiring() {
        let shape = Shape::of_switches(&Arc::new(DragonflyConfig::cray_xc(3, 12).wiring()));
        assert_eq!((shape.groups(), shape.nodes_of_group(1), shape.group(400)), (3, 384..768, 1));
        assert_eq!((shape.nodes_of_router(1), shape.router(7)), (4..8, 1));
        let tree = SwitchedTopology::FatTree(FatTreeConfig {
            down: vec![8, 4, 5],
            up: vec![2, 2],
            link_classes: vec![],
        })
        .wiring();
        let tree = Shape::of_switches(&Arc::new(tree));
        assert_eq!((tree.nodes_of_group(0), tree.nodes_of_group(2).len()), (0..160, 0));
    }

    #[test]
    fn distances_go_the_shorter_side_round_a_ring() {
        let hops = |wrap: Vec<bool>, a: [u32; 2], b: [u32; 2]| -> u32 {
            let topology = Topology { dims: vec![8, 5, 1], wrap, ..Topology::default() };
            let shape = Shape::of_torus(&Torus::new(&topology));
            let node = |at: [u32; 2]| shape.node_at([at[0], at[1], 0, 0, 0]);
            (0..3).map(|d| shape.distance(node(a), node(b), d)).sum()
        };
        assert_eq!(hops(vec![], [0, 0], [7, 0]), 1);
        assert_eq!(hops(vec![], [0, 0], [4, 2]), 6);
        assert_eq!(hops(vec![], [1, 4], [6, 0]), 4);
        assert_eq!(hops(vec![false, true, true], [0, 0], [7, 4]), 8);
    }

    #[test]
    fn nodes_without_dimensions_are_a_ring() {
        let job = Shape::of_job(300);
        assert_eq!(job.neighbours(0).collect::<Vec<_>>(), [1, 299]);
        assert_eq!(Shape::of_job(2).neighbours(1).collect::<Vec<_>>(), [0]);
        assert_eq!((job.node_at(job.coordinates(299)), job.distance(1, 299, 0)), (299, 2));
    }
}
