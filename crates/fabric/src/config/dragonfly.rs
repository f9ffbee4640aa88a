//! Configuration of a dragonfly: the general one (Kim, Dally, Scott, Abts: "Technology-Driven,
//! Highly-Scalable Dragonfly Topology", 2008, section 3), and Cray XC's (Alverson et al., "Cray XC Series
//! Network", 2012), whose groups have two dimensions and whose groups are joined by bundles of cables. How it
//! is wired is in [`crate::topology::dragonfly`].

use super::{ConfigError, at_most, check_classes, class_names, refuse};
use crate::topology::wiring::{PORTS_MAX, Wiring};
use crate::topology::{bundles, dragonfly, xc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most nodes of a dragonfly **(ours)**: far above any that was built, and what is multiplied here fits in 32
/// bits.
pub const DRAGONFLY_NODES_MAX: u64 = 1 << 24;

/// Which global port leads to which group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cabling {
    /// Consecutive ports of a group lead to groups 0, 1, 2 and on, leaving out its own; then to 0 again.
    Absolute,
    /// Consecutive ports of group `i` lead to groups `i + 1`, `i + 2` and on, modulo the number of groups.
    Relative,
    /// Random, from a seed: any port may lead to any group; all pairs of groups have the same number of
    /// links.
    Random,
    /// Cray XC's: cables of four links in bundles, one bundle for each two groups.
    Bundles,
}

/// Cooling of a Cray XC, which determines the number of chassis per cabinet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cooling {
    /// Three chassis per cabinet, groups of two cabinets, optical cables between groups.
    #[default]
    Water,
    /// A chassis a cabinet, one to eight cabinets, electrical cables between groups.
    Air,
}

impl Cooling {
    /// Chassis of a cabinet.
    pub fn chassis_per_cabinet(self) -> u32 {
        match self {
            Cooling::Water => 3,
            Cooling::Air => 1,
        }
    }
}

/// The shape of a dragonfly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DragonflyConfig {
    /// Nodes at each router (p).
    pub nodes_per_router: u32,
    /// Routers of a group along one dimension or two: each is linked to all others that differ in one
    /// coordinate. `[a]` of a general dragonfly; of Cray XC the blades of a chassis and the chassis of a
    /// group.
    pub group: Vec<u32>,
    /// Links between two routers that differ in one coordinate, a value for each dimension. Empty: one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links_per_peer: Vec<u32>,
    /// Ports of a router for links to other groups (h).
    pub global_ports: u32,
    /// Groups (g).
    pub groups: u32,
    /// Which global port leads to which group.
    pub cabling: Cabling,
    /// Seed of random cabling.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cabling_seed: u64,
    /// Cables between each two groups, of four links each: with bundles only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cables: Option<u32>,
    /// Chassis of the last group, where it is not full: with bundles only. A partly filled chassis, the
    /// granularity of air-cooled systems, is not modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_group_chassis: Option<u32>,
    /// How it is cooled: with bundles only. If omitted: by water.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooling: Option<Cooling>,
    /// Names of the links of each class, for `[link.*]` and for results: one for each dimension of a group,
    /// and one for global links. If omitted: `local` and `global`, or `row`, `column` and `global` where
    /// groups have two dimensions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_classes: Vec<String>,
}

fn is_zero(seed: &u64) -> bool {
    *seed == 0
}

impl DragonflyConfig {
    /// A water-cooled Cray XC of full groups, with `cables` cables between each two.
    pub fn cray_xc(groups: u32, cables: u32) -> Self {
        DragonflyConfig {
            nodes_per_router: 4,
            group: vec![16, 6],
            links_per_peer: vec![1, 3],
            global_ports: 10,
            groups,
            cabling: Cabling::Bundles,
            cabling_seed: 0,
            cables: Some(cables),
            last_group_chassis: None,
            cooling: None,
            link_classes: ["green", "black", "blue"].map(String::from).into(),
        }
    }

