//! Collective operations executed by NICs alone (sections 2.5 and 4.7): a node's position in a tree, and the
//! sequences of descriptors that control packets trigger there.

use netloom_nic::th::{Address, Options, Reduction, Request, Swap};

/// A collective operation. Barriers also separate an operation from the next (section 4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeOperation {
    /// A barrier. An event with number 0 reports its end.
    Barrier,
    /// The root's data to all: a mini-packet delivers it, except at the root.
    Broadcast,
    /// The sum of all numbers to all: a mini-packet delivers it.
    Sum,
}

/// A node's position in a tree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The parent port; `None` at the root.
    pub parent: Option<Address>,
    /// The child ports.
    pub children: Vec<Address>,
}

impl Tree {
    /// The position of number `me` among `count`, each with up to `degree` children: 0 is the root.
    pub fn regular(me: u32, count: u32, degree: u32, address: impl Fn(u32) -> Address) -> Self {
        let (first, last) = (degree * me + 1, (degree * me + degree).min(count.saturating_sub(1)));
        let parent = (me > 0).then(|| address((me - 1) / degree));
        Tree { parent, children: (first..=last).map(address).collect() }
    }

    /// The sequences for a NIC: up the tree with the reduction, and down again. At the end the port notifies
    /// itself.
    pub fn sequences(&self, operation: TreeOperation, mine: &[u8]) -> Vec<Request> {
        let count = self.children.len() as u32;
        let mine = if operation == TreeOperation::Barrier { &[] } else { mine };
        let swap = Swap { data: true, ..Swap::default() };
        let up = |to: &[Address]| {
            let request = Request::control(to, mine).after(count);
            if operation == TreeOperation::Sum { request.reduce(Reduction::SumFloat) } else { request }
        };
        let mut list = vec![];
        match self.parent {
            None if operation == TreeOperation::Broadcast => {
                list.push(Request::control(&self.children, mine));
            }
            None => list.push(up(&self.children)),
            Some(parent) => {
                if operation != TreeOperation::Broadcast {
                    list.push(up(&[parent]));
                }
                if count > 0 {
                    list.push(Request::control(&self.children, &[]).after(1).swap(swap));
                }
            }
        }
        if self.parent.is_none() && operation == TreeOperation::Broadcast {
            return list;
        }
        let reported = match operation {
            TreeOperation::Barrier => {
                Request::nothing().with(Options { local_event: Some(0), ..Options::default() })
            }
            _ => Request::deliver(&[]).swap(swap),
        };
        list.push(if self.parent.is_some() && count == 0 { reported.after(1) } else { reported });
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_but_the_root_has_a_parent() {
        let address = |node| Address { node, vp: 0, key: 0 };
        for count in 1..40 {
            let places: Vec<Tree> = (0..count).map(|me| Tree::regular(me, count, 3, address)).collect();
            for (me, place) in (0..).zip(&places) {
                assert!(place.children.iter().all(|c| places[c.node as usize].parent == Some(address(me))));
            }
            assert_eq!(places.iter().map(|p| p.children.len()).sum::<usize>() as u32, count - 1);
        }
    }
}
