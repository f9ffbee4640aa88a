//! What a study may say of the nodes of machines of switches: what fits them of workloads and traffic, and what does not.

use super::{Load, Priority, Routing, TrafficConfig, WorkloadConfig, refuse};
use netloom_fabric::config::{ConfigError, TiledConfig};
use netloom_fabric::router::tiled::Mode;
use netloom_fabric::topology::wiring::Wiring;

/// The workloads that machines of switches know.
const KINDS: &str = "\"uniform\", \"shift\", \"group-shift\", \"permutation\", \"random-permutation\", \"hot-node\", \"jobs\", \"packaging\", \"trace\", \"skeleton\", \"gni\" or \"glex\"";

impl Routing {
    /// The word for it in a study.
    pub fn word(self) -> &'static str {
        match self {
            Routing::Dynamic => "dynamic",
            Routing::Static => "static",
            Routing::Adaptive0 => "adaptive-0",
            Routing::Adaptive1 => "adaptive-1",
            Routing::Adaptive2 => "adaptive-2",
            Routing::Adaptive3 => "adaptive-3",
            Routing::MinimalHash => "minimal-hash",
            Routing::NonminimalHash => "nonminimal-hash",
            Routing::Minimal => "minimal",
            Routing::Valiant => "valiant",
            Routing::ValiantGroup => "valiant-group",
            Routing::UgalL => "ugal-l",
            Routing::UgalG => "ugal-g",
            Routing::Par => "par",
        }
    }

    /// What a packet's header says of it on a machine of switches; none of tori's alone.
    pub fn mode(self) -> Option<Mode> {
        Some(match self {
            Routing::Static => return None,
            Routing::Dynamic | Routing::Adaptive0 => Mode::Adaptive0,
            Routing::Adaptive1 => Mode::Adaptive1,
            Routing::Adaptive2 => Mode::Adaptive2,
            Routing::Adaptive3 => Mode::Adaptive3,
            Routing::MinimalHash => Mode::MinimalHash,
            Routing::NonminimalHash => Mode::NonminimalHash,
            Routing::Minimal => Mode::Minimal,
            Routing::Valiant => Mode::Valiant,
            Routing::ValiantGroup => Mode::ValiantGroup,
            Routing::UgalL => Mode::UgalL,
            Routing::UgalG => Mode::UgalG,
            Routing::Par => Mode::Par,
        })
    }
}

impl WorkloadConfig {
    /// Refuses what does not fit a machine of switches.
    ///
    /// # Errors
    /// The first impossible value, with its key (`workload.…`) and what was expected.
    pub fn check_switched(&self, wiring: &Wiring) -> Result<(), ConfigError> {
        let nodes = wiring.nodes();
        if nodes < 2 {
            return refuse("workload.kind", format!("expected a machine of at least 2 nodes, found {nodes}"));
        }
        match self {
            WorkloadConfig::Permutation(_) => Ok(()),
            WorkloadConfig::Jobs(jobs) => jobs.check(nodes),
            WorkloadConfig::Packaging(sizes) => sizes.check(),
            WorkloadConfig::GroupShift(_) if groups_without_nodes(wiring) => refuse(
                "workload.kind",
                "expected another workload, such as \"shift\", on a machine with groups or levels without nodes, found \"group-shift\"",
            ),
            WorkloadConfig::GroupShift(s) => {
                let groups = i32::try_from(wiring.groups()).unwrap_or(i32::MAX);
                match s.by.rem_euclid(groups) {
                    0 => refuse(
                        "workload.by",
                        format!("expected a shift to another of {groups} groups, found {}", s.by),
                    ),
                    _ => Ok(()),
                }
            }
            WorkloadConfig::Trace(_) => Ok(()),
            WorkloadConfig::Skeleton(skeleton) => skeleton.check_on(nodes.into(), ""),
            WorkloadConfig::Gni(program) => {
                program.check(nodes).map_err(|e| ConfigError { key: format!("workload.{}", e.key), ..e })
            }
            WorkloadConfig::Glex(program) => {
                program.check(nodes).map_err(|e| ConfigError { key: format!("workload.{}", e.key), ..e })
            }
            _ => self.check_among(nodes),
        }
    }

