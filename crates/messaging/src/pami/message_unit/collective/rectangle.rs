//! The rectangle broadcast (section V and Figure 10): "the root sends data to all the remaining nodes in the
//! 5D torus via 10 edge disjoint spanning trees". Each tree, or colour, carries a part of the data, in
//! slices: a node's master forwards a slice to the nodes below it in the tree as soon as it is there, by RDMA
//! writes into their masters' buffers. The other processes of a node copy the slices from the master's
//! buffer.

use super::broadcast::Root;
use super::{Condition, Member};
use crate::device::{Device, MuDevice};
use crate::pami::device::{Range, Step};
use crate::pami::message_unit::resources::COLLECTIVE_FIFOS;
use netloom_fabric::collective::trees::Trees;
use netloom_nic::message_unit::descriptor::{Descriptor, Kind, Network};
use smallvec::SmallVec;

/// Usual length of a slice: a link carries it in 2.3 us, in which the master has ten of them to forward
/// **(ours)**.
const SLICE_B: u64 = 4 << 10;
/// Least length, and slices into which short data is cut so that it flows through the trees: the master
/// forwards ten of the shortest in about the time that a hop takes **(ours)**.
const SHORT_SLICE_B: u64 = 1 << 10;
const SHORT_SLICES: u64 = 16;
/// Most slices of a colour: the injection FIFO of a port holds as many descriptors.
const SLICES_MAX: u64 = 512;

/// Data cut into a part for each colour, and these into slices.
struct Parts {
    bytes: u64,
    colours: u64,
    /// Length of a colour's part, and of its slices.
    part: u64,
    slice: u64,
}

impl Parts {
    fn new(bytes: u64, colours: usize) -> Self {
        let part = bytes.div_ceil(colours as u64).next_multiple_of(512);
        let short = (part / SHORT_SLICES).clamp(SHORT_SLICE_B, SLICE_B);
        let slice = part.div_ceil(SLICES_MAX).max(short).next_multiple_of(512);
        Parts { bytes, colours: colours as u64, part, slice }
    }

    /// Offset and length of a slice of a colour; `None` if it has fewer.
    fn of(&self, colour: usize, slice: u64) -> Option<(u64, u64)> {
        let from = self.part * colour as u64;
        let end = (from + self.part).min(self.bytes);
        let at = from + self.slice * slice;
        (at < end).then(|| (at, self.slice.min(end - at)))
    }

    /// All slices in the order in which processes copy them: the first of each colour, then the second of
    /// each.
    fn in_order(&self) -> impl Iterator<Item = (usize, u64, (u64, u64))> {
        let colours = self.colours as usize;
        let all =
            (0..self.part.div_ceil(self.slice)).flat_map(move |slice| (0..colours).map(move |c| (c, slice)));
        all.filter_map(|(colour, slice)| Some((colour, slice, self.of(colour, slice)?)))
    }
}

impl Member {
    /// The address of the counter of a slice, the same on all nodes.
    fn slice_counter(&self, colour: usize, slice: u64) -> u64 {
        self.counter(colour * SLICES_MAX as usize + slice as usize)
    }

    pub(super) async fn rectangle(&mut self, root: u32, data: Range) {
        let at = self.root(root);
        let torus = self.device.torus().clone();
        let trees = Trees::new(self.group.rectangle, &torus, torus.coordinates(at.node));
        if trees.count() == 0 || data.bytes == 0 {
            return self.broadcast(root, data).await;
        }
        let own = self.physical(data);
        let parts = Parts::new(data.bytes, trees.count());
        self.publish(own, own);
        let asked = self.device.now().ticks();
        let is_here = self.device.node() == at.node;
        if self.group.is_master() && !is_here {
            self.device.set_base_address(self.base(), own);
            self.device.set_base_end(self.base(), own + data.bytes);
            for (colour, slice, (_, bytes)) in parts.in_order() {
                self.device.set_counter(self.slice_counter(colour, slice), bytes);
            }
        }
        // Nobody sends before all can receive.
        self.barrier().await;
        match (is_here, self.group.is_master()) {
            (true, _) => self.at_root(&parts, &trees, at, own).await,
            (false, true) => self.forward(&parts, &trees, asked, own).await,
            (false, false) => {
                let [source, _] = self.published(0);
                for (_, _, (from, bytes)) in parts.in_order() {
                    self.released().await;
                    self.copy_part(from, bytes, source, own).await;
                }
            }
        }
        if self.group.members() > 1 {
            let owner = if is_here { at.index } else { 0 };
            self.all_copied(self.group.index == owner).await;
        }
    }

