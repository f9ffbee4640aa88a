//! The submission of descriptors to the NIC (section 2.2): by PIO writes to a port's HDQ; or by a doorbell,
//! scheduling, and a read across PCI-Express into the port's SDQ buffer. Buffered descriptors are taken from
//! the ports in turn.

use super::descriptor::{Descriptor, Operation};
use super::node::{Common, PIO_PORTS, PORTS, lock};
use super::{Action, Nic};
use crate::pcie::{Direction, at_host};
use netloom_node::time::Microticks;
use std::collections::VecDeque;

/// A core's store to the NIC.
pub enum Write {
    /// A descriptor, for the HDQ of its port.
    Descriptor(Box<Descriptor>),
    /// A doorbell: a port's SDQ has one more descriptor.
    Doorbell(u8),
    /// An item of the memory checker becomes valid or invalid.
    Refresh(u16, bool),
}

impl Nic {
    /// The last store of a core has left it: the lines are sent over PCI-Express.
    pub(super) fn core_writes(&mut self, c: &Common, t: Microticks, write: Write) {
        let bytes = match &write {
            Write::Descriptor(descriptor) => descriptor.length(&c.config),
            Write::Doorbell(_) => 8,
            Write::Refresh(..) => 32,
        };
        // All lines but the last were sent while the core stored the next.
        let last = (bytes - 1) % 64 + 1;
        for _ in 0..(bytes - last) / 64 {
            self.pcie.send(&c.config.pcie, Direction::Down, t, 64);
        }
        let (_, end) = self.pcie.send(&c.config.pcie, Direction::Down, t, last);
        self.schedule
            .at(end + Microticks::of_milliticks(c.config.pcie.crossing_milliticks), Action::Arrived(write));
    }

    /// A store has arrived at the NIC.
    pub(super) fn write_arrived(&mut self, c: &Common, t: Microticks, write: Write) {
        match write {
            Write::Descriptor(descriptor) => {
                self.buffers.entry(descriptor.vp).or_default().push_back(*descriptor);
                self.feed(c, t);
            }
            Write::Refresh(item, is_valid) => self.refresh(c, t, item, is_valid),
            Write::Doorbell(vp) => {
                *self.doorbells.entry(vp).or_default() += 1;
                self.schedule
                    .at(t + Microticks::of_milliticks(c.config.schedule_milliticks), Action::Schedule);
            }
        }
    }

    /// Requests the next descriptor, from the DMA ports in turn; a port with a full buffer is skipped.
    pub(super) fn ask_for_descriptor(&mut self, c: &Common, t: Microticks) {
        let ports = PORTS - PIO_PORTS;
        for turn in 1..=ports {
            let vp = PIO_PORTS + (self.fetch_turn + turn) % ports;
            let asked = self.doorbells.get(&vp).copied().unwrap_or(0);
            let mut here = lock(&self.here);
            let Some(port) = here.port(vp) else { continue };
            if asked == 0 || port.held >= c.config.port_descriptors {
                continue;
            }
            let Some(descriptor) = port.sdq.pop_front() else { continue };
            port.held += 1;
            let port_is_far = port.config.is_far;
            drop(here);
            self.doorbells.insert(vp, asked - 1);
            self.fetch_turn = vp - PIO_PORTS;
            let far = u64::from(port_is_far) * Microticks::of_milliticks(c.config.pcie.qpi_milliticks);
            let (_, end) = self.pcie.send(&c.config.pcie, Direction::Up, t, 0);
            let at = end + at_host(&c.config.pcie) + 2 * far;
            self.schedule.at(at, Action::DescriptorAtHost(Box::new(descriptor)));
            return;
        }
    }

    /// The host's memory has a descriptor, which is queued for the return transfer.
    pub(super) fn descriptor_at_host(&mut self, c: &Common, t: Microticks, descriptor: Box<Descriptor>) {
        let end = self.transfer(c, Direction::Down, t, descriptor.length(&c.config));
        let there = end + Microticks::of_milliticks(c.config.pcie.crossing_milliticks);
        self.schedule.at(there, Action::Arrived(Write::Descriptor(descriptor)));
    }

    /// Takes descriptors from their ports in turn, up to the limit of concurrent transfers. If the next one
    /// lacks a sender context, none is taken.
    pub(super) fn feed(&mut self, c: &Common, t: Microticks) {
        while self.transfers.len() < c.config.transfers as usize {
            // Responses to other nodes go first.
            let answer = self.answers.front().cloned();
            let vp = (1..=PORTS).map(|turn| (self.serve_turn + turn) % PORTS).find(|&vp| self.is_ready(vp));
            let next = answer.as_ref().or_else(|| vp.and_then(|vp| self.buffers.get(&vp)?.front()));
            let Some(next) = next else { return };
            if next.options.connect && self.senders >= c.config.sender_contexts {
                self.counters.pauses += 1;
                return;
            }
            let descriptor = if answer.is_some() {
                self.answers.pop_front()
            } else {
                let vp = vp.expect("a port has one");
                self.serve_turn = vp;
                self.next_use(c, vp)
            };
            let Some(descriptor) = descriptor else { return };
            let ready = match descriptor.operation {
                Operation::Answer => t,
                _ => t + Microticks::of_milliticks(c.config.process_milliticks),
            };
            let id = self.new_transfer(descriptor);
            self.schedule.at(ready, Action::Begin(id));
            // The port may have space for its next descriptor.
            self.schedule.at(t, Action::Schedule);
        }
    }

    /// The next descriptor of a port. A collective one is returned once for each of its children (section
    /// 2.5).
    fn next_use(&mut self, c: &Common, vp: u8) -> Option<Descriptor> {
        self.set_off(c, vp);
        let buffer = self.buffers.get_mut(&vp)?;
        let first = buffer.front_mut()?;
        if let Some(next) = first.more.pop_front() {
            let now = Descriptor { more: VecDeque::new(), ..first.clone() };
            first.to = next;
            return Some(now);
        }
        if let Some(port) = lock(&self.here).port(vp) {
            port.held -= 1;
        }
        buffer.pop_front()
    }
}
