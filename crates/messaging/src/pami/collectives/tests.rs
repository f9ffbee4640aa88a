//! Schedules run over mailboxes in memory and compared with plain computations. The operation concatenates:
//! two elements are combined only if the right one continues the left one, so any wrong order is an error.

use super::halving::*;
use super::movement::*;
use super::reduction::*;
use super::tree::*;
use super::*;
use std::collections::{HashMap, VecDeque};

/// An element: the operands of members `first..end`, or of a set in any order if the operation commutes.
const ELEMENT: usize = 4;

struct Member {
    areas: [Vec<u8>; 3],
    schedule: Schedule,
    round: Option<Round>,
    /// Whether its operand is where its result goes.
    is_in_place: bool,
}

impl Member {
    fn slice(&mut self, mut block: Block) -> &mut [u8] {
        if self.is_in_place && block.area == Area::Source {
            block.area = Area::Target;
        }
        slice(&mut self.areas, block)
    }

    fn in_place(mut self) -> Self {
        let operand = self.areas[0].clone();
        self.areas[1][..operand.len()].copy_from_slice(&operand);
        Member { is_in_place: true, ..self }
    }
}

fn slice(areas: &mut [Vec<u8>; 3], block: Block) -> &mut [u8] {
    &mut areas[block.area as usize][block.at..block.at + block.bytes]
}

/// Ordered: an element is (first, end, index, 0).
fn concatenate(into: &mut [u8], from: &[u8]) {
    for (a, b) in into.chunks_mut(ELEMENT).zip(from.chunks(ELEMENT)) {
        assert_eq!((a[1], a[2]), (b[0], b[2]), "operands in the wrong order");
        a[1] = b[1];
    }
}

/// Commuting: bytes are added.
fn add(into: &mut [u8], from: &[u8]) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a = a.wrapping_add(*b));
}

/// Runs the schedules to their end, members taking turns in an order that depends on `seed`.
fn run(mut members: Vec<Member>, operation: fn(&mut [u8], &[u8]), seed: usize) -> Vec<[Vec<u8>; 3]> {
    let mut mail: HashMap<(usize, usize), VecDeque<Vec<u8>>> = HashMap::new();
    let count = members.len();
    let mut idle = 0;
    for turn in 0.. {
        if idle > 2 * count {
            break;
        }
        let me = (turn + seed * (turn / count)) % count;
        idle += 1;
        let member = &mut members[me];
        if member.round.is_none() {
            let Some(round) = member.schedule.next() else { continue };
            for Transfer { peer, block } in &round.sends {
                assert!(*peer != me && *peer < count);
                let bytes = member.slice(*block).to_vec();
                mail.entry((me, *peer)).or_default().push_back(bytes);
            }
            member.round = Some(round);
            idle = 0;
        }
        let mut round = member.round.take().expect("set above");
        while let Some(&Transfer { peer, block }) = round.receives.first() {
            let Some(bytes) = mail.get_mut(&(peer, me)).and_then(VecDeque::pop_front) else { break };
            assert_eq!(bytes.len(), block.bytes, "a message of another length");
            member.slice(block).copy_from_slice(&bytes);
            round.receives.remove(0);
            idle = 0;
        }
        if round.receives.is_empty() {
            for step in round.then {
                let (to, from) = match step {
                    Local::Copy { from, to } => (to, from),
                    Local::Reduce { into, from } => (into, from),
                };
                assert_eq!(to.bytes, from.bytes);
                let bytes = member.slice(from).to_vec();
                match step {
                    Local::Copy { .. } => member.slice(to).copy_from_slice(&bytes),
                    Local::Reduce { .. } => operation(member.slice(to), &bytes),
                }
            }
            idle = 0;
        } else {
            member.round = Some(round);
        }
    }
    assert!(mail.values().all(VecDeque::is_empty), "messages that nobody received");
    for member in &mut members {
        assert!(member.round.is_none() && member.schedule.next().is_none(), "a member waits for ever");
    }
    members.into_iter().map(|member| member.areas).collect()
}

fn data(from: usize, to: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (from * 37 + to * 11 + n * 3 + 1) as u8).collect()
}

fn operand(me: usize, elements: usize) -> Vec<u8> {
    (0..elements).flat_map(|n| [me as u8, me as u8 + 1, n as u8, 0]).collect()
}

fn combined(first: usize, end: usize, elements: usize) -> Vec<u8> {
    (0..elements).flat_map(|n| [first as u8, end as u8, n as u8, 0]).collect()
}

