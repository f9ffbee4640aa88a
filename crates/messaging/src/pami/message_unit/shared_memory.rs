//! Packets between the processes of a node (section III.F): "lockless queues that take advantage of L2 atomic
//! increment instructions", of which "each process owns only one ... to which others atomically write into".
//! Here each context owns one, so that contexts share none (section III.B). It is an array of slots: a sender
//! takes the next by a bounded increment (section III.B), writes its packet there, and adds to the slot's
//! word; the owner takes them in order.
//!
//! Data of any length that is sent by rendezvous, or put or got, is copied by the processor that would read
//! or write it remotely, since all memory of the node is visible to its processes (section II.D).

use super::{PACKET_MAX, UnitContext};
use crate::pami::Endpoint;
use crate::pami::device::{Begun, Full, PamiDevice, Piece, Range, Step, Transfer};
use crate::pami::packet::Head;
use crate::spi::device::UnitDevice;
use crate::spi::kernel::REGIONS;
use netloom_nic::message_unit::commands::Watch;
use std::collections::{BTreeMap, VecDeque};

/// Where the queues are: below the words of groups, and above what the kernel allocates.
const QUEUES: u64 = super::collective::SHARED - CONTEXTS * QUEUE_B;
/// Most contexts of a node.
const CONTEXTS: u64 = 64;
const QUEUE_B: u64 = 1 << 17;

/// Whether a range is memory that the kernel allocates, to programs and for what is mapped.
pub fn is_memory(address: u64, bytes: u64) -> bool {
    bytes == 0 || address >= REGIONS && address.checked_add(bytes).is_some_and(|end| end <= QUEUES)
}

/// Slots of a queue **(ours)**, and their length: head, length, bytes.
const SLOTS: u64 = 128;
const SLOT_B: u64 = 16 + PACKET_MAX as u64;

/// Offsets in a queue: slots that senders have taken, slots that the owner has emptied, the slots' words, the
/// slots.
const TAKEN: u64 = 0;
const EMPTIED: u64 = 64;
const WRITTEN: u64 = 1024;
const CONTENTS: u64 = 4096;
const _: () = assert!(CONTENTS + SLOTS * SLOT_B <= QUEUE_B && WRITTEN + 8 * SLOTS <= CONTENTS);

/// The queue of a context of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Queue(u64);

impl Queue {
    /// By its number on the node.
    fn new(number: u16) -> Self {
        Queue(QUEUES + u64::from(number) * QUEUE_B)
    }

    fn slot(self, number: u64) -> u64 {
        self.0 + CONTENTS + number % SLOTS * SLOT_B
    }

    /// The word of a slot, and its value when it has been written as often as the number says.
    fn written(self, number: u64) -> (u64, u64) {
        (self.0 + WRITTEN + 8 * (number % SLOTS), number / SLOTS + 1)
    }

    fn taken(self, device: &UnitDevice) -> u64 {
        let bytes = device.load(self.0 + TAKEN, 8);
        u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"))
    }

    fn emptied(self, device: &UnitDevice) -> u64 {
        device.word(self.0 + EMPTIED)
    }

    /// The condition that there is a free slot.
    fn room(self, device: &UnitDevice) -> Watch {
        Watch::Word(self.0 + EMPTIED, (self.taken(device) + 1).saturating_sub(SLOTS))
    }
}

/// What a context has in the queues of its node.
pub(super) struct Queues {
    own: Queue,
    /// The next slot of its own.
    next: u64,
    /// Whether there are other processes on the node.
    has_others: bool,
    /// Packets that found no free slot, by queue.
    overflow: BTreeMap<Queue, VecDeque<(Head, Vec<u8>)>>,
    /// The queue that had no free slot last.
    full: Option<Queue>,
}

impl Queues {
    /// Those of the context with this number on the node.
    pub(super) fn new(number: u16, device: &UnitDevice, processes: u8) -> Self {
        let own = Queue::new(number);
        // An earlier context of this number has used the same.
        let (next, has_others) = (own.emptied(device), processes > 1);
        Queues { own, next, has_others, overflow: BTreeMap::new(), full: None }
    }

    /// Forgets which queue was full.
    pub(super) fn retry(&mut self) {
        self.full = None;
    }

