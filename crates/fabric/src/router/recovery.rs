//! Recovery from corrupted transmissions on the links of a torus, whatever its routers: retransmission by
//! timeout, and lost acknowledgements (`docs/torus-router.md`, "Links with errors"). Each family handles
//! ghosts, invalid packets that continue, itself, since that depends on its buffers. Without bit errors
//! nothing here is on the path of packets.
//!
//! The sending node draws a transmission's outcome at its start and passes it to the receiver with the
//! packet. The receiver acts on it no earlier than it could detect it: at the tail.

use super::common::Common;
use super::corruption::Outcome;
use super::errors::{Errors, Kept};
use super::event::{Event, Kind, Message, OwnKind};
use super::port::Port;
use crate::host::{Family, Host};
use crate::packet::{Header, Meta};
use netloom_engine::{Outbox, Time};

/// A node as the end of its links.
pub(in crate::router) trait LinkEnds {
    /// Its index in its block.
    fn here(&self) -> u32;

    /// Links that carry no data packet, one bit each.
    fn open(&mut self) -> &mut u16;

    /// Receivers with tokens, or an acknowledgement, due to the other end, one bit each.
    fn owing(&mut self) -> &mut u16;

    /// Tokens due from a receiver, one byte per VC.
    fn due(&mut self, port: usize) -> &mut u64;

    /// A port's link.
    fn link(&mut self, port: usize) -> &mut Port;
}

/// The shared state of the nodes of a block with bit errors on its links.
pub(in crate::router) trait Recovery<const HORIZON: usize> {
    /// A node of the block.
    type Node: LinkEnds;
    /// The family of its routers, the events specific to it, and the hosts.
    type Family: Family<Header = Header>;
    /// See `Family`.
    type Own: OwnKind;
    /// See `Family`.
    type Host: Host<Self::Family>;

    /// The state that all families share.
    fn common(&mut self) -> &mut Common<Self::Family, Self::Own, Self::Host, HORIZON>;

    /// Time of a data packet of `chunks` on a link.
    fn wire(&self, chunks: u32) -> u64;

    /// Stores a packet that is corrupted but not known to be; returns its number in the arena.
    fn keep_ghost(&mut self, meta: Meta, header: Header) -> u32;

    /// A packet with header `kept.header` starts on a link at `start`: schedules its arrival at the other
    /// end.
    fn leave(
        &mut self,
        n: &mut Self::Node,
        to: usize,
        kept: Kept,
        start: Time,
        out: &mut Outbox<Message<Self::Own>>,
    );

    /// Sends the short packets that are due on a free link.
    fn send_short_ones(
        &mut self,
        n: &mut Self::Node,
        port: usize,
        now: Time,
        out: &mut Outbox<Message<Self::Own>>,
    );

    /// Retransmits a packet as soon as the link is free. Returns its start.
    fn occupy_again(&mut self, n: &mut Self::Node, port: usize, kept: Kept, now: Time) -> Time;

    /// The state of links with bit errors.
    #[inline]
    fn faulty(&mut self) -> &mut Errors {
        self.common().errors.as_mut().expect("only where links have errors")
    }

    /// A packet starts on a link that may corrupt it, for the VC `kept.vc`.
    #[inline(never)]
    fn send_unsure(
        &mut self,
        n: &mut Self::Node,
        to: usize,
        mut kept: Kept,
        start: Time,
        out: &mut Outbox<Message<Self::Own>>,
    ) {
        kept.header = kept.header.passed_on();
        let common = self.common();
        let errors = common.errors.as_mut().expect("only where links have errors");
        let (meta, data) = (common.arena.get(kept.packet), common.arena.data(kept.packet));
        if let Some(outcome) = errors.send((n.here(), to), kept, meta, data) {
            self.transmit(n, to, kept, outcome, start, out);
        }
    }

