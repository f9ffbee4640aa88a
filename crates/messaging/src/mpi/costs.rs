//! How long the steps of MPI's software take, besides those of PAMI.

use crate::config::{MpiConfig, PamiConfig};
use netloom_mpi::transport::Step;
use netloom_node::time::Microticks;

/// The times of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    send: Microticks,
    receive: Microticks,
    search: Microticks,
    element: Microticks,
    complete: Microticks,
    free: Microticks,
    collective: Microticks,
    handle: Microticks,
    /// An atomic operation of the L2, or a load of a line that another core has written.
    pub atomic: Microticks,
    /// A synchronization of memory: all stores have reached the L2, which takes as long as a load from there
    /// **(ours)**.
    pub synchronize: Microticks,
    /// A poll of a context that finds nothing.
    pub poll: Microticks,
}

impl Costs {
    /// Those of a machine with this number of ticks per second.
    pub fn new(mpi: &MpiConfig, pami: &PamiConfig, ticks_per_second: u64) -> Self {
        let of = |ns: f64| Microticks::of_f64(ns * ticks_per_second as f64 * 1e6 / 1e9);
        Costs {
            send: of(mpi.send_ns),
            receive: of(mpi.receive_ns),
            search: of(mpi.search_ns),
            element: of(mpi.element_ns),
            complete: of(mpi.complete_ns),
            free: of(mpi.free_ns),
            collective: of(mpi.collective_ns),
            handle: of(mpi.handle_ns),
            atomic: of(pami.atomic_ns),
            synchronize: of(pami.atomic_ns),
            poll: of(pami.poll_ns),
        }
    }

    /// The duration of a step.
    pub fn of(&self, step: Step) -> Microticks {
        match step {
            Step::Send => self.send,
            Step::Receive => self.receive,
            Step::Search(elements) => self.search + self.element * u64::from(elements),
            Step::Complete => self.complete,
            Step::Collective => self.collective,
            Step::Handle => self.handle,
            Step::Free => self.free,
        }
    }
}
