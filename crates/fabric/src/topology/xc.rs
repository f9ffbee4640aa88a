//! Packaging of Cray XC systems (Alverson et al. 2012): the cabinets and cables of a configuration
//! ("Dragonfly Implementation for the Cray XC Series", Table 1), the bandwidth of its cables ("Aries
//! Performance", "Cray XC Series Configuration", Tables 2 and 3), the configuration rules, and the changes in
//! an upgrade (Figure 16).
//!
//! Water-cooled cabinets have three chassis, and a full group two cabinets. An air-cooled cabinet has one
//! chassis; the configuration must make it a group by itself (`group = [16]`): "the backplane provides
//! connectivity between nodes within each chassis", "the global network is constructed using electrical
//! cables" **(inferred)**.

use super::bundles::{Connector, LINKS_PER_CABLE, cables, cables_between};
use crate::config::{Cooling, DragonflyConfig};
use std::collections::HashSet;

/// Maximum number of cabinets of an air-cooled system.
pub const AIR_COOLED_CABINETS_MAX: u32 = 8;
/// Maximum number of cabinets of a system that is upgraded by chassis.
pub const BY_CHASSIS_MAX: u32 = 26;
/// Maximum number of cabinets of a system that is upgraded by cabinets; larger systems have whole groups.
pub const BY_CABINET_MAX: u32 = 64;
/// Lanes of a link, in each direction.
pub const LANES: u32 = 3;
/// Links of a copper cable inside a group, which is nine lanes wide.
pub const LINKS_PER_COPPER_CABLE: u32 = 9 / LANES;
/// The fraction of link bandwidth that carries data if all packets are 64-byte puts: 64 bytes in every 15
/// flits, request and response together, and nine flits in every 60 bytes.
pub const PAYLOAD_EFFICIENCY: f64 = (64.0 / 15.0) * (9.0 / 60.0);

/// Speeds of lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(non_snake_case)]
pub struct Rates {
    /// Rate of copper cables, Gb/s per lane and direction.
    pub electrical_Gb_per_s: f64,
    /// Rate of optical cables, Gb/s per lane and direction.
    pub optical_Gb_per_s: f64,
}

impl Default for Rates {
    /// The paper's speeds.
    fn default() -> Self {
        Rates { electrical_Gb_per_s: 14.0, optical_Gb_per_s: 12.5 }
    }
}

#[allow(non_snake_case)]
impl Rates {
    /// Bandwidth of a link inside a group, GB/s in each direction.
    pub fn local_link_GB_per_s(&self) -> f64 {
        self.electrical_Gb_per_s * f64::from(LANES) / 8.0
    }

    /// Bandwidth of a cable between groups, GB/s in each direction. The electrical ones of air-cooled systems
    /// are as fast as copper inside groups **(ours)**.
    pub fn cable_GB_per_s(&self, cooling: Cooling) -> f64 {
        let lane = match cooling {
            Cooling::Water => self.optical_Gb_per_s,
            Cooling::Air => self.electrical_Gb_per_s,
        };
        lane * f64::from(LANES * LINKS_PER_CABLE) / 8.0
    }
}

/// The components of a system, and its worst bisections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packaging {
    /// Cooling: with water, cables between groups are optical; with air, electrical.
    pub cooling: Cooling,
    /// Number of groups.
    pub groups: u32,
    /// Number of cabinets.
    pub cabinets: u32,
    /// Number of chassis.
    pub chassis: u32,
    /// Number of routers, each with the network interfaces of its nodes.
    pub aries: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// Nodes of a full group.
    pub nodes_per_group: u32,
    /// Copper cables inside groups, nine lanes wide (9X).
    pub copper_cables: u32,
    /// Cables between groups, twelve lanes wide (12X).
    pub global_cables: u32,
    /// Cables from a full group to all other full groups.
    pub global_cables_per_group: u32,
    /// Maximum number of cables between each pair of groups.
    pub cables_per_pair_max: u32,
    /// Cables between groups across the worst bisection. Groups stay whole: with an odd number, one half has
    /// an extra group, which is the last if that is not full **(ours)**.
    pub cables_across_bisection: u32,
    /// Links across the worst bisection of a full group's first dimension (green).
    pub green_across_group: u32,
    /// Links across the worst bisection of its second dimension (black).
    pub black_across_group: u32,
}