    /// Sends a packet in sequence on a link. If it does not get through, sets the timeout.
    fn transmit(
        &mut self,
        n: &mut Self::Node,
        to: usize,
        mut kept: Kept,
        outcome: Outcome,
        start: Time,
        out: &mut Outbox<Message<Self::Own>>,
    ) {
        if outcome == Outcome::Escaped {
            self.common().arena.damage(kept.packet);
        }
        if !outcome.is_taken() {
            let end = start + self.wire(kept.header.chunks());
            let at = self.faulty().timeout(end);
            self.common().calendar.push(at, Event::at(Kind::Timeout, n.here(), to, 0, 0, 0));
            if outcome == Outcome::BadHeader {
                return;
            }
            kept.header = kept.header.corrupted();
            let meta = *self.common().arena.get(kept.packet);
            kept.packet = self.keep_ghost(meta, kept.header);
        }
        self.leave(n, to, kept, start, out);
    }

    /// A packet has arrived that will be complete, and acknowledged, at `whole`.
    fn will_acknowledge(&mut self, place: (u32, usize), header: Header, packet: u32, whole: Time) {
        let common = self.common();
        let errors = common.errors.as_mut().expect("only where links have errors");
        let (meta, data) = (common.arena.get(packet), common.arena.data(packet));
        errors.received(place, header, meta, data, whole, &mut common.calendar);
    }

    /// An acknowledgement with these tokens leaves. Returns whether it delivers them to the other end.
    #[inline(never)]
    fn acknowledge(&mut self, n: &mut Self::Node, port: usize, word: u64, now: Time) -> bool {
        let common = self.common();
        let errors = common.errors.as_mut().expect("only where links have errors");
        errors.acknowledge((n.here(), port), word, n.due(port), now, &mut common.calendar)
    }

    /// An acknowledgement may be overdue; if so, it is sent as soon as the link carries no data packet.
    /// Returns whether it is.
    fn overdue(&mut self, n: &mut Self::Node, port: usize, now: Time) -> bool {
        let common = self.common();
        let errors = common.errors.as_mut().expect("only where links have errors");
        let send = errors.overdue(n.here(), port, now, &mut common.calendar);
        *n.owing() |= u16::from(send) << port;
        send
    }

    /// A sender's timeout has expired: unacknowledged packets are retransmitted once the link is free.
    fn time_out(&mut self, n: &mut Self::Node, port: usize, now: Time, out: &mut Outbox<Message<Self::Own>>) {
        if *n.open() >> port & 1 != 0 {
            self.resend(n, port, now, out);
        } else {
            let free = n.link(port).free_at;
            self.common().calendar.push(free, Event::at(Kind::Timeout, n.here(), port, 0, 0, 0));
        }
    }

    /// A retransmitted packet has left: the next one follows, after the short packets that are due; otherwise
    /// the pass is complete. Returns whether it is.
    fn resent(
        &mut self,
        n: &mut Self::Node,
        port: usize,
        now: Time,
        out: &mut Outbox<Message<Self::Own>>,
    ) -> bool {
        *n.open() |= 1 << port;
        let more = self.faulty().resent(n.here(), port);
        if more {
            self.resend(n, port, now, out);
        }
        !more
    }

    /// Retransmits the next packet of a retransmission FIFO.
    fn resend(&mut self, n: &mut Self::Node, port: usize, now: Time, out: &mut Outbox<Message<Self::Own>>) {
        self.send_short_ones(n, port, now, out);
        let (kept, outcome) = self.faulty().resend(n.here(), port);
        *n.open() &= !(1 << port);
        let start = self.occupy_again(n, port, kept, now);
        let end = n.link(port).free_at;
        self.common().calendar.push(end, Event::at(Kind::Resent, n.here(), port, 0, 0, 0));
        if let Some(outcome) = outcome {
            self.transmit(n, port, kept, outcome, start, out);
        }
    }

    /// Counts a discarded invalid packet.
    #[cold]
    fn discarded(&mut self, n: &Self::Node, port: usize) {
        self.faulty().count(n.here(), port).ghosts += 1;
    }
}
