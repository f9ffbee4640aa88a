//! Configuration of a token-flow-controlled torus. This module has what all families of routers have in
//! common; the parameters of each family are in a file of its own.
//!
//! These are plain values as a machine file gives them, with checks that report invalid values. None of them
//! is used on the path of a packet: a block derives its own compact tables from it when the machine is built.

mod dragonfly;
mod failures;
mod fat_tree;
mod faults;
mod io;
mod outline;
mod queued;
mod router_torus;
pub mod tagged;
mod th_express;
mod tiled;
mod torus;

pub use dragonfly::{Cabling, Cooling, DRAGONFLY_NODES_MAX, DragonflyConfig};
pub(crate) use failures::{Change, What};
pub use failures::{FailoverManager, Failure, LinkControl, RandomFailures, SwitchedFaults};
pub use fat_tree::FatTreeConfig;
pub(crate) use faults::PlacedFault;
pub use faults::{LinkFault, SoftError};
pub use io::{EXITS_MAX, IoNodes};
pub use outline::{Outline, VcOutline};
pub use queued::{CollectiveLogic, QUEUES_MAX, QueuedConfig, QueuedRouter, ZONES};
pub use router_torus::RouterTorusConfig;
pub use tiled::{
    FLITS_MAX, FlitFormat, LinkClass, LoadWeights, MinimalPaths, SIDE_MAX, SwitchedRouting, SwitchedTopology,
    TILED_VCS_MAX, TiledConfig, TiledRouter, VcDiscrimination,
};
pub use torus::{BubbleRule, DirectionChoice, Escape, Router, TorusConfig, VCS_MAX};

use crate::topology::partitions::{self, Partition};
use crate::topology::torus::Torus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most dimensions that a torus may have (Blue Gene/Q has five).
pub const DIMENSIONS_MAX: usize = 5;
/// The letters of the dimensions, on every machine.
pub const LETTERS: &str = "xyzuv";
/// Longest dimension: packet headers carry coordinates of seven bits.
pub const LENGTH_MAX: u32 = 128;

/// The shape of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Nodes along each dimension, x first.
    pub dims: Vec<u32>,
    /// Whether each dimension closes into a ring (torus) or is open (mesh). Empty: all are rings.
    #[serde(default)]
    pub wrap: Vec<bool>,
    /// Lengths of the full machine of which this is a partition, so that it closes into rings as the link
    /// chips allow: in a dimension where it has all of the machine's nodes, or those of one midplane. In
    /// place of `wrap`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partition_of: Vec<u32>,
    /// Partitions of the machine: nodes in none have no links. Not for studies, whose programs run on one.
    #[serde(skip)]
    pub partitions: Vec<Partition>,
    /// Whether the links of a dimension of one node are looped back to it, rather than not there: for
    /// measuring one node.
    #[serde(default, skip_serializing_if = "is_false")]
    pub loopback: bool,
    /// The IO nodes beside the torus, of machines whose nodes have IO links (Blue Gene/Q). If omitted: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<IoNodes>,
    /// Nodes that are out of order, by coordinates. Ports towards them never offer tokens (section 2).
    #[serde(default)]
    pub dead_nodes: Vec<Vec<u32>>,
    /// Links that are out of order, in both directions, as node and direction (`"+x"`).
    #[serde(default)]
    pub dead_links: Vec<DeadLink>,
}

impl Topology {
    /// Nodes of the machine, dead ones included.
    pub fn nodes(&self) -> usize {
        self.dims.iter().map(|&k| k as usize).product()
    }

