//! Programs on Message Units, written on their system programming interface: the benchmarks of the Blue
//! Gene/Q paper (Chen et al., section V), as it wrote them.

pub mod all_to_all;
pub mod allreduce;
pub mod barrier;
pub mod broadcast;
pub mod file_io;
pub mod nearest_neighbour;
pub mod ping_pong;
pub mod tree;

use crate::config::{Machines, Runs, Workload, of_workload};
use crate::measured::Measured;
use crate::processes::Measurements;
use crate::shape::Shape;
use all_to_all::AllToAll;
use allreduce::Allreduce;
use barrier::Barrier;
use broadcast::Broadcast;
use file_io::FileIo;
use nearest_neighbour::NearestNeighbour;
use netloom_fabric::config::{ConfigError, IoNodes, Topology};
use netloom_messaging::spi::Spi;
use ping_pong::PingPong;
use schemars::JsonSchema;
use serde::Serialize;
use std::future::Future;
use std::pin::Pin;

/// Configuration of such a program, chosen by `program`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "program", rename_all = "kebab-case")]
pub enum SpiConfig {
    /// A message to and fro between two nodes, farther and farther apart.
    PingPong(PingPong),
    /// A message in each direction at once, looped back to the node that sends them.
    NearestNeighbour(NearestNeighbour),
    /// A message from each node to each other.
    AllToAll(AllToAll),
    /// Sums over boxes of nodes.
    Allreduce(Allreduce),
    /// Barriers of boxes of nodes.
    Barrier(Barrier),
    /// One node's message to all of a box.
    Broadcast(Broadcast),
    /// Files written or read through IO nodes.
    FileIo(FileIo),
}

netloom_fabric::tagged_table!(
    SpiConfig,
    "program",
    Kind,
    PingPong(PingPong),
    NearestNeighbour(NearestNeighbour),
    AllToAll(AllToAll),
    Allreduce(Allreduce),
    Barrier(Barrier),
    Broadcast(Broadcast),
    FileIo(FileIo),
);

impl Workload for SpiConfig {
    fn machines() -> Machines {
        Machines::Tori
    }

    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        self.check(shape.lengths()).map_err(of_workload)
    }

    fn runs(&self) -> Runs<'_> {
        Runs::OnInterface(self)
    }
}

impl SpiConfig {
    /// Checks the values against the machine's shape.
    ///
    /// # Errors
    /// The first value that is impossible.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        match self {
            SpiConfig::PingPong(c) => c.check(dims),
            SpiConfig::NearestNeighbour(c) => c.check(dims),
            SpiConfig::AllToAll(c) => c.check(dims),
            SpiConfig::Allreduce(c) => c.check(dims),
            SpiConfig::Barrier(c) => c.check(dims),
            SpiConfig::Broadcast(c) => c.check(dims),
            SpiConfig::FileIo(_) => Ok(()),
        }
    }

    /// Checks the values against the machine's IO nodes.
    ///
    /// # Errors
    /// The first value that is impossible.
    pub fn check_io(&self, io: Option<&IoNodes>) -> Result<(), ConfigError> {
        if let SpiConfig::FileIo(c) = self { c.check(io) } else { Ok(()) }
    }

    /// The program of a node on a machine of this shape, whose ticks are `tick_ns` long. IO nodes take part
    /// in file IO only.
    pub fn program(&self, spi: Spi, dims: &[u32], tick_ns: f64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match self {
            SpiConfig::FileIo(c) => Box::pin(file_io::run(spi, c.clone(), dims.to_vec())),
            _ if spi.is_io_node() => Box::pin(async {}),
            SpiConfig::PingPong(c) => Box::pin(ping_pong::run(spi, c.clone(), dims.to_vec())),
            SpiConfig::AllToAll(c) => Box::pin(all_to_all::run(spi, c.clone())),
            SpiConfig::Allreduce(c) => Box::pin(allreduce::run(spi, c.clone(), dims.to_vec())),
            SpiConfig::Barrier(c) => Box::pin(barrier::run(spi, c.clone(), dims.to_vec())),
            SpiConfig::Broadcast(c) => Box::pin(broadcast::run(spi, c.clone(), dims.to_vec())),
            SpiConfig::NearestNeighbour(c) => {
                Box::pin(nearest_neighbour::run(spi, c.clone(), 2 * dims.len() as u16, tick_ns))
            }
        }
    }

    /// The measurements of the programs of all nodes, in the order of nodes; a tick is `tick_ns` long.
    pub fn measured(&self, topology: &Topology, measurements: &Measurements, tick_ns: f64) -> Measured {
        let dims = &topology.dims;
        match self {
            SpiConfig::FileIo(c) => {
                let io = topology.io.as_ref().expect("it was checked");
                file_io::measured(c, io, dims, measurements, tick_ns)
            }
            SpiConfig::AllToAll(c) => all_to_all::measured(c, dims, measurements, tick_ns),
            SpiConfig::Allreduce(c) => allreduce::measured(c, dims, measurements, tick_ns),
            SpiConfig::Barrier(c) => barrier::measured(c, dims, measurements, tick_ns),
            SpiConfig::Broadcast(c) => broadcast::measured(c, dims, measurements, tick_ns),
            SpiConfig::NearestNeighbour(c) => {
                nearest_neighbour::measured(c, 2 * dims.len() as u16, measurements, tick_ns)
            }
            SpiConfig::PingPong(_) => ping_pong::measured(measurements, tick_ns),
        }
    }
}
