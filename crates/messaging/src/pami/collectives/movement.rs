//! Collectives that move data.

use super::{Area, Block, Blocks, Local, Place, Round, Schedule, Transfer};
use std::iter;
use std::sync::Arc;

/// Barrier: dissemination. In round k each member signals the one 2^k above it.
pub fn dissemination(place: Place) -> Schedule {
    let distances = iter::successors(Some(1), |distance| Some(distance * 2));
    Box::new(distances.take_while(move |&distance| distance < place.count).map(move |distance| {
        let nothing = Block::first(Area::Scratch, 0);
        Round::send(place.above(distance), nothing).and_receive(place.below(distance), nothing)
    }))
}

/// The place of a member in the binomial tree with a root: its parent and its children, the largest subtree first.
fn binomial_tree(place: Place, root: usize) -> (Option<usize>, Vec<usize>) {
    let Place { me, count } = place;
    let relative = (me + count - root) % count;
    let absolute = |relative: usize| (relative + root) % count;
    let lowest = match relative {
        0 => count.next_power_of_two(),
        _ => 1 << relative.trailing_zeros(),
    };
    let masks = iter::successors(Some(lowest / 2), |mask| Some(mask / 2)).take_while(|&mask| mask > 0);
    let children = masks.map(|mask| relative + mask).filter(|&child| child < count).map(absolute).collect();
    ((relative > 0).then(|| absolute(relative - lowest)), children)
}

/// Broadcast of the first bytes of [`Area::Target`] along a binomial tree.
pub fn binomial_broadcast(place: Place, root: usize, bytes: usize) -> Schedule {
    let block = Block::first(Area::Target, bytes);
    let (parent, children) = binomial_tree(place, root);
    let receive = parent.map(|parent| Round::receive(parent, block));
    let sends = children.into_iter().map(|peer| Transfer { peer, block }).collect();
    Box::new(receive.into_iter().chain([Round { sends, ..Round::default() }]))
}

/// Broadcast of the first bytes of [`Area::Target`]: the root scatters parts, which then go around a ring. For long
/// data: each member sends little more than its own part and the parts of others once.
pub fn scatter_allgather_broadcast(place: Place, root: usize, bytes: usize) -> Schedule {
    let blocks = Arc::new(Blocks::divide(bytes, 1, place.count));
    let part = |member| Transfer { peer: member, block: blocks.of(Area::Target, member) };
    let scatter = if place.me == root {
        let sends = (0..place.count).filter(|&member| member != root).map(part).collect();
        Round { sends, ..Round::default() }
    } else {
        Round::receive(root, part(place.me).block)
    };
    Box::new(iter::once(scatter).chain(ring(place, blocks)))
}

/// The blocks of all members go around a ring, from that of each member in [`Area::Target`].
pub(super) fn ring(place: Place, blocks: Arc<Blocks>) -> impl Iterator<Item = Round> + Send {
    (1..place.count).map(move |n| {
        let send = blocks.of(Area::Target, place.below(n - 1));
        let receive = blocks.of(Area::Target, place.below(n));
        Round::send(place.above(1), send).and_receive(place.below(1), receive)
    })
}

/// The member's own block moves from its source, of the same length, to its target.
fn own(from: Block, to: Block) -> Round {
    Round::local(vec![Local::Copy { from, to }])
}

/// Allgather: [`Area::Source`] is the member's block; a ring fills the blocks of [`Area::Target`].
pub fn ring_allgather(place: Place, blocks: Blocks) -> Schedule {
    let to = blocks.of(Area::Target, place.me);
    let own = own(Block { area: Area::Source, at: 0, ..to }, to);
    Box::new(iter::once(own).chain(ring(place, Arc::new(blocks))))
}

/// Allgather with every block sent directly to every member, one peer per round. Blocks move once each, so members
/// that are far apart in the ring do not wait for those between.
pub fn pairwise_allgather(place: Place, blocks: Blocks) -> Schedule {
    let to = blocks.of(Area::Target, place.me);
    let from = Block { area: Area::Source, at: 0, ..to };
    let exchange = (1..place.count).map(move |n| {
        let peer = place.below(n);
        Round::send(place.above(n), from).and_receive(peer, blocks.of(Area::Target, peer))
    });
    Box::new(iter::once(own(from, to)).chain(exchange))
}

/// Gather: [`Area::Source`] of `bytes` is the member's block. The root, which alone gives `blocks`, receives all in its
/// [`Area::Target`].
pub fn linear_gather(place: Place, root: usize, bytes: usize, blocks: Option<&Blocks>) -> Schedule {
    let source = Block::first(Area::Source, bytes);
    let Some(blocks) = blocks.filter(|_| place.me == root) else {
        return Box::new(iter::once(Round::send(root, source)));
    };
    let peers = (1..place.count).map(|n| place.above(n));
    let receives = peers.map(|peer| Transfer { peer, block: blocks.of(Area::Target, peer) }).collect();
    let own = blocks.of(Area::Target, root);
    let then = vec![Local::Copy { from: Block { area: Area::Source, at: 0, ..own }, to: own }];
    Box::new(iter::once(Round { receives, then, ..Round::default() }))
}

/// Scatter: the root, which alone gives `blocks`, sends the blocks of its [`Area::Source`]; `bytes` arrive in each
/// member's [`Area::Target`]. The root copies its own block unless that is in place.
pub fn linear_scatter(
    place: Place,
    root: usize,
    bytes: usize,
    blocks: Option<&Blocks>,
    in_place: bool,
) -> Schedule {
    let target = Block::first(Area::Target, bytes);
    let Some(blocks) = blocks.filter(|_| place.me == root) else {
        return Box::new(iter::once(Round::receive(root, target)));
    };
    let peers = (1..place.count).map(|n| place.above(n));
    let sends = peers.map(|peer| Transfer { peer, block: blocks.of(Area::Source, peer) }).collect();
    let own = blocks.of(Area::Source, root);
    let copy = Local::Copy { from: own, to: Block { area: Area::Target, at: 0, ..own } };
    let then = if in_place { vec![] } else { vec![copy] };
    Box::new(iter::once(Round { sends, then, ..Round::default() }))
}

/// Alltoall: pairwise exchange. In round k each member sends to the one k above it and receives from the one k below.
pub fn pairwise_alltoall(place: Place, source: Blocks, target: Blocks) -> Schedule {
    let own = own(source.of(Area::Source, place.me), target.of(Area::Target, place.me));
    let exchange = (1..place.count).map(move |n| {
        let (above, below) = (place.above(n), place.below(n));
        Round::send(above, source.of(Area::Source, above)).and_receive(below, target.of(Area::Target, below))
    });
    Box::new(iter::once(own).chain(exchange))
}
