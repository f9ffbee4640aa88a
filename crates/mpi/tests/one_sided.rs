//! Windows over a transport in memory that delivers in a random order, against plain loops: random
//! operations, types, epochs.

mod wires;

use netloom_mpi::datatype::{Datatype, Layout, PREDEFINED};
use netloom_mpi::group::{Group, Members};
use netloom_mpi::one_sided::{Accumulate, Addresses, At, Data, Exposed, Extents, Mapped, Place, Window};
use netloom_mpi::op::Op;
use netloom_mpi::transport::Memory;
use proptest::prelude::*;
use std::rc::Rc;
use wires::{Job, Wire, bytes_of, write};

/// Bytes at each target that one origin alone accesses.
const REGION: usize = 64;
/// Bytes behind those of all origins: all add to the first, and the second is the owner's, who stores the
/// number of the epoch.
const SHARED: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Put,
    Get,
    Replace,
    Add,
    FetchAndAdd,
    Fetch,
    Swap,
    AddShared,
}

/// An operation: at a target, on blocks of bytes a stride apart.
#[derive(Clone, Debug)]
struct Step {
    target: u32,
    kind: Kind,
    at: usize,
    count: usize,
    length: usize,
    stride: usize,
    value: u8,
}

#[derive(Clone, Copy, Debug)]
enum Epoch {
    Fence,
    LockAll { is_unchecked: bool },
    Locks { is_exclusive: bool },
    PostAndStart { is_unchecked: bool },
}

impl Step {
    /// Where its bytes are in the region.
    fn places(&self) -> Vec<usize> {
        let block = |n: usize| (0..self.length).map(move |at| self.at + n * self.stride + at);
        (0..self.count).flat_map(block).collect()
    }

    fn datatype(&self) -> Datatype {
        let byte = PREDEFINED.iter().find(|of| of.name == "UINT8_T").expect("it is there");
        let blocks = Datatype::from(byte).vector(self.count as u64, self.length as u64, self.stride as i64);
        Datatype::of_blocks([(1, self.at as i64, &blocks.unwrap())].into_iter()).unwrap()
    }

    fn data(&self) -> Vec<u8> {
        (0..self.count * self.length).map(|n| self.value.wrapping_add(n as u8 * 3)).collect()
    }

    /// What it does to the region of its origin; returns what it reads.
    fn model(&self, region: &mut [u8]) -> Vec<u8> {
        let places = self.places();
        let old: Vec<u8> = places.iter().map(|&at| region[at]).collect();
        for (&at, value) in places.iter().zip(self.data()) {
            match self.kind {
                Kind::Put | Kind::Replace => region[at] = value,
                Kind::Add | Kind::FetchAndAdd => region[at] = region[at].wrapping_add(value),
                Kind::Get | Kind::Fetch | Kind::Swap | Kind::AddShared => {}
            }
        }
        // What is there is the value of the step, or not.
        if self.kind == Kind::Swap && old[0] == self.value {
            region[places[0]] = self.value.wrapping_mul(7);
        }
        old
    }
}

fn step(size: u32) -> impl Strategy<Value = Step> {
    let kinds = [
        Kind::Put,
        Kind::Get,
        Kind::Replace,
        Kind::Add,
        Kind::FetchAndAdd,
        Kind::Fetch,
        Kind::Swap,
        Kind::AddShared,
    ];
    let shape = (0..20usize, 1..5usize, 1..5usize, 0..6usize);
    (0..size, prop::sample::select(kinds.to_vec()), shape, any::<u8>()).prop_map(
        |(target, kind, (at, count, length, gap), value)| match kind {
            Kind::Swap => Step { target, kind, at, count: 1, length: 1, stride: 1, value },
            _ => Step { target, kind, at, count, length, stride: length + gap, value },
        },
    )
}

fn epoch() -> impl Strategy<Value = Epoch> {
    prop_oneof![
        Just(Epoch::Fence),
        any::<bool>().prop_map(|is_unchecked| Epoch::LockAll { is_unchecked }),
        any::<bool>().prop_map(|is_exclusive| Epoch::Locks { is_exclusive }),
        any::<bool>().prop_map(|is_unchecked| Epoch::PostAndStart { is_unchecked }),
    ]
}

