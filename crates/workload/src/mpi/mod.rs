//! Programs of MPI over PAMI, on the nodes of a machine with Message Units: the benchmarks of the PAMI paper
//! (Kumar et al., section V) for MPI, as it describes them.

pub mod collective;
pub mod latency;
pub mod message_rate;
pub mod neighbours;

use crate::config::{Machines, Runs, Workload, of_workload};
use crate::measured::Measured;
use crate::pami::{neighbours_of_first, refuse};
use crate::processes::Measurements;
use crate::shape::Shape;
use collective::Collective;
use latency::Latency;
use message_rate::MessageRate;
use neighbours::Neighbours;
use netloom_fabric::config::ConfigError;
use netloom_fabric::config::tagged::{Tagged, tagged};
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::config::MessagingConfig;
use netloom_messaging::mpi::{Costs, HardwareThread, Library, Process, Rank, Threads, run_communication_thread};
use netloom_messaging::pami::context::Limits;
use netloom_messaging::pami::message_unit::collective::group::Members;
use netloom_messaging::pami::message_unit::{Costs as PamiCosts, Placement};
use netloom_messaging::spi::Spi;
use netloom_nic::message_unit::MessageUnit;
use netloom_node::nodes::ProcessOf;
use netloom_node::program::Program;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Configuration of such a program, chosen by `program`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "program", rename_all = "kebab-case")]
pub enum MpiProgram {
    /// A message to and fro between two neighbours.
    Latency(Latency),
    /// A node and its neighbours send to each other, all at once.
    Neighbours(Neighbours),
    /// The ranks of a node exchange short messages with ranks of its neighbours.
    MessageRate(MessageRate),
    /// All ranks take part in a collective operation, again and again.
    Collective(Collective),
}

/// The values of `program`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
#[doc(hidden)]
pub enum Kind {
    Latency,
    Neighbours,
    MessageRate,
    Collective,
}

impl<'de> Tagged<'de> for MpiProgram {
    const TAG: &'static str = "program";
    type Kind = Kind;

    fn of<D: Deserializer<'de>>(program: Kind, rest: D) -> Result<Self, D::Error> {
        match program {
            Kind::Latency => Latency::deserialize(rest).map(Self::Latency),
            Kind::Neighbours => Neighbours::deserialize(rest).map(Self::Neighbours),
            Kind::MessageRate => MessageRate::deserialize(rest).map(Self::MessageRate),
            Kind::Collective => Collective::deserialize(rest).map(Self::Collective),
        }
    }
}

impl<'de> Deserialize<'de> for MpiProgram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer)
    }
}

impl Workload for MpiProgram {
    fn machines() -> Machines {
        Machines::Tori
    }

    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        if shape.lengths().iter().product::<u32>() < 2 {
            return refuse("program", "a program of MPI needs two nodes").map_err(of_workload);
        }
        match self {
            MpiProgram::Latency(c) => c.check(),
            MpiProgram::Neighbours(c) => c.exchange.check(shape.lengths()),
            MpiProgram::MessageRate(c) => c.check(shape.lengths()),
            MpiProgram::Collective(c) => c.check(),
        }
        .and_then(|()| self.check_threads())
        .map_err(of_workload)
    }

    fn runs(&self) -> Runs<'_> {
        Runs::OnInterface(self)
    }
}

/// The group of all ranks has this class.
const CLASS: u8 = 0;

impl MpiProgram {
    fn library(&self) -> Library {
        match self {
            MpiProgram::Latency(c) => Library { locking: c.locking, threads: c.threads },
            MpiProgram::Neighbours(_) => Library::default(),
            MpiProgram::MessageRate(c) => Library { locking: c.locking, threads: c.threads },
            MpiProgram::Collective(c) => Library { locking: c.locking, threads: c.threads },
        }
    }

    fn check_threads(&self) -> Result<(), ConfigError> {
        let has_threads = self.library().threads == Threads::Communication;
        if has_threads && self.library().communication_threads(self.ranks()) == 0 {
            let ranks = self.ranks();
            let message = format!("a node with {ranks} ranks has no hardware thread for communication");
            return refuse("threads", &message);
        }
        Ok(())
    }

    /// Ranks of a node.
    fn ranks(&self) -> u8 {
        match self {
            MpiProgram::Latency(_) | MpiProgram::Neighbours(_) => 1,
            MpiProgram::MessageRate(c) => c.processes as u8,
            MpiProgram::Collective(c) => c.processes as u8,
        }
    }

