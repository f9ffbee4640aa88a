//! Ping-pong (Chen et al., section V.A and Table 1): RDMA writes back and forth between the node at the
//! origin and, one after the other, those with coordinates increasing dimension by dimension.

use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use netloom_fabric::config::ConfigError;
use netloom_messaging::spi::Spi;
use netloom_nic::message_unit::descriptor::{ANY_DIRECTION, Descriptor, Kind, Network};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A ping-pong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PingPong {
    /// Data of a message, bytes.
    pub bytes: u64,
    /// Times to and fro with each partner that are measured, after one that is not.
    pub rounds: u32,
}

impl Default for PingPong {
    fn default() -> Self {
        PingPong { bytes: 32, rounds: 20 }
    }
}

impl PingPong {
    /// Checks the values against the machine's shape.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: &str| Err(ConfigError { key: key.into(), message: message.into() });
        if !(1..=1 << 32).contains(&self.bytes) {
            return refuse("bytes", "expected 1 byte to 4 GiB");
        }
        if self.rounds == 0 {
            return refuse("rounds", "expected at least 1");
        }
        if dims.iter().product::<u32>() < 2 {
            return refuse("program", "a ping-pong needs two nodes");
        }
        Ok(())
    }
}

/// The partners in order: (3,0,0), (3,1,0)... on a machine of four nodes in the first dimension.
fn partners(dims: &[u32]) -> Vec<u32> {
    let (mut list, mut at, mut stride) = (vec![], 0, 1);
    for &k in dims {
        for _ in 1..k {
            at += stride;
            list.push(at);
        }
        stride *= k;
    }
    list
}

/// Address of a node's counter, with its buffer after it; and their table entry.
const COUNTER: u64 = 0x10_0000;
const BUFFER: u64 = 4096;
const ENTRY: u16 = 0;
/// The injection FIFO that it uses.
const FIFO: u16 = 0;

/// The measurements: the whole round, the time at which the ping had been injected, and the time at which the
/// pong's counter was observed to be zero, by partner.
#[derive(Clone, Copy)]
enum Of {
    Round,
    Sent,
    Seen,
}

fn note(spi: &Spi, partner: usize, of: Of, ticks: u64) {
    spi.measure(partner as u64 * 4 + of as u64, ticks);
}

/// The program of a node.
pub(super) async fn run(spi: Spi, config: PingPong, dims: Vec<u32>) {
    let bytes = config.bytes;
    let put = |destination: u32| Descriptor {
        payload: COUNTER + BUFFER,
        length: bytes,
        map: ANY_DIRECTION,
        network: Network::in_order(destination),
        kind: Kind::DirectPut { base: ENTRY, offset: BUFFER, counter_base: ENTRY, counter_offset: 0 },
        prefetch_only: false,
    };
    spi.set_base_address(ENTRY, COUNTER);
    for (i, partner) in partners(&dims).into_iter().enumerate() {
        if spi.node() == partner {
            spi.set_counter(COUNTER, bytes);
            for round in 0..=config.rounds {
                spi.wait_counter(COUNTER).await;
                if round > 0 {
                    note(&spi, i, Of::Seen, spi.counted_down(COUNTER));
                }
                if round < config.rounds {
                    spi.set_counter(COUNTER, bytes);
                }
                spi.inject(FIFO, put(0)).await;
            }
        } else if spi.node() == 0 {
            for round in 0..=config.rounds {
                spi.set_counter(COUNTER, bytes);
                let begin = spi.now();
                spi.inject(FIFO, put(partner)).await;
                let sent = spi.now();
                spi.wait_counter(COUNTER).await;
                if round > 0 {
                    note(&spi, i, Of::Sent, sent);
                    note(&spi, i, Of::Round, spi.now() - begin);
                }
            }
        }
    }
}

/// Half a round's time by hops, divided into hardware and software: the hardware's part is from the injection
/// of the ping to when the partner's counter is zero.
pub(super) fn measured(measurements: &Measurements, tick_ns: f64) -> Measured {
    let of = |partner: u64, of: Of| -> Vec<u64> {
        let all = measurements.iter().flat_map(|n| &n.2);
        all.filter(|n| n.key == partner * 4 + of as u64).map(|n| n.time().ticks()).collect()
    };
    let rows = (0..).map_while(|partner| {
        let (rounds, sent, seen) = (of(partner, Of::Round), of(partner, Of::Sent), of(partner, Of::Seen));
        if rounds.is_empty() {
            return None;
        }
        let ns = |ticks: u64| ticks as f64 / rounds.len() as f64 * tick_ns;
        let both = ns(rounds.iter().sum()) / 2.0;
        let hardware = ns(sent.iter().zip(&seen).map(|(sent, seen)| seen - sent).sum());
        Some(vec![partner as f64 + 1.0, hardware, both, both - hardware])
    });
    Measured {
        title: "Ping-pong".into(),
        columns: columns(
            &[("hops", "")],
            &[("hardware", "ns"), ("hardware and software", "ns"), ("software", "ns")],
        ),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_grow_dimension_by_dimension() {
        assert_eq!(partners(&[3, 1, 2]), [1, 2, 5]);
        assert_eq!(partners(&[4, 4, 4, 4, 2]).len(), 13);
    }
}
