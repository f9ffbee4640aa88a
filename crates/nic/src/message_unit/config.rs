//! Configuration of a Message Unit.

use netloom_fabric::config::ConfigError;
use netloom_node::cores::CoresConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Message Unit and the software on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct MessageUnitConfig {
    /// A cycle of the unit.
    pub cycle_ticks: u32,
    /// Master ports to the crossbar switch: one read or write request a cycle each.
    pub master_ports: u32,
    /// From a core's store to a register of the unit to its effect there.
    pub slave_ticks: u32,
    /// From a read request at a master port to the first of its data, where the L2 has it.
    pub read_ticks: u32,
    /// From the last write request of a packet, or an atomic operation, to where cores see it.
    pub write_ticks: u32,
    /// From the last of a packet's data to where the network may take the packet; its engine has taken the
    /// next one.
    pub inject_ticks: u32,
    /// From when an engine has read a packet from its network reception FIFO to the first write request.
    pub receive_ticks: u32,
    /// In place of both of these for collective packets.
    pub collective_ticks: u32,
    /// Room of the L2 cache, through which all of the unit's reads and writes pass, bytes.
    pub l2_B: u64,
    /// Ways of its sets: a hash of the address chooses the set. If omitted, data may lie anywhere in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_ways: Option<u32>,
    /// Bandwidth of the memory behind it, reads and writes together.
    pub ddr_bytes_per_tick: f64,
    /// Bandwidth of an IO node's PCIe, per direction.
    pub pcie_bytes_per_tick: f64,
    /// Full packets that a network injection FIFO holds: so many times 544 B of any.
    pub network_fifo_packets: u32,
    /// The node's cores.
    pub cores: CoresConfig,
    /// The software of the system programming interface.
    pub software: SoftwareConfig,
}

/// Times of the software's own instructions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftwareConfig {
    /// To build a descriptor in an injection FIFO and store its tail.
    pub inject_ticks: u32,
    /// To store to a register of the unit.
    pub store_ticks: u32,
    /// One iteration of the loop that polls a counter or the tail of a reception FIFO.
    pub poll_ticks: u32,
    /// From the poll that finds what it waits for until the program resumes.
    pub found_ticks: u32,
}

impl MessageUnitConfig {
    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key (`message_unit.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse =
            |key: &str, message: String| Err(ConfigError { key: format!("message_unit.{key}"), message });
        for (key, ticks, most) in [
            ("cycle_ticks", self.cycle_ticks, 1 << 20),
            ("read_ticks", self.read_ticks, 1 << 24),
            ("write_ticks", self.write_ticks, 1 << 24),
            ("slave_ticks", self.slave_ticks, 1 << 24),
            ("inject_ticks", self.inject_ticks, 1 << 24),
            ("receive_ticks", self.receive_ticks, 1 << 24),
            ("collective_ticks", self.collective_ticks, 1 << 24),
            ("software.store_ticks", self.software.store_ticks, 1 << 24),
            ("software.poll_ticks", self.software.poll_ticks, 1 << 24),
        ] {
            if !(1..=most).contains(&ticks) {
                return refuse(key, format!("expected 1 to {most} ticks, found {ticks}"));
            }
        }
        for (key, value, least, most) in self.cores.limits() {
            if !(least..=most).contains(&value) {
                return refuse(key, format!("expected {least} to {most}, found {value}"));
            }
        }
        if self.l2_B < 1 << 16 {
            return refuse("l2_B", format!("expected at least 64 KiB, found {}", self.l2_B));
        }
        if let Some(ways) = self.l2_ways.filter(|ways| !(1..=1024).contains(ways)) {
            return refuse("l2_ways", format!("expected 1 to 1024, found {ways}"));
        }
        for (key, rate) in [
            ("ddr_bytes_per_tick", self.ddr_bytes_per_tick),
            ("pcie_bytes_per_tick", self.pcie_bytes_per_tick),
        ] {
            if !(rate.is_finite() && rate > 0.0) {
                return refuse(key, format!("expected a rate above 0, found {rate}"));
            }
        }
        if !(1..=super::NETWORK_FIFOS as u32).contains(&self.master_ports) {
            return refuse("master_ports", format!("expected 1 to 16, found {}", self.master_ports));
        }
        if !(1..=64).contains(&self.network_fifo_packets) {
            let found = self.network_fifo_packets;
            return refuse("network_fifo_packets", format!("expected 1 to 64 packets, found {found}"));
        }
        Ok(())
    }
}
