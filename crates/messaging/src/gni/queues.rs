//! Completion queues as programs use them (`GNI_Cq…`): tested, polled, or with blocking waits until the NIC
//! interrupts.

use super::device::AriesDevice;
use super::{Gni, Step, lock};
use netloom_nic::aries::status::Refusal;
use netloom_nic::aries::{Event, Queue, QueueMode, Watch};
use netloom_node::time::Microticks;

impl AriesDevice {
    /// Creates a polled completion queue with this capacity (by the kernel).
    pub fn cq_create(&self, entries: usize) -> u16 {
        self.cq_create_with(entries, QueueMode::Polled)
    }

    /// Creates a completion queue with this capacity (by the kernel).
    pub fn cq_create_with(&self, entries: usize, mode: QueueMode) -> u16 {
        let queue = Queue { mode, ..Queue::new(self.process, entries) };
        lock(&self.here).add_queue(queue)
    }

    /// Destroys a completion queue.
    ///
    /// # Errors
    /// If it does not belong to the process.
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

    /// Whether a queue of the process has an event: not timed, for programs that wait by other means.
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

    /// Masks the interrupts of a blocking queue.
    ///
    /// # Errors
    /// If it does not belong to the process, or is polled.
    pub fn cq_interrupt_mask(&self, queue: u16) -> Result<(), Refusal> {
        self.mask(queue, true)
    }

    /// Unmasks them. Events that arrived in between do not interrupt: test the queue before sleeping.
    ///
    /// # Errors
    /// If it does not belong to the process, or is polled.
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
    /// Tests a queue once, and takes its event.
    ///
    /// # Errors
    /// If there is none, the queue was full and events were lost, or it does not belong to the process.
    pub async fn cq_get_event(&self, queue: u16) -> Result<Event, Refusal> {
        self.step(Step::Poll).await;
        self.take_event(queue)
    }

    /// Tests once whether a queue has an event, and leaves it there.
    ///
    /// # Errors
    /// As [`Self::cq_get_event`]; a loss of events is still reported to the next call that takes one.
    pub async fn cq_test_event(&self, queue: u16) -> Result<(), Refusal> {
        self.step(Step::Poll).await;
        self.with_queue(queue, |q| match (q.is_overrun, q.events.is_empty()) {
            (true, _) => Err(Refusal::Overrun),
            (false, true) => Err(Refusal::NotDone),
            (false, false) => Ok(()),
        })?
    }

    /// Waits until a queue has an event, and takes it.
    ///
    /// # Errors
    /// If events were lost, or it does not belong to the process.
    pub async fn cq_wait_event(&self, queue: u16) -> Result<Event, Refusal> {
        self.core.wait(Watch::Queue(queue), None).await;
        self.take_event(queue)
    }

    /// Waits until a queue has an event, up to a time limit, and takes it.
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

    /// The first of the queues that has an event (`GNI_CqVectorMonitor`), waiting with an optional time
    /// limit.
    ///
    /// # Errors
    /// If no event has arrived, or a queue does not belong to the process.
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

    /// Waits until any of the queues has an event, with an optional time limit, and takes it
    /// (`GNI_CqVectorWaitEvent`); returns its queue.
    ///
    /// # Errors
    /// If no event has arrived, or events were lost.
    pub async fn cq_vector_wait_event(
        &self,
        queues: &[u16],
        milliticks: Option<u64>,
    ) -> Result<(usize, Event), Refusal> {
        let place = self.cq_vector_monitor(queues, milliticks).await?;
        self.take_event(queues[place]).map(|event| (place, event))
    }
}
