//! Configuration of TH Express NICs and of the software on them.

use crate::pcie::PcieConfig;
use netloom_fabric::config::ConfigError;
use netloom_node::cores::CoresConfig;
use netloom_node::polling::Polling;
use netloom_node::time::Microticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The NIC, its host interface, and what cores need to use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct ThConfig {
    /// PCI-Express.
    pub pcie: PcieConfig,
    /// Most data of a transfer over it.
    pub pcie_payload_max_B: u32,
    /// Most data that a read request asks for; more takes several.
    pub pcie_request_max_B: u32,
    /// Descriptors that a virtual port holds on the chip: the HDQ of a PIO port, the SDQ buffer of a DMA
    /// port.
    pub port_descriptors: u32,
    /// Descriptors that the SDQ of a DMA port has room for in host memory.
    pub sdq_descriptors: u32,
    /// From a doorbell to the request for the descriptor.
    pub schedule_milliticks: u64,
    /// From a descriptor that is taken from its port to its first packet or read.
    pub process_milliticks: u64,
    /// A descriptor without data.
    pub descriptor_B: u32,
    /// Most data of an immediate put.
    pub immediate_max_B: u32,
    /// Data of a mini-packet, whose descriptor and packet always have room for so much.
    pub mini_packet_B: u32,
    /// From a packet's making to where the network may take it.
    pub out_milliticks: u64,
    /// From a packet's arrival out of the network to what is done for it.
    pub in_milliticks: u64,
    /// The memory checker and a look into the address translation cache.
    pub translate_milliticks: u64,
    /// How many checks can be made in that time: the pipeline takes one so often.
    pub check_milliticks: u64,
    /// Items of the memory checker.
    pub checker_items: u32,
    /// Entries of the address translation cache.
    pub cache_entries: u32,
    /// Its associativity, ways per set.
    pub cache_ways: u32,
    /// Whether it is used as a buffer of all translations that there are.
    pub is_buffer: bool,
    /// Descriptors that are carried out at once.
    pub transfers: u32,
    /// Packets whose data may be in flight from the host's memory, or wait for the network.
    pub packets: u32,
    /// Packets from the network that wait before it gives no more.
    pub input_packets: u32,
    /// Connections that a NIC can have set up to others at once.
    pub sender_contexts: u32,
    /// Connections that it can have accepted at once.
    pub receiver_contexts: u32,
    /// Control packets that a port keeps until a sequence takes them.
    pub control_packets: u32,
    /// Interrupts that their queue in host memory has room for.
    pub interrupt_entries: u32,
    /// Most memory in one piece that a queue of physical addresses can have.
    pub pinned_max_B: u64,
    /// How long a sender waits after a NACK before it asks again.
    pub retry_milliticks: u64,
    /// How long a sender waits for an answer.
    pub timeout_milliticks: u64,
    /// How often a sender hears nothing in that time before it gives up.
    pub attempts_max: u32,
    /// Packets of a million whose user-level CRC is wrong when they arrive.
    pub corrupted_per_million: u32,
    /// Packets of a million that do not arrive.
    pub lost_per_million: u32,
    /// The node's cores.
    pub cores: CoresConfig,
    /// Their instructions.
    pub core: ThCoreConfig,
}

/// Times of instructions on the cores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThCoreConfig {
    /// The library's instructions for an operation.
    pub library_milliticks: u64,
    /// A line of 64 B, or less, stored to the NIC.
    pub line_milliticks: u64,
    /// A line copied in memory: data into a descriptor, or out of a queue.
    pub copy_line_milliticks: u64,
    /// One iteration of a loop that polls memory.
    pub poll_milliticks: u64,
    /// From the poll that finds something until the program resumes.
    pub found_milliticks: u64,
    /// From a hardware interrupt until its handler runs.
    pub interrupt_milliticks: u64,
}

impl ThCoreConfig {
    pub(super) fn polling(&self) -> Polling {
        Polling::memory(
            Microticks::of_milliticks(self.poll_milliticks),
            Microticks::of_milliticks(self.found_milliticks),
        )
    }
}

