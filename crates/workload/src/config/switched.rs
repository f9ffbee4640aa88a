//! Traffic of machines of switches: what a study may set.

use super::{Load, Priority, Routing, TrafficConfig, refuse};
use netloom_fabric::config::{ConfigError, TiledConfig};
use netloom_fabric::router::tiled::Mode;

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

    /// The mode in a packet's header on a machine of switches; `None` for modes of tori alone.
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
    /// The first invalid value, with its key (`traffic.…`) and what was expected.
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
                let message = format!("expected flits_per_ns, GB_per_s or packets_per_us, found {u}");
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
