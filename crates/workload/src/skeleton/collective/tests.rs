//! Each algorithm on a network in which messages never meet.

use super::*;
use crate::ideal::Ideal;
use crate::program::Program;
use crate::skeleton::{SimulatedRank, Skeleton, boxed};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Mutex;

const ALL: [(Operation, &[Algorithm]); 7] = [
    (Operation::Barrier, &[Dissemination]),
    (Operation::Broadcast, &[Tree, ScatterAllgather]),
    (Operation::Reduce, &[Tree]),
    (Operation::Allreduce, &[RecursiveDoubling, Rabenseifner, Ring]),
    (Operation::Allgather, &[RecursiveDoubling, Bruck, Ring]),
    (Operation::AllToAll, &[Bruck, Linear, Pairwise]),
    (Operation::AllToAllV, &[Linear, Pairwise]),
];

/// The ranks whose data a rank has received, directly or through others.
type Known = Arc<Mutex<HashMap<u32, BTreeSet<u32>>>>;
/// Messages in flight between two ranks with a tag, with what their sender knew.
type InFlight = Arc<Mutex<HashMap<(u32, u32, u32), VecDeque<BTreeSet<u32>>>>>;

/// A rank that passes on what it knows with each message.
struct Gossip {
    own: SimulatedRank,
    known: Known,
    in_flight: InFlight,
}

enum Request {
    Plain(crate::skeleton::Request),
    Receive(crate::skeleton::Request, (u32, u32, u32)),
}

impl Rank for Gossip {
    type Request = Request;

    fn rank(&self) -> u32 {
        self.own.rank()
    }

    fn ranks(&self) -> u32 {
        self.own.ranks()
    }

    async fn compute(&self, ns: u64) {
        self.own.compute(ns).await;
    }

    fn hardware(&self) -> HardwareCollectives {
        self.own.hardware()
    }

    async fn collective(&self, what: ByHardware, bytes: u64) {
        self.own.collective(what, bytes).await;
    }

    async fn mark(&self, key: u64) {
        self.own.mark(key).await;
    }

    fn isend(&self, to: u32, tag: u32, bytes: u64) -> Request {
        let knows = self.known.lock().unwrap()[&self.rank()].clone();
        let key = (self.rank(), to, tag);
        self.in_flight.lock().unwrap().entry(key).or_default().push_back(knows);
        Request::Plain(self.own.isend(to, tag, bytes))
    }

    fn irecv(&self, from: Option<u32>, tag: Option<u32>, bytes: u64) -> Request {
        let key = (from.expect("named"), self.rank(), tag.expect("named"));
        Request::Receive(self.own.irecv(from, tag, bytes), key)
    }

    async fn wait(&self, request: Request) {
        match request {
            Request::Plain(request) => self.own.wait(request).await,
            Request::Receive(request, key) => {
                self.own.wait(request).await;
                let came = self.in_flight.lock().unwrap().get_mut(&key).and_then(VecDeque::pop_front);
                self.known.lock().unwrap().get_mut(&key.1).unwrap().extend(came.expect("it was sent"));
            }
        }
    }
}

/// Runs an operation; returns what each rank has heard of, and the finish.
fn run_on(config: &Collective) -> (Vec<BTreeSet<u32>>, crate::ideal::Finish) {
    let (known, in_flight) = (Known::default(), InFlight::default());
    (0..config.ranks).for_each(|r| drop(known.lock().unwrap().insert(r, [r].into())));
    let program = |rank| {
        let (known, in_flight, config) = (known.clone(), in_flight.clone(), config.clone());
        Skeleton::new(rank, config.ranks, |own| async move {
            let block = |from, to| config.block(from, to);
            perform(&Gossip { own, known, in_flight }, &config, 0, block).await;
        })
    };
    let mut programs: Vec<Box<dyn Program>> = boxed((0..config.ranks).map(program).collect());
    let finish = Ideal { latency_ns: 1000, ps_per_byte: 1000 }.run(&mut programs).unwrap();
    assert!(in_flight.lock().unwrap().values().all(VecDeque::is_empty), "{config:?}");
    let known = known.lock().unwrap();
    ((0..config.ranks).map(|r| known[&r].clone()).collect(), finish)
}

