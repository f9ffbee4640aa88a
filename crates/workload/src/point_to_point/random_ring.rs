//! `random_ring`: the random ring bandwidth of HPCC (Luszczek et al., "Introduction to the HPC Challenge
//! Benchmark Suite", 2005), after b_eff: all ranks form a ring in a random order, and each exchanges messages
//! with both neighbours at once.

use super::{Benchmark, DATA, barrier, begin, end, seconds, skeleton};
use crate::ConfigError;
use crate::config::refuse;
use crate::measured::{Measured, columns};
use crate::processes::Marks;
use crate::program::Program;
use crate::skeleton::Rank;
use crate::traffic::permutation::one_circle;
use netloom_messaging::transit::Hops;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rings of all ranks in random order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct RandomRing {
    /// Data of a message, bytes: one size after the other.
    pub sizes_B: Vec<u64>,
    /// Ranks. If omitted: one on each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Rings, each in another random order, one after the other. The result is their mean.
    pub rings: u32,
    /// Seed of the random orders.
    pub seed: u64,
    /// Exchanges of each size and ring that are not measured, before those that are.
    pub warmup: u32,
    /// Exchanges of each size and ring that are measured.
    pub iterations: u32,
}

impl Default for RandomRing {
    fn default() -> Self {
        RandomRing {
            sizes_B: vec![8, 4096, 32_768],
            ranks: None,
            rings: 4,
            seed: 1,
            warmup: 1,
            iterations: 2,
        }
    }
}

/// Tag of data to the previous rank in the ring: with two ranks, each is the other's neighbour on both sides.
const TO_PREVIOUS: u32 = 3;

impl RandomRing {
    /// The index of a measurement, for the marks of its start and its end.
    fn index(&self, size: usize, ring: u32) -> usize {
        size * self.rings as usize + ring as usize
    }
}

impl Benchmark for RandomRing {
    fn sizes(&self) -> (&[u64], u32) {
        (&self.sizes_B, self.iterations)
    }

    fn ranks(&self, nodes: u32) -> u32 {
        self.ranks.unwrap_or(nodes)
    }

    fn check(&self, _: u32) -> Result<(), ConfigError> {
        match self.rings {
            0 => refuse("rings", "expected at least 1"),
            _ => Ok(()),
        }
    }

    /// For each ring, the previous and the next rank of each rank.
    fn partners(&self, ranks: u32, _: &Hops) -> Vec<u32> {
        let of_ring = |ring: u32| {
            let next = one_circle(ranks, self.seed.wrapping_add(ring.into()));
            let mut previous = vec![0; next.len()];
            for (rank, &next) in (0..).zip(&*next) {
                previous[next as usize] = rank;
            }
            previous.into_iter().zip(next.to_vec()).flat_map(|(previous, next)| [previous, next])
        };
        (0..self.rings).flat_map(of_ring).collect()
    }

    fn run(&self, rank: u32, ranks: u32, partners: &[u32]) -> Option<Box<dyn Program>> {
        let (pairs, _) = partners.as_chunks::<2>();
        let neighbours = pairs.iter().skip(rank as usize).step_by(ranks as usize).copied().collect();
        let config = self.clone();
        skeleton(rank, ranks, move |rank| exchange(rank, config, neighbours))
    }

    fn measured(&self, partners: &[u32], _: &Hops, marks: &Marks) -> Measured {
        let ranks = partners.len() as u32 / (2 * self.rings);
        let rate = |bytes: u64, index: usize| {
            let slowest = (0..ranks).map(|rank| seconds(marks, rank, index)).fold(0.0, f64::max);
            2.0 * bytes as f64 * f64::from(self.iterations) / slowest / 1e9
        };
        let row = |(size, &bytes): (usize, &u64)| {
            let all = (0..self.rings).map(|ring| rate(bytes, self.index(size, ring)));
            vec![bytes as f64, all.sum::<f64>() / f64::from(self.rings)]
        };
        Measured {
            title: format!("Rings of {ranks} ranks in random order"),
            columns: columns(&[("message", "B")], &[("bandwidth per rank", "GB/s")]),
            rows: self.sizes_B.iter().enumerate().map(row).collect(),
        }
    }
}

/// Exchanges messages with the previous and the next rank of each ring.
async fn exchange<R: Rank>(rank: R, config: RandomRing, neighbours: Vec<[u32; 2]>) {
    for (size, &bytes) in config.sizes_B.iter().enumerate() {
        for (ring, &[previous, next]) in (0..).zip(&neighbours) {
            let index = config.index(size, ring);
            barrier(&rank).await;
            for round in 0..config.warmup + config.iterations {
                if round == config.warmup {
                    rank.mark(begin(index)).await;
                }
                let requests = vec![
                    rank.irecv(Some(previous), Some(DATA), bytes),
                    rank.irecv(Some(next), Some(TO_PREVIOUS), bytes),
                    rank.isend(next, DATA, bytes),
                    rank.isend(previous, TO_PREVIOUS, bytes),
                ];
                rank.wait_all(requests).await;
            }
            rank.mark(end(index)).await;
        }
    }
}
