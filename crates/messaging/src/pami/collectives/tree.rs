//! Collectives along trees.

use super::{Area, Block, Blocks, Local, Place, Round, Schedule, Transfer, powers};
use std::iter;

/// A tree of the members. Member numbers are relative to the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// The parent of a member is the member with the lowest digit that is not 0, in this radix, set to 0.
    /// With radix 2 the tree is binomial. Each subtree is a range of members.
    Knomial(usize),
    /// A complete tree in which each member has this number of children.
    Kary(usize),
}

/// A member of a tree with its neighbours.
struct Node {
    parent: Option<usize>,
    /// The largest subtree first.
    children: Vec<usize>,
}

impl Tree {
    /// The member's parent and children, relative to the root.
    fn relative(self, member: usize, count: usize) -> Node {
        match self {
            Tree::Knomial(radix) => {
                let digit = |power: usize| member / power % radix;
                let lowest = powers(radix, count).find(|&power| digit(power) > 0);
                let below = powers(radix, lowest.unwrap_or(count)).rev();
                let children = below
                    .flat_map(|power| (1..radix).map(move |n| member + n * power))
                    .filter(|&child| child < count)
                    .collect();
                Node { parent: lowest.map(|power| member - digit(power) * power), children }
            }
            Tree::Kary(arity) => {
                let first = member * arity + 1;
                let children = (first..first + arity).take_while(|&child| child < count).collect();
                Node { parent: member.checked_sub(1).map(|n| n / arity), children }
            }
        }
    }

    /// The member's parent and children in the tree with this root.
    fn node(self, place: Place, root: usize) -> Node {
        let Node { parent, children } = self.relative(relative(place, root), place.count);
        let absolute = |member: usize| (member + root) % place.count;
        Node { parent: parent.map(absolute), children: children.into_iter().map(absolute).collect() }
    }
}

/// The member's number from the root on.
fn relative(place: Place, root: usize) -> usize {
    (place.me + place.count - root) % place.count
}

/// Members of the subtree of a member of the binomial tree.
fn binomial_subtree(member: usize, count: usize) -> usize {
    match member {
        0 => count,
        _ => (1 << member.trailing_zeros()).min(count - member),
    }
}

/// Barrier: signals go up a tree with member 0 at its root, then down.
pub fn tree_barrier(tree: Tree, place: Place) -> Schedule {
    let Node { parent, children } = tree.node(place, 0);
    let block = Block::first(Area::Scratch, 0);
    let signals: Vec<_> = children.into_iter().map(|peer| Transfer { peer, block }).collect();
    let arrive = Round { receives: signals.clone(), ..Round::default() };
    let through = parent.map(|parent| Round::send(parent, block).and_receive(parent, block));
    let leave = Round { sends: signals, ..Round::default() };
    Box::new(iter::once(arrive).chain(through).chain([leave]))
}

/// Broadcast of the first bytes of [`Area::Target`] along a tree.
pub fn tree_broadcast(tree: Tree, place: Place, root: usize, bytes: usize) -> Schedule {
    let block = Block::first(Area::Target, bytes);
    let Node { parent, children } = tree.node(place, root);
    let receive = parent.map(|parent| Round::receive(parent, block));
    let sends = children.into_iter().map(|peer| Transfer { peer, block }).collect();
    Box::new(receive.into_iter().chain([Round { sends, ..Round::default() }]))
}

/// Broadcast of the first bytes of [`Area::Target`], for a number of members that is a power of two: a
/// scatter along a binomial tree, then an allgather by recursive doubling.
///
/// # Panics
/// If the number of members is not a power of two.
pub fn scatter_doubling_broadcast(place: Place, root: usize, bytes: usize) -> Schedule {
    let count = place.count;
    assert!(count.is_power_of_two());
    let me = relative(place, root);
    let absolute = move |member: usize| (member + root) % count;
    // The parts are those of the members from the root on, so that those of a subtree adjoin.
    let parts = Blocks::divide(bytes, 1, count);
    let subtree = |member: usize| parts.span(Area::Target, member, member + binomial_subtree(member, count));
    let Node { parent, children } = Tree::Knomial(2).relative(me, count);
    let receive = parent.map(|parent| Round::receive(absolute(parent), subtree(me)));
    let sends =
        children.iter().map(|&child| Transfer { peer: absolute(child), block: subtree(child) }).collect();
    let scatter = receive.into_iter().chain([Round { sends, ..Round::default() }]);
    let doubling = powers(2, count).map(move |mask| {
        let group = |member: usize| {
            let first = member & !(mask - 1);
            parts.span(Area::Target, first, first + mask)
        };
        let peer = me ^ mask;
        Round::send(absolute(peer), group(me)).and_receive(absolute(peer), group(peer))
    });
    Box::new(scatter.chain(doubling))
}

/// Scratch memory of [`binomial_gather`] and [`binomial_scatter`] for equal blocks of this length, bytes.
pub fn binomial_scratch_bytes(place: Place, root: usize, bytes: usize) -> usize {
    binomial_subtree(relative(place, root), place.count) * bytes
}

