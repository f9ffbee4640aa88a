//! Results of a run on a network of switches, besides those of all runs.

use super::LatencyStats;
use crate::number::percent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures of machines of switches only. Rates are means per node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(non_snake_case)]
pub struct SwitchedFigures {
    /// Flits of requests that nodes offered per tick; `None` if nodes offer as much as the network accepts.
    pub offered_flits_per_tick: Option<f64>,
    /// Flits that arrived in a tick, of requests and responses.
    pub accepted_flits_per_tick: f64,
    /// Flits that nodes can send in a tick until the first link is full, where that was requested and is
    /// known. Where not all links are loaded alike, the mean over all nodes may come out above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_flits_per_tick: Option<f64>,
    /// Data that arrived, GB/s.
    pub accepted_payload_GB_per_s: f64,
    /// Mean number of links on a packet's route; of traffic, not of programs.
    pub hops_mean: f64,
    /// Maximum number of links on a packet's route; of traffic, not of programs.
    pub hops_max: u32,
    /// Packets that arrived, by the number of links on their routes; of traffic, not of programs.
    pub packets_by_hops: Vec<u64>,
    /// Fraction of the packets on non-minimal routes; of traffic, not of programs.
    pub nonminimal_share: f64,
    /// Packets that asked and packets that answered, where packets are answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responses: Option<ResponseFigures>,
    /// By how much packets arrived out of order, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Reordering>,
    /// The links by class.
    pub classes: Vec<ClassUse>,
    /// Faults and what was done about them, if the machine has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultFigures>,
    /// The links of a fat tree by level, up and down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelUse>,
}

impl SwitchedFigures {
    /// The links that lead to other groups: the last class.
    pub fn global(&self) -> Option<&ClassUse> {
        self.classes.last()
    }
}

/// Errors and failures in a network of switches, and the recovery from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultFigures {
    /// Sets of flits that came wrong over a link and were sent again, with those behind them.
    pub corrupted_sets: u64,
    /// Flits of packets that were in them.
    pub repeated_flits: u64,
    /// Sets whose CRC did not show that they were wrong.
    pub escaped_sets: u64,
    /// Packets lost on links that failed, or that waited for them.
    pub lost_on_links: u64,
    /// Packets lost in routers that failed, or at their nodes.
    pub lost_in_routers: u64,
    /// Packets discarded because no route was left.
    pub without_route: u64,
    /// Packets discarded since their headers could not be read.
    pub without_header: u64,
    /// Upset words of memories: corrected.
    pub words_corrected: u64,
    /// The same: with two wrong bits, contained.
    pub words_contained: u64,
    /// Packets that came damaged, as their CRCs showed.
    pub damaged: u64,
    /// Requests without an answer in time, at network interfaces.
    pub timeouts: u64,
    /// Changes of all route tables.
    pub reroutes: Vec<RerouteFigures>,
    /// The first error that each router saw, the earliest first; at most 20.
    pub first_errors: Vec<FirstErrorFigures>,
}

/// A change of all route tables, times in us.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RerouteFigures {
    /// When the first of the failures was that it is for.
    pub failed_at_us: f64,
    /// From then until the failover manager knew.
    pub notice_us: f64,
    /// How long it computed, while traffic went on.
    pub compute_us: f64,
    /// From when nodes held packets back until none was in flight.
    pub quiesce_us: f64,
    /// Packets that were in flight nevertheless.
    pub left: u64,
    /// When the tables were there and nodes could send again.
    pub released_at_us: f64,
}

/// The first error that a router saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstErrorFigures {
    /// When, us.
    pub at_us: f64,
    /// Where.
    pub place: String,
    /// The tile.
    pub tile: u32,
    /// Its kind.
    pub what: String,
}

/// Requests and responses apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseFigures {
    /// Requests that arrived.
    pub requests: u64,
    /// Responses that arrived.
    pub responses: u64,
    /// Flits of requests that arrived at a node in a tick.
    pub request_flits_per_tick: f64,
    /// The same of responses.
    pub response_flits_per_tick: f64,
    /// From when a request was made until its response had arrived.
    pub round_trip: LatencyStats,
}

