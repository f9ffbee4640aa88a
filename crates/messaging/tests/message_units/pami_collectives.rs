//! PAMI's collective operations by the network: what each task gets, by groups of all shapes, and how long
//! they take.

use crate::units;

use netloom_engine::Stream;
use netloom_fabric::collective::Operation;
use netloom_messaging::pami::Placement;
use netloom_messaging::pami::device::{Collective, Combine, Range};
use netloom_messaging::pami::message_unit::collective::group::Members;
use netloom_messaging::pami::task::Task;
use netloom_node::time::Microticks;
use units::run_tasks as run;

fn doubles(numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
    numbers.into_iter().flat_map(f64::to_be_bytes).collect()
}

/// Kinds of operations: barrier, two broadcasts, allreduce; and, for a group that shares no node with
/// another, reduce.
const OF_ANY_GROUP: u64 = 4;
const OF_THE_ONLY_GROUP: u64 = 5;

/// Sets up the network for a group.
fn join(task: &mut Task, placement: &Placement, members: &[u32], class: u8) -> usize {
    let members = Members::of_tasks(members.iter().copied(), placement, task.torus()).expect("a box");
    task.join(&members, class)
}

/// The same operations for all members, one after the other, in random order, length and place; each checks
/// what it gets.
async fn operations(task: &mut Task, group: usize, members: &[u32], kinds: u64, seed: u64) {
    let mut random = Stream::new(seed, 1, 1);
    let me = f64::from(task.number());
    for round in 0..8 {
        let words = [1, 7, 64, 700, 9000][random.below(5) as usize];
        let range = task.allocate(8 * words);
        let number = |task: f64, i: u64| task * 3.0 + (i % 100) as f64 + f64::from(round);
        match random.below(kinds) {
            0 => task.collective(group, Collective::Barrier).await,
            what @ 1..=2 => {
                let root = members[random.below(members.len() as u64) as usize];
                if root == task.number() {
                    task.store(range.address, &doubles((0..words).map(|i| number(me, i))));
                }
                let operation = match what {
                    1 => Collective::Broadcast { root, data: range },
                    _ => Collective::Rectangle { root, data: range },
                };
                task.collective(group, operation).await;
                let expected = doubles((0..words).map(|i| number(f64::from(root), i)));
                assert!(task.load(range) == expected, "broadcast of {words} from {root} at {me}");
            }
            what => {
                task.store(range.address, &doubles((0..words).map(|i| number(me, i))));
                let is_in_place = random.below(2) == 0;
                let target = if is_in_place { range } else { task.allocate(8 * words) };
                let combine = Combine { operation: Operation::AddDouble, word_B: 8 };
                let root = (what == 4).then(|| members[random.below(members.len() as u64) as usize]);
                let operation = match root {
                    Some(root) => Collective::Reduce { root, source: range, target, combine },
                    None => Collective::Allreduce { source: range, target, combine },
                };
                task.collective(group, operation).await;
                let sum = |i| members.iter().map(|&m| number(f64::from(m), i)).sum();
                let expected = doubles((0..words).map(sum));
                assert!(
                    root.is_some_and(|root| root != task.number()) || task.load(target) == expected,
                    "{operation:?} of {words} at {me}, in place: {is_in_place}"
                );
            }
        }
    }
}

#[test]
fn all_get_what_they_should() {
    let cases: [(&[u32], u8); 6] =
        [(&[4, 2], 1), (&[2, 2, 2], 2), (&[3, 2], 3), (&[2, 1], 16), (&[1, 1], 5), (&[3, 3], 4)];
    for (case, (dims, processes)) in cases.into_iter().enumerate() {
        for seed in 0..3 {
            run(dims, processes, move |mut task, placement| async move {
                let all: Vec<u32> = (0..placement.tasks).collect();
                let group = join(&mut task, &placement, &all, 0);
                operations(&mut task, group, &all, OF_THE_ONLY_GROUP, seed + 10 * case as u64).await;
            });
        }
    }
}

