//! Machines that are tori: their routers are BlueGene/L's, Blue Gene/Q's, or variants of these.

mod facts;
mod fit;

pub use facts::TorusFacts;

use super::size::{Change, dims};
use super::{Common, Facts, Family, FamilyEntry, Machine, MachineKind, NetworkOutline};
use crate::decode::decode;
use crate::memory::Estimate;
use crate::resolve::ResolvedStudy;
use crate::study::Study;
use netloom_fabric::config::{
    ConfigError, Link, Outline, PacketFormat, QueuedConfig, QueuedRouter, Router, Topology, TorusConfig,
};
use netloom_messaging::config::MessagingConfig;
use netloom_nic::config::FifoConfig;
use netloom_nic::message_unit::config::MessageUnitConfig;
use netloom_workload::config::{Load, Machines};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The routers of a machine, of whichever family.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Routers {
    /// Of [`Family::Torus`].
    Torus(Router),
    /// Of [`Family::QueuedTorus`].
    Queued(QueuedRouter),
}

/// A torus as the fabric builds it.
#[derive(Clone, Debug, PartialEq)]
pub enum TorusNetwork {
    /// Of [`Family::Torus`].
    Torus(TorusConfig),
    /// Of [`Family::QueuedTorus`].
    Queued(QueuedConfig),
}

impl TorusNetwork {
    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            TorusNetwork::Torus(config) => config.check(),
            TorusNetwork::Queued(config) => config.check(),
        }
    }

    /// The properties that the layers above need.
    pub fn outline(&self) -> Outline {
        match self {
            TorusNetwork::Torus(config) => config.outline(),
            TorusNetwork::Queued(config) => config.outline(),
        }
    }
}

/// A machine that is a torus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TorusMachine<R = Routers> {
    /// The name that studies use.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// The kind of network.
    pub family: Family,
    /// The clock of the simulation: a tick is one of its cycles, and every other time is rounded to ticks.
    pub ticks_per_second: u64,
    /// The shape.
    pub topology: Topology,
    /// The packets.
    pub packet: PacketFormat,
    /// The links.
    pub link: Link,
    /// The routers.
    pub router: R,
    /// The network interface of a node.
    #[serde(default)]
    pub nic: FifoConfig,
    /// The Message Unit of a node, for programs that are written for such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_unit: Option<MessageUnitConfig>,
    /// The messaging library of its nodes, on which programs run.
    #[serde(default)]
    pub messaging: MessagingConfig,
}

impl<R> TorusMachine<R> {
    /// The same machine with its routers described in another form.
    fn with_routers<S>(self, describe: impl FnOnce(R) -> S) -> TorusMachine<S> {
        TorusMachine {
            name: self.name,
            title: self.title,
            family: self.family,
            ticks_per_second: self.ticks_per_second,
            topology: self.topology,
            packet: self.packet,
            link: self.link,
            router: describe(self.router),
            nic: self.nic,
            message_unit: self.message_unit,
            messaging: self.messaging,
        }
    }
}

impl TorusMachine {
    /// The network alone, as the fabric takes it.
    pub fn network(&self) -> TorusNetwork {
        let (topology, packet, link) = (self.topology.clone(), self.packet.clone(), self.link.clone());
        let ticks_per_second = self.ticks_per_second;
        match self.router.clone() {
            Routers::Torus(router) => {
                TorusNetwork::Torus(TorusConfig { ticks_per_second, topology, packet, link, router })
            }
            Routers::Queued(router) => {
                TorusNetwork::Queued(QueuedConfig { ticks_per_second, topology, packet, link, router })
            }
        }
    }
}

/// The family of BlueGene/L's routers and their variants.
pub(super) const TORUS: FamilyEntry = FamilyEntry {
    family: Family::Torus,
    name: "torus",
    help: "Tori of BlueGene/L's routers and their variants.",
    machines: Machines::Tori,
    read: |tree| {
        let machine: TorusMachine<Router> = decode(tree)?;
        Ok(Machine::Torus(Box::new(machine.with_routers(Routers::Torus))))
    },
    schema: crate::keys::schema::<TorusMachine<Router>>,
};

/// The family of Blue Gene/Q's routers, whose VCs have several queues.
pub(super) const QUEUED_TORUS: FamilyEntry = FamilyEntry {
    family: Family::QueuedTorus,
    name: "queued-torus",
    help: "Tori of Blue Gene/Q's routers, whose VCs have several queues.",
    machines: Machines::Tori,
    read: |tree| {
        let machine: TorusMachine<QueuedRouter> = decode(tree)?;
        Ok(Machine::Torus(Box::new(machine.with_routers(Routers::Queued))))
    },
    schema: crate::keys::schema::<TorusMachine<QueuedRouter>>,
};

