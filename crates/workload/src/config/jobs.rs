//! Several jobs side by side: each has nodes of its own and a load of its own.

use super::{Load, Runs, TrafficConfig, Workload, WorkloadConfig, refuse};
use crate::shape::Shape;
use crate::traffic::Jobs;
use crate::traffic::pattern::{Among, Destinations};
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Jobs side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobsConfig {
    /// Placement of jobs that do not set their own.
    #[serde(default)]
    pub placement: Placement,
    /// Whether each job is also run alone on the same nodes, so that the slowdown caused by the others is
    /// reported.
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
    /// Its name in reports; its number if omitted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How many nodes it has.
    pub nodes: u32,
    /// Which of those that are free; as for all jobs if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// How much it sends; as the study's traffic if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// To whom, among its own nodes, which are numbered from 0 in the order in which it got them; or a
    /// skeleton or a trace, whose ranks are laid onto them.
    pub workload: Box<WorkloadConfig>,
}

/// Which of the free nodes a job gets (Yang et al., "Watch Out for the Bully! Job Interference Study on
/// Dragonfly Network", SC 2016).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The first by their numbers.
    #[default]
    Contiguous,
    /// Any, at random.
    RandomNodes,
    /// All of a router, of routers at random; each node of a torus has its own.
    RandomRouters,
    /// One of each group in turn; where all nodes are in one group, as in a fat tree, one of each router. A
    /// group of a torus is a plane of its last dimension.
    RoundRobin,
}

/// Maximum number of jobs: far more than can be distinguished in a report.
const JOBS_MAX: usize = 64;

impl Workload for JobsConfig {
    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        if !(1..=JOBS_MAX).contains(&self.jobs.len()) {
            let message = format!("expected 1 to {JOBS_MAX} jobs, found {}", self.jobs.len());
            return refuse("workload.jobs", message);
        }
        let (nodes, mut free) = (shape.nodes(), shape.nodes());
        for (i, job) in self.jobs.iter().enumerate() {
            let name = job.name(i);
            if self.jobs[..i].iter().enumerate().any(|(at, other)| other.name(at) == name) {
                let message = format!("expected a name of its own for each job, found {name} twice");
                return refuse("workload.jobs", message);
            }
            if job.nodes < 2 || job.nodes > free {
                let message = format!(
                    "expected 2 to {free} nodes of {name}, as many as the jobs before it leave of {nodes}, found {}",
                    job.nodes
                );
                return refuse("workload.jobs", message);
            }
            free -= job.nodes;
            job.check().map_err(|e| job.blamed(i, e))?;
        }
        Ok(())
    }

    fn runs_programs(&self) -> bool {
        self.has_programs()
    }

    fn ends(&self, traffic: &TrafficConfig) -> bool {
        self.has_programs() || self.jobs.iter().all(|job| job.workload.ends(&job.traffic(traffic)))
    }

    fn each_file(&mut self, change: &dyn Fn(&mut String)) {
        self.jobs.iter_mut().for_each(|job| job.workload.each_file(change));
    }

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        let jobs = Jobs::new(self, among.shape, among.payload_B, among.seed)?;
        Ok(Some(Arc::new(jobs)))
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

    /// Its error, reported as an error of the workload.
    pub(super) fn blamed(&self, number: usize, e: ConfigError) -> ConfigError {
        let message = format!("{}, {}: {}", self.name(number), e.key, e.message);
        ConfigError { key: "workload.jobs".into(), message }
    }

    /// Refuses what is no workload of its nodes, and a load that is none.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.workload.check_job(self.nodes)?;
        match self.load {
            Some(_) if self.is_program() => {
                refuse("load", "expected none of a program, which decides itself what it sends")
            }
            load => load.unwrap_or_default().check_rate(),
        }
    }

    /// Whether it is a program of ranks, a skeleton or a trace, rather than a pattern.
    pub fn is_program(&self) -> bool {
        matches!(self.workload.runs(), Runs::Ranks(_))
    }
}

impl JobsConfig {
    /// Whether some jobs are programs of ranks.
    pub fn has_programs(&self) -> bool {
        self.jobs.iter().any(JobConfig::is_program)
    }

    /// Refuses loads that the machine does not know, as `check` does of traffic on it, and the use of links,
    /// of which jobs have none of their own.
    ///
    /// # Errors
    /// The first invalid value, with its key and what was expected.
    pub fn check_loads(
        &self,
        traffic: &TrafficConfig,
        check: impl Fn(&TrafficConfig) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        for (i, job) in self.jobs.iter().enumerate().filter(|(_, job)| !job.is_program()) {
            let own = job.traffic(traffic);
            let checked = match own.load {
                Load::LinkUtilization(u) => refuse(
                    "load.link_utilization",
                    format!("expected a rate of its nodes, such as packets_per_us, found {u}"),
                ),
                _ => check(&own),
            };
            checked.map_err(|e| job.blamed(i, e))?;
        }
        Ok(())
    }
}
