//! A block of nodes: its events, tick by tick.
//!
//! Each tick has three steps (`docs/torus-router.md`): every event of the tick is applied, in any order; then
//! each affected node delivers to its host, sends the token-acks that are due, and arbitrates once. Actions
//! that do not commute (deliveries, refills, arrivals at a VC that empties in the same tick) are done at a
//! fixed point after the first step, so that the result does not depend on the order of events.
//!
//! Nodes do not affect each other within a tick. So a node with one event, the usual case, goes through all
//! steps at once; the code path then depends on the kind of event, which a processor predicts far better than
//! the contents of lists of nodes. In ticks with very many events on a machine that does not fit the cache,
//! separate steps are faster: the first one waits for memory, for many nodes at a time.

use super::TorusFamily;
use super::shared::Shared;
use super::state::*;
use super::tables::Tables;
use crate::host::Host;
use crate::router::errors::Errors;
use crate::router::event::take_in;
use crate::router::statistics::Recorder;
use netloom_engine::{Block, Outbox, Time};

/// Nodes that one thread simulates at a time, with their hosts. `P` is the number of ports of a node: 6 or
/// 10.
pub struct TorusBlock<H, const P: usize> {
    pub(super) nodes: Vec<Node<P>>,
    pub(super) shared: Shared<H, P>,
    /// The machine's number of each node.
    pub(super) numbers: Vec<u32>,
    /// For each link, the time left, when the statistics were restarted, of a transmission that started
    /// before, ticks; empty if none.
    pub(super) carried: Vec<[u32; P]>,
    /// Lists of one tick, kept to reuse the memory.
    pub(super) taken: Vec<Event>,
    /// Events at nodes with several events.
    pub(super) together: Vec<Event>,
    pub(super) arrivals: Vec<Event>,
    pub(super) deliveries: Vec<Event>,
    pub(super) mends: Vec<Event>,
    /// Nodes that act after all events: those with several, or all of them if memory is prefetched.
    pub(super) dirty: Vec<u32>,
    /// Nodes whose arbiters act again in this tick.
    pub(super) retried: Vec<u32>,
    pub(super) next_tick: Time,
    /// Whether memory is prefetched: worthwhile if the machine does not fit a core's cache.
    pub(super) fetches: bool,
    /// Number of events in a tick above which the tick is processed step by step.
    pub(super) burst: usize,
}

/// The components of a block.
pub(super) struct Parts<const P: usize> {
    pub tables: Tables,
    pub nodes: Vec<Node<P>>,
    pub fifos: usize,
    pub numbers: Vec<u32>,
    pub recorder: Recorder,
    pub errors: Option<Box<Errors>>,
}

impl<H: Host<TorusFamily>, const P: usize> TorusBlock<H, P> {
    pub(super) fn new(parts: Parts<P>, host: H) -> Self {
        let Parts { tables, nodes, fifos, numbers, recorder, errors } = parts;
        let shared = Shared::new(tables, nodes.len(), fifos, recorder, errors, host);
        TorusBlock {
            nodes,
            shared,
            numbers,
            carried: vec![],
            taken: vec![],
            together: vec![],
            arrivals: vec![],
            deliveries: vec![],
            mends: vec![],
            dirty: vec![],
            retried: vec![],
            next_tick: Time::ZERO,
            fetches: false,
            burst: usize::MAX,
        }
    }

    /// Adds a node to those that act after all events of the tick.
    #[inline]
    fn mark(&mut self, node: usize) {
        let n = &mut self.nodes[node];
        if n.events != LISTED {
            n.events = LISTED;
            self.dirty.push(node as u32);
            n.acting = self.dirty.len() as u32;
        }
    }

    fn tick(&mut self, now: Time, until: Time, out: &mut Outbox<Message>) -> u64 {
        let mut taken = std::mem::take(&mut self.taken);
        if self.fetches {
            self.fetch_ahead(now, until);
        }
        self.shared.common.calendar.take(now, &mut taken);
        self.next_tick = now + 1;
        self.shared.common.recorder.reach(now);
        let mut retries = std::mem::replace(&mut self.shared.retries, std::mem::take(&mut self.retried));
        let count = taken.len() as u64;
        if taken.len() > self.burst {
            self.all_together(&taken, &mut retries, now, out);
        } else {
            self.one_by_one(&taken, &mut retries, now, out);
        }
        self.shared.common.hand_out(out);
        self.taken = taken;
        self.retried = retries;
        count
    }

