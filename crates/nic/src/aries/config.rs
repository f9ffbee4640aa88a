//! Configuration of Aries NICs and of the software on them.

use super::clock::ClockConfig;
use crate::pcie::PcieConfig;
use netloom_fabric::config::ConfigError;
use netloom_node::cores::CoresConfig;
use netloom_node::polling::Polling;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use netloom_node::time::Microticks;

/// The NIC, its host interface, and what cores need to use it. Here what sets a rate is in millionths of a
/// tick, so that a cycle of 800 MHz beside a router of 875 MHz is exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct AriesConfig {
    /// A cycle of the NIC.
    pub cycle_microticks: u64,
    /// Bytes that its data path moves in a cycle, behind a cycle for the packet's header.
    pub datapath_B: u32,
    /// From a write's arrival from the host, or data read from it, to where the network may take its packet.
    pub out_milliticks: u64,
    /// From a packet's arrival out of the network to what is done for it.
    pub in_milliticks: u64,
    /// PCI-Express.
    pub pcie: PcieConfig,
    /// How long the AMO unit waits before it writes a changed variable to memory, and so writes several
    /// changes at once. 0: each at once.
    pub amo_lazy_milliticks: u64,
    /// An operation of the collective engine on one contribution, cycles.
    pub collective_cycles: u32,
    /// How long a request may remain without its response.
    pub timeout_milliticks: u64,
    /// Requests that wait in a NIC before it takes no more from the network; as many responses.
    pub input_packets: u32,
    /// Writes of cores that the NIC holds before it gives PCI-Express no more credits.
    pub pio_writes: u32,
    /// Sequences of packets that the receive message table follows at once.
    pub message_table_entries: u32,
    /// Its timer, and the pulses that synchronise it.
    pub clock: ClockConfig,
    /// The node's cores.
    pub cores: CoresConfig,
    /// Their instructions.
    pub core: CoreConfig,
}

/// Times of instructions on the cores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreConfig {
    /// The library's instructions for an operation.
    pub library_milliticks: u64,
    /// A store to the NIC with the sfence behind it.
    pub store_milliticks: u64,
    /// A further line of 64 B stored to it without one.
    pub line_milliticks: u64,
    /// One iteration of a loop that polls memory.
    pub poll_milliticks: u64,
    /// From the poll that finds something until the program resumes.
    pub found_milliticks: u64,
    /// A system call.
    pub system_call_milliticks: u64,
    /// From an event that interrupts until the sleeping program resumes.
    pub interrupt_milliticks: u64,
}

impl CoreConfig {
    pub(super) fn polling(&self) -> Polling {
        Polling::memory(
            Microticks::of_milliticks(self.poll_milliticks),
            Microticks::of_milliticks(self.found_milliticks),
        )
    }
}

