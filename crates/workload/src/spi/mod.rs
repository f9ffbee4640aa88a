//! Programs on Message Units, written on their system programming interface: the benchmarks of the Blue Gene/Q paper
//! (Chen et al., section V), as it wrote them.

pub mod ping_pong;

use crate::tagged::{Tagged, tagged};
use netloom_fabric::config::ConfigError;
use netloom_nic::message_unit::spi::{Note, Spi};
use ping_pong::PingPong;
use serde::{Deserialize, Deserializer, Serialize};
use std::future::Future;
use std::pin::Pin;

/// Such a program as a study gives it, chosen by `program`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "program", rename_all = "kebab-case")]
pub enum SpiConfig {
    /// A message to and fro between two nodes, farther and farther apart.
    PingPong(PingPong),
}

/// The values of `program`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    PingPong,
}

impl<'de> Tagged<'de> for SpiConfig {
    const TAG: &'static str = "program";
    type Kind = Kind;

    fn of<D: Deserializer<'de>>(program: Kind, rest: D) -> Result<Self, D::Error> {
        match program {
            Kind::PingPong => PingPong::deserialize(rest).map(Self::PingPong),
        }
    }
}

impl<'de> Deserialize<'de> for SpiConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer)
    }
}

/// What a program measured, as a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What it is.
    pub title: String,
    /// Names of its columns, with their units; the first is what the others depend on.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<f64>>,
}

impl SpiConfig {
    /// Checks the values against the machine's shape.
    ///
    /// # Errors
    /// The first value that is impossible.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        match self {
            SpiConfig::PingPong(c) => c.check(dims),
        }
    }

    /// The program of a node on a machine of this shape.
    pub fn program(&self, spi: Spi, dims: &[u32]) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match self {
            SpiConfig::PingPong(c) => Box::pin(ping_pong::run(spi, c.clone(), dims.to_vec())),
        }
    }

    /// What the programs of all nodes measured, in the order of nodes; a tick is so many nanoseconds.
    pub fn measured(&self, notes: &[(u32, Vec<Note>)], tick_ns: f64) -> Measured {
        match self {
            SpiConfig::PingPong(_) => ping_pong::measured(notes, tick_ns),
        }
    }
}
