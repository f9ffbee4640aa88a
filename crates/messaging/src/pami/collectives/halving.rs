//! Reductions that divide the data among the members, so that each combines only a part: Rabenseifner's
//! algorithms. [`Area::Source`] is the member's operand; [`Area::Scratch`] has at least
//! [`super::reduction::scratch_bytes`]. `unit` is the length that a part is a multiple of, bytes.

use super::reduction::{Group, arriving, prepend};
use super::{Area, Block, Blocks, Local, Place, Round, Schedule, Transfer, powers};
use std::iter;

/// Steps of a member of the group: the other side's number, and the parts that are kept and given away, each
/// as the first part and the end.
#[derive(Clone, Copy)]
struct Halving {
    peer: usize,
    kept: [usize; 2],
    given: [usize; 2],
}

/// The steps of a reduce-scatter with recursive vector halving and distance doubling. Neighbours combine
/// first, so operands stay in order; the part that a member ends with is its number with the bits reversed.
fn halvings(number: usize, count: usize) -> Vec<Halving> {
    let mut parts = [0, count];
    let step = |mask: usize| {
        let [first, end] = parts;
        let middle = first.midpoint(end);
        let halves = [[first, middle], [middle, end]];
        let is_upper = number & mask != 0;
        let (kept, given) = (halves[usize::from(is_upper)], halves[usize::from(!is_upper)]);
        parts = kept;
        Halving { peer: number ^ mask, kept, given }
    };
    powers(2, count).map(step).collect()
}

/// The rounds of the reduce-scatter on partial results at the start of an area.
fn reduce_scatter(
    group: Group,
    number: usize,
    parts: &Blocks,
    area: Area,
    bytes: usize,
) -> impl Iterator<Item = Round> + Send + use<> {
    let parts = parts.clone();
    halvings(number, group.power).into_iter().map(move |Halving { peer, kept, given }| {
        let [kept, given] = [kept, given].map(|[first, end]| parts.span(area, first, end));
        let arrived = Block { bytes: kept.bytes, ..arriving(bytes) };
        let round = Round::send(group.member(peer), given).and_receive(group.member(peer), arrived);
        match peer < number {
            true => round.then(prepend(kept, arrived)),
            false => round.then([Local::Reduce { into: kept, from: arrived }]),
        }
    })
}

/// Allreduce into [`Area::Target`]: a reduce-scatter by recursive halving, then an allgather by recursive
/// doubling. Members above the greatest power of two fold into a neighbour first and receive the result from
/// it at the end. All members compute the same bits.
pub fn rabenseifner_allreduce(place: Place, bytes: usize, unit: usize) -> Schedule {
    let group = Group::new(place.count);
    let target = Block::first(Area::Target, bytes);
    let begin = Round::local(vec![Local::Copy { from: Block::first(Area::Source, bytes), to: target }]);
    let Some(number) = group.number(place.me) else {
        let rounds = [begin, Round::send(place.me + 1, target), Round::receive(place.me + 1, target)];
        return Box::new(rounds.into_iter());
    };
    let is_folding = group.is_folding(place.me);
    let arrived = arriving(bytes);
    let fold = is_folding.then(|| Round::receive(place.me - 1, arrived).then(prepend(target, arrived)));
    let parts = Blocks::divide(bytes, unit, group.power);
    let reduce = reduce_scatter(group, number, &parts, Area::Target, bytes);
    let gather = halvings(number, group.power).into_iter().rev().map(move |Halving { peer, kept, given }| {
        let [kept, given] = [kept, given].map(|[first, end]| parts.span(Area::Target, first, end));
        Round::send(group.member(peer), kept).and_receive(group.member(peer), given)
    });
    let unfold = is_folding.then(|| Round::send(place.me - 1, target));
    Box::new(iter::once(begin).chain(fold).chain(reduce).chain(gather).chain(unfold))
}

/// Reduce: a reduce-scatter by recursive halving, whose parts go to the root.
pub fn rabenseifner_reduce(place: Place, root: usize, result: Block, unit: usize) -> Schedule {
    let bytes = result.bytes;
    let group = Group::new(place.count);
    let partial = Block::first(Area::Scratch, bytes);
    let begin = Round::local(vec![Local::Copy { from: Block::first(Area::Source, bytes), to: partial }]);
    let parts = Blocks::divide(bytes, unit, group.power);
    // The part that a member of the group ends with.
    let part = |number: usize, area: Area| {
        let [first, end] = halvings(number, group.power).last().map_or([0, 1], |last| last.kept);
        parts.span(area, first, end)
    };
    let into_result = |block: Block| Block { area: result.area, at: result.at + block.at, ..block };
    let number = group.number(place.me);
    let collect = (place.me == root).then(|| {
        let others = (0..group.power).filter(|&other| Some(other) != number);
        let transfer =
            |other| Transfer { peer: group.member(other), block: into_result(part(other, result.area)) };
        let own = number.map(|number| part(number, Area::Scratch));
        let then = own.map(|from| Local::Copy { from, to: into_result(from) });
        Round {
            receives: others.map(transfer).collect(),
            then: then.into_iter().collect(),
            ..Round::default()
        }
    });
    let Some(number) = number else {
        let rounds = [begin, Round::send(place.me + 1, partial)];
        return Box::new(rounds.into_iter().chain(collect));
    };
    let arrived = arriving(bytes);
    let fold = group
        .is_folding(place.me)
        .then(|| Round::receive(place.me - 1, arrived).then(prepend(partial, arrived)));
    let give = (place.me != root).then(|| Round::send(root, part(number, Area::Scratch)));
    let reduce = reduce_scatter(group, number, &parts, Area::Scratch, bytes);
    Box::new(iter::once(begin).chain(fold).chain(reduce).chain(give).chain(collect))
}

/// Reduce-scatter by recursive halving, for operations that commute and a number of members that is a power
/// of two. The blocks of the members adjoin, in order; the result arrives in [`Area::Target`].
///
/// # Panics
/// If the number of members is not a power of two.
pub fn halving_reduce_scatter(place: Place, blocks: Blocks, bytes: usize) -> Schedule {
    let Place { me, count } = place;
    assert!(count.is_power_of_two());
    let partial = Block::first(Area::Scratch, bytes);
    let begin = Round::local(vec![Local::Copy { from: Block::first(Area::Source, bytes), to: partial }]);
    let own = blocks.of(Area::Scratch, me);
    let end = Local::Copy { from: own, to: Block { area: Area::Target, at: 0, ..own } };
    let halves = powers(2, count).rev().map(move |mask| {
        let peer = me ^ mask;
        let half = |member: usize| {
            let first = member & !(mask - 1);
            blocks.span(Area::Scratch, first, first + mask)
        };
        let kept = half(me);
        let arrived = Block { bytes: kept.bytes, ..arriving(bytes) };
        Round::send(peer, half(peer))
            .and_receive(peer, arrived)
            .then([Local::Reduce { into: kept, from: arrived }])
    });
    Box::new(iter::once(begin).chain(halves).chain([Round::local(vec![end])]))
}