impl AriesConfig {
    /// A Cray XC's, for ticks of 875 MHz.
    ///
    /// The sources are in `docs/aries-nic.md`. Fitted: `core.library_milliticks` and `core.store_milliticks`,
    /// to the put rates of one core and of a node whose MDH changes; `out_milliticks` and `in_milliticks`,
    /// which are the same, to the latency of a put.
    pub fn cray_xc() -> Self {
        AriesConfig {
            // 800 MHz; five cycles for 64 B.
            cycle_microticks: 1_093_750,
            datapath_B: 16,
            // fitted
            out_milliticks: FITTED_PIPELINE,
            in_milliticks: FITTED_PIPELINE,
            pcie: PcieConfig {
                // 16 GB/s.
                dword_microticks: 218_750,
                overhead_B: 24,
                // (inferred): PCI-Express 3.0 has eight bytes for an acknowledgement and eight for credits.
                flow_control_B: 16,
                // (ours): 200 ns, 100 ns and 60 ns.
                crossing_milliticks: 175_000,
                memory_milliticks: 87_500,
                qpi_milliticks: 52_500,
                // (ours): 400 ns.
                bit_errors_per_Tbit: 0,
                retry_milliticks: 350_000,
            },
            amo_lazy_milliticks: 0,
            // (ours) from here to the cores.
            collective_cycles: 4,
            timeout_milliticks: 8_750_000_000,
            input_packets: 64,
            pio_writes: 64,
            message_table_entries: 256,
            // (ours): a pulse a millisecond, ten flits of 48 bits at 5.25 GB/s, 50 millionths, a second.
            clock: ClockConfig {
                pulse_milliticks: 875_000_000,
                link_milliticks: 10_000,
                drift_ppb: 50_000,
                offset_milliticks: 875_000_000_000,
            },
            // Two Xeon E5 of eight cores; hyperthreads get equal parts (ours).
            cores: CoresConfig { cpus: 2, per_cpu: 8, full_speed_threads: 1 },
            core: CoreConfig {
                // fitted: together 7.5 million a second; the second is what 5 million take longer.
                library_milliticks: 58_333,
                store_milliticks: 58_333,
                // (ours): 20, 10, 30 and 500 ns.
                line_milliticks: 17_500,
                poll_milliticks: 8_750,
                found_milliticks: 26_250,
                system_call_milliticks: 437_500,
                // (ours): 1 us.
                interrupt_milliticks: 875_000,
            },
        }
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key (`aries.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: String| Err(ConfigError { key: format!("aries.{key}"), message });
        for (key, value, least, most) in [
            ("cycle_microticks", self.cycle_microticks, 1, 1 << 40),
            ("datapath_B", self.datapath_B.into(), 1, 64),
            ("out_milliticks", self.out_milliticks, 0, 1 << 40),
            ("in_milliticks", self.in_milliticks, 0, 1 << 40),
            ("amo_lazy_milliticks", self.amo_lazy_milliticks, 0, 1 << 40),
            ("collective_cycles", self.collective_cycles.into(), 0, 1 << 20),
            ("timeout_milliticks", self.timeout_milliticks, 1000, 1 << 44),
            ("input_packets", self.input_packets.into(), 2, 1 << 16),
            ("pio_writes", self.pio_writes.into(), 1, 1 << 16),
            ("message_table_entries", self.message_table_entries.into(), 0, 1 << 16),
            ("clock.pulse_milliticks", self.clock.pulse_milliticks, 0, 1 << 44),
            ("clock.link_milliticks", self.clock.link_milliticks, 0, 1 << 30),
            ("clock.drift_ppb", self.clock.drift_ppb, 0, 1_000_000),
            ("clock.offset_milliticks", self.clock.offset_milliticks, 0, 1 << 50),
            ("core.library_milliticks", self.core.library_milliticks, 0, 1 << 40),
            ("core.store_milliticks", self.core.store_milliticks, 0, 1 << 40),
            ("core.line_milliticks", self.core.line_milliticks, 0, 1 << 40),
            ("core.poll_milliticks", self.core.poll_milliticks, 1, 1 << 40),
            ("core.found_milliticks", self.core.found_milliticks, 0, 1 << 40),
            ("core.system_call_milliticks", self.core.system_call_milliticks, 0, 1 << 40),
            ("core.interrupt_milliticks", self.core.interrupt_milliticks, 0, 1 << 40),
        ]
        .into_iter()
        .chain(self.pcie.limits())
        .chain(self.cores.limits())
        {
            if !(least..=most).contains(&value) {
                return refuse(key, format!("expected {least} to {most}, found {value}"));
            }
        }
        Ok(())
    }

    /// Time of the data path for a packet of `bytes` bytes: a cycle for its header, and one for each 16
    /// B, which makes five for 64 B and two for an AMO, as the paper counts them (inferred).
    pub(super) fn passage(&self, bytes: u32) -> Microticks {
        Microticks(u64::from(1 + bytes.div_ceil(self.datapath_B)) * self.cycle_microticks)
    }
}

/// So that a put of 8 B to a router one hop away takes 0.8 us.
const FITTED_PIPELINE: u64 = 19_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_rates_are_the_papers() {
        let c = AriesConfig::cray_xc();
        assert!(c.check().is_ok());
        let per_s = |t: Microticks| 875e12 / t.0 as f64;
        assert!((per_s(c.passage(64)) * 64.0 - 10.24e9).abs() < 1.0);
        assert!((per_s(c.passage(8)) - 400e6).abs() < 1.0);
        assert!((per_s(Microticks(c.pcie.dword_microticks)) * 4.0 - 16e9).abs() < 1.0);
        let put = Microticks::of_milliticks(c.core.library_milliticks + c.core.store_milliticks);
        assert!((per_s(put) - 7.5e6).abs() < 100.0);
    }

    #[test]
    fn invalid_values_are_rejected() {
        let mut c = AriesConfig::cray_xc();
        c.pcie.dword_microticks = 0;
        assert_eq!(c.check().expect_err("no rate").key, "aries.pcie.dword_microticks");
    }
}
