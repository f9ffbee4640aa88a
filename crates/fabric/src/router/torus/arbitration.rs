//! The three phases of arbitration (section 2), once a tick and node: each packet's direction and VC; each receiver's
//! request; each sender's grant.

use super::block::{Message, TorusBlock};
use super::choice::{FIXED, OPEN, bits, pick};
use super::errors::Kept;
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use netloom_engine::{Outbox, Time};

/// A receiver's request.
#[derive(Clone, Copy, Default)]
struct Request {
    slot: u8,
    vc: u8,
    /// Fullness of the VC that the packet would leave, as SLQ sees it.
    range: u8,
    high: bool,
}

impl<H: Host, const P: usize> TorusBlock<H, P> {
    /// One tick's arbitration of a node.
    #[inline]
    pub(super) fn arbitrate(&mut self, node: usize, now: Time, out: &mut Outbox<Message>) {
        let n = &self.nodes[node];
        // Directions in which anything at all is offered, and receivers with a head that they or delivery could serve.
        let offered = n.open & n.any_ok;
        let splat = lanes(offered | Header::LOCAL);
        let mut receivers = 0u16;
        for port in 0..P {
            let [low, high] = halves(&n.heads[port]);
            receivers |= u16::from((low | high) & splat != 0) << port;
        }
        let finding = if self.tables.gap { self.finding(node) } else { 0 };
        if receivers | (n.injection & offered) != 0 {
            self.serve(node, receivers, offered, now, out);
        }
        if self.tables.gap {
            self.note_stalls(node, finding, now);
        }
        if self.nodes[node].bypassing != 0 {
            self.end_bypass(node, now);
        }
    }

    /// The three phases, for receivers and injection FIFOs that may have something to ask for.
    fn serve(&mut self, node: usize, receivers: u16, offered: u16, now: Time, out: &mut Outbox<Message>) {
        let mut asked = 0u16;
        let mut delivered = 0u16;
        let mut contenders = [0u16; P];
        let mut requests = [Request::default(); P];
        // What packets could have taken and did not: if any of it is left, they ask again in the next tick.
        let mut missed = 0u16;
        // What each receiver's packets may take.
        let mut wanted = [0u16; P];
        let t = &self.tables;
        for port in bits(receivers) {
            let n = &mut self.nodes[node];
            let mask = if n.paths[port] < t.paths { offered } else { 0 };
            let mut slots = 0u8;
            let mut found = [0u16; SLOTS];
            let mut all = 0;
            for slot in occupied(&n.heads[port], mask | Header::LOCAL) {
                let ways = n.receiver_ways(t, port, slot, mask);
                slots |= u8::from(ways != 0) << slot;
                found[slot] = ways;
                all |= ways;
            }
            if slots == 0 {
                continue;
            }
            wanted[port] = all & !FIXED;
            if t.gap && n.misses(port) {
                missed |= wanted[port];
                continue;
            }
            let slot = n.choose_slot(t, port, slots);
            if !slots.is_power_of_two() {
                missed |= wanted[port];
            }
            if found[slot] == Header::LOCAL {
                delivered |= 1 << port;
                requests[port].slot = slot as u8;
                continue;
            }
            let head = n.heads[port][slot];
            let (to, vc) = n.choose_direction(t, found[slot], head);
            requests[port] = Request {
                slot: slot as u8,
                vc,
                range: n.fullness(t, port, slot),
                high: head & Header::HIGH != 0,
            };
            contenders[to as usize] |= 1 << port;
            asked |= 1 << to;
        }
        for port in bits(delivered) {
            self.grant_reception(node, port, requests[port].slot as usize, now);
        }
        let mut injectors = [0u16; P];
        let mut vcs = [0u8; 16];
        let injected = self.ask_to_inject(node, asked, offered, &mut injectors, &mut vcs, &mut missed);
        // Phase 3: each sender serves one request.
        for to in bits(asked | injected) {
            let (receivers, fifos) = (contenders[to], injectors[to]);
            if self.network_first(node, receivers, fifos, &requests) {
                let port = self.choose_receiver(node, receivers, &requests);
                let request = requests[port];
                bits(receivers & !(1 << port)).for_each(|loser| missed |= wanted[loser]);
                let vc = self.vc(node, to, request.vc);
                self.grant_link(node, to, vc, Some(port), request.slot as usize, now, out);
            } else {
                bits(receivers).for_each(|loser| missed |= wanted[loser]);
                let highs = self.high_fifos(node, fifos);
                let fifos = if highs != 0 { highs } else { fifos };
                let fifo = pick(fifos.into(), &mut self.nodes[node].random, |_| 0);
                let vc = self.vc(node, to, vcs[fifo]);
                self.grant_link(node, to, vc, None, fifo, now, out);
            }
        }
        let n = &self.nodes[node];
        if missed & (n.open & n.any_ok | Header::LOCAL) != 0 {
            self.calendar.push(now + 1, Event::at(Kind::Retry, node as u32, 0, 0, 0, 0));
        }
    }

