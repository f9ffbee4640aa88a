//! Collective engines as programs use them (`GNI_Ce…`).

use super::device::AriesDevice;
use super::{Gni, lock};
use netloom_nic::aries::Command;
use netloom_nic::aries::collective::{ENGINES, Reduction, Tree};
use netloom_nic::aries::status::{Refusal, Status};

impl AriesDevice {
    /// Sets the position of one of the NIC's collective engines in a tree (by the kernel).
    ///
    /// # Errors
    /// If there is no such engine, or the tree has more than 32 branches.
    pub fn ce_configure(&self, engine: u8, tree: Tree) -> Result<(), Refusal> {
        tree.check()?;
        let ptag = self.ptag()?;
        let mut here = lock(&self.here);
        let slot = here.trees.get_mut(usize::from(engine)).ok_or(Refusal::InvalidParam)?;
        *slot = Some(Tree { ptag, ..tree });
        Ok(())
    }

    /// Removes an engine's tree.
    ///
    /// # Errors
    /// If it has none of this process's job, or an operation is pending on it.
    pub fn ce_destroy(&self, engine: u8) -> Result<(), Refusal> {
        let (ptag, number) = (self.ptag()?, usize::from(engine));
        let mut here = lock(&self.here);
        let is_pending = *here.is_pending.get(number).ok_or(Refusal::InvalidParam)?;
        if is_pending {
            return Err(Refusal::InvalidState);
        }
        here.trees[number].take_if(|tree| tree.ptag == ptag).map(|_| ()).ok_or(Refusal::InvalidParam)
    }

    pub(super) fn ce_join(
        &self,
        engine: u8,
        operation: Reduction,
        is_short: bool,
        value: [u64; 2],
    ) -> Result<(), Refusal> {
        if operation == Reduction::Product {
            return Err(Refusal::IllegalOp);
        }
        {
            let mut here = lock(&self.here);
            let number = usize::from(engine);
            if number >= ENGINES || here.trees[number].is_none() {
                return Err(Refusal::InvalidParam);
            }
            if std::mem::replace(&mut here.is_pending[number], true) {
                return Err(Refusal::ErrorResource);
            }
            here.results[number] = None;
        }
        let operation = operation.number(is_short);
        self.operation(24, Command::Join { engine, operation, value });
        Ok(())
    }

    /// The result of an engine's last operation, and its status.
    ///
    /// # Errors
    /// If it is not complete.
    pub fn ce_result(&self, engine: u8) -> Result<([u64; 2], Status), Refusal> {
        lock(&self.here).results.get(usize::from(engine)).copied().flatten().ok_or(Refusal::NotDone)
    }
}

impl Gni {
    /// Joins an engine's next operation with a contribution: a value of 64 bits, or 32, and an identifier.
    ///
    /// # Errors
    /// If the engine has no tree, an operation is pending on it, or the operation is a product.
    pub async fn ce_join(
        &self,
        engine: u8,
        operation: Reduction,
        is_short: bool,
        value: [u64; 2],
    ) -> Result<(), Refusal> {
        self.after(self.device.ce_join(engine, operation, is_short, value)).await
    }
}
