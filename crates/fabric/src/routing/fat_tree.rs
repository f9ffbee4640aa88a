//! Route tables of a fat tree: up by any parent until the destination lies below, then down by the only way.
//!
//! The tables are hierarchical (Pang et al., section 4.5): a switch knows the range of leaves below it, how many of them lie below each of
//! its children, and its parents.

use crate::topology::fat_tree::FatTree;

/// The tables of a switch.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Leaves below it, by their numbers.
    first: u32,
    end: u32,
    /// Leaves below each of its children; none below a leaf.
    each: u32,
    /// Ports to its parents: these come first, then those to its children.
    parents: u32,
}

/// The route tables of all switches.
#[derive(Clone, Debug)]
pub struct FatTreeRoutes {
    entries: Vec<Entry>,
}

impl FatTreeRoutes {
    /// Fills the tables.
    pub fn new(tree: &FatTree) -> Self {
        let entry = |switch| {
            let leaves = tree.leaves_below(switch);
            let each = if tree.level(switch) == 0 { 0 } else { leaves.len() as u32 / tree.children(switch) };
            Entry { first: leaves.start, end: leaves.end, each, parents: tree.parents(switch) }
        };
        FatTreeRoutes { entries: (0..tree.switches()).map(entry).collect() }
    }

    /// The outputs on ways from a switch to a leaf, a bit a port.
    #[inline]
    pub fn ports(&self, from: u32, to: u32) -> u64 {
        let entry = &self.entries[from as usize];
        if (entry.first..entry.end).contains(&to) {
            1 << (entry.parents + (to - entry.first) / entry.each)
        } else {
            (1 << entry.parents) - 1
        }
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }
}