    /// The VC of a request, chosen now if it was left open.
    #[inline]
    fn vc(&mut self, node: usize, to: usize, vc: u8) -> usize {
        if vc == OPEN { self.nodes[node].choose_vc(to) } else { vc as usize }
    }

    /// Phase 1 of the injection FIFOs: each asks by itself. Returns the directions asked for.
    #[inline]
    fn ask_to_inject(
        &mut self,
        node: usize,
        asked: u16,
        offered: u16,
        injectors: &mut [u16; P],
        vcs: &mut [u8; 16],
        missed: &mut u16,
    ) -> u16 {
        let hopeful = self.nodes[node].injection;
        // Where packets in the network always come first, those that could only lose need not be looked at.
        let always_first = self.tables.in_network == u64::MAX && hopeful & Header::HIGH == 0;
        if hopeful & (if always_first { offered & !asked } else { offered }) == 0 {
            return 0;
        }
        let mut injected = 0;
        let mut count = 0;
        #[allow(clippy::needless_range_loop)]
        for fifo in 0..self.fifos {
            let head = self.injection[node].heads[fifo];
            let n = &mut self.nodes[node];
            let ways = if head & offered == 0 { 0 } else { n.ways(&self.tables, None, 0, head, offered) };
            if ways == 0 {
                continue;
            }
            count += 1;
            let (to, vc) = n.choose_direction(&self.tables, ways, head);
            injectors[to as usize] |= 1 << fifo;
            vcs[fifo] = vc;
            injected |= 1 << to;
            *missed |= ways & !FIXED;
        }
        if count == 1 && injected & asked == 0 {
            // The only one, and sure to be served: nobody is left.
            *missed &= !injected;
        }
        injected
    }

    #[inline]
    fn high_fifos(&self, node: usize, fifos: u16) -> u16 {
        if self.nodes[node].injection & Header::HIGH == 0 {
            return 0;
        }
        let heads = &self.injection[node].heads;
        bits(fifos).filter(|&f| heads[f] & Header::HIGH != 0).fold(0, |mask, f| mask | 1 << f)
    }

    /// Whether a sender serves a receiver rather than an injection FIFO.
    #[inline]
    fn network_first(&mut self, node: usize, receivers: u16, fifos: u16, requests: &[Request; P]) -> bool {
        if receivers == 0 || fifos == 0 {
            return receivers != 0;
        }
        if bits(receivers).any(|port| requests[port].high) {
            return true;
        }
        // The exception for a lone high-priority packet at injection.
        self.high_fifos(node, fifos) == 0 && self.nodes[node].random.chance(self.tables.in_network)
    }

    /// Which of the receivers that ask for one link is served.
    #[inline]
    fn choose_receiver(&mut self, node: usize, receivers: u16, requests: &[Request; P]) -> usize {
        if receivers.is_power_of_two() {
            return receivers.trailing_zeros() as usize;
        }
        let random = &mut self.nodes[node].random;
        let longest = random.chance(self.tables.sender_slq);
        pick(receivers.into(), random, |port| {
            let request = requests[port];
            u8::from(request.high) * 8 + if longest { request.range } else { 0 }
        })
    }

