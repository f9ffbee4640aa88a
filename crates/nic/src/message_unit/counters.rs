//! The unit's performance counters (section III.E; names from the public driver's
//! `spi/include/upci/events.h`).

use super::NETWORK_FIFOS;

/// Counters of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(non_snake_case)]
pub struct UnitCounters {
    /// Messages with an injected first packet, and packets.
    pub messages: u64,
    /// See [`Self::messages`].
    pub packets: u64,
    /// Packets received: for reception FIFOs, of RDMA writes, of RDMA reads.
    pub fifo_packets: u64,
    /// See [`Self::fifo_packets`].
    pub put_packets: u64,
    /// See [`Self::fifo_packets`].
    pub get_packets: u64,
    /// Requests of each master port: writes of 16 B; reads of 32, 64, 128 B.
    pub requests: [[u64; 4]; NETWORK_FIFOS],
    /// Stores through the slave port.
    pub slave_stores: u64,
    /// Protection violations.
    pub violations: u64,
    /// Packets stored, and their data, bytes: not counted by the hardware.
    pub stored_packets: u64,
    /// See [`Self::stored_packets`].
    pub stored_B: u64,
}
