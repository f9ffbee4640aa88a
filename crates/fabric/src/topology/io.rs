//! IO nodes (Chen et al., section II.A): outside the torus, reached through the eleventh link of a few
//! compute nodes, the exit nodes.
//!
//! The compute nodes in a box of the torus, a pset, share an IO node. IO nodes are numbered after all compute
//! nodes, in the order of their psets. Their only links are those to their exit nodes.

use super::torus::{Coordinates, Torus};
use crate::config::EXITS_MAX;

/// The port of a compute node's IO link.
pub const IO_PORT: usize = 10;
/// The ports through which an IO node reaches its exit nodes, in their order. Headers of packets that leave
/// an IO node name one of these three (the public driver's `MU_Pt2PtNetworkHeader.h`: ports 6 and 7, which IO
/// nodes do not need for the torus, and 10).
pub const IO_NODE_PORTS: [usize; EXITS_MAX] = [6, 7, IO_PORT];

impl Torus {
    /// Number of IO nodes.
    pub fn io_nodes(&self) -> u32 {
        self.io().map_or(0, |io| self.nodes() / io.pset.iter().product::<u32>())
    }

    /// Number of all nodes, including IO nodes.
    pub fn all_nodes(&self) -> u32 {
        self.nodes() + self.io_nodes()
    }

    /// Whether a node is an IO node.
    #[inline]
    pub fn is_io_node(&self, node: u32) -> bool {
        node >= self.nodes()
    }

    /// The IO node that a compute node shares with its pset; `None` without IO nodes.
    pub fn io_node_of(&self, node: u32) -> Option<u32> {
        let (io, at) = (self.io()?, self.coordinates(node));
        let psets = (0..self.dimensions()).rev();
        let number =
            psets.fold(0, |number, d| number * (self.length(d) / io.pset[d]) + u32::from(at[d]) / io.pset[d]);
        Some(self.nodes() + number)
    }

    /// The exit nodes of an IO node, in the order of its ports.
    pub fn exits(&self, io_node: u32) -> Vec<u32> {
        let exits = self.io().map_or(&[][..], |io| &io.exits);
        exits.iter().map(|exit| self.in_pset(io_node, exit)).collect()
    }

    /// The compute nodes of an IO node, in pset order.
    pub fn pset(&self, io_node: u32) -> impl Iterator<Item = u32> {
        let lengths = self.io().map_or(&[][..], |io| &io.pset);
        let nodes = self.io().map_or(0, |_| lengths.iter().product());
        (0..nodes).map(move |mut i| {
            let place: Vec<u32> = lengths
                .iter()
                .map(|&length| {
                    let x = i % length;
                    i /= length;
                    x
                })
                .collect();
            self.in_pset(io_node, &place)
        })
    }

    /// The compute node at coordinates `place` within the pset of an IO node.
    fn in_pset(&self, io_node: u32, place: &[u32]) -> u32 {
        let Some(io) = self.io() else { return 0 };
        let mut at = Coordinates::default();
        let mut number = io_node - self.nodes();
        for (d, x) in at.iter_mut().enumerate().take(self.dimensions()) {
            let psets = self.length(d) / io.pset[d];
            *x = (number % psets * io.pset[d] + place[d]) as u8;
            number /= psets;
        }
        self.node(at)
    }

    /// The exit node for a compute node's packets to its IO node: the nearest one; among equally near ones,
    /// the one that serves the fewest of the preceding nodes in the pset.
    pub fn exit_of(&self, node: u32) -> Option<u32> {
        let pset = self.exits_of_pset(self.io_node_of(node)?);
        pset.into_iter().find(|(other, _)| *other == node).map(|(_, exit)| exit)
    }

    /// All compute nodes of an IO node, each with its [`Self::exit_of`].
    pub fn exits_of_pset(&self, io_node: u32) -> Vec<(u32, u32)> {
        let exits = self.exits(io_node);
        let mut served = vec![0; exits.len()];
        let best = |node: u32| {
            let near = |i: &usize| (self.distance(node, exits[*i]), served[*i]);
            let best = (0..exits.len()).min_by_key(near).expect("a pset has an exit");
            served[best] += 1;
            (node, exits[best])
        };
        self.pset(io_node).map(best).collect()
    }

