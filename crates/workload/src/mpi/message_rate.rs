//! Message rate (Kumar et al., section V and Figure 5), as the Sequoia benchmark SQMR measures it: each rank
//! of a reference node exchanges windows of short messages with ranks of neighbouring nodes, and what it
//! sends and what it receives are counted. "We also add a barrier after all MPI receives have been posted to
//! eliminate unexpected messages."

use crate::measured::{Measured, columns};
use crate::pami::{refuse, values};
use crate::processes::Measurements;
use netloom_fabric::config::ConfigError;
use netloom_messaging::mpi::{ANY, Locking, Rank, Threads};
use netloom_messaging::pami::device::Range;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message-rate benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MessageRate {
    /// The library's locks.
    pub locking: Locking,
    /// Its threads.
    pub threads: Threads,
    /// Ranks of a node.
    pub processes: u32,
    /// Neighbours of each rank of the reference node, on different nodes.
    pub neighbours: u32,
    /// Messages to and from each neighbour at once.
    pub window: u32,
    /// Windows that are measured, after one that is not.
    pub rounds: u32,
    /// Data of a message, bytes.
    pub bytes: u64,
    /// Whether all ranks meet in a barrier when receives have been posted.
    pub barrier: bool,
    /// Whether receives take messages of any rank.
    pub any_source: bool,
}

impl Default for MessageRate {
    fn default() -> Self {
        MessageRate {
            locking: Locking::default(),
            threads: Threads::default(),
            processes: 32,
            neighbours: 1,
            window: 10,
            rounds: 20,
            bytes: 0,
            barrier: false,
            any_source: false,
        }
    }
}

impl MessageRate {
    pub(super) fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        let most: u32 = dims.iter().map(|&k| k.saturating_sub(1).min(2)).sum();
        if !(1..=64).contains(&self.processes) {
            return refuse("processes", "expected 1 to 64");
        }
        if !(1..=most).contains(&self.neighbours) {
            return refuse("neighbours", &format!("expected 1 to {most}, which are those of a node here"));
        }
        if !(1..=10_000).contains(&self.window) {
            return refuse("window", "expected 1 to 10,000");
        }
        if !(1..=100_000).contains(&self.rounds) {
            return refuse("rounds", "expected 1 to 100,000");
        }
        if self.bytes > 1 << 20 {
            return refuse("bytes", "expected at most 1 MiB");
        }
        Ok(())
    }
}

/// Begin and end of a rank's windows.
const BEGIN: u64 = 0;
const END: u64 = 1;
const TAG: i32 = 1;

/// The ranks with which a rank exchanges messages; `neighbours` are the nodes beside the first.
fn peers(rank: u32, config: &MessageRate, neighbours: &[u32]) -> Vec<u32> {
    let (node, place) = (rank / config.processes, rank % config.processes);
    // The neighbours of the ranks of the node take turns, so that the messages are spread over the links.
    let of = |place: u32| {
        let nodes = (0..config.neighbours).map(move |n| (place + n) as usize % neighbours.len());
        nodes.map(move |n| neighbours[n])
    };
    match node {
        0 => of(place).map(|node| node * config.processes + place).collect(),
        _ if of(place).any(|other| other == node) => vec![place],
        _ => vec![],
    }
}

pub(super) async fn run(mut rank: Rank, config: MessageRate, neighbours: Vec<u32>) {
    let peers = peers(rank.number(), &config, &neighbours);
    let is_reference = rank.number() < config.processes;
    let [out, into] = [(); 2].map(|()| Range { bytes: config.bytes, ..rank.allocate(config.bytes.max(1)) });
    for round in 0..=config.rounds {
        if is_reference && round == 1 {
            rank.measure(BEGIN, rank.now());
        }
        let mut requests = vec![];
        for _ in 0..config.window {
            for &peer in &peers {
                let from = if config.any_source { ANY } else { peer as i32 };
                requests.push(rank.irecv(from, TAG, into).await);
            }
        }
        if config.barrier {
            rank.barrier().await;
        }
        for _ in 0..config.window {
            for &peer in &peers {
                requests.push(rank.isend(peer, TAG, out).await);
            }
        }
        rank.wait_all(requests).await;
    }
    if is_reference {
        rank.measure(END, rank.now());
    }
    rank.finalize().await;
}

pub(super) fn measured(config: &MessageRate, measurements: &Measurements, tick_ns: f64) -> Measured {
    let begin = values(measurements, BEGIN).into_iter().fold(f64::INFINITY, f64::min);
    let end = values(measurements, END).into_iter().fold(0.0, f64::max);
    // Sent and received.
    let messages = 2.0
        * [config.processes, config.neighbours, config.window, config.rounds]
            .map(f64::from)
            .iter()
            .product::<f64>();
    let rate = messages / ((end - begin) * tick_ns) * 1e3;
    Measured {
        title: "Message rate of a node".into(),
        columns: columns(&[("processes", ""), ("neighbours", "")], &[("rate", "million/s")]),
        rows: vec![vec![f64::from(config.processes), f64::from(config.neighbours), rate]],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_mutual_and_on_different_nodes() {
        let neighbours = [1, 2, 4, 8, 16];
        let config = MessageRate { processes: 4, neighbours: 3, ..MessageRate::default() };
        for rank in 0..32 * 4 {
            let of = peers(rank, &config, &neighbours);
            for &peer in &of {
                assert!(peers(peer, &config, &neighbours).contains(&rank), "{rank} and {peer}");
                assert_ne!(peer / 4, rank / 4);
            }
            assert_eq!(of.len(), if rank < 4 { 3 } else { of.len().min(1) });
        }
        assert_eq!(peers(1, &config, &neighbours), [2 * 4 + 1, 4 * 4 + 1, 8 * 4 + 1]);
    }
}
