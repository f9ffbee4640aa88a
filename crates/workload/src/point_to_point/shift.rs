//! `shift`: all ranks send at once, each to the rank at the same distance, as Kerbyson et al. measured Blue
//! Gene/Q ("Comparing the Performance of Blue Gene/Q with Leading Cray XE6 and InfiniBand Systems", ICPADS
//! 2012, section IV.E). A rank's bandwidth depends on the links that the messages share.

use super::{Benchmark, DATA, barrier, begin, check_window, end, seconds, skeleton};
use crate::ConfigError;
use crate::config::refuse;
use crate::measured::{Measured, columns};
use crate::processes::Marks;
use crate::program::Program;
use crate::skeleton::Rank;
use netloom_messaging::transit::Hops;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shifts, one distance after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Shift {
    /// Data of a message, bytes: one size after the other.
    pub sizes_B: Vec<u64>,
    /// Distances: rank i sends to rank (i + distance) mod ranks.
    pub distances: Vec<u32>,
    /// Ranks. If omitted: one on each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Messages of a rank that are in flight at once.
    pub window: u32,
    /// Windows of each size and distance that are not measured, before those that are.
    pub warmup: u32,
    /// Windows of each size and distance that are measured.
    pub iterations: u32,
}

impl Default for Shift {
    fn default() -> Self {
        Shift {
            sizes_B: vec![32_768],
            distances: vec![1, 2, 4, 8],
            ranks: None,
            window: 1,
            warmup: 1,
            iterations: 2,
        }
    }
}

impl Shift {
    /// The measurements in order, each with the index for the marks of its start and its end.
    fn all(&self) -> impl Iterator<Item = (usize, u64, u32)> {
        let of_size = |&bytes: &u64| self.distances.iter().map(move |&distance| (bytes, distance));
        let all = self.sizes_B.iter().flat_map(of_size).enumerate();
        all.map(|(index, (bytes, distance))| (index, bytes, distance))
    }
}

impl Benchmark for Shift {
    fn sizes(&self) -> (&[u64], u32) {
        (&self.sizes_B, self.iterations)
    }

    fn ranks(&self, nodes: u32) -> u32 {
        self.ranks.unwrap_or(nodes)
    }

    fn check(&self, ranks: u32) -> Result<(), ConfigError> {
        let least_and_most = (self.distances.iter().min(), self.distances.iter().max());
        if !matches!(least_and_most, (Some(&least), Some(&most)) if least > 0 && most < ranks) {
            let found = &self.distances;
            return refuse(
                "distances",
                format!("expected distances from 1 to {}, found {found:?}", ranks - 1),
            );
        }
        check_window(self.window)
    }

    fn partners(&self, ranks: u32, _: &Hops) -> Vec<u32> {
        vec![ranks]
    }

    fn run(&self, rank: u32, ranks: u32, _: &[u32]) -> Option<Box<dyn Program>> {
        let config = self.clone();
        skeleton(rank, ranks, move |rank| exchange(rank, config))
    }

    fn measured(&self, partners: &[u32], _: &Hops, marks: &Marks) -> Measured {
        let ranks = partners[0];
        let row = |(index, bytes, distance): (usize, u64, u32)| {
            let slowest = (0..ranks).map(|rank| seconds(marks, rank, index)).fold(0.0, f64::max);
            let sent = bytes as f64 * f64::from(self.window) * f64::from(self.iterations);
            vec![bytes as f64, distance.into(), sent / slowest / 1e9]
        };
        Measured {
            title: format!("Shifts of {ranks} ranks"),
            columns: columns(&[("message", "B"), ("distance", "")], &[("bandwidth per rank", "GB/s")]),
            rows: self.all().map(row).collect(),
        }
    }
}

async fn exchange<R: Rank>(rank: R, config: Shift) {
    let (me, ranks) = (rank.rank(), rank.ranks());
    for (index, bytes, distance) in config.all() {
        let (to, from) = ((me + distance) % ranks, (me + ranks - distance) % ranks);
        barrier(&rank).await;
        for round in 0..config.warmup + config.iterations {
            if round == config.warmup {
                rank.mark(begin(index)).await;
            }
            let receives = (0..config.window).map(|_| rank.irecv(Some(from), Some(DATA), bytes));
            let mut requests: Vec<_> = receives.collect();
            requests.extend((0..config.window).map(|_| rank.isend(to, DATA, bytes)));
            rank.wait_all(requests).await;
        }
        rank.mark(end(index)).await;
    }
}
