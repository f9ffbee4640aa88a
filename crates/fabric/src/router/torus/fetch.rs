//! Prefetching: a machine of many thousand nodes does not fit a core's caches, and only the calendar knows
//! which nodes come next (`docs/performance.md`).

use super::TorusFamily;
use super::block::TorusBlock;
use super::slots::{BYPASS, SlotSet};
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use crate::router::bits::bits;
use netloom_engine::{Time, prefetch};

/// Maximum number of events of a tick that are prefetched in the preceding ticks. More exceed the cache, and
/// are prefetched within their own tick: in a saturated machine, and when all nodes start at once.
pub(super) const BURST: usize = 96;

impl<H: Host<TorusFamily>, const P: usize> TorusBlock<H, P> {
    /// At the start of a window, after other blocks have used the cache.
    pub(super) fn fetch_first(&self, now: Time, until: Time) {
        self.shared.common.calendar.peek(now, BURST, |event| self.fetch_node(event));
        if now + 1 < until {
            self.shared.common.calendar.peek(now + 1, BURST, |event| self.fetch_node(event));
        }
        self.shared.common.calendar.peek(now, BURST, |event| self.fetch_details(event, true));
    }

    /// In each tick of a window, for the next two ticks.
    #[inline]
    pub(super) fn fetch_ahead(&self, now: Time, until: Time) {
        if now + 2 < until {
            self.shared.common.calendar.fetch(now + 3);
            self.shared.common.calendar.peek(now + 2, BURST, |event| self.fetch_node(event));
        }
        if now + 1 < until {
            self.shared.common.calendar.peek(now + 1, BURST, |event| self.fetch_details(event, true));
        }
    }

    /// Within a tick of very many events, for events a little ahead; packets that may move follow when their
    /// nodes act.
    #[inline]
    pub(super) fn fetch_along(&self, events: &[Event], i: usize) {
        if events.len() > BURST {
            events.get(i + 32).into_iter().for_each(|event| self.fetch_node(event));
            events.get(i + 16).into_iter().for_each(|event| self.fetch_details(event, false));
        }
    }

    /// The same for the nodes that act in it, whose state may have been evicted since their events were
    /// applied.
    #[inline]
    pub(super) fn fetch_acting(&self, nodes: &[u32], i: usize) {
        if nodes.len() > BURST {
            nodes.get(i + 8).into_iter().for_each(|&node| prefetch(&self.nodes[node as usize]));
            if let Some(&node) = nodes.get(i + 4) {
                let n = &self.nodes[node as usize];
                self.fetch_asking(n, n.requested.towards_any(n.open));
                prefetch(&n.ports[n.open.trailing_zeros() as usize % P]);
            }
        }
    }

    /// Prefetches the node and port of an event.
    #[inline]
    fn fetch_node(&self, event: &Event) {
        let (node, port) = (event.node(), event.port());
        let n = &self.nodes[node];
        // The cache line with the masks.
        prefetch(&n.random);
        match event.kind() {
            Kind::Sent => {
                prefetch(n.requested.first_line());
                prefetch(&n.tokens);
                prefetch(&n.entering);
                prefetch(&n.ports[port]);
                let leaving = Leaving::of(event.word);
                if leaving.from == FROM_INJECTION {
                    self.shared.common.host.prepare(node as u32, leaving.slot.into());
                } else {
                    prefetch(&n.receivers[leaving.from as usize]);
                }
            }
            Kind::Tokens => {
                prefetch(&n.tokens);
                prefetch(&n.entering);
            }
            Kind::Arrived => {
                prefetch(n.requested.first_line());
                prefetch(&n.receivers[port]);
            }
            Kind::Received => {
                prefetch(n.requested.first_line());
                prefetch(&n.receivers[port]);
                self.shared.common.arena.fetch(event.packet());
            }
            _ => {}
        }
    }

    /// Prefetches the state that those lines refer to; packets that may move only on request. With few
    /// branches: a mispredicted one costs as much as a late cache line.
    fn fetch_details(&self, event: &Event, packets: bool) {
        let (node, port) = (event.node(), event.port());
        let n = &self.nodes[node];
        match event.kind() {
            Kind::Sent => {
                let leaving = Leaving::of(event.word);
                let mut asking = n.requested.towards(port);
                if leaving.from != FROM_INJECTION {
                    let from = leaving.from as usize;
                    if n.open >> from & 1 != 0 {
                        // Its tokens may be returned at once.
                        prefetch(&n.ports[from]);
                    }
                    // The next packet of the same VC.
                    self.fetch_ring(n, from, leaving.slot.into());
                    if packets {
                        // With a path free again, its heads may use any link.
                        asking = asking.and_also(SlotSet::of(from, n.requested.of(from)));
                    }
                }
                if n.entering[port] != 0 && (packets || asking.is_empty()) {
                    self.fetch_injection(n);
                }
                if packets {
                    self.fetch_asking(n, asking);
                }
            }
            // Packets that wait for tokens move when these arrive, unless the link is busy.
            Kind::Tokens if n.open >> port & 1 != 0 && !n.is_quiet() => {
                prefetch(&n.ports[port]);
                prefetch(n.requested.first_line());
                if n.entering[port] != 0 {
                    self.fetch_injection(n);
                }
            }
            Kind::Arrived => {
                self.fetch_ring(n, port, event.slot());
                // It may continue at once.
                let directions = Header(event.word).hints() & n.open & n.any_ok;
                if directions != 0 {
                    prefetch(&n.tokens);
                    prefetch(&n.ports[directions.trailing_zeros() as usize % P]);
                    prefetch(&n.ports[directions.ilog2() as usize % P]);
                }
            }
            Kind::Received => self.fetch_ring(n, port, event.slot()),
            _ => {}
        }
    }

    /// Receivers with heads that may be next, and the packets of these heads.
    #[inline]
    fn fetch_asking(&self, n: &Node<P>, mut asking: SlotSet<P>) {
        while let Some((port, slots)) = asking.next_receiver() {
            prefetch(&n.receivers[port]);
            bits(slots).for_each(|slot| self.fetch_ring(n, port, slot));
        }
    }

    /// The packets that may be injected.
    #[inline]
    fn fetch_injection(&self, n: &Node<P>) {
        let first = n.here as usize * self.shared.common.fifos;
        prefetch(&self.shared.injection[n.here as usize]);
        prefetch(&self.shared.injecting[first]);
        prefetch(&self.shared.injecting[first + self.shared.common.fifos - 1]);
    }

    /// A VC's packets; the bypass has none.
    #[inline]
    fn fetch_ring(&self, n: &Node<P>, port: usize, slot: usize) {
        if slot != BYPASS {
            prefetch(&self.shared.rings[self.shared.ring(n.here, port, slot)]);
        }
    }
}
