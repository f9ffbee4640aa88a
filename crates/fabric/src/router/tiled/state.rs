//! The state of a block's routers: tiles' input queues, sub-switches and column buffers, and the packets in
//! them.

use super::event::Kind;
use super::header::TiledHeader;
use crate::router::bits::bits;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use serde::{Deserialize, Serialize};

/// No packet; no neighbour.
pub(super) const NONE: u32 = u32::MAX;
/// As a router at the other end of a link: the bit that marks it as in another block; then 15 bits of lane
/// and 16 of the router there.
pub(super) const REMOTE: u32 = 1 << 31;
/// Maximum number of VCs of a port.
pub(super) const VCS: usize = crate::config::TILED_VCS_MAX as usize;

/// A packet in a router.
#[derive(Clone, Copy, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub(super) struct Cell {
    pub header: TiledHeader,
    /// When its last flit arrives where its head is.
    pub tail_at: Time,
    /// The next packet in its queue, if it is not the last; the last one, if it is the first.
    pub next: u32,
    pub last: u32,
    /// The tile through which it leaves this router.
    pub out: u8,
    /// The VC on which it arrived, and on which it leaves.
    pub came: u8,
    pub vc: u8,
    pub flits: u8,
    /// Links traversed.
    pub hops: u8,
    /// When it took the row bus, lower bits: for measuring credit round trips.
    pub since: u32,
}

/// A queue of packets: its first packet, [`NONE`] when empty.
#[derive(Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(super) struct Queue(u32);

impl Queue {
    pub const EMPTY: Queue = Queue(NONE);

    #[inline]
    pub fn first(self) -> Option<u32> {
        (self.0 != NONE).then_some(self.0)
    }

    /// Adds a packet; returns whether it is the only one.
    #[inline]
    pub fn push(&mut self, packet: u32, cells: &mut [Cell]) -> bool {
        let alone = self.0 == NONE;
        if alone {
            self.0 = packet;
        } else {
            let last = cells[self.0 as usize].last;
            cells[last as usize].next = packet;
        }
        cells[self.0 as usize].last = packet;
        alone
    }

    /// Removes the first packet.
    #[inline]
    pub fn pop(&mut self, cells: &mut [Cell]) -> u32 {
        debug_assert!(self.0 != NONE, "an empty queue");
        let first = self.0;
        let Cell { next, last, .. } = cells[first as usize];
        if first == last {
            self.0 = NONE;
        } else {
            self.0 = next;
            cells[next as usize].last = last;
        }
        first
    }
}

/// A queue of a sub-switch or column buffer, and the fields of its first packet needed for arbitration. Its
/// free space is tracked by the upstream stage.
#[derive(Clone, Copy, BorshSerialize, BorshDeserialize)]
pub(super) struct Buffer {
    pub queue: Queue,
    /// Flits, outgoing VC and tile of the first packet.
    pub flits: u8,
    pub vc: u8,
    pub out: u8,
    /// In a sub-switch: the row to which the last packet left.
    pub left_to: u8,
}

impl Buffer {
    pub const EMPTY: Buffer = Buffer { queue: Queue::EMPTY, flits: 0, vc: 0, out: 0, left_to: 0 };

    /// Updates the fields of the first packet; returns whether there is one.
    #[inline]
    pub fn note_first(&mut self, cells: &[Cell]) -> bool {
        let Some(first) = self.queue.first() else { return false };
        let cell = &cells[first as usize];
        (self.flits, self.vc, self.out) = (cell.flits, cell.vc, cell.out);
        true
    }
}

/// The fields of a VC's first packet that an input's arbiter needs.
#[derive(Clone, Copy, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Head {
    pub out: u8,
    pub flits: u8,
}

