//! Collectives that move data without a tree.

use super::{Area, Block, Blocks, Local, Place, Round, Schedule, Transfer, powers};
use std::iter;
use std::sync::Arc;

/// Barrier: dissemination. In round n each member signals the `radix - 1` members at multiples of `radix`^n
/// above it.
pub fn dissemination(place: Place, radix: usize) -> Schedule {
    let nothing = Block::first(Area::Scratch, 0);
    let signal = move |peer| Transfer { peer, block: nothing };
    Box::new(powers(radix, place.count).map(move |power| {
        let distances = (1..radix).map(move |n| n * power).filter(move |&distance| distance < place.count);
        Round {
            sends: distances.clone().map(|distance| signal(place.above(distance))).collect(),
            receives: distances.map(|distance| signal(place.below(distance))).collect(),
            then: vec![],
        }
    }))
}

/// Broadcast of the first bytes of [`Area::Target`]: the root scatters parts, which then go around a ring.
/// For long data: each member sends little more than its own part and the parts of others once.
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

/// Allgather with every block sent directly to every member, one peer per round. Blocks move once each, so
/// members that are far apart in the ring do not wait for those between.
pub fn pairwise_allgather(place: Place, blocks: Blocks) -> Schedule {
    let to = blocks.of(Area::Target, place.me);
    let from = Block { area: Area::Source, at: 0, ..to };
    let exchange = (1..place.count).map(move |n| {
        let peer = place.below(n);
        Round::send(place.above(n), from).and_receive(peer, blocks.of(Area::Target, peer))
    });
    Box::new(iter::once(own(from, to)).chain(exchange))
}

/// Allgather by recursive doubling, for a number of members that is a power of two: in round n a member
/// exchanges the 2^n blocks that it has with the member whose index differs in bit n.
///
/// # Panics
/// If the number of members is not a power of two.
pub fn recursive_doubling_allgather(place: Place, blocks: Blocks) -> Schedule {
    assert!(place.count.is_power_of_two());
    let to = blocks.of(Area::Target, place.me);
    let own = own(Block { area: Area::Source, at: 0, ..to }, to);
    let exchange = powers(2, place.count).map(move |mask| {
        let peer = place.me ^ mask;
        let transfers = |member: usize| {
            let first = member & !(mask - 1);
            let blocks = (first..first + mask).map(|member| blocks.of(Area::Target, member));
            blocks.map(|block| Transfer { peer, block }).collect()
        };
        Round { sends: transfers(place.me), receives: transfers(peer), then: vec![] }
    });
    Box::new(iter::once(own).chain(exchange))
}

/// Allgather by Bruck's algorithm: in round n a member sends all that it has, at most 2^n blocks, to the one
/// 2^n below it. Blocks lie in [`Area::Scratch`], which holds all of them, in the order of the members from
/// this one on.
pub fn bruck_allgather(place: Place, blocks: &Blocks) -> Schedule {
    let Place { me, count } = place;
    let targets: Vec<Block> = (0..count).map(|n| blocks.of(Area::Target, place.above(n))).collect();
    let offsets: Vec<usize> = iter::once(0)
        .chain(targets.iter().scan(0, |at, block| {
            *at += block.bytes;
            Some(*at)
        }))
        .collect();
    let (first, ends) = (Block { area: Area::Source, at: 0, ..blocks.of(Area::Target, me) }, offsets.clone());
    let span = move |from: usize, to: usize| {
        let bytes = ends[to] - ends[from];
        Block { area: Area::Scratch, at: ends[from], bytes }
    };
    let begin = own(first, span(0, 1));
    let rounds = powers(2, count).map(move |distance| {
        let sent = distance.min(count - distance);
        Round::send(place.below(distance), span(0, sent))
            .and_receive(place.above(distance), span(distance, distance + sent))
    });
    let place_block =
        |(to, &at): (Block, &usize)| Local::Copy { from: Block { area: Area::Scratch, at, ..to }, to };
    let end = Round::local(targets.into_iter().zip(&offsets).map(place_block).collect());
    Box::new(iter::once(begin).chain(rounds).chain([end]))
}

/// Gather: [`Area::Source`] of `bytes` is the member's block. The root, which alone gives `blocks`, receives
/// all in its [`Area::Target`].
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

