//! The reduction to one process: "MPI_Barrier, MPI_Bcast, MPI_Reduce, and MPI_Allreduce directly use the
//! hardware collective network" (section IV.B). The processes of a node sum slices of all their buffers as
//! for an allreduce; the masters pass the sums to the network, which delivers the result at the root's node
//! only, in the root's buffer. The paper gives no more than that; the rest is **(ours)**.

use super::allreduce::own_slices;
use super::broadcast::Root;
use super::slices::Slices;
use super::{Condition, Member};
use crate::device::Device;
use crate::pami::device::{Combine, Range};
use crate::pami::message_unit::resources::COLLECTIVE_FIFOS;
use netloom_fabric::collective::Delivers;

impl Member {
    pub(super) async fn reduce(&mut self, root: u32, [source, target]: [Range; 2], combine: Combine) {
        let root = self.root(root);
        let (from, to) = (self.physical(source), self.physical(target));
        let (members, index) = (self.group.members(), self.group.index);
        let slices = Slices::new(source.bytes, members);
        let asked = self.device.now().ticks();
        self.publish(from, to);
        self.arrive();
        self.all_arrived().await;
        if self.group.nodes == 1 {
            self.reduce_on_node(&slices, root, (from, to), combine).await;
        } else if self.group.is_master() {
            self.lead_reduction(&slices, root, (from, asked), combine).await;
        } else {
            for slice in own_slices(&slices, index, members) {
                self.sum(&slices, slice, combine).await;
            }
            self.released().await;
        }
        for other in (0..members).filter(|&other| members > 1 && other != index) {
            self.group.totals.summed[other] += own_slices(&slices, other, members).count() as u64;
        }
    }

    /// The master: it sums its slices, and passes all slices to the network in order. It is done when the
    /// result has come, or, on another node than the root's, when the network has taken all data.
    async fn lead_reduction(
        &mut self,
        slices: &Slices,
        root: Root,
        (from, asked): (u64, u64),
        combine: Combine,
    ) {
        let is_here = self.device.node() == root.node;
        // No packet comes before this node's own has met the others.
        if is_here {
            let [_, target] = self.published(root.index);
            self.expect(slices, target);
        }
        let delivers = Delivers::Reduce(self.device.torus().coordinates(root.node));
        let members = self.group.members();
        for slice in 0..slices.count() {
            let (at, _) = slices.of(slice);
            let payload = match (members, slice % members) {
                (1, _) => from,
                (_, 0) => {
                    self.sum(slices, slice, combine).await;
                    self.published(0)[1]
                }
                _ => {
                    let (target, is_summed) = self.summed(slice);
                    self.until(is_summed).await;
                    target
                }
            };
            self.inject(slices, slice, payload + at, combine, delivers);
        }
        if is_here {
            for slice in 0..slices.count() {
                self.until(Condition::Counter(self.counter(slice), asked)).await;
            }
        } else {
            let fifo = COLLECTIVE_FIFOS + u16::from(self.group.class);
            let written = self.device.written(fifo);
            self.until(Condition::Injected(fifo, written)).await;
        }
        self.release();
    }

    /// All on one node: the root copies the others' sums.
    async fn reduce_on_node(
        &mut self,
        slices: &Slices,
        root: Root,
        (from, to): (u64, u64),
        combine: Combine,
    ) {
        let (index, members) = (self.group.index, self.group.members());
        if members == 1 {
            for slice in 0..slices.count() {
                self.copy(slices, slice, from, to).await;
            }
            return;
        }
        for slice in own_slices(slices, index, members) {
            self.sum(slices, slice, combine).await;
        }
        if index == root.index {
            for slice in (0..slices.count()).filter(|slice| slice % members != index) {
                let (source, is_summed) = self.summed(slice);
                self.until(is_summed).await;
                self.copy(slices, slice, source, to).await;
            }
        }
        // Nobody's buffer is used any more when all have arrived.
        self.arrive();
        self.all_arrived().await;
    }
}
