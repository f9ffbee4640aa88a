//! Measurements inside the network.

use crate::histogram::Histogram;
use crate::link::optical::FIBRES;
use crate::packet::Meta;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The purpose of a VC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VcClass {
    /// Any hinted direction.
    Dynamic,
    /// Deadlock-free; also used by static routing.
    Escape,
    /// Inter-node operating system messages.
    High,
    /// Collective operations.
    Collective,
}

/// Traffic of one link since the statistics were restarted. A packet counts, with its chunks, if it started
/// in that time; so does an ack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounts {
    /// Data packets, including retransmissions.
    pub packets: u64,
    /// Their chunks, on dynamic, escape and high-priority VCs.
    pub chunks: [u64; 3],
    /// Token-ack and ack-only packets.
    pub acks: u64,
    /// Ticks spent sending: of transmissions in progress at either end of the interval, the part inside it.
    pub busy: u64,
}

/// Errors of one link, or of all, since the statistics were restarted. Packets and acknowledgements are
/// counted at the port that sends them, ghosts at the port through which they arrived.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    BorshSerialize,
    BorshDeserialize,
)]
pub struct LinkErrors {
    /// Data packets corrupted on the link, in first transmissions and retransmissions.
    pub corrupted: u64,
    /// Those of them that the receiver rejected at the header, so that no part continued.
    pub bad_headers: u64,
    /// Data packets retransmitted, for any reason.
    pub retransmitted: u64,
    /// Data packets, including retransmissions, that the receiver rejected because they followed a corrupted
    /// one.
    pub refused: u64,
    /// Invalid packets that continued over the link, to be discarded at its other end or later.
    pub ran_on: u64,
    /// Invalid packets discarded: in a VC when their tail arrived, or at reception.
    pub ghosts: u64,
    /// Token-ack and ack-only packets that were corrupted.
    pub acks_lost: u64,
    /// Packets sent only as an acknowledgement, without tokens.
    pub ack_only: u64,
    /// Barrier packets that were corrupted.
    pub barriers_lost: u64,
    /// Barrier packets lost and replaced, with none getting through in between.
    pub barriers_resent: u64,
    /// Wrong bits of each fibre of an optical link, the spare last.
    pub fibre_errors: [u64; FIBRES],
    /// Words of an optical link with one wrong bit, which the parity on the spare fibre corrected.
    pub words_corrected: u64,
    /// Fibres replaced by the spare.
    pub fibres_replaced: u64,
    /// Words of the receiver's buffers with one wrong bit, which was corrected.
    pub soft_corrected: u64,
}

impl LinkErrors {
    /// Adds another link's counters.
    pub fn merge(&mut self, other: &Self) {
        self.corrupted += other.corrupted;
        self.bad_headers += other.bad_headers;
        self.retransmitted += other.retransmitted;
        self.refused += other.refused;
        self.ran_on += other.ran_on;
        self.ghosts += other.ghosts;
        self.acks_lost += other.acks_lost;
        self.ack_only += other.ack_only;
        self.barriers_lost += other.barriers_lost;
        self.barriers_resent += other.barriers_resent;
        (0..FIBRES).for_each(|fibre| self.fibre_errors[fibre] += other.fibre_errors[fibre]);
        self.words_corrected += other.words_corrected;
        self.fibres_replaced += other.fibres_replaced;
        self.soft_corrected += other.soft_corrected;
    }
}

/// Sums over a time window, for a block or (merged) a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct WindowRecord {
    /// Packets delivered.
    pub delivered: u64,
    /// Chunks delivered.
    pub delivered_chunks: u64,
    /// Link-ticks spent sending packets of all kinds.
    pub busy: u64,
    /// Data packets started on links, including retransmissions.
    pub hops: u64,
    /// Chunks sent on links, by VC of the receiver.
    pub chunks_by_vc: [u64; 8],
    /// Token-ack and ack-only packets sent on links.
    pub acks: u64,
    /// Chunk-ticks spent in VCs, by VC: divide by ticks and receivers for the mean occupancy.
    pub occupancy: [u64; 8],
    /// Token-acks that arrived.
    pub token_acks: u64,
    /// Those of them that arrived at a node with at least one blocked packet (optional).
    pub hoped_for: u64,
    /// Those of these that freed a blocked packet.
    pub unblocking: u64,
    /// Packets that left their injection FIFO.
    pub injected: u64,
    /// Sum of delivered packets' latencies since creation, ticks.
    pub latency: u64,
}

