//! Edge-disjoint spanning trees of a box of nodes, for broadcasts over all links at once (Kumar et al.,
//! section V: "10 edge disjoint spanning trees"). The paper does not give the trees; these are those of the
//! schedule `TorusRect.h` of the public sources of PAMI.
//!
//! The tree of a colour begins with one dimension and takes the others in cyclic order: the root sends along
//! its line in the first, the nodes of that line along theirs in the second, and so on. Nodes whose
//! coordinate in the first dimension is the root's have to wait, since their links belong to other colours: a
//! neighbour in the first dimension sends to them last. Where all dimensions of the box are rings there is a
//! colour per direction, otherwise one per dimension, in which lines go both ways.
//!
//! The trees have no link in common: let D be the dimensions in which a node differs from the root. A colour
//! that begins with a dimension of D enters the node by the dimension of D that comes before it in cyclic
//! order; any other colour by its own first. So the dimensions by which the colours enter a node are a
//! permutation of those with which they begin.

use super::route::Rectangle;
use crate::topology::torus::{Coordinates, Torus};
use smallvec::SmallVec;

/// The spanning trees of a box with a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trees {
    nodes: Rectangle,
    root: Coordinates,
    /// Dimensions in which the box has more than one node.
    dimensions: SmallVec<[usize; 5]>,
    /// Whether all of them are rings.
    rings: bool,
}

impl Trees {
    /// The trees of a box.
    pub fn new(nodes: Rectangle, torus: &Torus, root: Coordinates) -> Self {
        let length = |d: usize| u32::from(nodes.high[d] - nodes.low[d]) + 1;
        let dimensions: SmallVec<[usize; 5]> = (0..torus.dimensions()).filter(|&d| length(d) > 1).collect();
        let rings = dimensions.iter().all(|&d| torus.wraps(d) && length(d) == torus.length(d));
        Trees { nodes, root, dimensions, rings }
    }

    /// The number of colours.
    pub fn count(&self) -> usize {
        self.dimensions.len() * if self.rings { 2 } else { 1 }
    }

    /// The port through which the data of a colour enters a node; `None` at the root.
    fn input(&self, colour: usize, at: Coordinates) -> Option<usize> {
        let count = self.dimensions.len();
        let (first, direction) = (colour % count, colour / count);
        let differs = |place: usize| at[self.dimensions[place]] != self.root[self.dimensions[place]];
        let last = (0..count).map(|n| (first + n) % count).rfind(|&place| differs(place))?;
        let is_late = !differs(first);
        let d = self.dimensions[if is_late { first } else { last }];
        // Data that goes up comes through the port down.
        if self.rings {
            return Some(2 * d + 1 - direction);
        }
        let comes_from_above = match is_late {
            true => at[d] < self.nodes.high[d],
            false => at[d] < self.root[d],
        };
        Some(2 * d + usize::from(!comes_from_above))
    }

    /// The nodes to which a node sends the data of a colour, and through which ports.
    pub fn children(&self, torus: &Torus, colour: usize, at: Coordinates) -> SmallVec<[(u32, usize); 4]> {
        let here = torus.node(at);
        let child = |port: usize| {
            let node = torus.neighbour(here, port)?;
            let there = torus.coordinates(node);
            let is_child = self.nodes.contains(there) && self.input(colour, there) == Some(port ^ 1);
            is_child.then_some((node, port))
        };
        self.dimensions.iter().flat_map(|&d| [2 * d, 2 * d + 1]).filter_map(child).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Topology;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_colour_reaches_all_nodes_and_no_link_has_two(
            dims in prop::collection::vec(1u32..6, 1..=5),
            picks in prop::array::uniform15(any::<u8>()),
            whole: bool,
        ) {
            let torus = Torus::new(&Topology { dims: dims.clone(), ..Topology::default() });
            let mut nodes = Rectangle::whole(&torus);
            let mut root = Coordinates::default();
            for (d, &length) in dims.iter().enumerate() {
                let length = length as u8;
                if !whole {
                    nodes.low[d] = picks[d] % length;
                    nodes.high[d] = nodes.low[d] + picks[5 + d] % (length - nodes.low[d]);
                }
                root[d] = nodes.low[d] + picks[10 + d] % (nodes.high[d] - nodes.low[d] + 1);
            }
            let trees = Trees::new(nodes, &torus, root);
            let mut links = BTreeSet::new();
            for colour in 0..trees.count() {
                let mut reached = BTreeSet::from([torus.node(root)]);
                let mut next = vec![root];
                while let Some(at) = next.pop() {
                    for (child, port) in trees.children(&torus, colour, at) {
                        prop_assert!(links.insert((torus.node(at), port)), "two colours on a link");
                        prop_assert!(reached.insert(child), "twice at {child}");
                        next.push(torus.coordinates(child));
                    }
                }
                prop_assert_eq!(reached.len() as u64, nodes.nodes());
            }
            let active = (0..dims.len()).filter(|&d| nodes.high[d] > nodes.low[d]).count();
            prop_assert!(trees.count() == active || trees.count() == 2 * active);
            if whole {
                prop_assert_eq!(trees.count(), 2 * active);
            }
        }
    }

    /// On the machine of the paper all links but those into the root are used.
    #[test]
    fn ten_colours_use_all_links() {
        let torus = Torus::new(&Topology { dims: vec![4, 4, 4, 4, 2], ..Topology::default() });
        let root = torus.coordinates(77);
        let trees = Trees::new(Rectangle::whole(&torus), &torus, root);
        assert_eq!(trees.count(), 10);
        for colour in 0..10 {
            assert_eq!(trees.children(&torus, colour, root).len(), 1, "one link out of the root per colour");
        }
    }
}