/// After an operation each rank has received data, directly or not, from all ranks whose data it needs.
#[test]
fn data_can_have_come_from_all_that_are_needed() {
    for (operation, algorithms) in ALL {
        for &algorithm in algorithms {
            for ranks in [1, 2, 3, 4, 5, 7, 8, 12, 16, 31] {
                for radix in [2, 3, 4] {
                    let config = Collective {
                        operation,
                        algorithm,
                        ranks,
                        radix,
                        bytes: 100,
                        ..Collective::default()
                    };
                    if config.check().is_err() {
                        continue;
                    }
                    let (known, _) = run_on(&config);
                    let all: BTreeSet<u32> = (0..ranks).collect();
                    for (rank, known) in known.iter().enumerate() {
                        let needed = match operation {
                            Operation::Broadcast => [0].into(),
                            Operation::Reduce if rank > 0 => BTreeSet::new(),
                            _ => all.clone(),
                        };
                        assert!(known.is_superset(&needed), "{config:?}, rank {rank}: {known:?}");
                    }
                }
            }
        }
    }
}

/// Times on a network in which messages never meet: latency a round, and the bytes that an algorithm must
/// move.
#[test]
fn times_are_the_closed_forms() {
    let ns = |operation, algorithm, ranks, bytes| {
        let config = Collective { operation, algorithm, ranks, bytes, ..Collective::default() };
        run_on(&config).1.end_ns()
    };
    // A message takes 1,000 ns and a nanosecond a byte; ranks are powers of two here.
    assert_eq!(ns(Operation::Barrier, Dissemination, 16, 0), 4 * 1000);
    assert_eq!(ns(Operation::Allreduce, RecursiveDoubling, 16, 500), 4 * 1500);
    assert_eq!(ns(Operation::Allreduce, Rabenseifner, 16, 1600), 2 * (4 * 1000 + 1500));
    assert_eq!(ns(Operation::Allreduce, Ring, 16, 1600), 30 * 1100);
    assert_eq!(ns(Operation::Allgather, RecursiveDoubling, 16, 100), 4 * 1000 + 1500);
    assert_eq!(ns(Operation::Allgather, Bruck, 16, 100), 4 * 1000 + 1500);
    assert_eq!(ns(Operation::Allgather, Ring, 16, 100), 15 * 1100);
    assert_eq!(ns(Operation::AllToAll, Bruck, 16, 100), 4 * (1000 + 800));
    assert_eq!(ns(Operation::AllToAll, Pairwise, 16, 100), 15 * 1100);
}

/// Both ranks of a pair know how long their blocks are, which lie within the spread and are as long as asked
/// for on average.
#[test]
fn blocks_differ_as_much_as_asked_for() {
    let config =
        Collective { operation: Operation::AllToAllV, bytes: 1000, ranks: 40, ..Collective::default() };
    let all: Vec<u64> =
        (0..40).flat_map(|a| (0..40).map(move |b| (a, b))).map(|(a, b)| config.block(a, b)).collect();
    assert!(all.iter().all(|b| (500..=1500).contains(b)));
    let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
    assert!((mean / 1000.0 - 1.0).abs() < 0.03, "{mean}");
    assert!(all.iter().any(|&b| b < 550) && all.iter().any(|&b| b > 1450));
    let (_, finish) = run_on(&config);
    let pairs = (0..40).flat_map(|a| (0..40).map(move |b| (a, b))).filter(|(a, b)| a != b);
    assert_eq!(finish.bytes, pairs.map(|(a, b)| config.block(a, b)).sum::<u64>());
    let wrong = Collective { spread: 1.5, ..config };
    assert_eq!(wrong.check().unwrap_err().key, "spread");
}