impl WindowRecord {
    /// Adds another block's sums of the same window.
    pub fn merge(&mut self, other: &Self) {
        self.delivered += other.delivered;
        self.delivered_chunks += other.delivered_chunks;
        self.busy += other.busy;
        self.hops += other.hops;
        for vc in 0..8 {
            self.chunks_by_vc[vc] += other.chunks_by_vc[vc];
            self.occupancy[vc] += other.occupancy[vc];
        }
        self.acks += other.acks;
        self.token_acks += other.token_acks;
        self.hoped_for += other.hoped_for;
        self.unblocking += other.unblocking;
        self.injected += other.injected;
        self.latency += other.latency;
    }
}

/// Sums over the measured interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct Totals {
    /// Total latency of delivered packets, from creation to complete reception in the reception FIFO, ticks.
    pub latency: Histogram,
    /// Network latency, from leaving the injection FIFO, ticks.
    pub network_latency: Histogram,
    /// Waiting time of packets in a VC, ticks, by class of VC: dynamic, escape, high-priority.
    pub waits: [Histogram; 3],
}

impl Totals {
    /// Adds another block's sums.
    pub fn merge(&mut self, other: &Self) {
        self.latency.add(&other.latency);
        self.network_latency.add(&other.network_latency);
        self.waits.iter_mut().zip(&other.waits).for_each(|(a, b)| a.add(b));
    }
}

/// A block's statistics while it runs.
#[derive(BorshSerialize, BorshDeserialize)]
pub struct Recorder {
    /// Length of a window, ticks.
    pub(super) window: u64,
    pub(super) window_end: Time,
    pub(super) current: WindowRecord,
    pub(super) windows: Vec<WindowRecord>,
    /// Their sum.
    closed: WindowRecord,
    /// Link-ticks already assigned to future windows.
    ahead: VecDeque<u64>,
    /// Chunks now in all receivers' VCs, by VC, and the time of the last change.
    pub(super) occupied: [u64; 8],
    pub(super) since: [Time; 8],
    pub(super) totals: Totals,
    /// Whether to count the token-acks that free a blocked packet.
    pub(super) unblocking: bool,
    /// Packets in the network: injected and not yet delivered.
    pub(super) in_flight: i64,
}

impl Recorder {
    pub(super) fn new(window: u64, unblocking: bool) -> Self {
        Recorder {
            window,
            window_end: Time::at(window),
            current: WindowRecord::default(),
            windows: vec![],
            closed: WindowRecord::default(),
            ahead: VecDeque::new(),
            occupied: [0; 8],
            since: [Time::ZERO; 8],
            totals: Totals::default(),
            unblocking,
            in_flight: 0,
        }
    }

    /// Closes all windows that end at or before `now`.
    #[inline]
    pub(super) fn reach(&mut self, now: Time) {
        while now >= self.window_end {
            self.close();
        }
    }

    #[cold]
    fn close(&mut self) {
        (0..8).for_each(|vc| self.count_occupancy(vc, self.window_end));
        self.closed.merge(&self.current);
        self.windows.push(std::mem::take(&mut self.current));
        self.current.busy = self.ahead.pop_front().unwrap_or(0);
        self.window_end += self.window;
    }

    /// Makes windows twice as long, those of the past too, at the end of one with an even number.
    ///
    /// # Panics
    /// If no such window ends at `now`.
    pub(super) fn widen(&mut self, now: Time) {
        self.reach(now);
        assert!(now + self.window == self.window_end && self.windows.len().is_multiple_of(2), "{now:?}");
        let pair = |pair: &mut [WindowRecord]| {
            let mut sum = std::mem::take(&mut pair[0]);
            sum.merge(&pair[1]);
            sum
        };
        self.windows = self.windows.chunks_exact_mut(2).map(pair).collect();
        // What has been assigned to the future: the next window has the first of it already.
        self.current.busy += self.ahead.pop_front().unwrap_or(0);
        let ahead = self.ahead.make_contiguous();
        self.ahead = ahead.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.window *= 2;
        self.window_end = now + self.window;
    }

