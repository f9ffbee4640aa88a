//! What a block keeps of its routers: tiles' input queues, sub-switches and column buffers, and the packets in them.

use super::header::TiledHeader;
use crate::router::bits::bits;
use netloom_engine::Time;

/// No packet; no neighbour.
pub(super) const NONE: u32 = u32::MAX;
/// As a router at the other end of a link: bit that says it is in another block; then 15 bits of lane and 16 of the router there.
pub(super) const REMOTE: u32 = 1 << 31;
/// Most VCs of a port.
pub(super) const VCS: usize = crate::config::TILED_VCS_MAX as usize;

/// A packet in a router.
#[derive(Clone, Copy, Default)]
pub(super) struct Cell {
    pub header: TiledHeader,
    /// When its last flit is where its head stands.
    pub tail_at: Time,
    /// The next in its queue, if it is not the last; the last, if it is the first.
    pub next: u32,
    pub last: u32,
    /// The tile by which it leaves this router.
    pub out: u8,
    /// The VC by which it came, and by which it leaves.
    pub came: u8,
    pub vc: u8,
    pub flits: u8,
    /// Links behind it.
    pub hops: u8,
    /// When it took the row bus, the lower bits: where credit round trips are measured.
    pub since: u32,
}

/// A queue of packets: its first one, [`NONE`] when empty.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Queue(u32);

impl Queue {
    pub const EMPTY: Queue = Queue(NONE);

    #[inline]
    pub fn first(self) -> Option<u32> {
        (self.0 != NONE).then_some(self.0)
    }

    /// Adds a packet; whether it is the only one.
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

    /// Takes the first packet.
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

/// A queue of a sub-switch or a column buffer, and what must be known of its first packet to arbitrate. What room is left in it, who
/// fills it knows.
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    pub queue: Queue,
    /// Of the first packet: flits, the VC by which it leaves, the tile.
    pub flits: u8,
    pub vc: u8,
    pub out: u8,
    /// Of a sub-switch: the row to which the last packet left.
    pub left_to: u8,
}

impl Buffer {
    pub const EMPTY: Buffer = Buffer { queue: Queue::EMPTY, flits: 0, vc: 0, out: 0, left_to: 0 };

    /// Notes what is first now; whether anything is.
    #[inline]
    pub fn note_first(&mut self, cells: &[Cell]) -> bool {
        let Some(first) = self.queue.first() else { return false };
        let cell = &cells[first as usize];
        (self.flits, self.vc, self.out) = (cell.flits, cell.vc, cell.out);
        true
    }
}

/// What an input's arbiter must know of the first packet of a VC.
#[derive(Clone, Copy, Default)]
pub(super) struct Head {
    pub out: u8,
    pub flits: u8,
}

/// A tile's input queue and its bus along the row.
#[derive(Clone)]
pub(super) struct Input {
    /// By VC.
    pub queues: [Queue; VCS],
    pub heads: [Head; VCS],
    /// What room is left for its packets in the row's sub-switches, flits: by column and VC.
    pub room: [u8; 64],
    /// VCs with a packet at their head, and those of them whose head has been routed.
    pub waiting: u8,
    pub routed: u8,
    /// The VC that was served last.
    pub turn: u8,
    /// Whether a head lacks room in its sub-switch.
    pub blocked: bool,
    /// Where its packets may be leaving sub-switches.
    pub gone: Gone,
    /// When the row bus is free, and when the tile is to be looked at again.
    pub free_at: Time,
    pub wake_at: Time,
}

/// Of which columns' sub-switches the packets of an input may be leaving, a bit each above 24 bits of the time when the last of them has gone:
/// what an input would otherwise have to look up far away, mostly to find nothing. It may say yes where there is nothing, never no where
/// there is.
#[derive(Clone, Copy, Default)]
pub(super) struct Gone(u32);

impl Gone {
    const TIME: u32 = (1 << 24) - 1;

    /// Whether that time is to come, or long past.
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

    /// A packet leaves that of a column until `until`, 2^23 ticks from now at most.
    #[inline]
    pub fn leaves(&mut self, column: usize, until: Time, now: Time) {
        let until = until.ticks() as u32 & Self::TIME;
        let was = if self.is_ahead(now) { self.0 } else { until };
        let later = if was.wrapping_sub(until) & Self::TIME < 1 << 23 { was & Self::TIME } else { until };
        self.0 = was & !Self::TIME | 1 << (24 + column) | later;
    }
}

/// The buses of a tile's sub-switch to the rows of its column have arrays of the block, and so have its queues. This is the rest.
#[derive(Clone, Default)]
pub(super) struct SubSwitch {
    /// Rows for which a head lacks room in the column buffer.
    pub blocked: u16,
    pub wake_at: Time,
}