/// By how much packets arrived out of order, as RFC 4737 has it: among those from one node to another a
/// packet is reordered if one that was sent later has arrived before it, and its extent is the number of
/// arrivals from the first of those to itself. Requests and responses apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reordering {
    /// Packets that arrived.
    pub packets: u64,
    /// Those of them that were reordered, fraction.
    pub reordered_share: f64,
    /// Mean extent of those.
    pub extent_mean: f64,
    /// 99 of 100 of all packets have no greater extent.
    pub extent_p99: u64,
    /// The greatest.
    pub extent_max: u64,
    /// Packets by extent, 0 for those that were not reordered.
    pub histogram: Vec<ExtentBin>,
}

/// A bin of the histogram of extents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExtentBin {
    /// Least extent.
    pub from: u64,
    /// Greatest extent.
    pub to: u64,
    /// Packets.
    pub packets: u64,
}

/// Use of the links of a class, fractions of what they can carry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassUse {
    /// The class: `green`, `global`.
    pub class: String,
    /// Links, each direction counted.
    pub links: u64,
    /// Mean over all.
    pub mean_utilization: f64,
    /// Minimum.
    pub min_utilization: f64,
    /// Maximum.
    pub max_utilization: f64,
    /// Mean number of links of the class on a packet's path; absent where programs run, whose packets' paths
    /// are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<f64>,
}

/// Utilization of the links between a level of a fat tree and the next, in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelUse {
    /// The lower level; leaves are 0.
    pub level: u32,
    /// `up` or `down`.
    pub direction: String,
    /// Links.
    pub links: u64,
    /// Mean over all.
    pub mean_utilization: f64,
    /// Median.
    pub median_utilization: f64,
    /// Maximum.
    pub max_utilization: f64,
}

impl LevelUse {
    /// Utilization of the links that lead up from a level, or down to it.
    pub fn of(level: u32, up: bool, rows: &[PortRow]) -> LevelUse {
        let mut loads: Vec<f64> = rows.iter().filter(|r| r.is_of(level, up)).map(|r| r.utilization).collect();
        loads.sort_by(f64::total_cmp);
        let at = |place: usize| loads.get(place).copied().unwrap_or(0.0);
        LevelUse {
            level,
            direction: if up { "up" } else { "down" }.into(),
            links: loads.len() as u64,
            mean_utilization: loads.iter().sum::<f64>() / loads.len().max(1) as f64,
            median_utilization: (at(loads.len().saturating_sub(1) / 2) + at(loads.len() / 2)) / 2.0,
            max_utilization: at(loads.len().saturating_sub(1)),
        }
    }

    /// What it is, in words.
    pub fn name(&self) -> String {
        match self.direction.as_str() {
            "up" => format!("up, level {} to {}", self.level, self.level + 1),
            direction => format!("{direction}, level {} to {}", self.level + 1, self.level),
        }
    }

    /// Its figures, in words.
    pub fn description(&self) -> String {
        let [mean, median, most] =
            [self.mean_utilization, self.median_utilization, self.max_utilization].map(percent);
        format!("mean {mean}, median {median}, most {most}")
    }
}

/// Figures of one link of a machine of switches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortRow {
    /// The router that sends.
    pub router: u32,
    /// Its port.
    pub port: u8,
    /// The group of that router.
    pub group: u32,
    /// The class of the link.
    pub class: String,
    /// The router that receives.
    pub to: u32,
    /// The group of that router.
    pub to_group: u32,
    /// Time spent sending, fraction.
    pub utilization: f64,
    /// Flits that began to leave.
    pub flits: u64,
    /// Their packets.
    pub packets: u64,
}

impl PortRow {
    /// Whether the link leads up from a level of a fat tree, or down to it.
    pub fn is_of(&self, level: u32, up: bool) -> bool {
        match up {
            true => self.group == level && self.to_group > level,
            false => self.to_group == level && self.group > level,
        }
    }
}
