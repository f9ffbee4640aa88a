//! What all units of a machine share.

use super::config::MessageUnitConfig;
use netloom_fabric::config::HalfwayTie;
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::{Coordinates, Torus};
use std::sync::Arc;

/// What all units have in common.
pub struct Common {
    /// The unit.
    pub config: MessageUnitConfig,
    /// The machine's shape.
    pub torus: Arc<Torus>,
    pub(super) tie: HalfwayTie,
    /// Processes of each node.
    pub processes: u8,
}

impl Common {
    /// Where a node is, and the hint bits of a packet to it.
    pub(super) fn way(&self, from: u32, to: u32) -> (Coordinates, u16) {
        let (from, to) = (self.torus.coordinates(from), self.torus.coordinates(to));
        (to, hints::minimal(&self.torus, from, to, self.tie))
    }
}
