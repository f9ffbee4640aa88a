//! Errors of the NIC as reported to the node's system software (`GNI_SubscribeErrors`).

use super::{Gni, Step, lock};
use netloom_nic::aries::Watch;
use netloom_nic::aries::errors::{ErrorEvent, ErrorMask, Subscription};
use netloom_nic::aries::status::Refusal;
use netloom_node::time::Microticks;

impl Gni {
    /// Subscribes to errors of this node's NIC; returns the subscription's number.
    pub fn subscribe_errors(&self, mask: ErrorMask) -> usize {
        let all = &mut lock(&self.here).subscriptions;
        all.push(Some(Subscription::new(self.process, mask)));
        all.len() - 1
    }

    /// Ends a subscription.
    ///
    /// # Errors
    /// If it does not belong to the process.
    pub fn release_errors(&self, subscription: usize) -> Result<(), Refusal> {
        let mut here = lock(&self.here);
        here.subscription(self.process, subscription)?;
        here.subscriptions[subscription] = None;
        Ok(())
    }

    /// The errors that it covers.
    ///
    /// # Errors
    /// If it does not belong to the process.
    pub fn error_mask(&self, subscription: usize) -> Result<ErrorMask, Refusal> {
        Ok(lock(&self.here).subscription(self.process, subscription)?.mask)
    }

    /// Changes the errors that it covers.
    ///
    /// # Errors
    /// If it does not belong to the process.
    pub fn set_error_mask(&self, subscription: usize, mask: ErrorMask) -> Result<(), Refusal> {
        lock(&self.here).subscription(self.process, subscription)?.mask = mask;
        Ok(())
    }

    /// Takes the next error event (by the kernel: a system call).
    ///
    /// # Errors
    /// [`Refusal::NotDone`] if there is none; [`Refusal::Overrun`] if some were lost.
    pub async fn get_error_event(&self, subscription: usize) -> Result<ErrorEvent, Refusal> {
        self.step(Step::SystemCall).await;
        let mut here = lock(&self.here);
        here.subscription(self.process, subscription)?.take()
    }

    /// Sleeps until there is an error event, with an optional time limit, and takes it.
    ///
    /// # Errors
    /// As [`Self::get_error_event`].
    pub async fn wait_error_event(
        &self,
        subscription: usize,
        milliticks: Option<u64>,
    ) -> Result<ErrorEvent, Refusal> {
        let end = milliticks.map(|most| self.now() + Microticks::of_milliticks(most));
        loop {
            match self.get_error_event(subscription).await {
                Err(Refusal::NotDone) => {}
                found => return found,
            }
            let left = end.map(|end| end.saturating_sub(self.now()));
            if left == Some(Microticks::ZERO) {
                return Err(Refusal::NotDone);
            }
            self.core.wait(Watch::Errors, left).await;
        }
    }
}
