//! What follows from a corrupted transmission: ghosts that run on and are discarded, retransmission, acknowledgements
//! that get lost and are sent again (`docs/torus-router.md`, "Links with errors"). Nothing here is on the path of packets
//! where the bit error rate is 0.
//!
//! The sending node draws a transmission's fate at its start and tells the receiver with the packet, which acts on it
//! no sooner than it could know: when the tail has come.

use super::TorusFamily;
use super::shared::Shared;
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use crate::router::corruption::Fate;
use crate::router::errors::{Errors, Kept};
use crate::router::event::Message;
use netloom_engine::{Outbox, Time};

impl<H: Host<TorusFamily>, const P: usize> Shared<H, P> {
    #[inline]
    fn faulty(&mut self) -> &mut Errors {
        self.errors.as_mut().expect("only where links have errors")
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
        kept.header = kept.header.passed_on();
        let errors = self.errors.as_mut().expect("only where links have errors");
        let (meta, data) = (self.arena.get(kept.packet), self.arena.data(kept.packet));
        if let Some(fate) = errors.send((n.here, to), kept, meta, data) {
            self.transmit(n, to, kept, fate, start, out);
        }
    }

    /// Puts a packet that the receiver expects on a link. If it does not get through, the timeout is set.
    fn transmit(
        &mut self,
        n: &mut Node<P>,
        to: usize,
        kept: Kept,
        fate: Fate,
        start: Time,
        out: &mut Outbox<Message>,
    ) {
        let (mut header, mut packet) = (kept.header, kept.packet);
        if fate == Fate::Escaped {
            self.arena.damage(packet);
        }
        if !fate.is_taken() {
            let end = start + self.tables.wire[header.chunks() as usize];
            let at = self.faulty().timeout(end);
            self.calendar.push(at, Event::at(Kind::Timeout, n.here, to, 0, 0, 0));
            if fate == Fate::BadHeader {
                return;
            }
            header = header.corrupted();
            let meta = *self.arena.get(packet);
            packet = self.arena.insert(meta);
        }
        let arrive =
            |node, packet| Event::at(Kind::Arrived, node, to ^ 1, kept.vc as usize, packet, header.0);
        let neighbour = n.ports[to].neighbour;
        self.send(neighbour, start + self.tables.hop, arrive, packet, out);
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
            let errors = self.errors.as_mut().expect("only where links have errors");
            let (meta, data) = (self.arena.get(event.packet()), self.arena.data(event.packet()));
            errors.received((n.here, port), header, meta, data, whole, &mut self.calendar);
        }
    }

    /// An acknowledgement with these tokens leaves. Returns whether it brings them to the other end.
    #[inline(never)]
    pub(super) fn acknowledge(&mut self, n: &mut Node<P>, port: usize, word: u64, now: Time) -> bool {
        let errors = self.errors.as_mut().expect("only where links have errors");
        let due = &mut n.receivers[port].due;
        errors.acknowledge((n.here, port), word, due, now, &mut self.calendar)
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
        self.faulty().count(n.here, port).ghosts += 1;
    }

    /// An acknowledgement may be overdue: then it goes as soon as the link carries no data packet.
    fn overdue(&mut self, n: &mut Node<P>, port: usize, now: Time) -> bool {
        let errors = self.errors.as_mut().expect("only where links have errors");
        let send = errors.overdue(n.here, port, now, &mut self.calendar);
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
        let more = self.faulty().resent(n.here, port);
        if more {
            self.resend(n, port, now, out);
        }
        !more
    }

    /// Sends the next packet of a retransmission FIFO.
    fn resend(&mut self, n: &mut Node<P>, port: usize, now: Time, out: &mut Outbox<Message>) {
        self.send_due(n, now, out);
        let (kept, fate) = self.faulty().resend(n.here, port);
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
        if let Some(fate) = fate {
            self.transmit(n, port, kept, fate, start, out);
        }
    }
}
