//! The state of a node's collective and barrier logic. What they do is in `central.rs` and `interrupts.rs`.

use super::vcs::{ALL_VCS, PORTS, VCS};
use crate::collective::{CLASS_ROUTES, ClassRoute, CollectiveHeader, Operation};
use netloom_engine::Time;
use std::collections::VecDeque;

/// The collective VCs, by the place of their queues.
const COLLECTIVE_VCS: usize = ALL_VCS - VCS;

/// The logic of a node that is in any class route.
#[derive(Default)]
pub(super) struct Central {
    pub routes: [Option<ClassRoute>; CLASS_ROUTES],
    /// Packets that have come, by VC and port, in order.
    pub queues: [[VecDeque<u32>; PORTS]; COLLECTIVE_VCS],
    /// Chunks of the packet, if any, that is being read from each: the next one is its head when that has gone.
    pub being_read: [[u8; PORTS]; COLLECTIVE_VCS],
    /// Packets at the heads of injection FIFOs: the user's and the system's.
    pub contributions: [Option<Contribution>; 2],
    pub up: Logic,
    pub down: Logic,
}

/// A packet at the head of an injection FIFO.
#[derive(Clone, Copy)]
pub(super) struct Contribution {
    pub fifo: usize,
    pub packet: u32,
    pub header: CollectiveHeader,
}

/// Up-tree's or down-tree's.
#[derive(Default)]
pub(super) struct Logic {
    /// Granted, and waiting for its links.
    pub granted: Option<Job>,
    /// When that is looked at again, or was last.
    pub looks_at: Time,
    /// What is being read.
    pub reading: Option<Job>,
    /// Whether it may grant nothing yet.
    pub is_busy: bool,
}

impl Logic {
    pub fn may_grant(&self) -> bool {
        self.granted.is_none() && !self.is_busy
    }
}

/// Packets that go through the logic together.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub vc: usize,
    /// Ports from whose queues a packet is taken, and whether from which contribution.
    pub inputs: u16,
    pub contribution: Option<usize>,
    /// Those of the ports whose link corrupted the packet: its place is kept for what is sent again.
    pub kept: u16,
    /// Ports to which the result goes, and whether the node itself gets it.
    pub outputs: u16,
    pub receives: bool,
    /// Whether it goes up the tree, or comes down.
    pub is_up: bool,
    /// Whether it turns from up-tree to down-tree here.
    pub turns: bool,
    /// What the ALUs do, if it goes through them.
    pub combines: Option<Operation>,
}

impl Central {
    /// Whether nothing is in it.
    pub fn is_at_rest(&self) -> bool {
        let is_idle = |logic: &Logic| logic.may_grant() && logic.reading.is_none();
        is_idle(&self.up) && is_idle(&self.down) && self.queues.iter().flatten().all(VecDeque::is_empty)
    }
}

/// The barrier logic of a node that is in any class.
#[derive(Default)]
pub(super) struct Interrupts {
    pub routes: [Option<ClassRoute>; CLASS_ROUTES],
    /// What the node itself says.
    pub own: u64,
    /// What each neighbour said last, and what it was told last.
    pub from: [u64; PORTS],
    pub told: [u64; PORTS],
    /// Links on which the last packet got lost.
    pub lost: u16,
    /// What the node was told last: the OR of all.
    pub status: u64,
}