/// Bytes of a port of BlueGene/L's router and its link: 2,500 B for the six of a node.
const TORUS_PORT: f64 = 420.0;
/// The same of Blue Gene/Q's: 6,704 B for the ten of a node.
const QUEUED_PORT: f64 = 670.0;

impl MachineKind for TorusMachine {
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
        self.nic.check(self.packet.chunk_B * self.packet.chunks_max)?;
        self.messaging.check_interface(false, false)?;
        self.messaging.check()?;
        if self.message_unit.is_some() && !matches!(self.router, Routers::Queued(_)) {
            let message = "Message Units need queued routers".into();
            return Err(ConfigError { key: "message_unit".into(), message });
        }
        self.message_unit.as_ref().map_or(Ok(()), |unit| unit.check())
    }

    fn shape(&self) -> String {
        self.topology.dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x")
    }

    fn nodes(&self) -> u64 {
        self.topology.nodes() as u64
    }

    fn outline(&self) -> NetworkOutline {
        NetworkOutline::Torus(Box::new(self.network().outline()))
    }

    fn facts(&self) -> Facts {
        Facts::Torus(TorusMachine::facts(self))
    }

    fn sized(&self, nodes: u32) -> Result<Option<Change>, ConfigError> {
        let count = self.topology.dims.len();
        match dims(nodes, count) {
            Some(dims) => Ok(Some(("topology.dims", dims))),
            None => {
                let message = format!("a number of nodes that {count} dimensions of at most 64 can have");
                Err(ConfigError { key: "nodes".into(), message })
            }
        }
    }

    fn fit(&self, study: &mut Study, network: &NetworkOutline) -> Result<(), ConfigError> {
        fit::fit(study, self, network.torus().expect("its own outline"))
    }

    fn memory(&self, study: &ResolvedStudy) -> Estimate {
        let s = &study.study;
        let ports = (study.network.nodes() * 2 * self.topology.dims.len()) as f64;
        let full = matches!(s.traffic.load, Load::Burst | Load::Infinite) && !s.workload.is_program();
        let (port, packets_per_node) = match self.router {
            Routers::Torus(_) => (TORUS_PORT, 11_000.0),
            Routers::Queued(_) if full => (QUEUED_PORT, 77_000.0),
            Routers::Queued(_) => (QUEUED_PORT, 10_000.0),
        };
        Estimate { routers: ports * port, packets_per_node }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use netloom_node::cores::CoresConfig;

    fn machine(name: &str) -> TorusMachine {
        let source = crate::machine::machine_source(name, std::path::Path::new(".")).unwrap();
        Machine::read(&Tree::parse(&source).unwrap()).unwrap().torus().expect("a torus").clone()
    }

    fn bgl() -> TorusMachine {
        machine("bgl")
    }

    #[test]
    fn the_file_agrees_with_the_fabric() {
        assert_eq!(bgl().network(), TorusNetwork::Torus(TorusConfig::bluegene_l(&[32, 32, 32])));
        // The fabric does not know how many cores a node has.
        let FifoConfig { cores, .. } = bgl().nic;
        assert_eq!(cores.as_ref().map(CoresConfig::count), Some(2));
        assert_eq!(FifoConfig { cores, ..FifoConfig::default() }, bgl().nic);
    }

    #[test]
    fn blue_gene_q_is_what_the_fabric_has() {
        let machine = machine("bgq");
        assert_eq!(machine.network(), TorusNetwork::Queued(QueuedConfig::bluegene_q(&[4, 4, 4, 4, 2])));
        assert!(machine.message_unit.is_some());
    }

    #[test]
    fn peaks_match_the_closed_forms_of_the_paper() {
        let mut machine = bgl();
        machine.topology.dims = vec![64, 32, 32];
        let facts = machine.facts();
        assert_eq!(facts.nodes, 65_536);
        assert!((facts.peak_all_to_all_link_utilization - 0.667).abs() < 0.001);
        assert!((facts.peak_all_to_all_payload_utilization - 0.59).abs() < 0.01);
        assert!((facts.hop_ns - 97.0).abs() < 0.5);
        assert_eq!(facts.bisection_links, 32 * 32 * 4);
    }
}