fn sum(count: usize, bytes: usize) -> Vec<u8> {
    let mut sum = vec![0; bytes];
    (0..count).for_each(|from| add(&mut sum, &data(from, 0, bytes)));
    sum
}

/// Members with these source areas; targets and scratch are long enough for all tests.
fn members(
    count: usize,
    source: impl Fn(usize) -> Vec<u8>,
    schedule: impl Fn(Place) -> Schedule,
) -> Vec<Member> {
    let member = |me| Member {
        areas: [source(me), vec![0xee; 8192], vec![0xdd; 16384]],
        schedule: schedule(Place { me, count }),
        round: None,
        is_in_place: false,
    };
    (0..count).map(member).collect()
}

/// What members have at the end, each with its number: with the operands apart, then in place.
fn both(list: &dyn Fn() -> Vec<Member>, operation: fn(&mut [u8], &[u8])) -> Vec<(usize, [Vec<u8>; 3])> {
    let in_place = list().into_iter().map(Member::in_place).collect();
    let [apart, in_place] = [list(), in_place].map(|members| run(members, operation, 3));
    apart.into_iter().enumerate().chain(in_place.into_iter().enumerate()).collect()
}

/// Trees of several radices and arities.
const TREES: [Tree; 6] =
    [Tree::Knomial(2), Tree::Knomial(3), Tree::Knomial(4), Tree::Knomial(8), Tree::Kary(2), Tree::Kary(4)];

/// Lengths of blocks that differ, also 0.
fn varied(count: usize) -> Blocks {
    let mut at = 3;
    let block = |member: usize| {
        let bytes = member * 5 % 7 * ELEMENT;
        let block = (at, bytes);
        at += bytes + member % 3;
        block
    };
    Blocks::Each((0..count).map(block).collect())
}

#[test]
fn a_barrier_waits_for_all() {
    for (count, radix) in (1..18).flat_map(|count| [(count, 2), (count, 3), (count, 4)]) {
        let schedule = |place| dissemination(place, radix);
        let mut list = members(count, |_| vec![], schedule);
        let mut known: Vec<u64> = (0..count).map(|me| 1 << me).collect();
        while let Some(rounds) = list.iter_mut().map(|m| m.schedule.next()).collect::<Option<Vec<_>>>() {
            let before = known.clone();
            for (known, round) in known.iter_mut().zip(rounds) {
                *known |=
                    round.receives.iter().map(|receive| before[receive.peer]).fold(0, |all, one| all | one);
            }
        }
        assert!(known.iter().all(|&known| known == (1 << count) - 1), "a member knows of all");
        run(members(count, |_| vec![], schedule), add, count);
    }
    for (count, tree) in (1..18).flat_map(|count| TREES.map(|tree| (count, tree))) {
        // A member leaves when the signal from above is there, which follows those of all members.
        let mut list = members(count, |_| vec![], |place| tree_barrier(tree, place));
        let receives = |round: Round| round.receives.len();
        let expected =
            list.iter_mut().map(|m| m.schedule.by_ref().map(receives).sum::<usize>()).sum::<usize>();
        assert_eq!(expected, 2 * (count - 1));
        run(members(count, |_| vec![], |place| tree_barrier(tree, place)), add, count);
    }
}

#[test]
fn broadcasts() {
    for (count, bytes) in (1..18usize).flat_map(|count| [(count, 0), (count, 5), (count, 640)]) {
        for root in 0..count {
            let check = |schedule: &dyn Fn(Place) -> Schedule| {
                let mut list = members(count, |_| vec![], schedule);
                list[root].areas[1][..bytes].copy_from_slice(&data(root, 0, bytes));
                for areas in run(list, add, root) {
                    assert_eq!(areas[1][..bytes], data(root, 0, bytes));
                }
            };
            for tree in TREES {
                check(&|place| tree_broadcast(tree, place, root, bytes));
            }
            check(&|place| scatter_allgather_broadcast(place, root, bytes));
            if count.is_power_of_two() {
                check(&|place| scatter_doubling_broadcast(place, root, bytes));
            }
        }
    }
}