    /// Processes the events of a tick one by one: nodes with a single event, the usual case, go through all
    /// steps at once.
    fn one_by_one(&mut self, taken: &[Event], retries: &mut Vec<u32>, now: Time, out: &mut Outbox<Message>) {
        for event in taken {
            let events = &mut self.nodes[event.node()].events;
            *events = 1 + u8::from(*events != 0);
            if event.kind() == Kind::Received {
                // A packet's metadata was last accessed at its injection.
                self.shared.common.arena.fetch(event.packet());
            }
        }
        for &node in &*retries {
            let events = &mut self.nodes[node as usize].events;
            *events = 1 + u8::from(*events != 0);
        }
        let mut together = std::mem::take(&mut self.together);
        for event in taken {
            let n = &mut self.nodes[event.node()];
            if n.events != 1 || !self.shared.alone(n, event, now, out) {
                together.push(*event);
            }
        }
        if !retries.is_empty() {
            retries.retain(|&node| {
                let n = &mut self.nodes[node as usize];
                let alone = std::mem::take(&mut n.events) == 1;
                if alone {
                    self.shared.arbitrate(n, now, out);
                }
                !alone
            });
        }
        if !together.is_empty() || !retries.is_empty() {
            self.all_together(&together, retries, now, out);
            together.clear();
        }
        self.together = together;
    }

    /// Processes events of any kinds and nodes step by step.
    fn all_together(
        &mut self,
        events: &[Event],
        retries: &mut Vec<u32>,
        now: Time,
        out: &mut Outbox<Message>,
    ) {
        for (i, &event) in events.iter().enumerate() {
            if self.fetches {
                self.fetch_along(events, i);
            }
            let node = event.node();
            let n = &mut self.nodes[node];
            if n.events != LISTED {
                n.events = 0;
            }
            match event.kind() {
                Kind::Sent => {
                    self.shared.sent(n, &event, now);
                    self.mark(node);
                }
                Kind::Tokens => {
                    if self.shared.tokens(n, event.port(), event.word) {
                        self.mark(node);
                    }
                }
                Kind::Fill => {
                    n.refill |= event.fifo();
                    self.mark(node);
                }
                Kind::Arrived => self.arrivals.push(event),
                Kind::Received | Kind::Copied | Kind::Wake => self.deliveries.push(event),
                Kind::Tail | Kind::Overdue | Kind::Resent | Kind::Timeout => self.mends.push(event),
            }
        }
        retries.drain(..).for_each(|node| self.mark(node as usize));
        self.deliver(now);
        let mut mends = std::mem::take(&mut self.mends);
        // Sorted by kind first, in the order of declaration.
        mends.sort_unstable_by_key(Event::place);
        for event in mends.drain(..) {
            if self.shared.mend(&mut self.nodes[event.node()], &event, now, out) {
                self.mark(event.node());
            }
        }
        self.mends = mends;
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for event in arrivals.drain(..) {
            if self.nodes[event.node()].occupied[event.port()] >> event.slot() & 1 == 0 {
                self.mark(event.node());
            }
            self.shared.arrive(&mut self.nodes[event.node()], &event, now);
        }
        self.arrivals = arrivals;
        let mut dirty = std::mem::take(&mut self.dirty);
        for (i, &node) in dirty.iter().enumerate() {
            if self.fetches {
                self.fetch_acting(&dirty, i);
            }
            let n = &mut self.nodes[node as usize];
            self.shared.act(n, now, out);
            n.events = 0;
        }
        dirty.clear();
        self.dirty = dirty;
    }

    /// The deliveries and wake-ups of a tick, by node and port.
    fn deliver(&mut self, now: Time) {
        let mut deliveries = std::mem::take(&mut self.deliveries);
        if deliveries.len() > 1 {
            deliveries.sort_unstable_by_key(Event::by_node);
        }
        for event in deliveries.drain(..) {
            let n = &mut self.nodes[event.node()];
            let wakes = event.kind() == Kind::Wake;
            if wakes {
                self.shared.common.wake(now, n.here, event.packet());
            } else {
                self.shared.received(n, &event, now);
            }
            if self.shared.obey(n, now) || !wakes {
                self.mark(event.node());
            }
        }
        self.deliveries = deliveries;
    }
}