    /// Refuses what is no pattern among so many nodes.
    ///
    /// # Errors
    /// As [`Self::check_switched`].
    pub(super) fn check_among(&self, nodes: u32) -> Result<(), ConfigError> {
        match self {
            WorkloadConfig::Uniform {} | WorkloadConfig::RandomPermutation {} => Ok(()),
            WorkloadConfig::Shift(s) => match s.by[..] {
                [by] if by.rem_euclid(i32::try_from(nodes).unwrap_or(i32::MAX)) != 0 => Ok(()),
                [by] => refuse(
                    "workload.by",
                    format!("expected a shift to another of {nodes} nodes, found {by}, which leads back"),
                ),
                _ => refuse(
                    "workload.by",
                    format!("expected one value, by how many nodes, found {}", s.by.len()),
                ),
            },
            WorkloadConfig::HotNode(h) => {
                if h.node >= nodes {
                    let message = format!("expected a node from 0 to {}, found {}", nodes - 1, h.node);
                    return refuse("workload.node", message);
                }
                if !(0.0..=1.0).contains(&h.fraction) {
                    let message = format!("expected a fraction from 0 to 1, found {}", h.fraction);
                    return refuse("workload.fraction", message);
                }
                Ok(())
            }
            _ => refuse(
                "workload.kind",
                format!("expected {KINDS} on a machine of switches, found \"{}\"", self.kind()),
            ),
        }
    }
}

/// Whether some groups have no nodes, as the upper levels of a fat tree.
fn groups_without_nodes(wiring: &Wiring) -> bool {
    (0..wiring.groups()).any(|g| wiring.routers_of(g).all(|router| wiring.nodes_at(router).is_empty()))
}

impl TrafficConfig {
    /// Flits of a packet, and its data, bytes.
    pub fn size(&self, network: &TiledConfig) -> (u32, u32) {
        let packet = &network.packet;
        match (self.packet_flits, self.data_B) {
            (Some(flits), _) => {
                let room = flits.saturating_sub(packet.request_header_flits) * packet.flit_bits / 8;
                (flits, room.min(packet.data_max_B))
            }
            (None, Some(bytes)) => (packet.request_flits(bytes), bytes),
            (None, None) => (packet.request_flits(packet.data_max_B), packet.data_max_B),
        }
    }

    /// Refuses what a machine of switches cannot carry.
    ///
    /// # Errors
    /// The first impossible value, with its key (`traffic.…`) and what was expected.
    pub fn check_switched(&self, network: &TiledConfig) -> Result<(), ConfigError> {
        if !self.packet_chunks.0.is_empty() {
            let message = "expected packet_flits or data_B: packets of this machine are counted in flits";
            return refuse("traffic.packet_chunks", message);
        }
        if self.zone != 0 {
            let message = format!("expected none: this machine's routers know no zones; found {}", self.zone);
            return refuse("traffic.zone", message);
        }
        if self.priority != Priority::Normal {
            return refuse(
                "traffic.priority",
                "expected \"normal\" on a machine of switches, found \"high\"",
            );
        }
        if self.high_fraction != 0.0 {
            let message = format!("expected 0 on a machine of switches, found {}", self.high_fraction);
            return refuse("traffic.high_fraction", message);
        }
        self.check_size(network)?;
        match self.load {
            Load::LinkUtilization(u) => {
                let message = format!("expected injection, GB_per_s or packets_per_kilotick, found {u}");
                return refuse("traffic.load.link_utilization", message);
            }
            Load::GbPerS(rate) if self.size(network).1 == 0 => {
                let message =
                    format!("expected packets with data for a load of {rate} GB/s, found none in them");
                return refuse("traffic.load.GB_per_s", message);
            }
            load => load.check_rate()?,
        }
        self.check_count()?;
        if self.routing.mode().is_none() {
            let message = "expected \"dynamic\", \"minimal\", \"valiant\" or another mode of a machine of switches, found \"static\"";
            return refuse("traffic.routing", message);
        }
        if self.routing == Routing::Par && network.router.vcs < 5 {
            let message = format!(
                "expected another mode, or router.vcs of at least 5: PAR needs one VC more than others, found {}",
                network.router.vcs
            );
            return refuse("traffic.routing", message);
        }
        if self.responses && !network.router.response_vcs {
            let message =
                "expected false, or router.response_vcs = true: responses must not wait for requests";
            return refuse("traffic.responses", message);
        }
        Ok(())
    }

    fn check_size(&self, network: &TiledConfig) -> Result<(), ConfigError> {
        let packet = &network.packet;
        if let (Some(flits), Some(_)) = (self.packet_flits, self.data_B) {
            return refuse(
                "traffic.packet_flits",
                format!("expected this or data_B, found both, this {flits}"),
            );
        }
        let (least, most) = (packet.request_header_flits, packet.flits_max());
        if let Some(flits) = self.packet_flits.filter(|flits| !(least..=most).contains(flits)) {
            let message = format!("expected {least} to {most} flits, found {flits}");
            return refuse("traffic.packet_flits", message);
        }
        if let Some(bytes) = self.data_B.filter(|&bytes| bytes > packet.data_max_B) {
            let message = format!("expected at most {} B, found {bytes}", packet.data_max_B);
            return refuse("traffic.data_B", message);
        }
        Ok(())
    }
}
