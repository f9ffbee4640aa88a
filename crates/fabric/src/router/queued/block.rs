//! A block of nodes: its events, tick by tick.
//!
//! The events of a node in a tick are sorted by kind, so results do not depend on blocks or threads. Once all
//! events of a node have been applied, the node acts: it sends the token-acks that are due, and its arbiters
//! act once, and again a cycle later if a request lost. A node's cycles start with an event, since wire
//! delays are not whole cycles.

use super::QueuedFamily;
use super::counters::Counters;
use super::soft::SoftErrors;
use super::state::*;
use super::tables::Tables;
use crate::collective::ByteOrder;
use crate::host::{CALLS_AHEAD, Host};
use crate::packet::Header;
use crate::router::common::Common;
use crate::router::event::take_in;
use crate::router::statistics::Recorder;
use netloom_engine::{Block, Grouped, Outbox, Time};

/// Prefetch distance, in events.
const AHEAD: usize = 8;
/// Nodes of a block up to which they are in the cache anyway.
const FETCHED_ABOVE: usize = 512;

/// Nodes that one thread simulates at a time, with their hosts.
pub struct QueuedBlock<H> {
    pub(super) nodes: Vec<Node>,
    pub(super) shared: Shared<H>,
    /// The machine's number of each node.
    pub(super) numbers: Vec<u32>,
    /// For each link, the time left, when the statistics were restarted, of a transmission that started
    /// before, ticks; empty if none.
    pub(super) carried: Vec<[u32; PORTS]>,
    /// The events of one tick, and those of them whose nodes have several; kept to reuse the memory.
    pub(super) taken: Vec<Event>,
    pub(super) together: Grouped<Event>,
    /// The nodes whose hosts the events of one tick call, in order, if that is needed.
    pub(super) callees: Vec<u32>,
}

/// Whether a host is called: when a packet from an injection FIFO has left, for the next one.
#[inline]
fn calls_host(event: &Event) -> bool {
    event.is_of(&[Kind::Wake, Kind::Received, Kind::Fill])
        | event.is_of(&[Kind::Sent]) & (Leaving::of(event.word).from == FROM_INJECTION)
}

/// The shared state of a block's nodes: everything that a node needs to act besides its own state.
pub(super) struct Shared<H> {
    pub tables: Tables,
    pub common: Common<QueuedFamily, QueuedKind, H, HORIZON>,
    /// By a packet's number in the arena.
    pub cells: Vec<Cell>,
    /// Packets at the heads of the injection FIFOs: by node and FIFO.
    pub injecting: Vec<u32>,
    /// The machine's own performance counters, if they are on.
    pub counters: Option<Box<Counters>>,
    /// The byte order of the nodes' memory.
    pub byte_order: ByteOrder,
    /// Soft errors of receivers' buffers, if configured.
    pub soft: Option<Box<SoftErrors>>,
}

/// Lists the nodes whose hosts these events call, then the last one again, so that there is always a next one.
fn list_callees(events: &[Event], callees: &mut Vec<u32>) {
    callees.resize(events.len() + CALLS_AHEAD, 0);
    let mut count = 0;
    for event in events {
        // Overwritten if it calls none: whether it does cannot be predicted.
        callees[count] = event.node() as u32;
        count += usize::from(calls_host(event));
    }
    let last = callees[count.saturating_sub(1)];
    callees[count..count + CALLS_AHEAD].fill(last);
}

impl<H: Host<QueuedFamily>> QueuedBlock<H> {
    pub(super) fn new(
        tables: Tables,
        nodes: Vec<Node>,
        fifos: usize,
        numbers: Vec<u32>,
        recorder: Recorder,
        host: H,
    ) -> Self {
        let shared = Shared {
            injecting: vec![0; nodes.len() * fifos],
            common: Common::new(nodes.len(), fifos, recorder, None, host),
            tables,
            cells: vec![],
            counters: None,
            byte_order: ByteOrder::Big,
            soft: None,
        };
        let together = Grouped::new(nodes.len());
        QueuedBlock { nodes, shared, numbers, carried: vec![], taken: vec![], together, callees: vec![] }
    }

