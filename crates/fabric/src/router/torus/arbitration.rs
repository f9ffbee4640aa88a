//! The three phases of arbitration (section 2), once per tick and node: each packet's direction and VC; each
//! receiver's request; each sender's grant.

use super::TorusFamily;
use super::shared::Shared;
use super::slots::{BYPASS, SLOTS, SlotSet};
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use crate::router::bits::{best_of, bits, one_of};
use crate::router::errors::Kept;
use crate::router::recovery::Recovery;
use netloom_engine::{Outbox, Time};

/// A receiver's request.
#[derive(Clone, Copy, Default)]
struct Request {
    slot: u8,
    vc: u8,
    high: bool,
}

/// A packet that has been granted its link.
pub(super) struct Grant {
    /// The receiver that holds it; `None` for an injection FIFO.
    pub from: Option<usize>,
    /// Its slot there, or the FIFO.
    pub slot: usize,
    pub to: usize,
    pub vc: usize,
    pub entry: Entry,
}

impl<H: Host<TorusFamily>, const P: usize> Shared<H, P> {
    /// One tick's arbitration of a node.
    #[inline(always)]
    pub(super) fn arbitrate(&mut self, n: &mut Node<P>, now: Time, out: &mut Outbox<Message>) {
        if !n.is_quiet() {
            self.contend(n, now, out);
        }
    }

    /// The same for a node that is not quiet.
    #[inline(never)]
    fn contend(&mut self, n: &mut Node<P>, now: Time, out: &mut Outbox<Message>) {
        // Directions with any tokens.
        let offered = n.open & n.any_ok;
        if n.standing == 1 && n.bypassing != 0 && n.waiting == 0 && !self.tables.gap {
            // The usual case under light load.
            let port = n.bypassing.trailing_zeros() as usize;
            self.serve_one(n, port, BYPASS, offered, now, out);
        } else {
            self.compare(n, offered, now, out);
        }
        if n.bypassing != 0 {
            self.end_bypass(n, now);
        }
    }

    /// The same with more than one packet to look at.
    #[inline]
    fn compare(&mut self, n: &mut Node<P>, offered: u16, now: Time, out: &mut Outbox<Message>) {
        let bypassing = n.bypassing;
        bits(bypassing).for_each(|port| n.requested.add(port, BYPASS, n.receivers[port].heads[BYPASS]));
        let finding = if self.tables.gap { self.finding(n) } else { 0 };
        let asking = n.requested.towards_any(offered).and_also(n.requested.local());
        let entering = if n.waiting == 0 { 0 } else { n.entering(offered) };
        if entering == 0
            && let Some((port, slot)) = asking.single()
            && !self.tables.gap
        {
            self.serve_one(n, port, slot, offered, now, out);
        } else if !asking.is_empty() || entering != 0 {
            self.serve(n, asking, entering, offered, now, out);
        }
        if self.tables.gap {
            self.note_stalls(n, finding);
        }
        if bypassing != 0 {
            n.requested.clear(BYPASS);
        }
    }

    /// The three phases if only one head may request.
    #[inline]
    fn serve_one(
        &mut self,
        n: &mut Node<P>,
        port: usize,
        slot: usize,
        offered: u16,
        now: Time,
        out: &mut Outbox<Message>,
    ) {
        let t = &self.tables;
        let mask = if n.paths[port] < t.paths { offered } else { 0 };
        let head = n.receivers[port].heads[slot];
        let directions = n.receiver_directions(t, port, slot, head, mask);
        if directions == Header::LOCAL {
            self.grant_reception(n, port, slot, now);
        } else if directions != 0 {
            let (to, vc) = n.choose_direction(t, directions, head);
            let vc = n.vc(to as usize, vc);
            let entry = self.take_head(n, port, slot, now);
            self.grant_link(n, Grant { from: Some(port), slot, to: to.into(), vc, entry }, now, out);
        }
    }

