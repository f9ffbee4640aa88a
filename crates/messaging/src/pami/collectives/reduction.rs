//! Collectives that reduce. All combine operands in the order of the members unless their comment says otherwise.
//! [`Area::Source`] is the member's operand; [`Area::Scratch`] has at least [`scratch_bytes`].

use super::movement::{linear_scatter, ring};
use super::{Area, Block, Blocks, Local, Place, Round, Schedule};
use std::iter;
use std::sync::Arc;

/// Scratch memory for a reduction of this length, bytes: a partial result, and one that arrives.
pub fn scratch_bytes(bytes: usize) -> usize {
    2 * bytes
}

/// Where a partial result arrives.
fn arriving(bytes: usize) -> Block {
    Block { area: Area::Scratch, at: bytes, bytes }
}

/// `partial = arrived OP partial`.
fn prepend(partial: Block, arrived: Block) -> [Local; 2] {
    [Local::Reduce { into: arrived, from: partial }, Local::Copy { from: arrived, to: partial }]
}

/// Reduce along a binomial tree into a block of the root. The tree has its root at member 0, which sends the result
/// on, so that operands stay in order; operations that commute use a tree with its root at the root itself.
pub fn binomial_reduce(place: Place, root: usize, result: Block, is_commutative: bool) -> Schedule {
    let Place { me, count } = place;
    let bytes = result.bytes;
    let top = if is_commutative { root } else { 0 };
    let relative = (me + count - top) % count;
    let absolute = move |relative: usize| (relative + top) % count;
    let partial = Block::first(Area::Scratch, bytes);
    let arrived = arriving(bytes);
    let begin = Round::local(vec![Local::Copy { from: Block::first(Area::Source, bytes), to: partial }]);
    let masks = iter::successors(Some(1), |mask| Some(mask * 2)).take_while(move |&mask| mask < count);
    let lower = masks
        .take_while(move |mask| relative & mask == 0)
        .map(move |mask| relative + mask)
        .filter(move |&child| child < count)
        .map(move |child| {
            let combine = Local::Reduce { into: partial, from: arrived };
            Round::receive(absolute(child), arrived).then([combine])
        });
    let up = (relative > 0).then(|| {
        let parent = relative & (relative - 1);
        Round::send(absolute(parent), partial)
    });
    let end = match (me == top, me == root) {
        (true, true) => Some(Round::local(vec![Local::Copy { from: partial, to: result }])),
        (true, false) => Some(Round::send(root, partial)),
        (false, true) => Some(Round::receive(top, result)),
        (false, false) => None,
    };
    Box::new(iter::once(begin).chain(lower).chain(up).chain(end))
}

/// Allreduce by recursive doubling into [`Area::Target`]. Members above the greatest power of two fold into a
/// neighbour first and receive the result from it at the end. All members compute the same bits.
pub fn recursive_doubling_allreduce(place: Place, bytes: usize) -> Schedule {
    let Place { me, count } = place;
    let power = 1 << count.ilog2();
    let folded = count - power;
    let partial = Block::first(Area::Target, bytes);
    let arrived = arriving(bytes);
    let begin = Round::local(vec![Local::Copy { from: Block::first(Area::Source, bytes), to: partial }]);
    if me < 2 * folded && me % 2 == 0 {
        let rounds = [begin, Round::send(me + 1, partial), Round::receive(me + 1, partial)];
        return Box::new(rounds.into_iter());
    }
    let is_folding = me < 2 * folded;
    let fold = is_folding.then(|| Round::receive(me - 1, arrived).then(prepend(partial, arrived)));
    let number = if is_folding { me / 2 } else { me - folded };
    let member = move |number: usize| if number < folded { 2 * number + 1 } else { number + folded };
    let masks = iter::successors(Some(1), |mask| Some(mask * 2)).take_while(move |&mask| mask < power);
    let doubling = masks.map(move |mask| {
        let peer = number ^ mask;
        let round = Round::send(member(peer), partial).and_receive(member(peer), arrived);
        match peer < number {
            true => round.then(prepend(partial, arrived)),
            false => round.then([Local::Reduce { into: partial, from: arrived }]),
        }
    });
    let unfold = is_folding.then(|| Round::send(me - 1, partial));
    Box::new(iter::once(begin).chain(fold).chain(doubling).chain(unfold))
}

