//! Put bandwidth by size (Figure 2), in one or both directions.

use super::{AT, Measurements, Path, check_partner, refuse, set_up};
use crate::measured::{Measured, columns};
use crate::processes::span;
use netloom_fabric::config::ConfigError;
use netloom_messaging::glex::Glex;
use netloom_nic::th::Options;
use netloom_node::process::{InCall, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Many puts of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bandwidth {
    /// The other node.
    pub to: u32,
    /// Data of a put.
    pub bytes: u64,
    /// Puts of each node.
    pub puts: u32,
    /// How descriptors come to the NIC.
    pub path: Path,
    /// Whether each put has a connection.
    pub connect: bool,
    /// Whether the other node puts too.
    pub both_ways: bool,
    /// Puts that may be without their events.
    pub outstanding: u32,
}

impl Default for Bandwidth {
    fn default() -> Self {
        Bandwidth {
            to: 1,
            bytes: 65_536,
            puts: 64,
            path: Path::Dma,
            connect: false,
            both_ways: false,
            outstanding: 16,
        }
    }
}

/// Keys of start and end times.
const BEGIN: u64 = 0;
const END: u64 = 1;

impl Bandwidth {
    pub(super) fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        check_partner(self.to, nodes)?;
        if !(1..=1 << 30).contains(&self.bytes) {
            return refuse("bytes", "expected 1 B to 1 GB");
        }
        if self.puts == 0 || !(1..=16).contains(&self.outstanding) {
            return refuse("outstanding", "expected 1 to 16, and at least one put");
        }
        Ok(())
    }

    pub(super) fn measured(&self, measurements: &Measurements, second: f64) -> Measured {
        let directions = if self.both_ways { 2 } else { 1 };
        let bytes = self.bytes * u64::from(self.puts) * directions;
        let span = span(measurements, (BEGIN, END), second);
        Measured {
            title: "Put bandwidth".into(),
            columns: columns(&[("", "B")], &[("", "GB/s")]),
            rows: vec![vec![self.bytes as f64, bytes as f64 / span / 1e9]],
        }
    }
}

/// Runs the program: from the first put to the event of the last one at the other side.
pub(super) async fn run(glex: Glex, config: Bandwidth) -> Outcome {
    let Some((endpoint, to)) = set_up(&glex, config.path, config.to, config.bytes)? else { return Ok(()) };
    let (sends, receives) = (glex.node() == 0 || config.both_ways, glex.node() != 0 || config.both_ways);
    let options = |user| Options {
        local_event: Some(0),
        remote_event: Some(user),
        connect: config.connect,
        ..Options::default()
    };
    // Warm-up puts, for anything that is fetched only once.
    if sends {
        glex.put(endpoint, to, (AT, AT, config.bytes), options(1)).await.in_call("put")?;
    }
    let (mut posted, mut ended, mut came) = (0, 0, 0);
    let begins = u32::from(sends) + u32::from(receives);
    for _ in 0..begins {
        glex.wait_event(endpoint).await.in_call("wait_event")?;
    }
    glex.measure(BEGIN, glex.now());
    let puts = |is: bool| if is { config.puts } else { 0 };
    while ended < puts(sends) || came < puts(receives) {
        if posted < puts(sends) && posted - ended < config.outstanding {
            glex.put(endpoint, to, (AT, AT, config.bytes), options(1)).await.in_call("put")?;
            posted += 1;
            continue;
        }
        match glex.wait_event(endpoint).await.in_call("wait_event")?.user {
            0 => ended += 1,
            _ => came += 1,
        }
    }
    glex.measure(END, glex.now());
    Ok(())
}
