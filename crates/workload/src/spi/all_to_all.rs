//! All-to-all (Chen et al., section V.C): each node sends a message to every other node, by RDMA writes with
//! dynamic routing, in an order of its own.
//!
//! Details that the paper does not give follow the machine's own benchmark of that name
//! (`spi/examples/mu/msg_alltoall.c` of the public driver): a message is sent in windows of 2 KB, the first
//! window to all nodes, then the second; descriptors go to 64 injection FIFOs in turn; packets may use the
//! network FIFO of any direction, and use zone 0.

use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use crate::traffic::order::Order;
use netloom_fabric::config::ConfigError;
use netloom_messaging::spi::Spi;
use netloom_nic::message_unit::descriptor::{ANY_DIRECTION, Descriptor, Kind, Network};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An all-to-all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct AllToAll {
    /// Data of a message, bytes.
    pub bytes: u64,
    /// The zone that the packets name.
    #[serde(default)]
    pub zone: u8,
    /// Injection FIFOs that a node's program puts its descriptors into, in turn.
    #[serde(default = "usual_fifos")]
    pub fifos: u16,
    /// The part of each message that is sent before the next part of another, bytes.
    #[serde(default = "usual_window")]
    pub window_B: u64,
}

fn usual_fifos() -> u16 {
    64
}
fn usual_window() -> u64 {
    2048
}

impl AllToAll {
    /// Checks the values against the machine's shape.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: &str| Err(ConfigError { key: key.into(), message: message.into() });
        let nodes = dims.iter().map(|&k| u64::from(k)).product::<u64>();
        if nodes < 2 {
            return refuse("program", "an all-to-all needs two nodes");
        }
        if self.bytes == 0 || self.bytes.saturating_mul(nodes) > BUFFERS {
            return refuse(
                "bytes",
                "expected 1 byte or more, and no more than 64 GiB for all nodes together",
            );
        }
        if self.window_B == 0 {
            return refuse("window_B", "expected at least 1 byte");
        }
        if self.zone > 3 {
            return refuse("zone", "expected 0 to 3");
        }
        if !(1..=544).contains(&self.fifos) {
            return refuse("fifos", "expected 1 to 544");
        }
        Ok(())
    }
}

/// Space for incoming data, bytes; outgoing data follows it, and the counter precedes it.
const BUFFERS: u64 = 1 << 36;
const COUNTER: u64 = 0;
const FIRST: u64 = 4096;

/// The program of a node.
pub(super) async fn run(spi: Spi, config: AllToAll) {
    let (me, nodes, bytes) = (u64::from(spi.node()), u64::from(spi.nodes()), config.bytes);
    spi.set_base_address(0, 0);
    spi.set_counter(COUNTER, (nodes - 1) * bytes);
    let begin = spi.now();
    // All orders are fixed: the study's seed is for the hardware's random choices.
    let order = Order::new(nodes - 1, 0, me);
    for from in (0..bytes).step_by(config.window_B as usize) {
        for i in 0..nodes - 1 {
            let to = (me + 1 + order.at(i)) % nodes;
            let offset = FIRST + me * bytes + from;
            let put = Descriptor {
                payload: FIRST + BUFFERS + to * bytes + from,
                length: config.window_B.min(bytes - from),
                map: ANY_DIRECTION,
                network: Network::PointToPoint {
                    destination: to as u32,
                    hints: None,
                    deterministic: false,
                    zone: config.zone,
                },
                kind: Kind::DirectPut { base: 0, offset, counter_base: 0, counter_offset: COUNTER },
                prefetch_only: false,
            };
            spi.inject((i % u64::from(config.fifos)) as u16, put).await;
        }
    }
    spi.wait_counter(COUNTER).await;
    spi.measure(0, spi.now() - begin);
}

/// The time of the last node, and the peak time's fraction of it: at the peak, the links of the dimension
/// with the most hops per link carry only data at 90% of their rate.
pub(super) fn measured(
    config: &AllToAll,
    dims: &[u32],
    measurements: &Measurements,
    tick_ns: f64,
) -> Measured {
    let ticks = measurements.iter().flat_map(|n| &n.2).map(|n| n.time().ticks()).max().unwrap_or(0);
    let time_us = ticks as f64 * tick_ns / 1e3;
    let nodes: f64 = dims.iter().map(|&k| f64::from(k)).product();
    // A ring of k nodes: k/4 hops on average over all destinations, on two links per node.
    let longest = f64::from(dims.iter().copied().max().unwrap_or(1));
    let peak_us = nodes * config.bytes as f64 * longest / 8.0 / EFFECTIVE_B_PER_NS / 1e3;
    Measured {
        title: "All-to-all".into(),
        columns: columns(&[("message", "B")], &[("time", "us"), ("fraction of", "peak")]),
        rows: vec![vec![config.bytes as f64, time_us, peak_us / time_us]],
    }
}

/// "At most 90% of the raw link bandwidth, 1.8 GB/s" (section II.A).
const EFFECTIVE_B_PER_NS: f64 = 1.8;
