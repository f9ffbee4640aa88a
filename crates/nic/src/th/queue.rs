//! Queues in host memory, which the NIC writes and software reads (section 2.7): events, mini-packets,
//! interrupts and error packets. Queues of events and mini-packets may have virtual addresses, so that they
//! can be larger than a contiguous piece of physical memory.

use super::checker::PAGE_B;
use super::config::ThConfig;
use super::engine::Ended;
use super::node::{Common, Event, MiniPacket, lock};
use super::packet::Packet;
use super::status::{Refusal, Status};
use super::{Action, MemoryWrite, Nic};
use netloom_node::time::Microticks;
use std::collections::VecDeque;

/// Size of an event in memory, bytes.
pub const EVENT_B: u32 = 16;
/// Size of an interrupt in memory **(ours)**, and of the write that interrupts a core, bytes.
const INTERRUPT_B: u32 = 16;
const MESSAGE_B: u32 = 4;

/// The configuration of an endpoint's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Its capacity, entries.
    pub entries: usize,
    /// Its virtual address; `None` for one piece of physical memory.
    pub at: Option<u64>,
}

impl QueueConfig {
    /// A queue in one piece of physical memory.
    pub fn pinned(entries: usize) -> Self {
        QueueConfig { entries, at: None }
    }

    /// Checks it for entries of this size.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn check(&self, c: &ThConfig, entry_bytes: u32) -> Result<(), Refusal> {
        let bytes = (self.entries as u64).checked_mul(entry_bytes.into());
        let fits = bytes.is_some_and(|bytes| match self.at {
            None => bytes <= c.pinned_max_B,
            Some(at) => at % PAGE_B == 0 && at.checked_add(bytes).is_some_and(|end| end <= 1 << 48),
        });
        if self.entries > 0 && fits { Ok(()) } else { Err(Refusal::Invalid) }
    }
}

/// A queue in host memory.
pub struct Queue<T> {
    room: usize,
    list: VecDeque<T>,
    is_overflown: bool,
    /// Its address, if that must be translated; the next place to write; when the last write may leave.
    at: Option<u64>,
    next: usize,
    ready_at: Microticks,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue::new(QueueConfig::pinned(0))
    }
}

impl<T> Queue<T> {
    /// An empty queue.
    pub fn new(config: QueueConfig) -> Self {
        Queue {
            room: config.entries,
            list: VecDeque::new(),
            is_overflown: false,
            at: config.at,
            next: 0,
            ready_at: Microticks::ZERO,
        }
    }

    /// Sets its capacity.
    pub fn resize(&mut self, room: usize) {
        self.room = room;
    }

    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Adds an entry; returns whether there was space.
    pub(super) fn push(&mut self, item: T) -> bool {
        let fits = self.list.len() < self.room;
        if fits {
            self.list.push_back(item);
        }
        self.is_overflown |= !fits;
        fits
    }

    /// Records that an entry was lost.
    pub(super) fn overflow(&mut self) {
        self.is_overflown = true;
    }

    pub(super) fn has_room(&self, in_flight: usize) -> bool {
        self.list.len() + in_flight < self.room
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether software finds neither an entry nor a loss.
    pub fn is_quiet(&self) -> bool {
        self.list.is_empty() && !self.is_overflown
    }

    /// The entry at index `place`, which stays in the queue.
    pub fn peek(&self, place: usize) -> Option<&T> {
        self.list.get(place)
    }

    /// Takes the first entry. A loss is reported once, after the entries before it.
    ///
    /// # Errors
    /// If the queue is empty, or entries were lost.
    pub fn pop(&mut self) -> Result<T, Refusal> {
        match self.list.pop_front() {
            Some(item) => Ok(item),
            None if std::mem::take(&mut self.is_overflown) => Err(Refusal::Overflow),
            None => Err(Refusal::Empty),
        }
    }

    /// Removes `count` entries.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn discard(&mut self, count: usize) -> Result<(), Refusal> {
        if count > self.list.len() {
            return Err(Refusal::Empty);
        }
        self.list.drain(..count);
        Ok(())
    }

    /// The virtual address of the next place, if the queue has virtual addresses.
    fn next_place(&mut self, entry_bytes: u32) -> Option<u64> {
        let at = self.at? + self.next as u64 * u64::from(entry_bytes);
        self.next = (self.next + 1) % self.room.max(1);
        Some(at)
    }
}

/// The cause of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptKind {
    /// A descriptor requested it: the number of its event, 0 without one.
    Descriptor(u32),
    /// An event queue became nonempty.
    Events,
    /// A mini-packet queue became nonempty.
    MiniPackets,
    /// A packet was rejected.
    Error,
}

/// An entry of the interrupt queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Its cause.
    pub kind: InterruptKind,
    /// The node and port that caused it; the port itself for its own operations.
    pub from: (u32, u8),
    /// The port that it concerns.
    pub vp: u8,
}

/// Why a packet was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Its user-level CRC.
    Crc,
    /// Its key or address, or the state of its queue.
    Refused(Status),
}

/// A packet in the error packet queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPacket {
    /// Why it was rejected.
    pub kind: ErrorKind,
    /// The sending node and port.
    pub from: (u32, u8),
    /// The destination port.
    pub vp: u8,
    /// The destination address of its data.
    pub address: u64,
    /// Its data.
    pub data: Vec<u8>,
}