/// Each process's memory, window and unit.
struct Windows {
    job: Job,
    memories: Vec<Memory>,
    windows: Vec<Window<Wire>>,
    /// Keeps the memory, with a lock at its end.
    _kept: Vec<Vec<u32>>,
}

/// Steps, and what each is to read.
type Steps = Vec<(Step, Vec<u8>)>;

fn units(rank: u32) -> u32 {
    [4, 1, 8][rank as usize % 3]
}

impl Windows {
    fn new(size: u32, short_max_bytes: usize, seed: u64) -> Self {
        let job = Job::new(size, short_max_bytes, seed);
        let bytes = REGION * size as usize + SHARED;
        let mut kept: Vec<Vec<u32>> = (0..size).map(|_| vec![0; bytes / 4 + 1]).collect();
        let locks_at = bytes;
        let memory = |of: &mut Vec<u32>| Memory { address: of.as_mut_ptr() as u64, bytes: bytes as u64 };
        let memories: Vec<Memory> = kept.iter_mut().map(memory).collect();
        let extents = Extents::Listed((0..size).map(|rank| (bytes as u64, units(rank))).collect());
        // With a seed that is a multiple of four all have the memory of all.
        let list = memories.iter().map(|memory| memory.address).collect();
        let locks = memories.iter().map(|memory| memory.address + locks_at as u64).collect();
        let (memory, locks) = (Addresses::Listed(list), Addresses::Listed(locks));
        let mapped = seed.is_multiple_of(4).then_some(Mapped { memory, locks });
        let window = |rank: u32| {
            let group = Group { members: Members::World, rank, size, context: 4 };
            let exposed = Exposed::Static(memories[rank as usize]);
            Window::new(Rc::clone(&job.ranks[rank as usize]), group, exposed, extents.clone(), mapped.clone())
        };
        let windows = (0..size).map(window).collect();
        Windows { job, memories, windows, _kept: kept }
    }

    fn memory(&self, rank: u32) -> Vec<u8> {
        bytes_of(self.memories[rank as usize])
    }

    /// Carries out a step of a rank, whose result goes to the space.
    async fn carry_out(&self, rank: u32, step: &Step, data: &[u8], space: &mut [u8]) {
        let window = &self.windows[rank as usize];
        let byte = PREDEFINED.iter().find(|of| of.name == "UINT8_T").expect("it is there");
        let layout = step.datatype().layout(1);
        let displacement = (rank as usize * REGION) as i64 / i64::from(units(step.target));
        let at = At { rank: step.target, displacement, layout };
        let place = Place { address: space.as_mut_ptr() as u64, layout: Layout::run(0, space.len()) };
        let how = |op| Accumulate { op, element: Some(byte) };
        window.wait_for_access(step.target).await.unwrap();
        match step.kind {
            Kind::Put => _ = window.put(at, Data::Stays(data), false).unwrap(),
            Kind::Get => _ = window.get(at, place, false).unwrap(),
            Kind::Replace => window.accumulate(at, data, how(Op::Replace)).unwrap(),
            Kind::Add => window.accumulate(at, data, how(Op::Sum)).unwrap(),
            Kind::FetchAndAdd => {
                _ = window.get_accumulate(at, data, how(Op::Sum), place, false).unwrap();
            }
            Kind::Fetch => {
                _ = window.get_accumulate(at, &[], how(Op::NoOp), place, false).unwrap();
            }
            Kind::Swap => {
                let operands: [&[u8]; 2] = [&[step.value.wrapping_mul(7)], &[step.value]];
                window.compare_and_swap(at, operands, place).unwrap();
            }
            Kind::AddShared => {
                let offset = (REGION * self.windows.len()) as i64;
                let unit = i64::from(units(step.target));
                let layout = Layout::run((offset % unit) as isize, 1);
                let at = At { rank: step.target, displacement: offset / unit, layout };
                window.accumulate(at, &[step.value], how(Op::Sum)).unwrap();
            }
        }
    }

