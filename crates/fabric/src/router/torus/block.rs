//! A block of nodes: its events, tick by tick.
//!
//! Each tick has three steps (`docs/torus-router.md`): every event of the tick is applied, in any order; then each node
//! concerned hands over to its host, sends the token-acks that are due, and arbitrates once. What does not commute
//! (deliveries, refills, arrivals at a VC that empties in the same tick) waits for a fixed place after the first step, so
//! that the outcome does not depend on the order in which events came in.

use super::bits::bits;
use super::errors::{Errors, LinkErrors};
use super::state::*;
use super::statistics::{LinkCounts, Recorder, Totals, WindowRecord};
use super::tables::Tables;
use crate::host::{Host, Pull, Signal, Signals};
use crate::packet::{Arena, Header, Meta};
use netloom_engine::{Block, Calendar, Outbox, Time};

/// Nodes that one thread simulates at a time, with their hosts. `P` is the number of ports of a node: 6 or 10.
pub struct TorusBlock<H, const P: usize> {
    pub(super) tables: Tables,
    pub(super) nodes: Vec<Node<P>>,
    pub(super) ports: Vec<[Port; P]>,
    /// Rings of the VCs: node, port, VC, place.
    pub(super) rings: Vec<Line>,
    pub(super) injection: Vec<Injection>,
    /// Heads of the injection FIFOs: node, FIFO.
    pub(super) injecting: Vec<Entry>,
    /// Injection FIFOs of a node, and which of them are of high priority.
    pub(super) fifos: usize,
    pub(super) arena: Arena,
    pub(super) calendar: Calendar<Event>,
    pub(super) recorder: Recorder,
    /// Where the links corrupt bits.
    pub(super) errors: Option<Box<Errors>>,
    pub(super) host: H,
    /// The machine's number of each node.
    pub(super) numbers: Vec<u32>,
    signals: Signals,
    /// Lists of one tick, kept for their memory.
    taken: Vec<Event>,
    arrivals: Vec<Event>,
    deliveries: Vec<Event>,
    pub(super) mends: Vec<Event>,
    dirty: Vec<u32>,
    /// Nodes whose arbiters act again in the tick after the last one, and that tick.
    pub(super) retries: Vec<u32>,
    next_tick: Time,
    /// Whether memory is fetched ahead: worth it where the machine does not fit a core's cache.
    pub(super) fetches: bool,
}

/// What a block is made of.
pub(super) struct Parts<const P: usize> {
    pub tables: Tables,
    pub nodes: Vec<Node<P>>,
    pub ports: Vec<[Port; P]>,
    pub fifos: usize,
    pub numbers: Vec<u32>,
    pub recorder: Recorder,
    pub errors: Option<Box<Errors>>,
}

/// What one block tells another: an event, and with an arriving packet what its ends know of it.
pub struct Message {
    event: Event,
    meta: Meta,
}

impl<H: Host, const P: usize> TorusBlock<H, P> {
    pub(super) fn new(parts: Parts<P>, host: H) -> Self {
        let Parts { tables, nodes, ports, fifos, numbers, recorder, errors } = parts;
        let n = nodes.len();
        let mut block = TorusBlock {
            rings: vec![Line::default(); n * P * tables.vcs * tables.lines],
            injection: vec![Injection::default(); n],
            injecting: vec![Entry::default(); n * fifos],
            fifos,
            arena: Arena::default(),
            calendar: Calendar::new(),
            recorder,
            errors,
            host,
            numbers,
            signals: Signals::default(),
            taken: vec![],
            arrivals: vec![],
            deliveries: vec![],
            mends: vec![],
            dirty: vec![],
            retries: vec![],
            next_tick: 0,
            fetches: false,
            tables,
            nodes,
            ports,
        };
        for node in 0..n as u32 {
            for fifo in 0..fifos {
                block.calendar.push(0, Event::at(Kind::Fill, node, fifo / 8, fifo % 8, 0, 0));
            }
        }
        block
    }

    /// The nodes' side.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// The nodes' side, to read it out or change it between windows.
    pub fn host_mut(&mut self) -> &mut H {
        &mut self.host
    }

    /// The machine's numbers of the block's nodes, in the block's order.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Windows of the series that have ended before `now`.
    pub fn windows(&mut self, now: Time) -> &[WindowRecord] {
        self.recorder.reach(now);
        &self.recorder.windows
    }

    /// Sums over all windows so far, the current one included.
    pub fn so_far(&self) -> WindowRecord {
        let mut sum = self.recorder.current.clone();
        self.recorder.windows.iter().for_each(|w| sum.merge(w));
        sum
    }

    /// Sums since counting began.
    pub fn totals(&self) -> &Totals {
        &self.recorder.totals
    }

    /// Packets in the network or at the heads of injection FIFOs.
    pub fn packets(&self) -> usize {
        self.arena.len()
    }

    /// Packets that have left their injection FIFO and are not yet delivered, less those that were injected in another
    /// block: only the sum over all blocks means something.
    pub fn under_way(&self) -> i64 {
        self.recorder.under_way
    }

