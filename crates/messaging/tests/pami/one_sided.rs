//! Puts and gets between tasks of the model.

use super::*;

/// A put or a get with another task: the data lies in pieces of any length, with gaps.
#[derive(Clone, Debug)]
struct OneSided {
    from: u32,
    to: u32,
    way: Transfer,
    pieces: Vec<(u64, u64)>,
    is_acknowledged: bool,
    is_exposed: bool,
    prefers_packets: bool,
    polls: Vec<u32>,
}

fn one_sided(tasks: u32) -> impl Strategy<Value = OneSided> {
    let pieces = prop_oneof![
        prop::collection::vec((0..9u64, 1..400u64), 1..2),
        prop::collection::vec((1..5u64, 1..40u64), 1..20),
    ];
    let way = prop_oneof![Just(Transfer::Put), Just(Transfer::Get)];
    let polls = prop::collection::vec(0..tasks, 0..4);
    (0..tasks, 0..tasks, way, pieces, any::<[bool; 3]>(), polls).prop_map(
        |(from, to, way, pieces, [is_acknowledged, is_exposed, prefers_packets], polls)| OneSided {
            from,
            to,
            way,
            pieces,
            is_acknowledged,
            is_exposed,
            prefers_packets,
            polls,
        },
    )
}

impl OneSided {
    /// Its pieces: from this address on in the task that starts it, and in the other.
    fn pieces(&self, address: u64) -> Vec<Piece> {
        let mut at = address;
        let of = |&(gap, bytes): &(u64, u64)| {
            let place = at + gap;
            at = place + bytes;
            (Range { address: place, bytes }, place)
        };
        self.pieces.iter().map(of).collect()
    }

