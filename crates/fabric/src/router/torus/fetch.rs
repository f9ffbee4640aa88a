//! Memory fetched ahead of its use: a machine of many thousand nodes does not fit a core's caches, and only the calendar
//! knows which of them come next (`docs/performance.md`).

use super::bits::bits;
use super::block::TorusBlock;
use super::slots::BYPASS;
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use netloom_engine::{Time, prefetch};

/// Events of a tick up to which they are fetched in the ticks before. More are too many for the cache, and are fetched within
/// their own tick: those of a saturated machine, and when all nodes begin at once.
const BURST: usize = 96;

impl<H: Host, const P: usize> TorusBlock<H, P> {
    /// At the beginning of a window, when other blocks have had the cache in between.
    pub(super) fn fetch_first(&self, now: Time, until: Time) {
        self.shared.calendar.peek(now, BURST, |event| self.fetch_node(event));
        if now + 1 < until {
            self.shared.calendar.peek(now + 1, BURST, |event| self.fetch_node(event));
        }
        self.shared.calendar.peek(now, BURST, |event| self.fetch_details(event, true));
    }

    /// In each tick of a window, for the next two.
    #[inline]
    pub(super) fn fetch_ahead(&self, now: Time, until: Time) {
        if now + 2 < until {
            self.shared.calendar.fetch(now + 3);
            self.shared.calendar.peek(now + 2, BURST, |event| self.fetch_node(event));
        }
        if now + 1 < until {
            self.shared.calendar.peek(now + 1, BURST, |event| self.fetch_details(event, true));
        }
    }

    /// Within a tick of very many events, for those a little further on; the packets that may move follow when their nodes act.
    #[inline]
    pub(super) fn fetch_along(&self, events: &[Event], i: usize) {
        if events.len() > BURST {
            events.get(i + 32).into_iter().for_each(|event| self.fetch_node(event));
            events.get(i + 16).into_iter().for_each(|event| self.fetch_details(event, false));
        }
    }

    /// The same for the nodes that act in it, whose state may have left the cache since its events were applied.
    #[inline]
    pub(super) fn fetch_acting(&self, nodes: &[u32], i: usize) {
        if nodes.len() > BURST {
            nodes.get(i + 8).into_iter().for_each(|&node| prefetch(&self.nodes[node as usize]));
            if let Some(&node) = nodes.get(i + 4) {
                let node = node as usize;
                let mut asking = self.nodes[node].wishes.towards_any(self.nodes[node].open);
                while let Some((port, slots)) = asking.next_receiver() {
                    self.fetch_rings(node, port, slots);
                }
                bits(self.nodes[node].open & ((1 << P) - 1))
                    .for_each(|port| prefetch(&self.nodes[node].ports[port]));
            }
        }
    }

    /// Brings the node and port of an event into the cache.
    #[inline]
    fn fetch_node(&self, event: &Event) {
        let (node, port) = (event.node(), event.port());
        let n = &self.nodes[node];
        // The line of masks.
        prefetch(&n.random);
        match event.kind() {
            Kind::Sent => {
                prefetch(&n.tokens);
                prefetch(n.wishes.first_line());
                prefetch(&n.entering);
                prefetch(&n.ports[port]);
                let leaving = Leaving::of(event.word);
                if leaving.from == FROM_INJECTION {
                    self.shared.host.prepare(node as u32, leaving.slot.into());
                } else {
                    prefetch(&n.receivers[leaving.from as usize]);
                }
            }
            Kind::Tokens => {
                prefetch(&n.tokens);
                prefetch(&n.entering);
            }
            Kind::Arrived => {
                prefetch(n.wishes.first_line());
                prefetch(&n.receivers[port]);
            }
            Kind::Received => {
                prefetch(n.wishes.first_line());
                prefetch(&n.receivers[port]);
                self.shared.arena.fetch(event.packet());
            }
            _ => {}
        }
    }

    /// With those there, brings what they lead to; the packets that may move only if asked for.
    fn fetch_details(&self, event: &Event, packets: bool) {
        let (node, port) = (event.node(), event.port());
        let n = &self.nodes[node];
        match event.kind() {
            Kind::Sent => {
                let leaving = Leaving::of(event.word);
                if leaving.from != FROM_INJECTION {
                    let (from, slot) = (leaving.from as usize, leaving.slot as usize);
                    if n.open >> from & 1 != 0 {
                        // Its tokens can go back at once.
                        prefetch(&n.ports[from]);
                    }
                    // The next packet of the same VC; and with a path free again, its heads may go through any link.
                    let heads = if packets { n.wishes.of(from) } else { 0 };
                    self.fetch_rings(node, from, heads | 1 << slot);
                }
                self.fetch_candidates(node, port, packets);
            }
            // What waits for tokens moves when they come, unless the link is busy.
            Kind::Tokens if n.open >> port & 1 != 0 && !n.is_quiet() => {
                prefetch(&n.ports[port]);
                prefetch(n.wishes.first_line());
                self.fetch_injection(node, port);
            }
            Kind::Arrived => {
                self.fetch_rings(node, port, 1 << event.slot());
                // It may go on at once.
                let ways = Header(event.word).hints() & n.open & n.any_ok;
                if ways != 0 {
                    prefetch(&n.tokens);
                    bits(ways).for_each(|out| prefetch(&n.ports[out]));
                }
            }
            Kind::Received => self.fetch_rings(node, port, 1 << event.slot()),
            _ => {}
        }
    }

    /// Receivers whose heads may be the next on a link, and those packets.
    #[inline]
    fn fetch_candidates(&self, node: usize, port: usize, packets: bool) {
        let n = &self.nodes[node];
        let mut asking = n.wishes.towards(port);
        while let Some((receiver, slots)) = asking.next_receiver() {
            prefetch(&n.receivers[receiver]);
            if packets {
                self.fetch_rings(node, receiver, slots);
            }
        }
        self.fetch_injection(node, port);
    }

    /// The packets that may be injected into a link.
    #[inline]
    fn fetch_injection(&self, node: usize, port: usize) {
        let fifos = self.nodes[node].entering[port];
        if fifos != 0 {
            prefetch(&self.shared.injection[node]);
            bits(fifos).for_each(|fifo| prefetch(&self.shared.injecting[node * self.shared.fifos + fifo]));
        }
    }

    /// VCs of a receiver; the bypass has none.
    #[inline]
    fn fetch_rings(&self, node: usize, port: usize, slots: u8) {
        for vc in bits(u16::from(slots) & !(1 << BYPASS)) {
            prefetch(&self.shared.rings[self.shared.ring(node as u32, port, vc)]);
        }
    }
}