    /// A packet starts on a link.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn grant_link(
        &mut self,
        node: usize,
        to: usize,
        vc: usize,
        from: Option<usize>,
        slot: usize,
        now: Time,
        out: &mut Outbox<Message>,
    ) {
        let entry = match from {
            Some(port) => self.take_head(node, port, slot, now),
            None => self.inject(node, slot, now),
        };
        let t = &self.tables;
        let n = &mut self.nodes[node];
        let ports = &mut self.ports[node];
        let chunks = entry.header.chunks() as u8;
        n.open &= !(1 << to);
        n.tokens[to][vc] -= t.cost(vc, chunks);
        n.offer(t, to);
        let next = t.step(n.coordinates[to / 2], to);
        let header = entry.header.after_hop(to, next, n.dateline >> to & 1 != 0);
        match from {
            Some(port) => {
                n.paths[port] += 1;
                let left = if slot == BYPASS { n.bypass_vc[port] } else { slot as u8 };
                ports[to].from_port = port as u8;
                ports[to].due_vc = left;
                ports[to].due_chunks = t.cost(left as usize, chunks);
            }
            None => ports[to].from_port = FROM_INJECTION,
        }
        let record = &mut ports[to];
        let start = record.free_at.max(now);
        let end = start + t.wire[chunks as usize];
        record.free_at = end;
        record.from_slot = slot as u8;
        record.chunks = chunks;
        record.packets += 1;
        record.sent[t.class(vc)] += u32::from(chunks);
        let neighbour = record.neighbour;
        let arrival = start + t.hop;
        self.recorder.busy(start, end);
        self.recorder.current.hops += 1;
        self.recorder.current.chunks_by_vc[vc] += u64::from(chunks);
        self.calendar.push(end, Event::at(Kind::Sent, node as u32, to, 0, 0, 0));
        let mut packet = entry.packet;
        if let Some(port) = from
            && header.head() & Header::DEPOSIT != 0
        {
            // A copy stays here: the packet itself goes on with its own record.
            let meta = *self.arena.get(packet);
            packet = self.arena.insert(meta);
            self.to_reception(Kind::Copied, node, port, 0, entry, now);
        }
        if self.errors.is_some() {
            self.grant_unsure(node, to, Kept { header, packet, vc: vc as u8 }, start, out);
            return;
        }
        let arrive = |node, packet| Event::at(Kind::Arrived, node, to ^ 1, vc, packet, header.0);
        self.send(neighbour, arrival, arrive, packet, out);
    }

    /// Takes the head at a slot of a receiver: from now on it is being transferred.
    #[inline]
    fn take_head(&mut self, node: usize, port: usize, slot: usize, now: Time) -> Entry {
        let n = &mut self.nodes[node];
        n.heads[port][slot] = 0;
        if slot == BYPASS {
            n.bypass_busy |= 1 << port;
            n.bypassing &= !(1 << port);
            let vc = n.bypass_vc[port] as usize;
            let place = n.first[port][vc];
            return *self.entry(node, port, vc, place);
        }
        let place = n.first[port][slot];
        let entry = *self.entry(node, port, slot, place);
        self.recorder.waited(self.tables.class(slot), (now as u32).wrapping_sub(entry.arrived));
        entry
    }

    /// Takes the head of an injection FIFO.
    #[inline]
    fn inject(&mut self, node: usize, fifo: usize, now: Time) -> Entry {
        let heads = &mut self.injection[node].heads;
        heads[fifo] = 0;
        self.nodes[node].injection = heads.iter().fold(0, |any, head| any | head);
        self.nodes[node].injecting |= 1 << fifo;
        let entry = self.injecting[node * self.fifos + fifo];
        self.arena.get_mut(entry.packet).entered = now;
        self.recorder.current.injected += 1;
        self.recorder.under_way += 1;
        entry
    }

    /// A packet goes to its reception FIFO.
    #[inline]
    fn grant_reception(&mut self, node: usize, port: usize, slot: usize, now: Time) {
        let entry = self.take_head(node, port, slot, now);
        self.to_reception(Kind::Received, node, port, slot, entry, now);
    }

    /// A packet, or its copy, starts on the bus to the reception FIFO; it is there whole, trailer checked, when it has
    /// passed.
    #[allow(clippy::wrong_self_convention)]
    #[inline]
    fn to_reception(&mut self, kind: Kind, node: usize, port: usize, slot: usize, entry: Entry, now: Time) {
        let class = usize::from(entry.header.head() & Header::HIGH != 0);
        self.nodes[node].reception_idle[class] &= !(1 << port);
        let end = now + self.tables.wire[entry.header.chunks() as usize];
        self.calendar.push(end, Event::at(kind, node as u32, port, slot, entry.packet, entry.header.0));
    }

    /// What stands in a bypass after the grants goes into its VC.
    #[inline]
    fn end_bypass(&mut self, node: usize, now: Time) {
        for port in bits(std::mem::take(&mut self.nodes[node].bypassing)) {
            let n = &self.nodes[node];
            let vc = n.bypass_vc[port] as usize;
            let header = self.entry(node, port, vc, n.first[port][vc]).header;
            let heads = &mut self.nodes[node].heads[port];
            heads[vc] = std::mem::take(&mut heads[BYPASS]);
            self.join(node, port, vc, header, now);
        }
    }

    /// For the gap: the receivers for which something is offered.
    #[cold]
    fn finding(&self, node: usize) -> u16 {
        let n = &self.nodes[node];
        let offered = n.open & n.any_ok;
        (0..P).fold(0, |mask, port| {
            let open = if n.paths[port] < self.tables.paths { offered } else { 0 };
            let finds = (0..SLOTS).any(|s| n.receiver_ways(&self.tables, port, s, open) != 0);
            mask | u16::from(finds) << port
        })
    }

    /// For the gap: after a tick's grants, notes which receivers found nothing in it. `finding` are those for which something
    /// was offered before the grants.
    #[cold]
    fn note_stalls(&mut self, node: usize, finding: u16, now: Time) {
        let still = self.finding(node);
        let mut again = false;
        for port in 0..P {
            let bit = 1u16 << port;
            let n = &mut self.nodes[node];
            let path = n.paths[port] < self.tables.paths;
            // It can ask if a head is free and a path idle, or a head is at its destination.
            if !n.heads[port].iter().any(|&head| head != 0 && (path || head & Header::LOCAL != 0)) {
                n.stalled &= !bit;
            } else if finding & bit == 0 {
                n.stalled |= bit;
            } else {
                // What it found was taken: the next tick is the first in which it finds nothing.
                again |= still & bit == 0;
            }
        }
        if again {
            self.calendar.push(now + 1, Event::at(Kind::Retry, node as u32, 0, 0, 0, 0));
        }
    }
}

/// A mask in each of four lanes.
#[inline]
pub(super) fn lanes(mask: u16) -> u64 {
    u64::from(mask) * 0x0001_0001_0001_0001
}

/// A receiver's heads as two words of four lanes.
#[inline]
pub(super) fn halves(heads: &[u16; SLOTS]) -> [u64; 2] {
    let word = |i: usize| (0..4).fold(0, |word, lane| word | u64::from(heads[i + lane]) << (16 * lane));
    [word(0), word(4)]
}

/// Slots whose heads have a bit of `mask`.
#[inline]
pub(super) fn occupied(heads: &[u16; SLOTS], mask: u16) -> impl Iterator<Item = usize> + use<> {
    let [low, high] = halves(heads);
    let (mut low, mut high) = (low & lanes(mask), high & lanes(mask));
    std::iter::from_fn(move || {
        let (word, first) = if low != 0 { (&mut low, 0) } else { (&mut high, 4) };
        (*word != 0).then(|| {
            let lane = word.trailing_zeros() / 16;
            *word &= !(0xffff << (16 * lane));
            first + lane as usize
        })
    })
}