    /// Traffic of a node's link from when counting began to `now`, the time reached.
    pub fn link(&self, node: usize, port: usize, now: Time) -> LinkCounts {
        let port = &self.ports[node][port];
        let (packets, acks) = (port.packets.into(), port.acks.into());
        let chunks = port.sent.map(u64::from);
        // What the link carries was counted whole when it began: what is still to go of it is not yet spent.
        let to_go = port.free_at.saturating_sub(now);
        let busy = u64::from(port.carried) + self.tables.sending(packets, chunks.iter().sum(), acks) - to_go;
        LinkCounts { packets, chunks, acks, busy }
    }

    /// Whether a port of a node has a link that works.
    pub fn has_link(&self, node: usize, port: usize) -> bool {
        self.ports[node][port].neighbour != NOWHERE
    }

    /// Begins counting anew at `now`, the time reached: links and totals; the series go on.
    pub fn restart_counting(&mut self, now: Time) {
        for port in self.ports.iter_mut().flatten() {
            (port.packets, port.sent, port.acks) = (0, [0; 3], 0);
            port.carried = port.free_at.saturating_sub(now) as u32;
        }
        self.recorder.totals = Totals::default();
        self.errors.iter_mut().flat_map(|e| &mut e.counts).for_each(|link| *link = LinkErrors::default());
    }

    /// Bytes of the network's state, and of what the packets in it need.
    pub fn bytes(&self) -> (usize, usize) {
        let state = size_of_val(&*self.nodes)
            + size_of_val(&*self.ports)
            + size_of_val(&*self.rings)
            + size_of_val(&*self.injection)
            + size_of_val(&*self.injecting)
            + size_of_val(&*self.numbers)
            + self.errors.as_ref().map_or(0, |e| e.bytes());
        (state, self.arena.bytes() + self.calendar.bytes())
    }

    /// The first line of a VC's ring.
    #[inline]
    pub(super) fn ring(&self, node: usize, port: usize, vc: usize) -> usize {
        ((node * P + port) * self.tables.vcs + vc) * self.tables.lines
    }

    /// A place of a VC's ring.
    #[inline]
    pub(super) fn entry(&self, node: usize, port: usize, vc: usize, place: u8) -> &Entry {
        &self.rings[self.ring(node, port, vc) + place as usize / LINE].0[place as usize % LINE]
    }

    /// The same, to be written.
    #[inline]
    pub(super) fn entry_mut(&mut self, node: usize, port: usize, vc: usize, place: u8) -> &mut Entry {
        let line = self.ring(node, port, vc) + place as usize / LINE;
        &mut self.rings[line].0[place as usize % LINE]
    }

    #[inline]
    pub(super) fn mark(&mut self, node: usize) {
        if !self.nodes[node].dirty {
            self.nodes[node].dirty = true;
            self.dirty.push(node as u32);
        }
    }

    fn tick(&mut self, now: Time, until: Time, out: &mut Outbox<Message>) -> u64 {
        let mut taken = std::mem::take(&mut self.taken);
        if self.fetches {
            self.fetch_ahead(now, until);
        }
        self.calendar.take(now, &mut taken);
        self.next_tick = now + 1;
        self.recorder.reach(now);
        for (i, event) in taken.iter().enumerate() {
            if self.fetches {
                self.fetch_along(&taken, i);
            }
            let (node, port) = (event.node(), event.port());
            match event.kind() {
                Kind::Sent => self.sent(node, port, now),
                Kind::Tokens => self.tokens(node, port, event.word),
                Kind::Arrived => self.arrivals.push(*event),
                Kind::Received | Kind::Copied | Kind::Wake => self.deliveries.push(*event),
                Kind::Fill => {
                    self.nodes[node].refill |= 1 << (port * 8 + event.slot());
                    self.mark(node);
                }
                Kind::Tail | Kind::Overdue | Kind::Resent | Kind::Timeout => self.mends.push(*event),
            }
        }
        let mut retries = std::mem::take(&mut self.retries);
        retries.drain(..).for_each(|node| self.mark(node as usize));
        self.retries = retries;
        let count = taken.len() as u64;
        self.taken = taken;
        if !self.deliveries.is_empty() {
            self.deliver(now);
        }
        if !self.mends.is_empty() {
            self.mend(now, out);
        }
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for event in arrivals.drain(..) {
            self.arrive(&event, now);
        }
        self.arrivals = arrivals;
        let mut dirty = std::mem::take(&mut self.dirty);
        for (i, &node) in dirty.iter().enumerate() {
            if self.fetches {
                self.fetch_acting(&dirty, i);
            }
            let node = node as usize;
            self.nodes[node].dirty = false;
            if self.nodes[node].refill != 0 {
                self.refill(node, now);
            }
            if self.nodes[node].due & self.nodes[node].open != 0 {
                self.send_due(node, now, out);
            }
            self.arbitrate(node, now, out);
        }
        dirty.clear();
        self.dirty = dirty;
        count
    }

