//! The list of all kinds of workloads, and what follows from it.

use super::kinds::bit_complement::BitComplement;
use super::kinds::nearest_neighbour::NearestNeighbour;
use super::kinds::random_permutation::RandomPermutation;
use super::kinds::tornado::Tornado;
use super::kinds::transpose::Transpose;
use super::kinds::uniform::Uniform;
use super::{
    AllToAll, GroupShift, HotNode, HotRegion, JobsConfig, Machines, PackagingConfig, Permutation, Runs,
    Shift, Trace, TrafficConfig, Workload, refuse,
};
use crate::glex::GlexConfig;
use crate::gni::GniConfig;
use crate::mpi::MpiProgram;
use crate::pami::PamiProgram;
use crate::point_to_point::PointToPointConfig;
use crate::shape::Shape;
use crate::skeleton::SkeletonConfig;
use crate::spi::SpiConfig;
use crate::traffic::pattern::{Among, Destinations};
use netloom_fabric::config::ConfigError;
use netloom_fabric::config::tagged::{Tagged, tagged};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;

/// A kind of workload.
pub struct KindEntry {
    /// The `kind` that selects it.
    pub name: &'static str,
    /// The machines that take it.
    pub machines: fn() -> Machines,
    /// Whether it may be a job.
    pub may_be_job: fn() -> bool,
}

impl KindEntry {
    const fn of<W: Workload>(name: &'static str) -> KindEntry {
        KindEntry { name, machines: W::machines, may_be_job: W::may_be_job }
    }
}

