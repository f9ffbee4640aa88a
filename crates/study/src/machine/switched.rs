//! Machines whose nodes share routers: dragonflies of tiled routers.

use super::Family;
use super::packaging::PackagingFacts;
use netloom_fabric::config::{
    ConfigError, FlitFormat, LinkClass, LinkControl, SwitchedFaults, SwitchedRouting, SwitchedTopology,
    TiledConfig, TiledRouter,
};
use netloom_fabric::topology::wiring::Wiring;
use netloom_messaging::config::MessagingConfig;
use netloom_nic::aries::config::AriesConfig;
use netloom_nic::th::config::ThConfig;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A machine whose nodes share routers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchedMachine {
    /// The name that studies use.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// The kind of network.
    pub family: Family,
    /// Ticks a second; a tick is a cycle of the router.
    pub ticks_per_second: u64,
    /// What is wired to what.
    pub topology: SwitchedTopology,
    /// The packets.
    pub packet: FlitFormat,
    /// The links, by class.
    pub link: BTreeMap<String, LinkClass>,
    /// The routers.
    pub router: TiledRouter,
    /// How packets are routed.
    pub routing: SwitchedRouting,
    /// The link control blocks, where what they do can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_control: Option<LinkControl>,
    /// What goes wrong.
    #[serde(default, skip_serializing_if = "SwitchedFaults::is_default")]
    pub faults: SwitchedFaults,
    /// The Aries NIC of a node, for programs that are written for such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aries: Option<AriesConfig>,
    /// The TH Express NIC of a node, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub th: Option<ThConfig>,
    /// The messaging library of its nodes, on which programs run.
    #[serde(default)]
    pub messaging: MessagingConfig,
}

/// What the layers above need to know of a network of switches.
#[derive(Clone, Debug)]
pub struct SwitchedOutline {
    /// What it is built from.
    pub config: Arc<TiledConfig>,
    /// Its routers, links and nodes.
    pub wiring: Arc<Wiring>,
}

impl SwitchedOutline {
    /// Of a checked configuration.
    pub fn new(config: TiledConfig) -> Self {
        let wiring = Arc::new(config.topology.wiring());
        SwitchedOutline { config: Arc::new(config), wiring }
    }
}

impl SwitchedMachine {
    /// The network alone, as the fabric takes it.
    pub fn network(&self) -> TiledConfig {
        TiledConfig {
            ticks_per_second: self.ticks_per_second,
            topology: self.topology.clone(),
            packet: self.packet.clone(),
            link: self.link.clone(),
            router: self.router.clone(),
            routing: self.routing.clone(),
            link_control: self.link_control.clone(),
            faults: self.faults.clone(),
        }
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first impossible value, with its key and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.network().check()?;
        self.messaging.check()?;
        self.aries.as_ref().map_or(Ok(()), AriesConfig::check)?;
        self.th.as_ref().map_or(Ok(()), ThConfig::check)
    }

    /// The network with its wiring; of a checked machine.
    pub fn outline(&self) -> SwitchedOutline {
        SwitchedOutline::new(self.network())
    }

    /// Its size as people write it: `33 groups of 8 routers`.
    pub fn shape(&self) -> String {
        match &self.topology {
            SwitchedTopology::Dragonfly(d) => {
                let group = d.group.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
                let groups = if d.groups == 1 { "group" } else { "groups" };
                format!("{} {groups} of {group} routers", d.groups)
            }
            SwitchedTopology::FatTree(tree) => {
                let down = tree.down.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
                format!("{} levels of switches above {down} nodes", tree.down.len())
            }
            SwitchedTopology::Torus(torus) => {
                let dims = torus.dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
                format!("{dims} routers of {} nodes", torus.nodes_per_router)
            }
        }
    }

    /// Nodes; of a checked machine.
    pub fn nodes(&self) -> u64 {
        self.topology.nodes().into()
    }

    /// A hop over a link of a class in a quiet network, from head to head, ticks: the router, its buses, the link.
    pub fn hop_ticks(&self, class: &LinkClass) -> u32 {
        let r = &self.router;
        r.route_ticks + r.row_ticks + r.column_ticks + class.latency_ticks
    }

