//! `mbw_mr`, as osu_mbw_mr: windows of messages of several pairs of ranks at once.

use super::{
    Benchmark, barrier, begin, check_window, end, rates, receive_window, seconds, send_window, skeleton,
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

/// Several pairs. The first half of the ranks send, rank i to rank i + `pairs`; `mapping`
/// determines their nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Pairs {
    /// Data of a message, bytes: one size after the other.
    pub sizes_B: Vec<u64>,
    /// Pairs of ranks.
    pub pairs: u32,
    /// Messages of a pair that are in flight at once. Its next window begins when all of these have been
    /// received.
    pub window: u32,
    /// Windows of each size that are not measured, before those that are.
    pub warmup: u32,
    /// Windows of each size that are measured.
    pub iterations: u32,
}

impl Default for Pairs {
    fn default() -> Self {
        Pairs { sizes_B: vec![8, 512, 4096, 32_768], pairs: 4, window: 64, warmup: 1, iterations: 4 }
    }
}

impl Benchmark for Pairs {
    fn sizes(&self) -> (&[u64], u32) {
        (&self.sizes_B, self.iterations)
    }

    fn ranks(&self, _: u32) -> u32 {
        self.pairs.saturating_mul(2)
    }

    fn ranks_key(&self) -> &'static str {
        "workload.pairs"
    }

    fn check(&self, _: u32) -> Result<(), ConfigError> {
        match self.pairs {
            0 => refuse("pairs", "expected at least 1"),
            _ => check_window(self.window),
        }
    }

    fn partners(&self, _: u32, _: &Hops) -> Vec<u32> {
        vec![self.pairs]
    }

    fn run(&self, rank: u32, ranks: u32, _: &[u32]) -> Option<Box<dyn Program>> {
        let config = self.clone();
        match rank < self.pairs {
            true => skeleton(rank, ranks, move |rank| send(rank, config)),
            false => skeleton(rank, ranks, move |rank| receive(rank, config)),
        }
    }

    fn measured(&self, _: &[u32], _: &Hops, marks: &Marks) -> Measured {
        let pairs = f64::from(self.pairs);
        let messages = f64::from(self.window) * f64::from(self.iterations) * pairs;
        let title = format!("Bandwidth and message rate of {} pairs", self.pairs);
        // As in OSU: all messages, over the mean time of the senders.
        let mean = |size| (0..self.pairs).map(|pair| seconds(marks, pair, size)).sum::<f64>() / pairs;
        rates(title, "aggregate", &self.sizes_B, messages, mean)
    }
}

async fn send<R: Rank>(rank: R, config: Pairs) {
    let partner = rank.rank() + config.pairs;
    for (i, &bytes) in config.sizes_B.iter().enumerate() {
        barrier(&rank).await;
        for window in 0..config.warmup + config.iterations {
            if window == config.warmup {
                rank.mark(begin(i)).await;
            }
            send_window(&rank, partner, config.window, bytes).await;
        }
        rank.mark(end(i)).await;
    }
}

async fn receive<R: Rank>(rank: R, config: Pairs) {
    let partner = rank.rank() - config.pairs;
    for &bytes in &config.sizes_B {
        barrier(&rank).await;
        for _ in 0..config.warmup + config.iterations {
            receive_window(&rank, partner, config.window, bytes).await;
        }
    }
}
