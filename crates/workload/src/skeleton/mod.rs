//! Programs written as an `async fn` for each rank, like the pseudo-code that drove BlueGene/L's simulator
//! (message-passing calls, and the computing time between them).
//!
//! ```
//! use netloom_workload::skeleton::{Rank, Skeleton};
//! async fn ring<R: Rank>(rank: R) {
//!     let (me, ranks) = (rank.rank(), rank.ranks());
//!     rank.compute(1_000).await;
//!     let from_left = rank.irecv(Some((me + ranks - 1) % ranks), Some(0), 64);
//!     rank.send((me + 1) % ranks, 0, 64).await;
//!     rank.wait(from_left).await;
//! }
//! let programs: Vec<_> = (0..8).map(|r| Skeleton::new(r, 8, ring)).collect();
//! # let _ = programs;
//! ```
//!
//! [`Skeleton`] turns such a function into a [`Program`]. There is no async runtime: no threads, no reactor,
//! and wakers have no effect. The driver reports which operation has finished, and the function is polled if
//! it waits for that one.

pub mod collective;
mod exchange;
pub mod fft3d;
pub mod halo;
pub mod sweep;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use schemars::JsonSchema;
use serde::Serialize;

use crate::ConfigError;
use crate::config::{RankPrograms, Ranks, Runs, Workload, of_workload, refuse};
use crate::program::{self, HardwareCollectives, Issue, OpId, Operation, Processors, Program};
use crate::shape::Shape;
use netloom_messaging::transit::Hops;

/// The calls available to a skeleton: a rank of a message-passing program.
///
/// A skeleton is generic over it, so that the same code runs on any implementation.
pub trait Rank: Send + Sync {
    /// An outstanding operation. It must be waited for, as in MPI; otherwise it is never freed.
    type Request: Send;

    /// The number of this rank.
    fn rank(&self) -> u32;

    /// Number of ranks of the program.
    fn ranks(&self) -> u32;

    /// Keeps the CPU busy for `ns`. Concurrent computations (joined futures) take turns.
    fn compute(&self, ns: u64) -> impl Future<Output = ()> + Send;

    /// The collective operations that its library executes by the machine's hardware unless an algorithm is
    /// named.
    fn hardware(&self) -> HardwareCollectives;

    /// Takes part in a collective operation of all ranks by the machine's hardware.
    fn collective(&self, what: program::Collective, bytes: u64) -> impl Future<Output = ()> + Send;

    /// Records the time under a key, for benchmarks.
    fn mark(&self, key: u64) -> impl Future<Output = ()> + Send;

    /// Starts to send `bytes`.
    fn isend(&self, to: u32, tag: u32, bytes: u64) -> Self::Request;

    /// Starts to receive `bytes`; `None` matches any source or tag.
    fn irecv(&self, from: Option<u32>, tag: Option<u32>, bytes: u64) -> Self::Request;

    /// Waits until an operation has finished.
    fn wait(&self, request: Self::Request) -> impl Future<Output = ()> + Send;

    /// Waits until all of them have finished. They are waited for in turn, which costs nothing: a function is
    /// polled only when the one that it waits for has finished.
    fn wait_all(&self, requests: Vec<Self::Request>) -> impl Future<Output = ()> + Send {
        async move {
            for request in requests {
                self.wait(request).await;
            }
        }
    }

    /// Sends `bytes` and waits until the buffer may be reused.
    fn send(&self, to: u32, tag: u32, bytes: u64) -> impl Future<Output = ()> + Send {
        async move { self.wait(self.isend(to, tag, bytes)).await }
    }

    /// Receives `bytes`; `None` matches any source or tag.
    fn recv(&self, from: Option<u32>, tag: Option<u32>, bytes: u64) -> impl Future<Output = ()> + Send {
        async move { self.wait(self.irecv(from, tag, bytes)).await }
    }
}

/// An operation of a [`SimulatedRank`].
#[must_use = "a request must be waited for"]
#[derive(Debug)]
pub struct Request {
    slot: u32,
}

/// The rank on which a [`Skeleton`] runs.
pub struct SimulatedRank {
    rank: u32,
    ranks: u32,
    shared: Arc<Mutex<Shared>>,
}

