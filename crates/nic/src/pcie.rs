//! The host interface: PCI-Express, two directions that each carry writes, read requests and completions, so
//! that reads and writes in one direction compete for bandwidth, and the overhead of each transfer
//! (24 B: Alverson et al., "Cray XC Series Network", "Aries Performance").
//!
//! Each transfer has a CRC of 32 bits, by which the other side detects a broken one and requests it again
//! (the same, "Reliability, Availability and Serviceability"): it is sent once more with all behind it, so
//! that nothing is lost and nothing overtakes.

use netloom_engine::Stream;
use netloom_node::time::Microticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of the host interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct PcieConfig {
    /// The rate of each direction.
    // Here the time of four bytes.
    pub dword_microticks: u64,
    /// Overhead of each transfer, bytes.
    pub overhead_B: u32,
    /// Overhead of a transfer in the other direction: its acknowledgement and the return of its credits,
    /// bytes.
    pub flow_control_B: u32,
    /// From the last of a transfer to its effect on the other side, through the root complex.
    pub crossing_milliticks: u64,
    /// From a read request's arrival at the host to the first of its data.
    pub memory_milliticks: u64,
    /// Additional time from or to the other CPU of the node.
    pub qpi_milliticks: u64,
    /// Bits of 10^12 that are corrupted in transit.
    pub bit_errors_per_Tbit: u64,
    /// From the last of a broken transfer until it is sent again, with all behind it.
    pub retry_milliticks: u64,
}

/// Most chance, of 10^12, of a transfer to be broken: the machine must get on.
const TBIT: u64 = 1_000_000_000_000;
const CHANCE_MAX: u64 = TBIT / 2;

impl PcieConfig {
    /// How long bytes take in one direction.
    pub(crate) fn time(&self, bytes: u64) -> Microticks {
        Microticks(bytes * self.dword_microticks / 4)
    }

    /// Its values with their keys, and what each may be.
    pub(crate) fn limits(&self) -> [(&'static str, u64, u64, u64); 8] {
        [
            ("pcie.dword_microticks", self.dword_microticks, 1, 1 << 40),
            ("pcie.overhead_B", self.overhead_B.into(), 0, 4096),
            ("pcie.flow_control_B", self.flow_control_B.into(), 0, 4096),
            ("pcie.crossing_milliticks", self.crossing_milliticks, 0, 1 << 40),
            ("pcie.memory_milliticks", self.memory_milliticks, 0, 1 << 40),
            ("pcie.qpi_milliticks", self.qpi_milliticks, 0, 1 << 40),
            ("pcie.bit_errors_per_Tbit", self.bit_errors_per_Tbit, 0, 1_000_000_000),
            ("pcie.retry_milliticks", self.retry_milliticks, 0, 1 << 40),
        ]
    }
}

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the host to the NIC: cores' writes, data that the NIC reads.
    Down,
    /// From the NIC to the host: its writes, its read requests.
    Up,
}

/// A node's host interface.
pub(crate) struct Pcie {
    random: Stream,
    /// When each direction is free.
    free: [Microticks; 2],
    /// Bytes that each has carried, of data and in all.
    pub carried_data: [u64; 2],
    pub carried: [u64; 2],
    /// Transfers that came broken, and were sent again.
    pub retries: [u64; 2],
}

impl Pcie {
    /// That of a node.
    pub fn new(seed: u64, node: u32) -> Self {
        let random = Stream::new(seed, 13, node.into());
        Pcie { random, free: [Microticks::ZERO; 2], carried_data: [0; 2], carried: [0; 2], retries: [0; 2] }
    }

