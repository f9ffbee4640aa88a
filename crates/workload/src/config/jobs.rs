//! Several jobs side by side on a machine of switches: each has nodes of its own and a load of its own.

use super::{Load, Machines, TrafficConfig, Workload, WorkloadConfig, refuse};
use netloom_fabric::config::ConfigError;
use netloom_fabric::topology::wiring::Wiring;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most jobs: far more than can be told apart in a report.
const JOBS_MAX: usize = 64;

/// Jobs side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobsConfig {
    /// Which nodes a job gets, where it does not say so itself.
    #[serde(default)]
    pub placement: Placement,
    /// Whether each job is also run alone on the same nodes, so that it can be told by how much the others slow it down.
    #[serde(default = "yes")]
    pub alone: bool,
    /// The jobs, in the order in which they get their nodes.
    pub jobs: Vec<JobConfig>,
}

fn yes() -> bool {
    true
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobConfig {
    /// Its name in reports; its number where left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How many nodes it has.
    pub nodes: u32,
    /// Which of those that are free; as for all jobs where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// How much it sends; as the study's traffic where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// To whom, among its own nodes, which are numbered from 0 in the order in which it got them.
    pub workload: Box<WorkloadConfig>,
}

/// Which of the free nodes a job gets (Yang et al., "Watch Out for the Bully! Job Interference Study on Dragonfly Network", SC 2016).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The first by their numbers.
    #[default]
    Contiguous,
    /// Any, at random.
    RandomNodes,
    /// All of a router, of routers at random.
    RandomRouters,
    /// One of each group in turn; where all nodes are in one group, as in a fat tree, one of each router.
    RoundRobin,
}

impl Workload for JobsConfig {
    fn machines() -> Machines {
        Machines::Switches
    }

    fn check_switched(&self, wiring: &Wiring) -> Result<(), ConfigError> {
        self.check(wiring.nodes())
    }
}

impl JobsConfig {
    /// Refuses what does not fit a machine of so many nodes.
    ///
    /// # Errors
    /// The first impossible value, with its key (`workload.…`) and what was expected.
    pub fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        if !(1..=JOBS_MAX).contains(&self.jobs.len()) {
            let message = format!("expected 1 to {JOBS_MAX} jobs, found {}", self.jobs.len());
            return refuse("workload.jobs", message);
        }
        let mut free = nodes;
        for (i, job) in self.jobs.iter().enumerate() {
            let name = job.name(i);
            if job.nodes < 2 || job.nodes > free {
                let message = format!(
                    "expected 2 to {free} nodes of {name}, as many as the jobs before it leave of {nodes}, found {}",
                    job.nodes
                );
                return refuse("workload.jobs", message);
            }
            free -= job.nodes;
            job.check().map_err(|e| ConfigError {
                key: "workload.jobs".into(),
                message: format!("{name}, {}: {}", e.key, e.message),
            })?;
        }
        Ok(())
    }
}

impl JobConfig {
    /// Its name, or what it is called if it has none.
    pub fn name(&self, number: usize) -> String {
        if self.name.is_empty() { format!("job {}", number + 1) } else { self.name.clone() }
    }

    /// The traffic of a study with its own load.
    pub fn traffic(&self, traffic: &TrafficConfig) -> TrafficConfig {
        TrafficConfig { load: self.load.unwrap_or(traffic.load), ..traffic.clone() }
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.workload.check_job(self.nodes)?;
        match self.load {
            Some(Load::LinkUtilization(u)) => refuse(
                "load.link_utilization",
                format!("expected injection, GB_per_s or packets_per_kilotick, found {u}"),
            ),
            load => load.unwrap_or_default().check_rate(),
        }
    }
}