#[test]
fn binomial_gathers_and_scatters() {
    for (count, bytes) in (1..18).flat_map(|count| [(count, 0), (count, 12)]) {
        for (root, in_place) in (0..count).flat_map(|root| [(root, false), (root, true)]) {
            let blocks = Blocks::Each((0..count).rev().map(|n| (n * (bytes + 3), bytes)).collect());
            let own = |place: Place| (place.me == root).then_some(&blocks);
            let gather = |place: Place| binomial_gather(place, root, bytes, own(place));
            let list = members(count, |me| data(me, 0, bytes), gather);
            let mut areas = run(list, add, root).swap_remove(root);
            for from in 0..count {
                assert_eq!(slice(&mut areas, blocks.of(Area::Target, from)), data(from, 0, bytes));
            }
            let scatter = |place: Place| binomial_scatter(place, root, bytes, own(place), in_place);
            let mut list = members(count, |_| vec![0; 4096], scatter);
            for to in 0..count {
                slice(&mut list[root].areas, blocks.of(Area::Source, to))
                    .copy_from_slice(&data(root, to, bytes));
            }
            for (me, areas) in run(list, add, root).into_iter().enumerate() {
                let expected = if in_place && me == root { vec![0xee; bytes] } else { data(root, me, bytes) };
                assert_eq!(areas[1][..bytes], expected);
            }
        }
    }
}

#[test]
fn gathers_and_scatters() {
    for count in 1..18 {
        for root in 0..count {
            let blocks = varied(count);
            let of = |member| blocks.of(Area::Target, member);
            let gather = |place: Place| {
                let blocks = (place.me == root).then_some(&blocks);
                linear_gather(place, root, of(place.me).bytes, blocks)
            };
            let list = members(count, |me| data(me, 0, of(me).bytes), gather);
            let mut areas = run(list, add, root).swap_remove(root);
            for from in 0..count {
                assert_eq!(slice(&mut areas, of(from)), data(from, 0, of(from).bytes));
            }

            let scatter = |place: Place| {
                let blocks = (place.me == root).then_some(&blocks);
                linear_scatter(place, root, of(place.me).bytes, blocks, false)
            };
            let mut list = members(count, |_| vec![0; 4096], scatter);
            for to in 0..count {
                let block = Block { area: Area::Source, ..of(to) };
                slice(&mut list[root].areas, block).copy_from_slice(&data(root, to, block.bytes));
            }
            for (me, areas) in run(list, add, root).into_iter().enumerate() {
                assert_eq!(areas[1][..of(me).bytes], data(root, me, of(me).bytes));
            }
        }
    }
}

#[test]
fn allgathers_and_alltoalls() {
    for count in 1..18usize {
        let bruck = |place: Place, blocks: Blocks| bruck_allgather(place, &blocks);
        let doubling =
            count.is_power_of_two().then_some(recursive_doubling_allgather as fn(Place, Blocks) -> Schedule);
        for schedule in [ring_allgather, pairwise_allgather, bruck].into_iter().chain(doubling) {
            for blocks in [varied(count), Blocks::Equal(24)] {
                let of = |member| blocks.of(Area::Target, member);
                let source = |me| data(me, 0, of(me).bytes);
                for mut areas in
                    run(members(count, source, |place| schedule(place, blocks.clone())), add, count)
                {
                    for from in 0..count {
                        assert_eq!(slice(&mut areas, of(from)), data(from, 0, of(from).bytes));
                    }
                }
            }
        }
        let length = |from: usize, to: usize| (from + 2 * to) % 5;
        let blocks = |lengths: &mut dyn Iterator<Item = usize>| {
            let mut at = 0;
            let list = lengths.map(|bytes| {
                at += bytes + 1;
                (at - bytes - 1, bytes)
            });
            Blocks::Each(list.collect())
        };
        let sending = |me| blocks(&mut (0..count).map(|to| length(me, to)));
        let receiving = |me| blocks(&mut (0..count).map(|from| length(from, me)));
        let linear = |place: Place, source: Blocks, target: Blocks| linear_alltoall(place, &source, &target);
        let exclusive_or =
            count.is_power_of_two().then_some(exclusive_or_alltoall as fn(Place, Blocks, Blocks) -> Schedule);
        for schedule in [pairwise_alltoall, linear].into_iter().chain(exclusive_or) {
            let schedule = |place: Place| schedule(place, sending(place.me), receiving(place.me));
            let source =
                |me| (0..count).flat_map(|to| [data(me, to, length(me, to)), vec![0]].concat()).collect();
            for (me, mut areas) in run(members(count, source, schedule), add, 1).into_iter().enumerate() {
                for from in 0..count {
                    let got = slice(&mut areas, receiving(me).of(Area::Target, from));
                    assert_eq!(got, data(from, me, length(from, me)));
                }
            }
        }
        let equal = Blocks::Equal(12);
        let schedule = |place: Place| bruck_alltoall(place, &equal, &equal, 12);
        let source = |me| (0..count).flat_map(|to| data(me, to, 12)).collect();
        for (me, mut areas) in run(members(count, source, schedule), add, 1).into_iter().enumerate() {
            for from in 0..count {
                assert_eq!(slice(&mut areas, equal.of(Area::Target, from)), data(from, me, 12));
            }
        }
    }
}

