//! The queues of a receiver's VCs (section II.B): a packet joins the one with the fewest packets, and packets
//! in different queues do not block one another. Deterministic packets in one direction leave in the order of
//! arrival, whatever queues hold them: each gets a ticket, and is served when its ticket is next.

use super::QueuedFamily;
use super::block::Shared;
use super::state::*;
use crate::host::Host;
use crate::packet::{Data, Header, Meta};
use netloom_engine::Time;

impl<H: Host<QueuedFamily>> Shared<H> {
    /// A packet joins a VC.
    #[inline(always)]
    pub(super) fn join(
        &mut self,
        n: &mut Node,
        port: usize,
        vc: usize,
        packet: u32,
        header: Header,
        now: Time,
    ) {
        let r = &mut n.receivers[port];
        let mut head = self.tables.head(header, 0);
        if head.is_ordered() {
            let came = &mut r.came[vc][head.fixed()];
            head.ticket = *came;
            *came = came.wrapping_add(1);
        }
        let slot = r.shortest(vc, self.tables.queues);
        let cell =
            Cell { header, next: 0, arrived: now.ticks() as u32, ticket: head.ticket, slot: slot as u8 };
        *self.cell_mut(packet) = cell;
        let leaving = r.leaving >> slot & 1;
        let before = u32::from(r.count[slot]) - leaving;
        if before == 0 {
            r.queues[slot].first = packet;
        } else {
            self.cells[r.queues[slot].last as usize].next = packet;
        }
        r.queues[slot].last = packet;
        r.add_to(slot);
        if before + leaving == 0 {
            n.set_head(port, slot, head);
        }
        self.common.recorder.enter(vc, header.chunks() as u8, now);
        self.counters.iter_mut().for_each(|c| c.queued(n.here, port, vc, now));
    }

    /// Withdraws the head of a queue, which has started to leave. Returns its number.
    #[inline(always)]
    pub(super) fn take_head(&mut self, n: &mut Node, port: usize, slot: usize, now: Time) -> u32 {
        let r = &mut n.receivers[port];
        let head = r.heads[slot];
        if head.is_ordered() {
            let departed = &mut r.departed[slot / SLOTS_OF_VC][head.fixed()];
            *departed = departed.wrapping_add(1);
        }
        let packet = r.queues[slot].first;
        // Its record goes with it, and may be reused by another packet before this one has completely left.
        let cell = &self.cells[packet as usize];
        r.queues[slot].first = cell.next;
        r.leaving |= 1 << slot;
        let waited = (now.ticks() as u32).wrapping_sub(cell.arrived);
        n.clear_head(port, slot);
        self.common.recorder.waited(CLASS[slot / SLOTS_OF_VC], waited);
        self.counters.iter_mut().for_each(|c| c.departed(n.here, port, slot / SLOTS_OF_VC, now));
        packet
    }

    /// Tokens that become due when a packet leaves a VC. The space of a corrupted packet is kept for its
    /// retransmission.
    pub(super) fn due(&self, vc: usize, header: Header) -> u8 {
        if header.is_corrupt() { 0 } else { self.tables.cost(vc, header.chunks() as u8) }
    }

    /// A packet of `chunks` has completely left a queue of a receiver: its tokens are due, and the next
    /// packet becomes the head.
    #[inline(always)]
    pub(super) fn vacate(
        &mut self,
        n: &mut Node,
        (port, slot): (usize, usize),
        chunks: u8,
        due: u8,
        now: Time,
    ) {
        let (r, vc) = (&mut n.receivers[port], slot / SLOTS_OF_VC);
        r.remove_from(slot);
        r.leaving &= !(1 << slot);
        self.common.recorder.leave(vc, chunks, now);
        if r.count[slot] != 0 {
            let cell = &self.cells[r.queues[slot].first as usize];
            let head = self.tables.head(cell.header, cell.ticket);
            n.set_head(port, slot, head);
        }
        n.receivers[port].due += u64::from(due) << (8 * vc);
        n.due |= 1 << port;
    }

    /// Stores a packet with its payload; returns its number in the arena.
    pub(super) fn insert(&mut self, meta: Meta, header: Header, data: Option<Data>) -> u32 {
        let packet = self.common.arena.insert_with(meta, data);
        *self.cell_mut(packet) = Cell { header, ..Cell::default() };
        packet
    }

    /// The record of a packet, by its number in the arena.
    pub(super) fn cell_mut(&mut self, packet: u32) -> &mut Cell {
        if packet as usize >= self.cells.len() {
            self.cells.resize(packet as usize + 1, Cell::default());
        }
        &mut self.cells[packet as usize]
    }
}
