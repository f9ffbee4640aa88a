//! Clocks as programs read them: the NIC's event timer, and the global clock.

use super::Gni;
use netloom_nic::aries::Common;
use netloom_node::time::Microticks;

impl Gni {
    /// Reads the NIC's event timer, millionths of a tick since an arbitrary time: a load from the NIC, which
    /// crosses the host interface twice.
    pub async fn timer(&self) -> Microticks {
        self.read_clock(Common::timer).await
    }

    /// Reads the global clock, which is nearly the same on all nodes, millionths of a tick.
    pub async fn global_clock(&self) -> Microticks {
        self.read_clock(Common::global_clock).await
    }

    async fn read_clock(&self, clock: fn(&Common, u32, Microticks) -> Microticks) -> Microticks {
        let crossing = self.common.config.pcie.crossing_milliticks;
        self.compute_milliticks(crossing).await;
        let time = clock(&self.common, self.node(), self.now());
        self.compute_milliticks(crossing).await;
        time
    }
}