impl Packaging {
    /// Packaging of a checked configuration with bundles.
    pub fn new(config: &DragonflyConfig) -> Self {
        let groups = config.groups;
        let chassis: Vec<u32> = (0..groups).map(|g| config.chassis_of(g)).collect();
        let copper = config.links_in(1).div_ceil(LINKS_PER_COPPER_CABLE) * config.blades();
        let across = |k: u32| (k / 2) * k.div_ceil(2);
        Packaging {
            cooling: config.cooling(),
            groups,
            cabinets: cabinets(config),
            chassis: chassis.iter().sum(),
            aries: config.routers(),
            nodes: config.nodes(),
            nodes_per_group: config.routers_per_group() * config.nodes_per_router,
            copper_cables: chassis.iter().map(|c| copper * c * (c - 1) / 2).sum(),
            global_cables: cables_to_last(config).iter().sum::<u32>()
                + config.cables.unwrap_or(0) * (groups - 1) * groups.saturating_sub(2) / 2,
            global_cables_per_group: cables_per_group(config),
            cables_per_pair_max: cables_per_pair_max(config),
            cables_across_bisection: cables_across_bisection(config),
            green_across_group: across(config.blades()) * config.links_in(0) * config.chassis(),
            black_across_group: across(config.chassis()) * config.links_in(1) * config.blades(),
        }
    }

    /// Bandwidth of the worst bisection, both directions added, GB/s.
    #[allow(non_snake_case)]
    pub fn bisection_GB_per_s(&self, rates: &Rates) -> f64 {
        2.0 * f64::from(self.cables_across_bisection) * rates.cable_GB_per_s(self.cooling)
    }

    /// Bandwidth of the worst bisection by the paper's formula, which is for full groups; 0 for a single
    /// group.
    #[allow(non_snake_case)]
    pub fn bisection_by_formula_GB_per_s(&self, rates: &Rates) -> f64 {
        let (groups, cables) = (f64::from(self.groups), f64::from(self.global_cables_per_group));
        let share = groups / (2.0 * (groups - 1.0).max(1.0));
        rates.cable_GB_per_s(self.cooling) * groups * cables * share
    }

    /// Bandwidth of the worst bisection of a full group, both directions added, GB/s: that of the dimension
    /// with fewer links across.
    #[allow(non_snake_case)]
    pub fn group_bisection_GB_per_s(&self, rates: &Rates) -> f64 {
        let fewest = [self.green_across_group, self.black_across_group].into_iter().filter(|&n| n > 0).min();
        2.0 * f64::from(fewest.unwrap_or(0)) * rates.local_link_GB_per_s()
    }

    /// Injection bandwidth per node to other groups if all nodes of a full group send, GB/s. Multiplied by
    /// [`PAYLOAD_EFFICIENCY`], that of the data.
    #[allow(non_snake_case)]
    pub fn global_GB_per_s_per_node(&self, rates: &Rates) -> f64 {
        f64::from(self.global_cables_per_group) * rates.cable_GB_per_s(self.cooling)
            / f64::from(self.nodes_per_group)
    }
}

/// Cabinets of a Cray XC. Chassis of different groups share no cabinet.
pub fn cabinets(config: &DragonflyConfig) -> u32 {
    let per_cabinet = config.cooling().chassis_per_cabinet();
    (0..config.groups).map(|g| config.chassis_of(g).div_ceil(per_cabinet)).sum()
}

/// Cables from a full group to all others, if they are full.
fn cables_per_group(config: &DragonflyConfig) -> u32 {
    config.cables.unwrap_or(0) * (config.groups - 1)
}