/// An operation's state. Its [`OpId`] is its index.
#[derive(Debug)]
enum Slot {
    Free,
    /// Not finished; `awaited` once a future waits for it.
    Running {
        awaited: bool,
        cpu: Option<u8>,
    },
    /// Finished, but not yet waited for.
    Finished,
}

/// State shared by a skeleton's function and its driver's side. Only one of them runs at a time, so the lock
/// around it is never contended; a lock is needed only because a future that is `Send` may hold nothing
/// weaker.
#[derive(Default)]
struct Shared {
    slots: Vec<Slot>,
    free: Vec<u32>,
    issued: Vec<(OpId, Operation)>,
    /// Computations by slot and length.
    processors: Processors<(u32, u64)>,
    running: u32,
    hardware: HardwareCollectives,
}

impl Shared {
    fn add(&mut self, cpu: Option<u8>) -> u32 {
        self.running += 1;
        let state = Slot::Running { awaited: false, cpu };
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = state;
                slot
            }
            None => {
                self.slots.push(state);
                (self.slots.len() - 1) as u32
            }
        }
    }

    fn issue(&mut self, operation: Operation) -> u32 {
        let slot = self.add(None);
        self.issued.push((OpId(slot), operation));
        slot
    }

    fn poll(&mut self, slot: u32) -> Poll<()> {
        match &mut self.slots[slot as usize] {
            Slot::Running { awaited, .. } => {
                *awaited = true;
                Poll::Pending
            }
            state @ Slot::Finished => {
                *state = Slot::Free;
                self.free.push(slot);
                Poll::Ready(())
            }
            Slot::Free => panic!("request {slot} was waited for twice"),
        }
    }

    /// Returns whether the function waits for it.
    fn finished(&mut self, op: OpId) -> bool {
        let slot = self.slots.get_mut(op.0 as usize).map(|slot| std::mem::replace(slot, Slot::Finished));
        let Some(Slot::Running { awaited, cpu }) = slot else {
            panic!("{op:?} is not outstanding");
        };
        self.running -= 1;
        if let Some(cpu) = cpu
            && let Some((slot, ns)) = self.processors.leave(cpu)
        {
            self.issued.push((OpId(slot), Operation::Compute { ns, cpu }));
        }
        awaited
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().expect("a skeleton that panicked is not polled again")
}

impl Rank for SimulatedRank {
    type Request = Request;

    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    async fn compute(&self, ns: u64) {
        const CPU: u8 = 0;
        let slot = {
            let mut shared = lock(&self.shared);
            if ns == 0 && shared.processors.is_idle(CPU) {
                return;
            }
            let slot = shared.add(Some(CPU));
            if shared.processors.enter(CPU, (slot, ns)).is_some() {
                shared.issued.push((OpId(slot), Operation::Compute { ns, cpu: CPU }));
            }
            slot
        };
        self.wait(Request { slot }).await;
    }

    fn hardware(&self) -> HardwareCollectives {
        lock(&self.shared).hardware
    }

    async fn collective(&self, what: program::Collective, bytes: u64) {
        let slot = lock(&self.shared).issue(Operation::Collective { what, bytes });
        self.wait(Request { slot }).await;
    }

    async fn mark(&self, key: u64) {
        let slot = lock(&self.shared).issue(Operation::Mark { key });
        self.wait(Request { slot }).await;
    }

    fn isend(&self, to: u32, tag: u32, bytes: u64) -> Request {
        assert!(to < self.ranks, "rank {} sends to rank {to} of {}", self.rank, self.ranks);
        Request { slot: lock(&self.shared).issue(Operation::Send { to, bytes, tag }) }
    }

    fn irecv(&self, from: Option<u32>, tag: Option<u32>, bytes: u64) -> Request {
        assert!(from.is_none_or(|f| f < self.ranks), "rank {} receives from {from:?}", self.rank);
        Request { slot: lock(&self.shared).issue(Operation::Receive { from, bytes, tag }) }
    }

    async fn wait(&self, request: Request) {
        std::future::poll_fn(|_| lock(&self.shared).poll(request.slot)).await;
    }
}

/// A [`Program`] made of an `async fn`.
pub struct Skeleton {
    /// `None` once it has returned.
    function: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    shared: Arc<Mutex<Shared>>,
}

