//! Route tables of a fat tree: up through any parent until the destination is below, then down the only
//! route.
//!
//! The tables are hierarchical (Pang et al., section 4.5): a switch stores the range of leaves below it, the
//! number of leaves below each child, and its parents. After failures it also stores which leaves it still
//! reaches downwards, and through which parents it still reaches the others.

use crate::topology::fat_tree::FatTree;
use crate::topology::wiring::Wiring;

/// The tables of a switch.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// First of the leaves below it.
    first: u32,
    end: u32,
    /// Number of leaves below each of its children; 0 for a leaf.
    each: u32,
    /// Number of ports to its parents, which come before those to its children.
    parents: u32,
}

/// A set of leaves for each switch, one bit per leaf.
#[derive(Clone, Debug)]
struct Leaves {
    words: usize,
    bits: Vec<u64>,
}

impl Leaves {
    fn new(switches: usize, leaves: u32) -> Self {
        let words = leaves.div_ceil(64) as usize;
        Leaves { words, bits: vec![0; switches * words] }
    }

    fn has(&self, switch: u32, leaf: u32) -> bool {
        self.bits[switch as usize * self.words + leaf as usize / 64] >> (leaf % 64) & 1 != 0
    }

    fn add(&mut self, switch: u32, leaf: u32) {
        self.bits[switch as usize * self.words + leaf as usize / 64] |= 1 << (leaf % 64);
    }

    /// Adds the leaves that another switch reaches.
    fn merge(&mut self, switch: u32, other: u32) {
        for word in 0..self.words {
            self.bits[switch as usize * self.words + word] |= self.bits[other as usize * self.words + word];
        }
    }
}

/// Reachability after failures.
#[derive(Clone, Debug)]
struct Reach {
    /// Leaves that a switch reaches by going down only, and by going up first.
    down: Leaves,
    any: Leaves,
    /// Parents of each switch with a working link, and the parents themselves, by switch and port.
    works: Vec<u64>,
    parents: Vec<Vec<u32>>,
}

/// The route tables of all switches.
#[derive(Clone, Debug)]
pub struct FatTreeRoutes {
    entries: Vec<Entry>,
    reach: Option<Box<Reach>>,
}

impl FatTreeRoutes {
    /// Fills the tables. `works` returns whether the link at a switch's port works.
    pub fn new(tree: &FatTree, wiring: &Wiring, works: impl Fn(u32, usize) -> bool) -> Self {
        let entry = |switch| {
            let leaves = tree.leaves_below(switch);
            let each = if tree.level(switch) == 0 { 0 } else { leaves.len() as u32 / tree.children(switch) };
            Entry { first: leaves.start, end: leaves.end, each, parents: tree.parents(switch) }
        };
        let mut routes = FatTreeRoutes { entries: (0..tree.switches()).map(entry).collect(), reach: None };
        let ports = |switch| (0..wiring.ports()).filter(move |&port| wiring.end(switch, port).is_some());
        let is_whole = (0..tree.switches()).all(|switch| ports(switch).all(|port| works(switch, port)));
        if !is_whole {
            routes.reach = Some(Box::new(routes.reach(tree, wiring, works)));
        }
        routes
    }

    /// The leaves that each switch still reaches, level by level: downwards from the leaves up, then upwards
    /// from the top down.
    fn reach(&self, tree: &FatTree, wiring: &Wiring, works: impl Fn(u32, usize) -> bool) -> Reach {
        let (switches, leaves) = (tree.switches(), tree.leaves_below(tree.switches() - 1).end);
        let mut down = Leaves::new(switches as usize, leaves);
        let mut reach_parents = vec![vec![]; switches as usize];
        let mut working = vec![0u64; switches as usize];
        // Children have lower numbers than their parents.
        for switch in 0..switches {
            let entry = self.entries[switch as usize];
            if entry.each == 0 {
                down.add(switch, switch);
            }
            for port in (0..wiring.ports()).filter(|&port| works(switch, port)) {
                let Some(end) = wiring.end(switch, port) else { continue };
                if port < entry.parents as usize {
                    working[switch as usize] |= 1 << port;
                } else {
                    down.merge(switch, end.router);
                }
            }
            reach_parents[switch as usize] = (0..entry.parents as usize)
                .map(|port| wiring.end(switch, port).expect("a parent").router)
                .collect();
        }
        let mut any = down.clone();
        for switch in (0..switches).rev() {
            for (port, &parent) in reach_parents[switch as usize].iter().enumerate() {
                if working[switch as usize] >> port & 1 != 0 {
                    any.merge(switch, parent);
                }
            }
        }
        Reach { down, any, works: working, parents: reach_parents }
    }