/// Maximum number of cables between each pair of groups: a group's connectors divided among the others. Zero
/// for a single group.
pub fn cables_per_pair_max(config: &DragonflyConfig) -> u32 {
    config.connectors().checked_div(config.groups - 1).unwrap_or(0)
}

/// Cables from each other group to the last.
fn cables_to_last(config: &DragonflyConfig) -> Vec<u32> {
    let last = config.groups - 1;
    (0..last).map(|group| cables_between(config, group, last)).collect()
}

/// Cables between groups across the worst bisection into whole groups.
fn cables_across_bisection(config: &DragonflyConfig) -> u32 {
    let (groups, cables) = (config.groups, config.cables.unwrap_or(0));
    let mut to_last = cables_to_last(config);
    to_last.sort_unstable();
    // The half without the last group, which may lack chassis, has as many groups as the other or one fewer:
    // those with the fewest cables to the last.
    let without = groups / 2;
    without * (groups - 1 - without) * cables + to_last[..without as usize].iter().sum::<u32>()
}

/// Violations of the rules of "Cray XC Series Configuration" by systems that can be built but should not be,
/// each with its key. The rules are for water-cooled systems; for air-cooled ones only the fraction of the
/// global network is checked.
pub fn warnings(config: &DragonflyConfig) -> Vec<String> {
    match config.cooling() {
        Cooling::Water => water_cooled_warnings(config),
        Cooling::Air => air_cooled_warnings(config),
    }
}

fn water_cooled_warnings(config: &DragonflyConfig) -> Vec<String> {
    let mut warnings = vec![];
    let (cabinets, used, connectors) = (cabinets(config), cables_per_group(config), config.connectors());
    let cables = config.cables.filter(|_| config.groups > 1);
    if let Some(cables) = cables {
        if 4 * used < connectors {
            warnings.push(format!(
                "topology.cables: at least 25 percent of the optical ports should be used, here {used} of {connectors} connectors of a \
                 group"
            ));
        }
        let per_cabinet = config.cooling().chassis_per_cabinet();
        let (multiple, of) = match cabinets {
            0..3 => (1, ""),
            3..=BY_CHASSIS_MAX => (config.chassis(), "3 to 26"),
            _ if cabinets <= BY_CABINET_MAX => (config.chassis().div_ceil(per_cabinet), "27 to 64"),
            _ => (1, ""),
        };
        if !cables.is_multiple_of(multiple) {
            warnings.push(format!(
                "topology.cables: with {of} cabinets a bundle should have a multiple of {multiple} cables, found {cables} ({cabinets} \
                 cabinets)"
            ));
        }
    }
    let last = config.chassis_of(config.groups - 1);
    let is_whole_cabinets = last.is_multiple_of(config.cooling().chassis_per_cabinet());
    if cabinets > BY_CABINET_MAX && last < config.chassis() {
        warnings.push(format!(
            "topology.last_group_chassis: above {BY_CABINET_MAX} cabinets all groups should be full, found {last} of {} chassis",
            config.chassis()
        ));
    } else if cabinets > BY_CHASSIS_MAX && last < config.chassis() && !is_whole_cabinets {
        warnings.push(format!(
            "topology.last_group_chassis: above {BY_CHASSIS_MAX} cabinets each should be full, found {last} chassis in the last group"
        ));
    }
    warnings
}

fn air_cooled_warnings(config: &DragonflyConfig) -> Vec<String> {
    let full = cables_per_pair_max(config);
    let supported = [full, full / 2, full.div_ceil(2)];
    match config.cables.filter(|cables| config.groups > 1 && !supported.contains(cables)) {
        Some(cables) => vec![format!(
            "topology.cables: the global network of an air-cooled system should be half or fully populated, {} or {full} cables, \
             found {cables}",
            full.div_ceil(2)
        )],
        None => vec![],
    }
}

/// The changes of an upgrade to the cables between groups, each identified by the connectors at its ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// Cables that stay in place.
    pub kept: usize,
    /// Cables that are removed, or lead elsewhere.
    pub removed: Vec<[Connector; 2]>,
    /// New cables.
    pub added: Vec<[Connector; 2]>,
}

