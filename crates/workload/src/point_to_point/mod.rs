//! Benchmarks of messages between ranks, on any machine: the point-to-point tests of the OSU micro-benchmarks
//! (Panda et al., MVAPICH project), and the message rate of one rank and its neighbours, after Sandia's
//! (Barrett and Hemmert, "An application based MPI message throughput benchmark", 2009), and HPCC's
//! random rings, and shifts.
//!
//! They run on ranks, and so on any transport of ranks' messages. The benchmarks in `spi/`, `gni/` and
//! `glex/` are written for one network interface and measure that interface by itself.

mod bandwidth;
mod latency;
mod pairs;
mod partner;
mod random_ring;
mod rate;
mod shift;

pub use bandwidth::Bandwidth;
pub use latency::Latency;
pub use pairs::Pairs;
pub use partner::Partner;
pub use random_ring::RandomRing;
pub use rate::MessageRate;
pub use shift::Shift;

use crate::ConfigError;
use crate::config::{RankPrograms, Ranks, Runs, Workload, of_workload, refuse};
use crate::measured::{Measured, columns};
use crate::processes::Marks;
use crate::program::{Program, Serial};
use crate::shape::Shape;
use crate::skeleton::{Rank, SimulatedRank, Skeleton};
use netloom_messaging::transit::Hops;
use schemars::JsonSchema;
use serde::Serialize;
use std::future::Future;

/// Configuration of such a benchmark, chosen by `program`; the names are OSU's, except `msgrate`,
/// `random_ring` and `shift`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "program")]
pub enum PointToPointConfig {
    /// A message to and fro between two ranks: half the time of a round trip.
    #[serde(rename = "latency")]
    Latency(Latency),
    /// A window of messages from one rank to another, again and again.
    #[serde(rename = "bw")]
    Bandwidth(Bandwidth),
    /// The same in both directions at once.
    #[serde(rename = "bibw")]
    Bidirectional(Bandwidth),
    /// A window of messages of each of several pairs of ranks at once.
    #[serde(rename = "mbw_mr")]
    Pairs(Pairs),
    /// A window of messages from one rank to each of its nearest neighbours at once.
    #[serde(rename = "msgrate")]
    MessageRate(MessageRate),
    /// Messages between neighbours in a ring of all ranks in random order.
    #[serde(rename = "random_ring")]
    RandomRing(RandomRing),
    /// Messages of all ranks at once, each to the rank at the same distance.
    #[serde(rename = "shift")]
    Shift(Shift),
}

netloom_fabric::tagged_table!(
    PointToPointConfig,
    "program",
    Kind,
    Latency(Latency),
    #[serde(rename = "bw")]
    Bandwidth(Bandwidth),
    #[serde(rename = "bibw")]
    Bidirectional(Bandwidth),
    #[serde(rename = "mbw_mr")]
    Pairs(Pairs),
    #[serde(rename = "msgrate")]
    MessageRate(MessageRate),
    #[serde(rename = "random_ring")]
    RandomRing(RandomRing),
    Shift(Shift),
);

/// A benchmark of messages between ranks.
trait Benchmark: Clone + Send + Sync + 'static {
    /// Message sizes, bytes, and the number of repetitions of the measurement of each.
    fn sizes(&self) -> (&[u64], u32);

    /// Its number of ranks on this number of nodes.
    fn ranks(&self, nodes: u32) -> u32;

    /// The key of the number of ranks.
    fn ranks_key(&self) -> &'static str {
        "workload.ranks"
    }

    /// Checks the values for this number of ranks.
    fn check(&self, ranks: u32) -> Result<(), ConfigError>;

    /// The ranks that rank 0 exchanges messages with.
    fn partners(&self, ranks: u32, hops: &Hops) -> Vec<u32>;

    /// The program of a rank, if it takes part.
    fn run(&self, rank: u32, ranks: u32, partners: &[u32]) -> Option<Box<dyn Program>>;

    /// The results.
    fn measured(&self, partners: &[u32], hops: &Hops, marks: &Marks) -> Measured;
}

/// The longest message, bytes.
const LONGEST: u64 = 1 << 32;

fn check_sizes((sizes, iterations): (&[u64], u32)) -> Result<(), ConfigError> {
    if sizes.is_empty() || sizes.iter().any(|&bytes| bytes > LONGEST) {
        return refuse("sizes_B", format!("expected at least one size, of at most 4 GiB, found {sizes:?}"));
    }
    if iterations == 0 {
        return refuse("iterations", "expected at least 1");
    }
    Ok(())
}

fn check_window(window: u32) -> Result<(), ConfigError> {
    match window {
        0 => refuse("window", "expected at least 1 message"),
        _ => Ok(()),
    }
}

/// Marks of the benchmarks: start and end of the measured part, by the index of the size.
fn begin(size: usize) -> u64 {
    2 * size as u64
}

fn end(size: usize) -> u64 {
    2 * size as u64 + 1
}

/// The time of a rank for a size, seconds.
fn seconds(marks: &Marks, rank: u32, size: usize) -> f64 {
    marks.seconds(rank, end(size)) - marks.seconds(rank, begin(size))
}