impl Skeleton {
    /// Creates rank `rank` of `ranks`, which runs `function`. It does not run before [`Program::start`].
    pub fn new<F>(rank: u32, ranks: u32, function: impl FnOnce(SimulatedRank) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let shared = Arc::default();
        let function = function(SimulatedRank { rank, ranks, shared: Arc::clone(&shared) });
        Self { function: Some(Box::pin(function)), shared }
    }

    fn poll(&mut self) {
        if let Some(function) = &mut self.function {
            // The function waits only for operations, whose completion the driver reports.
            if function.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                self.function = None;
            }
        }
    }

    fn hand_over(&mut self, issue: &mut Issue) {
        for (op, operation) in lock(&self.shared).issued.drain(..) {
            issue.push(op, operation);
        }
    }
}

impl Program for Skeleton {
    fn set_hardware(&mut self, collectives: HardwareCollectives) {
        lock(&self.shared).hardware = collectives;
    }

    fn start(&mut self, issue: &mut Issue) {
        self.poll();
        self.hand_over(issue);
    }

    fn finished(&mut self, op: OpId, issue: &mut Issue) {
        let awaited = lock(&self.shared).finished(op);
        if awaited {
            self.poll();
        }
        self.hand_over(issue);
    }

    fn is_done(&self) -> bool {
        self.function.is_none() && lock(&self.shared).running == 0
    }
}

/// A skeleton as a study gives it, chosen by `program`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "program", rename_all = "kebab-case")]
pub enum SkeletonConfig {
    /// A three-dimensional fast Fourier transform.
    Fft3d(fft3d::Fft3d),
    /// An exchange of faces with the neighbours on a grid.
    Halo(halo::Halo),
    /// A wavefront sweep of discrete ordinates.
    Sweep(sweep::Sweep),
    /// One collective operation, again and again.
    Collective(collective::Collective),
}

netloom_fabric::tagged_table!(
    SkeletonConfig,
    "program",
    Kind,
    Fft3d(fft3d::Fft3d),
    Halo(halo::Halo),
    Sweep(sweep::Sweep),
    Collective(collective::Collective),
);

impl Workload for SkeletonConfig {
    fn may_be_job() -> bool {
        true
    }

    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        let key = if let Self::Collective(_) = self { "workload.ranks" } else { "workload.grid" };
        self.check().map_err(of_workload)?;
        let (ranks, nodes) = (self.ranks(), shape.nodes());
        if ranks <= nodes {
            return Ok(());
        }
        let machine = shape.words();
        refuse(
            key,
            format!("expected at most {nodes} ranks, one for each node of the {machine}, found {ranks}"),
        )
    }

    fn runs(&self) -> Runs<'_> {
        Runs::Ranks(self)
    }
}

impl Ranks for SkeletonConfig {
    fn rank_programs(&self, _: u32) -> Result<RankPrograms, ConfigError> {
        self.check().map_err(of_workload)?;
        let config = self.clone();
        let programs = move |_: &Hops| {
            let programs = config.programs().expect("it was checked").into_iter();
            programs.map(|p| Box::new(p) as Box<_>).collect()
        };
        Ok(RankPrograms {
            ranks: self.ranks(),
            messages: vec![],
            programs: Box::new(programs),
            measured: None,
        })
    }
}

impl SkeletonConfig {
    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        match self {
            Self::Fft3d(c) => c.ranks(),
            Self::Halo(c) => c.ranks(),
            Self::Sweep(c) => c.ranks(),
            Self::Collective(c) => c.ranks(),
        }
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Fft3d(c) => c.check(),
            Self::Halo(c) => c.check(),
            Self::Sweep(c) => c.check(),
            Self::Collective(c) => c.check(),
        }
    }

    /// The programs of all ranks, in order.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn programs(&self) -> Result<Vec<Skeleton>, ConfigError> {
        self.check()?;
        let ranks = self.ranks();
        Ok(match self.clone() {
            Self::Fft3d(c) => each(ranks, c, fft3d::run),
            Self::Halo(c) => each(ranks, c, halo::run),
            Self::Sweep(c) => each(ranks, c, sweep::run),
            Self::Collective(c) => each(ranks, c, collective::run),
        })
    }
}