    /// On the root's node: the master sends the root's data, from which the other processes copy.
    async fn at_root(&mut self, parts: &Parts, trees: &Trees, root: Root, own: u64) {
        let [source, _] = self.published(root.index);
        if self.group.is_master() {
            for (colour, slice, range) in parts.in_order() {
                self.send(trees, (colour, slice), range, source);
            }
        }
        if self.group.index != root.index {
            for (_, _, (from, bytes)) in parts.in_order() {
                self.copy_part(from, bytes, source, own).await;
            }
        }
        // The root may not change its data before it has been sent.
        if self.group.is_master() {
            self.all_injected().await;
            self.release();
        } else {
            self.released().await;
        }
    }

    /// The master of another node.
    async fn forward(&mut self, parts: &Parts, trees: &Trees, asked: u64, own: u64) {
        let mut received: SmallVec<[u64; 10]> = (0..trees.count()).map(|_| 0).collect();
        let mut releases = parts.in_order().peekable();
        loop {
            let mut waits: SmallVec<[Condition; 10]> = SmallVec::new();
            for (colour, received) in received.iter_mut().enumerate() {
                while let Some(range) = parts.of(colour, *received) {
                    let is_here = Condition::Counter(self.slice_counter(colour, *received), asked);
                    if !is_here.holds(&self.device) {
                        waits.push(is_here);
                        break;
                    }
                    self.send(trees, (colour, *received), range, own);
                    *received += 1;
                }
            }
            while releases.next_if(|&(colour, slice, _)| received[colour] > slice).is_some() {
                self.release();
            }
            if waits.is_empty() {
                break;
            }
            self.until_any(&waits).await;
        }
        self.all_injected().await;
    }

    /// Sends a slice to the nodes below this one.
    fn send(&self, trees: &Trees, (colour, slice): (usize, u64), (offset, length): (u64, u64), source: u64) {
        let torus = self.device.torus();
        for (node, port) in trees.children(torus, colour, torus.coordinates(self.device.node())) {
            let hints = Some(1 << port);
            let network = Network::PointToPoint { destination: node, hints, deterministic: true, zone: 0 };
            let counter_offset = self.slice_counter(colour, slice);
            let kind = Kind::DirectPut { base: self.base(), offset, counter_base: 0, counter_offset };
            let (payload, map) = (source + offset, 1 << port);
            let put = Descriptor { payload, length, map, network, kind, prefetch_only: false };
            MuDevice::inject(&self.device, fifo(port), &put).expect("a colour has few slices");
        }
    }

    /// Waits until all descriptors have been injected.
    async fn all_injected(&self) {
        for port in 0..self.device.torus().ports() {
            let written = self.device.written(fifo(port));
            self.until(Condition::Injected(fifo(port), written)).await;
        }
    }

    /// Copies a part of another process's buffer into this one's.
    pub(super) async fn copy_part(&self, at: u64, bytes: u64, source: u64, target: u64) {
        self.device.copy(source + at, target + at, bytes);
        self.spend(Step::Copy(bytes)).await;
    }
}

/// The injection FIFO of a port: one per link, so that none waits for another.
fn fifo(port: usize) -> u16 {
    COLLECTIVE_FIFOS + port as u16
}