    fn tick(&mut self, now: Time, out: &mut Outbox<Message>) -> u64 {
        let mut taken = std::mem::take(&mut self.taken);
        let has_large_hosts = self.shared.common.host.is_large();
        let fetches = has_large_hosts || self.nodes.len() > FETCHED_ABOVE;
        self.shared.common.calendar.take(now, &mut taken);
        let mut callees = std::mem::take(&mut self.callees);
        if has_large_hosts {
            list_callees(&taken, &mut callees);
        }
        self.shared.common.recorder.reach(now);
        for (i, event) in taken.iter().enumerate() {
            let n = &mut self.nodes[event.node()];
            n.events = n.events.saturating_add(1);
            if fetches && i < AHEAD {
                n.fetch(event);
            }
        }
        let mut next = &*callees;
        // Nodes are independent within a tick, so most events, those that their nodes have alone, need no order.
        for (i, event) in taken.iter().enumerate() {
            // The state that the events of a tick touch is scattered in memory, so it is prefetched several
            // events ahead.
            if fetches && let Some(ahead) = taken.get(i + AHEAD / 2) {
                self.nodes[ahead.node()].fetch_heads(ahead);
                if let Some(ahead) = taken.get(i + AHEAD) {
                    self.nodes[ahead.node()].fetch(ahead);
                }
            }
            if has_large_hosts && calls_host(event) {
                next = &next[1..];
                self.shared.common.host.prefetch(next.first_chunk().expect("more follow than are called"));
            }
            let n = &mut self.nodes[event.node()];
            if n.events == 1 {
                n.events = 0;
                self.shared.apply(n, event, now, out);
                self.shared.act(n, now, out);
            } else {
                self.together.add(event.node() as u32, *event);
            }
        }
        if !self.together.is_empty() {
            self.node_by_node(now, out);
        }
        self.shared.common.hand_out(out);
        let count = taken.len() as u64;
        (self.taken, self.callees) = (taken, callees);
        count
    }

    /// Processes the events of nodes with several each, by node and kind; none is left.
    #[inline(never)]
    fn node_by_node(&mut self, now: Time, out: &mut Outbox<Message>) {
        self.together.place(|event| event.node() as u32);
        while let Some((node, its)) = self.together.next_owner() {
            let n = &mut self.nodes[node as usize];
            n.events = 0;
            let events = &mut self.together.placed_mut()[its];
            events.sort_unstable_by_key(Event::by_node);
            for event in &*events {
                self.shared.apply(n, event, now, out);
            }
            self.shared.act(n, now, out);
        }
    }
}

impl<H: Host<QueuedFamily>> Shared<H> {
    #[inline(always)]
    fn apply(&mut self, n: &mut Node, event: &Event, now: Time, out: &mut Outbox<Message>) {
        n.settled &= matches!(event.kind(), Kind::Wake | Kind::Fill);
        match event.kind() {
            Kind::Sent => self.sent(n, event, now),
            Kind::Tokens => self.tokens(n, event.port(), event.word),
            Kind::Arrived => {
                let (port, vc, header) = (event.port(), event.slot(), Header(event.word));
                if vc < VCS {
                    self.join(n, port, vc, event.packet(), header, now);
                } else {
                    self.join_collective(n, port, vc, event.packet(), header, now);
                }
                if self.common.errors.is_some() {
                    self.note_arrival(n, event, now);
                }
            }
            Kind::Received | Kind::Copied => self.received(n, event, now),
            Kind::Fill => n.refill |= event.fifo(),
            Kind::Wake => {
                self.common.wake(now, n.here, event.packet());
                self.obey(n, now);
            }
            Kind::Own(QueuedKind::Retry) => n.retries = false,
            Kind::Own(QueuedKind::Central) => self.central_event(n, event.slot(), now),
            Kind::Own(QueuedKind::Collected) => self.collected(n, event, now),
            Kind::Own(QueuedKind::Interrupt) => self.interrupted(n, event.port(), event.word, now),
            Kind::Tail | Kind::Overdue | Kind::Resent | Kind::Timeout => self.mend(n, event, now, out),
        }
    }

    /// The actions of a node after its events.
    #[inline(always)]
    fn act(&mut self, n: &mut Node, now: Time, out: &mut Outbox<Message>) {
        if n.refill != 0 {
            self.refill(n, now);
        }
        if n.due & n.open != 0 {
            self.send_due(n, n.open, now, out);
        }
        if n.barrier_updates & n.open != 0 {
            self.send_interrupts(n, n.open, now, out);
        }
        if n.central.is_some() {
            self.collective(n, now, out);
            // It may have given up links that it had claimed.
            n.settled = false;
        }
        if n.asking | n.waiting != 0 && !n.settled {
            n.settled = true;
            self.arbitrate(n, now, out);
        }
    }

    /// Schedules the node's arbiters to act a cycle later.
    pub(super) fn retry(&mut self, n: &mut Node, now: Time) {
        n.settled = false;
        if !n.retries {
            n.retries = true;
            self.common
                .calendar
                .push(now + self.tables.cycle, Event::at(Kind::Own(QueuedKind::Retry), n.here, 0, 0, 0, 0));
        }
    }
}

impl<H: Host<QueuedFamily>> Block for QueuedBlock<H> {
    type Message = Message;

    fn next_time(&self) -> Option<Time> {
        self.shared.common.calendar.next_time()
    }

    fn advance(&mut self, until: Time, out: &mut Outbox<Message>) -> u64 {
        let mut events = 0;
        while let Some(now) = self.next_time()
            && now < until
        {
            events += self.tick(now, out);
        }
        events
    }

    fn receive(&mut self, messages: &mut Vec<(Time, Message)>) {
        take_in(messages, &mut self.shared.common.arena, &mut self.shared.common.calendar);
    }
}
