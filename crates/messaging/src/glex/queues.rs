//! Queues as programs read them (section 2.7): events, mini-packets, failed requests; and, for the kernel,
//! interrupts and error packets.

use super::device::ThDevice;
use super::{Glex, Refusal, Step, lock};
use crate::device::Device;
use netloom_nic::th::{ErrorPacket, Event, FailedRequest, Interrupt, MiniPacket, Watch};

impl ThDevice {
    /// Whether there is an event, or a mini-packet: not timed, for programs that wait by other means.
    pub fn has_any(&self, endpoint: u8) -> (bool, bool) {
        let mut here = lock(&self.here);
        self.own(&mut here, endpoint)
            .map_or((false, false), |port| (!port.events.is_quiet(), !port.mini_packets.is_quiet()))
    }

    /// Removes `count` events that have been probed from the queue.
    ///
    /// # Errors
    /// If there are fewer, or the endpoint does not belong to the process.
    pub fn discard_events(&self, endpoint: u8, count: usize) -> Result<(), Refusal> {
        self.own(&mut lock(&self.here), endpoint)?.events.discard(count)
    }

    /// Takes a mini-packet: it is copied from the queue at its full length.
    pub(super) fn take_mini_packet(&self, endpoint: u8) -> Result<MiniPacket, Refusal> {
        let mini = self.own(&mut lock(&self.here), endpoint)?.mini_packets.pop()?;
        let lines = u64::from(self.common.config.mini_packet_B.div_ceil(64));
        self.spend(Step::CopyLines(lines));
        Ok(mini)
    }

    /// Removes `count` mini-packets that have been probed from the queue.
    ///
    /// # Errors
    /// If there are fewer, or the endpoint does not belong to the process.
    pub fn discard_mini_packets(&self, endpoint: u8, count: usize) -> Result<(), Refusal> {
        self.own(&mut lock(&self.here), endpoint)?.mini_packets.discard(count)
    }

    /// Enables or disables interrupts for when queues of an endpoint become nonempty.
    ///
    /// # Errors
    /// If it does not belong to the process.
    pub fn interrupt_when_not_empty(
        &self,
        endpoint: u8,
        events: bool,
        mini_packets: bool,
    ) -> Result<(), Refusal> {
        self.own(&mut lock(&self.here), endpoint)?.interrupts = [events, mini_packets];
        Ok(())
    }

    /// Sets up the node's error packet queue with this capacity, 0 for none, and whether each rejected packet
    /// interrupts.
    pub fn save_error_packets(&self, entries: usize, interrupt: bool) {
        let mut here = lock(&self.here);
        here.errors.resize(entries);
        here.error_interrupts = interrupt;
    }
}

impl Glex {
    /// Polls once for an event, and takes it.
    ///
    /// # Errors
    /// If there is none, the queue was full and events were lost, or the endpoint does not belong to the
    /// process.
    pub async fn poll_event(&self, endpoint: u8) -> Result<Event, Refusal> {
        self.step(Step::Poll).await;
        self.own(&mut lock(&self.here), endpoint)?.events.pop()
    }

    /// Polls until there is an event, and takes it.
    ///
    /// # Errors
    /// If the queue was full and events were lost, or the endpoint does not belong to the process.
    pub async fn wait_event(&self, endpoint: u8) -> Result<Event, Refusal> {
        self.wait(Watch::Events(endpoint), None).await;
        self.own(&mut lock(&self.here), endpoint)?.events.pop()
    }

    /// Polls until there is an event, up to a time limit, and takes it.
    ///
    /// # Errors
    /// As [`Self::poll_event`].
    pub async fn wait_event_for(&self, endpoint: u8, milliticks: u64) -> Result<Event, Refusal> {
        self.wait(Watch::Events(endpoint), Some(milliticks)).await;
        self.own(&mut lock(&self.here), endpoint)?.events.pop()
    }

    /// Reads the event at index `place`, which stays in the queue.
    ///
    /// # Errors
    /// If there are fewer, or the endpoint does not belong to the process.
    pub async fn probe_event(&self, endpoint: u8, place: usize) -> Result<Event, Refusal> {
        self.step(Step::Poll).await;
        self.own(&mut lock(&self.here), endpoint)?.events.peek(place).copied().ok_or(Refusal::Empty)
    }

    /// Polls once for a mini-packet, and takes it.
    ///
    /// # Errors
    /// As [`Self::poll_event`].
    pub async fn poll_mini_packet(&self, endpoint: u8) -> Result<MiniPacket, Refusal> {
        self.step(Step::Poll).await;
        let taken = self.take_mini_packet(endpoint);
        self.core.done().await;
        taken
    }

    /// Polls until there is a mini-packet, and takes it.
    ///
    /// # Errors
    /// As [`Self::wait_event`].
    pub async fn wait_mini_packet(&self, endpoint: u8) -> Result<MiniPacket, Refusal> {
        self.wait(Watch::MiniPackets(endpoint), None).await;
        let taken = self.take_mini_packet(endpoint);
        self.core.done().await;
        taken
    }

    /// Polls until there is a mini-packet, up to a time limit, and takes it.
    ///
    /// # Errors
    /// As [`Self::poll_event`].
    pub async fn wait_mini_packet_for(&self, endpoint: u8, milliticks: u64) -> Result<MiniPacket, Refusal> {
        self.wait(Watch::MiniPackets(endpoint), Some(milliticks)).await;
        let taken = self.take_mini_packet(endpoint);
        self.core.done().await;
        taken
    }

    /// Reads the mini-packet at index `place`, which stays in the queue and is not copied.
    ///
    /// # Errors
    /// If there are fewer, or the endpoint does not belong to the process.
    pub async fn probe_mini_packet(&self, endpoint: u8, place: usize) -> Result<MiniPacket, Refusal> {
        self.step(Step::Poll).await;
        self.own(&mut lock(&self.here), endpoint)?.mini_packets.peek(place).cloned().ok_or(Refusal::Empty)
    }

    /// Polls once for a failed request of this endpoint, with or without an event.
    ///
    /// # Errors
    /// As [`Self::poll_event`].
    pub async fn poll_failed(&self, endpoint: u8) -> Result<FailedRequest, Refusal> {
        self.step(Step::Poll).await;
        self.own(&mut lock(&self.here), endpoint)?.failed.pop()
    }

    /// Sleeps until there is an interrupt, and takes it: the role of the node's system software, for any
    /// process.
    ///
    /// # Errors
    /// If the queue was full and some were lost.
    pub async fn wait_interrupt(&self) -> Result<Interrupt, Refusal> {
        loop {
            self.wait(Watch::Interrupts, None).await;
            match lock(&self.here).interrupts.pop() {
                Err(Refusal::Empty) => {}
                found => return found,
            }
        }
    }

    /// Polls once for an error packet, and takes it.
    ///
    /// # Errors
    /// If there is none; if the queue was full and some were lost.
    pub async fn poll_error_packet(&self) -> Result<ErrorPacket, Refusal> {
        self.step(Step::Poll).await;
        lock(&self.here).errors.pop()
    }
}