impl ThConfig {
    /// MilkyWay-2's, for ticks of a nanosecond. The sources are in `docs/th-nic.md`.
    pub fn th_express_2() -> Self {
        ThConfig {
            pcie: PcieConfig {
                // PCI-Express 3.0 of 16 lanes [P 2]: 15.754 GB/s.
                dword_microticks: 253_906,
                // (inferred): as other NICs on PCI-Express 3.0.
                overhead_B: 24,
                flow_control_B: 16,
                // fitted, together: what PUT takes longer than immediate PUT over PIO, and over DMA.
                crossing_milliticks: 140_000,
                memory_milliticks: 70_000,
                // (ours), as Aries': 60 ns.
                qpi_milliticks: 60_000,
                // (ours)
                bit_errors_per_Tbit: 0,
                retry_milliticks: 400_000,
            },
            // (ours), to the next fitted one.
            pcie_payload_max_B: 128,
            // PCI-Express' own default; a packet's data is less.
            pcie_request_max_B: 512,
            port_descriptors: 16,
            sdq_descriptors: 1024,
            schedule_milliticks: 10_000,
            // fitted: immediate PUT over PIO without connection.
            process_milliticks: FITTED_PROCESS,
            // (ours)
            descriptor_B: 32,
            immediate_max_B: 96,
            mini_packet_B: 224,
            // fitted: what a connection costs an immediate PUT.
            out_milliticks: FITTED_PIPELINE,
            in_milliticks: FITTED_PIPELINE,
            // fitted: PUT over PIO without connection.
            translate_milliticks: FITTED_TRANSLATE,
            // (ours)
            check_milliticks: 2_000,
            checker_items: 4096,
            cache_entries: 1 << 20,
            cache_ways: 8,
            is_buffer: false,
            // (ours) from here on, but `line_milliticks`.
            transfers: 16,
            packets: 64,
            input_packets: 64,
            sender_contexts: 64,
            receiver_contexts: 64,
            control_packets: 64,
            interrupt_entries: 1024,
            pinned_max_B: 1 << 22,
            retry_milliticks: 1_000_000,
            timeout_milliticks: 1_000_000_000,
            attempts_max: 8,
            corrupted_per_million: 0,
            lost_per_million: 0,
            // Two Xeon E5-2692 of twelve cores; hyperthreads get equal parts (ours).
            cores: CoresConfig { cpus: 2, per_cpu: 12, full_speed_threads: 1 },
            core: ThCoreConfig {
                library_milliticks: 30_000,
                // fitted: a mini-packet over PIO.
                line_milliticks: FITTED_LINE,
                copy_line_milliticks: 7_000,
                poll_milliticks: 10_000,
                found_milliticks: 30_000,
                interrupt_milliticks: 1_000_000,
            },
        }
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key (`th.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (key, value, least, most) in [
            ("pcie_payload_max_B", self.pcie_payload_max_B.into(), 64, 4096),
            ("pcie_request_max_B", self.pcie_request_max_B.into(), 64, 4096),
            ("port_descriptors", self.port_descriptors.into(), 1, 1 << 16),
            ("sdq_descriptors", self.sdq_descriptors.into(), 1, 1 << 20),
            ("descriptor_B", self.descriptor_B.into(), 16, 256),
            ("immediate_max_B", self.immediate_max_B.into(), 1, 256),
            ("mini_packet_B", self.mini_packet_B.into(), 1, 256),
            ("checker_items", self.checker_items.into(), 1, 1 << 16),
            ("cache_ways", self.cache_ways.into(), 1, 8),
            ("cache_entries", self.cache_entries.into(), self.cache_ways.into(), 1 << 24),
            ("transfers", self.transfers.into(), 1, 1 << 10),
            ("packets", self.packets.into(), 1, 1 << 16),
            ("input_packets", self.input_packets.into(), 2, 1 << 16),
            ("sender_contexts", self.sender_contexts.into(), 1, 1 << 16),
            ("receiver_contexts", self.receiver_contexts.into(), 1, 1 << 16),
            ("control_packets", self.control_packets.into(), 1, 1 << 16),
            ("interrupt_entries", self.interrupt_entries.into(), 1, 1 << 20),
            ("pinned_max_B", self.pinned_max_B, 4096, 1 << 40),
            ("retry_milliticks", self.retry_milliticks, 1000, 1 << 40),
            ("timeout_milliticks", self.timeout_milliticks, 1000, 1 << 44),
            ("attempts_max", self.attempts_max.into(), 1, 1 << 16),
            ("corrupted_per_million", self.corrupted_per_million.into(), 0, 500_000),
            ("lost_per_million", self.lost_per_million.into(), 0, 500_000),
            ("core.poll_milliticks", self.core.poll_milliticks, 1, 1 << 40),
        ]
        .into_iter()
        .chain(self.pcie.limits())
        .chain(self.cores.limits())
        {
            if !(least..=most).contains(&value) {
                let message = format!("expected {least} to {most}, found {value}");
                return Err(ConfigError { key: format!("th.{key}"), message });
            }
        }
        Ok(())
    }
}

const FITTED_PROCESS: u64 = 180_000;
const FITTED_PIPELINE: u64 = 39_000;
const FITTED_TRANSLATE: u64 = 45_000;
const FITTED_LINE: u64 = 113_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_are_rejected() {
        let mut c = ThConfig::th_express_2();
        assert!(c.check().is_ok());
        c.receiver_contexts = 0;
        assert_eq!(c.check().expect_err("no node could connect").key, "th.receiver_contexts");
    }
}
