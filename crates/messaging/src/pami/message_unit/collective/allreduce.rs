//! The allreduce (section IV.C and Figures 3 and 4): the processes of a node sum slices of all their buffers
//! in parallel; the master passes the sums to the network in order, whose result arrives in its buffer; the
//! others copy it from there.

use super::slices::Slices;
use super::{Condition, Member};
use crate::device::Device;
use crate::pami::device::{Combine, Range, Step};
use netloom_fabric::collective::Delivers;
use netloom_node::program::lock;

impl Member {
    pub(super) async fn allreduce(&mut self, source: Range, target: Range, combine: Combine) {
        let (from, to) = (self.physical(source), self.physical(target));
        let slices = Slices::new(source.bytes, self.group.members());
        let asked = self.device.now().ticks();
        if self.group.is_master() && self.group.nodes > 1 {
            self.expect(&slices, to);
        }
        if self.group.members() == 1 {
            return self.allreduce_alone(&slices, asked, (from, to), combine).await;
        }
        self.publish(from, to);
        self.arrive();
        self.all_arrived().await;
        if self.group.nodes == 1 {
            self.allreduce_on_node(&slices, to, combine).await;
        } else if self.group.is_master() {
            self.lead(&slices, asked, combine).await;
        } else {
            self.follow(&slices, to, combine).await;
        }
        // Whose slices were summed by whom is over.
        let members = self.group.members();
        for index in (0..members).filter(|&index| index != self.group.index) {
            self.group.totals.summed[index] += own_slices(&slices, index, members).count() as u64;
        }
    }

    /// With one process a node its buffer goes to the network as it is.
    async fn allreduce_alone(
        &mut self,
        slices: &Slices,
        asked: u64,
        (from, to): (u64, u64),
        combine: Combine,
    ) {
        for slice in 0..slices.count() {
            if self.group.nodes == 1 {
                self.copy(slices, slice, from, to).await;
                continue;
            }
            let (at, _) = slices.of(slice);
            self.inject(slices, slice, from + at, combine, Delivers::AllReduce);
            self.until(Condition::Counter(self.counter(slice), asked)).await;
        }
    }

    /// Sums a slice of the buffers of all processes of the node into this one's target.
    pub(super) async fn sum(&mut self, slices: &Slices, slice: usize, combine: Combine) {
        let (at, bytes) = slices.of(slice);
        let members = self.group.members();
        let sources: Vec<u64> = (0..members).map(|index| self.published(index)[0] + at).collect();
        let [_, target] = self.published(self.group.index);
        let order = lock(&self.memory).byte_order();
        self.device.combine(&sources, target + at, bytes, self.header(combine), order);
        self.spend(Step::Copy(bytes * members as u64)).await;
        self.report_sum();
    }

    /// Where the sum of a slice is, and the condition that it is there; `before` is what this member had
    /// reported when the operation began.
    pub(super) fn summed(&self, slice: usize) -> (u64, Condition) {
        let members = self.group.members();
        let index = slice % members;
        (self.published(index)[1], self.has_summed(index, (slice / members) as u64 + 1))
    }

    /// The master: it sums its slices as well, but first does what the network waits for, then what the
    /// others do.
    async fn lead(&mut self, slices: &Slices, asked: u64, combine: Combine) {
        let (members, count) = (self.group.members(), slices.count());
        let mut own = own_slices(slices, 0, members).peekable();
        let begin = self.group.totals.summed[0];
        let (mut injected, mut received) = (0, 0);
        while received < count {
            let is_own = injected % members == 0;
            let own_sums = self.group.totals.summed[0] - begin;
            let (target, is_summed) = self.summed(injected);
            let can_inject = injected < count
                && if is_own {
                    own_sums > (injected / members) as u64
                } else {
                    is_summed.holds(&self.device)
                };
            let has_come = Condition::Counter(self.counter(received), asked);
            if can_inject {
                let (at, _) = slices.of(injected);
                self.inject(slices, injected, target + at, combine, Delivers::AllReduce);
                injected += 1;
            } else if received < injected && has_come.holds(&self.device) {
                self.release();
                received += 1;
            } else if let Some(slice) = own.next() {
                self.sum(slices, slice, combine).await;
            } else if injected == count {
                self.until(has_come).await;
            } else if received == injected {
                self.until(is_summed).await;
            } else {
                self.until_any(&[is_summed, has_come]).await;
            }
        }
        self.all_copied(true).await;
    }

    /// Another process: it sums its slices, then copies the results as they come.
    async fn follow(&mut self, slices: &Slices, to: u64, combine: Combine) {
        for slice in own_slices(slices, self.group.index, self.group.members()) {
            self.sum(slices, slice, combine).await;
        }
        let [_, source] = self.published(0);
        for slice in 0..slices.count() {
            self.released().await;
            self.copy(slices, slice, source, to).await;
        }
        self.all_copied(false).await;
    }

    /// All on one node: each copies the others' sums.
    async fn allreduce_on_node(&mut self, slices: &Slices, to: u64, combine: Combine) {
        let (index, members) = (self.group.index, self.group.members());
        let begin = self.group.totals.summed[index];
        for slice in own_slices(slices, index, members) {
            self.sum(slices, slice, combine).await;
        }
        for slice in (0..slices.count()).filter(|slice| slice % members != index) {
            let (source, is_summed) = self.summed(slice);
            self.until(is_summed).await;
            self.copy(slices, slice, source, to).await;
        }
        debug_assert!(self.group.totals.summed[index] >= begin);
        // Nobody's buffer is used any more when all have arrived.
        self.arrive();
        self.all_arrived().await;
    }
}

/// The slices that a member sums.
pub(super) fn own_slices(
    slices: &Slices,
    index: usize,
    members: usize,
) -> impl Iterator<Item = usize> + use<> {
    (index..slices.count()).step_by(members)
}
