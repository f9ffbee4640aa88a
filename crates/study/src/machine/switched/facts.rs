//! Figures of a network of switches in closed form.

use super::SwitchedMachine;
use super::packaging::PackagingFacts;
use netloom_fabric::config::SwitchedTopology;
use serde::Serialize;

impl SwitchedMachine {
    /// What a node's tiles carry, flits per tick and direction, while those that share them send as much.
    pub fn node_flits_per_tick(&self) -> f64 {
        let r = &self.router;
        1e3 / f64::from(r.netlink_flit_milliticks) * f64::from(r.tiles_per_share)
            / f64::from(r.nodes_per_share)
    }

    /// Figures of the machine that need no run; for a checked machine.
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
            node_flits_GB_per_s: self.node_flits_per_tick() * flit_bytes * ticks_per_second / 1e9,
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
    /// Rate at which flits can pass between a node and its router, per direction, if its neighbours are
    /// silent, GB/s.
    pub node_flits_GB_per_s: f64,
    /// Virtual channels of a port.
    pub virtual_channels: u32,
    /// Room of all queues of a router, KiB.
    pub buffer_kb_per_router: f64,
    /// Flits of a request that is full.
    pub flits_of_full_packet: u32,
    /// Data that it carries, bytes.
    pub payload_of_full_packet_b: u32,
    /// Warnings about configurations that can be built but are not advised.
    pub warnings: Vec<String>,
    /// Its cabinets and cables, if rules for them are known.
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
    /// Rate of the flits of packets on one, per direction, GB/s.
    pub flits_GB_per_s: f64,
    /// A hop over one in a quiet network, from head to head, ns.
    pub hop_ns: f64,
}
