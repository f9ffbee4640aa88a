//! Programs on TH Express NICs, written for their programming interface: the benchmarks of the figures in
//! Pang et al., "The TH Express high performance interconnect networks", section 5.
//!
//! Each node runs one process, with an endpoint whose number and key are the same on all.

pub mod bandwidth;
pub mod collectives;
mod exchange;
pub mod latency;

use crate::config::{Machines, Runs, Workload, of_workload};
use crate::exchange::Exchange;
use crate::measured::Measured;
use crate::processes::{Measurements, check_partner, of, refuse};
use crate::shape::Shape;
use bandwidth::Bandwidth;
use collectives::Collectives;
use latency::Latency;
use netloom_fabric::config::ConfigError;
use netloom_messaging::glex::Glex;
use netloom_nic::th::{Address, Submission};
use netloom_node::process::{Failure, InCall, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::Pin;

/// The key of all endpoints.
const KEY: u16 = 1;

/// Start address of each process's memory that others access.
const AT: u64 = 1 << 32;

/// How endpoints get their descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Written by cores.
    Pio,
    /// Fetched by the NIC.
    Dma,
}

impl Path {
    fn submission(self) -> Submission {
        match self {
            Path::Pio => Submission::Pio,
            Path::Dma => Submission::Dma,
        }
    }
}

/// A program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "program", rename_all = "kebab-case")]
pub enum GlexConfig {
    /// Immediate puts, puts and mini-packets between two nodes, one at a time.
    Latency(Latency),
    /// Many puts of a size between two nodes, in one or both directions.
    Bandwidth(Bandwidth),
    /// Barriers, broadcasts and sums of all nodes.
    Collectives(Collectives),
    /// Puts and gets at random, each of which is looked at.
    Exchange(Exchange),
}

impl Workload for GlexConfig {
    fn machines() -> Machines {
        Machines::Switches
    }

    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        self.check(shape.nodes()).map_err(of_workload)
    }

    fn runs(&self) -> Runs<'_> {
        Runs::OnInterface(self)
    }
}

impl GlexConfig {
    /// Checks the values against the machine.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        match self {
            GlexConfig::Latency(c) => c.check(nodes),
            GlexConfig::Bandwidth(c) => c.check(nodes),
            GlexConfig::Collectives(c) => c.check(),
            GlexConfig::Exchange(c) => c.check(nodes).and_then(|()| exchange::check(c)),
        }
    }

    /// The measurements of all processes, by node.
    pub fn measured(&self, measurements: &Measurements, ticks_per_second: u64) -> Measured {
        // Microticks of a second.
        let second = ticks_per_second as f64 * 1e6;
        match self {
            GlexConfig::Latency(c) => c.measured(measurements, second),
            GlexConfig::Bandwidth(c) => c.measured(measurements, second),
            GlexConfig::Collectives(c) => c.measured(measurements, second),
            GlexConfig::Exchange(c) => c.measured(measurements, second),
        }
    }
}

/// The program of a process, on a machine with this number of ticks per second.
pub fn program(
    config: &GlexConfig,
    glex: Glex,
    ticks_per_second: u64,
) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
    match config {
        GlexConfig::Latency(c) => Box::pin(latency::run(glex, c.clone())),
        GlexConfig::Bandwidth(c) => Box::pin(bandwidth::run(glex, c.clone())),
        GlexConfig::Collectives(c) => Box::pin(collectives::run(glex, c.clone())),
        GlexConfig::Exchange(c) => Box::pin(exchange::run(glex, c.clone(), ticks_per_second)),
    }
}

/// Creates an endpoint with memory, and returns the other's address; `None` for nodes that take no part.
fn set_up(glex: &Glex, path: Path, to: u32, bytes: u64) -> Result<Option<(u8, Address)>, Failure> {
    let node = match glex.node() {
        0 => to,
        node if node == to => 0,
        _ => return Ok(None),
    };
    let endpoint = glex.create_endpoint(path.submission(), KEY, 1 << 12).in_call("create_endpoint")?;
    glex.register(endpoint, AT, bytes, true).in_call("register")?;
    Ok(Some((endpoint, Address { node, vp: endpoint, key: KEY })))
}