/// The whole machine, its halves and its rows: groups that share nodes, of which disjoint ones have the same
/// class.
#[test]
fn groups_do_not_disturb_each_other() {
    for seed in 0..6 {
        run(&[4, 4], 1 + seed % 2, move |mut task, placement| async move {
            let parts: [fn(u32) -> u32; 3] = [|_| 0, |node| node % 4 / 2, |node| node / 4];
            let mut groups = vec![];
            for (class, part) in (0..).zip(parts) {
                let part_of = |task: u32| part(placement.of_task(task).0);
                let own = part_of(task.number());
                let members: Vec<u32> = (0..placement.tasks).filter(|&other| part_of(other) == own).collect();
                groups.push((join(&mut task, &placement, &members, class), members, own));
            }
            // Nobody uses a class before all have set it up.
            task.compute(Microticks::of_ticks(10_000)).await;
            for (group, members, own) in groups {
                operations(&mut task, group, &members, OF_ANY_GROUP, u64::from(own) + 100 * u64::from(seed))
                    .await;
            }
        });
    }
}

#[test]
fn what_is_no_box_is_refused() {
    run(&[4, 4], 2, |task, placement| async move {
        let shape = |tasks: &[u32]| Members::of_tasks(tasks.iter().copied(), &placement, task.torus());
        assert!(shape(&[0, 1, 2, 3]).is_some(), "two nodes");
        assert!(shape(&[0, 1, 4, 5]).is_none(), "nodes 0 and 2, and not 1");
        assert!(shape(&[0, 1, 2]).is_none(), "a process of node 1 is missing");
        assert!(shape(&[0, 3]).is_none(), "different processes");
        assert!(shape(&[0, 2]).is_none(), "not all processes of two nodes");
        assert!(shape(&[]).is_none());
    });
}

/// Nobody leaves a barrier before the last has come, which is late; and they leave soon after.
#[test]
fn a_barrier_waits_for_the_last() {
    const LATE: u64 = 1_000_000;
    for processes in [1, 4] {
        let end = run(&[4, 2], processes, |mut task, placement| async move {
            let members = Members::of_job(&placement, task.torus()).expect("a box");
            let group = task.join(&members, 0);
            if task.number() == 3 {
                task.compute(Microticks::of_ticks(LATE)).await;
            }
            task.collective(group, Collective::Barrier).await;
            assert!(task.now().ticks() > LATE);
        });
        assert!(end < LATE + 20_000, "{end}");
    }
}

/// Only the root waits for the others: a member on another node is done when the network has its data.
#[test]
fn a_reduction_ends_at_its_root() {
    const LATE: u64 = 1_000_000;
    run(&[4, 2], 1, |mut task, placement| async move {
        let members = Members::of_job(&placement, task.torus()).expect("a box");
        let group = task.join(&members, 0);
        if task.number() == 3 {
            task.compute(Microticks::of_ticks(LATE)).await;
        }
        let (source, target) = (task.allocate(64), task.allocate(64));
        let combine = Combine { operation: Operation::AddDouble, word_B: 8 };
        for _ in 0..2 {
            task.collective(group, Collective::Reduce { root: 5, source, target, combine }).await;
            assert_eq!(task.now().ticks() > LATE, [3, 5].contains(&task.number()), "{}", task.number());
        }
    });
}

/// A long allreduce is as fast as the network, whose packets of 512 B follow each other every 298 ns, however
/// many processes a node has: their work overlaps.
#[test]
fn long_sums_overlap_with_the_network() {
    const BYTES: u64 = 512 << 10;
    for processes in [1, 4, 16] {
        let ticks = run(&[2, 2], processes, |mut task, placement| async move {
            let members = Members::of_job(&placement, task.torus()).expect("a box");
            let group = task.join(&members, 0);
            let (source, target): (Range, Range) = (task.allocate(BYTES), task.allocate(BYTES));
            let combine = Combine { operation: Operation::AddDouble, word_B: 8 };
            task.collective(group, Collective::Allreduce { source, target, combine }).await;
        });
        let network_ns = (BYTES / 512) as f64 * 298.0;
        let ratio = ticks as f64 / 8.0 / network_ns;
        assert!((0.95..1.1).contains(&ratio), "{processes} processes: {ratio}");
    }
}
