//! What a study may say that the nodes do, and with what traffic.

mod jobs;
mod packaging;
mod switched;
mod traffic;

pub use jobs::{JobConfig, JobsConfig, Placement};
pub use packaging::PackagingConfig;
pub use traffic::{Load, PacketMix, Priority, Routing, TrafficConfig};

use crate::glex::GlexConfig;
use crate::gni::GniConfig;
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
}

fn refuse<T>(key: &str, message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into() })
}

impl SkeletonConfig {
    /// Refuses what does not fit a machine with this number of nodes and this shape, in words.
    pub(crate) fn check_on(&self, nodes: u64, shape: &str) -> Result<(), ConfigError> {
        let key = if let Self::Collective(_) = self { "workload.ranks" } else { "workload.grid" };
        self.check().map_err(|e| ConfigError { key: format!("workload.{}", e.key), ..e })?;
        match self.ranks() {
            ranks if u64::from(ranks) > nodes => refuse(
                key,
                format!(
                    "expected at most {nodes} ranks, one for each node of the {shape}machine, found {ranks}"
                ),
            ),
            _ => Ok(()),
        }
    }
}

impl WorkloadConfig {
    /// Whether it is programs that decide what is sent, if anything is, rather than a pattern.
    pub fn is_program(&self) -> bool {
        use WorkloadConfig::{Glex, Gni, Packaging, Skeleton, Spi, Trace};
        matches!(self, Packaging(_) | Skeleton(_) | Trace(_) | Spi(_) | Gni(_) | Glex(_))
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

    /// Refuses what does not fit the shape of a torus.
    ///
    /// # Errors
    /// The first impossible value, with its key (`workload.…`) and what was expected.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        let n = dims.len();
        let shape = dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
        let one_each = |key: &str, found: usize| {
            refuse(
                key,
                format!("expected {n} values, one for each dimension of the {shape} machine, found {found}"),
            )
        };
        match self {
            WorkloadConfig::HotRegion(h) => {
                if !(0.0..=1.0).contains(&h.fraction) {
                    return refuse(
                        "workload.fraction",
                        format!("expected a fraction from 0 to 1, found {}", h.fraction),
                    );
                }
                if h.region.len() != n {
                    return one_each("workload.region", h.region.len());
                }
                if !h.origin.is_empty() && h.origin.len() != n {
                    return one_each("workload.origin", h.origin.len());
                }
                for (d, (&length, &k)) in h.region.iter().zip(dims).enumerate() {
                    let low = h.origin.get(d).copied().unwrap_or(0);
                    if length == 0 || low >= k || length > k - low {
                        return refuse(
                            "workload.region",
                            format!(
                                "expected a region inside the {shape} machine; along {} it would reach from {low} to {}",
                                letter(d),
                                u64::from(low) + u64::from(length)
                            ),
                        );
                    }
                }
            }
            WorkloadConfig::AllToAll(a) => {
                let spans = match a.over {
                    Over::Machine => 0,
                    Over::Planes => 2,
                    Over::Lines => 1,
                };
                let mut seen: Vec<char> = a.dims.chars().collect();
                seen.sort_unstable();
                seen.dedup();
                let known = seen.iter().all(|&c| (0..n).any(|d| letter(d) == c));
                if seen.len() != spans || a.dims.len() != spans || !known {
                    let example: String = (0..spans.min(n)).map(letter).collect();
                    return refuse(
                        "workload.dims",
                        match spans {
                            0 => "expected no dimensions: this all-to-all runs over the whole machine; give over = \"planes\" or \"lines\" to restrict it".into(),
                            _ => format!("expected {spans} of the machine's dimension letters, such as \"{example}\", found \"{}\"", a.dims),
                        },
                    );
                }
                if a.bytes == Some(0) {
                    return refuse("workload.bytes", "expected at least 1 byte");
                }
            }
            WorkloadConfig::Transpose {} if dims.windows(2).any(|w| w[0] != w[1]) => {
                return refuse(
                    "workload.kind",
                    format!("transpose needs equal dimensions; the machine is {shape}"),
                );
            }
            WorkloadConfig::Shift(s) => {
                if s.by.len() != n {
                    return one_each("workload.by", s.by.len());
                }
                if s.by.iter().zip(dims).all(|(&b, &k)| b.unsigned_abs().is_multiple_of(k)) {
                    return refuse(
                        "workload.by",
                        "expected a shift to another node; this one leads back to the sender",
                    );
                }
            }
            WorkloadConfig::RandomPermutation {}
            | WorkloadConfig::GroupShift(_)
            | WorkloadConfig::HotNode(_)
            | WorkloadConfig::Jobs(_)
            | WorkloadConfig::Packaging(_)
            | WorkloadConfig::Gni(_)
            | WorkloadConfig::Glex(_) => {
                let message = format!(
                    "expected a workload for tori, found \"{}\": that is for machines of switches",
                    self.kind()
                );
                return refuse("workload.kind", message);
            }
            WorkloadConfig::Spi(s) => {
                s.check(dims).map_err(|e| ConfigError { key: format!("workload.{}", e.key), ..e })?;
            }
            WorkloadConfig::Skeleton(s) => {
                s.check_on(dims.iter().map(|&k| u64::from(k)).product(), &format!("{shape} "))?;
            }
            _ => {}
        }
        Ok(())
    }
}

pub use netloom_fabric::config::LETTERS;

/// The letter of dimension `d`.
pub fn letter(d: usize) -> char {
    char::from(LETTERS.as_bytes()[d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_must_fit_the_machine() {
        let hot = |region: &[u32]| {
            WorkloadConfig::HotRegion(HotRegion { fraction: 0.25, region: region.to_vec(), origin: vec![] })
        };
        assert_eq!(hot(&[8, 8, 8]).check(&[16, 16, 16]), Ok(()));
        assert_eq!(hot(&[8, 8]).check(&[16, 16, 16]).unwrap_err().key, "workload.region");
        assert_eq!(hot(&[8, 8, 17]).check(&[16, 16, 16]).unwrap_err().key, "workload.region");
    }

    #[test]
    fn planes_and_lines_name_their_dimensions() {
        let over =
            |over, dims: &str| WorkloadConfig::AllToAll(AllToAll { over, dims: dims.into(), bytes: None });
        assert!(over(Over::Planes, "xz").check(&[4, 4, 4]).is_ok());
        assert!(over(Over::Planes, "xx").check(&[4, 4, 4]).is_err());
        assert!(over(Over::Lines, "z").check(&[4, 4]).is_err());
        assert!(over(Over::Machine, "x").check(&[4, 4]).is_err());
    }
}
