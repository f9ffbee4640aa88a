//! `latency`, like osu_latency: ping-pong, one message at a time.

use super::partner::{Partner, words};
use super::{Benchmark, begin, end, seconds, skeleton};
use crate::ConfigError;
use crate::measured::{Measured, columns};
use crate::processes::Marks;
use crate::program::Program;
use crate::skeleton::Rank;
use netloom_messaging::transit::Hops;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A ping-pong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Latency {
    /// Data of a message, bytes: one size after the other.
    pub sizes_B: Vec<u64>,
    /// The rank that rank 0 exchanges messages with: `"nearest"`, `"farthest"` or its number.
    pub partner: Partner,
    /// Ranks, of which all but these two do nothing. If omitted: one on each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Round trips of each size that are not measured, before those that are.
    pub warmup: u32,
    /// Round trips of each size that are measured.
    pub iterations: u32,
}

impl Default for Latency {
    fn default() -> Self {
        Latency {
            sizes_B: vec![1, 8, 64, 512, 4096, 32_768, 262_144],
            partner: Partner::default(),
            ranks: None,
            warmup: 2,
            iterations: 10,
        }
    }
}

impl Benchmark for Latency {
    fn sizes(&self) -> (&[u64], u32) {
        (&self.sizes_B, self.iterations)
    }

    fn ranks(&self, nodes: u32) -> u32 {
        self.ranks.unwrap_or(nodes)
    }

    fn check(&self, ranks: u32) -> Result<(), ConfigError> {
        self.partner.check(ranks)
    }

    fn partners(&self, ranks: u32, hops: &Hops) -> Vec<u32> {
        vec![self.partner.among(ranks, hops)]
    }

    fn run(&self, rank: u32, ranks: u32, partners: &[u32]) -> Option<Box<dyn Program>> {
        let (partner, config) = (partners[0], self.clone());
        match rank {
            0 => skeleton(rank, ranks, move |rank| ping(rank, config, partner)),
            _ if rank == partner => skeleton(rank, ranks, move |rank| pong(rank, config)),
            _ => None,
        }
    }

    fn measured(&self, partners: &[u32], hops: &Hops, marks: &Marks) -> Measured {
        let row = |(i, &bytes): (usize, &u64)| {
            let half_round_trip = seconds(marks, 0, i) / f64::from(self.iterations) / 2.0;
            vec![bytes as f64, half_round_trip * 1e6]
        };
        Measured {
            title: format!("Latency, {}", words(partners[0], hops)),
            columns: columns(&[("message", "B")], &[("latency", "us")]),
            rows: self.sizes_B.iter().enumerate().map(row).collect(),
        }
    }
}

async fn ping<R: Rank>(rank: R, config: Latency, partner: u32) {
    for (i, &bytes) in config.sizes_B.iter().enumerate() {
        for trip in 0..config.warmup + config.iterations {
            if trip == config.warmup {
                rank.mark(begin(i)).await;
            }
            rank.send(partner, 0, bytes).await;
            rank.recv(Some(partner), Some(0), bytes).await;
        }
        rank.mark(end(i)).await;
    }
}

async fn pong<R: Rank>(rank: R, config: Latency) {
    for &bytes in &config.sizes_B {
        for _ in 0..config.warmup + config.iterations {
            rank.recv(Some(0), Some(0), bytes).await;
            rank.send(0, 0, bytes).await;
        }
    }
}
