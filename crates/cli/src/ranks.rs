//! One machine by the processes of an MPI job: `mpiexec -n 4 netloom run study.toml`. The feature `mpi`, on the
//! crate of that name, which is built for the MPI that `mpicc` belongs to.
#![allow(unsafe_code)]

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::request;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use netloom_engine::Peers;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The tag of all messages: those of two processes arrive in the order in which they were sent.
const TAG: i32 = 1;

/// The processes of an MPI job.
#[derive(Debug)]
pub struct Ranks {
    rank: usize,
    count: usize,
    world: Mutex<Serialized>,
}

/// A communicator that one thread at a time uses.
struct Serialized(SimpleCommunicator);

// SAFETY: MPI was started with MPI_THREAD_SERIALIZED, so any thread may call it, one at a time; the communicator
// is behind a lock, and is only a handle.
unsafe impl Send for Serialized {}

impl std::fmt::Debug for Serialized {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("MPI_COMM_WORLD")
    }
}

/// An MPI job that this process takes part in.
pub struct Job {
    universe: ManuallyDrop<Universe>,
    /// Its processes.
    pub ranks: Arc<Ranks>,
}

impl Job {
    /// Takes part in the job that started this process.
    ///
    /// # Errors
    /// If MPI cannot be used from several threads in turn.
    pub fn start() -> Result<Self, String> {
        let (universe, level) = mpi::initialize_with_threading(Threading::Serialized)
            .ok_or("MPI has been started in this process before")?;
        if level < Threading::Serialized {
            return Err(format!("this MPI is for one thread ({level:?}); MPI_THREAD_SERIALIZED is needed"));
        }
        let world = universe.world();
        let [rank, count] = [world.rank(), world.size()].map(|number| number as usize);
        let ranks = Ranks { rank, count, world: Mutex::new(Serialized(world)) };
        Ok(Job { universe: ManuallyDrop::new(universe), ranks: Arc::new(ranks) })
    }

    /// Ends this process's part, with all others. A process that fails does not call it: MPI would wait for the
    /// others, which wait for this one. Its status makes the launcher end them.
    pub fn finish(self) {
        drop(ManuallyDrop::into_inner(self.universe));
    }
}

impl Ranks {
    fn world(&self) -> MutexGuard<'_, Serialized> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Peers for Ranks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn exchange(&self, with: &[usize], bytes: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let world = &self.world().0;
        request::multiple_scope(with.len(), |scope, sends| {
            for (&to, bytes) in with.iter().zip(&bytes) {
                sends.add(world.process_at_rank(to as i32).immediate_send_with_tag(scope, &bytes[..], TAG));
            }
            let receive = |&from: &usize| world.process_at_rank(from as i32).receive_vec_with_tag(TAG).0;
            let received = with.iter().map(receive).collect();
            let mut done = vec![];
            sends.wait_all(&mut done);
            received
        })
    }

    fn least(&self, own: [u64; 2]) -> [u64; 2] {
        let mut all = own;
        self.world().0.all_reduce_into(&own[..], &mut all[..], SystemOperation::min());
        all
    }

    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        let world = &self.world().0;
        let mut lengths = vec![0u64; self.count];
        world.all_gather_into(&(own.len() as u64), &mut lengths[..]);
        let total: u64 = lengths.iter().sum();
        assert!(
            total < 1 << 31,
            "the results of all processes have {total} B, more than MPI's counts can say"
        );
        let counts: Vec<i32> = lengths.iter().map(|&length| length as i32).collect();
        let begins: Vec<i32> =
            counts.iter().scan(0, |sum, &count| Some(std::mem::replace(sum, *sum + count))).collect();
        let mut all = vec![0u8; total as usize];
        world.all_gather_varcount_into(&own[..], &mut PartitionMut::new(&mut all[..], counts, begins));
        let mut rest = &all[..];
        lengths.iter().filter_map(|&length| rest.split_off(..length as usize)).map(<[u8]>::to_vec).collect()
    }
}
