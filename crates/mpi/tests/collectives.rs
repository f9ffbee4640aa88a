//! Collectives, and messages of any length, over a transport in memory that delivers in a random order,
//! against plain loops. The operation is one in whose order it matters: affine maps, applied one after the
//! other.

mod wires;

use netloom_mpi::collective;
use netloom_mpi::datatype::{PREDEFINED, Predefined};
use netloom_mpi::error::Error;
use netloom_mpi::matching::{Envelope, Pattern};
use netloom_mpi::op::Op;
use netloom_mpi::transport::Memory;
use proptest::prelude::*;
use std::rc::Rc;
use wires::Job;

/// x -> a x + b, modulo 2^8: first, then second.
fn then(first: &mut [u8], second: &[u8]) -> Result<(), Error> {
    for (first, second) in first.chunks_exact_mut(2).zip(second.chunks_exact(2)) {
        let (a, b) = (first[0], first[1]);
        first[0] = a.wrapping_mul(second[0]);
        first[1] = b.wrapping_mul(second[0]).wrapping_add(second[1]);
    }
    Ok(())
}

fn operand(rank: u32, maps: usize) -> Vec<u8> {
    (0..2 * maps).map(|at| (31 * rank as usize + 7 * at + 3) as u8 | u8::from(at % 2 == 0)).collect()
}

fn reduced(ranks: std::ops::Range<u32>, maps: usize) -> Vec<u8> {
    let mut all = operand(ranks.start, maps);
    for rank in ranks.skip(1) {
        then(&mut all, &operand(rank, maps)).unwrap();
    }
    all
}

/// Sums of words, in any order.
struct Sum;

impl collective::Combine for Sum {
    fn combine(&self, first: &mut [u8], second: &[u8]) -> Result<(), Error> {
        for (first, second) in first.chunks_exact_mut(8).zip(second.chunks_exact(8)) {
            let [a, b] = [&*first, second].map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
            first.copy_from_slice(&(a + b).to_ne_bytes());
        }
        Ok(())
    }

    fn predefined(&self) -> Option<(Op, &'static Predefined)> {
        PREDEFINED.iter().find(|of| of.name == "UINT64_T").map(|of| (Op::Sum, of))
    }
}