    /// What can be said of the machine without a run; of a checked machine.
    pub fn facts(&self) -> SwitchedFacts {
        let wiring = self.topology.wiring();
        let mut links = vec![0; wiring.classes().len()];
        for router in 0..wiring.routers() {
            for end in (0..wiring.ports()).filter_map(|port| wiring.end(router, port)) {
                links[usize::from(end.class)] += 1;
            }
        }
        let ticks_per_second = self.ticks_per_second as f64;
        let flit_bytes = f64::from(self.packet.flit_bits) / 8.0;
        let rate = |flit_milliticks: u32| flit_bytes * ticks_per_second / f64::from(flit_milliticks) / 1e6;
        let class = |(name, &links): (&String, &u64)| {
            let class = &self.link[name];
            ClassFacts {
                class: name.clone(),
                links,
                #[allow(non_snake_case)]
                flits_GB_per_s: rate(class.flit_milliticks),
                hop_ns: f64::from(self.hop_ticks(class)) * 1e9 / ticks_per_second,
            }
        };
        let r = &self.router;
        let vcs = f64::from(self.network().vcs());
        let tile = f64::from(r.input_flits)
            + vcs
                * (f64::from(r.columns) * f64::from(r.subswitch_flits)
                    + f64::from(r.rows) * f64::from(r.column_flits));
        let tiles = f64::from(r.rows * r.columns);
        let dragonfly = match &self.topology {
            SwitchedTopology::Dragonfly(dragonfly) => Some(dragonfly),
            _ => None,
        };
        SwitchedFacts {
            nodes: wiring.nodes().into(),
            routers: wiring.routers().into(),
            groups: wiring.groups().into(),
            links: links.iter().sum(),
            classes: wiring.classes().iter().zip(&links).map(class).collect(),
            node_flits_GB_per_s: rate(r.netlink_flit_milliticks) * f64::from(r.tiles_per_share)
                / f64::from(r.nodes_per_share),
            virtual_channels: self.network().vcs(),
            buffer_kb_per_router: tile * tiles * flit_bytes / 1024.0,
            flits_of_full_packet: self.packet.request_flits(self.packet.data_max_B),
            payload_of_full_packet_b: self.packet.data_max_B,
            warnings: dragonfly.map_or(vec![], |d| d.warnings()),
            packaging: dragonfly.and_then(PackagingFacts::of),
        }
    }
}

/// Figures of a network of switches in closed form.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(non_snake_case)]
pub struct SwitchedFacts {
    /// Nodes.
    pub nodes: u64,
    /// Routers.
    pub routers: u64,
    /// Groups of routers.
    pub groups: u64,
    /// Links, each direction counted.
    pub links: u64,
    /// The same by class.
    pub classes: Vec<ClassFacts>,
    /// Rate at which flits can pass between a node and its router, each way, if its neighbours are silent, GB/s.
    pub node_flits_GB_per_s: f64,
    /// Virtual channels of a port.
    pub virtual_channels: u32,
    /// Room of all queues of a router, KiB.
    pub buffer_kb_per_router: f64,
    /// Flits of a request that is full.
    pub flits_of_full_packet: u32,
    /// Data that it carries, bytes.
    pub payload_of_full_packet_b: u32,
    /// What of it can be built but should not.
    pub warnings: Vec<String>,
    /// What it takes of cabinets and cables, where rules for that are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packaging: Option<PackagingFacts>,
}

/// The links of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(non_snake_case)]
pub struct ClassFacts {
    /// Its name.
    pub class: String,
    /// Links, each direction counted.
    pub links: u64,
    /// Rate of the flits of packets on one, each way, GB/s.
    pub flits_GB_per_s: f64,
    /// A hop over one in a quiet network, from head to head, ns.
    pub hop_ns: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Machine, machine_source};
    use crate::tree::Tree;
    use std::path::Path;

    fn machine(name: &str) -> SwitchedMachine {
        let tree = Tree::parse(&machine_source(name, Path::new(".")).unwrap()).unwrap();
        let machine = Machine::read(&tree).unwrap();
        assert_eq!(machine.check(), Ok(()));
        machine.switched().expect("switches").clone()
    }

    #[test]
    fn the_file_says_what_the_fabric_has() {
        assert_eq!(machine("xc").network(), TiledConfig::cray_xc(6, 12));
        assert_eq!(machine("th").network(), TiledConfig::th_express_2(2));
        assert_eq!(machine("xc").aries, Some(AriesConfig::cray_xc()));
        assert_eq!(machine("th").th, Some(ThConfig::th_express_2()));
    }

    #[test]
    fn the_field_s_dragonfly() {
        let facts = machine("dragonfly").facts();
        assert_eq!((facts.nodes, facts.routers, facts.groups), (1056, 264, 33));
        let links: Vec<_> = facts.classes.iter().map(|c| (c.class.as_str(), c.links)).collect();
        assert_eq!(links, [("local", 264 * 7), ("global", 33 * 32)]);
        assert!(facts.packaging.is_none());
    }

    #[test]
    fn a_cray_xc_of_six_groups() {
        let facts = machine("xc").facts();
        assert_eq!((facts.nodes, facts.routers), (2304, 576));
        assert_eq!(facts.links, 2 * (6 * (6 * 120 + 16 * 15 * 3) + 15 * 48));
        assert!((facts.classes[0].flits_GB_per_s - 4.725).abs() < 0.001);
        let packaging = facts.packaging.expect("bundles");
        assert_eq!((packaging.cabinets, packaging.global_cables), (12, 180));
    }
}
