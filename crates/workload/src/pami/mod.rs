//! Programs on PAMI, on the nodes of a machine with Message Units: the benchmarks of the PAMI paper (Kumar et
//! al., section V), as it describes them.

pub mod collective;
pub mod latency;
pub mod message_rate;
pub mod neighbours;
pub mod one_sided;

use crate::config::{Machines, Runs, Workload, of_workload};
use crate::measured::Measured;
use crate::processes::Measurements;
use crate::shape::Shape;
use collective::Collective;
use latency::Latency;
use message_rate::MessageRate;
use neighbours::Neighbours;
use netloom_fabric::config::ConfigError;
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::config::{MessagingConfig, PamiConfig};
use netloom_messaging::pami::context::{Event, Limits};
use netloom_messaging::pami::message_unit::collective::group::Members;
use netloom_messaging::pami::task::Task;
use netloom_messaging::pami::{Costs, Placement};
use netloom_messaging::spi::Spi;
use one_sided::OneSided;
use schemars::JsonSchema;
use serde::Serialize;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Configuration of such a program, chosen by `program`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "program", rename_all = "kebab-case")]
pub enum PamiProgram {
    /// A message to and fro between two neighbours, by each kind of send.
    Latency(Latency),
    /// A node and its neighbours send to each other, all at once.
    Neighbours(Neighbours),
    /// The processes of a node send short messages to processes of its neighbours.
    MessageRate(MessageRate),
    /// All tasks take part in a collective operation, again and again.
    Collective(Collective),
    /// A task reads another's memory and writes it.
    OneSided(OneSided),
}

netloom_fabric::tagged_table!(
    PamiProgram,
    "program",
    Kind,
    Latency(Latency),
    Neighbours(Neighbours),
    MessageRate(MessageRate),
    Collective(Collective),
    OneSided(OneSided),
);

impl Workload for PamiProgram {
    fn machines() -> Machines {
        Machines::Tori
    }

    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        if shape.lengths().iter().product::<u32>() < 2 {
            let message = "a program on PAMI needs two nodes".into();
            return Err(of_workload(ConfigError { key: "program".into(), message }));
        }
        match self {
            PamiProgram::Latency(c) => c.check(),
            PamiProgram::Neighbours(c) => c.check(shape.lengths()),
            PamiProgram::MessageRate(c) => c.check(),
            PamiProgram::Collective(c) => c.check(),
            PamiProgram::OneSided(c) => c.check(shape.nodes()),
        }
        .map_err(of_workload)
    }

    fn runs(&self) -> Runs<'_> {
        Runs::OnInterface(self)
    }
}

/// What the tasks of a run share.
#[derive(Clone)]
pub struct Job {
    placement: Arc<Placement>,
    /// The group of all tasks, where there are collective operations.
    all: Option<Arc<Members>>,
    costs: Costs,
    limits: Limits,
}

/// An error of a key.
pub(crate) fn refuse(key: &str, message: &str) -> Result<(), ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into() })
}

impl PamiProgram {
    /// Processes on a node.
    pub fn processes(&self) -> u32 {
        match self {
            PamiProgram::Latency(_) | PamiProgram::Neighbours(_) | PamiProgram::OneSided(_) => 1,
            PamiProgram::MessageRate(c) => c.processes,
            PamiProgram::Collective(c) => c.processes,
        }
    }

    /// The tasks on a torus.
    pub fn job(&self, torus: &Torus, messaging: &MessagingConfig, ticks_per_second: u64) -> Job {
        let nodes = match self {
            PamiProgram::Latency(_) => vec![0, 1],
            PamiProgram::Neighbours(_) | PamiProgram::MessageRate(_) => {
                [0].into_iter().chain(neighbours_of_first(torus)).collect()
            }
            PamiProgram::Collective(_) => (0..torus.nodes()).collect(),
            PamiProgram::OneSided(c) => vec![0, c.to],
        };
        let (tasks, processes) = (nodes.len() as u32 * self.processes(), self.processes() as u8);
        let placement = Placement { nodes, processes, tasks };
        let all = match self {
            PamiProgram::Collective(_) => Members::of_job(&placement, torus),
            _ => None,
        };
        let pami: PamiConfig = messaging.pami.unwrap_or_default();
        let rendezvous_from_bytes = messaging.eager_max_B.map_or(u64::MAX, |bytes| bytes + 1);
        Job {
            placement: Arc::new(placement),
            all: all.map(Arc::new),
            costs: Costs::new(&pami, ticks_per_second),
            limits: Limits { rendezvous_from_bytes, ..Limits::default() },
        }
    }