    /// Routers along the first dimension: the blades of a chassis.
    pub fn blades(&self) -> u32 {
        self.group[0]
    }

    /// Routers along the second dimension, 1 if there is none: the chassis of a full group.
    pub fn chassis(&self) -> u32 {
        self.group.get(1).copied().unwrap_or(1)
    }

    /// Chassis of a group, which may be the last and not full.
    pub fn chassis_of(&self, group: u32) -> u32 {
        match self.last_group_chassis {
            Some(chassis) if group + 1 == self.groups => chassis,
            _ => self.chassis(),
        }
    }

    /// Routers of a full group (a).
    pub fn routers_per_group(&self) -> u32 {
        self.blades() * self.chassis()
    }

    /// Routers of all groups.
    pub fn routers(&self) -> u32 {
        (self.groups - 1) * self.routers_per_group() + self.chassis_of(self.groups - 1) * self.blades()
    }

    /// Nodes of all groups.
    pub fn nodes(&self) -> u32 {
        self.routers() * self.nodes_per_router
    }

    /// Links between two routers that differ in dimension `d`.
    pub fn links_in(&self, d: usize) -> u32 {
        self.links_per_peer.get(d).copied().unwrap_or(1)
    }

    /// Names of the classes of links: one for each dimension of a group, the last for global links.
    pub fn classes(&self) -> Vec<String> {
        let usual: &[&str] =
            if self.group.len() == 1 { &["local", "global"] } else { &["row", "column", "global"] };
        class_names(&self.link_classes, usual)
    }

    /// Ports of a router for links of its group.
    pub fn local_ports(&self) -> u32 {
        self.group.iter().enumerate().map(|(d, k)| (k - 1) * self.links_in(d)).sum()
    }

    /// Connectors of a full group for cables to other groups, each of four links.
    pub fn connectors(&self) -> u32 {
        self.chassis() * self.connectors_per_chassis()
    }

    /// Connectors of a chassis for cables to other groups.
    pub fn connectors_per_chassis(&self) -> u32 {
        self.blades() / 2 * (self.global_ports / 2)
    }

    /// How it is cooled.
    pub fn cooling(&self) -> Cooling {
        self.cooling.unwrap_or_default()
    }

    /// Its routers and links; of a checked configuration.
    pub fn wiring(&self) -> Wiring {
        dragonfly::wiring(self)
    }

