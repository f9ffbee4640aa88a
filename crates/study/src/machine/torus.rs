//! Machines that are tori: their routers are BlueGene/L's, Blue Gene/Q's, or variants of these.

use super::Family;
use crate::decode::decode;
use crate::diagnose::Problem;
use crate::tree::Tree;
use netloom_fabric::config::{
    ConfigError, Link, Outline, PacketFormat, QueuedConfig, QueuedRouter, Router, Topology, TorusConfig,
};
use netloom_messaging::config::MessagingConfig;
use netloom_nic::config::FifoConfig;
use netloom_nic::message_unit::config::MessageUnitConfig;
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
    /// The first impossible value, with its key and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            TorusNetwork::Torus(config) => config.check(),
            TorusNetwork::Queued(config) => config.check(),
        }
    }

    /// What the layers above need to know of it.
    pub fn outline(&self) -> Outline {
        match self {
            TorusNetwork::Torus(config) => config.outline(),
            TorusNetwork::Queued(config) => config.outline(),
        }
    }
}

/// A machine that is a torus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TorusMachine<R = Routers> {
    /// The name that studies use.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// The kind of network.
    pub family: Family,
    /// Ticks a second; every other time is a whole number of them.
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
    /// The same machine with its routers told another way.
    fn with_routers<S>(self, tell: impl FnOnce(R) -> S) -> TorusMachine<S> {
        TorusMachine {
            name: self.name,
            title: self.title,
            family: self.family,
            ticks_per_second: self.ticks_per_second,
            topology: self.topology,
            packet: self.packet,
            link: self.link,
            router: tell(self.router),
            nic: self.nic,
            message_unit: self.message_unit,
            messaging: self.messaging,
        }
    }
}

impl TorusMachine {
    /// Reads a machine, whose `family` says what its routers have.
    ///
    /// # Errors
    /// Unknown keys, wrong types, unknown alternatives and missing keys, in their place.
    pub fn read(tree: &Tree) -> Result<TorusMachine, Problem> {
        // Without a family, the usual reader says so, in its place.
        match tree.get("family").map(decode::<Family>).transpose()? {
            Some(Family::QueuedTorus) => {
                decode::<TorusMachine<QueuedRouter>>(tree).map(|m| m.with_routers(Routers::Queued))
            }
            _ => decode::<TorusMachine<Router>>(tree).map(|m| m.with_routers(Routers::Torus)),
        }
    }

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

    /// Its lengths as people write them: `32x32x32`.
    pub fn shape(&self) -> String {
        self.topology.dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x")
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first impossible value, with its key and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.network().check()?;
        self.nic.check(self.packet.chunk_B * self.packet.chunks_max)?;
        self.messaging.check()?;
        if self.message_unit.is_some() && !matches!(self.router, Routers::Queued(_)) {
            let message = "Message Units need queued routers".into();
            return Err(ConfigError { key: "message_unit".into(), message });
        }
        self.message_unit.as_ref().map_or(Ok(()), |unit| unit.check())
    }

