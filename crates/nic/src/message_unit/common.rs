//! State shared by all units of a machine.

use super::config::MessageUnitConfig;
use netloom_fabric::config::HalfwayTie;
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::{Coordinates, Torus};
use std::sync::Arc;

/// State shared by all units.
pub struct Common {
    /// Configuration of the unit.
    pub config: MessageUnitConfig,
    /// The topology of the machine.
    pub torus: Arc<Torus>,
    pub(super) tie: HalfwayTie,
    /// Processes per node.
    pub processes: u8,
}

impl Common {
    /// A node's coordinates, and the hint bits of a packet to it.
    pub(super) fn route(&self, from: u32, to: u32) -> (Coordinates, u16) {
        let (from, to) = (self.torus.coordinates(from), self.torus.coordinates(to));
        (to, hints::minimal(&self.torus, from, to, self.tie))
    }
}