/// The changes to the cables from one system to another.
pub fn upgrade(before: &DragonflyConfig, after: &DragonflyConfig) -> Upgrade {
    let (before, after) = (cables(before), cables(after));
    let without = |from: &[[Connector; 2]], these: &[[Connector; 2]]| -> Vec<[Connector; 2]> {
        let these: HashSet<_> = these.iter().collect();
        from.iter().filter(|cable| !these.contains(cable)).copied().collect()
    };
    let removed = without(&before, &after);
    Upgrade { kept: before.len() - removed.len(), added: without(&after, &before), removed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xc(groups: u32, cables: u32) -> DragonflyConfig {
        let config = DragonflyConfig::cray_xc(groups, cables);
        assert_eq!(config.check(), Ok(()));
        config
    }

    fn with_last(groups: u32, cables: u32, chassis: u32) -> DragonflyConfig {
        let config = DragonflyConfig { last_group_chassis: Some(chassis), ..xc(groups, cables) };
        assert_eq!(config.check(), Ok(()));
        config
    }

    fn air(groups: u32, cables: u32) -> DragonflyConfig {
        DragonflyConfig {
            group: vec![16],
            links_per_peer: vec![],
            cooling: Some(Cooling::Air),
            link_classes: ["green", "blue"].map(String::from).into(),
            ..DragonflyConfig::cray_xc(groups, cables)
        }
    }

    /// Table 1: a system with full global bandwidth, per group and per node.
    #[test]
    fn table_1() {
        let p = Packaging::new(&xc(6, 48));
        assert_eq!(p.nodes_per_group, 384);
        for (count, per_group, per_node) in
            [(p.aries, 96, 0.25), (p.copper_cables, 240, 0.625), (p.global_cables, 120, 0.3125)]
        {
            assert_eq!((count % 6, count / 6), (0, per_group));
            assert_eq!(f64::from(count) / f64::from(p.nodes), per_node);
        }
    }

    /// Tables 2 and 3, with partial and full networks, and the formula under "Aries Performance".
    #[test]
    fn tables_2_and_3() {
        let rates = Rates::default();
        for (cabinets, groups, cables, total, across, bandwidth) in [
            (12, 6, 12, 180, 108, 4050.0),
            (12, 6, 48, 720, 432, 16200.0),
            (16, 8, 12, 336, 192, 7200.0),
            (16, 8, 34, 952, 544, 20400.0),
        ] {
            let p = Packaging::new(&xc(groups, cables));
            assert_eq!((p.cabinets, p.global_cables, p.cables_across_bisection), (cabinets, total, across));
            assert_eq!(p.bisection_GB_per_s(&rates), bandwidth);
            assert!((p.bisection_by_formula_GB_per_s(&rates) - bandwidth).abs() < 1e-9);
            assert_eq!(p.cables_per_pair_max, if groups == 6 { 48 } else { 34 });
        }
    }

    #[test]
    fn bandwidths_of_a_group_and_of_a_node() {
        let rates = Rates::default();
        assert_eq!(rates.cable_GB_per_s(Cooling::Water), 18.75);
        assert_eq!(rates.local_link_GB_per_s(), 5.25);
        let p = Packaging::new(&xc(6, 48));
        assert_eq!((p.green_across_group, p.black_across_group), (384, 432));
        assert_eq!(p.group_bisection_GB_per_s(&rates), 4032.0);
        let global = p.global_GB_per_s_per_node(&rates);
        assert!((global - 11.7).abs() < 0.05 && (global * PAYLOAD_EFFICIENCY - 7.5).abs() < 1e-9);
        assert!((PAYLOAD_EFFICIENCY - 0.64).abs() < 1e-12);
    }

    #[test]
    fn a_last_group_takes_what_its_chassis_take() {
        let p = Packaging::new(&with_last(7, 12, 2));
        assert_eq!((p.cabinets, p.chassis, p.nodes), (13, 38, 6 * 384 + 128));
        assert_eq!(p.copper_cables, 6 * 240 + 16);
        // To each of the six full groups, a third of a bundle.
        assert_eq!(p.global_cables, 180 + 6 * 4);
        assert_eq!(p.global_cables as usize, cables(&with_last(7, 12, 2)).len());
        // Three groups from three, and from the last.
        assert_eq!(p.cables_across_bisection, 3 * 3 * 12 + 3 * 4);
        let single =
            Packaging::new(&DragonflyConfig { cables: None, last_group_chassis: Some(1), ..xc(1, 0) });
        assert_eq!(
            (single.cabinets, single.nodes, single.copper_cables, single.global_cables),
            (1, 64, 0, 0)
        );
        assert_eq!((single.cables_across_bisection, single.cables_per_pair_max), (0, 0));
    }

    #[test]
    fn air_cooled_systems() {
        for (groups, nodes) in [(1, 64), (8, 512)] {
            let config = air(groups, 5);
            assert_eq!(config.check(), Ok(()));
            let p = Packaging::new(&config);
            assert_eq!((p.cabinets, p.nodes, p.copper_cables), (groups, nodes, 0));
        }
        assert!(air(9, 5).check().expect_err("nine cabinets").message.contains("at most 8"));
        assert_eq!(Packaging::new(&air(8, 5)).cables_per_pair_max, 5);
        assert_eq!(air(8, 5).wiring().classes(), ["green", "blue"]);
        assert_eq!(air(8, 5).wiring().place(7 * 16 + 3), "c7-0c0s3");
        assert!(air(8, 5).warnings().is_empty() && air(8, 3).warnings().is_empty());
        assert!(air(8, 1).warnings()[0].contains("half or fully populated"));
    }

    #[test]
    fn unadvised_configurations_are_reported() {
        let reported = |config: &DragonflyConfig, expected: &[&str]| {
            let warnings = config.warnings();
            assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
            assert!(warnings.iter().zip(expected).all(|(w, e)| w.contains(e)), "{warnings:?}");
        };
        // The paper's example uses exactly a quarter of its ports.
        reported(&xc(6, 12), &[]);
        reported(&xc(6, 48), &[]);
        reported(&xc(6, 6), &["25 percent of the optical ports should be used, here 30 of 240"]);
        // Table 3's full network of 16 cabinets.
        reported(&xc(8, 34), &["a multiple of 6 cables, found 34 (16 cabinets)"]);
        reported(&xc(13, 18), &[]);
        reported(&xc(13, 20), &["with 3 to 26 cabinets"]);
        reported(&xc(14, 16), &[]);
        reported(
            &xc(14, 17),
            &["with 27 to 64 cabinets a bundle should have a multiple of 2 cables, found 17"],
        );
        reported(&xc(33, 7), &[]);
        reported(&xc(241, 1), &[]);
        reported(&with_last(7, 12, 5), &[]);
        reported(&with_last(14, 12, 3), &[]);
        reported(&with_last(14, 12, 4), &["above 26 cabinets each should be full, found 4 chassis"]);
        reported(&with_last(33, 6, 3), &["above 64 cabinets all groups should be full, found 3 of 6"]);
    }

    /// "The initial cable mat remains in place as the system is upgraded" (Figure 16).
    #[test]
    fn an_upgrade_leaves_every_cable_in_place() {
        let change = upgrade(&xc(6, 12), &xc(8, 12));
        assert_eq!((change.kept, change.removed.len(), change.added.len()), (180, 0, 156));
        // By chassis up to 26 cabinets, then by cabinets.
        for (before, after) in [
            (xc(6, 12), with_last(7, 12, 1)),
            (with_last(7, 12, 1), with_last(7, 12, 4)),
            (with_last(7, 12, 4), xc(8, 12)),
            (with_last(20, 2, 3), xc(20, 2)),
        ] {
            let change = upgrade(&before, &after);
            assert!(change.removed.is_empty() && !change.added.is_empty());
        }
        // Different bundles make a different cable mat.
        assert!(!upgrade(&xc(6, 12), &xc(6, 24)).removed.is_empty());
    }
}
