//! What a study may set of the FIFO network interface of the tori: injection and reception FIFOs that
//! software fills and empties packet by packet (Blumrich et al., section 2).

use netloom_fabric::config::ConfigError;
use netloom_node::cores::CoresConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the two processors of a node share its FIFOs (section 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeMode {
    /// One processor computes, the other handles messages: one set of FIFOs.
    #[default]
    Coprocessor,
    /// Each processor handles its own messages: two sets of FIFOs.
    VirtualNode,
}

/// How software deals a node's packets to the injection FIFOs of their priority. All FIFOs can send in any
/// direction (section 2); the paper does not specify how its simulator, or software, chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dealing {
    /// One after the other.
    #[default]
    InTurn,
    /// Packets of one first direction (x before y before z) to one FIFO, so that those that wait for a busy
    /// dimension block no others.
    FirstDirection,
}

impl Dealing {
    /// The FIFO, of `fifos`, of a packet that may take these directions, if that decides it.
    #[inline]
    pub fn fifo(self, hints: u16, fifos: usize) -> Option<usize> {
        (self == Dealing::FirstDirection).then(|| hints.trailing_zeros().min(15) as usize % fifos.max(1))
    }
}

/// A node's injection and reception FIFOs, and how software uses them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct FifoConfig {
    /// Injection FIFOs of normal priority in a set: 6 in BlueGene/L.
    pub injection_normal: u32,
    /// Injection FIFOs of high priority in a set: 2 in BlueGene/L.
    pub injection_high: u32,
    /// Room of an injection FIFO, bytes. If omitted: without end, as in the paper's own simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub injection_fifo_B: Option<u32>,
    /// Room of a reception FIFO, bytes. If omitted: without end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reception_fifo_B: Option<u32>,
    /// Which FIFO a packet goes into.
    pub dealing: Dealing,
    /// One set of FIFOs or two.
    pub mode: NodeMode,
    /// Rate at which a node's software empties its reception FIFOs. If omitted: at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_bytes_per_tick: Option<f64>,
    /// Injection flow control by software: maximum number of packets that a node may have in flight. If
    /// omitted: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_packets: Option<u32>,
    /// The node's cores, which share its FIFOs. If omitted: not known, and each process has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<CoresConfig>,
}

impl Default for FifoConfig {
    fn default() -> Self {
        FifoConfig {
            injection_normal: 6,
            injection_high: 2,
            injection_fifo_B: None,
            reception_fifo_B: None,
            dealing: Dealing::InTurn,
            mode: NodeMode::Coprocessor,
            drain_bytes_per_tick: None,
            window_packets: None,
            cores: None,
        }
    }
}

fn refuse<T>(key: &str, message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into() })
}

impl FifoConfig {
    /// Sets of FIFOs in the node: one, or two in virtual-node mode.
    pub fn sets(&self) -> u32 {
        match self.mode {
            NodeMode::Coprocessor => 1,
            NodeMode::VirtualNode => 2,
        }
    }

    /// Refuses what cannot be built. `full_packet_B` is the size of the network's full packet, bytes.
    ///
    /// # Errors
    /// The first invalid value, with its key (`nic.…`) and what was expected.
    #[allow(non_snake_case)]
    pub fn check(&self, full_packet_B: u32) -> Result<(), ConfigError> {
        if !(1..=64).contains(&self.injection_normal) {
            return refuse(
                "nic.injection_normal",
                format!("expected 1 to 64 FIFOs, found {}", self.injection_normal),
            );
        }
        if self.injection_high > 64 {
            return refuse(
                "nic.injection_high",
                format!("expected 0 to 64 FIFOs, found {}", self.injection_high),
            );
        }
        for (key, room) in
            [("nic.injection_fifo_B", self.injection_fifo_B), ("nic.reception_fifo_B", self.reception_fifo_B)]
        {
            if let Some(bytes) = room.filter(|&b| b < full_packet_B) {
                return refuse(
                    key,
                    format!("expected room for a full packet of {full_packet_B} B, found {bytes}"),
                );
            }
        }
        if let Some(rate) = self.drain_bytes_per_tick.filter(|r| !(r.is_finite() && *r > 0.0)) {
            return refuse("nic.drain_bytes_per_tick", format!("expected a rate above 0, found {rate}"));
        }
        if self.window_packets == Some(0) {
            return refuse("nic.window_packets", "expected at least 1 packet; leave it out for no limit");
        }
        for (key, value, least, most) in self.cores.iter().flat_map(CoresConfig::limits) {
            if !(least..=most).contains(&value) {
                let message = format!("expected {least} to {most}, found {value}");
                return refuse(&format!("nic.{key}"), message);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_bluegene_l_with_endless_fifos() {
        let nic = FifoConfig::default();
        assert_eq!((nic.injection_normal, nic.injection_high, nic.sets()), (6, 2, 1));
        assert_eq!(nic.check(256), Ok(()));
    }

    #[test]
    fn a_first_direction_has_a_fifo() {
        assert_eq!(Dealing::InTurn.fifo(0b10_0100, 6), None);
        assert_eq!(Dealing::FirstDirection.fifo(0b10_0100, 6), Some(2));
        assert_eq!(Dealing::FirstDirection.fifo(0b10_0000, 4), Some(1));
    }

    #[test]
    fn a_fifo_smaller_than_a_packet_is_refused() {
        let nic = FifoConfig { reception_fifo_B: Some(128), ..FifoConfig::default() };
        assert_eq!(nic.check(256).unwrap_err().key, "nic.reception_fifo_B");
    }
}