/// Reduce-scatter around a ring, in the blocks of [`Area::Target`]: the member ends with the result in its own block.
/// Only for operations that commute.
fn ring_reduce(place: Place, blocks: Arc<Blocks>) -> impl Iterator<Item = Round> + Send {
    (1..place.count).map(move |n| {
        let send = blocks.of(Area::Target, place.below(n));
        let own = blocks.of(Area::Target, place.below((n + 1) % place.count));
        let arrived = Block { area: Area::Scratch, at: 0, bytes: own.bytes };
        Round::send(place.above(1), send)
            .and_receive(place.below(1), arrived)
            .then([Local::Reduce { into: own, from: arrived }])
    })
}

/// Allreduce by a ring: reduce-scatter, then allgather. For long data. `unit` is the length that a part is a multiple
/// of, bytes. Only for operations that commute.
pub fn ring_allreduce(place: Place, bytes: usize, unit: usize) -> Schedule {
    let target = Block::first(Area::Target, bytes);
    let begin = Round::local(vec![Local::Copy { from: Block::first(Area::Source, bytes), to: target }]);
    let blocks = Arc::new(Blocks::divide(bytes, unit, place.count));
    Box::new(iter::once(begin).chain(ring_reduce(place, Arc::clone(&blocks))).chain(ring(place, blocks)))
}

/// Scan by recursive doubling into [`Area::Target`]: in round k each member passes what it has to the one 2^k above it.
/// An exclusive scan then shifts by one member; member 0 gets nothing.
pub fn scan(place: Place, bytes: usize, is_exclusive: bool) -> Schedule {
    let Place { me, count } = place;
    let partial = Block::first(Area::Scratch, bytes);
    let arrived = arriving(bytes);
    let target = Block::first(Area::Target, bytes);
    let begin = Round::local(vec![Local::Copy { from: Block::first(Area::Source, bytes), to: partial }]);
    let distances = iter::successors(Some(1), |distance| Some(distance * 2))
        .take_while(move |&distance| distance < count);
    let doubling = distances.map(move |distance| {
        let mut round = Round::default();
        if me + distance < count {
            round = Round::send(me + distance, partial);
        }
        if me >= distance {
            round = round.and_receive(me - distance, arrived).then(prepend(partial, arrived));
        }
        round
    });
    let mut end = Round::default();
    if !is_exclusive {
        end = end.then([Local::Copy { from: partial, to: target }]);
    } else {
        if me + 1 < count {
            end = Round::send(me + 1, partial);
        }
        if me > 0 {
            end = end.and_receive(me - 1, target);
        }
    }
    Box::new(iter::once(begin).chain(doubling).chain([end]))
}

/// Reduce-scatter: a reduce to member 0, which scatters the blocks. The result arrives in [`Area::Target`].
pub fn reduce_then_scatter(place: Place, blocks: &Blocks, bytes: usize) -> Schedule {
    let result = Block { area: Area::Scratch, at: 0, bytes };
    let reduce = binomial_reduce(place, 0, result, true);
    let own = blocks.of(Area::Target, place.me).bytes;
    // The result is in the scratch area, not the source: name the blocks there.
    let scatter = linear_scatter(place, 0, own, Some(blocks), false).map(|mut round| {
        let in_scratch = |block: &mut Block| {
            if block.area == Area::Source {
                block.area = Area::Scratch;
            }
        };
        round.sends.iter_mut().for_each(|send| in_scratch(&mut send.block));
        for step in &mut round.then {
            if let Local::Copy { from, .. } = step {
                in_scratch(from);
            }
        }
        round
    });
    Box::new(reduce.chain(scatter))
}

/// Reduce-scatter by pairwise exchange: each member receives its block from all others and adds it to its own. Only for
/// operations that commute. The result arrives in [`Area::Target`].
pub fn pairwise_reduce_scatter(place: Place, blocks: Blocks) -> Schedule {
    let own = blocks.of(Area::Source, place.me);
    let target = Block { area: Area::Target, at: 0, ..own };
    let begin = Round::local(vec![Local::Copy { from: own, to: target }]);
    let exchange = (1..place.count).map(move |n| {
        let arrived = Block { area: Area::Scratch, at: 0, bytes: own.bytes };
        let above = place.above(n);
        Round::send(above, blocks.of(Area::Source, above))
            .and_receive(place.below(n), arrived)
            .then([Local::Reduce { into: target, from: arrived }])
    });
    Box::new(iter::once(begin).chain(exchange))
}