/// A tile's input queue and its bus along the row.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(super) struct Input {
    /// By VC.
    pub queues: [Queue; VCS],
    pub heads: [Head; VCS],
    /// Free space for its packets in the row's sub-switches, flits: by column and VC.
    pub room: [u8; 64],
    /// VCs that hold a packet, and those of them whose head has been routed.
    pub waiting: u8,
    pub routed: u8,
    /// The VC served last.
    pub turn: u8,
    /// Whether a head lacks space in its sub-switch.
    pub blocked: bool,
    /// The sub-switches that its packets may be leaving.
    pub departures: Departures,
    /// When the row bus is free, and when the tile is to act again.
    pub free_at: Time,
    pub wake_at: Time,
}

/// The columns whose sub-switches the packets of an input may be leaving, one bit each above 24 bits of the
/// time when the last of them has left: an input would otherwise have to look this up far away, mostly in
/// vain. False positives are possible, false negatives are not.
#[derive(Clone, Copy, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Departures(u32);

impl Departures {
    const TIME: u32 = (1 << 24) - 1;

    /// Whether that time is in the future, or long past.
    #[inline]
    fn is_ahead(self, now: Time) -> bool {
        let ahead = self.0.wrapping_sub(now.ticks() as u32) & Self::TIME;
        ahead != 0 && ahead < 1 << 23
    }

    /// Whether a packet may be leaving the sub-switch of a column.
    #[inline]
    pub fn may_leave(self, column: usize, now: Time) -> bool {
        self.0 >> (24 + column) & 1 != 0 && self.is_ahead(now)
    }

    /// A packet is leaving a column's sub-switch until `until`, at most 2^23 ticks from now.
    #[inline]
    pub fn leaves(&mut self, column: usize, until: Time, now: Time) {
        let until = until.ticks() as u32 & Self::TIME;
        let was = if self.is_ahead(now) { self.0 } else { until };
        let later = if was.wrapping_sub(until) & Self::TIME < 1 << 23 { was & Self::TIME } else { until };
        self.0 = was & !Self::TIME | 1 << (24 + column) | later;
    }
}

/// Rows of a column at most.
pub(super) const ROWS: usize = crate::config::SIDE_MAX as usize;

/// State of a tile's sub-switch, with all that its arbiter reads of each of its buses to the rows of its
/// column: two lines of a cache, where those of the buses would be five. Its queues and the rest of the buses
/// are in arrays of the block.
#[derive(Clone, Default, BorshSerialize, BorshDeserialize)]
#[repr(C, align(64))]
pub(super) struct SubSwitch {
    /// By row: when its bus is free.
    pub free_at: [Time; ROWS],
    /// By row: the queue served last, and the packet that it sends.
    pub turn: [u8; ROWS],
    pub leaving: [Leaving; ROWS],
    /// Rows that some queue's first packet goes to, one bit each.
    pub wanted: u8,
    /// Rows whose column buffer lacks space for a head.
    pub blocked: u8,
    pub wake_at: Time,
}

/// The bus from a sub-switch to a row of its column, but for what is in [`SubSwitch`].
#[derive(Clone, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Bus {
    /// The queues (one bit each) whose first packet goes there.
    pub wanted: u64,
    /// Free space for its packets in the column buffer, flits: by VC.
    pub room: [u8; VCS],
    /// The queues whose first packets are promised the next free space of their VCs.
    pub promised: u64,
}

/// Rounds thousandths of a tick up to ticks.
#[inline]
pub(super) fn tick_from(milliticks: u64) -> Time {
    Time::at(milliticks.div_ceil(1000))
}

/// Converts a tick to thousandths.
#[inline]
pub(super) fn milliticks(time: Time) -> u64 {
    time.ticks() * 1000
}

/// The queues of a mask in round-robin order: those after the one served last come first.
#[inline]
pub(super) fn in_turn(waiting: u64, last: u8) -> impl Iterator<Item = usize> {
    // Turned so that the first in turn is the lowest bit.
    let first = u32::from(last) + 1;
    bits(waiting.rotate_right(first)).map(move |bit| (bit + first as usize) % u64::BITS as usize)
}

/// A packet that is leaving a queue: its flits, and the ticks that they take.
#[derive(Clone, Copy, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Leaving {
    pub flits: u8,
    pub ticks: u16,
}

