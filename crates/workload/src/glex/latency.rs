//! Latencies (Table 1): half a ping-pong of immediate puts and of puts, detected by their events, and of
//! mini-packets.

use super::{AT, Measurements, Path, check_partner, of, refuse, set_up};
use crate::measured::{Measured, columns};
use netloom_fabric::config::ConfigError;
use netloom_messaging::glex::Glex;
use netloom_nic::th::{Address, Options};
use netloom_node::process::{InCall, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Operations of a few bytes between node 0 and another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Latency {
    /// The other node.
    pub to: u32,
    /// Data of an operation.
    pub bytes: u64,
    /// How descriptors come to the NIC.
    pub path: Path,
    /// Whether each operation has a connection.
    pub connect: bool,
    /// Times that are measured, after one that is not.
    pub rounds: u32,
}

impl Default for Latency {
    fn default() -> Self {
        Latency { to: 1, bytes: 8, path: Path::Pio, connect: false, rounds: 20 }
    }
}

/// Kinds of operations.
const OPERATIONS: u64 = 3;

impl Latency {
    pub(super) fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        check_partner(self.to, nodes)?;
        if !(1..=96).contains(&self.bytes) {
            return refuse("bytes", "expected 1 to 96, which an immediate put has room for");
        }
        if self.rounds == 0 {
            return refuse("rounds", "expected at least 1");
        }
        Ok(())
    }

    /// The minimum of each, as in the paper.
    pub(super) fn measured(&self, measurements: &Measurements, second: f64) -> Measured {
        let least = |kind: u64| of(measurements, kind).fold(f64::INFINITY, f64::min) / second * 1e6;
        Measured {
            title: "Latency".into(),
            columns: columns(&[], &[("immediate put", "us"), ("put", "us"), ("mini-packet", "us")]),
            rows: vec![(0..OPERATIONS).map(least).collect()],
        }
    }
}

/// One operation, which only notifies the other side.
async fn send(glex: &Glex, endpoint: u8, to: Address, operation: u64, config: &Latency) -> Outcome {
    let options = Options { remote_event: Some(0), connect: config.connect, ..Options::default() };
    let data = vec![1; config.bytes as usize];
    let sent = match operation {
        0 => glex.put_immediate(endpoint, to, AT, &data, options).await,
        1 => glex.put(endpoint, to, (AT, AT, config.bytes), options).await,
        _ => {
            let options = Options { remote_event: None, ..options };
            glex.send_mini_packet(endpoint, to, &data, options).await
        }
    };
    sent.in_call("send_mini_packet")?;
    Ok(())
}

async fn receive(glex: &Glex, endpoint: u8, operation: u64) -> Outcome {
    if operation < 2 {
        glex.wait_event(endpoint).await.in_call("wait_event")?;
    } else {
        glex.wait_mini_packet(endpoint).await.in_call("wait_mini_packet")?;
    }
    Ok(())
}

pub(super) async fn run(glex: Glex, config: Latency) -> Outcome {
    let Some((endpoint, to)) = set_up(&glex, config.path, config.to, 4096)? else { return Ok(()) };
    for operation in 0..OPERATIONS {
        for round in 0..=config.rounds {
            let begin = glex.now();
            if glex.node() == 0 {
                send(&glex, endpoint, to, operation, &config).await?;
            }
            receive(&glex, endpoint, operation).await?;
            if glex.node() != 0 {
                send(&glex, endpoint, to, operation, &config).await?;
            } else if round > 0 {
                glex.measure(operation, (glex.now() - begin) / 2);
            }
        }
    }
    Ok(())
}
