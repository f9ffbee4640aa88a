//! Memory accesses (section III.B): engines share master ports to the crossbar switch; each is bound to one
//! port. A port schedules one read or write request per cycle; read data returns at 32 B per cycle,
//! independently of writes. All requests pass through the L2: misses are fetched from DDR memory, and
//! evictions are written back to it.

use super::config::MessageUnitConfig;
use super::fifos::Priority;
use super::l2::{L2, STRETCH};
use netloom_engine::Time;

/// Bytes that a port returns from memory per cycle.
const RETURN: u64 = 32;
/// Size of a write request, bytes (`bgpm_event_tips.h` and the counters of the public driver count writes of
/// 16 B).
const WRITE: u64 = 16;

/// Slices of the L2, each with its own request queue; and the bytes that one serves per cycle (the same as a
/// port returns).
const SLICES: usize = 16;
const SLICE: u64 = 32;
/// Line size of the L2, bytes.
const LINE: u64 = 128;

/// The slice that holds an address: lines are distributed by a hash, four bits of the address at a time (the
/// public driver's `BgL2Slice.cc`; its bits are in the other order, which only renames slices).
fn slice_of(address: u64) -> usize {
    // Halves, quarters, eighths: the sum of all eight groups.
    let hash = (address / LINE) as u32;
    let hash = hash ^ hash >> 16;
    let hash = hash ^ hash >> 8;
    ((hash ^ hash >> 4) & 15) as usize
}

