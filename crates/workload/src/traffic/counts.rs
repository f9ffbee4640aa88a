//! Counters of arrived packets.

use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use netloom_fabric::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// Maximum number of links that is counted separately; longer routes count as this one.
pub const HOPS_MAX: usize = 31;

/// Packets of a class.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
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

/// Packets of a job, excluding responses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct JobCounts {
    /// Arrived packets.
    pub arrived: ClassCounts,
    /// Time from a packet's creation to its arrival, ticks.
    pub latency: Histogram,
    /// Time of the last arrival, ticks.
    pub last: Time,
}

impl JobCounts {
    /// Counts a packet of this size and data that arrives `latency` after its creation.
    pub fn count(&mut self, packet: (u32, u64), latency: u64, now: Time) {
        self.arrived.count(packet);
        self.latency.record(latency);
        self.last = now;
    }

    /// Adds another block's counters.
    pub fn add(&mut self, other: &Self) {
        self.arrived.add(&other.arrived);
        self.latency.add(&other.latency);
        self.last = self.last.max(other.last);
    }
}

/// Packets that have arrived since the statistics were restarted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct Counts {
    /// Requests.
    pub requests: ClassCounts,
    /// Responses.
    pub responses: ClassCounts,
    /// Packets by the number of links on their routes.
    pub hops: [u64; HOPS_MAX + 1],
    /// Packets that took a non-minimal route.
    pub nonminimal: u64,
    /// Time from the creation of a request to the arrival of its response, ticks.
    pub round_trip: Histogram,
    /// Reordering extent of packets, as in RFC 4737; 0 for those in order. Empty unless requested.
    pub reordering: Histogram,
    /// Packets by job, if there are jobs.
    pub jobs: Vec<JobCounts>,
}

impl Counts {
    /// Adds another block's counters.
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

    /// Number of packets of both classes.
    pub fn packets(&self) -> u64 {
        self.requests.packets + self.responses.packets
    }

    /// Mean number of links on a packet's route; 0 without packets.
    pub fn mean_hops(&self) -> f64 {
        let sum: u64 = self.hops.iter().zip(0..).map(|(count, hops)| count * hops).sum();
        sum as f64 / (self.packets() as f64).max(1.0)
    }

    /// Maximum number of links on a packet's route.
    pub fn max_hops(&self) -> u32 {
        self.hops.iter().rposition(|&count| count > 0).unwrap_or(0) as u32
    }
}
