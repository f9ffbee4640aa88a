//! The ranks of a job, made node by node, each with its hardware threads.

use super::communication_thread::run;
use super::costs::Costs;
use super::library::Library;
use super::process::{HardwareThread, Process};
use super::rank::Rank;
use crate::pami::context::Limits;
use crate::pami::message_unit::collective::group::Members;
use crate::pami::{Costs as PamiCosts, Placement};
use crate::spi::Spi;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::message_unit::MessageUnit;
use netloom_node::nodes::ProcessOf;
use netloom_node::program::Program;
use std::future::Future;
use std::sync::Arc;

/// The group of all ranks has this class.
const CLASS: u8 = 0;

/// The ranks of a job.
pub struct Ranks {
    /// Where they run.
    placement: Arc<Placement>,
    library: Library,
    /// How long its steps take, and those of PAMI.
    costs: (Costs, PamiCosts),
    limits: Limits,
    /// Where all ranks are, if they have collectives by the network.
    all: Option<Members>,
    of_node: Vec<Arc<Process>>,
}

impl Ranks {
    /// Those of a placement, without collectives.
    pub fn new(placement: Placement, library: Library, costs: (Costs, PamiCosts), limits: Limits) -> Self {
        Ranks { placement: Arc::new(placement), library, costs, limits, all: None, of_node: vec![] }
    }

    /// The same with collectives by the network, if the ranks can be a group there.
    #[must_use]
    pub fn with_collectives(self, torus: &Torus) -> Self {
        Ranks { all: Members::of_job(&self.placement, torus), ..self }
    }

    /// Hardware threads of a node that are in use.
    pub fn hardware_threads(&self) -> u32 {
        let ranks = self.placement.processes;
        u32::from(ranks) * (1 + u32::from(self.library.communication_threads(ranks)))
    }

    /// The next hardware thread of a node: those of a node are made one after the other. `program` is what a
    /// rank does.
    pub fn hardware_thread<F>(
        &mut self,
        spi: Spi,
        program: impl FnOnce(Rank) -> F,
    ) -> Box<ProcessOf<MessageUnit>>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (place, ranks) = (usize::from(spi.process()), usize::from(self.placement.processes));
        if place == 0 {
            self.of_node.clear();
        }
        let rank = place % ranks;
        if place == rank && self.placement.task(spi.node(), spi.process()).is_some() {
            let costs = (self.costs.0, &self.costs.1);
            let process = Process::new(&spi, &self.placement, self.library, costs, self.limits);
            self.of_node.push(Arc::clone(&process));
            let team = self.all.as_ref().map(|all| process.join(all, CLASS));
            return Box::new(HardwareThread::new(&process, 0, program(Rank::new(&process, team))));
        }
        match self.of_node.get(rank) {
            Some(of) => {
                let thread = place / ranks;
                Box::new(HardwareThread::new(of, thread, run(Arc::clone(of), thread)))
            }
            None => Box::new(Program::new(spi.core(), async {})),
        }
    }
}