    /// The three phases, for slots of receivers and injection FIFOs that may request.
    fn serve(
        &mut self,
        n: &mut Node<P>,
        mut asking: SlotSet<P>,
        entering: u16,
        offered: u16,
        now: Time,
        out: &mut Outbox<Message>,
    ) {
        let mut asked = 0u16;
        let mut delivered = 0u16;
        let mut contenders = [0u16; P];
        let mut requests = [Request::default(); P];
        // Slots that could move but were not served: they request again in the next tick.
        let mut able = SlotSet::EMPTY;
        let t = &self.tables;
        while let Some((port, some)) = asking.next_receiver() {
            let mask = if n.paths[port] < t.paths { offered } else { 0 };
            let mut slots = 0u8;
            for slot in bits(some) {
                let head = n.receivers[port].heads[slot];
                slots |= u8::from(n.receiver_directions(t, port, slot, head, mask) != 0) << slot;
            }
            if slots == 0 {
                continue;
            }
            able = able.and_also(SlotSet::of(port, slots));
            if t.gap && n.misses(port) {
                continue;
            }
            let slot = n.choose_slot(t, port, slots);
            let head = n.receivers[port].heads[slot];
            let directions = n.receiver_directions(t, port, slot, head, mask);
            requests[port].slot = slot as u8;
            if directions == Header::LOCAL {
                delivered |= 1 << port;
                continue;
            }
            let (to, vc) = n.choose_direction(t, directions, head);
            requests[port].vc = vc;
            requests[port].high = head & Header::HIGH != 0;
            contenders[to as usize] |= 1 << port;
            asked |= 1 << to;
        }
        for port in bits(delivered) {
            let slot = requests[port].slot;
            able = able.without(SlotSet::of(port, 1 << slot));
            self.grant_reception(n, port, slot as usize, now);
        }
        let mut injectors = [0u16; P];
        let mut vcs = [0u8; 16];
        let (injected, mut waiting) = if entering == 0 {
            (0, 0)
        } else {
            self.ask_to_inject(n, entering, asked, offered, &mut injectors, &mut vcs)
        };
        // Phase 3: each sender grants one request.
        for to in bits(asked | injected) {
            let (receivers, fifos) = (contenders[to], injectors[to]);
            if self.network_first(n, receivers, fifos, &requests) {
                let port = self.choose_receiver(n, receivers, &requests);
                let Request { slot, vc, .. } = requests[port];
                able = able.without(SlotSet::of(port, 1 << slot));
                let vc = n.vc(to, vc);
                let slot = slot.into();
                let entry = self.take_head(n, port, slot, now);
                self.grant_link(n, Grant { from: Some(port), slot, to, vc, entry }, now, out);
            } else {
                let highs = fifos & n.waiting_high;
                let fifos = if highs != 0 { highs } else { fifos };
                let fifo = one_of(fifos.into(), &mut n.random);
                waiting &= !(1 << fifo);
                let vc = n.vc(to, vcs[fifo]);
                let entry = self.inject(n, fifo, now);
                self.grant_link(n, Grant { from: None, slot: fifo, to, vc, entry }, now, out);
            }
        }
        if !able.is_empty() || waiting != 0 {
            let left = n.open & n.any_ok;
            let still = n.requested.towards_any(left).and_also(n.requested.local()).common(able);
            if !still.is_empty() || n.entering(left) & waiting != 0 {
                self.retries.push(n.here);
            }
        }
    }

    /// Phase 1 of the injection FIFOs: each sends its own request. Returns the requested directions, and the
    /// requesting FIFOs.
    #[inline]
    fn ask_to_inject(
        &mut self,
        n: &mut Node<P>,
        entering: u16,
        asked: u16,
        offered: u16,
        injectors: &mut [u16; P],
        vcs: &mut [u8; 16],
    ) -> (u16, u16) {
        // If packets in the network always have priority, FIFOs that could only lose need not be looked at.
        let always_first = self.tables.in_network == u64::MAX && n.waiting_high == 0;
        if always_first && n.entering(offered & !asked) == 0 {
            return (0, 0);
        }
        let (mut injected, mut asking) = (0, 0);
        for fifo in bits(entering) {
            let head = self.injection[n.here as usize].heads[fifo];
            let directions = n.directions(&self.tables, None, 0, head, offered);
            if directions == 0 {
                continue;
            }
            asking |= 1 << fifo;
            let (to, vc) = n.choose_direction(&self.tables, directions, head);
            injectors[to as usize] |= 1 << fifo;
            vcs[fifo] = vc;
            injected |= 1 << to;
        }
        (injected, asking)
    }

    /// Whether a sender grants a receiver rather than an injection FIFO.
    #[inline]
    fn network_first(
        &mut self,
        n: &mut Node<P>,
        receivers: u16,
        fifos: u16,
        requests: &[Request; P],
    ) -> bool {
        if receivers == 0 || fifos == 0 {
            return receivers != 0;
        }
        if bits(receivers).any(|port| requests[port].high) {
            return true;
        }
        // The exception for a lone high-priority packet at injection.
        fifos & n.waiting_high == 0 && n.random.chance(self.tables.in_network)
    }

    /// The receiver that is granted a link, among those that request it.
    #[inline]
    fn choose_receiver(&mut self, n: &mut Node<P>, receivers: u16, requests: &[Request; P]) -> usize {
        if receivers.is_power_of_two() {
            return receivers.trailing_zeros() as usize;
        }
        let longest = n.random.chance(self.tables.sender_slq);
        let rank = |port: usize| {
            let Request { slot, high, .. } = requests[port];
            let range = if longest { n.fullness(&self.tables, port, slot.into()) } else { 0 };
            u8::from(high) * 8 + range
        };
        let ties = best_of(receivers.into(), rank);
        one_of(ties, &mut n.random)
    }