/// Gather of equal blocks along a binomial tree: a member sends the blocks of its subtree as one message.
/// [`Area::Source`] of `bytes` is the member's block; the root, which alone gives `blocks`, has all in its
/// [`Area::Target`] at the end.
pub fn binomial_gather(place: Place, root: usize, bytes: usize, blocks: Option<&Blocks>) -> Schedule {
    let count = place.count;
    let me = relative(place, root);
    let absolute = |member: usize| (member + root) % count;
    let Node { parent, children } = Tree::Knomial(2).relative(me, count);
    let scratch =
        |at: usize, count: usize| Block { area: Area::Scratch, at: at * bytes, bytes: count * bytes };
    let source = Block::first(Area::Source, bytes);
    if let Some(parent) = parent.filter(|_| children.is_empty()) {
        return Box::new(iter::once(Round::send(absolute(parent), source)));
    }
    let from_child = |&child: &usize| Transfer {
        peer: absolute(child),
        block: scratch(child - me, binomial_subtree(child, count)),
    };
    let receives = children.iter().map(from_child).collect();
    let own = match blocks {
        Some(blocks) => Block { bytes, ..blocks.of(Area::Target, root) },
        None => scratch(0, 1),
    };
    let mut then = vec![Local::Copy { from: source, to: own }];
    if let Some(blocks) = blocks {
        let to_target = |n| Local::Copy { from: scratch(n, 1), to: blocks.of(Area::Target, absolute(n)) };
        then.extend((1..count).map(to_target));
    }
    let gather = Round { receives, then, ..Round::default() };
    let up = parent.map(|parent| Round::send(absolute(parent), scratch(0, binomial_subtree(me, count))));
    Box::new(iter::once(gather).chain(up))
}

/// Scatter of equal blocks along a binomial tree, the reverse of [`binomial_gather`]. The root gives `blocks`
/// of its [`Area::Source`], and copies its own to [`Area::Target`] unless that is in place.
pub fn binomial_scatter(
    place: Place,
    root: usize,
    bytes: usize,
    blocks: Option<&Blocks>,
    in_place: bool,
) -> Schedule {
    let count = place.count;
    let me = relative(place, root);
    let absolute = |member: usize| (member + root) % count;
    let Node { parent, children } = Tree::Knomial(2).relative(me, count);
    let scratch =
        |at: usize, count: usize| Block { area: Area::Scratch, at: at * bytes, bytes: count * bytes };
    let target = Block::first(Area::Target, bytes);
    if let Some(parent) = parent.filter(|_| children.is_empty()) {
        return Box::new(iter::once(Round::receive(absolute(parent), target)));
    }
    let begin = match (parent, blocks) {
        (Some(parent), _) => Round::receive(absolute(parent), scratch(0, binomial_subtree(me, count))),
        (None, Some(blocks)) => {
            let to_scratch =
                |n| Local::Copy { from: blocks.of(Area::Source, absolute(n)), to: scratch(n, 1) };
            Round::local((1..count).map(to_scratch).collect())
        }
        (None, None) => Round::default(),
    };
    let to_child = |&child: &usize| Transfer {
        peer: absolute(child),
        block: scratch(child - me, binomial_subtree(child, count)),
    };
    let sends = children.iter().map(to_child).collect();
    let own = match blocks.filter(|_| parent.is_none()) {
        Some(blocks) => blocks.of(Area::Source, root),
        None => scratch(0, 1),
    };
    let then =
        if in_place && parent.is_none() { vec![] } else { vec![Local::Copy { from: own, to: target }] };
    Box::new([begin, Round { sends, then, ..Round::default() }].into_iter())
}

/// Reduce along a tree into a block of the root. [`Area::Source`] is the member's operand; [`Area::Scratch`]
/// has at least [`super::reduction::scratch_bytes`]. The tree has its root at member 0, which sends the
/// result on, so that operands stay in order in a k-nomial tree; operations that commute use a tree with its
/// root at the root itself. A k-ary tree is only for operations that commute.
pub fn tree_reduce(tree: Tree, place: Place, root: usize, result: Block, is_commutative: bool) -> Schedule {
    let bytes = result.bytes;
    let top = if is_commutative { root } else { 0 };
    let Node { parent, mut children } = tree.node(place, top);
    // The operand that follows this member's own is that of the smallest subtree of a k-nomial tree.
    if let Tree::Knomial(_) = tree {
        children.sort_by_key(|&child| (child + place.count - top) % place.count);
    }
    let partial = Block::first(Area::Scratch, bytes);
    let arrived = super::reduction::arriving(bytes);
    let begin = Round::local(vec![Local::Copy { from: Block::first(Area::Source, bytes), to: partial }]);
    let lower = children.into_iter().map(move |child| {
        let combine = Local::Reduce { into: partial, from: arrived };
        Round::receive(child, arrived).then([combine])
    });
    let up = parent.map(|parent| Round::send(parent, partial));
    let end = match (place.me == top, place.me == root) {
        (true, true) => Some(Round::local(vec![Local::Copy { from: partial, to: result }])),
        (true, false) => Some(Round::send(root, partial)),
        (false, true) => Some(Round::receive(top, result)),
        (false, false) => None,
    };
    Box::new(iter::once(begin).chain(lower).chain(up).chain(end))
}
