//! The unit's own performance counters (section III.E; names as the public driver's `spi/include/upci/events.h` has them).

use super::NETWORK_FIFOS;

/// What a unit has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(non_snake_case)]
pub struct UnitCounters {
    /// Messages whose first packet has been injected, and packets.
    pub messages: u64,
    /// See [`Self::messages`].
    pub packets: u64,
    /// Packets received for reception FIFOs, of RDMA writes, of RDMA reads.
    pub fifo_packets: u64,
    /// See [`Self::fifo_packets`].
    pub put_packets: u64,
    /// See [`Self::fifo_packets`].
    pub get_packets: u64,
    /// Requests of each master port that there is: writes of 16 B; reads of 32, 64, 128 B.
    pub requests: [[u64; 4]; NETWORK_FIFOS],
    /// Stores through the slave port.
    pub slave_stores: u64,
    /// What was refused.
    pub violations: u64,
    /// Packets that have been stored, and their data, bytes: no counter of the hardware's.
    pub stored_packets: u64,
    /// See [`Self::stored_packets`].
    pub stored_B: u64,
}
