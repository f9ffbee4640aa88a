//! Latency (Kumar et al., section V and Table 2): half of a message's way to and fro between neighbours, by
//! `MPI_Send` and `MPI_Recv`.

use crate::measured::{Measured, columns};
use crate::pami::{TURN, refuse, values};
use crate::processes::Measurements;
use netloom_fabric::config::ConfigError;
use netloom_messaging::mpi::{Locking, Rank, Threads};
use netloom_messaging::pami::device::Range;
use netloom_node::time::Microticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A latency benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Latency {
    /// The library's locks.
    pub locking: Locking,
    /// Its threads.
    pub threads: Threads,
    /// Data of a message, bytes.
    pub bytes: u64,
    /// Times to and fro that are measured, after one that is not.
    pub rounds: u32,
}

impl Default for Latency {
    fn default() -> Self {
        Latency { locking: Locking::default(), threads: Threads::default(), bytes: 0, rounds: 20 }
    }
}

impl Latency {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.bytes > 1 << 26 {
            return refuse("bytes", "expected at most 64 MiB");
        }
        if self.rounds == 0 {
            return refuse("rounds", "expected at least 1");
        }
        Ok(())
    }
}

const TAG: i32 = 1;
const TIME: u64 = 0;

pub(super) async fn run(mut rank: Rank, config: Latency) {
    let [out, into] = [(); 2].map(|()| Range { bytes: config.bytes, ..rank.allocate(config.bytes.max(1)) });
    let other = 1 - rank.number();
    for round in 0..=config.rounds {
        // The partner's polls meet the messages at any time of their turn, as they do on hardware.
        if rank.number() == 0 {
            rank.compute(Microticks::of_ticks(u64::from(round * TURN / (config.rounds + 1)))).await;
        }
        let begin = rank.now();
        if rank.number() == 0 {
            rank.send(other, TAG, out).await;
            rank.recv(other as i32, TAG, into).await;
            if round > 0 {
                rank.measure(TIME, rank.now() - begin);
            }
        } else {
            rank.recv(other as i32, TAG, into).await;
            rank.send(other, TAG, out).await;
        }
    }
    rank.finalize().await;
}

pub(super) fn measured(config: &Latency, measurements: &Measurements, tick_ns: f64) -> Measured {
    let rounds = values(measurements, TIME);
    let half = rounds.iter().sum::<f64>() / rounds.len().max(1) as f64 / 2.0 * tick_ns / 1e3;
    Measured {
        title: "Half round trip of MPI".into(),
        columns: columns(&[("data", "B")], &[("latency", "us")]),
        rows: vec![vec![config.bytes as f64, half]],
    }
}