    /// The port of an IO node whose link leads to one of its exit nodes.
    pub fn port_to_exit(&self, io_node: u32, exit: u32) -> Option<usize> {
        Some(IO_NODE_PORTS[self.exits(io_node).iter().position(|&e| e == exit)?])
    }

    /// Whether a port of a node has an IO link.
    pub fn is_io_link(&self, node: u32, port: usize) -> bool {
        self.io_link(node, port).is_some()
    }

    fn io_link(&self, node: u32, port: usize) -> Option<(u32, usize)> {
        self.io()?;
        if self.is_io_node(node) {
            let which = IO_NODE_PORTS.iter().position(|&p| p == port)?;
            return self.exits(node).get(which).map(|&exit| (exit, IO_PORT));
        }
        let io_node = self.io_node_of(node).filter(|_| port == IO_PORT)?;
        self.port_to_exit(io_node, node).map(|there| (io_node, there))
    }

    /// The other end of a port's link, torus or IO: node and port.
    pub fn link(&self, node: u32, port: usize) -> Option<(u32, usize)> {
        if self.is_io_node(node) || port >= self.ports() {
            return self.io_link(node, port);
        }
        Some((self.neighbour(node, port)?, port ^ 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{IoNodes, Topology};
    use proptest::prelude::*;

    fn torus(dims: &[u32], pset: &[u32], exits: &[&[u32]]) -> Torus {
        let exits = exits.iter().map(|e| e.to_vec()).collect();
        let io = IoNodes { pset: pset.to_vec(), exits };
        io.check(dims).expect("fine");
        Torus::new(&Topology { dims: dims.to_vec(), io: Some(io), ..Topology::default() })
    }

    fn midplane() -> Torus {
        torus(&[4, 4, 4, 4, 2], &[2, 2, 4, 4, 2], &[&[0, 0, 0, 0, 0], &[1, 1, 2, 2, 1]])
    }

    #[test]
    fn a_midplane_has_four_io_nodes_of_two_exits_each() {
        let torus = midplane();
        assert_eq!((torus.nodes(), torus.io_nodes()), (512, 4));
        let links: Vec<(u32, u32, usize)> =
            (0..512).filter_map(|n| torus.link(n, IO_PORT).map(|(io, port)| (n, io, port))).collect();
        assert_eq!(links.len(), 8);
        for io in 512..516 {
            assert_eq!(links.iter().filter(|l| l.1 == io).map(|l| l.2).collect::<Vec<_>>(), [6, 7]);
            for exit in torus.exits(io) {
                let share = (0..512).filter(|&n| torus.exit_of(n) == Some(exit)).count();
                assert_eq!(share, 64, "each exit serves half of its pset");
            }
        }
    }

    proptest! {
        /// The two ends of each link agree; each compute node has an exit in its own pset.
        #[test]
        fn links_have_two_ends(
            counts in proptest::collection::vec((1u32..3, 1u32..4), 1..=5),
            picks in proptest::collection::vec(any::<u32>(), 1..=3),
        ) {
            let pset: Vec<u32> = counts.iter().map(|c| c.1).collect();
            let dims: Vec<u32> = counts.iter().map(|c| c.0 * c.1).collect();
            let place = |mut pick: u32| -> Vec<u32> {
                pset.iter().map(|&l| { let x = pick % l; pick /= l; x }).collect()
            };
            let mut exits: Vec<Vec<u32>> = picks.into_iter().map(place).collect();
            exits.sort();
            exits.dedup();
            let exits: Vec<&[u32]> = exits.iter().map(|e| &e[..]).collect();
            let torus = torus(&dims, &pset, &exits);
            for node in 0..torus.all_nodes() {
                for port in 0..=IO_PORT {
                    if let Some((other, there)) = torus.link(node, port) {
                        prop_assert_eq!(torus.link(other, there), Some((node, port)));
                        prop_assert_eq!(torus.is_io_link(node, port), torus.is_io_link(other, there));
                    }
                }
            }
            for node in 0..torus.nodes() {
                let (io, exit) = (torus.io_node_of(node).unwrap(), torus.exit_of(node).unwrap());
                prop_assert!(torus.exits(io).contains(&exit));
                prop_assert_eq!(torus.io_node_of(exit), Some(io));
                let port = torus.port_to_exit(io, exit).unwrap();
                prop_assert_eq!(torus.link(io, port), Some((exit, IO_PORT)));
            }
        }
    }
}