impl<H: Host<TorusFamily>, const P: usize> Block for TorusBlock<H, P> {
    type Message = Message;

    #[inline]
    fn next_time(&self) -> Option<Time> {
        if self.shared.retries.is_empty() {
            self.shared.common.calendar.next_time()
        } else {
            Some(self.next_tick)
        }
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
        take_in(messages, &mut self.shared.common.arena, &mut self.shared.common.calendar);
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Escape, TorusConfig};
    use crate::host::{Delivery, Host, Pull, Signals};
    use crate::packet::{Header, Meta};
    use crate::router::torus::{TorusFamily, TorusNetwork};
    use crate::router::{BuildOptions, RouterBlock, WindowRecord};
    use crate::routing::hints;
    use crate::topology::torus::Torus;
    use netloom_engine::{Progress, Stream, Time};

    /// Each node sends packets of all sizes to random others, some of each kind, with pauses.
    struct Crowd {
        torus: Torus,
        numbers: Vec<u32>,
        streams: Vec<Stream>,
        /// The longest pause, ticks.
        pause: u64,
        delivered: u64,
    }

    impl Host<TorusFamily> for Crowd {
        fn pull(&mut self, now: Time, node: u32, fifo: usize, _: &mut Signals) -> Pull {
            let stream = &mut self.streams[node as usize];
            if stream.below(2) == 0 {
                return Pull::NotBefore(now + stream.below(self.pause));
            }
            let to = stream.below(self.torus.nodes().into()) as u32;
            let chunks = 1 + stream.below(8) as u32;
            let flags = match stream.below(8) {
                0 => Header::STATIC,
                1 => Header::HIGH,
                _ => 0,
            };
            let (from, to) =
                (self.torus.coordinates(self.numbers[node as usize]), self.torus.coordinates(to));
            if from == to {
                return Pull::NotBefore(now + 1 + fifo as u64);
            }
            let hints =
                hints::minimal(&self.torus, from, to, TorusConfig::bluegene_l(&[2, 2, 2]).router.halfway_tie);
            Pull::Packet(Header::new(to, hints, chunks, flags), Meta { made: now, ..Meta::default() })
        }

        fn deliver(&mut self, _: Time, node: u32, _: &Delivery, signals: &mut Signals) {
            self.delivered += 1;
            signals.fill(node, 0);
        }

        fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals) {}
    }

    fn run(change: impl Fn(&mut TorusConfig), pause: u64, burst: usize) -> (Vec<WindowRecord>, u64) {
        let mut config = TorusConfig::bluegene_l(&[4, 4, 3]);
        change(&mut config);
        let torus = Torus::new(&config.topology);
        let options = BuildOptions {
            smallest_chunks: 1,
            window: 1000,
            block: vec![2, 4, 3],
            ..BuildOptions::default()
        };
        let mut network = TorusNetwork::<_, 6>::new(&config, &options, |numbers| Crowd {
            torus: torus.clone(),
            numbers: numbers.to_vec(),
            streams: numbers.iter().map(|&n| Stream::new(3, 9, n.into())).collect(),
            pause,
            delivered: 0,
        })
        .expect("buildable");
        // Prefetching in step-by-step ticks, as on large machines.
        network.blocks().for_each(|block| (block.fetches, block.burst) = (burst == 0, burst));
        network.run_until(Time::at(60_000), 1, &Progress::default());
        (network.windows(), network.blocks().map(|block| block.host().delivered).sum())
    }

    #[test]
    fn nodes_one_by_one_or_step_by_step_come_to_the_same() {
        let changes: [fn(&mut TorusConfig); 6] = [
            |_| (),
            |config| config.router.paths = 1,
            |config| config.router.escape = Escape::Dateline,
            |config| config.router.arbitration_gap = true,
            |config| config.link.bit_error_rate = 1e-5,
            |config| config.router.bypass = false,
        ];
        for change in changes {
            // Congested, and with nodes that receive packets one at a time.
            for pause in [900, 9_000] {
                let (windows, delivered) = run(change, pause, usize::MAX);
                assert!(delivered > 1_000, "{delivered}");
                assert_eq!((windows, delivered), run(change, pause, 0));
            }
        }
    }
}
