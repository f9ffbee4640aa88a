//! The broadcast (section IV.C): "a master process from each node is designated to post RDMA descriptors to
//! the collective network and the data directly arrives to its own buffer. Thereafter, other peers on the
//! node can directly copy the data".

use super::slices::Slices;
use super::{Condition, Member};
use crate::device::Device;
use crate::pami::device::{Combine, Range};
use netloom_fabric::collective::{Delivers, Operation};

/// The member that sends, by its node and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Root {
    pub node: u32,
    pub index: usize,
}

/// What the header of a broadcast's packets says, of which none meets another: words of which its length is a
/// multiple.
fn words_of(bytes: u64) -> Combine {
    Combine { operation: Operation::Or, word_B: if bytes.is_multiple_of(8) { 8 } else { 4 } }
}

impl Member {
    /// Where a task is.
    pub(super) fn root(&self, task: u32) -> Root {
        let (node, process) = self.placement.of_task(task);
        let index = self.group.processes.iter().position(|&p| p == process).unwrap_or(0);
        Root { node, index }
    }

    pub(super) async fn broadcast(&mut self, root: u32, data: Range) {
        let root = self.root(root);
        let own = self.physical(data);
        let slices = Slices::new(data.bytes, self.group.members());
        self.publish(own, own);
        let asked = self.device.now().ticks();
        if self.group.is_master() && self.group.nodes > 1 {
            self.expect(&slices, own);
        }
        // Nobody sends before all can receive.
        self.barrier().await;
        let is_here = self.device.node() == root.node;
        // The process of the node from which the others copy.
        let from = if self.group.nodes > 1 { 0 } else { root.index };
        if self.group.is_master() && self.group.nodes > 1 {
            if is_here {
                let ([payload, _], words) = (self.published(root.index), words_of(data.bytes));
                for slice in 0..slices.count() {
                    self.inject(&slices, slice, payload + slices.of(slice).0, words, Delivers::Broadcast);
                }
            }
            for slice in 0..slices.count() {
                self.until(Condition::Counter(self.counter(slice), asked)).await;
                self.release();
            }
        } else if self.group.index != from {
            let has = is_here && self.group.index == root.index;
            let [source, _] = self.published(from);
            for slice in 0..slices.count() {
                if self.group.nodes > 1 {
                    self.released().await;
                }
                if !has {
                    self.copy(&slices, slice, source, own).await;
                }
            }
        }
        if self.group.members() > 1 {
            self.all_copied(self.group.index == from).await;
        }
    }

    /// Copies a slice of another process's buffer into this one's.
    pub(super) async fn copy(&self, slices: &Slices, slice: usize, source: u64, target: u64) {
        let (at, bytes) = slices.of(slice);
        self.copy_part(at, bytes, source, target).await;
    }
}