impl Leaving {
    #[inline]
    pub fn new(flits: u8, ticks: u64) -> Self {
        Leaving { flits, ticks: ticks.clamp(1, u16::MAX.into()) as u16 }
    }

    /// Flits still in the queue at the end of this tick; the last one leaves in the tick before `until`. If
    /// some are delayed, the first still leaves at once, and the others evenly.
    #[inline]
    pub fn left(self, until: Time, now: Time) -> u32 {
        let to_go = until.saturating_sub(now + 1) as u32;
        let (flits, ticks) = (u32::from(self.flits), u32::from(self.ticks).max(1));
        if flits >= ticks || flits < 2 {
            return (flits * to_go).div_ceil(ticks).min(flits);
        }
        // Rounded to nearest, but the last flit stays to the end.
        let even = (2 * (flits - 1) * to_go + ticks - 1) / (2 * (ticks - 1));
        even.clamp(to_go.min(1), flits)
    }

    /// When at most this number is left.
    #[inline]
    pub fn when_left(self, until: Time, left: u32) -> Time {
        let (flits, ticks) = (u32::from(self.flits), u32::from(self.ticks).max(1));
        let to_go = if left == 0 {
            0
        } else if flits >= ticks || flits < 2 {
            left * ticks / flits.max(1)
        } else {
            ((2 * left + 1) * (ticks - 1) - 1) / (2 * (flits - 1))
        };
        Time::at(until.ticks().saturating_sub(u64::from(to_go) + 1))
    }
}

/// The sender's view of the space in an input queue: each VC has some reserved, and all share the rest
/// ("Dynamic per-virtual channel input buffering"). A VC may use a fixed multiple of the shared space that is
/// left: one VC alone gets nearly all of it, and some always remains for others **(ours: the dynamic
/// threshold of Choudhury and Hahne 1998)**. Without this a stalled VC would take all of it and leave the
/// others too little for a long link.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(super) struct Room {
    /// Flits in the queue, by VC.
    pub used: [u16; VCS],
    /// Shared space that is left.
    pub shared: u32,
    /// Flits in the queue, total.
    pub all: u16,
    /// The VC of a packet that is leaving the queue and whose space is already returned, and when its last
    /// flit leaves.
    pub leaving: (u8, Leaving, Time),
}

impl Room {
    /// Whether there is space.
    #[inline]
    pub fn has(&self, vc: usize, flits: u32, rules: Rules) -> bool {
        Self::is_enough(self.used[vc].into(), flits, self.shared, rules)
    }

    /// Whether there is space for a VC that uses this much.
    #[inline]
    fn is_enough(used: u32, flits: u32, shared: u32, rules: Rules) -> bool {
        let will = above_reserve(used + flits, rules.reserved);
        let more = will - above_reserve(used, rules.reserved);
        more == 0 || more <= shared && will <= rules.times * (shared - more)
    }

    /// The tick from which there is space, while a packet leaves, as far as is known.
    #[inline]
    pub fn has_at(&self, vc: usize, flits: u32, rules: Rules, now: Time) -> Option<Time> {
        if !self.has(vc, flits, rules) {
            return None;
        }
        let (from, leaving, until) = self.leaving;
        if until <= now {
            return Some(now);
        }
        let from = usize::from(from);
        // With this number of flits still in the queue.
        let fits = |there: u32| {
            let used = u32::from(self.used[from]);
            let more = above_reserve(used + there, rules.reserved) - above_reserve(used, rules.reserved);
            let own = u32::from(self.used[vc]) + if vc == from { there } else { 0 };
            Self::is_enough(own, flits, self.shared.saturating_sub(more), rules)
        };
        // Usually there is space for all of it: that divides nothing.
        if fits(leaving.flits.into()) {
            return Some(now);
        }
        let there = leaving.left(until, now);
        if fits(there) {
            return Some(now);
        }
        let fitting = (0..there).rev().find(|&there| there == 0 || fits(there)).unwrap_or(0);
        Some(leaving.when_left(until, fitting).max(now + 1))
    }

