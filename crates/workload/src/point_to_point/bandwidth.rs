//! `bw` and `bibw`, as osu_bw and osu_bibw: windows of messages between two ranks.

use super::partner::{Partner, words};
use super::{
    Benchmark, DATA, begin, check_window, end, rates, receive_window, seconds, send_window, skeleton,
};
use crate::ConfigError;
use crate::measured::Measured;
use crate::processes::Marks;
use crate::program::Program;
use crate::skeleton::Rank;
use netloom_messaging::transit::Hops;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Windows of messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Bandwidth {
    /// Data of a message, bytes: one size after the other.
    pub sizes_B: Vec<u64>,
    /// The rank that rank 0 exchanges messages with: `"nearest"`, `"farthest"` or its number.
    pub partner: Partner,
    /// Ranks, of which all but these two do nothing. If omitted: one on each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Messages that are in flight at once. The next window begins when all of these have been received.
    pub window: u32,
    /// Windows of each size that are not measured, before those that are.
    pub warmup: u32,
    /// Windows of each size that are measured.
    pub iterations: u32,
}

impl Default for Bandwidth {
    fn default() -> Self {
        Bandwidth {
            sizes_B: vec![8, 64, 512, 4096, 32_768],
            partner: Partner::default(),
            ranks: None,
            window: 64,
            warmup: 1,
            iterations: 4,
        }
    }
}

/// In one direction, or in both at the same time.
#[derive(Clone)]
pub(super) struct Directed {
    pub config: Bandwidth,
    pub both: bool,
}

impl Benchmark for Directed {
    fn sizes(&self) -> (&[u64], u32) {
        (&self.config.sizes_B, self.config.iterations)
    }

    fn ranks(&self, nodes: u32) -> u32 {
        self.config.ranks.unwrap_or(nodes)
    }

    fn check(&self, ranks: u32) -> Result<(), ConfigError> {
        check_window(self.config.window)?;
        self.config.partner.check(ranks)
    }

    fn partners(&self, ranks: u32, hops: &Hops) -> Vec<u32> {
        vec![self.config.partner.among(ranks, hops)]
    }

    fn run(&self, rank: u32, ranks: u32, partners: &[u32]) -> Option<Box<dyn Program>> {
        let (partner, config) = (partners[0], self.config.clone());
        match (rank, self.both) {
            (0, false) => skeleton(rank, ranks, move |rank| send(rank, config, partner)),
            (0, true) => skeleton(rank, ranks, move |rank| exchange(rank, config, partner)),
            _ if rank != partner => None,
            (_, false) => skeleton(rank, ranks, move |rank| receive(rank, config)),
            (_, true) => skeleton(rank, ranks, move |rank| exchange(rank, config, 0)),
        }
    }

    fn measured(&self, partners: &[u32], hops: &Hops, marks: &Marks) -> Measured {
        let config = &self.config;
        let (what, whose, directions) = match self.both {
            false => ("Bandwidth", "", 1.0),
            true => ("Bidirectional bandwidth", "bidirectional", 2.0),
        };
        let messages = f64::from(config.window) * f64::from(config.iterations) * directions;
        let title = format!("{what}, {}", words(partners[0], hops));
        rates(title, whose, &config.sizes_B, messages, |size| seconds(marks, 0, size))
    }
}

async fn send<R: Rank>(rank: R, config: Bandwidth, partner: u32) {
    for (i, &bytes) in config.sizes_B.iter().enumerate() {
        for window in 0..config.warmup + config.iterations {
            if window == config.warmup {
                rank.mark(begin(i)).await;
            }
            send_window(&rank, partner, config.window, bytes).await;
        }
        rank.mark(end(i)).await;
    }
}

async fn receive<R: Rank>(rank: R, config: Bandwidth) {
    for &bytes in &config.sizes_B {
        for _ in 0..config.warmup + config.iterations {
            receive_window(&rank, 0, config.window, bytes).await;
        }
    }
}

/// Both sides are alike: all receives are posted before the first send.
async fn exchange<R: Rank>(rank: R, config: Bandwidth, partner: u32) {
    for (i, &bytes) in config.sizes_B.iter().enumerate() {
        for window in 0..config.warmup + config.iterations {
            if window == config.warmup {
                rank.mark(begin(i)).await;
            }
            let receives: Vec<_> =
                (0..config.window).map(|_| rank.irecv(Some(partner), Some(DATA), bytes)).collect();
            let sends = (0..config.window).map(|_| rank.isend(partner, DATA, bytes)).collect();
            rank.wait_all(sends).await;
            rank.wait_all(receives).await;
        }
        rank.mark(end(i)).await;
    }
}
