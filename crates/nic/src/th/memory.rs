//! Writes to host memory, and the processes that poll for them.

use super::node::{Common, Event, FailedRequest, MiniPacket, lock, place};
use super::queue::{ErrorPacket, Interrupt};
use super::{Action, Nic, Watch};
use crate::pcie::Direction;
use netloom_fabric::packet::Data;
use netloom_node::polling::Polling;
use netloom_node::time::Microticks;

/// A write to memory.
pub enum MemoryWrite {
    /// Data, at a process's address.
    Data { process: u8, address: u64, bytes: u32, data: Option<Data> },
    /// An event, in a port's event queue.
    Event(u8, Event),
    /// A mini-packet, in a port's mini-packet queue; `None` if that is full.
    Mini(u8, Option<MiniPacket>),
    /// A failed request, in its port's list.
    Failed(u8, FailedRequest),
    /// An interrupt, in the node's interrupt queue.
    Interrupt(Interrupt),
    /// The write that interrupts a core.
    Wake,
    /// A rejected packet, in the node's error packet queue.
    Error(Box<ErrorPacket>),
}

impl Nic {
    /// Sends data over PCI-Express in as many transfers as needed; returns when the last has left.
    pub(super) fn transfer(
        &mut self,
        c: &Common,
        direction: Direction,
        t: Microticks,
        bytes: u32,
    ) -> Microticks {
        let most = c.config.pcie_payload_max_B;
        let mut left = bytes;
        loop {
            let now = left.min(most);
            let (_, end) = self.pcie.send(&c.config.pcie, direction, t, now);
            left -= now;
            if left == 0 {
                return end;
            }
        }
    }

    /// Writes to memory.
    pub(super) fn write(&mut self, c: &Common, t: Microticks, bytes: u32, memory_write: MemoryWrite) {
        let end = self.transfer(c, Direction::Up, t, bytes);
        self.schedule.at(
            end + Microticks::of_milliticks(c.config.pcie.crossing_milliticks),
            Action::WriteDone(Box::new(memory_write)),
        );
    }

    /// A write has reached memory: processes that poll for it are resumed.
    pub(super) fn write_done(&mut self, c: &Common, t: Microticks, memory_write: MemoryWrite) {
        match memory_write {
            MemoryWrite::Data { process, address, bytes, data } => {
                let at = place(process, address);
                let data = data.as_deref().map(|d| &d[..bytes as usize]);
                lock(&self.here).contents.store(at, bytes as usize, data);
                let touched = address..address + u64::from(bytes);
                self.found(c, t, |who, watch| match watch {
                    Watch::Memory { address, bytes } => {
                        who == process && address < touched.end && touched.start < address + bytes
                    }
                    _ => false,
                });
            }
            MemoryWrite::Event(vp, event) => {
                self.event_landed(c, t, vp, event);
                self.found(c, t, |_, watch| watch == Watch::Events(vp));
            }
            MemoryWrite::Mini(vp, mini) => {
                self.mini_packet_landed(c, t, vp, mini);
                self.found(c, t, |_, watch| watch == Watch::MiniPackets(vp));
            }
            MemoryWrite::Failed(vp, failed) => {
                if let Some(port) = lock(&self.here).port(vp) {
                    port.failed.push(failed);
                }
            }
            MemoryWrite::Interrupt(interrupt) => self.interrupt_landed(c, t, interrupt),
            MemoryWrite::Wake => {
                let asleep = Polling::asleep(Microticks::of_milliticks(c.config.core.interrupt_milliticks));
                self.schedule.found(t, |_| asleep, |_, watch| watch == Watch::Interrupts);
            }
            MemoryWrite::Error(error) => self.error_landed(*error),
        }
    }

    /// Resumes processes that poll for this at the end of the poll that finds it.
    fn found(&mut self, c: &Common, t: Microticks, is_it: impl Fn(u8, Watch) -> bool) {
        self.schedule.found(t, |_| c.config.core.polling(), is_it);
    }
}
