//! A port's link: when it is free, the node at its other end, and its traffic.

use super::statistics::LinkCounts;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;

/// A port's link. Half a cache line.
#[repr(C, align(32))]
#[derive(Clone, Copy, BorshSerialize, BorshDeserialize)]
pub struct Port {
    /// When the last bit of the current, or last, packet has left.
    pub(super) free_at: Time,
    /// The node at the other end; see [`REMOTE`].
    pub(super) neighbour: u32,
    /// Statistics of the link: packets sent.
    pub(super) packets: u32,
    /// Statistics: chunks sent, on dynamic, escape and high-priority VCs.
    pub(super) sent: [u32; 3],
    /// Statistics: token-ack and ack-only packets sent.
    pub(super) acks: u32,
}

impl Port {
    /// A link that has not been used.
    pub(super) fn new(neighbour: u32) -> Self {
        Port { free_at: Time::ZERO, neighbour, packets: 0, sent: [0; 3], acks: 0 }
    }

    /// Restarts the statistics at `now`; returns the remaining ticks of the current transmission.
    pub(super) fn restart(&mut self, now: Time) -> u32 {
        (self.packets, self.sent, self.acks) = (0, [0; 3], 0);
        self.free_at.saturating_sub(now) as u32
    }

    /// Traffic up to `now`; `carried` is the remaining time of the transmission at the restart of the
    /// statistics, and `sending` returns the time that packets, chunks and acknowledgements occupy the link.
    pub(super) fn counts(
        &self,
        now: Time,
        carried: u32,
        sending: impl Fn(u64, u64, u64) -> u64,
    ) -> LinkCounts {
        let (packets, acks) = (self.packets.into(), self.acks.into());
        let chunks = self.sent.map(u64::from);
        let begun = sending(packets, chunks.iter().sum(), acks);
        // The current packet was fully counted at its start; its remaining time is not yet spent.
        let busy = u64::from(carried) + begun - self.free_at.saturating_sub(now);
        LinkCounts { packets, chunks, acks, busy }
    }
}