    /// Whether dimension `d` closes into a ring.
    pub fn wraps(&self, d: usize) -> bool {
        match self.partition_of.get(d) {
            Some(&full) => partitions::closes(self.dims[d], full),
            None => self.wrap.get(d).copied().unwrap_or(true),
        }
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key (`topology.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        let n = self.dims.len();
        if n == 0 || n > DIMENSIONS_MAX {
            return refuse("topology.dims", format!("expected 1 to {DIMENSIONS_MAX} dimensions, found {n}"));
        }
        if let Some(k) = self.dims.iter().find(|&&k| k == 0 || k > LENGTH_MAX) {
            return refuse("topology.dims", format!("expected lengths of 1 to {LENGTH_MAX}, found {k}"));
        }
        if !self.wrap.is_empty() && self.wrap.len() != n {
            return refuse(
                "topology.wrap",
                format!("expected one value for each of the {n} dimensions, found {}", self.wrap.len()),
            );
        }
        self.check_partition()?;
        partitions::check(&self.partitions, &self.dims).or_else(|m| refuse("topology.partitions", m))?;
        self.io.iter().try_for_each(|io| io.check(&self.dims))?;
        for node in &self.dead_nodes {
            if node.len() != n || node.iter().zip(&self.dims).any(|(c, k)| c >= k) {
                return refuse(
                    "topology.dead_nodes",
                    format!("expected coordinates inside {:?}, found {node:?}", self.dims),
                );
            }
        }
        if !self.dead_links.is_empty() {
            let whole = Torus::new(&Topology { dead_nodes: vec![], dead_links: vec![], ..self.clone() });
            for link in &self.dead_links {
                faults::checked_place("topology.dead_links", &link.node, &link.direction, &whole)?;
            }
        }
        Ok(())
    }
}

impl Topology {
    fn check_partition(&self) -> Result<(), ConfigError> {
        let (full, dims) = (&self.partition_of, &self.dims);
        if full.is_empty() {
            return Ok(());
        }
        if !self.wrap.is_empty() {
            return refuse("topology.partition_of", "expected this or topology.wrap, found both");
        }
        let fits = full.len() == dims.len() && full.iter().zip(dims).all(|(full, k)| k <= full);
        if !fits {
            let message = format!("expected lengths of a machine that holds {dims:?}, found {full:?}");
            return refuse("topology.partition_of", message);
        }
        let whole = |k: u32, full: u32| k == full || k.is_multiple_of(partitions::MIDPLANE);
        if let Some((k, full)) = dims.iter().zip(full).find(|(k, full)| !whole(**k, **full)) {
            let message =
                format!("expected whole midplanes of {} nodes, found {k} of {full}", partitions::MIDPLANE);
            return refuse("topology.partition_of", message);
        }
        Ok(())
    }
}

/// A link that is out of order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadLink {
    /// Coordinates of the node at one end.
    pub node: Vec<u32>,
    /// Direction of the link seen from there: `+` or `-` and the dimension's letter (x, y, z, u, v).
    pub direction: String,
}

/// Packets and their sizes, bytes (section 2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct PacketFormat {
    /// The unit of flow control.
    pub chunk_B: u32,
    /// Size of a full packet: a whole number of chunks.
    pub chunks_max: u32,
    /// Link-level and routing header, part of the first chunk.
    pub header_B: u32,
    /// Software header before the data of each packet, part of the first chunk.
    pub software_header_B: u32,
    /// CRC and valid indicator, appended to the chunks on the wire.
    pub trailer_B: u32,
    /// An ack-only or token-ack packet, to which the trailer is appended like to any packet.
    pub ack_B: u32,
}

impl PacketFormat {
    /// Bytes of a data packet with `chunks` chunks on a link.
    #[allow(non_snake_case)]
    pub fn wire_B(&self, chunks: u32) -> u32 {
        chunks * self.chunk_B + self.trailer_B
    }

    /// Bytes of an ack-only or token-ack packet on a link.
    #[allow(non_snake_case)]
    pub fn ack_wire_B(&self) -> u32 {
        self.ack_B + self.trailer_B
    }
    /// Rejects invalid values; packets have at most `most` chunks.
    ///
    /// # Errors
    /// The first invalid value, with its key (`packet.…`) and what was expected.
    pub fn check(&self, most: u32) -> Result<(), ConfigError> {
        at_most(&[
            ("packet.chunk_B", self.chunk_B, 4096),
            ("packet.header_B", self.header_B, 65_536),
            ("packet.software_header_B", self.software_header_B, 65_536),
            ("packet.trailer_B", self.trailer_B, 4096),
            ("packet.ack_B", self.ack_B, 4096),
        ])?;
        if self.chunk_B == 0 {
            return refuse("packet.chunk_B", "expected at least 1 byte");
        }
        if !(1..=most).contains(&self.chunks_max) {
            return refuse(
                "packet.chunks_max",
                format!("expected 1 to {most} chunks, found {}", self.chunks_max),
            );
        }
        if self.header_B + self.software_header_B >= self.chunk_B * self.chunks_max {
            return refuse("packet.header_B", "headers leave no room for data in a full packet");
        }
        if self.ack_B == 0 {
            return refuse("packet.ack_B", "expected at least 1 byte: tokens return in packets");
        }
        Ok(())
    }
}

/// One hop's time from its parts, and the rate of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct Link {
    /// The rate of a link.
    // Here the time of a byte.
    pub ticks_per_byte: u32,
    /// SerDes and wire.
    pub wire_ticks: u32,
    /// Network logic of the receiving unit: deserialised header to arbitration request.
    pub receive_ticks: u32,
    /// The pipelined arbitration.
    pub arbitrate_ticks: u32,
    /// Network logic of the sending unit: grant to first bit.
    pub send_ticks: u32,
    /// Wires of each dimension, in addition to those of every link; empty for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace_ticks: Vec<u32>,
    /// Nodes of a midplane along each dimension: links that leave one go through link chips and optical
    /// cables. Empty for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub midplane: Vec<u32>,
    /// Link chips and cable between two midplanes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub link_chip_ticks: u32,
    /// Probability that a transmitted bit is corrupted.
    #[serde(default)]
    pub bit_error_rate: f64,
    /// A sender that has no acknowledgement after this time sends again (section 2).
    #[serde(default = "default_timeout")]
    pub retransmit_timeout_ticks: u32,
    /// A receiver whose link back was idle this long after a packet sends an ack-only packet (section 3).
    /// Only where bits are corrupted: elsewhere nothing depends on it.
    #[serde(default = "default_ack_only")]
    pub ack_only_after_ticks: u32,
    /// Probability that a bit on a fibre of an optical link, one that leaves a midplane, is wrong.
    #[serde(default, skip_serializing_if = "is_no_rate")]
    pub fibre_error_rate: f64,
    /// Errors of a fibre that software bears: after one more the spare takes its place. If omitted: any
    /// number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fibre_errors_max: Option<u64>,
    /// Faults of single links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<LinkFault>,
}

fn is_no_rate(rate: &f64) -> bool {
    *rate == 0.0
}

fn is_false(flag: &bool) -> bool {
    !flag
}
fn is_zero(ticks: &u32) -> bool {
    *ticks == 0
}
fn default_timeout() -> u32 {
    8192
}
fn default_ack_only() -> u32 {
    2048
}

impl Link {
    /// From the first bit on one link to the earliest first bit on the next, ticks: the hop.
    pub fn hop_ticks(&self) -> u32 {
        self.wire_ticks + self.receive_ticks + self.arbitrate_ticks + self.send_ticks
    }

    /// From the first bit on one link to the earliest first bit on the next for the link of a node at
    /// coordinate `x` of dimension `d`, in the plus direction or (`minus`) the other: a hop with its wires,
    /// ticks.
    pub fn hop_ticks_of(&self, d: usize, x: u32, length: u32, minus: bool) -> u32 {
        self.hop_ticks()
            + self.trace_ticks.get(d).copied().unwrap_or(0)
            + if self.is_optical(d, x, length, minus) { self.link_chip_ticks } else { 0 }
    }

    /// The same for an IO link: like one that leaves a midplane, since IO nodes stand in drawers of their own
    /// **(ours: the paper does not give its time)**.
    pub fn io_hop_ticks(&self) -> u32 {
        self.hop_ticks() + self.trace_ticks.first().copied().unwrap_or(0) + self.link_chip_ticks
    }

    /// Rejects invalid values, given the packets and the number of dimensions.
    ///
    /// # Errors
    /// The first invalid value, with its key (`link.…`) and what was expected.
    pub fn check(&self, packet: &PacketFormat, dimensions: usize) -> Result<(), ConfigError> {
        at_most(&[
            ("link.ticks_per_byte", self.ticks_per_byte, 1000),
            ("link.wire_ticks", self.wire_ticks, 1_000_000),
            ("link.receive_ticks", self.receive_ticks, 1_000_000),
            ("link.arbitrate_ticks", self.arbitrate_ticks, 1_000_000),
            ("link.send_ticks", self.send_ticks, 1_000_000),
            ("link.link_chip_ticks", self.link_chip_ticks, 10_000_000),
        ])?;
        self.trace_ticks.iter().try_for_each(|&t| at_most(&[("link.trace_ticks", t, 1_000_000)]))?;
        for (key, given) in
            [("link.trace_ticks", self.trace_ticks.len()), ("link.midplane", self.midplane.len())]
        {
            if given != 0 && given < dimensions {
                return refuse(
                    key,
                    format!("expected a value for each of the {dimensions} dimensions, found {given}"),
                );
            }
        }
        if self.ticks_per_byte == 0 {
            return refuse("link.ticks_per_byte", "expected at least 1 tick");
        }
        if self.hop_ticks() == 0 {
            return refuse("link.wire_ticks", "a hop must take at least one tick");
        }
        faults::check_rate("link.bit_error_rate", self.bit_error_rate)?;
        // Else packets would be sent again that have got through, or before the last of the first sending has
        // left the network.
        let full = (packet.chunk_B * packet.chunks_max + packet.trailer_B) * self.ticks_per_byte;
        let wires = self.trace_ticks.iter().max().unwrap_or(&0) + self.link_chip_ticks;
        let enough =
            u64::from(self.ack_only_after_ticks) + u64::from(3 * full + 2 * (self.hop_ticks() + wires));
        if self.may_corrupt() && u64::from(self.retransmit_timeout_ticks) < enough {
            return refuse(
                "link.retransmit_timeout_ticks",
                format!(
                    "expected at least {enough}, three full packets and two hops more than ack_only_after_ticks, found {}",
                    self.retransmit_timeout_ticks
                ),
            );
        }
        Ok(())
    }
}

/// The order in which escape and statically routed packets use their directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EscapeOrder {
    /// x first, then y, then z.
    Dimension,
    /// x+, y+, z+, x-, y-, z-.
    Direction,
}

/// The direction that a packet takes if both directions around a ring are equally far (section 2: the
/// registers of the hardware).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HalfwayTie {
    /// Nodes alternate by the parity of their coordinates' sum.
    Parity,
    /// All take the plus side, which costs 6% of the capacity of a 32-ring.
    Plus,
}

/// An invalid value of a configuration: its key, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct ConfigError {
    /// Dotted path of the offending key, as in a machine file (`router.paths`).
    pub key: String,
    /// What was expected there.
    pub message: String,
}

/// Refuses the first value that is too large: key, value and the most it may be.
fn at_most(values: &[(&str, u32, u32)]) -> Result<(), ConfigError> {
    match values.iter().find(|(_, value, most)| value > most) {
        Some((key, value, most)) => refuse(key, format!("expected at most {most}, found {value}")),
        None => Ok(()),
    }
}

/// The names of classes of links: those that a machine chose, or the usual ones.
fn class_names(chosen: &[String], usual: &[impl ToString]) -> Vec<String> {
    if chosen.is_empty() { usual.iter().map(ToString::to_string).collect() } else { chosen.to_vec() }
}

/// Refuses names of classes of links that are not one for each class, or not different.
fn check_classes(chosen: &[String], classes: usize) -> Result<(), ConfigError> {
    if !chosen.is_empty() && chosen.len() != classes {
        let message =
            format!("expected {classes} names, one for each class of links, found {}", chosen.len());
        return refuse("topology.link_classes", message);
    }
    let is_used = |(i, name): &(usize, &String)| name.is_empty() || chosen[..*i].contains(name);
    match chosen.iter().enumerate().find(is_used) {
        Some((_, name)) => {
            refuse("topology.link_classes", format!("expected different names, found \"{name}\""))
        }
        None => Ok(()),
    }
}

fn refuse<T>(key: &str, message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into() })
}

/// Reads a direction such as `"+x"` or `"-z"` as a port number: `2 * dimension`, plus one for minus.
pub fn parse_direction(text: &str, dimensions: usize) -> Option<usize> {
    let mut letters = text.chars();
    let minus = match letters.next()? {
        '+' => 0,
        '-' => 1,
        _ => return None,
    };
    let letter = letters.next()?;
    let dimension = LETTERS.find(letter)?;
    (letters.next().is_none() && dimension < dimensions).then_some(2 * dimension + minus)
}
