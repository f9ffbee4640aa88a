//! The state of a node's collective and barrier logic, which `central.rs` and `interrupts.rs` implement.

use super::vcs::{ALL_VCS, PORTS, VCS};
use crate::collective::{CLASS_ROUTES, ClassRoute, CollectiveHeader, Operation};
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use std::collections::VecDeque;

/// The number of collective VCs.
const COLLECTIVE_VCS: usize = ALL_VCS - VCS;

/// The collective logic of a node that is in a class route.
#[derive(Clone, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Central {
    pub routes: [Option<ClassRoute>; CLASS_ROUTES],
    /// Packets that have arrived, by VC and port, in order.
    pub queues: [[VecDeque<u32>; PORTS]; COLLECTIVE_VCS],
    /// By VC: the ports whose queue has a packet. Without a collective operation all are empty, and a node
    /// arbitrates at each event.
    pub filled: [u16; COLLECTIVE_VCS],
    /// Chunks of the packet, if any, that is being read from each queue, whose head is the next packet.
    pub being_read: [[u8; PORTS]; COLLECTIVE_VCS],
    /// Packets at the heads of injection FIFOs: user and system.
    pub contributions: [Option<Contribution>; 2],
    pub up: Logic,
    pub down: Logic,
}

/// A packet at the head of an injection FIFO.
#[derive(Clone, Copy, BorshSerialize, BorshDeserialize)]
pub(super) struct Contribution {
    pub fifo: usize,
    pub packet: u32,
    pub header: CollectiveHeader,
}

/// State of up-tree or down-tree.
#[derive(Clone, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Logic {
    /// The granted job, waiting for its links.
    pub granted: Option<Job>,
    /// When that job is checked again, or was last checked.
    pub looks_at: Time,
    /// The job that is being read.
    pub reading: Option<Job>,
    /// Whether it may not grant yet.
    pub is_busy: bool,
}

impl Logic {
    pub fn may_grant(&self) -> bool {
        self.granted.is_none() && !self.is_busy
    }
}

/// Packets that pass through the logic together.
#[derive(Clone, Copy, BorshSerialize, BorshDeserialize)]
pub(super) struct Job {
    pub vc: usize,
    /// Ports from whose queues a packet is taken, and the contribution used, if any.
    pub inputs: u16,
    pub contribution: Option<usize>,
    /// Those of the ports whose link corrupted the packet: its space is kept for the retransmission.
    pub kept: u16,
    /// Ports to which the result goes, and whether the node itself receives it.
    pub outputs: u16,
    pub receives: bool,
    /// Whether it goes up the tree rather than down.
    pub is_up: bool,
    /// Whether it turns from up-tree to down-tree at this node.
    pub turns: bool,
    /// The operation of the ALUs, if the packets pass through them.
    pub combines: Option<Operation>,
}

impl Central {
    /// Adds a packet that has arrived.
    pub fn push(&mut self, vc: usize, port: usize, packet: u32) {
        self.queues[vc - VCS][port].push_back(packet);
        self.filled[vc - VCS] |= 1 << port;
    }

    /// Takes the first packet of a queue, or the last.
    pub fn pop(&mut self, vc: usize, port: usize, is_first: bool) -> Option<u32> {
        let queue = &mut self.queues[vc - VCS][port];
        let packet = if is_first { queue.pop_front() } else { queue.pop_back() };
        self.filled[vc - VCS] &= !(u16::from(queue.is_empty()) << port);
        packet
    }

    /// Whether no packet waits and no grant: there is nothing to arbitrate.
    pub fn has_nothing(&self) -> bool {
        self.filled == [0; COLLECTIVE_VCS]
            && self.contributions.iter().all(Option::is_none)
            && self.up.granted.is_none()
            && self.down.granted.is_none()
    }

    /// Whether it holds no packet.
    pub fn is_idle(&self) -> bool {
        let is_idle = |logic: &Logic| logic.may_grant() && logic.reading.is_none();
        is_idle(&self.up) && is_idle(&self.down) && self.queues.iter().flatten().all(VecDeque::is_empty)
    }
}

/// The barrier logic of a node that is in a barrier class.
#[derive(Clone, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Interrupts {
    pub routes: [Option<ClassRoute>; CLASS_ROUTES],
    /// The node's own bits.
    pub own: u64,
    /// The last word from each neighbour, and the last word sent to it.
    pub from: [u64; PORTS],
    pub sent: [u64; PORTS],
    /// Links on which the last packet was lost.
    pub lost: u16,
    /// The last word reported to the node: the OR of all nodes' bits.
    pub status: u64,
}