/// The set of the L2 that holds a stretch, by a mixing function (that of SplitMix64; **ours**).
fn set_of(stretch: u64, sets: usize) -> usize {
    let x = (stretch ^ stretch >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((u128::from(x ^ x >> 31) * sets as u128) >> 64) as usize
}

/// A master port: one line of a cache, which each request needs.
#[derive(Default)]
#[repr(align(64))]
struct Port {
    /// When it accepts the next request of each priority.
    request_free: [Time; 3],
    /// When it returns the next data.
    return_free: Time,
    /// Requests so far: writes; reads of 32, 64, 128 B.
    requests: [u64; 4],
}

/// The master ports, and the memory behind them.
#[derive(Default)]
pub(super) struct MasterPorts {
    ports: [Port; super::NETWORK_FIFOS],
    /// When each slice has served its requests.
    slice_free: [Time; SLICES],
    /// The sets of the L2: one, if data may lie anywhere.
    l2: Vec<L2>,
    /// When the DDR has completed its transfers, ticks.
    ddr_free: f64,
}

/// The requests that cover `bytes` from `start` on, of 128 B, 64 B or 32 B, each aligned to its size: address
/// and size.
fn requests(start: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let (mut at, end) = (start / 32 * 32, (start + bytes).div_ceil(32) * 32);
    std::iter::from_fn(move || {
        let fits = |&size: &u64| at.is_multiple_of(size) && at + size <= end;
        let request = (at, [128, 64, 32].into_iter().find(fits)?);
        at += request.1;
        Some(request)
    })
}

/// The parts of `bytes` from `start` on in each line: address and size.
fn lines(start: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let (mut at, end) = (start, start + bytes);
    std::iter::from_fn(move || {
        let part = (at, (at / LINE * LINE + LINE).min(end) - at);
        at += part.1;
        (part.1 > 0).then_some(part)
    })
}

impl Port {
    /// Schedules requests that occupy the port for `duration`; returns their start. Lower-priority requests
    /// wait for them, even if they arrived earlier.
    fn schedule(&mut self, priority: Priority, now: Time, duration: u64) -> Time {
        let (mine, free) = (priority as usize, &mut self.request_free);
        let begin = free[mine..].iter().copied().max().unwrap_or(now).max(now);
        free[..=mine].iter_mut().for_each(|free| *free = begin.max(*free) + duration);
        begin
    }
}

impl MasterPorts {
    /// Requests of each port so far: writes; reads of 32, 64, 128 B.
    pub fn requests(&self) -> [[u64; 4]; super::NETWORK_FIFOS] {
        self.ports.each_ref().map(|port| port.requests)
    }

    /// Accesses memory; returns when the DDR has completed the necessary transfers: at once if all are L2
    /// hits.
    fn touch(&mut self, c: &MessageUnitConfig, now: Time, start: u64, bytes: u64, writes: bool) -> Time {
        let stretches = start / STRETCH..=(start + bytes - 1) / STRETCH;
        let set_bytes = c.l2_ways.map_or(c.l2_B, |ways| u64::from(ways) * STRETCH);
        if self.l2.is_empty() {
            self.l2.resize_with((c.l2_B / set_bytes).max(1) as usize, L2::default);
        }
        let mut moved = 0;
        for stretch in stretches {
            let set = if self.l2.len() == 1 { 0 } else { set_of(stretch, self.l2.len()) };
            moved += self.l2[set].touch(stretch, writes, set_bytes);
        }
        if moved == 0 {
            return now;
        }
        self.ddr_free = self.ddr_free.max(now.ticks() as f64) + moved as f64 / c.ddr_bytes_per_tick;
        Time::at(self.ddr_free.ceil() as u64)
    }

    /// The additional delay of requests whose slices still serve others: each slice serves requests in order,
    /// and slices are independent.
    fn slices(
        &mut self,
        c: &MessageUnitConfig,
        begin: Time,
        requests: impl Iterator<Item = (u64, u64)>,
    ) -> u64 {
        let cycle = u64::from(c.cycle_ticks);
        let mut issued = begin;
        let mut late = 0;
        for (at, bytes) in requests {
            let slice = &mut self.slice_free[slice_of(at)];
            let served = issued.max(*slice);
            *slice = served + bytes.div_ceil(SLICE) * cycle;
            late = late.max(served - issued);
            issued += cycle;
        }
        late
    }

    /// A core has stored bytes, which are therefore in the L2: evictions are written back to the DDR in
    /// parallel.
    pub fn stored_by_core(&mut self, c: &MessageUnitConfig, now: Time, start: u64, bytes: u64) {
        self.touch(c, now, start, bytes, true);
    }

    /// Reads memory through the port of an engine; returns the arrival of the last byte.
    pub fn read(
        &mut self,
        c: &MessageUnitConfig,
        now: Time,
        (engine, priority): (usize, Priority),
        start: u64,
        bytes: u64,
    ) -> Time {
        let (place, cycle) = (engine % c.master_ports as usize, u64::from(c.cycle_ticks));
        let port = &mut self.ports[place];
        let (mut count, mut covered) = (0, 0);
        for (_, size) in requests(start, bytes) {
            (count, covered) = (count + 1, covered + size);
            port.requests[size.trailing_zeros() as usize - 4] += 1;
        }
        let begin = port.schedule(priority, now, count * cycle);
        let late = self.slices(c, begin, requests(start, bytes));
        let there = self.touch(c, begin, start, bytes, false);
        let port = &mut self.ports[place];
        let first = (there + u64::from(c.read_ticks) + late).max(port.return_free);
        port.return_free = first + covered.div_ceil(RETURN) * cycle;
        port.return_free
    }

    /// Writes memory through the port of an engine; returns when cores see the last byte. Evictions are
    /// written back to the DDR in parallel.
    pub fn write(
        &mut self,
        c: &MessageUnitConfig,
        now: Time,
        (engine, priority): (usize, Priority),
        start: u64,
        bytes: u64,
    ) -> Time {
        let cycle = u64::from(c.cycle_ticks);
        let port = &mut self.ports[engine % c.master_ports as usize];
        let count = bytes.div_ceil(WRITE);
        port.requests[0] += count;
        let begin = port.schedule(priority, now, count * cycle);
        self.touch(c, begin, start, bytes, true);
        let late = self.slices(c, begin, lines(start, bytes));
        begin + count * cycle + late + u64::from(c.write_ticks)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn requests_are_aligned() {
        // Aligned data of a packet takes four requests. Unaligned data needs 32 B more, and smaller requests
        // at the ends.
        let of = |start, bytes| {
            let sizes: Vec<u64> = requests(start, bytes).map(|r| r.1).collect();
            (sizes.len(), sizes.iter().sum::<u64>())
        };
        assert_eq!(of(0, 512), (4, 512));
        assert_eq!(of(5, 512), (5, 544));
        assert_eq!(of(32, 512), (6, 512));
        assert_eq!(of(8, 8), (1, 32));
        assert_eq!(of(96, 64), (2, 64));
    }

    pub fn config() -> MessageUnitConfig {
        MessageUnitConfig {
            cycle_ticks: 10,
            master_ports: 2,
            slave_ticks: 1,
            read_ticks: 100,
            write_ticks: 50,
            inject_ticks: 1,
            receive_ticks: 1,
            collective_ticks: 1,
            l2_B: 1 << 20,
            l2_ways: None,
            ddr_bytes_per_tick: 1e9,
            pcie_bytes_per_tick: 0.5,
            network_fifo_packets: 1,
            cores: netloom_node::cores::CoresConfig { cpus: 1, per_cpu: 16, full_speed_threads: 2 },
            software: crate::message_unit::config::SoftwareConfig {
                inject_ticks: 1,
                store_ticks: 1,
                poll_ticks: 1,
                found_ticks: 1,
            },
        }
    }

    /// A port sends one request per cycle and returns 32 B per cycle, independently of other ports.
    #[test]
    fn a_port_brings_back_32_bytes_a_cycle() {
        let c = config();
        let mut ports = MasterPorts::default();
        // After the first round all is in memory.
        for i in 0..4 {
            ports.read(&c, Time::ZERO, (i, Priority::User), 512 * i as u64, 512);
        }
        // Engines 0 and 2 share a port: 16 cycles of data each.
        assert_eq!(
            [0, 2, 1]
                .map(|i| ports.read(&c, Time::at(1000), (i, Priority::User), 512 * i as u64, 512).ticks()),
            [1260, 1420, 1260]
        );
        // After the eight requests of those two.
        assert_eq!(
            ports.write(&c, Time::at(1000), (0, Priority::User), 0, 512).ticks(),
            1000 + (8 + 32) * 10 + 50
        );
        // Higher-priority requests do not wait for those, and delay them.
        assert_eq!(
            ports.write(&c, Time::at(1000), (0, Priority::System), 12 * LINE, 16).ticks(),
            1000 + 10 + 50
        );
        assert_eq!(
            ports.write(&c, Time::at(1000), (0, Priority::User), 13 * LINE, 16).ticks(),
            1000 + (8 + 32 + 1 + 1) * 10 + 50
        );
    }

    /// Two ports that access one slice at the same time are served one after the other; two slices are served
    /// in parallel.
    #[test]
    fn a_slice_serves_one_after_the_other() {
        let (c, mut ports) = (config(), MasterPorts::default());
        let (near, same, other) = (0, 0x11 * LINE, LINE);
        assert_eq!([near, same, other].map(slice_of), [0, 0, 1]);
        let mut read =
            |now, engine, at| ports.read(&c, Time::at(now), (engine, Priority::User), at, LINE).ticks();
        // After the first round all are in memory.
        [near, same, other].into_iter().for_each(|at| _ = read(0, 0, at));
        assert_eq!([read(1000, 0, near), read(1000, 1, same)], [1140, 1180]);
        assert_eq!([read(2000, 0, near), read(2000, 1, other)], [2140, 2140]);
    }

    /// Sixteen consecutive lines are in sixteen slices; requests to one slice are served one after the other.
    #[test]
    fn lines_are_spread_over_slices() {
        for start in [0u64, 1 << 20, 7 << 33] {
            let mut slices: Vec<usize> = (0..16).map(|i| slice_of(start + i * LINE)).collect();
            slices.sort_unstable();
            assert_eq!(slices, (0..16).collect::<Vec<_>>());
        }
        assert_eq!(lines(100, 200).collect::<Vec<_>>(), [(100, 28), (128, 128), (256, 44)]);
    }
}