#[test]
fn reductions_in_order() {
    for (count, elements) in (1..18).flat_map(|count| [(count, 1), (count, 20)]) {
        let bytes = elements * ELEMENT;
        let source = |me| operand(me, elements);
        let result = Block::first(Area::Target, bytes);
        for root in 0..count {
            let check = |schedule: &dyn Fn(Place) -> Schedule| {
                let list = members(count, source, schedule);
                let mut in_place = members(count, source, schedule);
                let member = in_place.remove(root);
                in_place.insert(root, member.in_place());
                for list in [list, in_place] {
                    let areas = run(list, concatenate, root).swap_remove(root);
                    assert_eq!(areas[1][..bytes], combined(0, count, elements));
                }
            };
            for tree in TREES.into_iter().filter(|tree| matches!(tree, Tree::Knomial(_))) {
                check(&|place| tree_reduce(tree, place, root, result, false));
            }
            check(&|place| rabenseifner_reduce(place, root, result, ELEMENT));

            for tree in TREES {
                let source = |me| data(me, 0, bytes);
                let list = members(count, source, |place| tree_reduce(tree, place, root, result, true));
                assert_eq!(run(list, add, root)[root][1][..bytes], sum(count, bytes));
            }
        }
        let rabenseifner = |place, bytes| rabenseifner_allreduce(place, bytes, ELEMENT);
        for schedule in [recursive_doubling_allreduce, rabenseifner, reduce_broadcast] {
            for (_, areas) in both(&|| members(count, source, |place| schedule(place, bytes)), concatenate) {
                assert_eq!(areas[1][..bytes], combined(0, count, elements));
            }
        }
        for schedule in [scan, chain_scan] {
            let list = || members(count, source, |place| schedule(place, bytes, false));
            for (me, areas) in both(&list, concatenate) {
                assert_eq!(areas[1][..bytes], combined(0, me + 1, elements));
            }
            let list = || members(count, source, |place| schedule(place, bytes, true));
            for (me, areas) in both(&list, concatenate).into_iter().filter(|&(me, _)| me > 0) {
                assert_eq!(areas[1][..bytes], combined(0, me, elements));
            }
        }
    }
}

#[test]
fn rings_and_reduce_scatters() {
    for (count, elements) in (1..18usize).flat_map(|count| [(count, 1), (count, 50)]) {
        let bytes = elements * ELEMENT;
        let list = || members(count, |me| data(me, 0, bytes), |place| ring_allreduce(place, bytes, ELEMENT));
        for (_, areas) in both(&list, add) {
            assert_eq!(areas[1][..bytes], sum(count, bytes));
        }
        let mut at = 0;
        let list = (0..count).map(|member| {
            let bytes = member % 3 * ELEMENT;
            at += bytes;
            (at - bytes, bytes)
        });
        let blocks = Blocks::Each(list.collect());
        let check = |areas: Vec<[Vec<u8>; 3]>, expected: &[u8]| {
            for (me, areas) in areas.into_iter().enumerate() {
                let Block { at, bytes, .. } = blocks.of(Area::Target, me);
                assert_eq!(areas[1][..bytes], expected[at..at + bytes]);
            }
        };
        let schedule = |place| reduce_then_scatter(place, &blocks, at);
        let ordered = members(count, |me| operand(me, at / ELEMENT), schedule);
        check(run(ordered, concatenate, 1), &combined(0, count, at / ELEMENT));
        let schedule = |place| pairwise_reduce_scatter(place, blocks.clone());
        check(run(members(count, |me| data(me, 0, at), schedule), add, 1), &sum(count, at));
        if count.is_power_of_two() {
            let schedule = |place| halving_reduce_scatter(place, blocks.clone(), at);
            check(run(members(count, |me| data(me, 0, at), schedule), add, 1), &sum(count, at));
        }
    }
}