/// A workload that has nothing to set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Makes the enumeration of workloads, its reader and the table of kinds of one list: those without keys,
/// then those with.
macro_rules! workloads {
    (
        without keys { $($(#[doc = $plain_doc:literal])* $plain:ident = $plain_name:literal,)* }
        with keys { $($(#[doc = $doc:literal])* $variant:ident($config:ty) = $name:literal,)* }
    ) => {
        /// What the nodes do, chosen by `kind`.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum WorkloadConfig {
            $($(#[doc = $plain_doc])* #[serde(rename = $plain_name)] $plain {},)*
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant($config),)*
        }

        /// The values of `kind`.
        #[derive(Deserialize)]
        #[doc(hidden)]
        pub enum Kind {
            $(#[serde(rename = $plain_name)] $plain,)*
            $(#[serde(rename = $name)] $variant,)*
        }

        /// All kinds of workloads.
        pub const KINDS: &[KindEntry] = &[
            $(KindEntry::of::<$plain>($plain_name),)*
            $(KindEntry::of::<$config>($name),)*
        ];

        impl<'de> Tagged<'de> for WorkloadConfig {
            const TAG: &'static str = "kind";
            type Kind = Kind;

            fn of<D: Deserializer<'de>>(kind: Kind, rest: D) -> Result<Self, D::Error> {
                match kind {
                    $(Kind::$plain => Nothing::deserialize(rest).map(|_| Self::$plain {}),)*
                    $(Kind::$variant => <$config>::deserialize(rest).map(Self::$variant),)*
                }
            }
        }

        impl WorkloadConfig {
            /// The `kind` that selects it.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$plain {} => $plain_name,)*
                    $(Self::$variant(_) => $name,)*
                }
            }

            fn workload(&self) -> &dyn Workload {
                match self {
                    $(Self::$plain {} => &$plain,)*
                    $(Self::$variant(config) => config,)*
                }
            }

            /// Changes the names of the files that it reads.
            pub fn each_file(&mut self, change: &dyn Fn(&mut String)) {
                match self {
                    $(Self::$plain {} => {})*
                    $(Self::$variant(config) => config.each_file(change),)*
                }
            }
        }
    };
}

workloads! {
    without keys {
        /// Every packet to a node at random over the machine.
        Uniform = "uniform",
        /// Every node sends to its neighbours in every direction.
        NearestNeighbour = "nearest-neighbour",
        /// The coordinates in another order, turned by one place: (x, y, z) sends to (y, z, x). Needs equal
        /// dimensions, or a square number of nodes without them.
        Transpose = "transpose",
        /// Every node sends to the one whose coordinates are opposite: k - 1 - c.
        BitComplement = "bit-complement",
        /// Every node sends almost half-way around each ring: the worst case of a ring with minimal routes.
        Tornado = "tornado",
        /// Every node sends to one other, drawn once.
        RandomPermutation = "random-permutation",
    }
    with keys {
        /// Some of the packets into a small part of the machine, the rest anywhere (Blumrich et al., Figure
        /// 3).
        HotRegion(HotRegion) = "hot-region",
        /// Every node sends to every other.
        AllToAll(AllToAll) = "all-to-all",
        /// Every node sends to the one at a fixed distance.
        Shift(Shift) = "shift",
        /// Every node of a group sends to nodes at random of the group at a fixed distance.
        GroupShift(GroupShift) = "group-shift",
        /// Every node sends to the one that a file names.
        Permutation(Permutation) = "permutation",
        /// Some of the packets to one node, the rest anywhere.
        HotNode(HotNode) = "hot-node",
        /// Several jobs side by side, each on nodes of its own.
        Jobs(JobsConfig) = "jobs",
        /// Nothing is sent: what systems of several sizes are made of.
        Packaging(PackagingConfig) = "packaging",
        /// The communication of a program, with its computation as time.
        Skeleton(SkeletonConfig) = "skeleton",
        /// Latency, bandwidth or message rate between ranks, as the OSU micro-benchmarks measure them, on any
        /// machine.
        PointToPoint(PointToPointConfig) = "point-to-point",
        /// A replayed trace of a recorded program.
        Trace(Trace) = "trace",
        /// A program on Message Units.
        Spi(SpiConfig) = "spi",
        /// A program on PAMI, on Message Units.
        Pami(PamiProgram) = "pami",
        /// A program of MPI over PAMI, on Message Units.
        Mpi(MpiProgram) = "mpi",
        /// A program on Aries NICs.
        Gni(GniConfig) = "gni",
        /// A program on TH Express NICs.
        Glex(GlexConfig) = "glex",
    }
}

impl<'de> Deserialize<'de> for WorkloadConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged(deserializer)
    }
}

impl WorkloadConfig {
    /// What runs it.
    pub fn runs(&self) -> Runs<'_> {
        self.workload().runs()
    }

    /// The destinations of each node, if it is a pattern.
    pub(crate) fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        self.workload().destinations(among)
    }

    /// Whether it is programs that decide what is sent, if anything is, rather than a pattern.
    pub fn is_program(&self) -> bool {
        !matches!(self.runs(), Runs::Traffic)
    }

    /// Whether programs run, by themselves or as some of several jobs: then the run ends when they do.
    pub fn runs_programs(&self) -> bool {
        self.workload().runs_programs()
    }

    /// Whether it ends by itself, with this traffic.
    pub fn ends(&self, traffic: &TrafficConfig) -> bool {
        self.workload().ends(traffic)
    }

    fn entry(&self) -> &'static KindEntry {
        KINDS.iter().find(|entry| entry.name == self.kind()).expect("the list has all")
    }

    /// Refuses what does not fit a machine, or the nodes of a job.
    ///
    /// # Errors
    /// The first invalid value, with its key (`workload.…`) and what was expected.
    pub fn check(&self, shape: &Shape) -> Result<(), ConfigError> {
        let nodes = shape.nodes();
        if shape.torus().is_none() && nodes < 2 {
            return refuse("workload.kind", format!("expected a machine of at least 2 nodes, found {nodes}"));
        }
        let (machines, found) = match ((self.entry().machines)(), shape.torus()) {
            (Machines::Tori, None) => ("a torus", "a machine of switches"),
            (Machines::Switches, Some(_)) => ("machines of switches", "a torus"),
            _ => return self.workload().check_on(shape),
        };
        let message = format!("\"{}\" is for {machines}; the machine is {found}", self.kind());
        refuse("workload.kind", message)
    }

    /// Refuses what is no workload of a job's nodes.
    ///
    /// # Errors
    /// The first invalid value, with its key (`workload.…`) and what was expected.
    pub(super) fn check_job(&self, nodes: u32) -> Result<(), ConfigError> {
        if !(self.entry().may_be_job)() {
            let known = names(|entry| (entry.may_be_job)());
            return refuse("workload.kind", format!("expected {known}, found \"{}\"", self.kind()));
        }
        self.check(&Shape::of_job(nodes))
    }
}

/// Kinds in words: `"uniform", "shift" or "jobs"`.
fn names(of: impl Fn(&KindEntry) -> bool) -> String {
    let names: Vec<String> = KINDS.iter().filter(|e| of(e)).map(|e| format!("\"{}\"", e.name)).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}