/// One skeleton per rank, sharing one configuration.
fn each<C, F>(ranks: u32, config: C, function: impl Fn(SimulatedRank, Arc<C>) -> F) -> Vec<Skeleton>
where
    F: Future<Output = ()> + Send + 'static,
{
    let config = Arc::new(config);
    (0..ranks).map(|r| Skeleton::new(r, ranks, |rank| function(rank, Arc::clone(&config)))).collect()
}

/// Checks that a grid has at least one rank and at most as many as a rank number can express.
fn check_grid(key: &str, grid: &[u32]) -> Result<(), ConfigError> {
    let refuse = |message: String| Err(ConfigError { key: key.into(), message });
    if grid.is_empty() || grid.contains(&0) {
        return refuse(format!("expected at least one rank along each dimension, found {grid:?}"));
    }
    if grid.iter().try_fold(1u32, |product, &n| product.checked_mul(n)).is_none() {
        return refuse(format!("expected fewer than 2^32 ranks, found {grid:?}"));
    }
    Ok(())
}

/// A rank's coordinates on a grid, the first dimension fastest.
fn coordinates<const N: usize>(mut rank: u32, grid: [u32; N]) -> [u32; N] {
    grid.map(|length| {
        let c = rank % length;
        rank /= length;
        c
    })
}

/// The reverse of [`coordinates`].
fn rank_at<const N: usize>(at: [u32; N], grid: [u32; N]) -> u32 {
    (0..N).rev().fold(0, |rank, d| rank * grid[d] + at[d])
}

