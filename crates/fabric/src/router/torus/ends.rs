//! What arrives, ends or comes back: the first step of a tick, and the token-acks that follow from it.

use super::block::{Message, TorusBlock};
use super::slots::{BYPASS, SLOTS};
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use netloom_engine::{Outbox, Time};

impl<H: Host, const P: usize> TorusBlock<H, P> {
    /// A data packet's last bit has left on a link: the link, the path and the packet's place are free.
    #[inline]
    pub(super) fn sent(&mut self, node: usize, port: usize, now: Time) {
        let Port { from_port, from_slot, chunks, due_vc, due_chunks, .. } = self.ports[node][port];
        let n = &mut self.nodes[node];
        n.open |= 1 << port;
        if from_port == FROM_INJECTION {
            n.injecting &= !(1 << from_slot);
            n.refill |= 1 << from_slot;
        } else {
            n.paths[from_port as usize] -= 1;
            self.vacate(node, from_port.into(), from_slot.into(), chunks, (due_vc, due_chunks), now);
        }
        self.mark(node);
    }

    /// A packet of so many chunks has left its place in a receiver for good: its tokens are due, so many of a VC; the next
    /// packet becomes the head.
    #[inline]
    fn vacate(&mut self, node: usize, port: usize, slot: usize, chunks: u8, due: (u8, u8), now: Time) {
        let n = &mut self.nodes[node];
        if slot == BYPASS {
            n.bypass_busy &= !(1 << port);
        } else {
            let places = self.tables.places;
            let first = n.receivers[port].first[slot];
            let next = if first as usize + 1 == places { 0 } else { first + 1 };
            n.receivers[port].first[slot] = next;
            n.receivers[port].count[slot] -= 1;
            n.receivers[port].chunks[slot] -= chunks;
            self.recorder.leave(slot, chunks, now);
            if n.receivers[port].count[slot] > 0 {
                let head = self.head(self.entry(node, port, slot, next).header);
                self.nodes[node].set_head(port, slot, head);
            }
        }
        let (vc, tokens) = due;
        let n = &mut self.nodes[node];
        n.receivers[port].due[vc as usize] += tokens;
        n.due |= u16::from(tokens != 0) << port;
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
        let n = &mut self.nodes[node];
        n.tokens[port] = u64::to_le_bytes(u64::from_le_bytes(n.tokens[port]) + word);
        n.offer(&self.tables, port);
        let matters = n.open >> port & 1 != 0 && !n.is_quiet();
        self.recorder.current.token_acks += 1;
        if let Some(before) = before
            && before != 0
        {
            self.recorder.current.hoped_for += 1;
            self.recorder.current.unblocking += u64::from(before & !self.blocked(node) != 0);
        }
        if matters {
            self.mark(node);
        }
    }

    /// Heads of receivers, a bit a slot, that wait for tokens: no direction that they may take is offered, whether the
    /// links are busy or not.
    fn blocked(&self, node: usize) -> u128 {
        let mut mask = 0;
        for port in 0..P {
            for (slot, &head) in self.nodes[node].receivers[port].heads.iter().enumerate() {
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
        let head = self.head(header);
        let n = &mut self.nodes[node];
        let (first, count) = (n.receivers[port].first[vc] as usize, n.receivers[port].count[vc] as usize);
        let stands = self.tables.bypass && n.bypass_busy >> port & 1 == 0;
        if count == 0 {
            if stands {
                n.enter_bypass(port, vc, head);
            } else {
                n.set_head(port, vc, head);
            }
            self.mark(node);
        }
        if count > 0 || !stands {
            self.join(node, port, vc, header, now);
        }
        let places = self.tables.places;
        debug_assert!(count < places, "tokens bound the packets of a VC");
        let place = if first + count < places { first + count } else { first + count - places };
        let entry = Entry { header, packet: event.packet, arrived: now as u32 };
        *self.entry_mut(node, port, vc, place as u8) = entry;
    }

    /// Counts a packet, whose entry is in its ring already, into its VC.
    #[inline]
    pub(super) fn join(&mut self, node: usize, port: usize, vc: usize, header: Header, now: Time) {
        let chunks = header.chunks() as u8;
        let n = &mut self.nodes[node];
        n.receivers[port].count[vc] += 1;
        n.receivers[port].chunks[vc] += chunks;
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
            let word = u64::from_le_bytes(std::mem::take(&mut self.nodes[node].receivers[port].due));
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
