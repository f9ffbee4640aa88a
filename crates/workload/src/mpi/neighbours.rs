//! Neighbours (Kumar et al., section V and Table 3): a reference node with one rank and its neighbours, each
//! on another link, send messages to each other, all at once.

use crate::measured::{Measured, columns};
use crate::pami::neighbours::Neighbours as Exchange;
use crate::pami::values;
use crate::processes::Measurements;
use netloom_fabric::config::ConfigError;
use netloom_messaging::mpi::Rank;
use netloom_messaging::pami::device::Range;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An exchange with the neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Neighbours {
    /// How all messages are sent.
    pub protocol: Protocol,
    /// Data of a message, bytes.
    pub bytes: u64,
    /// Numbers of neighbours: one figure for each.
    pub neighbours: Vec<u32>,
    /// Messages to and from each that are measured.
    pub messages: u32,
}

/// How messages are sent, whatever their length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// In packets that a processor of the receiver copies out of the reception FIFO.
    #[default]
    Eager,
    /// By an announcement; the receiver's Message Unit fetches the data.
    Rendezvous,
}

impl Default for Neighbours {
    fn default() -> Self {
        let Exchange { bytes, neighbours, messages } = Exchange::default();
        Neighbours { protocol: Protocol::Eager, bytes, neighbours, messages }
    }
}

impl Neighbours {
    pub(super) fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        let Neighbours { bytes, messages, .. } = *self;
        Exchange { bytes, neighbours: self.neighbours.clone(), messages }.check(dims)
    }
}

const TAG: i32 = 1;
const BEGIN_TAG: i32 = 2;

pub(super) async fn run(mut rank: Rank, config: Neighbours) {
    let Neighbours { bytes, neighbours, messages, .. } = config;
    let most = neighbours.iter().copied().max().unwrap_or(0);
    let (out, into) = (rank.allocate(bytes), rank.allocate(bytes * u64::from(most)));
    let nothing = Range { bytes: 0, ..out };
    for (place, &count) in neighbours.iter().enumerate() {
        if rank.number() > count {
            continue;
        }
        let others: Vec<u32> = if rank.number() == 0 { (1..=count).collect() } else { vec![0] };
        let mut requests = vec![];
        for _ in 0..messages {
            for (at, &other) in others.iter().enumerate() {
                let space = into.part(at as u64 * bytes, bytes);
                requests.push(rank.irecv(other as i32, TAG, space).await);
            }
        }
        // Messages of no data to and fro: all begin together.
        for is_first in [true, false] {
            for &other in &others {
                match is_first == (rank.number() == 0) {
                    true => rank.recv(other as i32, BEGIN_TAG, nothing).await,
                    false => rank.send(other, BEGIN_TAG, nothing).await,
                }
            }
        }
        let begin = rank.now();
        for _ in 0..messages {
            for &other in &others {
                requests.push(rank.isend(other, TAG, out).await);
            }
        }
        rank.wait_all(requests).await;
        if rank.number() == 0 {
            rank.measure(place as u64, rank.now() - begin);
        }
    }
    rank.finalize().await;
}

pub(super) fn measured(config: &Neighbours, measurements: &Measurements, tick_ns: f64) -> Measured {
    let Neighbours { bytes, neighbours, messages, .. } = config;
    let rows = neighbours.iter().enumerate().map(|(place, &count)| {
        let ticks: f64 = values(measurements, place as u64).iter().sum();
        // There and back.
        let bytes = 2.0 * f64::from(count) * f64::from(*messages) * *bytes as f64;
        vec![f64::from(count), bytes / (ticks * tick_ns) * 1e3]
    });
    Measured {
        title: "Sent and received by a node and its neighbours".into(),
        columns: columns(&[("neighbours", "")], &[("throughput", "MB/s")]),
        rows: rows.collect(),
    }
}