    fn end(&self, address: u64) -> u64 {
        address + self.pieces.iter().map(|(gap, bytes)| gap + bytes).sum::<u64>()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Each uses addresses of its own, the same in both tasks. What lies between the pieces stays as it is.
    #[test]
    fn puts_and_gets_move_each_byte_once_and_report_their_ends(
        list in prop::collection::vec(one_sided(3), 1..20),
        slots in 1usize..6,
        reads_remote: bool,
        finishes_at_once: bool,
    ) {
        let (world, mut tasks) = tasks(3, slots, reads_remote, finishes_at_once, 200);
        for task in 0..3 {
            world.borrow_mut().memory[task] = data_of(task as u64 + 1, MEMORY_B as u64);
        }
        let mut expected = world.borrow().memory.clone();
        let mut address = 0;
        for (number, o) in list.iter().enumerate() {
            let is_exposed = o.is_exposed && reads_remote && !finishes_at_once;
            let mut pieces = o.pieces(address);
            address = o.end(address);
            let (source, target) = if o.way == Transfer::Put { (o.from, o.to) } else { (o.to, o.from) };
            for &(Range { address, bytes }, _) in &pieces {
                let part = address as usize..(address + bytes) as usize;
                let data = expected[source as usize][part.clone()].to_vec();
                expected[target as usize][part].copy_from_slice(&data);
            }
            if is_exposed {
                pieces.iter_mut().for_each(|piece| piece.1 += EXPOSED);
            }
            let with = Endpoint::new(o.to, 0).unwrap();
            let rma = Rma {
                way: o.way,
                with,
                pieces: &pieces,
                is_exposed,
                prefers_packets: o.prefers_packets,
                cookie: number as u64,
                is_acknowledged: o.is_acknowledged,
            };
            tasks[o.from as usize].context.rma(rma).unwrap();
            for &task in &o.polls {
                tasks[task as usize].step(&world);
            }
        }
        const FENCE: u64 = 1000;
        tasks.iter_mut().for_each(|task| task.context.fence(FENCE));
        settle(&world, &mut tasks);
        for task in 0..3 {
            prop_assert!(world.borrow().memory[task] == expected[task], "memory of task {}", task);
            prop_assert_eq!(tasks[task].seen.sent.get(&FENCE), Some(&1));
        }
        for (number, o) in list.iter().enumerate() {
            let (number, seen) = (number as u64, &tasks[o.from as usize].seen);
            let is_put = o.way == Transfer::Put;
            let ends = [&seen.sent, &seen.received, &seen.completed].map(|ends| ends.get(&number).copied());
            let count = |is_there: bool| is_there.then_some(1);
            prop_assert_eq!(ends, [count(is_put), count(!is_put), count(is_put && o.is_acknowledged)]);
        }
        let all_done = |task: &Task| task.seen.outcomes.iter().all(|&outcome| outcome == Outcome::Done);
        prop_assert!(tasks.iter().all(all_done));
    }
}

/// Through packets data moves when its target takes them, and not before, although the device reaches it.
#[test]
fn a_put_that_prefers_packets_waits_for_its_target() {
    for prefers_packets in [true, false] {
        let (world, mut tasks) = tasks(2, 20, true, true, 200);
        let data = data_of(1, 500);
        world.borrow_mut().memory[0][..500].copy_from_slice(&data);
        let pieces = [(Range { address: 0, bytes: 500 }, 1000)];
        let rma = Rma {
            way: Transfer::Put,
            with: Endpoint::new(1, 0).unwrap(),
            pieces: &pieces,
            is_exposed: false,
            prefers_packets,
            cookie: 7,
            is_acknowledged: true,
        };
        tasks[0].context.rma(rma).unwrap();
        while tasks[0].step(&world) {}
        let is_there = |world: &RefCell<World>| world.borrow().memory[1][1000..1500] == data;
        assert_eq!(is_there(&world), !prefers_packets);
        settle(&world, &mut tasks);
        assert!(is_there(&world) && tasks[0].seen.completed.get(&7) == Some(&1));
    }
}

/// The data of a put is at its target when the put is complete or a fence has passed, and not only later.
#[test]
fn puts_are_at_their_targets_when_they_complete() {
    for is_acknowledged in [true, false] {
        let (world, mut tasks) = tasks(2, 2, true, false, 200);
        let data = data_of(1, 500);
        world.borrow_mut().memory[0][..500].copy_from_slice(&data);
        let with = Endpoint::new(1, 0).unwrap();
        let pieces = [(Range { address: 0, bytes: 500 }, 1000 + EXPOSED)];
        let way = Transfer::Put;
        let rma = Rma {
            way,
            with,
            pieces: &pieces,
            is_exposed: true,
            prefers_packets: false,
            cookie: 7,
            is_acknowledged,
        };
        tasks[0].context.rma(rma).unwrap();
        if !is_acknowledged {
            tasks[0].context.fence(8);
        }
        let is_over = |seen: &Seen| seen.completed.contains_key(&7) || seen.sent.contains_key(&8);
        while !is_over(&tasks[0].seen) {
            assert!(tasks[0].step(&world), "the target does nothing");
        }
        assert_eq!(tasks[0].seen.sent.get(&7), Some(&1), "the memory is free before");
        assert_eq!(world.borrow().memory[1][1000..1500], data);
    }
}

#[test]
fn atomic_operations_return_the_old_value() {
    let (world, mut tasks) = tasks(3, 2, true, true, 200);
    let rmw = |value| Rmw { address: 8, bytes: 8, modify: Modify::Add, value, test: None };
    let target = Endpoint::new(2, 0).unwrap();
    for n in 0..20 {
        tasks[n % 2].context.rmw(target, rmw(1), n as u64).unwrap();
    }
    settle(&world, &mut tasks);
    let mut olds: Vec<u32> = tasks.iter().flat_map(|task| task.seen.received.values().copied()).collect();
    olds.sort_unstable();
    assert_eq!(olds, (0..20).collect::<Vec<_>>());
}

#[test]
fn operations_with_a_task_that_has_ended_end_with_that_outcome() {
    for reads_remote in [true, false] {
        let (world, mut tasks) = tasks(2, 1, reads_remote, true, 200);
        let other = Endpoint::new(1, 0).unwrap();
        let header = header_of(1, 0);
        for (cookie, bytes, is_acknowledged) in [(1, 10, true), (2, 500, false), (3, 150, true)] {
            let data = Range { address: 0, bytes };
            let send = Send { to: other, dispatch: 1, header: &header, data, cookie, is_acknowledged };
            tasks[0].context.send(send).unwrap();
        }
        world.borrow_mut().gone = Some(1);
        tasks[0].context.report_gone();
        while tasks[0].step(&world) {}
        let seen = &tasks[0].seen;
        assert_eq!(seen.sent.values().sum::<u32>() as usize, seen.sent.len(), "each once");
        assert_eq!(seen.sent.len(), 3, "{:?}", seen.sent);
        assert_eq!(seen.completed.keys().collect::<Vec<_>>(), [&1, &3]);
        assert!(tasks[0].context.is_idle());
    }
}
