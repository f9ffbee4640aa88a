//! The host interface: PCI-Express, two directions that each carry writes, read requests and completions, so that
//! reads and writes in one direction stand in each other's way, and what each transfer adds to its data (24 B: Alverson et al., "Cray XC Series
//! Network", "Aries Performance").

use crate::agenda::MILLI;
use serde::{Deserialize, Serialize};

/// What a machine says of the host interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct PcieConfig {
    /// Four bytes, each way.
    pub dword_microticks: u64,
    /// What each transfer adds to its data, bytes.
    pub overhead_B: u32,
    /// What a transfer costs the other direction: its acknowledgement and the return of its credits, bytes.
    pub flow_control_B: u32,
    /// From the last of a transfer to its effect on the other side, through the root complex.
    pub crossing_milliticks: u64,
    /// From a read request's arrival at the host to the first of its data.
    pub memory_milliticks: u64,
    /// What the way from or to the other CPU of the node takes longer.
    pub qpi_milliticks: u64,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the host to the NIC: cores' writes, data that the NIC reads.
    Down,
    /// From the NIC to the host: its writes, its read requests.
    Up,
}

/// A node's host interface.
#[derive(Default)]
pub(crate) struct Pcie {
    /// When each way is free, microticks.
    free: [u64; 2],
    /// Bytes that each has carried, of data and in all.
    pub carried_data: [u64; 2],
    pub carried: [u64; 2],
}

impl Pcie {
    /// Sends a transfer with so much data; returns when it starts, and when its last has left.
    pub fn send(&mut self, c: &PcieConfig, way: Way, now: u64, data: u32) -> (u64, u64) {
        let bytes = data.next_multiple_of(4) + c.overhead_B;
        let (mine, other) = (way as usize, 1 - way as usize);
        let time = |bytes: u32| u64::from(bytes) * c.dword_microticks / 4;
        let start = self.free[mine].max(now);
        self.free[mine] = start + time(bytes);
        // What the other side says of it goes in between there.
        self.free[other] = self.free[other].max(now) + time(c.flow_control_B);
        self.carried_data[mine] += u64::from(data);
        self.carried[mine] += u64::from(bytes);
        self.carried[other] += u64::from(c.flow_control_B);
        (start, self.free[mine])
    }

    /// When a way is free.
    pub fn free(&self, way: Way) -> u64 {
        self.free[way as usize]
    }
}

/// From a read request's last byte to when its data may start back.
pub(crate) fn at_host(c: &PcieConfig) -> u64 {
    (c.crossing_milliticks + c.memory_milliticks) * MILLI
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aries::config::AriesConfig;

    /// What 64 B each way leave for data: reads and writes together.
    #[test]
    fn symmetric_traffic_gets_about_8_gb_per_s_each_way() {
        let (c, mut pcie) = (AriesConfig::cray_xc().pcie, Pcie::default());
        let mut end = 0;
        for _ in 0..1000 {
            pcie.send(&c, Way::Up, 0, 0);
            pcie.send(&c, Way::Up, 0, 64);
            pcie.send(&c, Way::Down, 0, 64);
            end = pcie.free(Way::Up).max(pcie.free(Way::Down));
        }
        let rate = 64_000.0 * 875e12 / end as f64;
        println!("{:.3} GB/s each way", rate / 1e9);
        assert!((7.5e9..9e9).contains(&rate), "{rate}");
    }

    #[test]
    fn each_transfer_has_24_bytes_more() {
        let (c, mut pcie) = (AriesConfig::cray_xc().pcie, Pcie::default());
        let (_, end) = pcie.send(&c, Way::Down, 0, 64);
        assert_eq!(end, 88 * 218_750 / 4);
        assert_eq!(pcie.carried, [88, 16]);
    }
}