    /// An epoch of a rank, with its steps and what they are to read.
    async fn run(&self, rank: u32, number: u8, epoch: Epoch, steps: &Steps) {
        let window = &self.windows[rank as usize];
        let all: Vec<u32> = (0..self.windows.len() as u32).collect();
        let data: Vec<Vec<u8>> = steps.iter().map(|(step, _)| step.data()).collect();
        let mut spaces: Vec<Vec<u8>> = steps.iter().map(|(_, expected)| vec![0xee; expected.len()]).collect();
        let is_exposed = matches!(epoch, Epoch::Fence | Epoch::PostAndStart { .. });
        let number_at = REGION * self.windows.len() + 1;
        if is_exposed {
            write(&[number], self.memories[rank as usize].address + number_at as u64);
        }
        match epoch {
            Epoch::Fence => window.fence(true).await.unwrap(),
            Epoch::LockAll { is_unchecked } => {
                // That nobody is in an earlier epoch is the program's promise then.
                if is_unchecked {
                    window.barrier().await.unwrap();
                }
                window.lock_all(is_unchecked, std::iter::once(rank)).await.unwrap();
            }
            Epoch::Locks { .. } => {}
            Epoch::PostAndStart { is_unchecked } => {
                window.post(all.clone(), is_unchecked).unwrap();
                if is_unchecked {
                    window.barrier().await.unwrap();
                }
                window.start(all, is_unchecked).unwrap();
            }
        }
        // What the target has stored before is there.
        let mut numbers = vec![0xee; self.windows.len()];
        for (target, place) in (0..).zip(&mut numbers).filter(|_| is_exposed) {
            let unit = i64::from(units(target));
            let layout = Layout::run((number_at as i64 % unit) as isize, 1);
            let at = At { rank: target, displacement: number_at as i64 / unit, layout };
            let place = Place { address: std::ptr::from_mut(place) as u64, layout: Layout::run(0, 1) };
            window.wait_for_access(target).await.unwrap();
            window.get(at, place, false).unwrap();
        }
        for (((step, _), space), data) in steps.iter().zip(&mut spaces).zip(&data) {
            match epoch {
                Epoch::Locks { is_exclusive } => {
                    window.lock(step.target, is_exclusive, false).await.unwrap();
                    self.carry_out(rank, step, data, space).await;
                    window.unlock(step.target).await.unwrap();
                }
                _ => self.carry_out(rank, step, data, space).await,
            }
            // Puts and gets are not ordered; accumulates are.
            if matches!(epoch, Epoch::LockAll { .. }) && matches!(step.kind, Kind::Put | Kind::Get) {
                window.flush(Some(step.target)).await.unwrap();
            }
        }
        match epoch {
            Epoch::Fence => window.fence(false).await.unwrap(),
            Epoch::LockAll { .. } => window.unlock_all().await.unwrap(),
            Epoch::Locks { .. } => {}
            Epoch::PostAndStart { .. } => {
                window.complete().await.unwrap();
                window.wait().await.unwrap();
            }
        }
        assert!(!is_exposed || numbers.iter().all(|&of| of == number), "{numbers:?} in epoch {number}");
        for ((step, expected), space) in steps.iter().zip(&spaces) {
            let is_read = matches!(step.kind, Kind::Get | Kind::Fetch | Kind::FetchAndAdd | Kind::Swap);
            assert!(
                !is_read || space == expected,
                "rank {rank}: {step:?}: {space:?} instead of {expected:?}"
            );
        }
    }
}