    /// Hardware threads of a node that are in use.
    pub fn hardware_threads(&self) -> u32 {
        let ranks = self.ranks();
        u32::from(ranks) * (1 + u32::from(self.library().communication_threads(ranks)))
    }

    /// The ranks on a torus.
    pub fn job(&self, torus: &Torus, messaging: &MessagingConfig, ticks_per_second: u64) -> Job {
        let nodes = match self {
            MpiProgram::Latency(_) => vec![0, 1],
            MpiProgram::Neighbours(_) => [0].into_iter().chain(neighbours_of_first(torus)).collect(),
            MpiProgram::MessageRate(_) | MpiProgram::Collective(_) => (0..torus.nodes()).collect(),
        };
        let ranks = self.ranks();
        let placement = Placement { tasks: nodes.len() as u32 * u32::from(ranks), nodes, processes: ranks };
        let has_collectives = matches!(self, MpiProgram::MessageRate(_) | MpiProgram::Collective(_));
        let all = if has_collectives { Members::of_job(&placement, torus) } else { None };
        let (pami, mpi) = (messaging.pami.unwrap_or_default(), messaging.mpi.unwrap_or_default());
        let eager = match self {
            MpiProgram::Neighbours(c) if c.is_rendezvous => Some(0),
            MpiProgram::Neighbours(_) => None,
            _ => messaging.eager_max_B,
        };
        Job {
            placement: Arc::new(placement),
            all: all.map(Arc::new),
            costs: Costs::new(&mpi, &pami, ticks_per_second),
            pami: PamiCosts::new(&pami, ticks_per_second),
            limits: Limits {
                rendezvous_from_bytes: eager.map_or(u64::MAX, |bytes| bytes + 1),
                ..Limits::default()
            },
            neighbours: neighbours_of_first(torus),
            of_node: vec![],
        }
    }

    /// A hardware thread of a node: those of a node are made one after the other.
    pub fn hardware_thread(&self, job: &mut Job, spi: Spi) -> Box<ProcessOf<MessageUnit>> {
        let (place, ranks) = (usize::from(spi.process()), usize::from(self.ranks()));
        if place == 0 {
            job.of_node.clear();
        }
        if place >= ranks {
            let (rank, thread) = (place % ranks, place / ranks);
            return match job.of_node.get(rank) {
                Some(of) => {
                    let runs = run_communication_thread(Arc::clone(of), thread);
                    Box::new(HardwareThread::new(of, thread, runs))
                }
                None => Box::new(Program::new(spi.core(), async {})),
            };
        }
        if job.placement.task(spi.node(), spi.process()).is_none() {
            return Box::new(Program::new(spi.core(), async {}));
        }
        let costs = (job.costs, &job.pami);
        let process = Process::new(&spi, &job.placement, self.library(), costs, job.limits);
        job.of_node.push(Arc::clone(&process));
        let program = self.program(&process, job);
        Box::new(HardwareThread::new(&process, 0, program))
    }

    /// What the rank of a process does.
    fn program(&self, process: &Arc<Process>, job: &Job) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let team = job.all.as_ref().map(|all| process.join(all, CLASS));
        let rank = Rank::new(process, team);
        match self.clone() {
            MpiProgram::Latency(c) => Box::pin(latency::run(rank, c)),
            MpiProgram::Neighbours(c) => Box::pin(neighbours::run(rank, c)),
            MpiProgram::MessageRate(c) => Box::pin(message_rate::run(rank, c, job.neighbours.clone())),
            MpiProgram::Collective(c) => Box::pin(collective::run(rank, c)),
        }
    }

    /// The measurements of all ranks, in their order; a tick is `tick_ns` long.
    pub fn measured(&self, measurements: &Measurements, tick_ns: f64) -> Measured {
        match self {
            MpiProgram::Latency(c) => latency::measured(c, measurements, tick_ns),
            MpiProgram::Neighbours(c) => neighbours::measured(c, measurements, tick_ns),
            MpiProgram::MessageRate(c) => message_rate::measured(c, measurements, tick_ns),
            MpiProgram::Collective(c) => collective::measured(c, measurements, tick_ns),
        }
    }
}

/// What the ranks of a run share.
pub struct Job {
    placement: Arc<Placement>,
    /// The group of all ranks, where there are collective operations.
    all: Option<Arc<Members>>,
    costs: Costs,
    pami: PamiCosts,
    limits: Limits,
    /// The neighbours of node 0.
    neighbours: Vec<u32>,
    /// The ranks of the node that is being made.
    of_node: Vec<Arc<Process>>,
}
