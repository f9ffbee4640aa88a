//! What follows from a corrupted transmission: ghosts that run on and are discarded, retransmission, acknowledgements
//! that get lost and are sent again (`docs/torus-router.md`, "Links with errors"). Nothing here is on the path of packets
//! where the bit error rate is 0.
//!
//! The sending node draws a transmission's fate at its start and tells the receiver with the packet, which acts on it
//! no sooner than it could know: when the tail has come.

use super::block::TorusBlock;
use super::errors::{Errors, Fate, Kept};
use super::shared::Shared;
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use crate::router::event::Message;
use crate::router::statistics::LinkErrors;
use netloom_engine::{Outbox, Time};

impl<H: Host, const P: usize> Shared<H, P> {
    #[inline]
    fn faulty(&mut self) -> &mut Errors {
        self.errors.as_mut().expect("only where links have errors")
    }

    /// What went wrong at a port.
    fn count(&mut self, n: &Node<P>, port: usize) -> &mut LinkErrors {
        let errors = self.faulty();
        let link = errors.link(n.here as usize, port);
        &mut errors.counts[link]
    }

    /// The end of a grant where links have errors: a packet starts on a link, for the VC `kept.vc`.
    #[inline(never)]
    pub(super) fn grant_unsure(
        &mut self,
        n: &mut Node<P>,
        to: usize,
        mut kept: Kept,
        start: Time,
        out: &mut Outbox<Message>,
    ) {
        if kept.header.is_corrupt() {
            kept.header = kept.header.passed_on();
        }
        let errors = self.faulty();
        let link = errors.link(n.here as usize, to);
        if let Some(trouble) = errors.troubles.get_mut(&link) {
            trouble.fifo.push_back(kept);
            errors.counts[link].refused += 1;
        } else if !self.transmit(n, to, kept, start, out) {
            self.faulty().troubles.entry(link).or_default().fifo.push_back(kept);
        }
    }

    /// Puts a packet that the receiver expects on a link. Returns whether it gets through; if not, the timeout is set.
    fn transmit(
        &mut self,
        n: &mut Node<P>,
        to: usize,
        kept: Kept,
        start: Time,
        out: &mut Outbox<Message>,
    ) -> bool {
        let chunks = kept.header.chunks();
        let fate = self.faulty().transmit(n.here as usize, chunks);
        let (mut header, mut packet) = (kept.header, kept.packet);
        if fate != Fate::Clean {
            self.count(n, to).corrupted += 1;
            let end = start + self.tables.wire[chunks as usize];
            let at = end + self.faulty().timeout;
            self.calendar.push(at, Event::at(Kind::Timeout, n.here, to, 0, 0, 0));
            if fate == Fate::BadHeader {
                return false;
            }
            header = header.corrupted();
            let meta = *self.arena.get(packet);
            packet = self.arena.insert(meta);
        }
        let arrive =
            |node, packet| Event::at(Kind::Arrived, node, to ^ 1, kept.vc as usize, packet, header.0);
        let neighbour = n.ports[to].neighbour;
        self.send(neighbour, start + self.tables.hop, arrive, packet, out);
        fate == Fate::Clean
    }

    /// A packet has arrived: its tail will be looked at, and it will be acknowledged.
    #[inline(never)]
    pub(super) fn note_arrival(&mut self, n: &Node<P>, event: &Event, now: Time) {
        let port = event.port();
        let header = Header(event.word);
        let whole = now + self.tables.wire[header.chunks() as usize];
        if header.is_ghost() {
            let tail = Event::at(Kind::Tail, n.here, port, event.slot(), 0, header.0);
            self.calendar.push(whole, tail);
        }
        if !header.is_corrupt() {
            let errors = self.faulty();
            let (link, after) = (errors.link(n.here as usize, port), errors.ack_after);
            let timer = errors.clocks[link].received(whole, after);
            self.set_ack_timer(n, port, timer);
        }
    }

    fn set_ack_timer(&mut self, n: &Node<P>, port: usize, at: Option<Time>) {
        if let Some(at) = at {
            self.calendar.push(at, Event::at(Kind::Overdue, n.here, port, 0, 0, 0));
        }
    }

    /// An acknowledgement with these tokens leaves. Returns whether it brings them to the other end.
    #[inline(never)]
    pub(super) fn acknowledge(&mut self, n: &mut Node<P>, port: usize, word: u64, now: Time) -> bool {
        let errors = self.faulty();
        let through = errors.ack_gets_through(n.here as usize);
        let (link, after) = (errors.link(n.here as usize, port), errors.ack_after);
        let timer = errors.clocks[link].acknowledged(now, through, after);
        errors.counts[link].ack_only += u64::from(word == 0);
        errors.counts[link].acks_lost += u64::from(!through);
        self.set_ack_timer(n, port, timer);
        if !through {
            // They go with the next one.
            n.receivers[port].due = word;
        }
        through && word != 0
    }

    /// Applies an event of a link in trouble. Returns whether the node may act on it.
    #[cold]
    pub(super) fn mend(
        &mut self,
        n: &mut Node<P>,
        event: &Event,
        now: Time,
        out: &mut Outbox<Message>,
    ) -> bool {
        match event.kind() {
            Kind::Tail => self.end_ghost(n, event, now),
            Kind::Overdue => self.overdue(n, event.port(), now),
            Kind::Resent => self.resent(n, event.port(), now, out),
            _ => self.time_out(n, event.port(), now, out),
        }
    }

