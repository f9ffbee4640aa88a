//! Collective operations of MPI (Kumar et al., section V, Figures 6 and 7): all ranks of the machine take
//! part, again and again, and check what they get.

use crate::measured::{Measured, columns};
use crate::pami::{check_collective, values};
use crate::processes::Measurements;
use netloom_fabric::config::ConfigError;
use netloom_messaging::mpi::{Locking, Rank, Threads};
use netloom_messaging::pami::device::Range;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A benchmark of a collective operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Collective {
    /// The library's locks.
    pub locking: Locking,
    /// Its threads.
    pub threads: Threads,
    /// The operation.
    pub operation: Kind,
    /// Ranks of each node.
    pub processes: u32,
    /// Operations that are measured, one after the other.
    pub rounds: u32,
    /// Operations before them that are not.
    pub warm_up: u32,
}

/// A collective operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `MPI_Barrier`.
    #[default]
    Barrier,
    /// `MPI_Allreduce`, the sum of one double.
    Allreduce,
    /// `MPI_Bcast` of one double.
    Broadcast,
}

impl Default for Collective {
    fn default() -> Self {
        Collective {
            locking: Locking::default(),
            threads: Threads::default(),
            operation: Kind::Barrier,
            processes: 1,
            rounds: 10,
            warm_up: 1,
        }
    }
}

impl Collective {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        check_collective(self.processes, self.rounds)
    }
}

/// What a rank measures: its time, and wrong results.
const TIME: u64 = 0;
const WRONG: u64 = 1;

pub(super) async fn run(mut rank: Rank, config: Collective) {
    let data = rank.allocate(8);
    let (own, size) = (f64::from(rank.number()), f64::from(rank.size()));
    let (mut begin, mut wrong) = (rank.now(), 0u64);
    for round in 0..config.warm_up + config.rounds {
        if round == config.warm_up {
            begin = rank.now();
        }
        let addend = own + f64::from(round);
        rank.store(data.address, &addend.to_be_bytes());
        let expected = match config.operation {
            Kind::Barrier => {
                rank.barrier().await;
                continue;
            }
            Kind::Allreduce => {
                rank.allreduce(data).await;
                size * (size - 1.0) / 2.0 + size * f64::from(round)
            }
            Kind::Broadcast => {
                rank.broadcast(0, data).await;
                f64::from(round)
            }
        };
        wrong += u64::from(rank.load(Range { bytes: 8, ..data }) != expected.to_be_bytes());
    }
    rank.measure(TIME, rank.now() - begin);
    rank.measure(WRONG, wrong);
    rank.finalize().await;
}

pub(super) fn measured(config: &Collective, measurements: &Measurements, tick_ns: f64) -> Measured {
    let longest = values(measurements, TIME).into_iter().fold(0.0, f64::max);
    let time_us = longest / f64::from(config.rounds) * tick_ns / 1e3;
    let all = measurements.iter().flat_map(|n| &n.2);
    let wrong: u64 = all.filter(|n| n.key == WRONG).map(|n| n.value).sum();
    Measured {
        title: match config.operation {
            Kind::Barrier => "Barrier of MPI",
            Kind::Allreduce => "Sum of one double to all ranks by MPI",
            Kind::Broadcast => "Broadcast of one double by MPI",
        }
        .into(),
        columns: columns(&[("processes", "")], &[("time", "us"), ("wrong words", "")]),
        rows: vec![vec![f64::from(config.processes), time_us, wrong as f64]],
    }
}