    /// Takes space.
    #[inline]
    pub fn take(&mut self, vc: usize, flits: u32, rules: Rules) {
        let reserved = rules.reserved;
        let used = u32::from(self.used[vc]);
        self.shared -= above_reserve(used + flits, reserved) - above_reserve(used, reserved);
        self.used[vc] += flits as u16;
        self.all += flits as u16;
    }

    /// Returns space.
    #[inline]
    pub fn give_back(&mut self, vc: usize, flits: u32, rules: Rules) {
        let reserved = rules.reserved;
        let used = u32::from(self.used[vc]);
        self.shared += above_reserve(used, reserved) - above_reserve(used - flits, reserved);
        self.used[vc] -= flits as u16;
        self.all -= flits as u16;
    }

    /// Total flits in the queue.
    #[inline]
    pub fn in_all(&self) -> u32 {
        self.all.into()
    }
}

/// Division of an input queue among its VCs.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Flits reserved for each VC.
    pub reserved: u32,
    /// The multiple of the remaining shared space that one VC may use.
    pub times: u32,
}

/// The part of the shared space used by a VC with this number of flits in the queue.
#[inline]
fn above_reserve(used: u32, reserved: u32) -> u32 {
    used.saturating_sub(reserved)
}

/// A tile's column buffer and its link. Its queues are in arrays of the block.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(super) struct Output {
    /// Queues that hold a packet, one bit each.
    pub waiting: u64,
    /// When the link is free, thousandths of a tick.
    pub free_at: u64,
    pub wake_at: Time,
    /// Space at the other end.
    pub room: Room,
    /// Flits in this router that are to leave here, by VC and total.
    pub load: [u16; VCS],
    pub load_all: u16,
    /// The router at the other end: [`NONE`] for nodes or an unconnected port; see [`REMOTE`]. Its tile; its
    /// number in the machine.
    pub to: u32,
    pub to_tile: u8,
    pub to_number: u32,
    /// Class of the link.
    pub class: u8,
    /// The queue served last, and the packet that it sends.
    pub turn: u8,
    pub leaving: Leaving,
    /// The queues whose first packets are promised the next free space of their VCs, or their nodes' next
    /// turn to accept packets.
    pub promised: u64,
    /// Statistics of the link.
    pub packets: u32,
    pub flits: u64,
}

/// The path from the nodes of a share to one of their processor tiles.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub(super) struct Entry {
    /// When it is free, thousandths of a tick.
    pub free_at: u64,
    /// Space in the tile's input queue.
    pub room: Room,
    /// By VC: the injection FIFO of the share whose packet is promised the next space, or [`NOBODY`].
    pub promised: [u8; VCS],
}

/// No injection FIFO of a share.
pub(super) const NOBODY: u8 = u8::MAX;

/// Nodes that share processor tiles.
#[derive(Clone, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Share {
    /// Injection FIFOs with a packet that waits for a tile: one bit each, by node and FIFO.
    pub waiting: u64,
    pub turn: u8,
    pub wake_at: Time,
}

/// A router's pending work in this tick, one bit per share or tile.
#[derive(Clone, Copy, Default)]
pub(super) struct Due {
    pub shares: u64,
    pub inputs: u64,
    pub switches: u64,
    pub outputs: u64,
}