/// The bus from a sub-switch to a row of its column.
#[derive(Clone, Default)]
pub(super) struct Bus {
    /// The queues (a bit each) whose first packet goes there.
    pub wanted: u64,
    pub free_at: Time,
    /// The queue served last, and what it sends.
    pub turn: u8,
    pub leaving: Leaving,
    /// What room is left for its packets in the column buffer, flits: by VC.
    pub room: [u8; VCS],
    /// The queues to whose first packets the next room of their VCs is promised.
    pub promised: u64,
}

/// The first tick that is not before so many thousandths of one.
#[inline]
pub(super) fn tick_from(milliticks: u64) -> Time {
    Time::at(milliticks.div_ceil(1000))
}

/// A tick in thousandths of one.
#[inline]
pub(super) fn milliticks(time: Time) -> u64 {
    time.ticks() * 1000
}

/// The queues of a mask in turn: those behind the one served last come first.
#[inline]
pub(super) fn in_turn(waiting: u64, last: u8) -> impl Iterator<Item = usize> {
    let behind = waiting & (!1 << last);
    bits(behind).chain(bits(waiting & !behind))
}

/// A packet that leaves a queue: its flits, and the ticks that they take.
#[derive(Clone, Copy, Default)]
pub(super) struct Leaving {
    pub flits: u8,
    pub ticks: u16,
}

impl Leaving {
    #[inline]
    pub fn new(flits: u8, ticks: u64) -> Self {
        Leaving { flits, ticks: ticks.clamp(1, u16::MAX.into()) as u16 }
    }

    /// Flits that are still there at the end of this tick, where the last goes in the one before `until`. Where some are late the first goes
    /// at once all the same, and the others evenly.
    #[inline]
    pub fn left(self, until: Time, now: Time) -> u32 {
        let to_go = until.saturating_sub(now + 1) as u32;
        let (flits, ticks) = (u32::from(self.flits), u32::from(self.ticks).max(1));
        if flits >= ticks || flits < 2 {
            return (flits * to_go).div_ceil(ticks).min(flits);
        }
        // To the nearest, but the last is there to the end.
        let even = (2 * (flits - 1) * to_go + ticks - 1) / (2 * (ticks - 1));
        even.clamp(to_go.min(1), flits)
    }

    /// When no more than so many are left.
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

/// The room of an input queue, as far as whoever sends there knows: a VC has some of its own, and all share the rest ("Dynamic
/// per-virtual channel input buffering"). Of that a VC may have so many times what is left of it: one alone has nearly all, and some
/// is always left for others **(ours: the dynamic threshold of Choudhury and Hahne 1998)**. Were it not, a VC that stands still would take all
/// and leave the others too little for a long link.
#[derive(Clone)]
pub(super) struct Room {
    /// Flits there, by VC.
    pub used: [u16; VCS],
    /// What is left of what all VCs share.
    pub shared: u32,
    /// Flits there in all.
    pub all: u16,
    /// The VC from which a packet leaves there, already given back, and when its last flit goes.
    pub leaving: (u8, Leaving, Time),
}

impl Room {
    /// Whether there is room.
    #[inline]
    pub fn has(&self, vc: usize, flits: u32, rules: Rules) -> bool {
        Self::is_enough(self.used[vc].into(), flits, self.shared, rules)
    }

    /// Whether there is room for a VC that uses so much.
    #[inline]
    fn is_enough(used: u32, flits: u32, shared: u32, rules: Rules) -> bool {
        let will = beyond(used + flits, rules.reserved);
        let more = will - beyond(used, rules.reserved);
        more == 0 || more <= shared && will <= rules.times * (shared - more)
    }

    /// The tick from which there is room, while a packet leaves, as far as is known now.
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
        // With so many still there.
        let fits = |there: u32| {
            let used = u32::from(self.used[from]);
            let more = beyond(used + there, rules.reserved) - beyond(used, rules.reserved);
            let own = u32::from(self.used[vc]) + if vc == from { there } else { 0 };
            Self::is_enough(own, flits, self.shared.saturating_sub(more), rules)
        };
        let there = leaving.left(until, now);
        if fits(there) {
            return Some(now);
        }
        let fitting = (0..there).rev().find(|&there| there == 0 || fits(there)).unwrap_or(0);
        Some(leaving.when_left(until, fitting).max(now + 1))
    }

    /// Takes room.
    #[inline]
    pub fn take(&mut self, vc: usize, flits: u32, rules: Rules) {
        let reserved = rules.reserved;
        let used = u32::from(self.used[vc]);
        self.shared -= beyond(used + flits, reserved) - beyond(used, reserved);
        self.used[vc] += flits as u16;
        self.all += flits as u16;
    }

