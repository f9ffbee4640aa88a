//! What the nodes of a block share, and what a node does with it in a tick.

use super::TorusFamily;
use super::state::*;
use super::tables::Tables;
use crate::host::{Host, Signals};
use crate::packet::{Arena, Header};
use crate::router::errors::Errors;
use crate::router::event::Message;
use crate::router::partition::remote;
use crate::router::statistics::Recorder;
use netloom_engine::{Calendar, Outbox, Time};

/// What the nodes of a block have in common: all that a node needs to act besides its own state.
pub(super) struct Shared<H, const P: usize> {
    pub tables: Tables,
    /// Rings of the VCs: node, port, VC, place.
    pub rings: Vec<Line>,
    pub injection: Vec<Injection>,
    /// Heads of the injection FIFOs: node, FIFO.
    pub injecting: Vec<Entry>,
    /// Injection FIFOs of a node.
    pub fifos: usize,
    pub arena: Arena,
    pub calendar: Calendar<Event>,
    pub recorder: Recorder,
    /// Where the links corrupt bits.
    pub errors: Option<Box<Errors>>,
    pub host: H,
    pub signals: Signals,
    /// Packets in bypasses, in the tick in which they stand there: node's place on the list of those that act,
    /// or 0 for one that acts at once; port.
    pub standing: Vec<Entry>,
    /// Nodes whose arbiters act again in the tick after the last one.
    pub retries: Vec<u32>,
    /// Packets that have begun to leave for other blocks in this tick: lane, arrival, event. They are handed over at the tick's
    /// end, when what goes with them has come from memory.
    outgoing: Vec<(usize, Time, Event)>,
}

impl<H: Host<TorusFamily>, const P: usize> Shared<H, P> {
    /// For so many nodes with so many injection FIFOs each, all of which are to be filled from the host.
    pub fn new(
        tables: Tables,
        n: usize,
        fifos: usize,
        recorder: Recorder,
        errors: Option<Box<Errors>>,
        host: H,
    ) -> Self {
        let mut calendar = Calendar::new();
        for node in 0..n as u32 {
            for fifo in 0..fifos {
                calendar.push(0, Event::at(Kind::Fill, node, fifo / 8, fifo % 8, 0, 0));
            }
        }
        Shared {
            rings: vec![Line::default(); n * P * tables.vcs * tables.lines],
            injection: vec![Injection::default(); n],
            injecting: vec![Entry::default(); n * fifos],
            fifos,
            arena: Arena::default(),
            calendar,
            recorder,
            errors,
            host,
            signals: Signals::default(),
            standing: vec![Entry::default(); (n + 1) * P],
            retries: vec![],
            outgoing: vec![],
            tables,
        }
    }

    /// The first line of a VC's ring.
    #[inline]
    pub(super) fn ring(&self, node: u32, port: usize, vc: usize) -> usize {
        ((node as usize * P + port) * self.tables.vcs + vc) * self.tables.lines
    }

    /// A place of a VC's ring.
    #[inline]
    pub(super) fn entry(&self, node: u32, port: usize, vc: usize, place: u8) -> &Entry {
        &self.rings[self.ring(node, port, vc) + place as usize / LINE].0[place as usize % LINE]
    }

    /// The same, to be written.
    #[inline]
    pub(super) fn entry_mut(&mut self, node: u32, port: usize, vc: usize, place: u8) -> &mut Entry {
        let line = self.ring(node, port, vc) + place as usize / LINE;
        &mut self.rings[line].0[place as usize % LINE]
    }

    /// The only event of a node in this tick, and what the node does then. Returns whether it is of a usual kind; if not,
    /// nothing was done.
    #[inline(always)]
    pub(super) fn alone(
        &mut self,
        n: &mut Node<P>,
        event: &Event,
        now: Time,
        out: &mut Outbox<Message>,
    ) -> bool {
        n.events = 0;
        match event.kind() {
            Kind::Sent => self.sent(n, event, now),
            Kind::Tokens => {
                if self.tokens(n, event.port(), event.word) {
                    self.arbitrate(n, now, out);
                }
                return true;
            }
            Kind::Arrived => {
                self.arrive_alone(n, event, now, out);
                return true;
            }
            Kind::Fill => n.refill |= event.fifo(),
            Kind::Received => {
                self.received(n, event, now);
                self.obey(n, now);
            }
            _ => return false,
        }
        self.act(n, now, out);
        true
    }

    /// What a node does after its events.
    #[inline(always)]
    pub(super) fn act(&mut self, n: &mut Node<P>, now: Time, out: &mut Outbox<Message>) {
        if n.refill != 0 {
            self.refill(n, now);
        }
        if n.due & n.open != 0 {
            self.send_due(n, now, out);
        }
        self.arbitrate(n, now, out);
    }

    /// What arbitration keeps of a header.
    #[inline]
    pub(super) fn head(&self, header: Header) -> u16 {
        let head = header.head();
        if self.tables.bubble || head & Header::HINTS == 0 {
            return head;
        }
        let direction = crate::routing::hints::first(head, self.tables.order);
        if header.crossed(direction.trailing_zeros() as usize / 2) { head | UPPER } else { head }
    }

    /// Hands packets that leave for other blocks over to them.
    #[inline]
    pub(super) fn hand_out(&mut self, out: &mut Outbox<Message>) {
        for &(lane, at, event) in &self.outgoing {
            out.send(lane, at, Message::new(event, event.packet(), &mut self.arena));
        }
        self.outgoing.clear();
    }

    /// Sends an event to the other end of a link.
    #[inline]
    pub(super) fn send(
        &mut self,
        to: u32,
        at: Time,
        event: impl FnOnce(u32, u32) -> Event,
        packet: u32,
        out: &mut Outbox<Message>,
    ) {
        let Some((lane, place)) = remote(to) else {
            self.calendar.push(at, event(to, packet));
            return;
        };
        let event = event(place, packet);
        if packet == u32::MAX {
            out.send(lane, at, Message::new(event, u32::MAX, &mut self.arena));
        } else {
            self.arena.fetch(packet);
            self.outgoing.push((lane, at, event));
        }
    }
}
