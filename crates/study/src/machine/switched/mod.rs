//! Machines whose nodes share routers: dragonflies, fat trees and tori of tiled routers.

mod facts;
mod fit;
mod packaging;

pub use facts::{ClassFacts, SwitchedFacts};
pub use packaging::{CableFacts, PackagingFacts};

use super::size::{Change, dims};
use super::{Common, Facts, Family, FamilyEntry, Machine, MachineKind, NetworkOutline};
use crate::decode::decode;
use crate::memory::Estimate;
use crate::resolve::ResolvedStudy;
use crate::study::Study;
use netloom_fabric::config::{
    Cabling, ConfigError, FlitFormat, LinkClass, LinkControl, SwitchedFaults, SwitchedRouting,
    SwitchedTopology, TiledConfig, TiledRouter,
};
use netloom_fabric::topology::wiring::Wiring;
use netloom_messaging::config::MessagingConfig;
use netloom_nic::aries::config::AriesConfig;
use netloom_nic::th::config::ThConfig;
use netloom_workload::config::Machines;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A machine whose nodes share routers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchedMachine {
    /// The name that studies use.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// The kind of network.
    pub family: Family,
    /// The clock of the routers: a tick is one of its cycles, and other times are rounded to ticks or
    /// thousandths of them.
    pub ticks_per_second: u64,
    /// The topology.
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
    /// Errors and failures.
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

/// The properties of a network of switches that the layers above need.
#[derive(Clone, Debug)]
pub struct SwitchedOutline {
    /// The configuration that it is built from.
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

    /// The network with its wiring; of a checked machine.
    pub fn outline(&self) -> SwitchedOutline {
        SwitchedOutline::new(self.network())
    }

    /// A hop over a link of a class in a quiet network, from head to head, ticks: the router, its buses, the
    /// link.
    pub fn hop_ticks(&self, class: &LinkClass) -> u32 {
        let r = &self.router;
        r.route_ticks + r.row_ticks + r.column_ticks + class.latency_ticks
    }
}

/// The family of tiled routers that several nodes share.
pub(super) const TILED: FamilyEntry = FamilyEntry {
    family: Family::Tiled,
    name: "tiled",
    help: "Networks of tiled routers that several nodes share: Cray XC's, TH Express-2's.",
    machines: Machines::Switches,
    read: |tree| Ok(Machine::Switched(Box::new(decode(tree)?))),
    schema: crate::keys::schema::<SwitchedMachine>,
};

/// Bytes of a virtual channel of a tile: 65,380 B for the 48 tiles of an Aries router with 8 VCs each.
const TILE_VC: f64 = 170.0;

impl MachineKind for SwitchedMachine {
    fn common(&self) -> Common<'_> {
        Common {
            name: &self.name,
            title: &self.title,
            ticks_per_second: self.ticks_per_second,
            messaging: &self.messaging,
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.network().check()?;
        self.messaging.check_interface(self.th.is_some(), self.aries.is_some())?;
        self.messaging.check()?;
        self.aries.as_ref().map_or(Ok(()), AriesConfig::check)?;
        self.th.as_ref().map_or(Ok(()), ThConfig::check)
    }

    fn shape(&self) -> String {
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

    fn nodes(&self) -> u64 {
        self.topology.nodes().into()
    }

    fn outline(&self) -> NetworkOutline {
        NetworkOutline::Switched(SwitchedMachine::outline(self))
    }

    fn facts(&self) -> Facts {
        Facts::Switched(SwitchedMachine::facts(self))
    }

    fn sized(&self, nodes: u32) -> Result<Option<Change>, ConfigError> {
        match &self.topology {
            SwitchedTopology::Dragonfly(d) => {
                let group = d.nodes_per_router * d.group.iter().product::<u32>();
                let groups = nodes.div_ceil(group);
                // Fewer groups than it has leave links without an end, which only partial networks of bundles
                // of cables have.
                let may_shrink = d.cabling == Cabling::Bundles;
                Ok((may_shrink || groups > d.groups).then(|| ("topology.groups", vec![groups])))
            }
            SwitchedTopology::FatTree(tree) => {
                let (top, below) = tree.down.split_last().expect("it has levels");
                let needed = nodes.div_ceil(below.iter().product());
                let down = below.iter().copied().chain([needed]).collect();
                Ok((needed > *top).then_some(("topology.down", down)))
            }
            SwitchedTopology::Torus(torus) => {
                let routers = nodes.div_ceil(torus.nodes_per_router);
                match dims(routers, torus.dims.len()) {
                    Some(_) if u64::from(nodes) <= self.nodes() => Ok(None),
                    Some(dims) => Ok(Some(("topology.dims", dims))),
                    None => {
                        let message = format!("a number of nodes for which {routers} routers make a torus");
                        Err(ConfigError { key: "nodes".into(), message })
                    }
                }
            }
        }
    }

    fn fit(&self, study: &mut Study, network: &NetworkOutline) -> Result<(), ConfigError> {
        fit::fit(study, network.switched().expect("its own outline"))
    }

    fn memory(&self, study: &ResolvedStudy) -> Estimate {
        let outline = study.switched();
        let tiles = f64::from(self.router.rows * self.router.columns);
        let routers = f64::from(outline.wiring.routers()) * tiles * f64::from(outline.config.vcs()) * TILE_VC;
        let packets_per_node = if study.study.workload.is_program() { 22_000.0 } else { 72_000.0 };
        Estimate { routers, packets_per_node }
    }
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
    fn the_file_agrees_with_the_fabric() {
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
