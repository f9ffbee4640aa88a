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
use neighbours::{Neighbours, Protocol};
use netloom_fabric::config::ConfigError;
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::config::MessagingConfig;
use netloom_messaging::mpi::{Costs, Library, Rank, Ranks, Threads};
use netloom_messaging::pami::context::Limits;
use netloom_messaging::pami::{Costs as PamiCosts, Placement};
use netloom_messaging::spi::Spi;
use netloom_nic::message_unit::MessageUnit;
use netloom_node::nodes::ProcessOf;
use schemars::JsonSchema;
use serde::Serialize;
use std::future::Future;
use std::pin::Pin;

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

netloom_fabric::tagged_table!(
    MpiProgram,
    "program",
    Kind,
    Latency(Latency),
    Neighbours(Neighbours),
    MessageRate(MessageRate),
    Collective(Collective),
);

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
            MpiProgram::Neighbours(c) => c.check(shape.lengths()),
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

    /// The ranks on a torus.
    pub fn job(&self, torus: &Torus, messaging: &MessagingConfig, ticks_per_second: u64) -> Job {
        let nodes = match self {
            MpiProgram::Latency(_) => vec![0, 1],
            MpiProgram::Neighbours(_) => [0].into_iter().chain(neighbours_of_first(torus)).collect(),
            MpiProgram::MessageRate(_) | MpiProgram::Collective(_) => (0..torus.nodes()).collect(),
        };
        let processes = self.ranks();
        let placement = Placement { tasks: nodes.len() as u32 * u32::from(processes), nodes, processes };
        let has_collectives = matches!(self, MpiProgram::MessageRate(_) | MpiProgram::Collective(_));
        let (pami, mpi) = (messaging.pami.unwrap_or_default(), messaging.mpi.unwrap_or_default());
        let eager_max_bytes = match self {
            MpiProgram::Neighbours(c) if c.protocol == Protocol::Rendezvous => Some(0),
            MpiProgram::Neighbours(_) => None,
            _ => messaging.eager_max_B,
        };
        let rendezvous_from_bytes = eager_max_bytes.map_or(u64::MAX, |bytes| bytes + 1);
        let costs = (Costs::new(&mpi, &pami, ticks_per_second), PamiCosts::new(&pami, ticks_per_second));
        let limits = Limits { rendezvous_from_bytes, ..Limits::default() };
        let ranks = Ranks::new(placement, self.library(), costs, limits);
        let ranks = if has_collectives { ranks.with_collectives(torus) } else { ranks };
        Job { ranks, neighbours: neighbours_of_first(torus) }
    }

    /// What a rank does; `neighbours` are those of node 0.
    fn program(&self, rank: Rank, neighbours: &[u32]) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match self.clone() {
            MpiProgram::Latency(c) => Box::pin(latency::run(rank, c)),
            MpiProgram::Neighbours(c) => Box::pin(neighbours::run(rank, c)),
            MpiProgram::MessageRate(c) => Box::pin(message_rate::run(rank, c, neighbours.to_vec())),
            MpiProgram::Collective(c) => Box::pin(collective::run(rank, c)),
        }
    }

    /// A hardware thread of a node: those of a node are made one after the other.
    pub fn hardware_thread(&self, job: &mut Job, spi: Spi) -> Box<ProcessOf<MessageUnit>> {
        job.ranks.hardware_thread(spi, |rank| self.program(rank, &job.neighbours))
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

/// The ranks of a run.
pub struct Job {
    ranks: Ranks,
    /// The neighbours of node 0.
    neighbours: Vec<u32>,
}

impl Job {
    /// Hardware threads of a node that are in use.
    pub fn hardware_threads(&self) -> u32 {
        self.ranks.hardware_threads()
    }
}