    /// Gives room back.
    #[inline]
    pub fn give_back(&mut self, vc: usize, flits: u32, rules: Rules) {
        let reserved = rules.reserved;
        let used = u32::from(self.used[vc]);
        self.shared += beyond(used, reserved) - beyond(used - flits, reserved);
        self.used[vc] -= flits as u16;
        self.all -= flits as u16;
    }

    /// Flits there in all.
    #[inline]
    pub fn in_all(&self) -> u32 {
        self.all.into()
    }
}

/// How the VCs of an input queue share it.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// Flits kept for each.
    pub reserved: u32,
    /// How many times what is left of the shared room one may have of it.
    pub times: u32,
}

/// What a VC with so much in an input queue has of its shared room.
#[inline]
fn beyond(used: u32, reserved: u32) -> u32 {
    used.saturating_sub(reserved)
}

/// A tile's column buffer and its link. Its queues are in arrays of the block.
#[derive(Clone)]
pub(super) struct Output {
    /// Queues with a packet, a bit each.
    pub waiting: u64,
    /// When the link is free, thousandths of a tick.
    pub free_at: u64,
    pub wake_at: Time,
    /// Room at the other end.
    pub room: Room,
    /// Flits in this router that are to leave here, by VC and in all.
    pub load: [u16; VCS],
    pub load_all: u16,
    /// The router at the other end: [`NONE`] for nodes or nobody; see [`REMOTE`]. Its tile; its number in the machine.
    pub to: u32,
    pub to_tile: u8,
    pub to_number: u32,
    /// Class of the link.
    pub class: u8,
    /// The queue served last, and what it sends.
    pub turn: u8,
    pub leaving: Leaving,
    /// The queues to whose first packets the next room of their VCs, or the next turn of their nodes to take packets, is promised.
    pub promised: u64,
    /// Statistics of the link: what it has carried.
    pub packets: u32,
    pub flits: u64,
}

/// The way from the nodes of a share into one of their processor tiles.
#[derive(Clone)]
pub(super) struct Entry {
    /// When it is free, thousandths of a tick.
    pub free_at: u64,
    /// Room in the tile's input queue.
    pub room: Room,
    /// By VC: the injection FIFO of the share to whose packet the next room is promised, or [`NOBODY`].
    pub promised: [u8; VCS],
}

/// No injection FIFO of a share.
pub(super) const NOBODY: u8 = u8::MAX;

/// Nodes that share processor tiles.
#[derive(Clone, Default)]
pub(super) struct Share {
    /// Injection FIFOs with a packet that waits for a tile: a bit each, by node and FIFO.
    pub waiting: u64,
    pub turn: u8,
    pub wake_at: Time,
}

/// What a router has to do in this tick, a bit a share or tile.
#[derive(Clone, Copy, Default)]
pub(super) struct Due {
    pub shares: u64,
    pub inputs: u64,
    pub switches: u64,
    pub outputs: u64,
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
        let mut gone = Gone::default();
        let mut leaving: Vec<(usize, Time)> = vec![];
        let mut now = Time::ZERO;
        for i in 0..100_000u64 {
            // Now and then a long rest.
            now += i * 7 % 11 + if i % 5000 == 0 { 3 << 22 } else { 0 };
            let (column, until) = ((i * 5 % 8) as usize, now + 1 + i * 13 % 40);
            leaving.retain(|leaves| leaves.1 > now);
            for column in 0..8 {
                let leaves = leaving.iter().any(|leaves| leaves.0 == column);
                assert!(gone.may_leave(column, now) || !leaves);
            }
            if i % 3 == 0 {
                gone.leaves(column, until, now);
                leaving.push((column, until));
            }
        }
        let mut gone = Gone::default();
        gone.leaves(3, Time::at(120), Time::at(100));
        gone.leaves(5, Time::at(110), Time::at(105));
        assert!(
            gone.may_leave(3, Time::at(119))
                && gone.may_leave(5, Time::at(119))
                && !gone.may_leave(4, Time::at(110))
        );
        assert!(!gone.may_leave(3, Time::at(120)) && !gone.may_leave(5, Time::at(1_000_000)));
        gone.leaves(1, Time::at(140), Time::at(130));
        assert!(gone.may_leave(1, Time::at(130)) && !gone.may_leave(3, Time::at(130)));
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
        // Three times as much as is left; the next VC three times what is left then.
        assert_eq!(fill(&mut room, 0), 14 + 75);
        assert_eq!(fill(&mut room, 1), 14 + 18);
        assert!(room.has(2, 14 + 4, rules) && !room.has(2, 14 + 7, rules));
        assert_eq!(room.in_all(), 14 + 75 + 14 + 18);
        room.give_back(0, 58, rules);
        assert_eq!(room.shared, 100 - 18 - 17);
    }
}
