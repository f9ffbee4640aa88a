//! What follows from a corrupted transmission on the links of a torus, whatever its routers are: retransmission by timeout, and
//! acknowledgements that get lost and are sent again (`docs/torus-router.md`, "Links with errors"). What becomes of ghosts, invalid packets
//! that run on, is each family's own: it depends on where packets stand. Nothing here is on the path of packets where no link has errors.
//!
//! The sending node draws a transmission's fate at its start and tells the receiver with the packet, which acts on it
//! no sooner than it could know: when the tail has come.

use super::common::Common;
use super::corruption::Fate;
use super::errors::{Errors, Kept};
use super::event::{Event, Kind, Message, OwnKind};
use super::port::Port;
use crate::host::{Family, Host};
use crate::packet::{Header, Meta};
use netloom_engine::{Outbox, Time};

/// A node, as the ends of its links.
pub(in crate::router) trait LinkEnds {
    /// Its place in its block.
    fn here(&self) -> u32;

    /// Links that carry no data packet, a bit each.
    fn open(&mut self) -> &mut u16;

    /// Receivers with tokens, or an acknowledgement, due to the other end, a bit each.
    fn owing(&mut self) -> &mut u16;

    /// Tokens due from a receiver, a byte a VC.
    fn due(&mut self, port: usize) -> &mut u64;

    /// A port's link.
    fn link(&mut self, port: usize) -> &mut Port;
}

/// What the nodes of a block share, where links corrupt bits.
pub(in crate::router) trait Recovery {
    /// A node of the block.
    type Node: LinkEnds;
    /// The family of its routers, what happens at these only, and the hosts.
    type Family: Family<Header = Header>;
    /// See `Family`.
    type Own: OwnKind;
    /// See `Family`.
    type Host: Host<Self::Family>;

    /// What all families have.
    fn common(&mut self) -> &mut Common<Self::Family, Self::Own, Self::Host>;

    /// Time of a data packet of so many chunks on a link.
    fn wire(&self, chunks: u32) -> u64;

    /// Keeps a packet that is not the one it looks like; returns its number in the arena.
    fn keep_ghost(&mut self, meta: Meta, header: Header) -> u32;

    /// A packet whose header is `kept.header` starts on a link at `start`: it will arrive at the other end.
    fn leave(
        &mut self,
        n: &mut Self::Node,
        to: usize,
        kept: Kept,
        start: Time,
        out: &mut Outbox<Message<Self::Own>>,
    );

    /// Sends the short packets that are due on a link which is free.
    fn send_short_ones(
        &mut self,
        n: &mut Self::Node,
        port: usize,
        now: Time,
        out: &mut Outbox<Message<Self::Own>>,
    );

    /// A packet takes a link once more, as soon as it is free. Returns when it starts.
    fn occupy_again(&mut self, n: &mut Self::Node, port: usize, kept: Kept, now: Time) -> Time;

    /// The state of the links that corrupt bits.
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
        if let Some(fate) = errors.send((n.here(), to), kept, meta, data) {
            self.transmit(n, to, kept, fate, start, out);
        }
    }

    /// Puts a packet that the receiver expects on a link. If it does not get through, the timeout is set.
    fn transmit(
        &mut self,
        n: &mut Self::Node,
        to: usize,
        mut kept: Kept,
        fate: Fate,
        start: Time,
        out: &mut Outbox<Message<Self::Own>>,
    ) {
        if fate == Fate::Escaped {
            self.common().arena.damage(kept.packet);
        }
        if !fate.is_taken() {
            let end = start + self.wire(kept.header.chunks());
            let at = self.faulty().timeout(end);
            self.common().calendar.push(at, Event::at(Kind::Timeout, n.here(), to, 0, 0, 0));
            if fate == Fate::BadHeader {
                return;
            }
            kept.header = kept.header.corrupted();
            let meta = *self.common().arena.get(kept.packet);
            kept.packet = self.keep_ghost(meta, kept.header);
        }
        self.leave(n, to, kept, start, out);
    }

    /// A packet that is what it looks like has arrived and will be whole at `whole`: then it will be acknowledged.
    fn will_acknowledge(&mut self, place: (u32, usize), header: Header, packet: u32, whole: Time) {
        let common = self.common();
        let errors = common.errors.as_mut().expect("only where links have errors");
        let (meta, data) = (common.arena.get(packet), common.arena.data(packet));
        errors.received(place, header, meta, data, whole, &mut common.calendar);
    }

    /// An acknowledgement with these tokens leaves. Returns whether it brings them to the other end.
    #[inline(never)]
    fn acknowledge(&mut self, n: &mut Self::Node, port: usize, word: u64, now: Time) -> bool {
        let common = self.common();
        let errors = common.errors.as_mut().expect("only where links have errors");
        errors.acknowledge((n.here(), port), word, n.due(port), now, &mut common.calendar)
    }

    /// An acknowledgement may be overdue: then it goes as soon as the link carries no data packet. Returns whether it is.
    fn overdue(&mut self, n: &mut Self::Node, port: usize, now: Time) -> bool {
        let common = self.common();
        let errors = common.errors.as_mut().expect("only where links have errors");
        let send = errors.overdue(n.here(), port, now, &mut common.calendar);
        *n.owing() |= u16::from(send) << port;
        send
    }

    /// A sender has waited long enough for an acknowledgement: what is not acknowledged is sent again once the link is free.
    fn time_out(&mut self, n: &mut Self::Node, port: usize, now: Time, out: &mut Outbox<Message<Self::Own>>) {
        if *n.open() >> port & 1 != 0 {
            self.resend(n, port, now, out);
        } else {
            let free = n.link(port).free_at;
            self.common().calendar.push(free, Event::at(Kind::Timeout, n.here(), port, 0, 0, 0));
        }
    }

    /// A packet sent again has left: the next one follows, after the short packets that are due; or the pass is over. Returns whether it is.
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

    /// Sends the next packet of a retransmission FIFO.
    fn resend(&mut self, n: &mut Self::Node, port: usize, now: Time, out: &mut Outbox<Message<Self::Own>>) {
        self.send_short_ones(n, port, now, out);
        let (kept, fate) = self.faulty().resend(n.here(), port);
        *n.open() &= !(1 << port);
        let start = self.occupy_again(n, port, kept, now);
        let end = n.link(port).free_at;
        self.common().calendar.push(end, Event::at(Kind::Resent, n.here(), port, 0, 0, 0));
        if let Some(fate) = fate {
            self.transmit(n, port, kept, fate, start, out);
        }
    }

    /// Counts an invalid packet that is no more.
    #[cold]
    fn discarded(&mut self, n: &Self::Node, port: usize) {
        self.faulty().count(n.here(), port).ghosts += 1;
    }
}