#[test]
fn algorithms_are_chosen_by_size() {
    let none = HardwareCollectives::default();
    let chosen = |operation, ranks, bytes| {
        Collective { operation, ranks, bytes, ..Collective::default() }.chosen(none)
    };
    assert_eq!(chosen(Operation::Allreduce, 64, 2048), RecursiveDoubling);
    assert_eq!(chosen(Operation::Allreduce, 64, 2049), Rabenseifner);
    assert_eq!(chosen(Operation::Broadcast, 4, 1 << 20), Tree);
    assert_eq!(chosen(Operation::Broadcast, 64, 1 << 20), ScatterAllgather);
    assert_eq!(chosen(Operation::Allgather, 6, 8), Bruck);
    assert_eq!(chosen(Operation::AllToAll, 64, 100_000), Pairwise);
    let wrong = Collective { algorithm: Pairwise, ..Collective::default() };
    let message = wrong.check().unwrap_err().message;
    assert!(message.starts_with("expected \"by-size\", \"messages\" or \"recursive-doubling\""), "{message}");
    assert!(message.ends_with("for \"allreduce\", found \"pairwise\""), "{message}");
}

/// Hardware is taken by default for what the library does by it, up to its limit; a named algorithm is
/// obeyed.
#[test]
fn hardware_is_the_default_where_the_library_takes_it() {
    let hardware = HardwareCollectives::new(|what| match what {
        ByHardware::Barrier => Some(0),
        ByHardware::Reduce => None,
        ByHardware::Broadcast | ByHardware::Allreduce => Some(1 << 20),
    });
    let chosen = |operation, algorithm, bytes| {
        Collective { operation, algorithm, bytes, ..Collective::default() }.chosen(hardware)
    };
    // A barrier has no data, whatever the size says.
    assert_eq!(chosen(Operation::Barrier, BySize, 8), Hardware);
    assert_eq!(chosen(Operation::Broadcast, BySize, 1 << 20), Hardware);
    assert_eq!(chosen(Operation::Allreduce, BySize, 8), Hardware);
    assert_eq!(chosen(Operation::Allreduce, BySize, (1 << 20) + 1), Rabenseifner);
    assert_eq!(chosen(Operation::Reduce, BySize, 8), Tree);
    assert_eq!(chosen(Operation::Allgather, BySize, 8), RecursiveDoubling);
    assert_eq!(chosen(Operation::AllToAll, BySize, 8), Bruck);
    assert_eq!(chosen(Operation::Barrier, Messages, 0), Dissemination);
    assert_eq!(chosen(Operation::Allreduce, Messages, 8), RecursiveDoubling);
    assert_eq!(chosen(Operation::Broadcast, Tree, 8), Tree);
    for (operation, _) in ALL {
        assert!(Collective { operation, algorithm: Messages, ..Collective::default() }.check().is_ok());
    }
}

/// A skeleton and a trace pass the hardware of their library on to their operations.
#[test]
fn programs_issue_operations_of_their_librarys_hardware() {
    use crate::goal::{replay::Replay, replay::TraceCollectives, text};
    use crate::program::{Issue, Operation as Issued};
    let goal = "num_ranks 2\nrank 0 {\nreduce 20b\n}\nrank 1 {\nreduce 20b\n}\n";
    let trace = Arc::new(text::parse(goal.as_bytes()).unwrap());
    let config = Collective { operation: Operation::Reduce, ranks: 2, bytes: 20, ..Collective::default() };
    let programs = || -> [Box<dyn Program>; 2] {
        let config = Arc::new(config.clone());
        let skeleton = Skeleton::new(1, 2, |rank| run(rank, config));
        [Box::new(skeleton), Box::new(Replay::programs(&trace, &TraceCollectives::default()).pop().unwrap())]
    };
    let first = |mut program: Box<dyn Program>, hardware: Option<HardwareCollectives>| {
        let mut issue = Issue::new();
        hardware.into_iter().for_each(|hardware| program.set_hardware(hardware));
        program.start(&mut issue);
        let issued: Vec<_> = issue.drain().map(|(_, operation)| operation).collect();
        issued
    };
    let all = HardwareCollectives::new(|_| Some(1 << 20));
    for program in programs() {
        assert_eq!(first(program, Some(all)), [Issued::Collective { what: ByHardware::Reduce, bytes: 20 }]);
    }
    for program in programs() {
        assert!(matches!(first(program, None)[..], [Issued::Send { to: 0, bytes: 20, .. }]));
    }
}
