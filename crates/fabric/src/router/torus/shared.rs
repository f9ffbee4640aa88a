//! The shared state of a block's nodes, and a node's actions on it in a tick.

use super::TorusFamily;
use super::state::*;
use super::tables::Tables;
use crate::host::Host;
use crate::packet::Header;
use crate::router::common::Common;
use crate::router::errors::Errors;
use crate::router::statistics::Recorder;
use netloom_engine::{Outbox, Time};
use std::convert::Infallible;

/// The shared state of a block's nodes: everything that a node needs to act besides its own state.
pub(super) struct Shared<H, const P: usize> {
    pub tables: Tables,
    /// Rings of the VCs: node, port, VC, place.
    pub rings: Vec<Line>,
    pub injection: Vec<Injection>,
    /// Heads of the injection FIFOs: node, FIFO.
    pub injecting: Vec<Entry>,
    pub common: Common<TorusFamily, Infallible, H, HORIZON>,
    /// Packets in bypasses, for the tick in which they are there: by the node's index in the list of acting
    /// nodes, or 0 for one that acts at once; by port.
    pub standing: Vec<Entry>,
    /// Nodes whose arbiters act again in the tick after the last one.
    pub retries: Vec<u32>,
}

impl<H: Host<TorusFamily>, const P: usize> Shared<H, P> {
    /// For `nodes` nodes with `fifos` injection FIFOs each, all of which are to be filled from the host.
    pub fn new(
        tables: Tables,
        n: usize,
        fifos: usize,
        recorder: Recorder,
        errors: Option<Box<Errors>>,
        host: H,
    ) -> Self {
        Shared {
            rings: vec![Line::default(); n * P * tables.vcs * tables.lines],
            injection: vec![Injection::default(); n],
            injecting: vec![Entry::default(); n * fifos],
            common: Common::new(n, fifos, recorder, errors, host),
            standing: vec![Entry::default(); (n + 1) * P],
            retries: vec![],
            tables,
        }
    }

    /// The first line of a VC's ring.
    #[inline]
    pub(super) fn ring(&self, node: u32, port: usize, vc: usize) -> usize {
        ((node as usize * P + port) * self.tables.vcs + vc) * self.tables.lines
    }

    /// A place in a VC's ring.
    #[inline]
    pub(super) fn entry(&self, node: u32, port: usize, vc: usize, place: u8) -> &Entry {
        &self.rings[self.ring(node, port, vc) + place as usize / LINE].0[place as usize % LINE]
    }

    /// A place in a VC's ring, for writing.
    #[inline]
    pub(super) fn entry_mut(&mut self, node: u32, port: usize, vc: usize, place: u8) -> &mut Entry {
        let line = self.ring(node, port, vc) + place as usize / LINE;
        &mut self.rings[line].0[place as usize % LINE]
    }

    /// Applies the only event of a node in this tick, and the node's actions after it. Returns whether the
    /// event is of a usual kind; if not, nothing was done.
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

    /// A node's actions after its events.
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

    /// The part of a header that arbitration stores.
    #[inline]
    pub(super) fn head(&self, header: Header) -> u16 {
        let head = header.head();
        if self.tables.bubble || head & Header::HINTS == 0 {
            return head;
        }
        let direction = crate::routing::hints::first(head, self.tables.order);
        if header.crossed(direction.trailing_zeros() as usize / 2) { head | UPPER } else { head }
    }
}