    /// The program of a process.
    pub fn program(&self, spi: Spi, job: &Job) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        if job.placement.task(spi.node(), spi.process()).is_none() {
            return Box::pin(async {});
        }
        match self {
            PamiProgram::Latency(c) => Box::pin(latency::run(job.task(&spi), c.clone())),
            PamiProgram::Neighbours(c) => Box::pin(neighbours::run(spi, job.clone(), c.clone())),
            PamiProgram::OneSided(c) => Box::pin(one_sided::run(job.task(&spi), c.clone())),
            PamiProgram::MessageRate(c) => {
                Box::pin(message_rate::run(job.task(&spi), c.clone(), job.placement.nodes.len() as u32))
            }
            PamiProgram::Collective(c) => {
                let (task, config, job) = (job.task(&spi), c.clone(), job.clone());
                Box::pin(async move {
                    let all = job.all.as_ref().expect("the whole machine is a box");
                    collective::run(task, config, &job.placement, all).await;
                })
            }
        }
    }

    /// The measurements of all processes, in their order; a tick is `tick_ns` long.
    pub fn measured(&self, measurements: &Measurements, tick_ns: f64) -> Measured {
        match self {
            PamiProgram::Latency(c) => latency::measured(c, measurements, tick_ns),
            PamiProgram::Neighbours(c) => neighbours::measured(c, measurements, tick_ns),
            PamiProgram::MessageRate(c) => message_rate::measured(c, measurements, tick_ns),
            PamiProgram::Collective(c) => collective::measured(c, measurements, tick_ns),
            PamiProgram::OneSided(c) => one_sided::measured(c, measurements, tick_ns),
        }
    }
}

impl Job {
    fn task(&self, spi: &Spi) -> Task {
        Task::new(spi, &self.placement, self.costs.clone(), self.limits)
    }
}

/// Refuses what no benchmark of collectives takes.
pub(crate) fn check_collective(processes: u32, rounds: u32) -> Result<(), ConfigError> {
    if !(1..=64).contains(&processes) {
        return refuse("processes", "expected 1 to 64");
    }
    if rounds == 0 {
        return refuse("rounds", "expected at least 1");
    }
    Ok(())
}

/// The neighbours of node 0 over each of its links, each once.
pub(crate) fn neighbours_of_first(torus: &Torus) -> Vec<u32> {
    let mut list: Vec<u32> = vec![];
    for there in (0..2 * torus.dimensions()).filter_map(|port| torus.neighbour(0, port)) {
        if there != 0 && !list.contains(&there) {
            list.push(there);
        }
    }
    list
}

/// A turn of the polls of Blue Gene/Q's software and some more, ticks.
pub(crate) const TURN: u32 = 1000;

/// Identifiers of dispatch functions.
const MESSAGE: u16 = 1;

/// Advances until the next message begins; it must be whole, and its data is dropped.
async fn next_message(task: &mut Task) -> u32 {
    loop {
        if let Event::Message(message) = task.event().await {
            task.context().consumed();
            return message.origin.task();
        }
    }
}

/// The values that a key of all processes has, in ticks.
pub(crate) fn values(measurements: &Measurements, key: u64) -> Vec<f64> {
    let all = measurements.iter().flat_map(|n| &n.2);
    all.filter(|n| n.key == key).map(|n| n.time().0 as f64 / 1e6).collect()
}
