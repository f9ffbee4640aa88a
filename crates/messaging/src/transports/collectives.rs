//! PAMI's collective operations of ranks on Message Units, one rank a node.

use crate::config::MessagingConfig;
use crate::mpi::Costs as MpiCosts;
use crate::pami::device::{Collective as Operation, Combine, Operation as Words, Range, Step, Ticket};
use crate::pami::message_unit::collective::group::{Group, Members};
use crate::pami::message_unit::collective::{Collectives, RECTANGLE_FROM_B};
use crate::pami::message_unit::memory::ProcessMemory;
use crate::pami::{Costs, Placement};
use crate::program::Collective;
use crate::spi::device::UnitDevice;
use netloom_fabric::topology::torus::Torus;
use netloom_mpi::transport::Step as MpiStep;
use netloom_nic::message_unit::commands::Watch;
use netloom_node::time::Microticks;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The class of all ranks.
const CLASS: u8 = 0;

const SUM: Combine = Combine { operation: Words::AddDouble, word_B: 8 };

/// What the ranks of a program share for their collective operations.
pub struct OfProgram {
    placement: Arc<Placement>,
    members: Members,
    costs: Costs,
    /// Whether the machine sets the times of PAMI's steps.
    has_times: bool,
}

impl OfProgram {
    /// For ranks on these nodes; `None` if they are not a box of the torus.
    pub fn new(
        nodes: &[u32],
        torus: &Torus,
        config: &MessagingConfig,
        ticks_per_second: u64,
    ) -> Option<Self> {
        let placement = Placement { nodes: nodes.into(), processes: 1, tasks: nodes.len() as u32 };
        let members = Members::of_job(&placement, torus)?;
        let (pami, mpi) = (config.pami.unwrap_or_default(), config.mpi.unwrap_or_default());
        let mpi = MpiCosts::new(&mpi, &pami, ticks_per_second);
        let costs = Costs::new(&pami, ticks_per_second).with_mpi(mpi);
        Some(OfProgram { placement: Arc::new(placement), members, costs, has_times: config.pami.is_some() })
    }
}

/// The collective operations of a rank, one after the other.
pub struct RankCollectives {
    collectives: Collectives,
    group: usize,
    ended: VecDeque<Ticket>,
    costs: Option<Costs>,
}

impl RankCollectives {
    /// Those of the rank of a node.
    ///
    /// # Panics
    /// If it has none.
    pub fn new(device: &UnitDevice, program: &OfProgram) -> Self {
        let group = Group::new(&program.members, CLASS, device).expect("a rank's node");
        let memory = Arc::new(Mutex::new(ProcessMemory::new(device.clone(), None)));
        let mut collectives = Collectives::default();
        let group = collectives.add(group, device, &program.placement, &program.costs, &memory);
        let costs = program.has_times.then(|| program.costs.clone());
        RankCollectives { collectives, group, ended: VecDeque::new(), costs }
    }

    /// The time of PAMI's instructions and MPI's for an operation, if the machine sets it.
    pub(super) fn time(&self, what: Collective) -> Option<Microticks> {
        let costs = self.costs.as_ref()?;
        let own = costs.of(Step::Mpi(MpiStep::Collective.to_number())) + costs.of(Step::Collective);
        Some(match what {
            Collective::Barrier | Collective::Broadcast => own,
            Collective::Reduce | Collective::Allreduce => own + costs.of(Step::Reduction),
        })
    }

    /// Begins an operation on data that goes out of one buffer and into another.
    pub(super) fn begin(&mut self, what: Collective, bytes: u64, [from, into]: [u64; 2]) {
        // Words of 8 B.
        let bytes = bytes.next_multiple_of(8);
        let [source, target] = [from, into].map(|address| Range { address, bytes });
        let operation = match what {
            Collective::Barrier => Operation::Barrier,
            Collective::Broadcast if bytes < RECTANGLE_FROM_B => {
                Operation::Broadcast { root: 0, data: target }
            }
            Collective::Broadcast => Operation::Rectangle { root: 0, data: target },
            // The program is the only group of its nodes.
            Collective::Reduce => Operation::Reduce { root: 0, source, target, combine: SUM },
            Collective::Allreduce => Operation::Allreduce { source, target, combine: SUM },
        };
        self.collectives.begin(self.group, 0, operation);
        self.collectives.advance(&mut self.ended);
    }

    /// Makes progress; returns whether the operation has ended.
    pub(super) fn advance(&mut self) -> bool {
        self.collectives.advance(&mut self.ended);
        self.ended.pop_front().is_some()
    }

    /// The conditions under which there is more to do.
    pub(super) fn watches(&self) -> SmallVec<[Watch; 2]> {
        self.collectives.watches()
    }
}