    /// [`Self::start`] as a separate function: inlining it at each call would overflow the instruction cache.
    #[inline(never)]
    fn grant_link(&mut self, n: &mut Node<P>, grant: Grant, now: Time, out: &mut Outbox<Message>) {
        self.start(n, grant, now, out);
    }

    /// A packet starts on a link. Inlined into its caller, where it is known whether the packet comes from
    /// the bypass.
    #[inline(always)]
    pub(super) fn start(&mut self, n: &mut Node<P>, grant: Grant, now: Time, out: &mut Outbox<Message>) {
        let Grant { from, slot, to, vc, entry } = grant;
        let t = &self.tables;
        let chunks = entry.header.chunks() as u8;
        n.open &= !(1 << to);
        // The remaining tokens are offered when the link is free again.
        n.tokens[to] -= u64::from(t.cost(vc, chunks)) << (8 * vc);
        let header = entry.header.after_hop(to, n.ahead[to], n.dateline >> to & 1 != 0);
        let leaving = match from {
            Some(port) => {
                n.paths[port] += 1;
                let due_vc = if slot == BYPASS { n.bypass_vc[port] } else { slot as u8 };
                // A packet that the last link corrupted returns no tokens: its space is kept for the
                // retransmission.
                let due_chunks = if entry.header.is_corrupt() { 0 } else { t.cost(due_vc as usize, chunks) };
                Leaving { from: port as u8, slot: slot as u8, due_vc, due_chunks, chunks }
            }
            None => Leaving { from: FROM_INJECTION, slot: slot as u8, due_vc: 0, due_chunks: 0, chunks },
        };
        let time = t.wire[chunks as usize];
        let (neighbour, class) = (n.ports[to].neighbour, t.class[vc].into());
        let start = self.common.occupy(&mut n.ports[to], (vc, class), chunks.into(), time, now);
        let (end, arrival) = (start + time, start + t.hop);
        self.common.calendar.push(end, Event::at(Kind::Sent, n.here, to, 0, 0, leaving.word()));
        let mut packet = entry.packet();
        if let Some(port) = from
            && header.head() & Header::DEPOSIT != 0
        {
            // A copy stays here: the packet itself continues with its own record.
            packet = self.common.arena.copy(packet);
            self.start_reception(n, Kind::Copied, port, 0, entry, now);
        }
        if self.common.errors.is_some() {
            self.send_unsure(n, to, Kept { header, packet, vc: vc as u8 }, start, out);
            return;
        }
        let arrive = |node, packet| Event::at(Kind::Arrived, node, to ^ 1, vc, packet, header.0);
        self.common.send(neighbour, arrival, arrive, packet, out);
    }

    /// Takes the head at a slot of a receiver, whose transfer starts.
    #[inline]
    fn take_head(&mut self, n: &mut Node<P>, port: usize, slot: usize, now: Time) -> Entry {
        if slot == BYPASS {
            n.leave_bypass(port);
            n.bypass_busy |= 1 << port;
            return self.standing[self.standing(n, port)];
        }
        n.clear_head(port, slot);
        let place = n.receivers[port].first[slot];
        let entry = *self.entry(n.here, port, slot, place);
        self.common
            .recorder
            .waited(self.tables.class[slot].into(), (now.ticks() as u32).wrapping_sub(entry.arrived()));
        entry
    }

    /// Takes the head of an injection FIFO.
    #[inline]
    fn inject(&mut self, n: &mut Node<P>, fifo: usize, now: Time) -> Entry {
        self.injection[n.here as usize].heads[fifo] = 0;
        n.entering.iter_mut().for_each(|fifos| *fifos &= !(1 << fifo));
        n.waiting &= !(1 << fifo);
        n.waiting_high &= !(1 << fifo);
        n.injecting |= 1 << fifo;
        let entry = self.injecting[n.here as usize * self.common.fifos + fifo];
        self.common.arena.get_mut(entry.packet()).entered = now;
        self.common.recorder.current.injected += 1;
        self.common.recorder.in_flight += 1;
        entry
    }

    /// A packet is transferred to its reception FIFO.
    #[inline]
    fn grant_reception(&mut self, n: &mut Node<P>, port: usize, slot: usize, now: Time) {
        let entry = self.take_head(n, port, slot, now);
        self.start_reception(n, Kind::Received, port, slot, entry, now);
    }