    /// The tail of an invalid packet has come: if the packet still stands in its VC, it is discarded. Else it runs on,
    /// marked invalid.
    fn end_ghost(&mut self, n: &mut Node<P>, event: &Event, now: Time) -> bool {
        let (port, vc) = (event.port(), event.slot());
        let header = Header(event.word);
        let chunks = header.chunks() as u8;
        let count = n.receivers[port].count[vc];
        // Nothing can have come after it yet. The head is in transfer if it is not free to ask.
        if count == 0 || count == 1 && n.receivers[port].heads[vc] == 0 {
            return false;
        }
        let last = (n.receivers[port].first[vc] as usize + count as usize - 1) % self.tables.places;
        let entry = *self.entry(n.here, port, vc, last as u8);
        if entry.arrived() != (now - self.tables.wire[chunks as usize]) as u32 || !entry.header.is_ghost() {
            return false;
        }
        self.arena.remove(entry.packet());
        n.receivers[port].count[vc] -= 1;
        n.occupied[port] &= !(u8::from(count == 1) << vc);
        n.receivers[port].chunks[vc] -= chunks;
        self.recorder.leave(vc, chunks, now);
        if count == 1 {
            n.clear_head(port, vc);
        }
        if !header.is_corrupt() {
            // The link before brought it whole: it gave up its place like any packet.
            n.receivers[port].due += u64::from(self.tables.cost(vc, chunks)) << (8 * vc);
            n.due |= 1 << port;
        }
        self.discarded(n, port);
        true
    }

    /// Counts an invalid packet that is no more.
    #[cold]
    pub(super) fn discarded(&mut self, n: &Node<P>, port: usize) {
        self.count(n, port).ghosts += 1;
    }

    /// An acknowledgement may be overdue: then it goes as soon as the link carries no data packet.
    fn overdue(&mut self, n: &mut Node<P>, port: usize, now: Time) -> bool {
        let errors = self.faulty();
        let (link, after) = (errors.link(n.here as usize, port), errors.ack_after);
        let (send, timer) = errors.clocks[link].ring(now, after);
        self.set_ack_timer(n, port, timer);
        n.due |= u16::from(send) << port;
        send
    }

    /// A sender has waited long enough for an acknowledgement: what is not acknowledged is sent again once the link is free.
    fn time_out(&mut self, n: &mut Node<P>, port: usize, now: Time, out: &mut Outbox<Message>) -> bool {
        if n.open >> port & 1 != 0 {
            self.resend(n, port, now, out);
        } else {
            let free = n.ports[port].free_at;
            self.calendar.push(free, Event::at(Kind::Timeout, n.here, port, 0, 0, 0));
        }
        false
    }

    /// A packet sent again has left: the next one follows, after the acknowledgements that are due; or the pass is over.
    fn resent(&mut self, n: &mut Node<P>, port: usize, now: Time, out: &mut Outbox<Message>) -> bool {
        n.open |= 1 << port;
        let errors = self.faulty();
        let link = errors.link(n.here as usize, port);
        let trouble = errors.troubles.get_mut(&link).expect("a link in trouble");
        if trouble.next < trouble.fifo.len() {
            self.resend(n, port, now, out);
            return false;
        }
        (trouble.next, trouble.failed) = (0, false);
        if trouble.fifo.is_empty() {
            errors.troubles.remove(&link);
        }
        true
    }

    /// Sends the next packet of a retransmission FIFO.
    fn resend(&mut self, n: &mut Node<P>, port: usize, now: Time, out: &mut Outbox<Message>) {
        self.send_due(n, now, out);
        let errors = self.faulty();
        let link = errors.link(n.here as usize, port);
        let trouble = &errors.troubles[&link];
        let (kept, failed) = (trouble.fifo[trouble.next], trouble.failed);
        let chunks = kept.header.chunks();
        let record = &mut n.ports[port];
        let start = record.free_at.max(now);
        let end = start + self.tables.wire[chunks as usize];
        record.free_at = end;
        record.packets += 1;
        record.sent[self.tables.class[kept.vc as usize] as usize] += chunks;
        n.open &= !(1 << port);
        self.recorder.busy(start, end);
        self.recorder.current.hops += 1;
        self.recorder.current.chunks_by_vc[kept.vc as usize] += u64::from(chunks);
        self.calendar.push(end, Event::at(Kind::Resent, n.here, port, 0, 0, 0));
        self.count(n, port).retransmitted += 1;
        if failed {
            self.count(n, port).refused += 1;
        }
        let through = !failed && self.transmit(n, port, kept, start, out);
        let trouble = self.faulty().troubles.get_mut(&link).expect("a link in trouble");
        if through {
            trouble.fifo.pop_front();
        } else {
            trouble.failed = true;
            trouble.next += 1;
        }
    }
}

impl<H: Host, const P: usize> TorusBlock<H, P> {
    /// Packets in retransmission FIFOs that wait for their links' recovery.
    pub(super) fn in_recovery(&self) -> usize {
        self.shared.errors.iter().flat_map(|e| e.troubles.values()).map(|t| t.fifo.len()).sum()
    }
}
