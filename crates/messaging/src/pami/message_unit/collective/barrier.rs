//! The barrier: "fast L2 atomics and the global interrupt network" (section IV.B). Three phases, each of
//! which calls back at its end, which starts the next, as in IBM's public driver (`HybridBarrierT.h`): the
//! processes of a node wait for each other, their masters for one another, and the processes of a node for
//! the master.

use super::{Condition, Member};
use crate::device::MuDevice;
use crate::pami::device::Step;

impl Member {
    /// Waits until all members of the group have called it.
    pub(super) async fn barrier(&mut self) {
        self.local_barrier().await;
        if self.group.nodes == 1 {
            return;
        }
        if self.group.is_master() {
            let turn = self.group.turn;
            self.group.turn += 1;
            MuDevice::enter_barrier(&self.device, self.group.class, turn);
            self.until(Condition::Barrier(self.group.class, turn)).await;
            self.spend(Step::Dispatch).await;
        }
        self.local_barrier().await;
    }

    /// Waits until all members of the node have called it.
    async fn local_barrier(&mut self) {
        if self.group.members() > 1 {
            self.arrive();
            self.all_arrived().await;
            self.spend(Step::Dispatch).await;
        }
    }
}
