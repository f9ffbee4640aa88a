//! The results of each job of a run with several jobs.

use super::{LatencyStats, ProgramFigures};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A job among others. Rates are per node, means over its nodes; answers to its packets are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobFigures {
    /// Its name.
    pub name: String,
    /// The `kind` of its workload.
    pub kind: String,
    /// Its nodes.
    pub nodes: u32,
    /// Routers that they are at.
    pub routers: u32,
    /// Groups that they are in; of a torus planes of its last dimension.
    pub groups: u32,
    /// Packets of synthetic traffic that arrived.
    pub packets: u64,
    /// The unit of `offered` and `accepted`.
    pub unit: String,
    /// Offered load of its nodes; `None` for programs, and if nodes offer as much as the network accepts.
    pub offered: Option<f64>,
    /// Accepted load.
    pub accepted: f64,
    /// Time of its packets, since they were made.
    pub latency: LatencyStats,
    /// When the last of them arrived, us.
    pub last_arrival_us: f64,
    /// Figures of the ranks of a skeleton or a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs: Option<ProgramFigures>,
    /// End of the last rank of a skeleton or a trace, if all ranks have ended, us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_time_us: Option<f64>,
    /// The same job on the same nodes without the others, where it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<JobAlone>,
}

/// A job without the others, and the slowdown that they cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobAlone {
    /// Accepted load, in the job's unit.
    pub accepted: f64,
    /// Time of its packets, since they were made.
    pub latency: LatencyStats,
    /// When the last of them arrived, us.
    pub last_arrival_us: f64,
    /// When its last rank ended, us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_time_us: Option<f64>,
    /// Mean latency among the others, in times of that alone; 0 of programs.
    pub latency_slowdown: f64,
    /// Throughput among the others, as a fraction of that alone; 0 of programs.
    pub throughput_share: f64,
    /// Run time among the others, in times of that alone; of programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_time_slowdown: Option<f64>,
}

impl JobFigures {
    /// Puts the figures of the same job alone beside these.
    pub fn put_alone(&mut self, alone: &JobFigures) {
        let ratio = |among: f64, alone: f64| if alone > 0.0 { among / alone } else { 0.0 };
        let times = self.run_time_us.zip(alone.run_time_us);
        self.alone = Some(JobAlone {
            accepted: alone.accepted,
            latency: alone.latency.clone(),
            last_arrival_us: alone.last_arrival_us,
            run_time_us: alone.run_time_us,
            latency_slowdown: ratio(self.latency.mean_ns, alone.latency.mean_ns),
            throughput_share: ratio(self.accepted, alone.accepted),
            run_time_slowdown: times.map(|(among, alone)| ratio(among, alone)),
        });
    }

    /// By how much the others slow it down: run time of a program, latency of synthetic traffic, in times of
    /// that alone.
    pub fn slowdown(&self) -> Option<f64> {
        let alone = self.alone.as_ref()?;
        Some(if self.programs.is_some() { alone.run_time_slowdown? } else { alone.latency_slowdown })
    }
}
