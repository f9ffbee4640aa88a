//! Nearest neighbours (Chen et al., section V.B and Table 2): one node whose links are looped back sends a
//! message in each direction at once, by RDMA writes from an injection FIFO a direction, and so receives one
//! from each.

use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use netloom_fabric::config::ConfigError;
use netloom_messaging::spi::Spi;
use netloom_nic::message_unit::descriptor::{Descriptor, Kind, Network};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An exchange with the nearest neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NearestNeighbour {
    /// Data of a message, bytes: one figure for each size.
    pub bytes: Vec<u64>,
    /// Exchanges of each size that are measured, after one that is not.
    #[serde(default = "five")]
    pub rounds: u32,
    /// Time of the program between two exchanges, besides injecting and polling.
    #[serde(default)]
    pub setup_ns: f64,
}

fn five() -> u32 {
    5
}

impl NearestNeighbour {
    /// Checks the values against the machine's shape.
    ///
    /// # Errors
    /// The first value that is impossible.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: String| Err(ConfigError { key: key.into(), message });
        if self.bytes.is_empty() {
            return refuse("bytes", "expected at least one size".into());
        }
        if let Some(bytes) = self.bytes.iter().find(|b| !(1..=APART).contains(*b)) {
            return refuse("bytes", format!("expected 1 byte to {APART}, found {bytes}"));
        }
        if self.rounds == 0 {
            return refuse("rounds", "expected at least 1".into());
        }
        if !(0.0..=1e12).contains(&self.setup_ns) {
            return refuse("setup_ns", format!("expected 0 ns or more, found {}", self.setup_ns));
        }
        if dims.iter().any(|&k| k != 1) {
            let message =
                "this program measures one node: set topology.dims to ones and topology.loopback = true";
            return refuse("program", message.into());
        }
        Ok(())
    }
}

/// From one buffer to the next, bytes.
const APART: u64 = 1 << 29;
/// Counters lie behind all buffers, each in a cache line of its own.
const COUNTERS: u64 = 40 * APART;
const COUNTERS_ENTRY: u16 = 20;

/// The program of the node; a tick is `tick_ns` long.
pub(super) async fn run(spi: Spi, config: NearestNeighbour, ports: u16, tick_ns: f64) {
    let setup = (config.setup_ns / tick_ns).round() as u64;
    let counter = |port: u16| u64::from(port) * 128;
    (0..ports).for_each(|port| spi.set_base_address(port, u64::from(10 + port) * APART));
    spi.set_base_address(COUNTERS_ENTRY, COUNTERS);
    for (i, &bytes) in config.bytes.iter().enumerate() {
        for round in 0..=config.rounds {
            let begin = spi.now();
            spi.compute(setup).await;
            for port in 0..ports {
                spi.set_counter(COUNTERS + counter(port), bytes);
                // Data sent in a direction returns from it.
                let put = Descriptor {
                    payload: u64::from(port) * APART,
                    length: bytes,
                    map: 1 << port,
                    network: Network::PointToPoint {
                        destination: spi.node(),
                        hints: Some(1 << port),
                        deterministic: true,
                        zone: 0,
                    },
                    kind: Kind::DirectPut {
                        base: port,
                        offset: 0,
                        counter_base: COUNTERS_ENTRY,
                        counter_offset: counter(port),
                    },
                    prefetch_only: false,
                };
                spi.inject(port, put).await;
            }
            for port in 0..ports {
                spi.wait_counter(COUNTERS + counter(port)).await;
            }
            if round > 0 {
                spi.measure(i as u64, spi.now() - begin);
            }
        }
    }
}

/// Data carried by all links, sent and received, by size.
pub(super) fn measured(
    config: &NearestNeighbour,
    ports: u16,
    measurements: &Measurements,
    tick_ns: f64,
) -> Measured {
    let rows = config.bytes.iter().enumerate().filter_map(|(i, &bytes)| {
        let ticks: Vec<u64> = measurements
            .iter()
            .flat_map(|n| &n.2)
            .filter(|n| n.key == i as u64)
            .map(|n| n.time().ticks())
            .collect();
        let mean_ns = ticks.iter().sum::<u64>() as f64 / ticks.len() as f64 * tick_ns;
        (!ticks.is_empty()).then(|| vec![bytes as f64, 2.0 * f64::from(ports) * bytes as f64 / mean_ns])
    });
    Measured {
        title: "Nearest neighbours".into(),
        columns: columns(&[("message", "B")], &[("sent and received", "GB/s")]),
        rows: rows.collect(),
    }
}
