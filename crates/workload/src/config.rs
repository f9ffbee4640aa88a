//! What a study may say that the nodes do, and with what traffic.

mod fits;
mod jobs;
mod packaging;
mod switched;
mod traffic;

pub use jobs::{JobConfig, JobsConfig, Placement};
pub use packaging::PackagingConfig;
pub use traffic::{Load, PacketMix, Priority, Routing, TrafficConfig};

use crate::glex::GlexConfig;
use crate::gni::GniConfig;
use crate::goal::replay::TraceCollectives;
use crate::shape::Shape;
use crate::skeleton::SkeletonConfig;
use crate::spi::SpiConfig;
use netloom_fabric::config::ConfigError;
use netloom_fabric::config::tagged::{Tagged, tagged};
use serde::{Deserialize, Deserializer, Serialize};

/// What the nodes do, chosen by `kind`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WorkloadConfig {
    /// Every packet to a node at random over the machine.
    Uniform {},
    /// Some of the packets into a small part of the machine, the rest anywhere (Blumrich et al., Figure 3).
    HotRegion(HotRegion),
    /// Every node sends to every other.
    AllToAll(AllToAll),
    /// Every node sends to its neighbours in every direction.
    NearestNeighbour {},
    /// The coordinates in another order, turned by one place: (x, y, z) sends to (y, z, x). Needs equal dimensions.
    Transpose {},
    /// Every node sends to the one whose coordinates are opposite: k - 1 - c.
    BitComplement {},
    /// Every node sends almost half-way round each ring: the worst that a ring of minimal routes can see.
    Tornado {},
    /// Every node sends to the one at a fixed distance.
    Shift(Shift),
    /// Every node sends to the one that a file names.
    Permutation(Permutation),
    /// Every node sends to one other, drawn once.
    RandomPermutation {},
    /// Every node of a group sends to nodes at random of the group at a fixed distance.
    GroupShift(GroupShift),
    /// Some of the packets to one node, the rest anywhere.
    HotNode(HotNode),
    /// Several jobs side by side, each on nodes of its own.
    Jobs(JobsConfig),
    /// Nothing is sent: what systems of several sizes are made of.
    Packaging(PackagingConfig),
    /// The communication of a program, with its computation as time.
    Skeleton(SkeletonConfig),
    /// What a recorded program did.
    Trace(Trace),
    /// A program on Message Units.
    Spi(SpiConfig),
    /// A program on Aries NICs.
    Gni(GniConfig),
    /// A program on TH Express NICs.
    Glex(GlexConfig),
}

/// The values of `kind`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
#[doc(hidden)]
pub enum Kind {
    Uniform,
    HotRegion,
    AllToAll,
    NearestNeighbour,
    Transpose,
    BitComplement,
    Tornado,
    Shift,
    Permutation,
    RandomPermutation,
    GroupShift,
    HotNode,
    Jobs,
    Packaging,
    Skeleton,
    Trace,
    Spi,
    Gni,
    Glex,
}

/// A workload that has nothing to set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl<'de> Tagged<'de> for WorkloadConfig {
    const TAG: &'static str = "kind";
    type Kind = Kind;

    fn of<D: Deserializer<'de>>(kind: Kind, rest: D) -> Result<Self, D::Error> {
        let nothing = |workload, rest| Nothing::deserialize(rest).map(|_| workload);
        match kind {
            Kind::Uniform => nothing(Self::Uniform {}, rest),
            Kind::HotRegion => HotRegion::deserialize(rest).map(Self::HotRegion),
            Kind::AllToAll => AllToAll::deserialize(rest).map(Self::AllToAll),
            Kind::NearestNeighbour => nothing(Self::NearestNeighbour {}, rest),
            Kind::Transpose => nothing(Self::Transpose {}, rest),
            Kind::BitComplement => nothing(Self::BitComplement {}, rest),
            Kind::Tornado => nothing(Self::Tornado {}, rest),
            Kind::Shift => Shift::deserialize(rest).map(Self::Shift),
            Kind::Permutation => Permutation::deserialize(rest).map(Self::Permutation),
            Kind::RandomPermutation => nothing(Self::RandomPermutation {}, rest),
            Kind::GroupShift => GroupShift::deserialize(rest).map(Self::GroupShift),
            Kind::HotNode => HotNode::deserialize(rest).map(Self::HotNode),
            Kind::Jobs => JobsConfig::deserialize(rest).map(Self::Jobs),
            Kind::Packaging => PackagingConfig::deserialize(rest).map(Self::Packaging),
            Kind::Skeleton => SkeletonConfig::deserialize(rest).map(Self::Skeleton),
            Kind::Trace => Trace::deserialize(rest).map(Self::Trace),
            Kind::Spi => SpiConfig::deserialize(rest).map(Self::Spi),
            Kind::Gni => GniConfig::deserialize(rest).map(Self::Gni),
            Kind::Glex => GlexConfig::deserialize(rest).map(Self::Glex),
        }
    }
}

impl<'de> Deserialize<'de> for WorkloadConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer)
    }
}

/// A hot region: a box of nodes that attracts traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotRegion {
    /// Fraction of the packets whose destination lies in the region; the rest is uniform over the machine.
    #[serde(default = "quarter")]
    pub fraction: f64,
    /// Lengths of the region, nodes along each dimension.
    pub region: Vec<u32>,
    /// Its lowest corner, coordinates. Empty: (0, 0, …).
    #[serde(default)]
    pub origin: Vec<u32>,
}

