//! What was counted where packets arrived.

use netloom_engine::Time;
use netloom_fabric::histogram::Histogram;

/// Longest way that is counted by itself, links; longer ones count as this one.
pub const HOPS_MAX: usize = 31;

/// Packets of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Packets that arrived.
    pub packets: u64,
    /// Their size: flits, or chunks on tori.
    pub size: u64,
    /// Their data, bytes.
    pub payload_bytes: u64,
}

impl ClassCounts {
    /// Counts a packet.
    pub fn count(&mut self, (size, payload_bytes): (u32, u64)) {
        self.packets += 1;
        self.size += u64::from(size);
        self.payload_bytes += payload_bytes;
    }

    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.size += other.size;
        self.payload_bytes += other.payload_bytes;
    }
}

/// Packets of a job, answers left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// What arrived.
    pub arrived: ClassCounts,
    /// From when a packet was made until it had arrived, ticks.
    pub latency: Histogram,
    /// When the last of them had arrived, ticks.
    pub last: Time,
}

impl JobCounts {
    /// Counts a packet of this size and data that arrives `latency` after it was made.
    pub fn count(&mut self, packet: (u32, u64), latency: u64, now: Time) {
        self.arrived.count(packet);
        self.latency.record(latency);
        self.last = now;
    }

    /// Adds another block's.
    pub fn add(&mut self, other: &Self) {
        self.arrived.add(&other.arrived);
        self.latency.add(&other.latency);
        self.last = self.last.max(other.last);
    }
}

/// What arrived since counting began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests.
    pub requests: ClassCounts,
    /// Responses.
    pub responses: ClassCounts,
    /// Packets by the links on their way.
    pub hops: [u64; HOPS_MAX + 1],
    /// Packets that went by way of somewhere else.
    pub nonminimal: u64,
    /// From when a request was made until its response had arrived, ticks.
    pub round_trip: Histogram,
    /// By how much packets came out of order, as RFC 4737 has it; of those that came in order 0. Empty where nobody asks.
    pub reordering: Histogram,
    /// Packets by job, where there are jobs.
    pub jobs: Vec<JobCounts>,
}

impl Counts {
    /// Adds another block's.
    pub fn add(&mut self, other: &Self) {
        self.requests.add(&other.requests);
        self.responses.add(&other.responses);
        self.hops.iter_mut().zip(other.hops).for_each(|(a, b)| *a += b);
        self.nonminimal += other.nonminimal;
        self.round_trip.add(&other.round_trip);
        self.reordering.add(&other.reordering);
        self.jobs.resize(self.jobs.len().max(other.jobs.len()), JobCounts::default());
        self.jobs.iter_mut().zip(&other.jobs).for_each(|(job, other)| job.add(other));
    }

    /// Packets of both classes.
    pub fn packets(&self) -> u64 {
        self.requests.packets + self.responses.packets
    }

    /// Mean links on the way of a packet; 0 of none.
    pub fn mean_hops(&self) -> f64 {
        let sum: u64 = self.hops.iter().zip(0..).map(|(count, hops)| count * hops).sum();
        sum as f64 / (self.packets() as f64).max(1.0)
    }

    /// Most links on the way of a packet.
    pub fn max_hops(&self) -> u32 {
        self.hops.iter().rposition(|&count| count > 0).unwrap_or(0) as u32
    }
}
