//! The way to memory (section III.B): engines share master ports to the crossbar switch, each bound to one of them. A port
//! schedules one read or write request a cycle; data that was read comes back 32 B a cycle, beside what is written.

use super::config::MessageUnitConfig;
use netloom_engine::Time;

/// Bytes that a port brings from memory in a cycle.
const RETURN: u64 = 32;
/// Bytes of a write request (`bgpm_event_tips.h` and the counters of the public driver count writes of 16 B).
const WRITE: u64 = 16;

/// The master ports: when each may take the next request, and the next data may come back on it.
#[derive(Default)]
pub(super) struct MasterPorts {
    request_free: [Time; super::NETWORK_FIFOS],
    return_free: [Time; super::NETWORK_FIFOS],
}

/// The sizes of the requests that cover bytes from `start` on: 128 B, 64 B or 32 B, each at a multiple of its size.
fn requests(start: u64, bytes: u64) -> (u64, u64) {
    let (mut at, end) = (start / 32 * 32, (start + bytes).div_ceil(32) * 32);
    let covered = end - at;
    let mut count = 0;
    while at < end {
        let size = [128, 64, 32].into_iter().find(|&size| at.is_multiple_of(size) && at + size <= end);
        at += size.unwrap_or(32);
        count += 1;
    }
    (count, covered)
}

impl MasterPorts {
    /// Reads bytes of memory through the port of an engine; returns when the last of them has come.
    pub fn read(&mut self, c: &MessageUnitConfig, now: Time, engine: usize, start: u64, bytes: u64) -> Time {
        let (port, cycle) = (engine % c.master_ports as usize, u64::from(c.cycle_ticks));
        let (count, covered) = requests(start, bytes);
        let begin = self.request_free[port].max(now);
        self.request_free[port] = begin + count * cycle;
        let first = (begin + u64::from(c.read_ticks)).max(self.return_free[port]);
        self.return_free[port] = first + covered.div_ceil(RETURN) * cycle;
        self.return_free[port]
    }

    /// Writes bytes through the port of an engine; returns when cores see the last of them.
    pub fn write(&mut self, c: &MessageUnitConfig, now: Time, engine: usize, bytes: u64) -> Time {
        let (port, cycle) = (engine % c.master_ports as usize, u64::from(c.cycle_ticks));
        let begin = self.request_free[port].max(now);
        self.request_free[port] = begin + bytes.div_ceil(WRITE) * cycle;
        self.request_free[port] + u64::from(c.write_ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_aligned() {
        // Aligned data of a packet: four requests. Otherwise a 32 B request more, and smaller ones at the ends.
        assert_eq!(requests(0, 512), (4, 512));
        assert_eq!(requests(5, 512), (6, 544));
        assert_eq!(requests(32, 512), (7, 512));
        assert_eq!(requests(8, 8), (1, 32));
        assert_eq!(requests(96, 64), (2, 64));
    }
}
