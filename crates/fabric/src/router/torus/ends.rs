//! What arrives, ends or comes back: the first step of a tick, and the token-acks that follow from it.

use super::block::{Message, TorusBlock};
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use netloom_engine::{Outbox, Time};

impl<H: Host, const P: usize> TorusBlock<H, P> {
    /// A data packet's last bit has left on a link: the link, the path and the packet's place are free.
    #[inline]
    pub(super) fn sent(&mut self, node: usize, port: usize, now: Time) {
        let record = self.ports[node][port];
        self.nodes[node].open |= 1 << port;
        if record.from_port == FROM_INJECTION {
            self.nodes[node].injecting &= !(1 << record.from_slot);
            self.nodes[node].refill |= 1 << record.from_slot;
        } else {
            let from = record.from_port as usize;
            self.nodes[node].paths[from] -= 1;
            let (slot, chunks) = (record.from_slot as usize, record.chunks);
            self.vacate(node, from, slot, chunks, (record.due_vc, record.due_chunks), now);
        }
        self.mark(node);
    }

    /// A packet of so many chunks has left its place in a receiver for good: its tokens are due, so many of a VC; the next
    /// packet becomes the head.
    #[inline]
    fn vacate(&mut self, node: usize, port: usize, slot: usize, chunks: u8, due: (u8, u8), now: Time) {
        if slot == BYPASS {
            self.nodes[node].bypass_busy &= !(1 << port);
        } else {
            let places = self.tables.places;
            let first = self.nodes[node].first[port][slot];
            let next = if first as usize + 1 == places { 0 } else { first + 1 };
            self.nodes[node].first[port][slot] = next;
            self.nodes[node].count[port][slot] -= 1;
            self.nodes[node].chunks[port][slot] -= chunks;
            self.recorder.leave(slot, chunks, now);
            if self.nodes[node].count[port][slot] > 0 {
                self.nodes[node].heads[port][slot] = self.head(self.entry(node, port, slot, next).header);
            }
        }
        let (vc, tokens) = due;
        self.ports[node][port].due[vc as usize] += tokens;
        self.nodes[node].due |= u16::from(tokens != 0) << port;
    }

    /// A packet has gone whole to the reception FIFO.
    pub(super) fn received(&mut self, event: &Event, now: Time) {
        let (node, port, slot) = (event.node(), event.port(), event.slot());
        let header = Header(event.word);
        let high = usize::from(header.head() & Header::HIGH != 0);
        self.nodes[node].reception_idle[high] |= 1 << port;
        if event.kind() == Kind::Received {
            let vc = if slot == BYPASS { self.nodes[node].bypass_vc[port] } else { slot as u8 };
            // A corrupted packet's place is kept for the packet itself, which is sent again.
            let tokens =
                if header.is_corrupt() { 0 } else { self.tables.cost(vc as usize, header.chunks() as u8) };
            self.vacate(node, port, slot, header.chunks() as u8, (vc, tokens), now);
            self.recorder.under_way -= i64::from(!header.is_ghost());
        }
        self.mark(node);
        let meta = self.arena.remove(event.packet);
        if header.is_ghost() {
            self.discarded(node, port);
            return;
        }
        self.hand_over(now, node, port, header, meta);
    }

    /// Tokens have come back to a sender.
    #[inline]
    pub(super) fn tokens(&mut self, node: usize, port: usize, word: u64) {
        let before = self.recorder.unblocking.then(|| self.blocked(node));
        // No byte overflows: no more tokens come back than were taken.
        let tokens = &mut self.nodes[node].tokens[port];
        *tokens = u64::to_le_bytes(u64::from_le_bytes(*tokens) + word);
        self.nodes[node].offer(&self.tables, port);
        self.recorder.current.token_acks += 1;
        if let Some(before) = before
            && before != 0
        {
            self.recorder.current.hoped_for += 1;
            self.recorder.current.unblocking += u64::from(before & !self.blocked(node) != 0);
        }
        if self.nodes[node].open >> port & 1 != 0 {
            self.mark(node);
        }
    }

    /// Heads of receivers, a bit a slot, that wait for tokens: no direction that they may take is offered, whether the
    /// links are busy or not.
    fn blocked(&self, node: usize) -> u128 {
        let mut mask = 0;
        for port in 0..P {
            for (slot, &head) in self.nodes[node].heads[port].iter().enumerate() {
                if head & Header::HINTS != 0
                    && self.nodes[node].ways(&self.tables, Some(port), slot, head, Header::HINTS) == 0
                {
                    mask |= 1 << (port * SLOTS + slot);
                }
            }
        }
        mask
    }

    /// A packet's header has come through the receiving unit: it stands in the bypass, or joins its VC.
    #[inline]
    pub(super) fn arrive(&mut self, event: &Event, now: Time) {
        if self.errors.is_some() {
            self.note_arrival(event, now);
        }
        let (node, port, vc) = (event.node(), event.port(), event.slot());
        let header = Header(event.word);
        let count = self.nodes[node].count[port][vc];
        let mut place = self.nodes[node].first[port][vc] as usize + count as usize;
        if place >= self.tables.places {
            place -= self.tables.places;
        }
        debug_assert!((count as usize) < self.tables.places, "tokens bound the packets of a VC");
        *self.entry_mut(node, port, vc, place as u8) =
            Entry { header, packet: event.packet, arrived: now as u32 };
        if count > 0 {
            self.join(node, port, vc, header, now);
            return;
        }
        let head = self.head(header);
        if self.tables.bypass && self.nodes[node].bypass_busy >> port & 1 == 0 {
            self.nodes[node].heads[port][BYPASS] = head;
            self.nodes[node].bypassing |= 1 << port;
            self.nodes[node].bypass_vc[port] = vc as u8;
        } else {
            self.join(node, port, vc, header, now);
            self.nodes[node].heads[port][vc] = head;
        }
        self.mark(node);
    }

    /// Counts a packet, whose entry is in its ring already, into its VC.
    #[inline]
    pub(super) fn join(&mut self, node: usize, port: usize, vc: usize, header: Header, now: Time) {
        let chunks = header.chunks() as u8;
        self.nodes[node].count[port][vc] += 1;
        self.nodes[node].chunks[port][vc] += chunks;
        self.recorder.enter(vc, chunks, now);
    }

    /// Sends the token-acks that are due on links without a data packet.
    #[inline]
    pub(super) fn send_due(&mut self, node: usize, now: Time, out: &mut Outbox<Message>) {
        let mut ports = self.nodes[node].due & self.nodes[node].open;
        self.nodes[node].due &= !ports;
        while ports != 0 {
            let port = ports.trailing_zeros() as usize;
            ports &= ports - 1;
            let record = &mut self.ports[node][port];
            let end = record.free_at.max(now) + self.tables.ack;
            record.free_at = end;
            record.acks += 1;
            let word = u64::from_le_bytes(std::mem::take(&mut record.due));
            let to = record.neighbour;
            self.recorder.current.acks += 1;
            self.recorder.busy(end - self.tables.ack, end);
            if self.errors.is_some() && !self.acknowledge(node, port, word, now) {
                continue;
            }
            let event = |node, _| Event::at(Kind::Tokens, node, port ^ 1, 0, 0, word);
            self.send(to, end + self.tables.token_delay, event, u32::MAX, out);
        }
    }
}
