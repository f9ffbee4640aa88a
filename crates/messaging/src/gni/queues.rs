//! Completion queues as programs use them (`GNI_Cq…`): looked at, polled, or slept on until the NIC interrupts.

use super::device::AriesDevice;
use super::{Gni, Step, lock};
use netloom_nic::aries::status::Refusal;
use netloom_nic::aries::{Event, Queue, QueueMode, Watch};
use netloom_node::time::Microticks;

impl AriesDevice {
    /// Makes a completion queue for so many events, which is polled (the kernel's part).
    pub fn cq_create(&self, entries: usize) -> u16 {
        self.cq_create_with(entries, QueueMode::Polled)
    }

    /// Makes a completion queue for so many events (the kernel's part).
    pub fn cq_create_with(&self, entries: usize, mode: QueueMode) -> u16 {
        let queue = Queue { mode, ..Queue::new(self.process, entries) };
        lock(&self.here).add_queue(queue)
    }

    /// Takes a completion queue away.
    ///
    /// # Errors
    /// If it is not the process' own.
    pub fn cq_destroy(&self, queue: u16) -> Result<(), Refusal> {
        self.with_queue(queue, |_| ())?;
        lock(&self.here).queues[usize::from(queue)] = None;
        Ok(())
    }

    fn with_queue<T>(&self, queue: u16, then: impl FnOnce(&mut Queue) -> T) -> Result<T, Refusal> {
        let mut here = lock(&self.here);
        let q = here.queue(queue).filter(|q| q.process == self.process).ok_or(Refusal::InvalidParam)?;
        Ok(then(q))
    }

    /// Whether an event lies in a queue of the process: not timed, for who waits for it otherwise.
    pub fn cq_has_event(&self, queue: u16) -> bool {
        self.with_queue(queue, |q| q.has_any()).unwrap_or(false)
    }

    pub(super) fn take_event(&self, queue: u16) -> Result<Event, Refusal> {
        self.with_queue(queue, |q| {
            if std::mem::take(&mut q.is_overrun) {
                return Err(Refusal::Overrun);
            }
            q.events.pop_front().ok_or(Refusal::NotDone)
        })?
    }

    /// Lets a blocking queue no longer interrupt.
    ///
    /// # Errors
    /// If it is not the process' own, or is polled.
    pub fn cq_interrupt_mask(&self, queue: u16) -> Result<(), Refusal> {
        self.mask(queue, true)
    }

    /// Lets it interrupt again. What came in between interrupts nobody by itself: look before sleeping.
    ///
    /// # Errors
    /// If it is not the process' own, or is polled.
    pub fn cq_interrupt_unmask(&self, queue: u16) -> Result<(), Refusal> {
        self.mask(queue, false)
    }

    fn mask(&self, queue: u16, is_masked: bool) -> Result<(), Refusal> {
        self.with_queue(queue, |q| {
            if q.mode == QueueMode::Polled {
                return Err(Refusal::InvalidState);
            }
            q.is_masked = is_masked;
            Ok(())
        })?
    }
}

impl Gni {
    /// Looks once whether an event lies in a queue, and takes it.
    ///
    /// # Errors
    /// If none does; if the queue was full and events were lost; if it is not the process' own.
    pub async fn cq_get_event(&self, queue: u16) -> Result<Event, Refusal> {
        self.step(Step::Poll).await;
        self.take_event(queue)
    }

    /// Looks once whether an event lies in a queue, and leaves it there.
    ///
    /// # Errors
    /// As [`Self::cq_get_event`], but that events were lost is still told to who takes one.
    pub async fn cq_test_event(&self, queue: u16) -> Result<(), Refusal> {
        self.step(Step::Poll).await;
        self.with_queue(queue, |q| match (q.is_overrun, q.events.is_empty()) {
            (true, _) => Err(Refusal::Overrun),
            (false, true) => Err(Refusal::NotDone),
            (false, false) => Ok(()),
        })?
    }

    /// Waits until an event lies in a queue, and takes it.
    ///
    /// # Errors
    /// If events were lost; if it is not the process' own.
    pub async fn cq_wait_event(&self, queue: u16) -> Result<Event, Refusal> {
        self.core.wait(Watch::Queue(queue), None).await;
        self.take_event(queue)
    }

    /// Waits until an event lies in a queue, but for so long at most, and takes it.
    ///
    /// # Errors
    /// As [`Self::cq_get_event`].
    pub async fn cq_wait_event_for(&self, queue: u16, milliticks: u64) -> Result<Event, Refusal> {
        self.wait_for(Watch::Queue(queue), milliticks).await;
        self.take_event(queue)
    }

    async fn wait_for(&self, watch: Watch, milliticks: u64) {
        self.core.wait(watch, Some(Microticks::of_milliticks(milliticks))).await;
    }

    /// The first of the queues in which something lies (`GNI_CqVectorMonitor`), which it waits for so long at most, or without end.
    ///
    /// # Errors
    /// If nothing has come; if a queue is not the process' own.
    pub async fn cq_vector_monitor(&self, queues: &[u16], milliticks: Option<u64>) -> Result<usize, Refusal> {
        let end = milliticks.map(|most| self.now() + Microticks::of_milliticks(most));
        loop {
            for (place, &queue) in queues.iter().enumerate() {
                if self.with_queue(queue, |q| q.has_any())? {
                    self.compute_milliticks(self.core().poll_milliticks * (place as u64 + 1)).await;
                    return Ok(place);
                }
            }
            let left = end.map(|end| end.saturating_sub(self.now()));
            if left == Some(Microticks::ZERO) {
                return Err(Refusal::NotDone);
            }
            self.core.wait(Watch::AnyQueue, left).await;
        }
    }

    /// Waits until an event lies in any of the queues, for so long at most or without end, and takes it (`GNI_CqVectorWaitEvent`); says in which.
    ///
    /// # Errors
    /// If nothing has come; if events were lost.
    pub async fn cq_vector_wait_event(
        &self,
        queues: &[u16],
        milliticks: Option<u64>,
    ) -> Result<(usize, Event), Refusal> {
        let place = self.cq_vector_monitor(queues, milliticks).await?;
        self.take_event(queues[place]).map(|event| (place, event))
    }
}