    /// Sends a transfer with so much data, until it comes whole; returns when it starts, and when its last
    /// has left.
    pub fn send(
        &mut self,
        c: &PcieConfig,
        direction: Direction,
        now: Microticks,
        data: u32,
    ) -> (Microticks, Microticks) {
        let bytes = data.next_multiple_of(4) + c.overhead_B;
        let (mine, other) = (direction as usize, 1 - direction as usize);
        let start = self.free[mine].max(now);
        self.free[mine] = start + c.time(bytes.into());
        // Transfers behind a broken one are wasted until it is requested again: the direction does
        // nothing else.
        while self.is_broken(c, bytes) {
            self.retries[mine] += 1;
            self.carried[mine] += u64::from(bytes);
            self.free[mine] += Microticks::of_milliticks(c.retry_milliticks) + c.time(bytes.into());
        }
        // The request for it takes time in the other direction.
        self.free[other] = self.free[other].max(now) + c.time(c.flow_control_B.into());
        self.carried_data[mine] += u64::from(data);
        self.carried[mine] += u64::from(bytes);
        self.carried[other] += u64::from(c.flow_control_B);
        (start, self.free[mine])
    }

    /// Whether a transfer comes with a wrong CRC. No broken one has a right CRC **(ours: of 32 bits one in
    /// four billion would)**.
    fn is_broken(&mut self, c: &PcieConfig, bytes: u32) -> bool {
        if c.bit_errors_per_Tbit == 0 {
            return false;
        }
        let chance = (8 * u64::from(bytes) * c.bit_errors_per_Tbit).min(CHANCE_MAX);
        self.random.chance(((u128::from(chance) << 64) / u128::from(TBIT)) as u64)
    }

    /// When a direction is free.
    pub fn free(&self, direction: Direction) -> Microticks {
        self.free[direction as usize]
    }
}

/// From a read request's last byte to when its data may start back.
pub(crate) fn at_host(c: &PcieConfig) -> Microticks {
    Microticks::of_milliticks(c.crossing_milliticks + c.memory_milliticks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aries::config::AriesConfig;

    /// Data rate of 64 B transfers in both directions: reads and writes together.
    #[test]
    fn symmetric_traffic_gets_about_8_gb_per_s_per_direction() {
        let (c, mut pcie) = (AriesConfig::cray_xc().pcie, Pcie::new(1, 0));
        let mut end = Microticks::ZERO;
        for _ in 0..1000 {
            pcie.send(&c, Direction::Up, Microticks::ZERO, 0);
            pcie.send(&c, Direction::Up, Microticks::ZERO, 64);
            pcie.send(&c, Direction::Down, Microticks::ZERO, 64);
            end = pcie.free(Direction::Up).max(pcie.free(Direction::Down));
        }
        let rate = 64_000.0 * 875e12 / end.0 as f64;
        println!("{:.3} GB/s per direction", rate / 1e9);
        assert!((7.5e9..9e9).contains(&rate), "{rate}");
    }

    #[test]
    fn each_transfer_has_24_bytes_more() {
        let (c, mut pcie) = (AriesConfig::cray_xc().pcie, Pcie::new(1, 0));
        let (_, end) = pcie.send(&c, Direction::Down, Microticks::ZERO, 64);
        assert_eq!(end, Microticks(88 * 218_750 / 4));
        assert_eq!(pcie.carried, [88, 16]);
    }

    /// As many retries as the rate implies; each costs a transfer and a wait.
    #[test]
    fn broken_transfers_are_sent_again() {
        let c = PcieConfig { bit_errors_per_Tbit: 20_000_000, ..AriesConfig::cray_xc().pcie };
        let mut pcie = Pcie::new(1, 0);
        for _ in 0..10_000 {
            pcie.send(&c, Direction::Up, Microticks::ZERO, 64);
        }
        // 704 bits, 20 of a million broken.
        let retries = pcie.retries[1];
        assert!((110..175).contains(&retries), "{retries}");
        let transfers = 10_000 + retries;
        assert_eq!(pcie.carried[1], 88 * transfers);
        let times = Microticks(transfers * 88 * c.dword_microticks / 4)
            + Microticks::of_milliticks(c.retry_milliticks) * retries;
        assert_eq!(pcie.free(Direction::Up), times);
    }
}
