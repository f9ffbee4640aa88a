//! Memory registration: makes an endpoint's memory accessible to other nodes and to the NIC (sections 2.3 and
//! 3.1).

use super::device::ThDevice;
use super::{Glex, Refusal, Step, lock};
use crate::device::Device;
use netloom_nic::th::Write;
use netloom_node::time::Microticks;

/// Registered memory of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    endpoint: u8,
    item: u16,
}

impl ThDevice {
    /// Registers the pages of memory for an endpoint (by the kernel: not timed).
    ///
    /// # Errors
    /// If all items of the memory checker are in use or, if the cache is a buffer, all its entries.
    pub fn register(
        &self,
        endpoint: u8,
        address: u64,
        bytes: u64,
        may_write: bool,
    ) -> Result<Memory, Refusal> {
        self.insert(endpoint, (address, bytes), may_write, true)
    }

    pub(super) fn insert(
        &self,
        endpoint: u8,
        (address, bytes): (u64, u64),
        may_write: bool,
        is_valid: bool,
    ) -> Result<Memory, Refusal> {
        if bytes == 0 || address.checked_add(bytes).is_none_or(|end| end > 1 << 48) {
            return Err(Refusal::Invalid);
        }
        let mut here = lock(&self.here);
        self.own(&mut here, endpoint)?;
        let item = here.register(&self.common.config, endpoint, (address, bytes), (may_write, is_valid))?;
        Ok(Memory { endpoint, item })
    }

    /// Deregisters memory (by the kernel: not timed).
    ///
    /// # Errors
    /// If it is not registered.
    pub fn deregister(&self, memory: Memory) -> Result<(), Refusal> {
        let mut here = lock(&self.here);
        self.own(&mut here, memory.endpoint)?;
        here.deregister(&self.common.config, memory.endpoint, memory.item)
    }
}

impl Glex {
    /// Registers memory online, in the three steps of a refresh: the item is written to the memory checker;
    /// the cache is searched for tags of its pages; matching tags are removed, and a register, which the
    /// program polls meanwhile, reports completion.
    ///
    /// # Errors
    /// As [`ThDevice::register`].
    pub async fn register_online(
        &self,
        endpoint: u8,
        address: u64,
        bytes: u64,
        may_write: bool,
    ) -> Result<Memory, Refusal> {
        let memory = self.insert(endpoint, (address, bytes), may_write, false)?;
        self.refresh(memory, true).await;
        Ok(memory)
    }

    /// Deregisters memory online, in the same steps. From the first step on it is inaccessible.
    ///
    /// # Errors
    /// As [`ThDevice::deregister`].
    pub async fn deregister_online(&self, memory: Memory) -> Result<(), Refusal> {
        {
            let mut here = lock(&self.here);
            self.own(&mut here, memory.endpoint)?;
            here.owns(memory.endpoint, memory.item)?;
        }
        self.refresh(memory, false).await;
        self.deregister(memory)
    }

    async fn refresh(&self, memory: Memory, is_valid: bool) {
        let number = {
            let mut here = lock(&self.here);
            here.refreshes_asked += 1;
            here.refreshes_asked
        };
        self.device.spend(Step::Library);
        self.device.spend(Step::Lines(1));
        self.device.write(Write::Refresh(memory.item, is_valid));
        self.core.done().await;
        let crossing = Microticks::of_milliticks(self.common.config.pcie.crossing_milliticks);
        // A read of the register crosses the host interface twice.
        while lock(&self.here).refreshes_done < number {
            self.device.spend(Step::Compute(2 * crossing));
            self.step(Step::Poll).await;
        }
    }
}