/// Tags of data, and of the acknowledgement of a window.
const DATA: u32 = 0;
const ACKNOWLEDGEMENT: u32 = 1;
/// Data of an acknowledgement, bytes.
const ACKNOWLEDGEMENT_B: u64 = 4;

/// Sends a window of messages, and waits for its acknowledgement.
async fn send_window<R: Rank>(rank: &R, to: u32, window: u32, bytes: u64) {
    let sends = (0..window).map(|_| rank.isend(to, DATA, bytes)).collect();
    rank.wait_all(sends).await;
    rank.recv(Some(to), Some(ACKNOWLEDGEMENT), ACKNOWLEDGEMENT_B).await;
}

/// The receiving side of a window.
async fn receive_window<R: Rank>(rank: &R, from: u32, window: u32, bytes: u64) {
    let receives = (0..window).map(|_| rank.irecv(Some(from), Some(DATA), bytes)).collect();
    rank.wait_all(receives).await;
    rank.send(from, ACKNOWLEDGEMENT, ACKNOWLEDGEMENT_B).await;
}

/// Tag of the messages before a size that make all ranks start together.
const BARRIER: u32 = 2;

/// No rank continues before all have entered: in each round a message to the rank twice as far
/// (dissemination).
async fn barrier<R: Rank>(rank: &R) {
    let (me, ranks) = (rank.rank(), rank.ranks());
    let mut far = 1;
    while far < ranks {
        let from = rank.irecv(Some((me + ranks - far) % ranks), Some(BARRIER), 0);
        rank.send((me + far) % ranks, BARRIER, 0).await;
        rank.wait(from).await;
        far *= 2;
    }
}

/// Bandwidth and message rate by size; `seconds` returns the time of the messages of the size with this
/// index. `whose` is the prefix of the results' labels.
fn rates(
    title: String,
    whose: &str,
    sizes: &[u64],
    messages: f64,
    seconds: impl Fn(usize) -> f64,
) -> Measured {
    let row = |(i, &bytes): (usize, &u64)| {
        let rate = messages / seconds(i);
        vec![bytes as f64, bytes as f64 * rate / 1e9, rate / 1e6]
    };
    let [bandwidth, rate] = ["bandwidth", "message rate"].map(|what| format!("{whose} {what}"));
    let figures = [(bandwidth.trim(), "GB/s"), (rate.trim(), "million/s")];
    Measured {
        title,
        columns: columns(&[("message", "B")], &figures),
        rows: sizes.iter().enumerate().map(row).collect(),
    }
}

/// A rank's program written as a function.
fn skeleton<F: Future<Output = ()> + Send + 'static>(
    rank: u32,
    ranks: u32,
    function: impl FnOnce(SimulatedRank) -> F,
) -> Option<Box<dyn Program>> {
    Some(Box::new(Skeleton::new(rank, ranks, function)))
}

/// The programs of a benchmark, with the reader of their marks.
fn programs_of<B: Benchmark>(benchmark: &B, nodes: u32) -> RankPrograms {
    let ranks = benchmark.ranks(nodes);
    let (programs, measured) = (benchmark.clone(), benchmark.clone());
    let nothing = || Box::new(Serial::new(vec![])) as Box<dyn Program>;
    RankPrograms {
        ranks,
        messages: vec![],
        programs: Box::new(move |hops| {
            let partners = programs.partners(ranks, hops);
            (0..ranks).map(|rank| programs.run(rank, ranks, &partners).unwrap_or_else(nothing)).collect()
        }),
        measured: Some(Box::new(move |hops, marks| {
            measured.measured(&measured.partners(ranks, hops), hops, marks)
        })),
    }
}

/// Applies the same expression to any of them.
macro_rules! each {
    ($self:expr, $benchmark:ident => $what:expr) => {
        match $self {
            PointToPointConfig::Latency($benchmark) => $what,
            PointToPointConfig::Bandwidth(c) => {
                let $benchmark = &bandwidth::Directed { config: c.clone(), both: false };
                $what
            }
            PointToPointConfig::Bidirectional(c) => {
                let $benchmark = &bandwidth::Directed { config: c.clone(), both: true };
                $what
            }
            PointToPointConfig::Pairs($benchmark) => $what,
            PointToPointConfig::MessageRate($benchmark) => $what,
            PointToPointConfig::RandomRing($benchmark) => $what,
            PointToPointConfig::Shift($benchmark) => $what,
        }
    };
}

impl Workload for PointToPointConfig {
    fn may_be_job() -> bool {
        true
    }

    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        each!(self, benchmark => {
            let (nodes, machine) = (shape.nodes(), shape.words());
            let ranks = benchmark.ranks(nodes);
            if ranks < 2 || ranks > nodes {
                let message =
                    format!("expected 2 to {nodes} ranks, one for each node of the {machine}, found {ranks}");
                return refuse(benchmark.ranks_key(), message);
            }
            check_sizes(benchmark.sizes()).map_err(of_workload)?;
            benchmark.check(ranks).map_err(of_workload)
        })
    }

    fn runs(&self) -> Runs<'_> {
        Runs::Ranks(self)
    }
}

impl Ranks for PointToPointConfig {
    fn rank_programs(&self, nodes: u32) -> Result<RankPrograms, ConfigError> {
        Ok(each!(self, benchmark => programs_of(benchmark, nodes)))
    }
}

#[cfg(test)]
mod tests;
