//! Collective operations of DMAPP (`dmapp_c_…`), on the NICs' collective engines.

use super::Dmapp;
use crate::gni::Gni;
use netloom_nic::aries::collective::{Reduction, Tree};
use netloom_nic::aries::status::{Refusal, Status};

/// The processes of a job, one per node, for collective operations (`dmapp_c_pset…`): a tree of collective
/// engines.
pub struct Pset {
    gni: Gni,
    engine: u8,
    queue: u16,
}

impl Pset {
    /// `dmapp_c_pset_create` and `…_export`: with a branching ratio of up to 32, on one of the four engines
    /// of each NIC.
    ///
    /// # Errors
    /// If nodes have several processes, or the engine or radix is invalid.
    pub fn create(dmapp: &Dmapp, engine: u8, radix: u32) -> Result<Self, Refusal> {
        let gni = dmapp.gni.clone();
        if gni.processes() > 1 || radix == 0 {
            return Err(Refusal::InvalidParam);
        }
        let queue = gni.cq_create(4);
        let tree = Tree::regular(gni.place(), gni.job().nodes(), radix, engine, queue);
        gni.ce_configure(engine, tree)?;
        Ok(Pset { gni, engine, queue })
    }

    /// `dmapp_c_barrier_join`.
    ///
    /// # Errors
    /// If an operation is pending.
    pub async fn barrier_join(&self) -> Result<(), Refusal> {
        self.greduce_start(Reduction::And, false, [0; 2]).await
    }

    /// `dmapp_c_greduce_start`, for one element: a value, and an identifier for minima and maxima.
    ///
    /// # Errors
    /// If an operation is pending, or for a product.
    pub async fn greduce_start(
        &self,
        operation: Reduction,
        is_short: bool,
        value: [u64; 2],
    ) -> Result<(), Refusal> {
        self.gni.ce_join(self.engine, operation, is_short, value).await
    }

    /// `dmapp_c_pset_wait`: the result.
    ///
    /// # Errors
    /// If no operation with an event is pending.
    pub async fn wait(&self) -> Result<([u64; 2], Status), Refusal> {
        self.gni.cq_wait_event(self.queue).await?;
        self.gni.ce_result(self.engine)
    }

    /// `dmapp_c_pset_test`: the result, if it is available.
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if it is not.
    pub async fn test(&self) -> Result<([u64; 2], Status), Refusal> {
        self.gni.cq_get_event(self.queue).await?;
        self.gni.ce_result(self.engine)
    }
}
