//! The way to memory (section III.B): engines share master ports to the crossbar switch, each bound to one of them. A port
//! schedules one read or write request a cycle; data that was read comes back 32 B a cycle, beside what is written. All pass
//! through the L2: what it does not hold comes from the DDR memory, and what it must give up goes back there.

use super::config::MessageUnitConfig;
use netloom_engine::Time;
use std::collections::BTreeMap;

/// Bytes that a port brings from memory in a cycle.
const RETURN: u64 = 32;
/// Bytes of a write request (`bgpm_event_tips.h` and the counters of the public driver count writes of 16 B).
const WRITE: u64 = 16;

/// The L2 is kept by stretches of so many bytes, the data of a packet, rather than by its lines **(ours)**.
const STRETCH: u64 = 512;

/// The master ports: when each may take the next request, and the next data may come back on it; and the memory behind them.
#[derive(Default)]
pub(super) struct MasterPorts {
    request_free: [Time; super::NETWORK_FIFOS],
    return_free: [Time; super::NETWORK_FIFOS],
    cache: Cache,
    /// When the DDR has moved what it was asked to, ticks.
    ddr_free: f64,
}

/// Which stretches of memory the L2 holds, and in which order they were used last.
#[derive(Default)]
struct Cache {
    /// By stretch: when it was used last, and whether it was written.
    held: BTreeMap<u64, (u64, bool)>,
    /// The same by when.
    by_use: BTreeMap<u64, u64>,
    uses: u64,
}

impl Cache {
    /// Uses a stretch; returns the bytes that the DDR must move for it. What is written whole need not be read first.
    fn touch(&mut self, stretch: u64, writes: bool, room: u64) -> u64 {
        self.uses += 1;
        let before = self.held.insert(stretch, (self.uses, writes));
        self.by_use.insert(self.uses, stretch);
        if let Some((used, was_written)) = before {
            self.by_use.remove(&used);
            self.held.insert(stretch, (self.uses, writes || was_written));
            return 0;
        }
        let mut moved = if writes { 0 } else { STRETCH };
        if self.held.len() as u64 * STRETCH > room
            && let Some((_, oldest)) = self.by_use.pop_first()
            && let Some((_, true)) = self.held.remove(&oldest)
        {
            moved += STRETCH;
        }
        moved
    }
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
    /// Uses bytes of memory from `start` on; returns when the DDR has done what that takes of it: at once, if the L2 has them.
    fn touch(&mut self, c: &MessageUnitConfig, now: Time, start: u64, bytes: u64, writes: bool) -> Time {
        let stretches = start / STRETCH..=(start + bytes - 1) / STRETCH;
        let moved: u64 = stretches.map(|stretch| self.cache.touch(stretch, writes, c.l2_B)).sum();
        if moved == 0 {
            return now;
        }
        self.ddr_free = self.ddr_free.max(now as f64) + moved as f64 / c.ddr_bytes_per_tick;
        self.ddr_free.ceil() as Time
    }

    /// Reads bytes of memory through the port of an engine; returns when the last of them has come.
    pub fn read(&mut self, c: &MessageUnitConfig, now: Time, engine: usize, start: u64, bytes: u64) -> Time {
        let (port, cycle) = (engine % c.master_ports as usize, u64::from(c.cycle_ticks));
        let (count, covered) = requests(start, bytes);
        let begin = self.request_free[port].max(now);
        self.request_free[port] = begin + count * cycle;
        let there = self.touch(c, begin, start, bytes, false);
        let first = (there + u64::from(c.read_ticks)).max(self.return_free[port]);
        self.return_free[port] = first + covered.div_ceil(RETURN) * cycle;
        self.return_free[port]
    }

    /// Writes bytes through the port of an engine; returns when cores see the last of them. What goes back to the DDR for them does so
    /// meanwhile.
    pub fn write(&mut self, c: &MessageUnitConfig, now: Time, engine: usize, start: u64, bytes: u64) -> Time {
        let (port, cycle) = (engine % c.master_ports as usize, u64::from(c.cycle_ticks));
        let begin = self.request_free[port].max(now);
        self.touch(c, begin, start, bytes, true);
        self.request_free[port] = begin + bytes.div_ceil(WRITE) * cycle;
        self.request_free[port] + u64::from(c.write_ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_cache_does_not_hold_is_moved() {
        let mut cache = Cache::default();
        let room = 4 * STRETCH;
        // Read once, then held; written ones need not be read.
        assert_eq!([0, 1, 0, 1].map(|s| cache.touch(s, false, room)), [512, 512, 0, 0]);
        assert_eq!([2, 3].map(|s| cache.touch(s, true, room)), [0, 0]);
        // The fifth takes the place of the one that was used longest ago, which was only read; the next two write back.
        assert_eq!([4, 5, 6, 7].map(|s| cache.touch(s, false, room)), [512, 512, 1024, 1024]);
        assert_eq!(cache.held.len(), 4);
    }

    #[test]
    fn requests_are_aligned() {
        // Aligned data of a packet: four requests. Data that is not aligned needs 32 B more, and smaller requests at the ends.
        assert_eq!(requests(0, 512), (4, 512));
        assert_eq!(requests(5, 512), (5, 544));
        assert_eq!(requests(32, 512), (6, 512));
        assert_eq!(requests(8, 8), (1, 32));
        assert_eq!(requests(96, 64), (2, 64));
    }

    /// A request a cycle goes out through a port, 32 B a cycle come back, and each port does so by itself.
    #[test]
    fn a_port_brings_back_32_bytes_a_cycle() {
        let c = MessageUnitConfig {
            cycle_ticks: 10,
            master_ports: 2,
            slave_ticks: 1,
            read_ticks: 100,
            write_ticks: 50,
            inject_ticks: 1,
            receive_ticks: 1,
            collective_ticks: 1,
            l2_B: 1 << 20,
            ddr_bytes_per_tick: 1e9,
            network_fifo_packets: 1,
            software: crate::message_unit::config::SoftwareConfig {
                inject_ticks: 1,
                store_ticks: 1,
                poll_ticks: 1,
                found_ticks: 1,
            },
        };
        let mut ports = MasterPorts::default();
        // Memory has it all after the first turn.
        for i in 0..4 {
            ports.read(&c, 0, i, 512 * i as u64, 512);
        }
        // Engines 0 and 2 share a port: 16 cycles of data each.
        assert_eq!([0, 2, 1].map(|i| ports.read(&c, 1000, i, 512 * i as u64, 512)), [1260, 1420, 1260]);
        // Behind the eight requests of those two.
        assert_eq!(ports.write(&c, 1000, 0, 0, 512), 1000 + (8 + 32) * 10 + 50);
    }
}