/// Puts and gets are flushed before the next operation at their target, where there are flushes; elsewhere
/// accumulates, which are ordered, stand for them.
fn ordered(epoch: Epoch, mut steps: Vec<Step>) -> Vec<Step> {
    for at in 0..steps.len() {
        let target = steps[at].target;
        let is_alone = steps.iter().filter(|step| step.target == target).count() == 1;
        let has_flushes = matches!(epoch, Epoch::LockAll { .. } | Epoch::Locks { .. });
        let step = &mut steps[at];
        step.kind = match step.kind {
            Kind::Put if !has_flushes && !is_alone => Kind::Replace,
            // What was accumulated before is not ordered with a get.
            Kind::Put | Kind::Get if matches!(epoch, Epoch::LockAll { .. }) && !is_alone => Kind::Fetch,
            Kind::Get if !has_flushes && !is_alone => Kind::Fetch,
            other => other,
        };
    }
    steps
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn operations_are_those_of_plain_loops(
        (size, epochs) in (1u32..5).prop_flat_map(|size| {
            let steps = prop::collection::vec(step(size), 0..8);
            let of_ranks = prop::collection::vec(steps, size as usize);
            (Just(size), prop::collection::vec((epoch(), of_ranks), 1..4))
        }),
        short_max_bytes in prop_oneof![Just(0usize), Just(16), Just(40), Just(500)],
        seed: u64,
    ) {
        let mut model = vec![vec![0u8; REGION * size as usize + SHARED]; size as usize];
        // What each rank does in each epoch, and what it is to read.
        let mut programs: Vec<Vec<(Epoch, Steps)>> = vec![vec![]; size as usize];
        for (number, (epoch, of_ranks)) in epochs.into_iter().enumerate() {
            if matches!(epoch, Epoch::Fence | Epoch::PostAndStart { .. }) {
                model.iter_mut().for_each(|memory| memory[REGION * size as usize + 1] = number as u8);
            }
            for (rank, steps) in of_ranks.into_iter().enumerate() {
                let mut expected = |step: Step| {
                    let memory = &mut model[step.target as usize];
                    if step.kind == Kind::AddShared {
                        let shared = &mut memory[REGION * size as usize];
                        *shared = shared.wrapping_add(step.value);
                    }
                    let read = step.model(&mut memory[rank * REGION..][..REGION]);
                    (step, read)
                };
                let steps = ordered(epoch, steps).into_iter().map(&mut expected).collect();
                programs[rank].push((epoch, steps));
            }
        }
        let windows = Windows::new(size, short_max_bytes, seed);
        let (windows, programs) = (&windows, &programs);
        windows.job.run(|rank| Box::pin(async move {
            windows.windows[rank as usize].barrier().await.unwrap();
            for (number, (epoch, steps)) in (0..).zip(&programs[rank as usize]) {
                windows.run(rank, number, *epoch, steps).await;
            }
            windows.windows[rank as usize].free().await.unwrap();
        }));
        for rank in 0..size {
            prop_assert_eq!(&windows.memory(rank), &model[rank as usize], "memory of rank {}", rank);
        }
    }

    /// Each reads a counter and writes it back, alone while it has the lock.
    #[test]
    fn exclusive_locks_exclude_each_other(size in 1u32..6, rounds in 1usize..6, seed: u64) {
        let windows = Windows::new(size, 16, seed);
        let of = &windows;
        windows.job.run(|rank| Box::pin(async move {
            let window = &of.windows[rank as usize];
            window.barrier().await.unwrap();
            for round in 0..rounds {
                let target = (rank as usize + round) as u32 % size.min(2);
                let layout = Layout::run(0, 1);
                let at = || At { rank: target, displacement: 0, layout: layout.clone() };
                let mut counter = [0u8];
                window.lock(target, true, false).await.unwrap();
                let place = Place { address: counter.as_mut_ptr() as u64, layout: layout.clone() };
                window.get(at(), place, false).unwrap();
                window.flush(Some(target)).await.unwrap();
                let [old] = counter;
                window.put(at(), Data::Lent(&[old + 1]), false).unwrap();
                window.unlock(target).await.unwrap();
            }
            window.free().await.unwrap();
        }));
        let sum: usize = (0..size.min(2)).map(|rank| usize::from(windows.memory(rank)[0])).sum();
        prop_assert_eq!(sum, size as usize * rounds);
    }
}
