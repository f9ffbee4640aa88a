//! What the members of a node tell each other: words that the L2 adds to without waiting (section II.A: its
//! atomic operations), and where their buffers are. The words only grow, over all operations of the group, so
//! that nobody needs to reset them.

use super::group::{Group, Totals};
use super::{Condition, Member};
use crate::pami::device::Range;
use crate::spi::device::UnitDevice;
use netloom_node::program::lock;

/// Above what the kernel allocates, and within the 37 bits of an offset in a packet.
pub(in super::super) const SHARED: u64 = (1 << 37) - (1 << 20);
const GROUP_B: u64 = 1 << 16;

/// Offsets in a group's shared memory: members that have arrived; slices that the master has received;
/// members that have copied; slices that each member has summed, at intervals of 8 B; the addresses of each
/// member's two buffers, at intervals of 16 B; counters of the network.
const ARRIVED: u64 = 0;
const RELEASED: u64 = 128;
const COPIED: u64 = 256;
const SUMMED: u64 = 1024;
const BUFFERS: u64 = 2048;
const COUNTERS: u64 = 8192;

impl Group {
    fn shared(&self, offset: u64) -> u64 {
        SHARED + u64::from(self.class) * GROUP_B + offset
    }

    /// Begins with what an earlier group of the same class has left in the words: its operations have ended,
    /// and none of this one has begun.
    pub fn continue_words(&mut self, device: &UnitDevice) {
        let word = |offset: u64| device.word(self.shared(offset));
        let summed = (0..self.members() as u64).map(|index| word(SUMMED + 8 * index)).collect();
        let totals =
            Totals { arrived: word(ARRIVED), released: word(RELEASED), copied: word(COPIED), summed };
        self.totals = totals;
    }
}

impl Member {
    fn shared(&self, offset: u64) -> u64 {
        self.group.shared(offset)
    }

    /// The address of a counter of the network, the same on all nodes.
    pub(super) fn counter(&self, slice: usize) -> u64 {
        self.shared(COUNTERS + 8 * slice as u64)
    }

    /// The node's address of a range.
    pub(super) fn physical(&self, range: Range) -> u64 {
        if range.bytes == 0 { 0 } else { lock(&self.memory).physical(range) }
    }

    /// Tells the others where this member's buffers are: they may read it when it has arrived.
    pub(super) fn publish(&self, source: u64, target: u64) {
        let at = self.shared(BUFFERS + 16 * self.group.index as u64);
        self.device.store(at, &[source.to_be_bytes(), target.to_be_bytes()].concat());
    }

    /// Where the two buffers of a member are.
    pub(super) fn published(&self, index: usize) -> [u64; 2] {
        let bytes = self.device.load(self.shared(BUFFERS + 16 * index as u64), 16);
        [0, 8].map(|at| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes")))
    }

    /// This member has arrived. All members of the node call it once before anyone waits for it.
    pub(super) fn arrive(&mut self) {
        if self.group.members() > 1 {
            self.group.totals.arrived += self.group.members() as u64;
            self.device.add_word(self.shared(ARRIVED), 1);
        }
    }

    /// Waits until all members of the node have arrived.
    pub(super) async fn all_arrived(&self) {
        self.until(Condition::Word(self.shared(ARRIVED), self.group.totals.arrived)).await;
    }

    /// The master lets the others go on.
    pub(super) fn release(&mut self) {
        if self.group.members() > 1 {
            self.group.totals.released += 1;
            self.device.add_word(self.shared(RELEASED), 1);
        }
    }

    /// Waits until the master has let the others go on once more.
    pub(super) async fn released(&mut self) {
        self.group.totals.released += 1;
        self.until(Condition::Word(self.shared(RELEASED), self.group.totals.released)).await;
    }

    /// This member has summed its next slice.
    pub(super) fn report_sum(&mut self) {
        let index = self.group.index;
        self.group.totals.summed[index] += 1;
        self.device.add_word(self.shared(SUMMED + 8 * index as u64), 1);
    }

    /// The condition that a member has summed this number of slices of the operation in progress.
    pub(super) fn has_summed(&self, index: usize, slices: u64) -> Condition {
        Condition::Word(self.shared(SUMMED + 8 * index as u64), self.group.totals.summed[index] + slices)
    }

    /// This member needs the others' buffers no more; or, for the one whose buffers they are, waits until
    /// that is so.
    pub(super) async fn all_copied(&mut self, is_owner: bool) {
        self.group.totals.copied += self.group.members() as u64 - 1;
        if is_owner {
            self.until(Condition::Word(self.shared(COPIED), self.group.totals.copied)).await;
        } else {
            self.device.add_word(self.shared(COPIED), 1);
        }
    }
}
