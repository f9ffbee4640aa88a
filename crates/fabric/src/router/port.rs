//! A port's link: when it is free, who is at its other end, and what it has carried.

use super::statistics::LinkCounts;
use netloom_engine::Time;

/// A port's link. Half a cache line.
#[repr(C, align(32))]
#[derive(Clone, Copy)]
pub struct Port {
    /// When the last bit of what the link now carries, or last carried, has left.
    pub(super) free_at: Time,
    /// The node at the other end; see [`REMOTE`].
    pub(super) neighbour: u32,
    /// Statistics of the link: packets sent.
    pub(super) packets: u32,
    /// The same: chunks sent, on dynamic, escape and high-priority VCs.
    pub(super) sent: [u32; 3],
    /// The same: token-ack and ack-only packets sent.
    pub(super) acks: u32,
}

impl Port {
    /// Of a link that has not been used.
    pub(super) fn new(neighbour: u32) -> Self {
        Port { free_at: Time::ZERO, neighbour, packets: 0, sent: [0; 3], acks: 0 }
    }

    /// Begins counting anew at `now`; returns the ticks that are still to go of what was begun before.
    pub(super) fn restart(&mut self, now: Time) -> u32 {
        (self.packets, self.sent, self.acks) = (0, [0; 3], 0);
        self.free_at.saturating_sub(now) as u32
    }

    /// What it has carried up to `now`, where `carried` ticks were still to go when counting began, and `sending` says how
    /// long so many packets, chunks and acknowledgements take.
    pub(super) fn counts(
        &self,
        now: Time,
        carried: u32,
        sending: impl Fn(u64, u64, u64) -> u64,
    ) -> LinkCounts {
        let (packets, acks) = (self.packets.into(), self.acks.into());
        let chunks = self.sent.map(u64::from);
        let begun = sending(packets, chunks.iter().sum(), acks);
        // What the link carries was counted whole when it began: what is still to go of it is not yet spent.
        let busy = u64::from(carried) + begun - self.free_at.saturating_sub(now);
        LinkCounts { packets, chunks, acks, busy }
    }
}