impl Due {
    /// A share or a part of a tile is to act.
    #[inline]
    pub fn add(&mut self, kind: Kind, tile: usize) {
        let bit = 1 << tile;
        match kind {
            Kind::WakeShare => self.shares |= bit,
            Kind::WakeInput => self.inputs |= bit,
            Kind::WakeSwitch => self.switches |= bit,
            Kind::WakeOutput => self.outputs |= bit,
            _ => debug_assert!(false, "{kind:?} wakes nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_first_in_first_out() {
        let mut cells = vec![Cell::default(); 10];
        let mut q = Queue::EMPTY;
        assert!(q.push(3, &mut cells) && !q.push(7, &mut cells) && !q.push(1, &mut cells));
        assert_eq!((q.first(), q.pop(&mut cells)), (Some(3), 3));
        q.push(5, &mut cells);
        assert_eq!([q.pop(&mut cells), q.pop(&mut cells), q.pop(&mut cells)], [7, 1, 5]);
        assert!(q == Queue::EMPTY && q.first().is_none());
        assert!(q.push(9, &mut cells) && q.pop(&mut cells) == 9 && q.first().is_none());
    }

    #[test]
    fn what_leaves_is_never_forgotten_too_early() {
        let mut departures = Departures::default();
        let mut leaving: Vec<(usize, Time)> = vec![];
        let mut now = Time::ZERO;
        for i in 0..100_000u64 {
            // A long pause from time to time.
            now += i * 7 % 11 + if i % 5000 == 0 { 3 << 22 } else { 0 };
            let (column, until) = ((i * 5 % 8) as usize, now + 1 + i * 13 % 40);
            leaving.retain(|leaves| leaves.1 > now);
            for column in 0..8 {
                let leaves = leaving.iter().any(|leaves| leaves.0 == column);
                assert!(departures.may_leave(column, now) || !leaves);
            }
            if i % 3 == 0 {
                departures.leaves(column, until, now);
                leaving.push((column, until));
            }
        }
        let mut departures = Departures::default();
        departures.leaves(3, Time::at(120), Time::at(100));
        departures.leaves(5, Time::at(110), Time::at(105));
        assert!(
            departures.may_leave(3, Time::at(119))
                && departures.may_leave(5, Time::at(119))
                && !departures.may_leave(4, Time::at(110))
        );
        assert!(!departures.may_leave(3, Time::at(120)) && !departures.may_leave(5, Time::at(1_000_000)));
        departures.leaves(1, Time::at(140), Time::at(130));
        assert!(departures.may_leave(1, Time::at(130)) && !departures.may_leave(3, Time::at(130)));
    }

    #[test]
    fn flits_leave_one_by_one() {
        for (flits, ticks) in
            [(14, 14), (14, 7), (14, 15), (14, 40), (12, 13), (1, 1), (1, 5), (2, 9), (63, 70)]
        {
            let (leaving, until) = (Leaving::new(flits, ticks), Time::at(100 + ticks));
            let mut before = u32::from(flits);
            for now in (100..until.ticks()).map(Time::at) {
                let left = leaving.left(until, now);
                assert!(
                    left <= before && (left > 0) == (now + 1 < until),
                    "{flits} in {ticks} at {now}: {left}"
                );
                assert!(
                    before - left <= u32::from(flits).div_ceil(ticks as u32),
                    "{flits} in {ticks} at {now}"
                );
                before = left;
            }
            let first = leaving.left(until, Time::at(100));
            assert!(flits == 1 || first < u32::from(flits), "the first goes at once");
            for left in 0..u32::from(flits) {
                let at = leaving.when_left(until, left);
                assert!(leaving.left(until, at) <= left, "{flits} in {ticks}: {left} left at {at}");
                assert!(
                    at <= Time::at(100) || leaving.left(until, at - 1) > left,
                    "{flits} in {ticks}: {left} left before {at}"
                );
            }
        }
    }

    #[test]
    fn every_vc_keeps_its_own_room_and_one_alone_may_have_most_of_what_is_shared() {
        let rules = Rules { reserved: 14, times: 3 };
        let mut room =
            Room { used: [0; VCS], shared: 100, all: 0, leaving: (0, Leaving::default(), Time::ZERO) };
        let fill = |room: &mut Room, vc| {
            let mut taken = 0;
            while room.has(vc, 1, rules) {
                room.take(vc, 1, rules);
                taken += 1;
            }
            taken
        };
        // Three times the space that is left; the next VC three times what is left then.
        assert_eq!(fill(&mut room, 0), 14 + 75);
        assert_eq!(fill(&mut room, 1), 14 + 18);
        assert!(room.has(2, 14 + 4, rules) && !room.has(2, 14 + 7, rules));
        assert_eq!(room.in_all(), 14 + 75 + 14 + 18);
        room.give_back(0, 58, rules);
        assert_eq!(room.shared, 100 - 18 - 17);
    }
}
