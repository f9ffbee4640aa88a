//! Cabinets and cables of a Cray XC, and the changes of an upgrade, as figures.

use netloom_fabric::config::{Cabling, DragonflyConfig};
use netloom_fabric::topology::xc::{PAYLOAD_EFFICIENCY, Packaging, Rates, upgrade};
use serde::Serialize;

/// The parts of a system, and the bandwidth of its cables.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(non_snake_case)]
pub struct PackagingFacts {
    /// Cabinets.
    pub cabinets: u32,
    /// Chassis.
    pub chassis: u32,
    /// Routers, each with the network interfaces of its nodes.
    pub routers: u32,
    /// Copper cables inside groups.
    pub copper_cables: u32,
    /// Cables between groups.
    pub global_cables: u32,
    /// Most cables that each two groups could have.
    pub cables_per_pair_max: u32,
    /// Cables across the worst bisection.
    pub cables_across_bisection: u32,
    /// Their bandwidth, both directions together, GB/s.
    pub bisection_GB_per_s: f64,
    /// Bandwidth of the worst bisection of a full group, both directions together, GB/s.
    pub group_bisection_GB_per_s: f64,
    /// Bandwidth per node of a full group to other groups if all nodes send, GB/s.
    pub global_GB_per_s_per_node: f64,
    /// The data in that.
    pub payload_global_GB_per_s_per_node: f64,
}

impl PackagingFacts {
    /// The figures of a checked dragonfly, if it has cabinets and bundles of cables.
    pub fn of(dragonfly: &DragonflyConfig) -> Option<PackagingFacts> {
        if dragonfly.cabling != Cabling::Bundles {
            return None;
        }
        let (p, rates) = (Packaging::new(dragonfly), Rates::default());
        Some(PackagingFacts {
            cabinets: p.cabinets,
            chassis: p.chassis,
            routers: p.aries,
            copper_cables: p.copper_cables,
            global_cables: p.global_cables,
            cables_per_pair_max: p.cables_per_pair_max,
            cables_across_bisection: p.cables_across_bisection,
            bisection_GB_per_s: p.bisection_GB_per_s(&rates),
            group_bisection_GB_per_s: p.group_bisection_GB_per_s(&rates),
            global_GB_per_s_per_node: p.global_GB_per_s_per_node(&rates),
            payload_global_GB_per_s_per_node: p.global_GB_per_s_per_node(&rates) * PAYLOAD_EFFICIENCY,
        })
    }
}

/// The changes of the cables between groups when a system is upgraded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CableFacts {
    /// Groups afterwards.
    pub groups: u32,
    /// Cables that stay where they are.
    pub kept: usize,
    /// Cables that are not there any more, or lead elsewhere.
    pub removed: usize,
    /// New cables.
    pub added: usize,
}

impl CableFacts {
    /// The changes of an upgrade to the second of two checked dragonflies.
    pub fn of_upgrade(before: &DragonflyConfig, after: &DragonflyConfig) -> CableFacts {
        let change = upgrade(before, after);
        CableFacts {
            groups: after.groups,
            kept: change.kept,
            removed: change.removed.len(),
            added: change.added.len(),
        }
    }
}