    /// What can be said of the machine without a run.
    pub fn facts(&self) -> TorusFacts {
        let torus = self.network().outline();
        let dims = &self.topology.dims;
        let nodes = torus.nodes() as u64;
        let ns_per_tick = 1e9 / self.ticks_per_second as f64;
        let link_mb_per_s = self.ticks_per_second as f64 / f64::from(self.link.ticks_per_byte) / 1e6;
        // Links a dimension in each direction: a ring of one node has none, an open line one fewer than nodes. A ring
        // of two nodes has two links each way, one on either side.
        let links_of = |d: usize| {
            let k = u64::from(dims[d]);
            match (k, torus.wraps(d)) {
                (1, _) => 0,
                (_, true) => nodes * 2,
                (_, false) => nodes / k * (k - 1) * 2,
            }
        };
        let links = (0..dims.len()).map(links_of).sum();
        // Cut the longest dimension in two; both directions counted.
        let cut = (0..dims.len()).max_by_key(|&d| dims[d]).unwrap_or(0);
        let crossing = match dims[cut] {
            1 => 0,
            k => nodes / u64::from(k) * 2 * if torus.wraps(cut) { 2 } else { 1 },
        };
        // Uniform traffic crosses each dimension by a mean distance; the dimension with the most hops to a link is full
        // first, and the others are busy in proportion.
        let hops: Vec<f64> = (0..dims.len()).map(|d| mean_distance(dims[d], torus.wraps(d))).collect();
        let load: Vec<f64> = (0..dims.len())
            .filter(|&d| links_of(d) > 0)
            .map(|d| hops[d] * nodes as f64 / links_of(d) as f64)
            .collect();
        let total: f64 = hops.iter().sum::<f64>() * nodes as f64;
        let worst = load.iter().copied().fold(0.0, f64::max);
        let peak = if worst > 0.0 { total / links as f64 / worst } else { 0.0 };
        let p = &self.packet;
        let full = f64::from(p.chunk_B * p.chunks_max);
        let payload = full - f64::from(p.header_B + p.software_header_B);
        // A token-ack goes back for each packet; every link carries as many as it carries packets.
        let payload_share = payload / (full + f64::from(p.trailer_B + p.ack_wire_B()));
        // The longest way through a dimension, from wherever it crosses the most cables.
        let farthest = |d: usize| {
            let k = dims[d];
            let (hops, starts) = if torus.wraps(d) { (k / 2, 0..k) } else { (k - 1, 0..1) };
            let way =
                |from: u32| (from..from + hops).map(|x| self.link.hop_ticks_of(d, x % k, k, false)).sum();
            starts.map(way).max().unwrap_or(0)
        };
        let ways: u32 = (0..dims.len()).map(farthest).sum();
        let short = p.wire_B(2.min(p.chunks_max)) * self.link.ticks_per_byte;
        TorusFacts {
            nodes,
            links,
            farthest_ns: f64::from(ways + short) * ns_per_tick,
            link_mb_per_s,
            hop_ns: f64::from(self.link.hop_ticks()) * ns_per_tick,
            mean_hops: hops.iter().sum(),
            diameter_hops: (0..dims.len())
                .map(|d| if torus.wraps(d) { dims[d] / 2 } else { dims[d] - 1 })
                .sum(),
            bisection_links: crossing,
            bisection_gb_per_s: crossing as f64 * link_mb_per_s / 1e3,
            virtual_channels: torus.vcs.len() as u32,
            buffer_kb_per_node: f64::from(2 * dims.len() as u32 * p.chunk_B)
                * torus.vcs.iter().map(|vc| f64::from(vc.chunks)).sum::<f64>()
                / 1024.0,
            payload_of_full_packet_b: payload as u32,
            peak_all_to_all_link_utilization: peak,
            peak_all_to_all_payload_utilization: peak * payload_share,
        }
    }
}

/// Mean distance between two nodes at random of a ring or line of `k`, hops (a node may be its own partner).
fn mean_distance(k: u32, ring: bool) -> f64 {
    let even = k.is_multiple_of(2);
    let k = f64::from(k);
    match ring {
        true if even => k / 4.0,
        true => (k * k - 1.0) / (4.0 * k),
        false => (k * k - 1.0) / (3.0 * k),
    }
}

/// Figures of a torus in closed form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TorusFacts {
    /// Nodes.
    pub nodes: u64,
    /// Links, each direction counted.
    pub links: u64,
    /// Raw rate of a link in one direction, MB/s.
    pub link_mb_per_s: f64,
    /// Time of one hop, first bit to first bit, ns.
    pub hop_ns: f64,
    /// Time of a packet of two chunks in the network between the nodes that are farthest apart, without load, ns.
    pub farthest_ns: f64,
    /// Mean distance between nodes at random, hops.
    pub mean_hops: f64,
    /// Greatest distance, hops.
    pub diameter_hops: u32,
    /// Links across a cut through the middle of the longest dimension, both directions counted.
    pub bisection_links: u64,
    /// Raw bandwidth across that cut, both directions, GB/s.
    pub bisection_gb_per_s: f64,
    /// Virtual channels of a receiver.
    pub virtual_channels: u32,
    /// Buffers of all virtual channels of a node, KiB.
    pub buffer_kb_per_node: f64,
    /// Data that a full packet carries, bytes.
    pub payload_of_full_packet_b: u32,
    /// Highest mean link utilization that an all-to-all can reach, fraction.
    pub peak_all_to_all_link_utilization: f64,
    /// The share of it that is payload in full packets, each answered by one acknowledgement packet, fraction.
    pub peak_all_to_all_payload_utilization: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str) -> TorusMachine {
        let source = crate::machine::machine_source(name, std::path::Path::new(".")).unwrap();
        TorusMachine::read(&Tree::parse(&source).unwrap()).unwrap()
    }

    fn bgl() -> TorusMachine {
        machine("bgl")
    }

    #[test]
    fn the_file_says_what_the_fabric_has() {
        assert_eq!(bgl().network(), TorusNetwork::Torus(TorusConfig::bluegene_l(&[32, 32, 32])));
        assert_eq!(bgl().nic, FifoConfig::default());
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