    /// Deliveries and wake-ups of a tick, node by node and port by port.
    fn deliver(&mut self, now: Time) {
        let mut deliveries = std::mem::take(&mut self.deliveries);
        if deliveries.len() > 1 {
            deliveries.sort_unstable_by_key(|e| (e.node(), e.place(), e.packet));
        }
        for event in deliveries.drain(..) {
            match event.kind() {
                Kind::Received | Kind::Copied => self.received(&event, now),
                _ => self.host.wake(now, event.node() as u32, event.packet, &mut self.signals),
            }
            self.obey(now, true);
        }
        self.deliveries = deliveries;
    }

    /// Hands a packet over to the host.
    pub(super) fn hand_over(&mut self, now: Time, node: usize, port: usize, header: Header, meta: Meta) {
        let chunks = header.chunks();
        let current = &mut self.recorder.current;
        current.delivered += 1;
        current.delivered_chunks += u64::from(chunks);
        current.latency += now - meta.made;
        self.recorder.totals.latency.record(now - meta.made);
        self.recorder.totals.network_latency.record(now - meta.entered);
        let delivery = crate::host::Delivery { port, header, meta };
        self.host.deliver(now, node as u32, &delivery, &mut self.signals);
    }

    /// Does what the host asked for. In the second step of a tick the nodes concerned must be marked; in the third, the one
    /// that acts is the only one.
    fn obey(&mut self, now: Time, mark: bool) {
        if self.signals.list.is_empty() {
            return;
        }
        let mut list = std::mem::take(&mut self.signals.list);
        for signal in list.drain(..) {
            let node = match signal {
                Signal::Fill { node, fifo } => {
                    self.nodes[node as usize].refill |= 1 << fifo;
                    node
                }
                Signal::Wake { node, at, token } => {
                    assert!(at > now, "a host may be woken in the future only");
                    self.calendar.push(at, Event::at(Kind::Wake, node, 0, 0, token, 0));
                    continue;
                }
                Signal::Reception { node, port, high, open } => {
                    let full = &mut self.nodes[node as usize].reception_full[usize::from(high)];
                    *full = *full & !(1 << port) | u16::from(!open) << port;
                    node
                }
            };
            if mark {
                self.mark(node as usize);
            }
        }
        self.signals.list = list;
    }

    /// Asks the host for the next packets of a node's FIFOs that have none, in the FIFOs' order.
    fn refill(&mut self, node: usize, now: Time) {
        let mut fifos = std::mem::take(&mut self.nodes[node].refill);
        while fifos != 0 {
            let fifo = fifos.trailing_zeros() as usize;
            fifos &= fifos - 1;
            // One with a packet at its head, or in transfer, asks again by itself.
            if (self.nodes[node].waiting | self.nodes[node].injecting) >> fifo & 1 == 0 {
                self.pull(node, fifo, now);
            }
            if fifos == 0 {
                // What the host signalled while it was asked.
                fifos = std::mem::take(&mut self.nodes[node].refill);
            }
        }
    }

    fn pull(&mut self, node: usize, fifo: usize, now: Time) {
        match self.host.pull(now, node as u32, fifo, &mut self.signals) {
            Pull::Packet(header, meta) => {
                let packet = self.arena.insert(meta);
                let entry = Entry { header, packet, arrived: now as u32 };
                self.injecting[node * self.fifos + fifo] = entry;
                let head = self.head(header);
                self.injection[node].heads[fifo] = head;
                let n = &mut self.nodes[node];
                n.waiting |= 1 << fifo;
                n.waiting_high |= u16::from(head & Header::HIGH != 0) << fifo;
                bits(head & Header::HINTS).for_each(|port| n.entering[port] |= 1 << fifo);
            }
            Pull::NotBefore(at) => {
                let event = Event::at(Kind::Fill, node as u32, fifo / 8, fifo % 8, 0, 0);
                self.calendar.push(at.max(now + 1), event);
            }
            Pull::Empty => {}
        }
        self.obey(now, false);
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
        if to & REMOTE == 0 {
            self.calendar.push(at, event(to, packet));
        } else {
            let meta = if packet == u32::MAX { Meta::default() } else { self.arena.remove(packet) };
            let lane = (to >> 20 & 0x7ff) as usize;
            out.send(lane, at, Message { event: event(to % BLOCK_MAX as u32, packet), meta });
        }
    }
}

impl<H: Host, const P: usize> Block for TorusBlock<H, P> {
    type Message = Message;

    #[inline]
    fn next_time(&self) -> Option<Time> {
        if self.retries.is_empty() { self.calendar.next_time() } else { Some(self.next_tick) }
    }

    fn advance(&mut self, until: Time, out: &mut Outbox<Message>) -> u64 {
        let mut events = 0;
        if self.fetches
            && let Some(now) = self.next_time()
        {
            self.fetch_first(now, until);
        }
        while let Some(now) = self.next_time()
            && now < until
        {
            events += self.tick(now, until, out);
        }
        events
    }

    fn receive(&mut self, messages: &mut Vec<(Time, Message)>) {
        for (time, message) in messages.drain(..) {
            let mut event = message.event;
            if event.kind() == Kind::Arrived {
                event.packet = self.arena.insert(message.meta);
            }
            self.calendar.push(time, event);
        }
    }
}