/// Scatter: the root, which alone gives `blocks`, sends the blocks of its [`Area::Source`]; `bytes` arrive in
/// each member's [`Area::Target`]. The root copies its own block unless that is in place.
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

/// Alltoall: pairwise exchange. In round n each member sends to the one n above it and receives from the one
/// n below.
pub fn pairwise_alltoall(place: Place, source: Blocks, target: Blocks) -> Schedule {
    let own = own(source.of(Area::Source, place.me), target.of(Area::Target, place.me));
    let exchange = (1..place.count).map(move |n| {
        let (above, below) = (place.above(n), place.below(n));
        Round::send(above, source.of(Area::Source, above)).and_receive(below, target.of(Area::Target, below))
    });
    Box::new(iter::once(own).chain(exchange))
}

/// Alltoall: exclusive-or exchange, for a number of members that is a power of two. In round n a member
/// exchanges with the one whose index is its own with the bits of n inverted, so both sides of an exchange
/// wait for each other alone.
///
/// # Panics
/// If the number of members is not a power of two.
pub fn exclusive_or_alltoall(place: Place, source: Blocks, target: Blocks) -> Schedule {
    assert!(place.count.is_power_of_two());
    let own = own(source.of(Area::Source, place.me), target.of(Area::Target, place.me));
    let exchange = (1..place.count).map(move |n| {
        let peer = place.me ^ n;
        Round::send(peer, source.of(Area::Source, peer)).and_receive(peer, target.of(Area::Target, peer))
    });
    Box::new(iter::once(own).chain(exchange))
}

/// Alltoall: all messages at the same time.
pub fn linear_alltoall(place: Place, source: &Blocks, target: &Blocks) -> Schedule {
    let transfer = |blocks: &Blocks, area, peer| Transfer { peer, block: blocks.of(area, peer) };
    let (from, to) = (source.of(Area::Source, place.me), target.of(Area::Target, place.me));
    let distances = 1..place.count;
    let sends = distances.clone().map(|n| transfer(source, Area::Source, place.above(n))).collect();
    let receives = distances.map(|n| transfer(target, Area::Target, place.below(n))).collect();
    Box::new(iter::once(Round { sends, receives, then: vec![Local::Copy { from, to }] }))
}

/// Scratch memory of [`bruck_alltoall`] for blocks of this length, bytes: all blocks, and those of a round
/// that leave and that arrive.
pub fn bruck_alltoall_scratch_bytes(count: usize, bytes: usize) -> usize {
    count * bytes + 2 * count.div_ceil(2) * bytes
}

/// Alltoall by Bruck's algorithm, for equal blocks of `bytes`: as many rounds as the number of members has
/// bits. In round n, each block whose distance to its destination has bit n moves 2^n members up. Blocks move
/// several times, so this is for short ones.
pub fn bruck_alltoall(place: Place, source: &Blocks, target: &Blocks, bytes: usize) -> Schedule {
    let count = place.count;
    let scratch =
        move |at: usize, blocks: usize| Block { area: Area::Scratch, at: at * bytes, bytes: blocks * bytes };
    // The blocks by distance; then those that leave; then those that arrive.
    let (leaving, arriving) = (count, count + count.div_ceil(2));
    let moving = move |mask: usize| (0..count).filter(move |distance| distance & mask != 0);
    let pack = move |mask: usize| {
        let copy = |(n, distance)| Local::Copy { from: scratch(distance, 1), to: scratch(leaving + n, 1) };
        moving(mask).enumerate().map(copy).collect::<Vec<_>>()
    };
    let sort = |n| Local::Copy { from: source.of(Area::Source, place.above(n)), to: scratch(n, 1) };
    let begin = Round::local((0..count).map(sort).collect()).then(pack(1));
    let rounds = powers(2, count).map(move |mask| {
        let blocks = moving(mask).count();
        let copy = |(n, distance)| Local::Copy { from: scratch(arriving + n, 1), to: scratch(distance, 1) };
        Round::send(place.above(mask), scratch(leaving, blocks))
            .and_receive(place.below(mask), scratch(arriving, blocks))
            .then(moving(mask).enumerate().map(copy).chain(pack(mask * 2)))
    });
    let place_block = |n| Local::Copy { from: scratch(n, 1), to: target.of(Area::Target, place.below(n)) };
    let end = Round::local((0..count).map(place_block).collect());
    Box::new(iter::once(begin).chain(rounds).chain([end]))
}
