//! Fat trees: extended generalised ones (Öhring, Ibel, Das, Kumar 1995, "On Generalized Fat Trees"), which
//! include k-ary n-trees and tapered ones.
//!
//! A tree of `n` levels of switches above the nodes is described by the number of children of a switch of
//! each level, and the number of parents of a node or switch below each level. A switch of level `l` (leaves
//! are 0) is named by digits: those of the children's numbers on the path down to it from the top, and those
//! of the parents' numbers on the path up to it from below. Two switches of neighbouring levels are linked if
//! they differ in nothing but the digit between them.

use super::wiring::Wiring;
use crate::config::FatTreeConfig;
use std::ops::Range;

/// A fat tree's switches, numbered level by level, leaves first.
#[derive(Clone, Debug)]
pub struct FatTree {
    down: Vec<u32>,
    /// Parents of a switch of each level; none of the top.
    up: Vec<u32>,
    /// The first switch of each level, and one past the last.
    first: Vec<u32>,
    /// Names of the links of each level, from the leaves up.
    classes: Vec<String>,
}

impl FatTree {
    /// From a checked configuration.
    pub fn new(config: &FatTreeConfig) -> Self {
        let mut up = config.up.clone();
        up.push(0);
        let mut tree = FatTree { down: config.down.clone(), up, first: vec![0], classes: config.classes() };
        for level in 0..tree.down.len() {
            let switches = tree.above(level) * tree.copies(level);
            tree.first.push(tree.first[level] + switches);
        }
        tree
    }

    /// Subtrees of a level.
    fn above(&self, level: usize) -> u32 {
        self.down[level + 1..].iter().product()
    }

    /// Switches of a level that are the tops of the same leaves.
    fn copies(&self, level: usize) -> u32 {
        self.up[..level].iter().product()
    }

    /// Switches of all levels.
    pub fn switches(&self) -> u32 {
        self.first[self.down.len()]
    }

    /// The level of a switch: 0 for leaves.
    pub fn level(&self, switch: u32) -> usize {
        self.first.iter().skip(1).take_while(|&&first| first <= switch).count()
    }

    /// Children of a switch, which are nodes below leaves.
    pub fn children(&self, switch: u32) -> u32 {
        self.down[self.level(switch)]
    }

    /// Parents of a switch.
    pub fn parents(&self, switch: u32) -> u32 {
        self.up[self.level(switch)]
    }

    /// The leaves below a switch.
    pub fn leaves_below(&self, switch: u32) -> Range<u32> {
        let level = self.level(switch);
        let each: u32 = self.down[1..=level].iter().product();
        let subtree = (switch - self.first[level]) / self.copies(level);
        subtree * each..(subtree + 1) * each
    }

    /// The switch above one at the port to a parent.
    fn parent(&self, switch: u32, parent: u32) -> u32 {
        let level = self.level(switch);
        let (subtree, copy) = (
            (switch - self.first[level]) / self.copies(level),
            (switch - self.first[level]) % self.copies(level),
        );
        let above = subtree / self.down[level + 1];
        self.first[level + 1] + above * self.copies(level + 1) + parent * self.copies(level) + copy
    }

    /// Its switches, links and nodes. Ports to parents come first, then those to children. Links are of a
    /// class for each level that they lead up to.
    pub fn wiring(&self) -> Wiring {
        let levels = self.down.len();
        let ports = (0..self.switches()).map(|s| self.link_ports(s)).max().unwrap_or(0);
        let routers = (0..self.switches()).map(|switch| {
            let level = self.level(switch);
            let nodes = if level == 0 { self.down[0] } else { 0 };
            (nodes, format!("level {level} switch {}", switch - self.first[level]))
        });
        let groups = (0..levels).map(|level| self.first[level + 1] - self.first[level]);
        let mut wiring = Wiring::new(ports as usize, &self.classes, groups, routers);
        for switch in 0..self.first[levels - 1] {
            let level = self.level(switch);
            let child = (switch - self.first[level]) / self.copies(level) % self.down[level + 1];
            for parent in 0..self.up[level] {
                let above = self.parent(switch, parent);
                let there = self.up[level + 1] + child;
                wiring.connect((switch, parent as usize), (above, there as usize), level as u8);
            }
        }
        // A leaf's ports are its parents' and its nodes', a switch's above those of its parents and children.
        wiring.share_ports(self.up[0] as usize);
        wiring
    }

    /// Ports of a switch for links.
    fn link_ports(&self, switch: u32) -> u32 {
        self.parents(switch) + if self.level(switch) == 0 { 0 } else { self.children(switch) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::wiring::tests::check;

    fn tree(down: &[u32], up: &[u32]) -> FatTree {
        FatTree::new(&FatTreeConfig { down: down.to_vec(), up: up.to_vec(), link_classes: vec![] })
    }

    #[test]
    fn a_k_ary_n_tree_has_as_many_switches_on_each_level() {
        // 4-ary 3-tree: 64 nodes, three levels of 16 switches.
        let t = tree(&[4, 4, 4], &[4, 4]);
        assert_eq!(t.first, [0, 16, 32, 48]);
        let w = t.wiring();
        assert_eq!((w.nodes(), w.routers(), w.ports()), (64, 48, 8));
        check(&w);
        assert_eq!(t.leaves_below(16 + 5), 4..8);
        assert_eq!(t.leaves_below(40), 0..16);
    }

    #[test]
    fn a_tapered_tree_has_fewer_links_further_up() {
        // 32 nodes a leaf, 13 links up.
        let t = tree(&[32, 10, 5], &[13, 4]);
        let w = t.wiring();
        assert_eq!((w.nodes(), w.groups()), (1600, 3));
        assert_eq!(w.routers_of(1).len(), 5 * 13);
        assert_eq!(w.routers_of(2).len(), 13 * 4);
        check(&w);
    }

    #[test]
    fn every_switch_reaches_every_leaf_up_and_then_down() {
        for (down, up) in [(vec![4, 4, 4], vec![4, 4]), (vec![3, 5, 2], vec![2, 3]), (vec![8, 6], vec![4])] {
            let t = tree(&down, &up);
            let w = t.wiring();
            let routes = crate::routing::fat_tree::FatTreeRoutes::new(&t, &w, |_, _| true);
            let leaves = w.routers_of(0);
            for from in leaves.clone() {
                for to in leaves.clone().filter(|&to| to != from) {
                    let (mut at, mut hops, mut falling) = (from, 0, false);
                    while at != to {
                        let ports = routes.ports(at, to);
                        let before = t.level(at);
                        at = w.end(at, 63 - ports.leading_zeros() as usize).expect("a link").router;
                        assert!(!falling || t.level(at) < before, "up after down");
                        falling = t.level(at) < before;
                        hops += 1;
                    }
                    assert!(hops <= 2 * (down.len() - 1));
                }
            }
        }
    }
}
