//! Recovery from corrupted transmissions specific to these routers, in addition to `router/recovery.rs`:
//! ghosts that continue and are discarded (`docs/torus-router.md`, "Links with errors"). With a bit error
//! rate of 0 nothing here is on the path of packets.

use super::TorusFamily;
use super::shared::Shared;
use super::state::*;
use crate::host::Host;
use crate::packet::{Header, Meta};
use crate::router::common::Common;
use crate::router::errors::Kept;
use crate::router::recovery::{LinkEnds, Recovery};
use netloom_engine::{Outbox, Time};
use std::convert::Infallible;

impl<const P: usize> LinkEnds for Node<P> {
    #[inline]
    fn here(&self) -> u32 {
        self.here
    }

    #[inline]
    fn open(&mut self) -> &mut u16 {
        &mut self.open
    }

    #[inline]
    fn owing(&mut self) -> &mut u16 {
        &mut self.due
    }

    #[inline]
    fn due(&mut self, port: usize) -> &mut u64 {
        &mut self.receivers[port].due
    }

    #[inline]
    fn link(&mut self, port: usize) -> &mut Port {
        &mut self.ports[port]
    }
}

impl<H: Host<TorusFamily>, const P: usize> Recovery<HORIZON> for Shared<H, P> {
    type Node = Node<P>;
    type Family = TorusFamily;
    type Own = Infallible;
    type Host = H;

    #[inline]
    fn common(&mut self) -> &mut Common<TorusFamily, Infallible, H, HORIZON> {
        &mut self.common
    }

    fn wire(&self, chunks: u32) -> u64 {
        self.tables.wire[chunks as usize]
    }

    fn keep_ghost(&mut self, meta: Meta, _: Header) -> u32 {
        self.common.arena.insert(meta)
    }

    fn leave(&mut self, n: &mut Node<P>, to: usize, kept: Kept, start: Time, out: &mut Outbox<Message>) {
        let Kept { header, packet, vc } = kept;
        let arrive = |node, packet| Event::at(Kind::Arrived, node, to ^ 1, vc.into(), packet, header.0);
        self.common.send(n.ports[to].neighbour, start + self.tables.hop, arrive, packet, out);
    }

    fn send_short_ones(&mut self, n: &mut Node<P>, _: usize, now: Time, out: &mut Outbox<Message>) {
        self.send_due(n, now, out);
    }

    fn occupy_again(&mut self, n: &mut Node<P>, port: usize, kept: Kept, now: Time) -> Time {
        let (vc, chunks) = (usize::from(kept.vc), kept.header.chunks());
        let class = self.tables.class[vc].into();
        self.common.occupy(&mut n.ports[port], (vc, class), chunks, self.wire(chunks), now)
    }
}

impl<H: Host<TorusFamily>, const P: usize> Shared<H, P> {
    /// A packet has arrived: schedules the check of its tail, and its acknowledgement.
    #[inline(never)]
    pub(super) fn note_arrival(&mut self, n: &Node<P>, event: &Event, now: Time) {
        let port = event.port();
        let header = Header(event.word);
        let whole = now + self.tables.wire[header.chunks() as usize];
        if header.is_ghost() {
            let tail = Event::at(Kind::Tail, n.here, port, event.slot(), 0, header.0);
            self.common.calendar.push(whole, tail);
        }
        if !header.is_corrupt() {
            self.will_acknowledge((n.here, port), header, event.packet(), whole);
        }
    }

    /// Applies an event of a link under recovery. Returns whether the node may act on it.
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
            _ => {
                self.time_out(n, event.port(), now, out);
                false
            }
        }
    }

    /// The tail of an invalid packet has arrived: if the packet is still in its VC, it is discarded.
    /// Otherwise it continues, marked invalid.
    fn end_ghost(&mut self, n: &mut Node<P>, event: &Event, now: Time) -> bool {
        let (port, vc) = (event.port(), event.slot());
        let header = Header(event.word);
        let chunks = header.chunks() as u8;
        let count = n.receivers[port].count[vc];
        // No later packet can have arrived yet. A head that is not ready is in transfer.
        if count == 0 || count == 1 && n.receivers[port].heads[vc] == 0 {
            return false;
        }
        let last = (n.receivers[port].first[vc] as usize + count as usize - 1) % self.tables.places;
        let entry = *self.entry(n.here, port, vc, last as u8);
        if entry.arrived() != (now - self.tables.wire[chunks as usize]).ticks() as u32
            || !entry.header.is_ghost()
        {
            return false;
        }
        self.common.arena.remove(entry.packet());
        n.receivers[port].count[vc] -= 1;
        n.occupied[port] &= !(u8::from(count == 1) << vc);
        n.receivers[port].chunks[vc] -= chunks;
        self.common.recorder.leave(vc, chunks, now);
        if count == 1 {
            n.clear_head(port, vc);
        }
        if !header.is_corrupt() {
            // The previous link delivered it intact: its space is freed like any packet's.
            n.receivers[port].due += u64::from(self.tables.cost(vc, chunks)) << (8 * vc);
            n.due |= 1 << port;
        }
        self.discarded(n, port);
        true
    }
}