    /// Warnings about a Cray XC that can be built but that the paper's section on configurations advises
    /// against; empty for other dragonflies.
    pub fn warnings(&self) -> Vec<String> {
        match self.cabling {
            Cabling::Bundles => xc::warnings(self),
            _ => vec![],
        }
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key (`topology.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_group()?;
        check_classes(&self.link_classes, self.group.len() + 1)?;
        let connected = self.groups - 1;
        let links = u64::from(self.routers_per_group()) * u64::from(self.global_ports);
        if self.cabling == Cabling::Bundles {
            return self.check_bundles();
        }
        let only_with_bundles = [
            ("topology.cables", self.cables.is_some()),
            ("topology.last_group_chassis", self.last_group_chassis.is_some()),
            ("topology.cooling", self.cooling.is_some()),
        ];
        if let Some((key, _)) = only_with_bundles.iter().find(|(_, given)| *given) {
            return refuse(key, "expected with topology.cabling = \"bundles\" only");
        }
        if u64::from(connected) > links {
            let message = format!(
                "expected at most {}, one more than a group's global ports, found {}",
                links + 1,
                self.groups
            );
            return refuse("topology.groups", message);
        }
        Ok(())
    }

    /// What routers and groups are, and how many.
    fn check_group(&self) -> Result<(), ConfigError> {
        if !(1..=2).contains(&self.group.len()) {
            let message = format!("expected one or two dimensions, found {}", self.group.len());
            return refuse("topology.group", message);
        }
        let (given, dimensions) = (self.links_per_peer.len(), self.group.len());
        if given != 0 && given != dimensions {
            let message = format!("expected a value for each of the {dimensions} dimensions, found {given}");
            return refuse("topology.links_per_peer", message);
        }
        let most = PORTS_MAX as u32;
        at_most(&[
            ("topology.nodes_per_router", self.nodes_per_router, most),
            ("topology.global_ports", self.global_ports, most),
        ])?;
        self.group.iter().try_for_each(|&k| at_most(&[("topology.group", k, most)]))?;
        self.links_per_peer.iter().try_for_each(|&n| at_most(&[("topology.links_per_peer", n, most)]))?;
        let least_one = [
            ("topology.nodes_per_router", self.nodes_per_router),
            ("topology.groups", self.groups),
            ("topology.group", *self.group.iter().min().expect("a dimension")),
            ("topology.links_per_peer", self.links_per_peer.iter().min().copied().unwrap_or(1)),
        ];
        if let Some((key, _)) = least_one.iter().find(|(_, value)| *value == 0) {
            return refuse(key, "expected at least 1, found 0");
        }
        if self.global_ports == 0 && self.groups > 1 {
            return refuse("topology.global_ports", "expected at least 1 to join several groups, found 0");
        }
        let ports = self.local_ports() + self.global_ports;
        if ports > most {
            let message = format!("expected at most {most} ports of a router, these are {ports}");
            return refuse("topology.group", message);
        }
        let nodes = [self.routers_per_group(), self.nodes_per_router, self.groups];
        let nodes = nodes.iter().fold(1, |n: u64, &k| n.saturating_mul(k.into()));
        if nodes > DRAGONFLY_NODES_MAX {
            let message = format!("expected at most {DRAGONFLY_NODES_MAX} nodes, these are {nodes}");
            return refuse("topology.groups", message);
        }
        Ok(())
    }

    /// What Cray XC's connectors and cables allow.
    fn check_bundles(&self) -> Result<(), ConfigError> {
        if !self.blades().is_multiple_of(2) {
            let message = format!("expected an even number of blades in a chassis, found {}", self.blades());
            return refuse("topology.group", message);
        }
        if !self.global_ports.is_multiple_of(2) {
            let message =
                format!("expected an even number: a cable takes two of a blade, found {}", self.global_ports);
            return refuse("topology.global_ports", message);
        }
        let full = self.chassis();
        if let Some(chassis) = self.last_group_chassis.filter(|chassis| !(1..=full).contains(chassis)) {
            let message = format!("expected 1 to {full} chassis, found {chassis}");
            return refuse("topology.last_group_chassis", message);
        }
        let connectors = self.connectors();
        if self.groups - 1 > connectors {
            let message = format!(
                "expected at most {}, one more than a group's {connectors} connectors, found {}",
                connectors + 1,
                self.groups
            );
            return refuse("topology.groups", message);
        }
        if self.groups > 1 {
            let most = connectors / (self.groups - 1);
            match self.cables {
                Some(cables) if (1..=most).contains(&cables) => {}
                found => {
                    let found = found.map_or("none".into(), |cables| cables.to_string());
                    let message = format!(
                        "expected 1 to {most} cables between each two of {} groups of {connectors} connectors, found {found}",
                        self.groups
                    );
                    return refuse("topology.cables", message);
                }
            }
        }
        let last = self.groups - 1;
        if let Some(group) = (0..last).find(|&group| bundles::cables_between(self, group, last) == 0) {
            let message = format!(
                "expected a cable from each group to the last: bundles of {} have none from group {group} to {} chassis",
                self.cables.unwrap_or(0),
                self.chassis_of(last)
            );
            return refuse("topology.last_group_chassis", message);
        }
        let cabinets = xc::cabinets(self);
        if self.cooling() == Cooling::Air && cabinets > xc::AIR_COOLED_CABINETS_MAX {
            let most = xc::AIR_COOLED_CABINETS_MAX;
            let message =
                format!("expected at most {most} air-cooled cabinets of a chassis, found {cabinets}");
            return refuse("topology.groups", message);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn general() -> DragonflyConfig {
        DragonflyConfig {
            nodes_per_router: 4,
            group: vec![8],
            links_per_peer: vec![],
            global_ports: 4,
            groups: 33,
            cabling: Cabling::Absolute,
            cabling_seed: 0,
            cables: None,
            last_group_chassis: None,
            cooling: None,
            link_classes: vec![],
        }
    }

    fn reported(config: &DragonflyConfig, change: impl Fn(&mut DragonflyConfig)) -> String {
        let mut config = config.clone();
        change(&mut config);
        config.check().expect_err("impossible").to_string()
    }

    #[test]
    fn invalid_values_are_reported() {
        let config = general();
        assert_eq!(config.check(), Ok(()));
        assert!(
            reported(&config, |c| c.nodes_per_router = 0)
                .starts_with("topology.nodes_per_router: expected at")
        );
        assert!(reported(&config, |c| c.groups = 0).starts_with("topology.groups: expected at least 1"));
        assert!(reported(&config, |c| c.group = vec![]).contains("one or two dimensions, found 0"));
        assert!(reported(&config, |c| c.group = vec![8, 0]).contains("topology.group: expected at least 1"));
        assert!(reported(&config, |c| c.links_per_peer = vec![0]).contains("topology.links_per_peer"));
        assert!(
            reported(&config, |c| c.links_per_peer = vec![1, 3])
                .contains("each of the 1 dimensions, found 2")
        );
        assert!(reported(&config, |c| c.global_ports = 0).contains("topology.global_ports"));
        assert!(reported(&config, |c| c.groups = 34).contains("at most 33, one more than"));
        assert!(reported(&config, |c| c.group = vec![256]).contains("these are 259"));
        assert!(
            reported(&config, |c| (c.group, c.groups) = (vec![128, 120], 300)).contains("nodes, these are")
        );
        assert!(reported(&config, |c| c.cables = Some(1)).starts_with("topology.cables: expected with"));
        assert!(
            reported(&config, |c| c.last_group_chassis = Some(1)).contains("topology.last_group_chassis")
        );
        assert!(reported(&config, |c| c.cooling = Some(Cooling::Air)).contains("topology.cooling"));
    }

    #[test]
    fn invalid_values_of_cray_xc_are_reported() {
        let config = DragonflyConfig::cray_xc(8, 34);
        assert_eq!(config.check(), Ok(()));
        assert!(reported(&config, |c| c.cables = Some(35)).contains("expected 1 to 34 cables"));
        assert!(reported(&config, |c| c.cables = Some(0)).contains("found 0"));
        assert!(reported(&config, |c| c.cables = None).contains("found none"));
        assert!(reported(&config, |c| (c.groups, c.cables) = (242, Some(1))).contains("at most 241"));
        assert!(
            reported(&config, |c| c.last_group_chassis = Some(0))
                .contains("expected 1 to 6 chassis, found 0")
        );
        assert!(reported(&config, |c| c.last_group_chassis = Some(7)).contains("found 7"));
        assert!(reported(&config, |c| c.group = vec![15, 6]).contains("even number of blades"));
        assert!(
            reported(&config, |c| c.global_ports = 9).contains("topology.global_ports: expected an even")
        );
        // Two cables of a bundle never reach all of the chassis that they are spread over.
        let one = |c: &mut DragonflyConfig| (c.cables, c.last_group_chassis) = (Some(2), Some(1));
        assert!(reported(&config, one).contains("expected a cable from each group to the last"));
        assert!(
            reported(&config, |c| c.cooling = Some(Cooling::Air)).contains("at most 8 air-cooled cabinets")
        );
        // A single group needs no cables.
        let mut single = DragonflyConfig::cray_xc(1, 0);
        single.cables = None;
        assert_eq!(single.check(), Ok(()));
    }
}