    /// A packet, or its copy, starts on the bus to the reception FIFO, where it is complete, with its trailer
    /// checked, after the transfer.
    #[inline]
    pub(super) fn start_reception(
        &mut self,
        n: &mut Node<P>,
        kind: Kind,
        port: usize,
        slot: usize,
        entry: Entry,
        now: Time,
    ) {
        let class = usize::from(entry.header.head() & Header::HIGH != 0);
        n.reception_idle[class] &= !(1 << port);
        let end = now + self.tables.wire[entry.header.chunks() as usize];
        self.common.calendar.push(end, Event::at(kind, n.here, port, slot, entry.packet(), entry.header.0));
    }

    /// Packets still in a bypass after the grants join their VCs.
    #[inline]
    fn end_bypass(&mut self, n: &mut Node<P>, now: Time) {
        for port in bits(n.bypassing) {
            let entry = self.standing[self.standing(n, port)];
            let vc = n.bypass_vc[port] as usize;
            let head = n.leave_bypass(port);
            n.set_head(port, vc, head);
            self.join(n, port, vc, entry, now);
        }
    }

    /// For the gap: the receivers whose heads have an available direction.
    #[cold]
    fn finding(&self, n: &Node<P>) -> u16 {
        let offered = n.open & n.any_ok;
        (0..P).fold(0, |mask, port| {
            let open = if n.paths[port] < self.tables.paths { offered } else { 0 };
            let finds = (0..SLOTS)
                .any(|s| n.receiver_directions(&self.tables, port, s, n.receivers[port].heads[s], open) != 0);
            mask | u16::from(finds) << port
        })
    }

    /// For the gap: after a tick's grants, records which receivers found no available direction. `finding`
    /// has those that had one before the grants.
    #[cold]
    fn note_stalls(&mut self, n: &mut Node<P>, finding: u16) {
        let still = self.finding(n);
        let mut again = false;
        for port in 0..P {
            let bit = 1u16 << port;
            let path = n.paths[port] < self.tables.paths;
            // It can request if a head is ready and a path idle, or if a head is at its destination.
            if !n.receivers[port].heads.iter().any(|&head| head != 0 && (path || head & Header::LOCAL != 0)) {
                n.stalled &= !bit;
            } else if finding & bit == 0 {
                n.stalled |= bit;
            } else {
                // Its direction was granted to another: the next tick is the first without one.
                again |= still & bit == 0;
            }
        }
        if again {
            self.retries.push(n.here);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::TorusConfig;
    use crate::host::{Delivery, Host, Pull, Signals};
    use crate::packet::{Header, Meta};
    use crate::router::BuildOptions;
    use crate::router::torus::{TorusFamily, TorusNetwork};
    use netloom_engine::{Progress, Time};

    /// Node 0 sends a dynamic packet from FIFO 0, in +x or +y, and a high-priority one from FIFO 6, in +y.
    struct Two([bool; 8]);

    impl Host<TorusFamily> for Two {
        fn pull(&mut self, _: Time, node: u32, fifo: usize, _: &mut Signals) -> Pull {
            let (x, hints, flags) = match fifo {
                0 => (1, 0b00_0101, 0),
                6 => (0, 0b00_0100, Header::HIGH),
                _ => return Pull::Empty,
            };
            if node != 0 || std::mem::replace(&mut self.0[fifo], true) {
                return Pull::Empty;
            }
            Pull::Packet(Header::new([x, 1, 0, 0, 0], hints, 8, flags), Meta::default())
        }
        fn deliver(&mut self, _: Time, _: u32, _: &Delivery, _: &mut Signals) {}
        fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals) {}
    }

    /// The dynamic packet loses the only available dynamic VC, in +y. In the next tick no dynamic VC is
    /// available, so it requests the bubble VC in +x, without waiting for the node's next event a packet time
    /// later.
    #[test]
    fn a_loser_requests_another_output_in_the_next_tick() {
        let config = TorusConfig::bluegene_l(&[4, 4, 4]);
        let mut network = TorusNetwork::<_, 6>::new(&config, &BuildOptions::default(), |_| Two([false; 8]))
            .expect("buildable");
        for block in network.blocks() {
            let node = block.numbers.iter().position(|&n| n == 0);
            if let Some(node) = node {
                let dynamic = block.shared.tables.dynamic;
                block.nodes[node].tokens[0] >>= 8 * dynamic;
                block.nodes[node].tokens[0] <<= 8 * dynamic;
                block.nodes[node].offer(&block.shared.tables, 0);
            }
        }
        network.run_until(Time::at(5), 1, &Progress::default());
        let links = network.links();
        let sent = |port: usize| links.iter().find(|l| (l.0, l.1) == (0, port)).map(|l| l.2);
        assert_eq!(sent(2).map(|l| l.chunks), Some([0, 0, 8]), "the high-priority packet takes +y");
        assert_eq!(sent(0).map(|l| l.chunks), Some([0, 8, 0]), "the other one the bubble by +x");
    }
}
