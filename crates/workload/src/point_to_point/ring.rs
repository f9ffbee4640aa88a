//! `ring`: rings of all ranks in random orders, each of which exchanges messages with both neighbours at once:
//! the random ring bandwidth of HPCC (Luszczek et al., "Introduction to the HPC Challenge Benchmark Suite",
//! 2005), after b_eff.

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

/// Rings of all ranks in random orders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Ring {
    /// Data of a message, bytes: one size after the other.
    pub sizes_B: Vec<u64>,
    /// Ranks. If omitted: one on each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Random orders of the ranks, one after the other, of which the mean is taken.
    pub orders: u32,
    /// Seed of the orders.
    pub seed: u64,
    /// Exchanges of each size and order that are not measured, before those that are.
    pub warmup: u32,
    /// Exchanges of each size and order that are measured.
    pub iterations: u32,
}

impl Default for Ring {
    fn default() -> Self {
        Ring { sizes_B: vec![8, 4096, 32_768], ranks: None, orders: 4, seed: 1, warmup: 1, iterations: 2 }
    }
}

/// Tag of data to the rank before in the ring: of two ranks, each is the other's neighbour twice.
const BACK: u32 = 3;

impl Ring {
    /// The place of a measurement, for the marks of its begin and its end.
    fn place(&self, size: usize, order: u32) -> usize {
        size * self.orders as usize + order as usize
    }
}

impl Benchmark for Ring {
    fn sizes(&self) -> (&[u64], u32) {
        (&self.sizes_B, self.iterations)
    }

    fn ranks(&self, nodes: u32) -> u32 {
        self.ranks.unwrap_or(nodes)
    }

    fn check(&self, _: u32) -> Result<(), ConfigError> {
        match self.orders {
            0 => refuse("orders", "expected at least 1"),
            _ => Ok(()),
        }
    }

    /// Of each order, the rank before each one and the rank behind it.
    fn partners(&self, ranks: u32, _: &Hops) -> Vec<u32> {
        let of_order = |order: u32| {
            let behind = one_circle(ranks, self.seed.wrapping_add(order.into()));
            let mut before = vec![0; behind.len()];
            for (rank, &to) in (0..).zip(&*behind) {
                before[to as usize] = rank;
            }
            before.into_iter().zip(behind.to_vec()).flat_map(|(before, behind)| [before, behind])
        };
        (0..self.orders).flat_map(of_order).collect()
    }

    fn run(&self, rank: u32, ranks: u32, partners: &[u32]) -> Option<Box<dyn Program>> {
        let (orders, _) = partners.as_chunks::<2>();
        let neighbours = orders.iter().skip(rank as usize).step_by(ranks as usize).copied().collect();
        let config = self.clone();
        skeleton(rank, ranks, move |rank| exchange(rank, config, neighbours))
    }

    fn measured(&self, partners: &[u32], _: &Hops, marks: &Marks) -> Measured {
        let ranks = partners.len() as u32 / (2 * self.orders);
        let rate = |bytes: u64, place: usize| {
            let slowest = (0..ranks).map(|rank| seconds(marks, rank, place)).fold(0.0, f64::max);
            2.0 * bytes as f64 * f64::from(self.iterations) / slowest / 1e9
        };
        let row = |(size, &bytes): (usize, &u64)| {
            let all = (0..self.orders).map(|order| rate(bytes, self.place(size, order)));
            vec![bytes as f64, all.sum::<f64>() / f64::from(self.orders)]
        };
        Measured {
            title: format!("Rings of {ranks} ranks in random orders"),
            columns: columns(&[("message", "B")], &[("bandwidth of a rank", "GB/s")]),
            rows: self.sizes_B.iter().enumerate().map(row).collect(),
        }
    }
}

/// Exchanges messages with the rank before and the one behind, of each order.
async fn exchange<R: Rank>(rank: R, config: Ring, neighbours: Vec<[u32; 2]>) {
    for (size, &bytes) in config.sizes_B.iter().enumerate() {
        for (order, &[before, behind]) in (0..).zip(&neighbours) {
            let place = config.place(size, order);
            barrier(&rank).await;
            for round in 0..config.warmup + config.iterations {
                if round == config.warmup {
                    rank.mark(begin(place)).await;
                }
                let requests = vec![
                    rank.irecv(Some(before), Some(DATA), bytes),
                    rank.irecv(Some(behind), Some(BACK), bytes),
                    rank.isend(behind, DATA, bytes),
                    rank.isend(before, BACK, bytes),
                ];
                rank.wait_all(requests).await;
            }
            rank.mark(end(place)).await;
        }
    }
}
