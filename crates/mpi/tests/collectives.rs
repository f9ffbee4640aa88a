//! Collectives, and messages of any length, over a transport in memory that delivers in a random order, against plain loops. The
//! operation is one in whose order it matters: affine maps, applied one after the other.

use netloom_mpi::collective::{self, Operation};
use netloom_mpi::group::{Group, Members};
use netloom_mpi::matching::{Envelope, Pattern};
use netloom_mpi::point_to_point::PointToPoint;
use netloom_mpi::transport::{Memory, Process, Refused, Transport};
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A message under way. Of a long one, the data is read when it is delivered.
enum Packet {
    Short(Envelope, Vec<u8>),
    Long(Envelope, Memory, u64),
}

/// Messages under way, by sender and receiver.
struct Wires {
    processes: u32,
    queues: RefCell<Vec<VecDeque<Packet>>>,
    random: Cell<u64>,
}

impl Wires {
    fn random(&self) -> u64 {
        // Knuth's linear congruential generator, of which the upper bits are good.
        let next =
            self.random.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random.set(next);
        next >> 33
    }

    fn push(&self, from: Process, to: Process, packet: Packet) {
        self.queues.borrow_mut()[(from * self.processes + to) as usize].push_back(packet);
    }
}

struct Wire {
    own: Process,
    wires: Rc<Wires>,
}

fn bytes_of(memory: Memory) -> Vec<u8> {
    let at = memory.address as *const u8;
    // SAFETY: the tests keep what they send until it is delivered.
    #[allow(unsafe_code)]
    unsafe {
        if memory.bytes == 0 {
            vec![]
        } else {
            std::slice::from_raw_parts(at, memory.bytes as usize).to_vec()
        }
    }
}

fn write(bytes: &[u8], to: u64) {
    // SAFETY: a receive has this space.
    #[allow(unsafe_code)]
    unsafe {
        (to as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
    }
}

impl Transport for Wire {
    fn processes(&self) -> u32 {
        self.wires.processes
    }
    fn own(&self) -> Process {
        self.own
    }
    fn short_max_bytes(&self) -> usize {
        16
    }
    fn send_short(&self, to: Process, envelope: Envelope, data: Memory) -> Result<(), Refused> {
        self.wires.push(self.own, to, Packet::Short(envelope, bytes_of(data)));
        Ok(())
    }
    fn send(&self, to: Process, envelope: Envelope, data: Memory, number: u64) -> Result<(), Refused> {
        self.wires.push(self.own, to, Packet::Long(envelope, data, number));
        Ok(())
    }
    fn advance(&self) {}
    fn poll(&self) {}
    fn store(&self, bytes: &[u8], to: u64) {
        write(bytes, to);
    }
}

/// Data of a long message that was announced and is not there yet.
struct Moving {
    from: Process,
    sent: u64,
    to: Process,
    received: u64,
    data: Vec<u8>,
    address: u64,
}

struct Job {
    wires: Rc<Wires>,
    ranks: Vec<Rc<PointToPoint<Wire>>>,
    moving: RefCell<Vec<Moving>>,
}

impl Job {
    fn new(processes: u32, seed: u64) -> Self {
        let queues = RefCell::new((0..processes * processes).map(|_| VecDeque::new()).collect());
        let wires = Rc::new(Wires { processes, queues, random: Cell::new(seed) });
        let rank = |own| Rc::new(PointToPoint::new(Wire { own, wires: Rc::clone(&wires) }));
        let ranks = (0..processes).map(rank).collect();
        Job { wires, ranks, moving: RefCell::default() }
    }

    fn operation(&self, rank: u32) -> Operation<Wire> {
        let size = self.wires.processes;
        let group = Group { members: Members::World, rank, size, context: 4 };
        Operation::new(Rc::clone(&self.ranks[rank as usize]), group, 7)
    }

    /// Delivers one of the messages under way; returns whether there was one.
    fn deliver(&self) -> bool {
        let many_move = self.moving.borrow().len();
        if many_move > 0 && self.wires.random().is_multiple_of(3) {
            let at = self.wires.random() as usize % many_move;
            let Moving { from, sent, to, received, data, address } = self.moving.borrow_mut().swap_remove(at);
            write(&data, address);
            self.ranks[to as usize].received(received, false);
            self.ranks[from as usize].sent(sent, false);
            return true;
        }
        let (size, mut queues) = (self.wires.processes, self.wires.queues.borrow_mut());
        let ready: Vec<usize> = (0..queues.len()).filter(|&at| !queues[at].is_empty()).collect();
        if ready.is_empty() {
            return many_move > 0;
        }
        let at = ready[self.wires.random() as usize % ready.len()];
        let packet = queues[at].pop_front().expect("it is not empty");
        drop(queues);
        let (from, to) = (at as u32 / size, at as u32 % size);
        let receiver = &self.ranks[to as usize];
        match packet {
            Packet::Short(envelope, data) => receiver.arrived(from, envelope, &data),
            Packet::Long(envelope, data, number) => {
                let place = receiver.announced(from, envelope);
                let (received, address) = (place.number, place.address);
                let moving = Moving { from, sent: number, to, received, data: bytes_of(data), address };
                self.moving.borrow_mut().push(moving);
            }
        }
        true
    }

    /// Runs what all ranks do to its end, polling them in a random order.
    fn run<'a>(&self, program: impl Fn(u32) -> Pin<Box<dyn Future<Output = ()> + 'a>>) {
        let mut list: Vec<_> = (0..self.wires.processes).map(|rank| Some(program(rank))).collect();
        let mut idle = 0;
        while list.iter().any(Option::is_some) {
            let at = self.wires.random() as usize % list.len();
            if let Some(future) = &mut list[at]
                && let Poll::Ready(()) = future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                list[at] = None;
            }
            let is_busy = self.wires.random().is_multiple_of(2) && self.deliver();
            idle = if is_busy { 0 } else { idle + 1 };
            assert!(idle < 100_000, "all wait for ever");
        }
        assert!(!self.deliver(), "a message was not received");
    }
}

/// x -> a x + b, modulo 2^8: first, then second.
fn then(first: &mut [u8], second: &[u8]) -> Result<(), netloom_mpi::error::Error> {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn collectives_are_those_of_plain_loops(
        size in 1u32..14, root in 0u32..14, maps in prop_oneof![0usize..12, Just(600), Just(33_000)], seed: u64
    ) {
        let (job, root) = (&Job::new(size, seed), root % size);
        job.run(|rank| Box::pin(async move {
            let mut data = operand(rank, maps);
            collective::reduce(&job.operation(rank), &mut data, root, &then).await.unwrap();
            assert!(rank != root || data == reduced(0..size, maps), "reduce");
        }));
        job.run(|rank| Box::pin(async move {
            let mut data = operand(rank, maps);
            collective::all_reduce(&job.operation(rank), &mut data, &then).await.unwrap();
            assert!(data == reduced(0..size, maps), "all-reduce");
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
            let mut all = vec![0; part * size as usize];
            all[rank as usize * part..][..part].copy_from_slice(&own);
            collective::all_gather(&job.operation(rank), collective::parts(&mut all, size)).await.unwrap();
            assert!(all == expected, "all-gather");
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

    /// Messages with random lengths and tags; receives, some with wildcards, some too short, before and after their messages.
    #[test]
    fn messages_reach_the_receives_that_want_them_in_order(
        lengths in prop::collection::vec(0usize..40, 1..40), wild: bool, late in 0usize..40, seed: u64
    ) {
        let job = Job::new(2, seed);
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