/// Boxes programs for the ideal network of the tests.
#[cfg(test)]
fn boxed(programs: Vec<Skeleton>) -> Vec<Box<dyn Program>> {
    programs.into_iter().map(|p| Box::new(p) as Box<dyn Program>).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ideal::{Deadlock, Ideal};
    use crate::matching::Matching;
    use crate::program::destinations;

    fn all<F>(ranks: u32, function: impl Fn(SimulatedRank) -> F) -> Vec<Box<dyn Program>>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        boxed((0..ranks).map(|r| Skeleton::new(r, ranks, &function)).collect())
    }

    #[test]
    fn ping_pong_takes_its_latencies_and_bytes() {
        let network = Ideal { latency_ns: 500, ps_per_byte: 2_000 };
        let mut programs = all(2, |rank| async move {
            for i in 0..10 {
                if rank.rank() == 0 {
                    rank.send(1, i, 100).await;
                    rank.recv(None, Some(i), 100).await;
                } else {
                    rank.recv(Some(0), None, 100).await;
                    rank.send(0, i, 100).await;
                }
            }
        });
        let finish = network.run(&mut programs).unwrap();
        assert_eq!(finish.end_ns(), 20 * (500 + 200));
        assert_eq!((finish.messages, finish.bytes), (20, 2_000));
    }

    #[test]
    fn requests_may_finish_in_any_order() {
        let mut programs = all(4, |rank| async move {
            let (me, n) = (rank.rank(), rank.ranks());
            let mut requests: Vec<_> = (0..n).map(|r| rank.irecv(Some(r), Some(1), 8)).collect();
            rank.compute(u64::from(me) * 10).await;
            requests.extend((0..n).map(|r| rank.isend(r, 1, 8)));
            requests.reverse();
            rank.wait_all(requests).await;
        });
        let finish = Ideal::default().run(&mut programs).unwrap();
        assert_eq!(finish.ranks_ps, [30_000; 4]);
    }

    #[test]
    fn names_are_used_again() {
        let skeleton = Skeleton::new(0, 1, |rank| async move {
            for _ in 0..1000 {
                let request = rank.irecv(None, None, 1);
                rank.send(0, 0, 1).await;
                rank.wait(request).await;
            }
        });
        let shared = Arc::clone(&skeleton.shared);
        Ideal::default().run(&mut [Box::new(skeleton)]).unwrap();
        assert_eq!(shared.lock().unwrap().slots.len(), 2);
    }

    #[test]
    fn a_function_may_end_before_its_operations() {
        let mut program = Skeleton::new(0, 1, |rank| async move {
            let _ = rank.isend(0, 0, 8);
        });
        let mut issue = Issue::new();
        program.start(&mut issue);
        assert!(!program.is_done());
        program.finished(OpId(0), &mut issue);
        assert!(program.is_done());
    }

    #[test]
    fn computations_of_one_rank_take_turns() {
        struct Both<F>(Vec<Pin<Box<F>>>);
        impl<F: Future<Output = ()>> Future for Both<F> {
            type Output = ();
            fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
                self.0.retain_mut(|f| f.as_mut().poll(context).is_pending());
                if self.0.is_empty() { Poll::Ready(()) } else { Poll::Pending }
            }
        }
        let program = Skeleton::new(0, 1, |rank| async move {
            Both([70, 0, 30].into_iter().map(|ns| Box::pin(rank.compute(ns))).collect()).await;
        });
        assert_eq!(Ideal::default().run(&mut [Box::new(program)]).unwrap().end_ns(), 100);
    }

    #[test]
    fn a_deadlock_names_the_ranks_and_what_they_wait_for() {
        let mut programs = all(3, |rank| async move {
            let me = rank.rank();
            if me < 2 {
                rank.recv(Some(1 - me), Some(7), 8).await;
                rank.send(1 - me, 7, 8).await;
            }
        });
        let stuck = vec![(0, vec![(Some(1), Some(7))]), (1, vec![(Some(0), Some(7))])];
        assert_eq!(Ideal::default().run(&mut programs).unwrap_err(), Deadlock { stuck });
    }

    #[test]
    fn a_study_names_its_skeleton() {
        let config: SkeletonConfig = serde_json::from_str(r#"{"program": "halo", "grid": [2, 2]}"#).unwrap();
        assert_eq!(config.ranks(), 4);
        let error =
            serde_json::from_str::<SkeletonConfig>(r#"{"program": "halo", "gird": [2, 2]}"#).unwrap_err();
        assert!(error.to_string().contains("gird"), "{error}");
        let config = SkeletonConfig::Sweep(sweep::Sweep { grid: [0, 4], ..Default::default() });
        assert_eq!(config.programs().err().unwrap().key, "grid");
    }

    #[test]
    fn an_idle_rank_is_small() {
        fn bytes<C: Default, F>(function: impl Fn(SimulatedRank, Arc<C>) -> F) -> usize {
            let rank = SimulatedRank { rank: 0, ranks: 1, shared: Arc::default() };
            let adapter = size_of::<Skeleton>() + size_of::<Mutex<Shared>>();
            adapter + size_of_val(&function(rank, Arc::default())) + size_of::<Matching<OpId, u32>>()
        }
        let sizes = [bytes(fft3d::run), bytes(halo::run), bytes(sweep::run)];
        eprintln!("{sizes:?}");
        assert!(sizes.into_iter().all(|bytes| bytes <= 2048), "{sizes:?}");
    }

    #[test]
    fn thousands_of_ranks_run() {
        let halo = halo::Halo { grid: vec![16; 3], ..Default::default() };
        let mut programs = boxed(SkeletonConfig::Halo(halo).programs().unwrap());
        let finish = Ideal { latency_ns: 1, ps_per_byte: 1_000 }.run(&mut programs).unwrap();
        assert_eq!(finish.end_ns(), 10 * (100_000 + 32_768 + 1));
        let fft = fft3d::Fft3d { points: [256; 3], grid: [16; 3], ..Default::default() };
        let mut programs = boxed(SkeletonConfig::Fft3d(fft).programs().unwrap());
        assert_eq!(Ideal::default().run(&mut programs).unwrap().messages, 4096 * 6 * 15);
    }

    #[test]
    fn coordinates_and_ranks() {
        let grid = [3, 4, 5];
        assert_eq!(coordinates(3, grid), [0, 1, 0]);
        assert!((0..60).all(|r| rank_at(coordinates(r, grid), grid) == r));
    }

    #[test]
    fn destinations_are_found_behind_all_that_a_program_waits_for() {
        let mut program = Skeleton::new(3, 8, |rank| async move {
            rank.recv(None, None, 64).await;
            rank.send(7, 0, 64).await;
            for i in 0..4 {
                rank.compute(1_000).await;
                rank.wait(rank.irecv(Some(i), Some(0), 8)).await;
                rank.send(i % 2, 0, 64).await;
            }
        });
        assert_eq!(destinations(&mut program), [0, 1, 7].into());
        assert!(program.is_done());
        assert!(destinations(&mut Skeleton::new(0, 1, |_| async {})).is_empty());
    }
}