    /// The outputs on routes from a switch to a leaf, one bit per port.
    #[inline]
    pub fn ports(&self, from: u32, to: u32) -> u64 {
        let entry = &self.entries[from as usize];
        let is_below = (entry.first..entry.end).contains(&to);
        if let Some(reach) = &self.reach {
            return reach.ports(entry, from, to);
        }
        if is_below { entry.way_down(to) } else { (1 << entry.parents) - 1 }
    }

    /// Memory of the tables, bytes.
    pub fn bytes(&self) -> usize {
        let reach = self.reach.as_ref().map_or(0, |reach| 8 * (reach.down.bits.len() + reach.any.bits.len()));
        self.entries.capacity() * size_of::<Entry>() + reach
    }
}

impl Entry {
    /// The port to the child above a leaf.
    #[inline]
    fn way_down(&self, leaf: u32) -> u64 {
        1 << (self.parents + (leaf - self.first) / self.each)
    }
}

impl Reach {
    /// The port down if there is a route down, otherwise the ports to all parents with a route.
    fn ports(&self, entry: &Entry, from: u32, to: u32) -> u64 {
        if self.down.has(from, to) {
            return entry.way_down(to);
        }
        let parents = self.parents[from as usize].iter().enumerate();
        let leads = parents.filter(|(_, parent)| self.any.has(**parent, to));
        leads.fold(0, |ports, (port, _)| ports | 1 << port) & self.works[from as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FatTreeConfig;
    use netloom_engine::Stream;

    /// For any failures: from any leaf, any choice of ports leads a packet to every leaf to which a route up
    /// and then down remains; otherwise no port is given.
    #[test]
    fn all_remaining_routes_are_found_and_all_reach_their_destination() {
        let tree = FatTree::new(&FatTreeConfig { down: vec![2, 3, 4], up: vec![2, 3], link_classes: vec![] });
        let wiring = tree.wiring();
        let mut stream = Stream::new(1, 2, 3);
        for failures in [0, 1, 5, 20] {
            let mut dead = std::collections::HashSet::new();
            for _ in 0..failures {
                let (switch, port) = (
                    stream.below(tree.switches().into()) as u32,
                    stream.below(wiring.ports() as u64) as usize,
                );
                if let Some(end) = wiring.end(switch, port) {
                    dead.extend([(switch, port), (end.router, end.port.into())]);
                }
            }
            let works = |switch: u32, port: usize| !dead.contains(&(switch, port));
            let routes = FatTreeRoutes::new(&tree, &wiring, works);
            for from in 0..12 {
                for to in (0..12).filter(|&to| to != from) {
                    // Enumerates all routes up and down.
                    let has_route = leads(&tree, &wiring, &works, from, to, true);
                    let mut at = vec![from];
                    if !has_route {
                        assert_eq!(routes.ports(from, to), 0, "{failures}: {from} to {to}");
                        continue;
                    }
                    for _ in 0..4 {
                        let mut next = vec![];
                        for &switch in at.iter().filter(|&&switch| switch != to) {
                            let ports = routes.ports(switch, to);
                            assert_ne!(ports, 0, "{failures}: {from} to {to} at {switch}");
                            for port in (0..64).filter(|port| ports >> port & 1 != 0) {
                                assert!(works(switch, port));
                                next.push(wiring.end(switch, port).expect("a link").router);
                            }
                        }
                        at = next;
                    }
                    assert!(at.iter().all(|&end| end == to), "{failures}: {from} to {to} ends at {at:?}");
                }
            }
        }
    }

    fn leads(
        tree: &FatTree,
        wiring: &Wiring,
        works: &impl Fn(u32, usize) -> bool,
        from: u32,
        to: u32,
        may_go_up: bool,
    ) -> bool {
        let parents = tree.parents(from) as usize;
        from == to
            || (0..wiring.ports()).filter(|&port| works(from, port)).any(|port| {
                let is_up = port < parents;
                let Some(end) = wiring.end(from, port) else { return false };
                (!is_up || may_go_up) && leads(tree, wiring, works, end.router, to, is_up)
            })
    }
}
