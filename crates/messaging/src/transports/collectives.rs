//! PAMI's collective operations of ranks on Message Units, one rank a node.

use crate::config::PamiConfig;
use crate::pami::device::{Collective as Operation, Combine, Operation as Words, Range, Ticket};
use crate::pami::message_unit::collective::group::{Group, Members};
use crate::pami::message_unit::collective::{Collectives, RECTANGLE_FROM_B};
use crate::pami::message_unit::memory::ProcessMemory;
use crate::pami::message_unit::{Costs, Placement};
use crate::program::Collective;
use crate::spi::device::UnitDevice;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::message_unit::commands::Watch;
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
}

impl OfProgram {
    /// For ranks on these nodes; `None` if they are not a box of the torus.
    pub fn new(nodes: &[u32], torus: &Torus, config: &PamiConfig, ticks_per_second: u64) -> Option<Self> {
        let placement = Placement { nodes: nodes.into(), processes: 1, tasks: nodes.len() as u32 };
        let members = Members::of_job(&placement, torus)?;
        Some(OfProgram {
            placement: Arc::new(placement),
            members,
            costs: Costs::new(config, ticks_per_second),
        })
    }
}

/// The collective operations of a rank, one after the other.
pub struct RankCollectives {
    collectives: Collectives,
    group: usize,
    ended: VecDeque<Ticket>,
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
        RankCollectives { collectives, group, ended: VecDeque::new() }
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
