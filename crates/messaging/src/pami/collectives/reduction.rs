//! Collectives that reduce. All combine operands in the order of the members unless their comment says
//! otherwise. [`Area::Source`] is the member's operand; [`Area::Scratch`] has at least [`scratch_bytes`].

use super::movement::{linear_scatter, ring};
use super::tree::{Tree, tree_broadcast, tree_reduce};
use super::{Area, Block, Blocks, Local, Place, Round, Schedule, powers};
use std::iter;
use std::sync::Arc;

/// Scratch memory for a reduction of this length, bytes: a partial result, and one that arrives.
pub fn scratch_bytes(bytes: usize) -> usize {
    2 * bytes
}

/// Where a partial result arrives.
pub(super) fn arriving(bytes: usize) -> Block {
    Block { area: Area::Scratch, at: bytes, bytes }
}

/// `partial = arrived OP partial`.
pub(super) fn prepend(partial: Block, arrived: Block) -> [Local; 2] {
    [Local::Reduce { into: arrived, from: partial }, Local::Copy { from: arrived, to: partial }]
}

/// The members of a reduction whose number is a power of two: those that are left when each of the first
/// pairs of members has become one.
#[derive(Clone, Copy)]
pub(super) struct Group {
    /// Their number.
    pub(super) power: usize,
    /// Members that fold into the next one.
    folded: usize,
}

impl Group {
    pub(super) fn new(count: usize) -> Self {
        let power = 1 << count.ilog2();
        Group { power, folded: count - power }
    }

    /// The number in the group of a member; `None` if it folds into the next one.
    pub(super) fn number(self, member: usize) -> Option<usize> {
        match member < 2 * self.folded {
            true if member.is_multiple_of(2) => None,
            true => Some(member / 2),
            false => Some(member - self.folded),
        }
    }

    /// Whether the member before it folds into this one.
    pub(super) fn is_folding(self, member: usize) -> bool {
        member < 2 * self.folded && !member.is_multiple_of(2)
    }

    /// The member with a number in the group.
    pub(super) fn member(self, number: usize) -> usize {
        if number < self.folded { 2 * number + 1 } else { number + self.folded }
    }
}

/// Allreduce: a reduce to member 0 along a binomial tree, and a broadcast of [`Area::Target`].
pub fn reduce_broadcast(place: Place, bytes: usize) -> Schedule {
    let result = Block::first(Area::Target, bytes);
    let reduce = tree_reduce(Tree::Knomial(2), place, 0, result, false);
    Box::new(reduce.chain(tree_broadcast(Tree::Knomial(2), place, 0, bytes)))
}

/// Allreduce by recursive doubling into [`Area::Target`]. Members above the greatest power of two fold into a
/// neighbour first and receive the result from it at the end. All members compute the same bits.
pub fn recursive_doubling_allreduce(place: Place, bytes: usize) -> Schedule {
    let me = place.me;
    let group = Group::new(place.count);
    let partial = Block::first(Area::Target, bytes);
    let arrived = arriving(bytes);
    let begin = Round::local(vec![Local::Copy { from: Block::first(Area::Source, bytes), to: partial }]);
    let Some(number) = group.number(me) else {
        let rounds = [begin, Round::send(me + 1, partial), Round::receive(me + 1, partial)];
        return Box::new(rounds.into_iter());
    };
    let is_folding = group.is_folding(me);
    let fold = is_folding.then(|| Round::receive(me - 1, arrived).then(prepend(partial, arrived)));
    let doubling = powers(2, group.power).map(move |mask| {
        let peer = number ^ mask;
        let round = Round::send(group.member(peer), partial).and_receive(group.member(peer), arrived);
        match peer < number {
            true => round.then(prepend(partial, arrived)),
            false => round.then([Local::Reduce { into: partial, from: arrived }]),
        }
    });
    let unfold = is_folding.then(|| Round::send(me - 1, partial));
    Box::new(iter::once(begin).chain(fold).chain(doubling).chain(unfold))
}

/// Reduce-scatter around a ring, in the blocks of [`Area::Target`]: the member ends with the result in its
/// own block. Only for operations that commute.
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

/// Allreduce by a ring: reduce-scatter, then allgather. For long data. `unit` is the length that a part is a
/// multiple of, bytes. Only for operations that commute.
pub fn ring_allreduce(place: Place, bytes: usize, unit: usize) -> Schedule {
    let target = Block::first(Area::Target, bytes);
    let begin = Round::local(vec![Local::Copy { from: Block::first(Area::Source, bytes), to: target }]);
    let blocks = Arc::new(Blocks::divide(bytes, unit, place.count));
    Box::new(iter::once(begin).chain(ring_reduce(place, Arc::clone(&blocks))).chain(ring(place, blocks)))
}

/// Scan by recursive doubling into [`Area::Target`]: in round k each member passes what it has to the one 2^k
/// above it. An exclusive scan then shifts by one member; member 0 gets nothing.
pub fn scan(place: Place, bytes: usize, is_exclusive: bool) -> Schedule {
    let Place { me, count } = place;
    let partial = Block::first(Area::Scratch, bytes);
    let arrived = arriving(bytes);
    let target = Block::first(Area::Target, bytes);
    let begin = Round::local(vec![Local::Copy { from: Block::first(Area::Source, bytes), to: partial }]);
    let doubling = powers(2, count).map(move |distance| {
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

/// Scan along a chain into [`Area::Target`]: each member adds its operand to what the one before it sends,
/// and sends that on. An exclusive scan gives member 0 nothing.
pub fn chain_scan(place: Place, bytes: usize, is_exclusive: bool) -> Schedule {
    let Place { me, count } = place;
    let partial = Block::first(Area::Scratch, bytes);
    let arrived = arriving(bytes);
    let target = Block::first(Area::Target, bytes);
    let mut first = if me > 0 { Round::receive(me - 1, arrived) } else { Round::default() };
    // The target may be the source.
    first = first.then([Local::Copy { from: Block::first(Area::Source, bytes), to: partial }]);
    if me > 0 {
        if is_exclusive {
            first = first.then([Local::Copy { from: arrived, to: target }]);
        }
        first = first.then(prepend(partial, arrived));
    }
    if !is_exclusive {
        first = first.then([Local::Copy { from: partial, to: target }]);
    }
    let pass = (me + 1 < count).then(|| Round::send(me + 1, partial));
    Box::new(iter::once(first).chain(pass))
}

/// Reduce-scatter: a reduce to member 0, which scatters the blocks. The result arrives in [`Area::Target`].
pub fn reduce_then_scatter(place: Place, blocks: &Blocks, bytes: usize) -> Schedule {
    let result = Block { area: Area::Scratch, at: 0, bytes };
    let reduce = tree_reduce(Tree::Knomial(2), place, 0, result, true);
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

/// Reduce-scatter by pairwise exchange: each member receives its block from all others and adds it to its
/// own. Only for operations that commute. The result arrives in [`Area::Target`].
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