    /// A link sends from `start` to `end`, which may be in future windows.
    #[inline]
    pub(super) fn busy(&mut self, start: Time, end: Time) {
        if end <= self.window_end {
            self.current.busy += end - start;
        } else {
            self.busy_ahead(start, end);
        }
    }

    #[cold]
    fn busy_ahead(&mut self, mut start: Time, end: Time) {
        let (mut edge, mut place) = (self.window_end, 0);
        while start < end {
            let upto = end.min(edge);
            if start < upto {
                if place == 0 {
                    self.current.busy += upto - start;
                } else {
                    if self.ahead.len() < place {
                        self.ahead.resize(place, 0);
                    }
                    self.ahead[place - 1] += upto - start;
                }
                start = upto;
            }
            edge += self.window;
            place += 1;
        }
    }

    /// Sums over all windows so far, including the current one.
    pub(super) fn so_far(&self) -> WindowRecord {
        let mut sum = self.current.clone();
        sum.merge(&self.closed);
        sum
    }

    /// A packet of `chunks` has been delivered, unless it is to be forwarded.
    #[inline]
    pub(super) fn delivered(&mut self, now: Time, chunks: u32, meta: &Meta) {
        if meta.is_forwarded {
            return;
        }
        self.current.delivered += 1;
        self.current.delivered_chunks += u64::from(chunks);
        self.current.latency += now - meta.made;
        self.totals.latency.record(now - meta.made);
        self.totals.network_latency.record(now - meta.entered);
    }

    /// A packet has waited in a VC for this time.
    #[inline]
    pub(super) fn waited(&mut self, class: usize, ticks: u32) {
        self.totals.waits[class].record(ticks.into());
    }

    /// Chunks enter a VC. The time may precede that of the last call, within the window: the sum is correct
    /// once time is [settled](Self::settle).
    #[inline]
    pub(super) fn enter(&mut self, vc: usize, chunks: u8, now: Time) {
        self.count_occupancy(vc, now);
        self.occupied[vc] = self.occupied[vc].wrapping_add(chunks.into());
    }

    /// Chunks leave a VC; see [`Self::enter`].
    #[inline]
    pub(super) fn leave(&mut self, vc: usize, chunks: u8, now: Time) {
        self.count_occupancy(vc, now);
        self.occupied[vc] = self.occupied[vc].wrapping_sub(chunks.into());
    }

    #[inline]
    fn count_occupancy(&mut self, vc: usize, now: Time) {
        let ticks = now.ticks().wrapping_sub(self.since[vc].ticks());
        let sum = &mut self.current.occupancy[vc];
        *sum = sum.wrapping_add(self.occupied[vc].wrapping_mul(ticks));
        self.since[vc] = now;
    }

    /// Marks all time before `now` as counted.
    pub(super) fn settle(&mut self, now: Time) {
        // Completed windows are already counted.
        self.reach(now);
        (0..8).for_each(|vc| self.count_occupancy(vc, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links that are busy for a long time, some of it in windows that have not begun; windows that become
    /// longer at times.
    #[test]
    fn longer_windows_have_what_pairs_of_shorter_ones_had() {
        let run = |widens: &[u64]| {
            let mut recorder = Recorder::new(10, false);
            for tick in 0..160 {
                let now = Time::at(tick);
                recorder.reach(now);
                if widens.contains(&tick) {
                    recorder.widen(now);
                }
                recorder.busy(now, Time::at(tick + tick * 7 % 67));
                recorder.current.hops += tick;
                assert_eq!(recorder.so_far().hops, (0..=tick).sum::<u64>());
            }
            recorder.reach(Time::at(240));
            recorder.windows
        };
        let plain = run(&[]);
        for (widens, factor) in [(&[40][..], 2), (&[20], 2), (&[20, 40], 4), (&[40, 120], 4)] {
            let merged = plain.chunks(factor).map(|part| {
                let mut sum = part[0].clone();
                part[1..].iter().for_each(|other| sum.merge(other));
                sum
            });
            assert!(merged.eq(run(widens)), "{widens:?}");
        }
    }
}