fn quarter() -> f64 {
    0.25
}

/// Among which nodes an all-to-all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// All of them.
    #[default]
    Machine,
    /// Those of each plane of two dimensions.
    Planes,
    /// Those of each line along one dimension.
    Lines,
}

/// An all-to-all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AllToAll {
    /// Among all nodes, those of each plane, or those of each line.
    pub over: Over,
    /// The dimensions that a plane or line spans, as letters: `"xy"`, `"z"`. Empty for the whole machine.
    pub dims: String,
    /// Data for each pair of nodes, bytes. None: what one full packet carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A shift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shift {
    /// Hops along each dimension, negative for the minus side. Of machines without dimensions one value, by how much the
    /// destination's number is greater.
    pub by: Vec<i32>,
}

/// A shift from group to group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupShift {
    /// How many groups further on the destinations are, negative for back.
    pub by: i32,
}

/// A node that attracts traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotNode {
    /// Its number.
    #[serde(default)]
    pub node: u32,
    /// Fraction of the packets that are for it; the rest is uniform over the machine.
    #[serde(default = "all")]
    pub fraction: f64,
}

fn all() -> f64 {
    1.0
}

/// A permutation from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permutation {
    /// Text file with the destination's node number for each node, one a line.
    pub file: String,
}

/// A recorded program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The trace.
    pub file: String,
    /// How its collective operations are done.
    #[serde(default)]
    pub collectives: TraceCollectives,
}

fn refuse<T>(key: &str, message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into() })
}

impl SkeletonConfig {
    /// Refuses what does not fit a machine, in words.
    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        let key = if let Self::Collective(_) = self { "workload.ranks" } else { "workload.grid" };
        self.check().map_err(|e| ConfigError { key: format!("workload.{}", e.key), ..e })?;
        let (ranks, nodes) = (self.ranks(), shape.nodes());
        if ranks <= nodes {
            return Ok(());
        }
        let machine = shape.words();
        let message =
            format!("expected at most {nodes} ranks, one for each node of the {machine}, found {ranks}");
        refuse(key, message)
    }
}

impl WorkloadConfig {
    /// Whether it is programs that decide what is sent, if anything is, rather than a pattern.
    pub fn is_program(&self) -> bool {
        use WorkloadConfig::{Glex, Gni, Packaging, Skeleton, Spi, Trace};
        matches!(self, Packaging(_) | Skeleton(_) | Trace(_) | Spi(_) | Gni(_) | Glex(_))
    }

    /// Whether programs run, by themselves or as some of several jobs: then the run ends when they do.
    pub fn runs_programs(&self) -> bool {
        match self {
            WorkloadConfig::Jobs(jobs) => jobs.has_programs(),
            _ => self.is_program(),
        }
    }

    /// Whether it ends by itself, with this traffic.
    pub fn ends(&self, traffic: &TrafficConfig) -> bool {
        match self {
            WorkloadConfig::AllToAll(_) | WorkloadConfig::NearestNeighbour {}
                if traffic.load == Load::Burst =>
            {
                true
            }
            WorkloadConfig::Jobs(jobs) => {
                jobs.has_programs() || jobs.jobs.iter().all(|job| job.workload.ends(&job.traffic(traffic)))
            }
            _ => self.is_program() || traffic.packets_per_node.is_some(),
        }
    }

    /// Changes the names of the files that it reads.
    pub fn each_file(&mut self, change: &dyn Fn(&mut String)) {
        match self {
            WorkloadConfig::Trace(trace) => change(&mut trace.file),
            WorkloadConfig::Permutation(permutation) => change(&mut permutation.file),
            WorkloadConfig::Jobs(jobs) => jobs.jobs.iter_mut().for_each(|job| job.workload.each_file(change)),
            _ => {}
        }
    }

    /// The `kind` that selects it.
    pub fn kind(&self) -> &'static str {
        match self {
            WorkloadConfig::Uniform {} => "uniform",
            WorkloadConfig::HotRegion(_) => "hot-region",
            WorkloadConfig::AllToAll(_) => "all-to-all",
            WorkloadConfig::NearestNeighbour {} => "nearest-neighbour",
            WorkloadConfig::Transpose {} => "transpose",
            WorkloadConfig::BitComplement {} => "bit-complement",
            WorkloadConfig::Tornado {} => "tornado",
            WorkloadConfig::Shift(_) => "shift",
            WorkloadConfig::Permutation(_) => "permutation",
            WorkloadConfig::RandomPermutation {} => "random-permutation",
            WorkloadConfig::GroupShift(_) => "group-shift",
            WorkloadConfig::HotNode(_) => "hot-node",
            WorkloadConfig::Jobs(_) => "jobs",
            WorkloadConfig::Packaging(_) => "packaging",
            WorkloadConfig::Skeleton(_) => "skeleton",
            WorkloadConfig::Trace(_) => "trace",
            WorkloadConfig::Spi(_) => "spi",
            WorkloadConfig::Gni(_) => "gni",
            WorkloadConfig::Glex(_) => "glex",
        }
    }
}

pub use netloom_fabric::config::LETTERS;

/// The letter of dimension `d`.
pub fn letter(d: usize) -> char {
    char::from(LETTERS.as_bytes()[d])
}