impl Nic {
    /// Writes to a port's queue, translating its place if it is virtual. Later writes stay behind.
    pub(super) fn write_queue(
        &mut self,
        c: &Common,
        t: Microticks,
        vp: u8,
        (bytes, memory_write): (u32, MemoryWrite),
    ) {
        let (place, far, before) = {
            let mut here = lock(&self.here);
            let Some(port) = here.port(vp) else { return };
            match memory_write {
                // An entry without space takes no place.
                MemoryWrite::Mini(_, None) => (None, port.config.is_far, t),
                MemoryWrite::Mini(..) => {
                    let queue = &mut port.mini_packets;
                    (queue.next_place(bytes), port.config.is_far, queue.ready_at)
                }
                _ => {
                    let queue = &mut port.events;
                    (queue.next_place(bytes), port.config.is_far, queue.ready_at)
                }
            }
        };
        if place.is_none() && !far {
            return self.write(c, t, bytes, memory_write);
        }
        let known = place.map_or(t, |at| self.translate(c, t, vp, (at, bytes), false));
        let qpi = u64::from(far) * Microticks::of_milliticks(c.config.pcie.qpi_milliticks);
        let ready = (known + qpi).max(before);
        if let Some(port) = lock(&self.here).port(vp) {
            match memory_write {
                MemoryWrite::Mini(..) => port.mini_packets.ready_at = ready,
                _ => port.events.ready_at = ready,
            }
        }
        self.schedule.at(ready, Action::Write(bytes, Box::new(memory_write)));
    }

    /// Reports the end of an operation to a port, by its event and by an interrupt.
    pub(super) fn report_end(&mut self, c: &Common, t: Microticks, vp: u8, ended: Ended, event: Event) {
        if ended.event {
            self.write_queue(c, t, vp, (EVENT_B, MemoryWrite::Event(vp, event)));
        }
        if ended.interrupt {
            let kind = InterruptKind::Descriptor(event.user);
            self.interrupt(c, t, Interrupt { kind, from: ended.from, vp });
        }
    }

    /// Writes an interrupt to its queue.
    pub(super) fn interrupt(&mut self, c: &Common, t: Microticks, interrupt: Interrupt) {
        self.write(c, t, INTERRUPT_B, MemoryWrite::Interrupt(interrupt));
    }

    /// An interrupt has reached its queue. If that was empty, the hardware interrupt follows, a write to the
    /// core.
    pub(super) fn interrupt_landed(&mut self, c: &Common, t: Microticks, interrupt: Interrupt) {
        let (was_empty, had_room) = {
            let queue = &mut lock(&self.here).interrupts;
            queue.resize(c.config.interrupt_entries as usize);
            (queue.is_empty(), queue.push(interrupt))
        };
        self.counters.overflows += u64::from(!had_room);
        if was_empty {
            self.counters.interrupts += 1;
            self.write(c, t, MESSAGE_B, MemoryWrite::Wake);
        }
    }

    /// An event has reached its queue.
    pub(super) fn event_landed(&mut self, c: &Common, t: Microticks, vp: u8, event: Event) {
        let mut here = lock(&self.here);
        let Some(port) = here.port(vp) else { return };
        let asks = port.interrupts[0] && port.events.is_empty();
        let had_room = port.events.push(event);
        drop(here);
        self.counters.overflows += u64::from(!had_room);
        if asks {
            let from = (self.number, vp);
            self.interrupt(c, t, Interrupt { kind: InterruptKind::Events, from, vp });
        }
    }

    /// Writes a mini-packet to a port's queue, if that has space. It is always written with its full length.
    pub(super) fn queue_mini_packet(
        &mut self,
        c: &Common,
        t: Microticks,
        vp: u8,
        mini: MiniPacket,
    ) -> Status {
        let has_room = lock(&self.here).port(vp).is_some_and(|port| {
            let has_room = port.mini_packets.has_room(port.mini_in_flight);
            port.mini_in_flight += usize::from(has_room);
            has_room
        });
        self.counters.overflows += u64::from(!has_room);
        let mini = has_room.then_some(mini);
        self.write_queue(c, t, vp, (c.config.mini_packet_B, MemoryWrite::Mini(vp, mini)));
        if has_room { Status::Success } else { Status::QueueFull }
    }

    /// A mini-packet has reached its queue, or found it full.
    pub(super) fn mini_packet_landed(&mut self, c: &Common, t: Microticks, vp: u8, mini: Option<MiniPacket>) {
        let mut here = lock(&self.here);
        let Some(port) = here.port(vp) else { return };
        let Some(mini) = mini else { return port.mini_packets.overflow() };
        let asks = port.interrupts[1] && port.mini_packets.is_empty();
        let from = mini.from;
        port.mini_in_flight -= 1;
        port.mini_packets.push(mini);
        drop(here);
        if asks {
            self.interrupt(c, t, Interrupt { kind: InterruptKind::MiniPackets, from, vp });
        }
    }

    /// Saves a rejected packet, if the error packet queue has been set up.
    pub(super) fn save_error(
        &mut self,
        c: &Common,
        t: Microticks,
        (from, packet): (u32, &Packet),
        data: Option<&[u8]>,
        kind: ErrorKind,
    ) {
        let (room, interrupts) = {
            let here = lock(&self.here);
            (here.errors.room(), here.error_interrupts)
        };
        let (from, vp) = ((from, packet.from_vp), packet.vp);
        if room > 0 {
            let data = data.unwrap_or(&[]).to_vec();
            let bytes = c.packet.request_header_flits * c.packet.flit_bits / 8 + data.len() as u32;
            let error = ErrorPacket { kind, from, vp, address: packet.address, data };
            self.write(c, t, bytes, MemoryWrite::Error(Box::new(error)));
        }
        if interrupts {
            self.interrupt(c, t, Interrupt { kind: InterruptKind::Error, from, vp });
        }
    }

    /// A rejected packet has reached its queue.
    pub(super) fn error_landed(&mut self, error: ErrorPacket) {
        let had_room = lock(&self.here).errors.push(error);
        self.counters.overflows += u64::from(!had_room);
    }
}
