//! The host interface ("Aries Performance"): PCI-Express, two directions that each carry writes, read requests and completions, so that
//! reads and writes in one direction stand in each other's way, and 24 B on each transfer.

use super::config::{AriesConfig, MILLI};

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the host to the NIC: cores' writes, data that the NIC reads.
    Down,
    /// From the NIC to the host: its writes, its read requests.
    Up,
}

/// A node's host interface.
#[derive(Default)]
pub(super) struct Pcie {
    /// When each way is free, microticks.
    free: [u64; 2],
    /// Bytes that each has carried, of data and in all.
    pub carried_data: [u64; 2],
    pub carried: [u64; 2],
}

impl Pcie {
    /// Sends a transfer with so much data; returns when it starts, and when its last has left.
    pub fn send(&mut self, c: &AriesConfig, way: Way, now: u64, data: u32) -> (u64, u64) {
        let bytes = data.next_multiple_of(4) + c.pcie.overhead_B;
        let (mine, other) = (way as usize, 1 - way as usize);
        let time = |bytes: u32| u64::from(bytes) * c.pcie.dword_microticks / 4;
        let start = self.free[mine].max(now);
        self.free[mine] = start + time(bytes);
        // What the other side says of it goes in between there.
        self.free[other] = self.free[other].max(now) + time(c.pcie.flow_control_B);
        self.carried_data[mine] += u64::from(data);
        self.carried[mine] += u64::from(bytes);
        self.carried[other] += u64::from(c.pcie.flow_control_B);
        (start, self.free[mine])
    }

    /// When a way is free.
    pub fn free(&self, way: Way) -> u64 {
        self.free[way as usize]
    }
}

/// From a read request's last byte to when its data may start back.
pub(super) fn at_host(c: &AriesConfig) -> u64 {
    (c.pcie.crossing_milliticks + c.pcie.memory_milliticks) * MILLI
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What 64 B each way leave for data: reads and writes together.
    #[test]
    fn symmetric_traffic_gets_about_8_gb_per_s_each_way() {
        let (c, mut pcie) = (AriesConfig::cray_xc(), Pcie::default());
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
        let (c, mut pcie) = (AriesConfig::cray_xc(), Pcie::default());
        let (_, end) = pcie.send(&c, Way::Down, 0, 64);
        assert_eq!(end, 88 * 218_750 / 4);
        assert_eq!(pcie.carried, [88, 16]);
    }
}
