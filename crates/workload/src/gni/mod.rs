//! Programs on Aries NICs, written for their programming interface: the benchmarks of the figures in the Cray
//! XC paper (Alverson et al., "Aries Performance").
//!
//! The machine's nodes are one job, [`PTAG`] and [`COOKIE`]; each node runs [`GniConfig::processes`]
//! processes.

pub mod allreduce;
pub mod amo_rates;
pub mod bandwidth;
mod exchange;
pub mod latency;
pub mod put_rates;

use crate::config::{Machines, Runs, Workload, of_workload};
use crate::exchange::Exchange;
use crate::measured::Measured;
use crate::processes::{Measurements, check_partner, of, refuse};
use crate::shape::Shape;
use allreduce::Allreduce;
use amo_rates::AmoRates;
use bandwidth::Bandwidth;
use latency::Latency;
use netloom_fabric::config::ConfigError;
use netloom_messaging::gni::{Gni, MemOptions};
use netloom_nic::aries::address::{Job, MemHandle, PageSize};
use netloom_node::process::{Failure, InCall, Outcome};
use netloom_node::time::Microticks;
use put_rates::PutRates;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::Pin;

/// The job's protection tag.
pub const PTAG: u8 = 1;
/// The job's cookie.
pub const COOKIE: u32 = 1;

/// Start address of each process's memory that others access.
const AT: u64 = 1 << 32;

/// The job of all nodes.
pub fn job(nodes: u32) -> Job {
    Job::new(PTAG, COOKIE, 0..nodes)
}

/// A program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "program", rename_all = "kebab-case")]
pub enum GniConfig {
    /// Puts and gets of growing size between two nodes, one at a time.
    Latency(Latency),
    /// Many puts of a size between two nodes, in one or both directions.
    Bandwidth(Bandwidth),
    /// Puts of a word by FMA launch, by several processes of a node.
    PutRates(PutRates),
    /// Atomic operations of all nodes on variables of one.
    AmoRates(AmoRates),
    /// Sums over all nodes by the collective engine.
    Allreduce(Allreduce),
    /// Puts, gets and atomic additions at random, each of which is looked at.
    Exchange(Exchange),
}

impl Workload for GniConfig {
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

impl GniConfig {
    /// Processes per node.
    pub fn processes(&self) -> u32 {
        match self {
            GniConfig::Latency(_) | GniConfig::Exchange(_) => 1,
            GniConfig::Allreduce(c) => c.processes,
            GniConfig::Bandwidth(c) => c.processes,
            GniConfig::PutRates(c) => c.processes,
            GniConfig::AmoRates(c) => c.processes,
        }
    }

    /// Checks the values against the machine.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        match self {
            GniConfig::Latency(c) => c.check(nodes),
            GniConfig::Bandwidth(c) => c.check(nodes),
            GniConfig::PutRates(c) => c.check(nodes),
            GniConfig::AmoRates(c) => c.check(nodes),
            GniConfig::Allreduce(c) => c.check(nodes),
            GniConfig::Exchange(c) => c.check(nodes),
        }
    }

    /// The measurements of all processes, by node.
    pub fn measured(&self, measurements: &Measurements, ticks_per_second: u64) -> Measured {
        // Microticks of a second.
        let second = ticks_per_second as f64 * 1e6;
        match self {
            GniConfig::Latency(c) => c.measured(measurements, second),
            GniConfig::Bandwidth(c) => c.measured(measurements, second),
            GniConfig::PutRates(c) => c.measured(measurements, second),
            GniConfig::AmoRates(c) => c.measured(measurements, second),
            GniConfig::Allreduce(c) => c.measured(measurements, second),
            GniConfig::Exchange(c) => c.measured(measurements, second),
        }
    }
}

/// The program of a process, on a machine with this number of ticks per second, on which it takes `line_ns`
/// to load a line of memory that another core of the node has written.
pub fn program(
    config: &GniConfig,
    gni: Gni,
    ticks_per_second: u64,
    line_ns: f64,
) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
    let line = Microticks::of_f64(line_ns * ticks_per_second as f64 / 1e3);
    match config {
        GniConfig::Latency(c) => Box::pin(latency::run(gni, c.clone())),
        GniConfig::Bandwidth(c) => Box::pin(bandwidth::run(gni, c.clone())),
        GniConfig::PutRates(c) => Box::pin(put_rates::run(gni, c.clone())),
        GniConfig::AmoRates(c) => Box::pin(amo_rates::run(gni, c.clone())),
        GniConfig::Allreduce(c) => Box::pin(allreduce::run(gni, c.clone(), line)),
        GniConfig::Exchange(c) => Box::pin(exchange::run(gni, c.clone(), ticks_per_second)),
    }
}

/// Attaches and registers memory, which has the same handle on all nodes: the process's number among the
/// job's virtual ones.
fn set_up(gni: &Gni, bytes: u64, page: PageSize) -> Result<MemHandle, Failure> {
    sign_on(gni)?;
    register(gni, bytes, page)
}

fn sign_on(gni: &Gni) -> Outcome {
    gni.cdm_attach(PTAG, COOKIE).in_call("cdm_attach")
}

fn register(gni: &Gni, bytes: u64, page: PageSize) -> Result<MemHandle, Failure> {
    // The first process of a node does it for all.
    let _ = gni.reserve_virtual_handles(gni.processes().into());
    let options = MemOptions { page, virtual_mdh: Some(gni.process().into()), ..MemOptions::default() };
    gni.mem_register(AT, bytes, options).in_call("mem_register")
}

/// Keys of start and end times.
const BEGIN: u64 = 1 << 32;
const END: u64 = BEGIN + 1;

/// Time from the first start to the last end, seconds.
fn span(measurements: &Measurements, second: f64) -> f64 {
    crate::processes::span(measurements, (BEGIN, END), second)
}