/// Whoever finds that lengths differ is told who sent how much, by messages and through flags.
#[test]
fn an_error_about_lengths_names_the_sender_and_both_lengths() {
    let errors = |sets, of_rank_1: usize| {
        let job = &Job::with_flags(2, 1024, 1, (sets, 2));
        let errors = &std::cell::RefCell::new(vec![]);
        job.run(|rank| {
            Box::pin(async move {
                let flags = Rc::default();
                // Ranks agree on flags by the first operations.
                for number in 0..8 {
                    collective::barrier(job.waited_for(rank, 4, number, &flags)).await.unwrap();
                }
                let operation = job.waited_for(rank, 4, 8, &flags);
                let mut data = vec![0; if rank == 1 { of_rank_1 } else { 16 }];
                collective::all_reduce(&operation, &mut data, &then).await.unwrap();
                errors.borrow_mut().extend(operation.check_lengths().err().map(|error| (rank, error.text)));
            })
        });
        let mut errors = errors.take();
        errors.sort();
        errors
            .into_iter()
            .map(|(rank, text)| format!("{rank}: {}", text.rsplit(": ").next().unwrap()))
            .collect::<Vec<_>>()
    };
    let short = "0: rank 1 sends 8 B where this rank expects 16 B";
    assert_eq!(errors(0, 8), [short, "1: rank 0 sends more than the 8 B that this rank expects"]);
    assert_eq!(errors(4, 8), [short, "1: rank 0 sends 16 B where this rank expects 8 B"]);
    let long = "1: rank 0 sends 16 B where this rank expects 24 B";
    assert_eq!(errors(0, 24), ["0: rank 1 sends more than the 16 B that this rank expects", long]);
    assert_eq!(errors(4, 24), ["0: rank 1 sends 24 B where this rank expects 16 B", long]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// Many short ones after each other, on four communicators of all ranks, as many of which have flags as there
    /// are sets, or none if a rank has no sets: the results are the same, nobody leaves a barrier before all
    /// have come, and no flag is written again before it was read.
    #[test]
    fn short_collectives_through_flags_are_those_by_messages(
        size in 1u32..20, sets in 0u32..4, without_sets in 0u32..60, seed: u64
    ) {
        const COLLECTIVES: u32 = 60;
        let job = &Job::with_flags(size, 16, seed, (sets, without_sets));
        let come = &std::cell::RefCell::new(vec![0; size as usize]);
        job.run(|rank| Box::pin(async move {
            let flags: [Rc<collective::Flags>; 4] = Default::default();
            for number in 0..COLLECTIVES {
                let comm = (number / 3 + number) as usize % flags.len();
                let operation = job.waited_for(rank, 4 + 2 * comm as u32, number, &flags[comm]);
                come.borrow_mut()[rank as usize] = number;
                if number % 3 == 0 {
                    collective::barrier(operation).await.unwrap();
                    assert!(come.borrow().iter().all(|&other| other >= number), "barrier");
                } else {
                    let maps = 7 * number as usize % 61;
                    let mut data = operand(rank + number, maps);
                    collective::all_reduce(&operation, &mut data, &then).await.unwrap();
                    operation.check_lengths().unwrap();
                    assert!(data == reduced(number..number + size, maps), "all-reduce");
                }
            }
        }));
        // More ranks need more rounds than there are.
        let have_all = sets > 0 && without_sets >= size;
        prop_assert_eq!(job.has_used_flags(), have_all && (2..=8).contains(&size));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn collectives_are_those_of_plain_loops(
        size in 1u32..14, root in 0u32..14, maps in prop_oneof![0usize..12, Just(600), Just(33_000)], seed: u64
    ) {
        let (job, root) = (&Job::new(size, 16, seed), root % size);
        job.run(|rank| Box::pin(async move {
            let mut data = operand(rank, maps);
            collective::reduce(&job.operation(rank), &mut data, root, &then).await.unwrap();
            assert!(rank != root || data == reduced(0..size, maps), "reduce");
        }));
        job.run(|rank| Box::pin(async move {
            let own = operand(rank, maps);
            let [mut data, mut elsewhere] = [own.clone(), vec![0xff; own.len()]];
            collective::all_reduce(&job.operation(rank), &mut data, &then).await.unwrap();
            collective::all_reduce_from(&job.operation(rank), &own, &mut elsewhere, &then).await.unwrap();
            assert!([data, elsewhere].iter().all(|data| *data == reduced(0..size, maps)), "all-reduce");
        }));
        job.run(|rank| Box::pin(async move {
            for is_exclusive in [false, true] {
                let mut data = operand(rank, maps);
                collective::scan(&job.operation(rank), &mut data, is_exclusive, &then).await.unwrap();
                let expected = match (is_exclusive, rank) {
                    (true, 0) => operand(0, maps),
                    (true, _) => reduced(0..rank, maps),
                    (false, _) => reduced(0..rank + 1, maps),
                };
                assert!(data == expected, "scan");
            }
        }));
        job.run(|rank| Box::pin(async move {
            collective::barrier(job.operation(rank)).await.unwrap();
            let mut data = if rank == root { operand(root, maps) } else { vec![0; 2 * maps] };
            collective::broadcast(&job.operation(rank), &mut data, root).await.unwrap();
            assert!(data == operand(root, maps), "broadcast");
        }));
        job.run(|rank| Box::pin(async move {
            let (own, part) = (operand(rank, maps), 2 * maps);
            let expected: Vec<u8> = (0..size).flat_map(|rank| operand(rank, maps)).collect();
            let mut all = vec![0; part * size as usize];
            let places = if rank == root { collective::parts(&mut all, size) } else { vec![] };
            collective::gather(&job.operation(rank), &own, places, root).await.unwrap();
            assert!(rank != root || all == expected, "gather");
            let mut back = vec![0; part];
            let from: Vec<&[u8]> = collective::parts(&mut all, size).into_iter().map(|part| &*part).collect();
            collective::scatter(&job.operation(rank), &from, &mut back, root).await.unwrap();
            assert!(back == own, "scatter");
            let mut again = vec![0; part * size as usize];
            let places = if rank == root { collective::parts(&mut again, size) } else { vec![] };
            collective::gather_equal(&job.operation(rank), &own, places, root).await.unwrap();
            assert!(rank != root || again == expected, "gather of equal parts");
            let mut back = vec![0; part];
            collective::scatter_equal(&job.operation(rank), &from, &mut back, root).await.unwrap();
            assert!(back == own, "scatter of equal parts");
            let mut all = vec![0; part * size as usize];
            all[rank as usize * part..][..part].copy_from_slice(&own);
            collective::all_gather(&job.operation(rank), collective::parts(&mut all, size)).await.unwrap();
            assert!(all == expected, "all-gather");
        }));
        job.run(|rank| Box::pin(async move {
            // Parts of different lengths, in any order of operands and in that of ranks.
            let lengths: Vec<usize> = (0..size as usize).map(|rank| 8 * (maps + rank * rank)).collect();
            let all = lengths.iter().sum::<usize>() / 8;
            let word = |rank: u32, at: usize| u64::from(rank) * 1_000_003 + at as u64;
            let data = |rank: u32| (0..all).flat_map(move |at| word(rank, at).to_ne_bytes()).collect::<Vec<u8>>();
            let begin = lengths[..rank as usize].iter().sum::<usize>() / 8;
            let sum = |at| (0..size).map(|rank| word(rank, at)).sum::<u64>();
            let own_words = lengths[rank as usize] / 8;
            let expected: Vec<u8> = (begin..begin + own_words).flat_map(|at| sum(at).to_ne_bytes()).collect();
            let mut own = vec![0; lengths[rank as usize]];
            let operation = job.operation(rank);
            collective::reduce_scatter(&operation, &mut data(rank), &lengths, &mut own, &Sum).await.unwrap();
            assert!(own == expected, "reduce-scatter");
            let (own, expected) = (data(rank), (0..all).flat_map(|at| sum(at).to_ne_bytes()).collect::<Vec<u8>>());
            let [mut words, mut elsewhere] = [own.clone(), vec![0xff; own.len()]];
            collective::all_reduce(&job.operation(rank), &mut words, &Sum).await.unwrap();
            collective::all_reduce_from(&job.operation(rank), &own, &mut elsewhere, &Sum).await.unwrap();
            assert!(words == expected && elsewhere == expected, "all-reduce in parts");
            let lengths = vec![2 * maps; size as usize];
            let mut data: Vec<u8> = (0..size).flat_map(|_| operand(rank, maps)).collect();
            let mut own = vec![0; 2 * maps];
            collective::reduce_scatter(&job.operation(rank), &mut data, &lengths, &mut own, &then).await.unwrap();
            assert!(own == reduced(0..size, maps), "reduce-scatter in order");
        }));
        job.run(|rank| Box::pin(async move {
            let part = 2 * maps;
            let of = |from: u32, to: u32| operand(from * 20 + to, maps);
            let data: Vec<Vec<u8>> = (0..size).map(|to| of(rank, to)).collect();
            let data: Vec<&[u8]> = data.iter().map(|part| &part[..]).collect();
            let mut space = vec![0; part * size as usize];
            let places = collective::parts(&mut space, size);
            collective::all_to_all(&job.operation(rank), &data, places).await.unwrap();
            assert!(space == (0..size).flat_map(|from| of(from, rank)).collect::<Vec<u8>>(), "all-to-all");
        }));
    }

    /// Messages with random lengths and tags; receives, some with wildcards, some too short, before and after
    /// their messages.
    #[test]
    fn messages_reach_the_receives_that_want_them_in_order(
        lengths in prop::collection::vec(0usize..40, 1..40), wild: bool, late in 0usize..40, seed: u64
    ) {
        let job = Job::new(2, 16, seed);
        let data: Vec<Vec<u8>> =
            lengths.iter().enumerate().map(|(n, &length)| vec![n as u8 + 1; length]).collect();
        let mut spaces = vec![[0u8; 30]; lengths.len()];
        let pattern = |n: usize| match wild {
            true => Pattern { context: 0, source: -1, tag: -2 },
            false => Pattern { context: 0, source: 0, tag: n as i32 % 3 },
        };
        let mut receives = vec![];
        let mut receive = |n: usize| {
            let space = Memory { address: spaces[n].as_mut_ptr() as u64, bytes: 30 };
            job.ranks[1].receive(pattern(n), space)
        };
        for (n, of) in data.iter().enumerate() {
            let envelope = Envelope { context: 0, source: 0, tag: n as i32 % 3, bytes: of.len() as u64, acknowledge: 0 };
            job.ranks[0].send(1, envelope, Memory { address: of.as_ptr() as u64, bytes: of.len() as u64 }).unwrap();
            if n >= late {
                receives.push(receive(n - late));
            }
            job.deliver();
        }
        for n in receives.len()..data.len() {
            receives.push(receive(n));
        }
        while job.deliver() {}
        for (n, &number) in receives.iter().enumerate() {
            let end = job.ranks[1].test(number).expect("its message has arrived");
            let length = lengths[n];
            prop_assert_eq!((end.bytes, end.is_truncated), (length.min(30) as u64, length > 30));
            prop_assert_eq!((end.source, end.tag), (0, n as i32 % 3));
            prop_assert!(spaces[n][..length.min(30)].iter().all(|&byte| byte == n as u8 + 1));
            prop_assert!(spaces[n][length.min(30)..].iter().all(|&byte| byte == 0));
        }
    }
}
