//! The properties of a torus network that the layers above need, independent of its routers.

use super::{EscapeOrder, HalfwayTie, Link, PacketFormat, Topology};
use crate::router::VcClass;

/// Description of a receiver's virtual channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VcOutline {
    /// For people: `dynamic VC 0`.
    pub name: String,
    /// What it is for.
    pub class: VcClass,
    /// Its room, chunks.
    pub chunks: u32,
}

/// A torus network without what only its routers know.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Ticks per second; every other time is a whole number of them.
    pub ticks_per_second: u64,
    /// The shape.
    pub topology: Topology,
    /// The packets.
    pub packet: PacketFormat,
    /// The links.
    pub link: Link,
    /// The direction taken half-way around a ring.
    pub halfway_tie: HalfwayTie,
    /// The order of static routes: for planning routes around dead nodes and links.
    pub order: EscapeOrder,
    /// The virtual channels of a receiver, by number.
    pub vcs: Vec<VcOutline>,
    /// Zones that a packet may name; none where routers know no zones.
    pub zones: usize,
}

impl Outline {
    /// Nodes of the machine, dead ones included.
    pub fn nodes(&self) -> usize {
        self.topology.nodes()
    }

    /// Whether dimension `d` closes into a ring.
    pub fn wraps(&self, d: usize) -> bool {
        self.topology.wraps(d)
    }

    /// Room of all VCs of a class in a receiver, chunks.
    pub fn room(&self, class: VcClass) -> u32 {
        self.vcs.iter().filter(|vc| vc.class == class).map(|vc| vc.chunks).sum()
    }
}
