//! Allreduce (Chen et al., section V.D, Tables 3 and 4): sums over boxes of nodes, one collective packet or
//! many, one operation after the other.
//!
//! Details that the paper does not give follow the machine's own benchmark
//! (`spi/examples/mu/msg_collective.c` of the public driver): RDMA writes through the user's collective FIFO;
//! two counters in turn, the next one set before each operation; the time is from before that store to when
//! the counter is observed to be zero, including software, as a mean over the rounds.

use super::tree::{Boxes, MEMORY, RECEIVED, Registers, SENT, check_messages, check_trees, ten, trees, write};
use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use netloom_fabric::collective::{Delivers, Operation, RouteKind};
use netloom_fabric::config::ConfigError;
use netloom_messaging::spi::Spi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An allreduce.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct Allreduce {
    /// Data of a message, bytes: each in turn, multiples of 8.
    pub bytes: Vec<u64>,
    /// Rounds of each that are measured, after one that is not.
    #[serde(default = "ten")]
    pub rounds: u32,
    /// The reduction operation.
    #[serde(default)]
    pub operation: Sum,
    /// The boxes of nodes that take part, one after the other; none: the whole machine.
    #[serde(default)]
    pub boxes: Boxes,
    /// A tree by hand instead: registers of each of its nodes.
    #[serde(default)]
    pub class_route: Vec<Registers>,
    /// How much of each message holds numbers other than zero, whose sums are checked, bytes.
    #[serde(default = "usual_checked")]
    pub checked_B: u64,
}

/// The reduction operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sum {
    /// Doubles are added.
    #[default]
    AddDouble,
    /// Unsigned integers of 8 B are added.
    AddUnsigned,
}

fn usual_checked() -> u64 {
    4096
}

impl Allreduce {
    /// Checks the values against the machine's shape.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        check_messages(&self.bytes, self.rounds)?;
        check_trees(&self.boxes, &self.class_route, dims)
    }
}

/// Addresses of the two counters.
const COUNTERS: u64 = 0;

/// A node's addend for word `i` of a message, to which it adds its number: small enough for any sum to be
/// exact.
fn term(i: u64) -> u64 {
    3 * i % 1009 + 1
}

/// The program of a node.
pub(super) async fn run(spi: Spi, config: Allreduce, dims: Vec<u32>) {
    spi.set_base_address(MEMORY, 0);
    let word = |x: u64| match config.operation {
        Sum::AddDouble => (x as f64).to_be_bytes(),
        Sum::AddUnsigned => x.to_be_bytes(),
    };
    let operation = match config.operation {
        Sum::AddDouble => Operation::AddDouble,
        Sum::AddUnsigned => Operation::AddUnsigned,
    };
    let trees = trees(&config.boxes, &config.class_route, &dims);
    for (class, tree) in trees.iter().enumerate() {
        if let Some(route) = tree.route(spi.node(), RouteKind::UserSubcomm) {
            spi.set_class_route(class as u8, route);
        }
    }
    for (class, tree) in trees.iter().enumerate().filter(|(_, tree)| tree.contains(spi.node())) {
        for (size, &bytes) in config.bytes.iter().enumerate() {
            let words = bytes.min(config.checked_B) / 8;
            let numbers = (0..words).flat_map(|i| word(u64::from(spi.node()) + term(i)));
            spi.store(SENT, &numbers.collect::<Vec<u8>>());
            spi.set_counter(COUNTERS, bytes);
            let (mut sum_ticks, mut hardware) = (0, 0);
            for round in 0..=u64::from(config.rounds) {
                let counter = |round: u64| COUNTERS + round % 2 * 8;
                let begin = spi.now();
                spi.set_counter(counter(round + 1), bytes);
                let put = write(class, operation, Delivers::AllReduce, bytes, counter(round));
                spi.inject(0, put).await;
                let sent = spi.now();
                spi.wait_counter(counter(round)).await;
                if round > 0 {
                    sum_ticks += spi.now() - begin;
                    hardware += spi.counted_down(counter(round)) - sent;
                }
            }
            let got = spi.load(RECEIVED, 8 * words as usize);
            let (nodes, sum) = tree.count_and_sum();
            let expected = |i: u64| word(sum + nodes * term(i));
            let wrong = (0..words).filter(|&i| got[8 * i as usize..][..8] != expected(i)).count();
            let of = (class * config.bytes.len() + size) as u64;
            spi.measure(4 * of, sum_ticks);
            spi.measure(4 * of + 1, hardware);
            spi.measure(4 * of + 2, wrong as u64);
            spi.measure(4 * of + 3, spi.counted_down(COUNTERS + u64::from(config.rounds) % 2 * 8));
        }
    }
}

/// The mean time of an operation, at the slowest node; and from when the first node has the result, which is
/// the root, to when the last one has, a leaf of the tree: by nodes and size.
pub(super) fn measured(
    config: &Allreduce,
    dims: &[u32],
    measurements: &Measurements,
    tick_ns: f64,
) -> Measured {
    let mut rows = vec![];
    for (class, tree) in trees(&config.boxes, &config.class_route, dims).iter().enumerate() {
        for (size, &bytes) in config.bytes.iter().enumerate() {
            let of = (class * config.bytes.len() + size) as u64;
            let all = |of: u64| {
                measurements.iter().flat_map(|n| &n.2).filter(move |n| n.key == of).map(|n| n.time().ticks())
            };
            let mean = |longest: u64| longest as f64 / f64::from(config.rounds) * tick_ns;
            let (Some(longest), Some(hardware)) = (all(4 * of).max(), all(4 * of + 1).max()) else {
                continue;
            };
            let ns = mean(longest);
            let wrong: u64 = all(4 * of + 2).sum();
            let spread = all(4 * of + 3).max().unwrap_or(0) - all(4 * of + 3).min().unwrap_or(0);
            rows.push(vec![
                tree.count_and_sum().0 as f64,
                2.0 * f64::from(tree.depth()),
                bytes as f64,
                mean(hardware),
                ns,
                spread as f64 * tick_ns,
                bytes as f64 / ns,
                wrong as f64,
            ]);
        }
    }
    Measured {
        title: "Allreduce".into(),
        columns: columns(
            &[("nodes", ""), ("hops up and down", ""), ("message", "B")],
            &[
                ("hardware", "ns"),
                ("hardware and software", "ns"),
                ("first to last", "ns"),
                ("throughput", "GB/s"),
                ("wrong words", ""),
            ],
        ),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_are_reported() {
        let fine = Allreduce {
            bytes: vec![8],
            rounds: 1,
            operation: Sum::AddDouble,
            boxes: Boxes::default(),
            class_route: vec![],
            checked_B: 0,
        };
        assert!(fine.check(&[4, 2]).is_ok());
        let wrong = |change: fn(&mut Allreduce)| {
            let mut config = fine.clone();
            change(&mut config);
            config.check(&[4, 2]).expect_err("wrong").key
        };
        assert_eq!(wrong(|c| c.bytes = vec![]), "bytes");
        assert_eq!(wrong(|c| c.bytes = vec![8, 12]), "bytes");
        assert_eq!(wrong(|c| c.rounds = 0), "rounds");
    }
}