    /// The conditions under which there is something to do.
    pub(super) fn watches(&self, device: &UnitDevice) -> impl Iterator<Item = Watch> {
        // A process that is alone on its node polls only for what it has sent to itself.
        let is_polled = self.has_others || self.own.taken(device) > self.next;
        let (word, least) = self.own.written(self.next);
        let own = is_polled.then_some(Watch::Word(word, least));
        let full = self.full.into_iter().chain(self.overflow.keys().copied());
        let rooms: Vec<Watch> = full.map(|queue| queue.room(device)).collect();
        own.into_iter().chain(rooms)
    }
}

impl UnitContext {
    /// Whether an endpoint is on this node, and is reached by shared memory.
    pub fn is_local(&self, to: Endpoint) -> bool {
        self.placement.of_task(to.task()).0 == self.device.node() && !to.is_by_network()
    }

    fn queue(&self, to: Endpoint) -> Queue {
        let (_, process) = self.placement.of_task(to.task());
        Queue::new(self.resources.reception(process, to.offset() as u16))
    }

    /// Writes a packet into a local context's queue.
    pub(super) fn write_slot(&mut self, to: Endpoint, head: Head, bytes: &[u8]) -> Result<(), Full> {
        let queue = self.queue(to);
        if self.queues.overflow.contains_key(&queue) {
            return Err(Full);
        }
        self.write_to(queue, head, bytes)
    }

    fn write_to(&mut self, queue: Queue, head: Head, bytes: &[u8]) -> Result<(), Full> {
        self.spend(Step::Atomic);
        let number = queue.taken(&self.device);
        if number - queue.emptied(&self.device) >= SLOTS {
            self.queues.full = Some(queue);
            return Err(Full);
        }
        self.device.store(queue.0 + TAKEN, &(number + 1).to_le_bytes());
        let mut packet = head.to_word().to_le_bytes().to_vec();
        packet.extend((bytes.len() as u64).to_le_bytes());
        packet.extend_from_slice(bytes);
        self.device.store(queue.slot(number), &packet);
        self.device.add_word(queue.written(number).0, 1);
        Ok(())
    }

    /// Keeps a packet for a local context whose queue has no free slot ("This fixed-sized array is enhanced
    /// with an overflow queue", section III.B), for senders that cannot wait.
    pub fn overflow(&mut self, to: Endpoint, head: Head, bytes: Vec<u8>) {
        let queue = self.queue(to);
        self.queues.overflow.entry(queue).or_default().push_back((head, bytes));
    }

    /// Takes what is in the own queue, and writes what found no slot.
    pub(super) fn collect_local(&mut self) {
        loop {
            let (word, least) = self.queues.own.written(self.queues.next);
            if self.device.word(word) < least {
                break;
            }
            // The line has been written by another core.
            self.spend(Step::Atomic);
            let slot = self.queues.own.slot(self.queues.next);
            let lead = self.device.load(slot, 16);
            let integer = |at: usize| u64::from_le_bytes(lead[at..at + 8].try_into().expect("eight bytes"));
            let bytes = self.device.load(slot + 16, integer(8) as usize);
            if let Some(head) = Head::of_word(integer(0)) {
                self.inbox.push_back((head, bytes));
            }
            self.device.add_word(self.queues.own.0 + EMPTIED, 1);
            self.queues.next += 1;
        }
        let mut waiting = std::mem::take(&mut self.queues.overflow);
        for (&queue, list) in &mut waiting {
            while let Some((head, bytes)) = list.front()
                && self.write_to(queue, *head, bytes).is_ok()
            {
                list.pop_front();
            }
        }
        waiting.retain(|_, list| !list.is_empty());
        self.queues.overflow = waiting;
        if !self.queues.overflow.is_empty() {
            self.queues.full = None;
        }
    }

    /// Sends the first bytes of memory to a local context.
    pub(super) fn send_local(&mut self, to: Endpoint, head: Head, data: Range) -> Result<(u64, Begun), Full> {
        let part = data.part(0, data.bytes.min(PACKET_MAX as u64));
        self.inject_memory(to, head, &[], part)?;
        Ok((part.bytes, Begun::Done))
    }

    /// Copies pieces between this task's memory and that of another of the node.
    pub(super) fn copy_pieces(&mut self, way: Transfer, pieces: &[Piece]) -> Begun {
        for &(local, remote) in pieces.iter().filter(|(local, _)| local.bytes > 0) {
            let own = self.physical(local);
            match way {
                Transfer::Get => self.device.copy(remote, own, local.bytes),
                Transfer::Put => self.device.copy(own, remote, local.bytes),
            }
            self.spend(Step::Copy(local.bytes));
        }
        Begun::Done
    }
}
