//! `msgrate`: messages from one rank to several neighbours at once, after the message-rate benchmark of the
//! Sandia MPI micro-benchmarks.

use super::{
    ACKNOWLEDGEMENT, ACKNOWLEDGEMENT_B, Benchmark, DATA, begin, check_window, end, rates, receive_window,
    seconds, skeleton,
};
use crate::ConfigError;
use crate::config::refuse;
use crate::measured::Measured;
use crate::processes::Marks;
use crate::program::Program;
use crate::skeleton::Rank;
use netloom_messaging::transit::Hops;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One rank and its neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct MessageRate {
    /// Data of a message, bytes: one size after the other.
    pub sizes_B: Vec<u64>,
    /// To how many of the ranks that are nearest to it rank 0 sends.
    pub neighbours: u32,
    /// Ranks, of which all but these do nothing. If omitted: one on each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Messages to each neighbour that are in flight at once. The next window begins when all of these have
    /// been received.
    pub window: u32,
    /// Windows of each size that are not measured, before those that are.
    pub warmup: u32,
    /// Windows of each size that are measured.
    pub iterations: u32,
}

impl Default for MessageRate {
    fn default() -> Self {
        MessageRate {
            sizes_B: vec![8, 512, 4096],
            neighbours: 4,
            ranks: None,
            window: 16,
            warmup: 1,
            iterations: 4,
        }
    }
}

impl Benchmark for MessageRate {
    fn sizes(&self) -> (&[u64], u32) {
        (&self.sizes_B, self.iterations)
    }

    fn ranks(&self, nodes: u32) -> u32 {
        self.ranks.unwrap_or(nodes)
    }

    fn check(&self, ranks: u32) -> Result<(), ConfigError> {
        if self.neighbours == 0 || self.neighbours >= ranks {
            let message = format!("expected 1 to {} of {ranks} ranks, found {}", ranks - 1, self.neighbours);
            return refuse("neighbours", message);
        }
        check_window(self.window)
    }

    /// The nearest first; among equally near ones that with the lowest number.
    fn partners(&self, ranks: u32, hops: &Hops) -> Vec<u32> {
        let mut others: Vec<u32> = (1..ranks).collect();
        others.sort_by_cached_key(|&rank| hops(0, rank));
        others.truncate(self.neighbours as usize);
        others
    }

    fn run(&self, rank: u32, ranks: u32, partners: &[u32]) -> Option<Box<dyn Program>> {
        let (neighbours, config) = (partners.to_vec(), self.clone());
        if rank == 0 {
            return skeleton(rank, ranks, move |rank| send(rank, config, neighbours));
        }
        neighbours.contains(&rank).then(|| skeleton(rank, ranks, move |rank| receive(rank, config)))?
    }

    fn measured(&self, _: &[u32], _: &Hops, marks: &Marks) -> Measured {
        let messages = f64::from(self.window) * f64::from(self.iterations) * f64::from(self.neighbours);
        let neighbours = match self.neighbours {
            1 => "its nearest neighbour".to_owned(),
            n => format!("its {n} nearest neighbours"),
        };
        let title = format!("Message rate, rank 0 to {neighbours}");
        rates(title, "injection", &self.sizes_B, messages, |size| seconds(marks, 0, size))
    }
}

/// Sends a message to each neighbour in turn, until each has its window.
async fn send<R: Rank>(rank: R, config: MessageRate, neighbours: Vec<u32>) {
    for (i, &bytes) in config.sizes_B.iter().enumerate() {
        for window in 0..config.warmup + config.iterations {
            if window == config.warmup {
                rank.mark(begin(i)).await;
            }
            let mut requests = vec![];
            for _ in 0..config.window {
                requests.extend(neighbours.iter().map(|&to| rank.isend(to, DATA, bytes)));
            }
            let receive = |&from: &u32| rank.irecv(Some(from), Some(ACKNOWLEDGEMENT), ACKNOWLEDGEMENT_B);
            requests.extend(neighbours.iter().map(receive));
            rank.wait_all(requests).await;
        }
        rank.mark(end(i)).await;
    }
}

async fn receive<R: Rank>(rank: R, config: MessageRate) {
    for &bytes in &config.sizes_B {
        for _ in 0..config.warmup + config.iterations {
            receive_window(&rank, 0, config.window, bytes).await;
        }
    }
}
